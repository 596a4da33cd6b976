package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// TaskLink is a link by which a person answers a human task without signing in. The secret in its address is not
// stored.
type TaskLink struct {
	No        int64
	ID        chargehand.TaskLinkID
	Task      int64
	Hash      []byte // SHA-256 of the secret
	Name      string // of the addressee
	Email     string // empty: not known
	EmailKey  string // the same in the form that is compared
	Person    int64  // the addressee, if that was a user when the link was made; 0: it was none
	Maker     int64  // as Execution.StartedBy; 0: the server, which has mailed it
	MakerID   string // of the maker; empty: the server
	MakerName string
	// By what the maker has made it: an API key, which may be a personal one, or a session. Sessions have numbers again
	// that were deleted, but never ids.
	MakerKey     int64                // 0: none
	MakerSession chargehand.SessionID // zero: none
	CreatedMs    int64
	ExpiresMs    int64
	RevokedMs    int64 // 0: it is not revoked
	ReplacedMs   int64 // when newer ones were mailed in its place; 0: it counts
	// Uploads are the files that were uploaded by it.
	Uploads, UploadBytes int64
}

const selectTaskLink = `SELECT no, id, task, hash, name, email, email_key, person, maker, maker_id, maker_name, created_ms, expires_ms, revoked_ms,
 uploads, upload_bytes, maker_key, maker_session, replaced_ms FROM human_link`

func scanTaskLink(r Row, l *TaskLink) {
	*l = TaskLink{
		No: r.Int(0), Task: r.Int(2), Hash: r.Bytes(3), Name: r.Text(4), Email: r.Text(5), EmailKey: r.Text(6), Person: r.Int(7), Maker: r.Int(8),
		MakerID: r.Text(9), MakerName: r.Text(10), CreatedMs: r.Int(11), ExpiresMs: r.Int(12), RevokedMs: r.Int(13),
		Uploads: r.Int(14), UploadBytes: r.Int(15), MakerKey: r.Int(16), ReplacedMs: r.Int(18),
	}
	scanID(r, 1, &l.ID)
	if !r.Null(17) {
		scanID(r, 17, &l.MakerSession)
	}
}

// InsertTaskLink adds a link to a task, and sets l.No. ErrConflict: the hash is taken, or a person or API key makes the
// link and the task has ended.
func (t *Tx) InsertTaskLink(l *TaskLink) (err error) {
	if l.Maker != 0 {
		// The row of the task is locked: its end finds the link, and who counts links next counts this one.
		err := t.one(`SELECT no FROM human_task WHERE no = ?1 AND status < 3`+t.c.ForUpdate(), func(Row) {}, l.Task)
		if errors.Is(err, ErrNotFound) {
			err = ErrConflict
		}
		if err != nil {
			return fmt.Errorf("link to a human task: %w", err)
		}
	}
	var session any
	if !l.MakerSession.IsZero() {
		session = l.MakerSession[:]
	}
	l.No, err = t.insert("link to a human task", `INSERT INTO human_link (id, task, hash, name, email, email_key, person, maker, maker_id, maker_name,
 created_ms, expires_ms, maker_key, maker_session) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)`,
		l.ID[:], l.Task, l.Hash, l.Name, l.Email, l.EmailKey, l.Person, l.Maker, l.MakerID, l.MakerName, l.CreatedMs, l.ExpiresMs, l.MakerKey, session)
	return err
}

// RevokeTaskLink revokes a link. ErrConflict: it is revoked.
func (t *Tx) RevokeTaskLink(no, revokedMs int64) error {
	return t.change("revoke a link to a human task", `UPDATE human_link SET revoked_ms = ?2 WHERE no = ?1 AND revoked_ms = 0`, no, revokedMs)
}

// RevokeLinksOf revokes the links to open human tasks that a person has made by a session, whether that has ended or
// not.
func (t *Tx) RevokeLinksOf(person int64, session chargehand.SessionID, revokedMs int64) error {
	return t.c.Send("revoke the links of a session", `UPDATE human_link SET revoked_ms = ?3 WHERE `+openLinks+` AND maker_session = ?2`,
		-person, session[:], revokedMs)
}

// openLinks is a condition of human_link, in the words of its index: the links to open tasks that a person with the
// negative number ?1 has made. Those to tasks that have ended stay as they are.
const openLinks = `maker = ?1 AND maker < 0 AND revoked_ms = 0 AND task_ended = 0`

