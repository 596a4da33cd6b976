package session

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

// How long sessions last.
const (
	Idle  = 12 * time.Hour      // without a request
	Life  = 14 * 24 * time.Hour // at most
	Fresh = 10 * time.Minute    // in which a sign-in counts as fresh
	// OldToken is how long the token before a renewal counts, for requests that are on their way.
	OldToken = time.Minute
	// SeenEvery is how often the row of a session says when it was last seen.
	SeenEvery = time.Minute
)

// Bounds of what makes up the rights of one member.
const (
	MaxGrantsOfOne = 100 // of a person, or of a group
	MaxGroupsOfOne = 100 // groups of a person
	MaxGrants      = MaxGrantsOfOne * (MaxGroupsOfOne + 1)
)

// MaxSessionsOfOne is how many sessions a person has at once: another one ends the oldest.
const MaxSessionsOfOne = 100

// SignIn says who has signed in, and how.
type SignIn struct {
	Person  int64 // internal number of the person, an active member of the account
	Account int64 // internal number
	Method  string
	Address string
	Agent   string
}

// Begin inserts a session. Its sign-in is fresh. The token is shown once.
func Begin(tx *store.Tx, r SignIn, now time.Time) (text string, row store.Session, err error) {
	rights, err := rightsOf(&tx.Reader, r.Account, r.Person)
	if err != nil {
		return "", row, err
	}
	text, hash := token.New()
	nowMs := now.UnixMilli()
	row = store.Session{
		ID: chargehand.SessionID(uuid.Must(uuid.NewV7())), Hash: hash[:], Person: r.Person, Account: r.Account, Method: r.Method,
		Address: r.Address, Agent: r.Agent, Rights: rights, CreatedMs: nowMs, LastSeenMs: nowMs, IdleMs: nowMs + Idle.Milliseconds(),
		ExpiresMs: nowMs + Life.Milliseconds(), FreshMs: nowMs + Fresh.Milliseconds(),
	}
	if err = tx.InsertSession(&row); err == nil {
		err = tx.KeepSessions(r.Person, MaxSessionsOfOne)
	}
	if err == nil {
		err = tx.TouchMember(r.Account, r.Person, nowMs)
	}
	return text, row, err
}

// Find reads the session of a token that counts. endsMs is when the token ends, without another request. With the token
// before, the sign-in is not fresh: a thief of that token gains nothing when the person verifies.
// Errors: store.ErrNotFound.
func Find(r *store.Reader, text string, now time.Time) (row store.Session, endsMs int64, err error) {
	if !token.WellFormed(text) {
		return row, 0, fmt.Errorf("find session: %w", store.ErrNotFound)
	}
	hash := token.Hash(text)
	if row, err = r.SessionByHash(hash[:]); err != nil {
		return row, 0, err
	}
	endsMs = min(row.IdleMs, row.ExpiresMs)
	if !Current(&row, text) {
		endsMs, row.FreshMs = min(endsMs, row.OldUntilMs), 0
	}
	if row.RevokedMs != 0 || now.UnixMilli() >= endsMs {
		err = fmt.Errorf("find session: %w", store.ErrNotFound)
	}
	return row, endsMs, err
}

// Current reports whether a token is the last one of its session, and not the one before.
func Current(row *store.Session, text string) bool {
	hash := token.Hash(text)
	return string(row.Hash) == string(hash[:])
}

// Renew gives a session another token, for the rights that its person has now in the account of the row. The account
// and the time until which the sign-in is fresh may be changed with it.
// Errors: store.ErrConflict if the session has ended, or another request has renewed it.
func Renew(tx *store.Tx, row *store.Session, now time.Time) (text string, err error) {
	return renew(tx, row, now.Add(OldToken))
}

// Replace is Renew where the token before ends at once.
func Replace(tx *store.Tx, row *store.Session, now time.Time) (text string, err error) {
	return renew(tx, row, now)
}

func renew(tx *store.Tx, row *store.Session, oldUntil time.Time) (text string, err error) {
	if row.Rights, err = rightsOf(&tx.Reader, row.Account, row.Person); err != nil {
		return "", err
	}
	was := row.Hash
	text, hash := token.New()
	row.Hash, row.OldHash, row.OldUntilMs = hash[:], was, oldUntil.UnixMilli()
	return text, tx.RenewSession(row, was)
}

func rightsOf(r *store.Reader, account, person int64) (int64, error) {
	grants, err := r.GrantsOf(account, person, MaxGrants)
	return Rights(grants), err
}

// Rights is a digest that tells sets of grants apart, whatever their order.
func Rights(grants []store.Grant) int64 {
	var texts []string
	for _, g := range grants {
		texts = append(texts, strings.Join([]string{g.Role, g.Namespace, string(g.Workflow[:]), string(rune('0' + g.Environments))}, "\x00"))
	}
	slices.Sort(texts)
	h := fnv.New64a()
	for _, text := range slices.Compact(texts) {
		h.Write(binary.AppendUvarint(nil, uint64(len(text))))
		h.Write([]byte(text))
	}
	return int64(h.Sum64())
}
