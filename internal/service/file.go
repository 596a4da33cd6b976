package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"mime"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// Bounds of what a file is called.
const (
	maxFileNameBytes  = 255
	maxMediaTypeBytes = 255
	anyContent        = "application/octet-stream"
)

// outputName is the file that the output of an execution without result files, or whose result files were all deleted,
// is shown as. Its id is that of the execution; its content is rendered from the stored output.
const outputName = "output.json"

// File is a stored file, or the virtual output.json of an execution, whose id is that of the
// execution.
type File struct {
	ID          chargehand.FileID
	Name        string // for display only
	ContentType string
	Size        int64
	SHA256      string // hex
	CreatedAt   time.Time
	URL         string // absolute, signed; empty beside an opened content
	ExpiresAt   time.Time
	Location    string // where the content is to be fetched instead; see OpenLink
}

// UploadFile is the request to store a file.
type UploadFile struct {
	Name        string // directories in front are dropped; empty: "file"
	ContentType string // empty, or no media type: application/octet-stream
	Content     io.Reader
	Idempotency *Idempotency // BodyHash is not used: the content's own hash counts
	View        View
}

// UploadFile stores a file while it is read. An error of Content is returned, wrapped.
// Codes: invalid_parameter (name), payload_too_large, storage_reserve, quota_exceeded, idempotency_key_reused,
// idempotency_in_progress.
func (s *Service) UploadFile(ctx context.Context, p *Principal, r UploadFile) (f *File, replayed bool, err error) {
	name, err := cleanFileName(r.Name)
	if err != nil {
		return nil, false, err
	}
	if _, _, err := mime.ParseMediaType(r.ContentType); err != nil || len(r.ContentType) > maxMediaTypeBytes ||
		strings.ContainsFunc(r.ContentType, func(c rune) bool { return c < ' ' || c > '~' }) {
		r.ContentType = anyContent // what no header may hold is not served as one
	}
	r.Content = &limitedReader{from: r.Content, left: s.limits.UploadBytes, limit: s.limits.UploadBytes}
	read := false
	return guarded(ctx, s, p, r.Idempotency,
		func(c *idempotencyGuard) (f *File, err error) {
			if err := s.checkReserve(); err != nil {
				return nil, err
			}
			room := s.admission(p)
			defer func() { room.end(err == nil) }()
			digest, size, err := s.blobs.Put(ctx, &admittedReader{ctx: ctx, from: r.Content, room: &room}, s.limits.UploadBytes)
			if err != nil {
				return nil, storageError(blobError(err))
			}
			read = true
			c.setBody(uploadHash(digest.Sum[:], name, r.ContentType))
			row := store.File{
				ID: newID[chargehand.FileID](s.nowMs()), Account: p.AccountNo, Environment: p.Environment,
				Name: name, MediaType: r.ContentType, Size: size, Digest: digest.Bytes(), Visible: true, Uploader: p.actor(), Owner: p.storageOwner().actor,
			}
			err = s.update(ctx, func(tx *store.Tx) error {
				if err := tx.InsertFile(&row); err != nil {
					return err
				}
				return c.record(tx, statusCreated, "file", row.ID)
			})
			return s.file(&row, r.View), err
		},
		func(c *idempotencyGuard) (*File, error) {
			if !read {
				h := sha256.New()
				if _, err := io.Copy(h, r.Content); err != nil {
					return nil, err
				}
				c.setBody(uploadHash(h.Sum(nil), name, r.ContentType))
			}
			if err := c.compare(); err != nil {
				return nil, err
			}
			return s.GetFile(ctx, p, ReadFile{ID: chargehand.FileID(c.found.Resource)}, r.View)
		})
}

// uploadHash stands for the body of an upload.
func uploadHash(digest []byte, name, contentType string) [sha256.Size]byte {
	return sha256.Sum256([]byte(string(digest) + name + "\x00" + contentType))
}

// limitedReader fails once there is more than the limit.
type limitedReader struct {
	from        io.Reader
	left, limit int64
}

