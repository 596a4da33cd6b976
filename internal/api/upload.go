package api

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"strings"

	"github.com/chargehand/chargehand"
)

// maxFormBytes is what a multipart form may add to the file: boundaries, headers, fields.
const maxFormBytes = 64 << 10

// upload is the content of an uploaded file while it arrives. It remembers why it could not
// be read, because the service's own error may hide that.
type upload struct {
	name      string
	mediaType string
	err       error

	content io.Reader
	left    int64 // bytes until the limit
	limit   int64
	form    *multipart.Reader // nil: raw
}

// upload finds the file in the body.
func (c *call) upload() (*upload, error) {
	limit := c.server.limits.UploadBytes
	u := &upload{name: c.args.filename, content: c.r.Body, left: limit, limit: limit}
	media := c.mediaType()
	if media != "multipart/form-data" {
		u.mediaType = contentType(c.r.Header.Get("Content-Type"))
		return u, nil
	}
	form, err := c.r.MultipartReader()
	if err != nil {
		return nil, badForm("The multipart body cannot be read: Content-Type has no boundary.")
	}
	u.form = form
	for fields := int64(0); ; {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil, badForm("The form holds no file. Send one part with a filename.")
		} else if err != nil {
			return nil, formProblem(err)
		}
		if part.FileName() != "" {
			u.content, u.mediaType = part, contentType(part.Header.Get("Content-Type"))
			if u.name == "" {
				u.name = part.FileName()
			}
			return u, nil
		}
		n, err := io.Copy(io.Discard, io.LimitReader(part, maxFormBytes+1))
		if fields += n; err != nil {
			return nil, formProblem(err)
		} else if fields > maxFormBytes {
			return nil, badForm("The fields before the file are larger than 64 KiB. Send the file first.")
		}
	}
}

// contentType is the type under which a file is kept: what was sent, if that names one type.
func contentType(sent string) string {
	media, _, err := mime.ParseMediaType(sent)
	if kind, subtype, ok := strings.Cut(media, "/"); err != nil || !ok || kind == "" || subtype == "" || strings.Contains(media, "*") {
		return "application/octet-stream"
	}
	return sent
}

// Read reads on, refuses what is too large, and refuses a second file at the end of the
// first, so that no file is dropped in silence.
func (u *upload) Read(b []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	if int64(len(b)) > u.left+1 {
		b = b[:u.left+1]
	}
	n, err := u.content.Read(b)
	if u.left -= int64(n); u.left < 0 {
		u.err = tooLarge(u.limit)
		return 0, u.err
	}
	if errors.Is(err, io.EOF) && u.form != nil {
		if u.err = u.restOfForm(); u.err != nil {
			return 0, u.err
		}
		return n, io.EOF
	}
	if err != nil && !errors.Is(err, io.EOF) {
		u.err = err
		if u.form != nil {
			u.err = formProblem(err)
		}
		return 0, u.err
	}
	return n, err
}

// restOfForm checks what follows the file.
func (u *upload) restOfForm() error {
	for range 100 {
		part, err := u.form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return formProblem(err)
		}
		if part.FileName() != "" {
			return badForm("The form holds more than one file. Send one per request.")
		}
	}
	return badForm("The form has too many fields after the file.")
}

func badForm(detail string) error {
	return badBody(chargehand.CodeInvalidBody, "", detail)
}

// formProblem is the error for a multipart body that is incomplete or malformed.
func formProblem(err error) error {
	var shown *chargehand.Error
	if errors.As(err, &shown) || errors.Is(err, os.ErrDeadlineExceeded) {
		return readProblem(err)
	}
	return badForm("The multipart body is malformed or incomplete.")
}
