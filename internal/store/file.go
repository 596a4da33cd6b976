package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// File describes stored content under a name. Its content is a blob.
type File struct {
	No          int64
	ID          chargehand.FileID // its time part is the creation time
	Account     int64
	Environment chargehand.Environment
	Name        string // for display only
	MediaType   string
	Size        int64
	Digest      []byte // blob.Digest.Bytes
	Execution   int64  // that made it; 0: an upload, or not journaled yet
	Uploader    int64  // number of the key that has uploaded it; below 0: of the person; 0: none
	// Owner is whose storage it counts for: the starter of the execution, or the uploader where an upload names no other;
	// 0: none.
	Owner   int64
	Visible bool // uploads at once; results when the outcome that names them is journaled
}

const selectFile = `SELECT no, id, account, environment, name, media_type, size, digest, execution, visible, uploader, owner FROM file`

func (r *Reader) scanFile(rw Row, f *File) {
	*f = File{
		No: rw.Int(0), Account: rw.Int(2), Environment: chargehand.Environment(rw.Int(3)), Name: rw.Text(4), MediaType: rw.Text(5),
		Size: rw.Int(6), Digest: r.show(rw.Bytes(7)), Execution: rw.Int(8), Visible: rw.Int(9) != 0, Uploader: rw.Int(10), Owner: rw.Int(11),
	}
	scanID(rw, 1, &f.ID)
}

// InsertFile inserts f and sets f.No. Its blob must have been reserved; else ErrNotFound.
func (t *Tx) InsertFile(f *File) (err error) {
	if f.Digest == nil {
		return errors.New("insert file: no digest")
	}
	if f.Owner == 0 {
		f.Owner = f.Uploader
	}
	f.No, err = t.insert("insert file", `INSERT INTO file (id, account, environment, name, media_type, size, digest, execution, visible, uploader, owner)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`, f.ID[:], f.Account, int64(f.Environment), f.Name, f.MediaType, f.Size, t.hidden(f.Digest),
		f.Execution, flagArg(f.Visible), f.Uploader, f.Owner)
	if err != nil {
		return err
	}
	t.countUsage(f.Account, f.Environment, f.Owner, Usage{Bytes: f.Size})
	return t.refBlob(f.Digest)
}

// PublishFile makes a file visible and gives it to the execution whose outcome names it.
// A file that is visible already stays with whom it belongs to. Errors: ErrNotFound.
func (t *Tx) PublishFile(id chargehand.FileID, execution int64) error {
	var f UsageChange
	err := t.one(`UPDATE file SET execution = ?2, visible = 1, owner = COALESCE((SELECT started_by FROM execution WHERE no = ?2), 0)
 WHERE id = ?1 AND visible = 0 RETURNING account, environment, owner, size`, func(r Row) {
		f = UsageChange{UsageOwner{r.Int(0), chargehand.Environment(r.Int(1)), r.Int(2)}, Usage{Bytes: r.Int(3)}}
	}, id[:], execution)
	if errors.Is(err, ErrNotFound) { // published before, or gone
		return t.one(`SELECT no FROM file WHERE id = ?1`, func(Row) {}, id[:])
	}
	if err != nil {
		return fmt.Errorf("publish file: %w", err)
	}
	if f.Actor != 0 { // of the environment it was counted when it was inserted
		t.countUsage(f.Account, f.Environment, f.Actor, f.Usage)
		t.countUsage(f.Account, f.Environment, 0, Usage{Bytes: -f.Bytes})
	}
	return nil
}

// UseFile records that an execution refers to a file that it did not make, so that the
// file stays as long as the execution does. Twice is once.
func (t *Tx) UseFile(file, execution int64) error {
	return t.c.Send("use file", `INSERT INTO file_use (execution, file) VALUES (?1, ?2) ON CONFLICT (execution, file) DO NOTHING`, execution, file)
}

// UsesFile reports whether an execution refers to a file that it did not make (UseFile).
func (r *Reader) UsesFile(file, execution int64) (bool, error) {
	return r.exists("look up the use of a file", `SELECT 1 FROM file_use WHERE execution = ?1 AND file = ?2`, execution, file)
}

// FileByID reads a visible file of an account and environment. Errors: ErrNotFound.
func (r *Reader) FileByID(account int64, env chargehand.Environment, id chargehand.FileID) (File, error) {
	return r.file(selectFile+` WHERE id = ?1 AND account = ?2 AND environment = ?3 AND visible = 1`, id[:], account, int64(env))
}

