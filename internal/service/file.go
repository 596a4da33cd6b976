package service

import (
	"context"
	"io"
	"time"

	"github.com/chargehand/chargehand"
)

// File is a stored file, or the virtual output.json of an execution, whose id is that of the
// execution.
type File struct {
	ID          chargehand.FileID
	Name        string // for display only
	ContentType string
	Size        int64
	SHA256      string // hex
	CreatedAt   time.Time
	URL         string // absolute, signed
	ExpiresAt   time.Time
}

// UploadFile is the request to store a file.
type UploadFile struct {
	Name        string // 1 to 255 bytes after cleaning; empty: "file"
	ContentType string // empty: application/octet-stream
	Content     io.Reader
	Idempotency *Idempotency // BodyHash is not used: the content's own hash counts
	View        View
}

// UploadFile stores a file while it is read. An error of Content is returned as it is.
// Codes: invalid_parameter (name), payload_too_large, idempotency_key_reused,
// idempotency_in_progress.
func (s *Service) UploadFile(ctx context.Context, p *Principal, r UploadFile) (f *File, replayed bool, err error) {
	panic("unfinished")
}

// GetFile describes a file. Codes: file_not_found.
func (s *Service) GetFile(ctx context.Context, p *Principal, id chargehand.FileID, v View) (*File, error) {
	panic("unfinished")
}

// OpenFile opens the content of a file. Codes: file_not_found, result_expired.
func (s *Service) OpenFile(ctx context.Context, p *Principal, id chargehand.FileID) (*File, io.ReadSeekCloser, error) {
	panic("unfinished")
}

// Link is the query of a signed address: /api/v1/files/{id}/content?expires=…&signature=…
type Link struct {
	File      chargehand.FileID
	Expires   string
	Signature string
}

// OpenLink opens the content of a file by a signed address, without a key.
// Codes: file_not_found (also: wrong signature), result_expired (the link is too old).
func (s *Service) OpenLink(ctx context.Context, l Link) (*File, io.ReadSeekCloser, error) {
	panic("unfinished")
}
