package service

import (
	"context"
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// LinkedFile is a file that was uploaded by a link and is not part of an answer yet. Text stands for it in a form: only
// the link that has made it can use it, for a day.
type LinkedFile struct {
	ID        chargehand.FileID
	Text      string
	Name      string
	Size      int64
	Reference value.Value
}

// linkedFileLife is how long an upload can be used.
const linkedFileLife = 24 * time.Hour

func (o *openedLink) upload(id chargehand.FileID, expires int64) blob.Link {
	return blob.Link{Kind: blob.LinkUpload, Environment: o.task.Environment, ID: id, ExpiresUnix: expires, Disposition: o.link.ID.String()}
}

// The bounds of what is uploaded by one link, used or not.
const (
	MaxLinkUploads     = 100
	MaxLinkUploadBytes = 1 << 30
)

// LinkUpload is a file that is uploaded by a link.
type LinkUpload struct {
	Name, ContentType string
	Content           io.Reader
	ForAnswer         bool // it is for the files of the answer, not for its data
}

// UploadByLink stores a file for the answer to a task. It takes the room of the maker of the link (uploadOwner). Codes:
// task_link_not_found, answer_invalid (the task asks for no such file), state_conflict (the task cannot be answered by
// the link, or too much was uploaded by it), those of UploadFile.
func (s *Service) UploadByLink(ctx context.Context, secret string, u LinkUpload) (LinkedFile, error) {
	o, err := s.openLink(ctx, secret)
	if err != nil {
		return LinkedFile{}, err
	}
	switch {
	case o.state != LinkOpen:
		return LinkedFile{}, stateConflict("The task cannot be answered by this link.")
	case u.ForAnswer:
		if err := s.acceptsUpload(ctx, &o, &u); err != nil {
			return LinkedFile{}, err
		}
	}
	p := o.principal(nil)
	if p.charged, err = s.uploadOwner(ctx, &o); err != nil {
		return LinkedFile{}, err
	}
	counted := &countedReader{ctx: ctx, service: s, link: o.link.No, from: u.Content}
	if err := counted.begin(); err != nil {
		return LinkedFile{}, err
	}
	f, _, err := s.UploadFile(ctx, p, UploadFile{Name: u.Name, ContentType: u.ContentType, Content: counted})
	if err == nil {
		// What is not counted has no text, so it becomes part of no answer, and is deleted like all that nothing uses.
		err = counted.count()
	}
	if err != nil {
		return LinkedFile{}, err
	}
	expires := s.now().Add(linkedFileLife).Unix()
	text := f.ID.String() + "." + strconv.FormatInt(expires, 10) + "." + s.signer.Sign(o.upload(f.ID, expires))
	found, err := s.LinkedFiles(ctx, secret, []string{text})
	if err == nil && len(found) == 0 {
		err = fileNotFound()
	}
	if err != nil {
		return LinkedFile{}, err
	}
	return found[0], nil
}

// uploadOwner is whose quota of storage an upload by a link counts for: its maker, or the starter of the execution if
// the server has mailed it.
func (s *Service) uploadOwner(ctx context.Context, o *openedLink) (owner storageOwner, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		owner.actor = o.link.Maker
		if owner.actor == 0 {
			e, err := r.ExecutionByNo(o.task.Execution)
			if err != nil {
				return err
			}
			owner.actor = e.StartedBy
		}
		if owner.kind = actorKey; owner.actor < 0 {
			owner.kind = actorUser
		}
		of, err := s.names.actor(r, owner.actor, s.now())
		owner.id = of.ID
		return err
	})
	return owner, err
}

// countedReader counts a file against the bounds of its link while it is read, so that uploads at the same time keep
// them together: at most countBytes of each are not counted yet. What was counted stays so when the upload fails.
type countedReader struct {
	ctx     context.Context
	service *Service
	link    int64
	from    io.Reader
	bytes   int64 // that are not counted yet
}

