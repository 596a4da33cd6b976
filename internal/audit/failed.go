package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// FailedSignIn is a sign-in that has failed.
type FailedSignIn struct {
	Account int64 // internal number of the account that has the entry
	// Person is the one with the e-mail; zero: there is none. What was typed then is written nowhere, because it may
	// be a password.
	Person chargehand.UserID
	Email  string // of Person
}

// maxFailed is how many entries of failed sign-ins an account has in an hour. What is more is summed up, so that
// strangers with many addresses do not fill the log.
const maxFailed = 100

// CountFailedSignIn counts a failed sign-in. There is one entry for each address, account, person and minute, so that a
// client that tries many passwords does not fill the log; addresses of IPv6 count by their /64. After maxFailed entries
// in an hour there is one for all others of the minute.
func CountFailedSignIn(ctx context.Context, tx *store.Tx, at time.Time, f FailedSignIn) error {
	e := Entry{Account: f.Account, Actor: Actor{Kind: User}, Action: SessionFailed}
	if !f.Person.IsZero() {
		e.Actor.ID, e.Actor.Name = f.Person.String(), f.Email
		e.Target = Target{"user", f.Person.String(), f.Email}
	}
	row, err := e.row(ctx, at)
	if err != nil {
		return err
	}
	if address := originOf(ctx).address; address.Is6() {
		row.Address = netip.PrefixFrom(address, 64).Masked().String()
	}
	row.Summed = digest(f.Account, at, f.Person[:], row.Address)
	known, err := tx.CountAuditAgain(row.Summed)
	if err != nil || known {
		return err
	}
	recent, err := tx.AuditSince(f.Account, string(SessionFailed), at.Truncate(time.Hour).UnixMilli(), maxFailed)
	if err != nil {
		return err
	}
	if recent >= maxFailed {
		row.ActorID, row.ActorName, row.TargetKind, row.TargetID, row.TargetName, row.Address, row.RequestID = "", "", "", "", "", "", ""
		row.Summed = digest(f.Account, at, nil, "all others")
	}
	return tx.CountAudit(row)
}

// digest is what the failures of an entry have in common.
func digest(account int64, at time.Time, person []byte, address string) []byte {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(account)))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/60)))
	h.Write(person)
	h.Write([]byte(address))
	return h.Sum(nil)
}
