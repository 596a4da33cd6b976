package store

import (
	"crypto/sha256"
	"fmt"
)

// TicketKind says what a ticket is for.
type TicketKind uint8

// The kinds. Their numbers are stored.
const (
	TicketSetup           TicketKind = 1 + iota // makes the first person of an installation its admin
	TicketInvitation                            // makes an invited person an active member
	TicketReset                                 // sets a password anew
	TicketDevice                                // signs a command line in, when a person has confirmed its code
	TicketChallenge                             // a challenge of WebAuthn that was answered
	TicketOIDC                                  // a sign-in through an identity provider that has come back
	TicketBrowser                               // a browser from which a person has signed in; it is not used up
	TicketSetupAgain                            // TicketSetup of an admin who has no password and no passkey yet
	TicketInvitationAgain                       // TicketInvitation of a user who has no password and no passkey yet
)

// Ticket is a secret that can be used once, until it expires. The secret itself is not stored.
type Ticket struct {
	Hash      []byte // SHA-256 of the secret
	Kind      TicketKind
	Code      []byte // SHA-256 of a second, short secret by which it is found too; nil: none
	Account   int64  // 0: none
	Person    int64  // 0: none
	Step      int64  // counts its changes
	Data      []byte // as the one who made it encodes it
	CreatedMs int64
	ExpiresMs int64
}

const selectTicket = `SELECT hash, kind, code, account, person, step, data, created_ms, expires_ms FROM ticket`

func scanTicket(r Row, t *Ticket) {
	*t = Ticket{
		Hash: r.Bytes(0), Kind: TicketKind(r.Int(1)), Code: r.Bytes(2), Account: r.Int(3), Person: r.Int(4), Step: r.Int(5), Data: r.Bytes(6),
		CreatedMs: r.Int(7), ExpiresMs: r.Int(8),
	}
}

// InsertTicket inserts a ticket. ErrConflict: the hash, or within the kind the code, is taken.
func (t *Tx) InsertTicket(ticket *Ticket) error {
	return t.change("insert ticket", `INSERT INTO ticket (hash, kind, code, account, person, data, created_ms, expires_ms)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING`, ticket.Hash, int64(ticket.Kind), bytesArg(ticket.Code), ticket.Account,
		ticket.Person, bytesArg(ticket.Data), ticket.CreatedMs, ticket.ExpiresMs)
}

// ChangeTicket writes Account, Person and Data of a ticket and counts its Step. ErrConflict: it was changed since it
// was read, was used, or has expired at nowMs.
func (t *Tx) ChangeTicket(ticket *Ticket, nowMs int64) error {
	err := t.change("change ticket", `UPDATE ticket SET account = ?4, person = ?5, data = ?6, step = step + 1
 WHERE hash = ?1 AND step = ?2 AND expires_ms > ?3`, ticket.Hash, ticket.Step, nowMs, ticket.Account, ticket.Person, bytesArg(ticket.Data))
	if err == nil {
		ticket.Step++
	}
	return err
}

// UseTicket uses a ticket up and returns it: of several that try, one succeeds. ErrConflict: there is none of that
// kind, it was used, or it has expired at nowMs.
func (t *Tx) UseTicket(kind TicketKind, hash []byte, nowMs int64) (ticket Ticket, err error) {
	found := false
	err = t.c.Query(`DELETE FROM ticket WHERE hash = ?1 AND kind = ?2 AND expires_ms > ?3
 RETURNING hash, kind, code, account, person, step, data, created_ms, expires_ms`, func(row Row) error {
		scanTicket(row, &ticket)
		found = true
		return nil
	}, hash, int64(kind), nowMs)
	if err == nil && !found {
		err = ErrConflict
	}
	if err != nil {
		return Ticket{}, fmt.Errorf("use ticket: %w", err)
	}
	return ticket, nil
}

// DeleteTicketsOf deletes the tickets of a kind that a person has: what they would do is done, or not wanted any more.
func (t *Tx) DeleteTicketsOf(person int64, kind TicketKind) error {
	return t.c.Send("delete tickets of a person", `DELETE FROM ticket WHERE person = ?1 AND kind = ?2 AND person <> 0`, person, int64(kind))
}

// DeleteTicketsIn deletes the tickets of a kind that a person has in an account.
func (t *Tx) DeleteTicketsIn(account, person int64, kind TicketKind) error {
	return t.c.Send("delete tickets of a member", `DELETE FROM ticket WHERE person = ?1 AND kind = ?2 AND person <> 0 AND account = ?3`,
		person, int64(kind), account)
}

// KeepTickets deletes the oldest tickets of a kind that a person has, but for the newest ones.
func (t *Tx) KeepTickets(person int64, kind TicketKind, newest int) error {
	return t.c.Send("delete the oldest tickets of a person", `DELETE FROM ticket WHERE person = ?1 AND kind = ?2 AND person <> 0 AND created_ms <
 (SELECT created_ms FROM ticket WHERE person = ?1 AND kind = ?2 AND person <> 0 ORDER BY created_ms DESC LIMIT 1 OFFSET ?3)`,
		person, int64(kind), int64(newest-1))
}

// DeleteTicketsOfKind deletes all tickets of a kind.
func (t *Tx) DeleteTicketsOfKind(kind TicketKind) error {
	return t.c.Send("delete tickets of a kind", `DELETE FROM ticket WHERE kind = ?1`, int64(kind))
}