// countBytes is after how many bytes an upload is counted.
const countBytes = 8 << 20

// begin counts the file.
func (c *countedReader) begin() error {
	return c.add(func(tx *store.Tx) error { return tx.CountLinkUpload(c.link, MaxLinkUploads, MaxLinkUploadBytes) })
}

// count counts the bytes that were read.
func (c *countedReader) count() error {
	if c.bytes == 0 {
		return nil
	}
	err := c.add(func(tx *store.Tx) error { return tx.CountLinkBytes(c.link, c.bytes, MaxLinkUploadBytes) })
	if err == nil {
		c.bytes = 0
	}
	return err
}

func (c *countedReader) add(count func(*store.Tx) error) error {
	err := c.service.update(c.ctx, count)
	if errors.Is(err, store.ErrConflict) {
		return tooManyUploads()
	}
	return err
}

func (c *countedReader) Read(b []byte) (int, error) {
	if c.bytes >= countBytes {
		if err := c.count(); err != nil {
			return 0, err
		}
	}
	n, err := c.from.Read(b)
	c.bytes += int64(n)
	return n, err
}

func tooManyUploads() error {
	return stateConflict("Too many files were uploaded by this link: 100 files with 1 GiB together are allowed, unused ones included.")
}

// acceptsUpload refuses what the task does not ask for, before it is read. Codes: answer_invalid.
func (s *Service) acceptsUpload(ctx context.Context, o *openedLink, u *LinkUpload) error {
	request, err := s.taskRequest(ctx, &o.task)
	if err != nil {
		return err
	}
	refuse := func(code, detail string) error {
		return answerInvalid(detail, []chargehand.FieldError{{Pointer: "/files", Code: code, Detail: detail}})
	}
	name, err := cleanFileName(u.Name)
	switch {
	case err != nil:
		return err
	case request.Upload == nil:
		return refuse("no_upload", "The task asks for no files.")
	case !request.Upload.Accepts(name, u.ContentType):
		return refuse("not_accepted", "The file "+name+" is none of: "+strings.Join(request.Upload.Accept, ", ")+".")
	}
	return nil
}

// LinkedFiles finds uploads by their texts, each once, and at most as many as a link may have. What is no such text of
// this link, is too old or was deleted is left out.
// Codes: task_link_not_found.
func (s *Service) LinkedFiles(ctx context.Context, secret string, texts []string) (list []LinkedFile, err error) {
	o, err := s.openLink(ctx, secret)
	if err != nil || len(texts) == 0 {
		return nil, err
	}
	err = s.view(ctx, func(r *store.Reader) error {
		list = nil
		for id, text := range s.uploadsOf(&o, texts) {
			row, err := r.FileByID(o.task.Account, o.task.Environment, id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			list = append(list, LinkedFile{ID: id, Text: text, Name: row.Name, Size: row.Size, Reference: fileReference(&row)})
		}
		return nil
	})
	return list, err
}

// uploadsOf reads the texts of uploads, each once and in their order.
func (s *Service) uploadsOf(o *openedLink, texts []string) iter.Seq2[chargehand.FileID, string] {
	return func(yield func(chargehand.FileID, string) bool) {
		seen := map[chargehand.FileID]bool{}
		for _, text := range texts {
			id, ok := s.uploadOf(o, text)
			if !ok || seen[id] {
				continue
			}
			if seen[id] = true; len(seen) > MaxLinkUploads || !yield(id, text) {
				return
			}
		}
	}
}

// uploadOf reads the text of an upload.
func (s *Service) uploadOf(o *openedLink, text string) (id chargehand.FileID, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || id.UnmarshalText([]byte(parts[0])) != nil {
		return id, false
	}
	expires, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || strconv.FormatInt(expires, 10) != parts[1] {
		return id, false
	}
	return id, s.signer.Verify(o.upload(id, expires), parts[2], s.now()) == nil
}
