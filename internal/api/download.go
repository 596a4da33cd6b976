package api

import (
	"io"
	"net/http"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

// sandboxValue keeps a browser from showing a file as a page of this server's origin.
var sandboxValue = []string{"sandbox; default-src 'none'"}

func (c *call) getFileContent() error {
	f, content, err := c.openContent()
	if err != nil {
		return err
	}
	if f.Location != "" {
		return c.redirect(f.Location)
	}
	defer content.Close()
	h := c.w.Header()
	h.Set("Content-Type", f.ContentType)
	h.Set("Content-Disposition", service.Disposition(f.Name))
	h["Content-Security-Policy"] = sandboxValue
	if f.SHA256 != "" {
		h.Set("ETag", `"`+f.SHA256+`"`)
	}
	if err := c.checkRanges(f.Size); err != nil {
		return err
	}
	w := &contentWriter{call: c, control: http.NewResponseController(c.w)}
	http.ServeContent(w, c.r, "", f.CreatedAt, content)
	return w.refused()
}

// redirect sends a client to where the content is, for this once: the address is short-lived.
func (c *call) redirect(location string) error {
	h := c.w.Header()
	h.Set("Location", location)
	h.Set("Cache-Control", "no-store")
	c.empty(http.StatusFound)
	return nil
}

// openContent opens the file with the key, or by the signed address if there is none.
func (c *call) openContent() (*service.File, io.ReadSeekCloser, error) {
	if c.principal != nil {
		return c.server.service.OpenFile(c.r.Context(), c.principal, service.ReadFile{ID: c.file, Task: c.args.shownBy})
	}
	// The store's signature is for GET alone. Requests with a key are never redirected: many
	// clients would send the key along.
	link := service.Link{File: c.file, Redirect: c.r.Method == http.MethodGet}
	for name, field := range map[string]*string{"expires": &link.Expires, "signature": &link.Signature} {
		value, _, complaint := queryValue(c.r.URL.RawQuery, name)
		if complaint != "" {
			return nil, nil, badParameter(name, complaint)
		}
		*field = value
	}
	return c.server.service.OpenLink(c.r.Context(), link)
}

// contentWriter lets http.ServeContent write, but not its plain text errors, and moves the
// write deadline while the client reads.
type contentWriter struct {
	call    *call
	control *http.ResponseController
	status  int // what ServeContent decided
	moved   time.Time
}

func (w *contentWriter) Header() http.Header { return w.call.w.Header() }

func (w *contentWriter) WriteHeader(status int) {
	w.status = status
	if status < http.StatusBadRequest {
		w.call.beginStream(status)
	}
}

func (w *contentWriter) Write(b []byte) (int, error) {
	if w.status >= http.StatusBadRequest {
		return len(b), nil
	}
	if now := time.Now(); now.Sub(w.moved) > w.call.server.idle/10 {
		// A writer that knows no deadlines has none to move.
		_ = w.control.SetWriteDeadline(now.Add(w.call.server.idle))
		w.moved = now
	}
	n, err := w.call.w.Write(b)
	w.call.sent += int64(n)
	return n, err
}

// refused is the problem for what ServeContent would not serve.
func (w *contentWriter) refused() error {
	if w.status < http.StatusBadRequest {
		return nil
	}
	switch w.status {
	case http.StatusRequestedRangeNotSatisfiable:
		return chargehand.NewError(chargehand.CodeRangeNotSatisfiable,
			"The range "+quote(w.call.r.Header.Get("Range"))+" lies outside the content or cannot be read.")
	case http.StatusPreconditionFailed:
		return chargehand.NewError(chargehand.CodePreconditionFailed,
			"The content is not the one that If-Match or If-Unmodified-Since asks for.")
	}
	return chargehand.NewError(chargehand.CodeInternal, http.StatusText(w.status))
}