// revokeLinks revokes the links to open human tasks of an account (0: of all accounts) that a person has made: all, or
// those by sessions but the one with the number keep (0: none is kept).
func (t *Tx) revokeLinks(person, account, keep, revokedMs int64) error {
	return t.c.Send("revoke the links of a person", `UPDATE human_link SET revoked_ms = ?4 WHERE `+openLinks+`
 AND (?3 = 0 OR maker_session <> (SELECT s.id FROM session s WHERE s.no = ?3))
 AND (?2 = 0 OR EXISTS (SELECT 1 FROM human_task h WHERE h.no = human_link.task AND h.account = ?2))`, -person, account, keep, revokedMs)
}

// endLinks notes that the task of links has ended.
func (t *Tx) endLinks(task int64) error {
	return t.c.Send("end the links to a human task", `UPDATE human_link SET task_ended = 1 WHERE task = ?1 AND maker < 0`, task)
}

// CountLinkUpload counts a file that is about to be uploaded by a link. ErrConflict: it has as many, or as many bytes.
func (t *Tx) CountLinkUpload(no, mostFiles, mostBytes int64) error {
	return t.change("count an upload by a link", `UPDATE human_link SET uploads = uploads + 1 WHERE no = ?1 AND uploads < ?2 AND upload_bytes < ?3`,
		no, mostFiles, mostBytes)
}

// CountLinkBytes counts bytes that were uploaded by a link. ErrConflict: they would be too many.
func (t *Tx) CountLinkBytes(no, bytes, mostBytes int64) error {
	return t.change("count bytes uploaded by a link", `UPDATE human_link SET upload_bytes = upload_bytes + ?2 WHERE no = ?1 AND upload_bytes + ?2 <= ?3`,
		no, bytes, mostBytes)
}

// KeepMailedLinks notes that the oldest links to a task that the server has mailed to an address are replaced by the
// newest ones. Lists leave them out.
func (t *Tx) KeepMailedLinks(task int64, emailKey string, newest int, replacedMs int64) error {
	return t.c.Send("replace the oldest mailed links", `UPDATE human_link SET replaced_ms = ?4 WHERE task = ?1 AND maker = 0 AND email_key = ?2 AND replaced_ms = 0
 AND no <= (SELECT x.no FROM human_link x WHERE x.task = ?1 AND x.maker = 0 AND x.email_key = ?2 ORDER BY x.no DESC LIMIT 1 OFFSET ?3)`,
		task, emailKey, int64(newest), replacedMs)
}

// TaskLinkByHash reads a link by the hash of its secret. Errors: ErrNotFound.
func (r *Reader) TaskLinkByHash(hash []byte) (TaskLink, error) {
	return readOne(r, "read a link to a human task", selectTaskLink+` WHERE hash = ?1`, scanTaskLink, hash)
}

// TaskLinkByID reads a link to a task. Errors: ErrNotFound.
func (r *Reader) TaskLinkByID(task int64, id chargehand.TaskLinkID) (TaskLink, error) {
	return readOne(r, "read a link to a human task", selectTaskLink+` WHERE id = ?1 AND task = ?2`, scanTaskLink, id[:], task)
}

// TaskLinks reads up to limit links to a task that were not replaced, the oldest first.
func (r *Reader) TaskLinks(task int64, limit int) ([]TaskLink, error) {
	return readAll(r, "read the links to a human task", selectTaskLink+` WHERE task = ?1 AND replaced_ms = 0 ORDER BY no LIMIT ?2`, scanTaskLink, task, int64(limit))
}

// CountTaskLinks counts the links to a task that persons and API keys have made, up to limit.
func (r *Reader) CountTaskLinks(task int64, limit int) (int64, error) {
	return r.count("count the links to a human task", `SELECT COUNT(*) FROM (SELECT 1 FROM human_link WHERE task = ?1 AND maker <> 0 LIMIT ?2) x`,
		task, int64(limit))
}

// CountOpenLinks counts the links to open human tasks that a person has made and that are not revoked, up to limit.
func (r *Reader) CountOpenLinks(person int64, limit int) (int64, error) {
	return r.count("count the links of a person", `SELECT COUNT(*) FROM (SELECT 1 FROM human_link WHERE `+openLinks+` LIMIT ?2) x`, -person, int64(limit))
}
