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

// CountFailedSignIn counts a failed sign-in. There is one entry for each address, account, person and minute, so that
// who tries many passwords does not fill the log; addresses of IPv6 count by their /64.
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
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(f.Account)))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/60)))
	h.Write(f.Person[:])
	h.Write([]byte(row.Address))
	row.Summed = h.Sum(nil)
	return tx.CountAudit(row)
}
