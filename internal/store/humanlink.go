package store

import (
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
	CreatedMs int64
	ExpiresMs int64
	RevokedMs int64 // 0: it is not revoked
	// Uploads are the files that were uploaded by it.
	Uploads, UploadBytes int64
}

const selectTaskLink = `SELECT no, id, task, hash, name, email, email_key, person, maker, maker_id, maker_name, created_ms, expires_ms, revoked_ms,
 uploads, upload_bytes FROM human_link`

func scanTaskLink(r Row, l *TaskLink) {
	*l = TaskLink{
		No: r.Int(0), Task: r.Int(2), Hash: r.Bytes(3), Name: r.Text(4), Email: r.Text(5), EmailKey: r.Text(6), Person: r.Int(7), Maker: r.Int(8),
		MakerID: r.Text(9), MakerName: r.Text(10), CreatedMs: r.Int(11), ExpiresMs: r.Int(12), RevokedMs: r.Int(13),
		Uploads: r.Int(14), UploadBytes: r.Int(15),
	}
	scanID(r, 1, &l.ID)
}

// InsertTaskLink adds a link to a task, and sets l.No. ErrConflict: the hash is taken.
func (t *Tx) InsertTaskLink(l *TaskLink) (err error) {
	l.No, err = t.insert("link to a human task", `INSERT INTO human_link (id, task, hash, name, email, email_key, person, maker, maker_id, maker_name,
 created_ms, expires_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`,
		l.ID[:], l.Task, l.Hash, l.Name, l.Email, l.EmailKey, l.Person, l.Maker, l.MakerID, l.MakerName, l.CreatedMs, l.ExpiresMs)
	return err
}

// RevokeTaskLink revokes a link. ErrConflict: it is revoked.
func (t *Tx) RevokeTaskLink(no, revokedMs int64) error {
	return t.change("revoke a link to a human task", `UPDATE human_link SET revoked_ms = ?2 WHERE no = ?1 AND revoked_ms = 0`, no, revokedMs)
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

// KeepMailedLinks deletes the oldest links to a task that the server has mailed to an address, but for the newest
// ones.
func (t *Tx) KeepMailedLinks(task int64, emailKey string, newest int) error {
	return t.c.Send("delete the oldest mailed links", `DELETE FROM human_link WHERE task = ?1 AND maker = 0 AND email_key = ?2 AND no <=
 (SELECT no FROM human_link WHERE task = ?1 AND maker = 0 AND email_key = ?2 ORDER BY no DESC LIMIT 1 OFFSET ?3)`, task, emailKey, int64(newest))
}

// TaskLinkByHash reads a link by the hash of its secret. Errors: ErrNotFound.
func (r *Reader) TaskLinkByHash(hash []byte) (TaskLink, error) {
	return readOne(r, "read a link to a human task", selectTaskLink+` WHERE hash = ?1`, scanTaskLink, hash)
}

// TaskLinkByID reads a link to a task. Errors: ErrNotFound.
func (r *Reader) TaskLinkByID(task int64, id chargehand.TaskLinkID) (TaskLink, error) {
	return readOne(r, "read a link to a human task", selectTaskLink+` WHERE id = ?1 AND task = ?2`, scanTaskLink, id[:], task)
}

// TaskLinks reads up to limit links to a task, the oldest first.
func (r *Reader) TaskLinks(task int64, limit int) ([]TaskLink, error) {
	return readAll(r, "read the links to a human task", selectTaskLink+` WHERE task = ?1 ORDER BY no LIMIT ?2`, scanTaskLink, task, int64(limit))
}

// CountTaskLinks counts the links to a task that persons and API keys have made, up to limit.
func (r *Reader) CountTaskLinks(task int64, limit int) (int64, error) {
	return r.count("count the links to a human task", `SELECT COUNT(*) FROM (SELECT 1 FROM human_link WHERE task = ?1 AND maker <> 0 LIMIT ?2) x`,
		task, int64(limit))
}
