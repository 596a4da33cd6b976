package store

import (
	"errors"

	"github.com/chargehand/chargehand"
)

// Session is the row of a session: a person has signed in. The token itself is not stored.
type Session struct {
	No         int64 // ascends in the order of creation
	ID         chargehand.SessionID
	Hash       []byte // SHA-256 of the token
	OldHash    []byte // SHA-256 of the token before; nil: there was none
	OldUntilMs int64  // the token before counts until then
	Person     int64
	Account    int64  // that the session is in
	Method     string // how the person has signed in: password, passkey or oidc:NAME
	Address    string // of the sign-in
	Agent      string // User-Agent of the sign-in
	Rights     int64  // digest of the rights that the person had when the token was made
	CreatedMs  int64
	LastSeenMs int64
	IdleMs     int64 // when it ends without another request
	ExpiresMs  int64 // when it ends at the latest
	FreshMs    int64 // the sign-in is fresh until then
	RevokedMs  int64 // 0 unless revoked
}

// Ended reports whether the session has ended at a time.
func (s *Session) Ended(nowMs int64) bool {
	return s.RevokedMs != 0 || nowMs >= s.IdleMs || nowMs >= s.ExpiresMs
}

const selectSession = `SELECT no, id, hash, old_hash, old_until_ms, person, account, method, address, agent, rights, created_ms, last_seen_ms,
 idle_ms, expires_ms, fresh_ms, revoked_ms FROM session`

func scanSession(r Row, s *Session) {
	*s = Session{
		No: r.Int(0), Hash: r.Bytes(2), OldHash: r.Bytes(3), OldUntilMs: r.Int(4), Person: r.Int(5), Account: r.Int(6), Method: r.Text(7),
		Address: r.Text(8), Agent: r.Text(9), Rights: r.Int(10), CreatedMs: r.Int(11), LastSeenMs: r.Int(12), IdleMs: r.Int(13),
		ExpiresMs: r.Int(14), FreshMs: r.Int(15), RevokedMs: r.Int(16),
	}
	scanID(r, 1, &s.ID)
}

// InsertSession inserts s and sets s.No. ErrConflict: the id or the hash is taken.
func (t *Tx) InsertSession(s *Session) (err error) {
	s.No, err = t.insert("insert session", `INSERT INTO session (id, hash, person, account, method, address, agent, rights, created_ms,
 last_seen_ms, idle_ms, expires_ms, fresh_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`, s.ID[:], s.Hash, s.Person,
		s.Account, s.Method, s.Address, s.Agent, s.Rights, s.CreatedMs, s.LastSeenMs, s.IdleMs, s.ExpiresMs, s.FreshMs)
	return err
}

// RenewSession gives a session another token, and writes Account, Rights and FreshMs of s beside. The token before
// counts until s.OldUntilMs, for requests that are on their way. ErrConflict: the session is revoked, or its token is
// not that of the hash was any more.
func (t *Tx) RenewSession(s *Session, was []byte) error {
	return t.change("renew session", `UPDATE session SET hash = ?3, old_hash = ?2, old_until_ms = ?4, account = ?5, rights = ?6, fresh_ms = ?7
 WHERE no = ?1 AND hash = ?2 AND revoked_ms = 0`, s.No, was, s.Hash, s.OldUntilMs, s.Account, s.Rights, s.FreshMs)
}

// TouchSession moves the time at which a session was last seen forward, and the end that follows from it. The member
// was seen then, too.
func (t *Tx) TouchSession(no, seenMs, idleMs int64) error {
	err := t.c.Send("touch session", `UPDATE session SET last_seen_ms = ?2, idle_ms = ?3 WHERE no = ?1 AND last_seen_ms < ?2 AND revoked_ms = 0`,
		no, seenMs, idleMs)
	if err != nil {
		return err
	}
	return t.c.Send("touch membership of a session", `UPDATE membership SET last_seen_ms = ?2
 WHERE account = (SELECT account FROM session WHERE no = ?1) AND person = (SELECT person FROM session WHERE no = ?1) AND last_seen_ms < ?2`, no, seenMs)
}