// DeleteTickets deletes up to limit tickets that have expired before expiredMs.
func (t *Tx) DeleteTickets(expiredMs int64, limit int) (int64, error) {
	return t.exec("delete tickets", `DELETE FROM ticket WHERE expires_ms < ?1 AND hash IN
 (SELECT hash FROM ticket WHERE expires_ms < ?1 ORDER BY expires_ms LIMIT ?2)`, expiredMs, int64(limit))
}

func (r *Reader) ticket(query string, args ...any) (Ticket, error) {
	return readOne(r, "read ticket", query, scanTicket, args...)
}

// FindTicket reads a ticket without using it. Errors: ErrNotFound, also if it has expired at nowMs.
func (r *Reader) FindTicket(kind TicketKind, hash []byte, nowMs int64) (Ticket, error) {
	return r.ticket(selectTicket+` WHERE hash = ?1 AND kind = ?2 AND expires_ms > ?3`, hash, int64(kind), nowMs)
}

// TicketByCode reads a ticket by its code without using it. Errors: ErrNotFound, also if it has expired at nowMs.
func (r *Reader) TicketByCode(kind TicketKind, code []byte, nowMs int64) (Ticket, error) {
	return r.ticket(selectTicket+` WHERE kind = ?1 AND code = ?2 AND code IS NOT NULL AND expires_ms > ?3`, int64(kind), code, nowMs)
}

// TicketEnds returns when the last ticket of a kind ends that a person has in an account; 0: there is none at nowMs.
func (r *Reader) TicketEnds(account, person int64, kind TicketKind, nowMs int64) (int64, error) {
	return r.count("look for the end of tickets", `SELECT COALESCE(MAX(expires_ms), 0) FROM ticket WHERE person = ?1 AND kind = ?2 AND person <> 0
 AND account = ?3 AND expires_ms > ?4`, person, int64(kind), account, nowMs)
}

// CountTickets counts the tickets of a kind that have not expired at nowMs, up to limit.
func (r *Reader) CountTickets(kind TicketKind, nowMs int64, limit int) (int, error) {
	n, err := r.count("count tickets", `SELECT COUNT(*) FROM (SELECT expires_ms FROM ticket WHERE kind = ?1 AND expires_ms > ?2 LIMIT ?3) AS open`,
		int64(kind), nowMs, int64(limit))
	return int(n), err
}

// SignInDelay delays the next sign-in of a person, or from an address, after tries that failed. All nodes share it.
type SignInDelay struct {
	Failures  int64
	UntilMs   int64 // the next try counts from then on
	UpdatedMs int64
}

// SignInDelayOf reads the delay of a name; the zero value: there is none.
func (r *Reader) SignInDelayOf(name [sha256.Size]byte) (d SignInDelay, err error) {
	err = r.c.Query(`SELECT failures, until_ms, updated_ms FROM sign_in_delay WHERE name = ?1`, func(row Row) error {
		d = SignInDelay{Failures: row.Int(0), UntilMs: row.Int(1), UpdatedMs: row.Int(2)}
		return nil
	}, name[:])
	if err != nil {
		return SignInDelay{}, fmt.Errorf("read delay of sign-in: %w", err)
	}
	return d, nil
}

// SetSignInDelay writes the delay of a name. ErrConflict: its failures are not was any more, because another try
// was counted; 0 is one that is not there.
func (t *Tx) SetSignInDelay(name [sha256.Size]byte, was int64, d SignInDelay) error {
	if was == 0 {
		return t.change("set delay of sign-in", `INSERT INTO sign_in_delay (name, failures, until_ms, updated_ms) VALUES (?1, ?2, ?3, ?4)
 ON CONFLICT (name) DO UPDATE SET failures = excluded.failures, until_ms = excluded.until_ms, updated_ms = excluded.updated_ms
 WHERE sign_in_delay.failures = 0`, name[:], d.Failures, d.UntilMs, d.UpdatedMs)
	}
	return t.change("set delay of sign-in", `UPDATE sign_in_delay SET failures = ?3, until_ms = ?4, updated_ms = ?5
 WHERE name = ?1 AND failures = ?2`, name[:], was, d.Failures, d.UntilMs, d.UpdatedMs)
}

// DeleteSignInDelay forgets the failures of a name.
func (t *Tx) DeleteSignInDelay(name [sha256.Size]byte) error {
	return t.c.Send("delete delay of sign-in", `DELETE FROM sign_in_delay WHERE name = ?1`, name[:])
}

// DeleteSignInDelays deletes up to limit delays that were last changed before that time.
func (t *Tx) DeleteSignInDelays(beforeMs int64, limit int) (int64, error) {
	return t.exec("delete delays of sign-ins", `DELETE FROM sign_in_delay WHERE updated_ms < ?1 AND name IN
 (SELECT name FROM sign_in_delay WHERE updated_ms < ?1 ORDER BY updated_ms LIMIT ?2)`, beforeMs, int64(limit))
}

// KeepSignInDelays deletes up to limit of the delays that were last changed the longest ago, but for the newest ones:
// so many that strangers cannot fill the database.
func (t *Tx) KeepSignInDelays(newest, limit int) (int64, error) {
	return t.exec("delete the oldest delays of sign-ins", `DELETE FROM sign_in_delay WHERE name IN (SELECT name FROM sign_in_delay WHERE updated_ms <
 (SELECT updated_ms FROM sign_in_delay ORDER BY updated_ms DESC LIMIT 1 OFFSET ?1) ORDER BY updated_ms LIMIT ?2)`, int64(newest-1), int64(limit))
}