// FilesByID is FileByID for many. Those that are not there are left out.
func (r *Reader) FilesByID(account int64, env chargehand.Environment, ids []chargehand.FileID) (map[chargehand.FileID]File, error) {
	found := make(map[chargehand.FileID]File, len(ids))
	err := groups(len(ids), func(from, n, size int) error {
		args := make([]any, size, size+2)
		for i := range args {
			args[i] = ids[from+min(i, n-1)][:]
		}
		query := fmt.Sprintf(`%s WHERE id IN (%s) AND account = ?%d AND environment = ?%d AND visible = 1`, selectFile, placeholders(size), size+1, size+2)
		list, err := r.files(query, append(args, account, int64(env))...)
		for i := range list {
			found[list[i].ID] = list[i]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// FindFile reads a visible file of any tenant: for signed links. Errors: ErrNotFound.
func (r *Reader) FindFile(id chargehand.FileID) (File, error) {
	return r.file(selectFile+` WHERE id = ?1 AND visible = 1`, id[:])
}

func (r *Reader) file(query string, args ...any) (File, error) {
	return readOne(r, "read file", query, r.scanFile, args...)
}

// FilesOf reads up to limit visible files that an execution made and whose No is above after, by No.
func (r *Reader) FilesOf(execution, after int64, limit int) ([]File, error) {
	return r.files(selectFile+` WHERE execution = ?1 AND execution <> 0 AND visible = 1 AND no > ?2 ORDER BY no LIMIT ?3`, execution, after, int64(limit))
}

func (r *Reader) files(query string, args ...any) ([]File, error) {
	return readAll(r, "list files", query, r.scanFile, args...)
}

// DeleteHiddenFiles deletes up to limit files made before beforeMs that never became
// visible: the outcome that would have named them was lost.
func (t *Tx) DeleteHiddenFiles(beforeMs int64, limit int) (int, error) {
	_, high := idBounds(0, beforeMs)
	return t.deleteFiles(selectFile+` WHERE visible = 0 AND id < ?1 ORDER BY id LIMIT ?2`, high, int64(limit))
}

// DeleteUploads deletes up to limit files of an environment made before beforeMs that
// belong to no execution and are used by none.
func (t *Tx) DeleteUploads(env chargehand.Environment, beforeMs int64, limit int) (int, error) {
	_, high := idBounds(0, beforeMs)
	return t.deleteFiles(selectFile+` WHERE execution = 0 AND visible = 1 AND environment = ?1 AND id < ?2
 AND NOT EXISTS (SELECT 1 FROM file_use u WHERE u.file = file.no) ORDER BY id LIMIT ?3`, int64(env), high, int64(limit))
}

// deleteFiles deletes what a query finds, except what another Update deletes or keeps
// (KeepFile) just now. A use that was committed while the query ran shows below.
func (t *Tx) deleteFiles(query string, args ...any) (int, error) {
	files, err := t.files(query+t.c.SkipLocked(), args...)
	if err != nil {
		return 0, err
	}
	blobs := make([][]byte, 0, len(files))
	for i := range files {
		n, err := t.c.Exec(`DELETE FROM file WHERE no = ?1 AND NOT EXISTS (SELECT 1 FROM file_use u WHERE u.file = file.no)`, files[i].No)
		if err != nil {
			return 0, fmt.Errorf("delete file: %w", err)
		}
		if n != 0 {
			blobs = append(blobs, t.hidden(files[i].Digest))
			t.uncountFile(&files[i])
		}
	}
	return len(files), t.unrefBlobs(blobs)
}

// DeleteFile deletes a file, and what ended executions have noted about its use. ErrConflict: an execution that has not
// ended has made the file or was given it; nothing was written. Errors: ErrNotFound.
func (t *Tx) DeleteFile(no int64) error {
	f, err := t.file(selectFile+` WHERE no = ?1`+t.c.ForUpdate(), no) // who begins to use it waits for us, or we for them
	if err != nil {
		return err
	}
	for _, query := range [...]string{
		`SELECT e.no FROM file f JOIN execution e ON e.no = f.execution WHERE f.no = ?1 AND f.execution <> 0 AND e.state <> 0`,
		`SELECT e.no FROM file_use u JOIN execution e ON e.no = u.execution WHERE u.file = ?1 AND e.state <> 0 LIMIT 1`,
	} {
		users, err := t.numbers(query, no)
		if err == nil && len(users) > 0 {
			err = ErrConflict
		}
		if err != nil {
			return fmt.Errorf("delete file: %w", err)
		}
	}
	if err := t.c.Send("delete uses of a file", `DELETE FROM file_use WHERE file = ?1`, no); err != nil {
		return err
	}
	if err := t.change("delete file", `DELETE FROM file WHERE no = ?1`, no); err != nil {
		return err
	}
	t.uncountFile(&f)
	return t.unrefBlobs([][]byte{t.hidden(f.Digest)})
}

func (t *Tx) uncountFile(f *File) {
	t.countUsage(f.Account, f.Environment, f.Owner, Usage{Bytes: -f.Size})
}