// RevokeSession ends a session of a person; DeleteSessions may delete it from then on. Links to human tasks that were
// made by it stay (RevokeLinksOf). ErrConflict: there is none with that id, or it is revoked.
func (t *Tx) RevokeSession(person int64, id chargehand.SessionID, revokedMs int64) error {
	return t.change("revoke session", `UPDATE session SET revoked_ms = ?3, expires_ms = ?3 WHERE id = ?1 AND person = ?2 AND revoked_ms = 0`, id[:], person, revokedMs)
}

// RevokeSessions ends the sessions of a person in an account (0: in all accounts), but for the one with the number keep
// (0: none). With them end the links to open human tasks of the account that the person has made: those by the sessions
// that end and by others that have ended before, and if no session is kept, those by personal keys too.
func (t *Tx) RevokeSessions(person, account, keep, revokedMs int64) error {
	err := t.c.Send("revoke sessions", `UPDATE session SET revoked_ms = ?4, expires_ms = ?4
 WHERE person = ?1 AND revoked_ms = 0 AND no <> ?3 AND (?2 = 0 OR account = ?2)`, person, account, keep, revokedMs)
	if err != nil {
		return err
	}
	return t.revokeLinks(person, account, keep, revokedMs)
}

// KeepSessions deletes the oldest sessions of a person that are not revoked, but for the newest ones.
func (t *Tx) KeepSessions(person int64, newest int) error {
	return t.c.Send("delete the oldest sessions of a person", `DELETE FROM session WHERE person = ?1 AND revoked_ms = 0 AND no <
 (SELECT no FROM session WHERE person = ?1 AND revoked_ms = 0 ORDER BY no DESC LIMIT 1 OFFSET ?2)`, person, int64(newest-1))
}

// DeleteSessions deletes up to limit sessions whose last possible moment is before expiredMs.
func (t *Tx) DeleteSessions(expiredMs int64, limit int) (int64, error) {
	return t.exec("delete sessions", `DELETE FROM session WHERE no IN (SELECT no FROM session WHERE expires_ms < ?1 ORDER BY expires_ms, no LIMIT ?2)`,
		expiredMs, int64(limit))
}

func (r *Reader) sessions(what, query string, args ...any) ([]Session, error) {
	return readAll(r, what, query, scanSession, args...)
}

// SessionByNo reads a session, also one that has ended. Errors: ErrNotFound.
func (r *Reader) SessionByNo(no int64) (Session, error) {
	return readOne(r, "read session", selectSession+` WHERE no = ?1`, scanSession, no)
}

// SessionForUpdate is SessionByNo, and locks the session until the Update is committed: none revokes it meanwhile.
func (t *Tx) SessionForUpdate(no int64) (Session, error) {
	return readOne(&t.Reader, "lock session", selectSession+` WHERE no = ?1`+t.c.ForUpdate(), scanSession, no)
}

// SessionByHash reads the session whose token, or token before, has a hash, also one that has ended.
// Errors: ErrNotFound.
func (r *Reader) SessionByHash(hash []byte) (Session, error) {
	s, err := readOne(r, "read session", selectSession+` WHERE hash = ?1`, scanSession, hash)
	if errors.Is(err, ErrNotFound) {
		s, err = readOne(r, "read session", selectSession+` WHERE old_hash = ?1`, scanSession, hash)
	}
	return s, err
}

// OpenSessions counts the sessions of a person in an account that have not ended at a time.
func (r *Reader) OpenSessions(account, person, nowMs int64) (int64, error) {
	return r.count("count sessions", `SELECT COUNT(*) FROM session WHERE person = ?1 AND revoked_ms = 0 AND account = ?2
 AND idle_ms > ?3 AND expires_ms > ?3`, person, account, nowMs)
}

// ListSessions reads a page of the sessions of a person that are not revoked, newest first by number, those before the
// one with that number (0: first page). Ended ones are among them until they are deleted.
func (r *Reader) ListSessions(person, before int64, limit int) ([]Session, error) {
	if before == 0 {
		before = maxSeq
	}
	return r.sessions("list sessions", selectSession+` WHERE person = ?1 AND revoked_ms = 0 AND no < ?2 ORDER BY no DESC LIMIT ?3`,
		person, before, int64(limit))
}