func (l *limitedReader) Read(b []byte) (int, error) {
	if int64(len(b)) > l.left+1 {
		b = b[:l.left+1]
	}
	n, err := l.from.Read(b)
	if l.left -= int64(n); l.left < 0 {
		return 0, chargehand.NewError(chargehand.CodePayloadTooLarge,
			"The file is larger than "+strconv.FormatInt(l.limit, 10)+" bytes, the limit of an upload.")
	}
	return n, err
}

// admittedReader reads what there is room for: it fails when a quota, or the reserve of the disk, is reached.
type admittedReader struct {
	ctx     context.Context
	from    io.Reader
	room    *admission
	checked int64 // bytes since the disk was last looked at
}

// checkBytes is after how many bytes an upload looks at the disk.
const checkBytes = 8 << 20

func (a *admittedReader) Read(b []byte) (int, error) {
	n, err := a.from.Read(b)
	if n == 0 {
		return 0, err
	}
	if full := a.room.take(a.ctx, amount{bytes: int64(n)}); full != nil {
		return 0, full
	}
	if a.checked += int64(n); a.checked >= checkBytes {
		a.checked = 0
		a.room.service.reserve.Check()
		if full := a.room.service.checkReserve(); full != nil {
			return 0, full
		}
	}
	return n, err
}

// cleanFileName keeps the last part of a path, as far as it is fit for display.
// Codes: invalid_parameter.
func cleanFileName(name string) (string, error) {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = machine.CleanFileName(name)
	if len(name) > maxFileNameBytes {
		detail := "The name of the file is longer than " + strconv.Itoa(maxFileNameBytes) + " bytes."
		return "", chargehand.NewError(chargehand.CodeInvalidParameter, detail,
			chargehand.FieldError{Parameter: "filename", Code: "too_long", Detail: detail})
	}
	return name, nil
}

func (s *Service) file(row *store.File, v View) *File {
	f := describeFile(row)
	f.ExpiresAt = linkExpiry(s.now())
	f.URL = s.link(v.BaseURL, linkKind(row), row.Environment, row.ID, f.ExpiresAt)
	return f
}

func describeFile(row *store.File) *File {
	return &File{
		ID: row.ID, Name: row.Name, ContentType: row.MediaType, Size: row.Size,
		SHA256: blob.DigestOf(row.Digest).String(), CreatedAt: row.ID.Time(),
	}
}

func fileNotFound() error {
	return chargehand.NewError(chargehand.CodeFileNotFound, "There is no such file.")
}

// fileScope says which files are considered: those that a principal may see, or all of the kind that
// the signature of an address is for.
type fileScope struct {
	principal *Principal
	env       chargehand.Environment
	kind      blob.LinkKind          // 0: any
	task      chargehand.HumanTaskID // a task that shows the file to the principal; zero: none
	locate    time.Duration          // locate the content for so long instead of opening it; 0: open it
}

// linkKind tells files that have a row of their own from outputs.
func linkKind(row *store.File) blob.LinkKind {
	if row.No == 0 {
		return blob.LinkOutput
	}
	return blob.LinkFile
}

// foundFile is a file and, if it is virtual, what it is rendered from.
type foundFile struct {
	row    store.File
	output store.Payload
}

// findFile finds a file or an output.json. Codes: file_not_found.
func (s *Service) findFile(ctx context.Context, scope fileScope, id chargehand.FileID) (found foundFile, err error) {
	found, err = s.ownFile(ctx, scope, id)
	var hidden *chargehand.Error
	if !scope.task.IsZero() && errors.As(err, &hidden) && hidden.Code == chargehand.CodeFileNotFound {
		return s.taskFile(ctx, scope, id)
	}
	return found, err
}

// ownFile finds a file that the principal may read whatever tasks show. Codes: file_not_found.
func (s *Service) ownFile(ctx context.Context, scope fileScope, id chargehand.FileID) (found foundFile, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		var err error
		switch {
		case scope.kind == blob.LinkOutput:
			err = store.ErrNotFound
		case scope.principal == nil:
			found.row, err = r.FindFile(id)
		default:
			found.row, err = r.FileByID(scope.principal.AccountNo, scope.env, id)
		}
		if errors.Is(err, store.ErrNotFound) && scope.kind != blob.LinkFile {
			err = findOutput(r, scope, chargehand.ExecutionID(id), &found)
		}
		if err != nil {
			return err
		}
		if found.row.Environment != scope.env {
			return fileNotFound()
		}
		return s.checkFile(r, scope.principal, &found.row)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = fileNotFound()
	}
	return found, err
}

