package store

import (
	"errors"
	"fmt"
)

// MailResult says how the work on a mail has ended. Numbers are stored.
type MailResult uint8

// The results. A mail that has none is to be sent.
const (
	MailSent     MailResult = 1 // the mail server has taken it
	MailGivenUp  MailResult = 2 // the mail server has refused it, or it has expired
	MailNeedless MailResult = 3 // there is no person to send it to
)

// Mail is a mail that was written with the change that it tells of. Until DueMs, the process that has leased it sends
// it; then any process may.
type Mail struct {
	No        int64
	ID        [16]byte
	Account   int64 // 0: none
	Person    int64 // 0: not known yet
	Kind      string
	Attempts  int64 // leases so far
	DueMs     int64
	ExpiresMs int64 // it is of no use afterwards
	CreatedMs int64
	Content   []byte // sealed
}

// InsertMail inserts m and sets m.No. ErrConflict: the id is taken.
func (t *Tx) InsertMail(m *Mail) (err error) {
	m.No, err = t.insert("insert mail", `INSERT INTO mail (id, account, person, kind, due_ms, expires_ms, created_ms, content)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`, m.ID[:], m.Account, m.Person, m.Kind, m.DueMs, m.ExpiresMs, m.CreatedMs, m.Content)
	return err
}

// LeaseMail leases the mail that is due first at nowMs until untilMs, and counts an attempt. No two callers lease the
// same mail before that time. ErrNotFound: none is due.
func (t *Tx) LeaseMail(nowMs, untilMs int64) (m Mail, err error) {
	nos, err := t.numbers(`SELECT no FROM mail WHERE ended_ms = 0 AND due_ms <= ?1 ORDER BY due_ms, no LIMIT 1`+t.c.SkipLocked(), nowMs)
	if err == nil && len(nos) == 0 {
		err = ErrNotFound
	}
	if err == nil {
		err = t.one(`UPDATE mail SET due_ms = ?2, attempts = attempts + 1 WHERE no = ?1
 RETURNING no, id, account, person, kind, attempts, due_ms, expires_ms, created_ms, content`, func(r Row) {
			m = Mail{
				No: r.Int(0), Account: r.Int(2), Person: r.Int(3), Kind: r.Text(4), Attempts: r.Int(5), DueMs: r.Int(6), ExpiresMs: r.Int(7),
				CreatedMs: r.Int(8), Content: r.Bytes(9),
			}
			copy(m.ID[:], r.Bytes(1))
		}, nos[0], untilMs)
	}
	if err != nil {
		return Mail{}, fmt.Errorf("lease mail: %w", err)
	}
	return m, nil
}

// CompleteMail writes Person, Account, ExpiresMs and Content of a mail that the caller has leased. ErrConflict: the
// lease is another one's now.
func (t *Tx) CompleteMail(m *Mail) error {
	return t.change("complete mail", `UPDATE mail SET person = ?3, account = ?4, expires_ms = ?5, content = ?6
 WHERE no = ?1 AND attempts = ?2 AND ended_ms = 0`, m.No, m.Attempts, m.Person, m.Account, m.ExpiresMs, m.Content)
}

// PostponeMail has a mail that the caller has leased due at dueMs. ErrConflict: the lease is another one's now.
func (t *Tx) PostponeMail(m *Mail, dueMs int64) error {
	return t.change("postpone mail", `UPDATE mail SET due_ms = ?3 WHERE no = ?1 AND attempts = ?2 AND ended_ms = 0`, m.No, m.Attempts, dueMs)
}

// EndMail ends the work on a mail that the caller has leased, and forgets its content. ErrConflict: the lease is
// another one's now.
func (t *Tx) EndMail(m *Mail, result MailResult, endedMs int64) error {
	return t.change("end mail", `UPDATE mail SET result = ?3, ended_ms = ?4, content = NULL WHERE no = ?1 AND attempts = ?2 AND ended_ms = 0`,
		m.No, m.Attempts, int64(result), endedMs)
}

// DeleteMail deletes up to limit mails that have expired before that time, whether they were sent or not.
func (t *Tx) DeleteMail(expiredMs int64, limit int) (int64, error) {
	return t.exec("delete mail", `DELETE FROM mail WHERE expires_ms < ?1 AND no IN
 (SELECT no FROM mail WHERE expires_ms < ?1 ORDER BY expires_ms LIMIT ?2)`, expiredMs, int64(limit))
}

// MailDue reports whether a mail is due at nowMs: a cheap check before LeaseMail.
func (r *Reader) MailDue(nowMs int64) (bool, error) {
	return r.exists("look for due mail", `SELECT 1 FROM mail WHERE ended_ms = 0 AND due_ms <= ?1 ORDER BY due_ms LIMIT 1`, nowMs)
}

// OldestMailMs returns when the mail that is due first is due; 0 if there is none.
func (r *Reader) OldestMailMs() (ms int64, err error) {
	err = r.one(`SELECT due_ms FROM mail WHERE ended_ms = 0 AND due_ms > 0 ORDER BY due_ms LIMIT 1`, func(row Row) { ms = row.Int(0) })
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("read the oldest mail: %w", err)
	}
	return ms, nil
}

// CountMail counts the mails that are to be sent, at most limit.
func (r *Reader) CountMail(limit int) (int64, error) {
	return r.count("count mail", `SELECT COUNT(*) FROM (SELECT due_ms FROM mail WHERE ended_ms = 0 AND due_ms > 0 ORDER BY due_ms LIMIT ?1) AS waiting`, int64(limit))
}

// CountMailDue counts the mails that are due at nowMs, at most limit: not those that are being sent or were postponed.
func (r *Reader) CountMailDue(nowMs int64, limit int) (int64, error) {
	return r.count("count due mail", `SELECT COUNT(*) FROM (SELECT due_ms FROM mail WHERE ended_ms = 0 AND due_ms <= ?1 ORDER BY due_ms LIMIT ?2) AS due`,
		nowMs, int64(limit))
}

// CountPostponedMail counts the mails of an account that were tried and are tried again after nowMs, at most limit.
func (r *Reader) CountPostponedMail(account, nowMs int64, limit int) (int64, error) {
	return r.count("count postponed mail", `SELECT COUNT(*) FROM (SELECT due_ms FROM mail
 WHERE ended_ms = 0 AND due_ms > ?2 AND account = ?1 AND attempts > 0 ORDER BY due_ms LIMIT ?3) AS postponed`, account, nowMs, int64(limit))
}