// findOutput finds the virtual output.json of an execution. Errors: store.ErrNotFound.
func findOutput(r *store.Reader, scope fileScope, id chargehand.ExecutionID, found *foundFile) error {
	var e store.Execution
	var err error
	if scope.principal == nil {
		e, err = r.FindExecution(id)
	} else {
		e, err = r.ExecutionByID(scope.principal.AccountNo, scope.env, id)
	}
	if err != nil {
		return err
	}
	if e.Status != chargehand.Finished {
		return store.ErrNotFound
	}
	o, err := r.Outcome(e.No)
	if err != nil {
		return err
	}
	files, err := resultFiles(r, &e, &o)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return store.ErrNotFound
	}
	found.row, found.output = outputFile(&e, &o), o.Output
	return nil
}

// outputFile describes the virtual output.json of a finished execution.
func outputFile(e *store.Execution, o *store.Outcome) store.File {
	digest := o.Output.Blob
	if digest == nil {
		sum := sha256.Sum256(o.Output.Inline)
		digest = sum[:]
	}
	return store.File{
		ID: chargehand.FileID(e.ID), Account: e.Account, Environment: e.Environment, Name: outputName,
		MediaType: mediaJSON, Size: o.Output.Size, Digest: digest, Execution: e.No,
	}
}

// checkFile hides from a limited key files of executions of workflows that it does not see, and what other keys
// have uploaded; nil sees all. Codes: file_not_found.
func (s *Service) checkFile(r *store.Reader, p *Principal, row *store.File) error {
	if p == nil || p.Workflows == nil && p.partial == nil {
		return nil
	}
	if row.Execution == 0 {
		if row.Uploader != p.actor() {
			return fileNotFound()
		}
		return nil
	}
	e, err := r.ExecutionByNo(row.Execution)
	if err != nil {
		return err
	}
	workflow, err := s.names.workflow(r, e.Workflow)
	if err == nil && !p.seesStarted(workflow, e.StartedBy) {
		err = fileNotFound()
	}
	return err
}

// ReadFile is the request to read a file.
type ReadFile struct {
	ID chargehand.FileID
	// Task is a human task that the principal sees: it may read the files that the task, or its answer, shows. Zero: none.
	Task chargehand.HumanTaskID
}

// GetFile describes a file. Codes: file_not_found.
func (s *Service) GetFile(ctx context.Context, p *Principal, q ReadFile, v View) (*File, error) {
	found, err := s.findFile(ctx, fileScope{principal: p, env: p.Environment, task: q.Task}, q.ID)
	if err != nil {
		return nil, err
	}
	return s.file(&found.row, v), nil
}

// OpenFile opens the content of a file. Codes: file_not_found.
func (s *Service) OpenFile(ctx context.Context, p *Principal, q ReadFile) (*File, io.ReadSeekCloser, error) {
	return s.open(ctx, fileScope{principal: p, env: p.Environment, task: q.Task}, q.ID)
}

func (s *Service) open(ctx context.Context, scope fileScope, id chargehand.FileID) (*File, io.ReadSeekCloser, error) {
	found, err := s.findFile(ctx, scope, id)
	if err != nil {
		return nil, nil, err
	}
	if found.output.Damage != nil {
		return nil, nil, found.output.Damage
	}
	if found.output.Inline != nil {
		return describeFile(&found.row), memoryContent{bytes.NewReader(found.output.Inline)}, nil
	}
	if scope.locate > 0 {
		f, err := s.locate(ctx, &found.row, scope.locate)
		if !errors.Is(err, blob.ErrNoAddress) { // which what is sealed has not
			return f, nil, err
		}
	}
	content, err := s.openContent(ctx, found.row.Digest, found.row.Size)
	if err != nil {
		return nil, nil, err
	}
	return describeFile(&found.row), content, nil
}

// memoryContent is content that is in memory.
type memoryContent struct{ *bytes.Reader }

// Close has nothing to do.
func (memoryContent) Close() error { return nil }
