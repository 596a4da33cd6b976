package api

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

// Files are never shown by a browser on this server's origin.
var sandboxValue = []string{"sandbox; default-src 'none'"}

func (c *call) getFileContent() error {
	f, content, err := c.openContent()
	if err != nil {
		return err
	}
	defer content.Close()
	h := c.w.Header()
	h.Set("Content-Type", f.ContentType)
	h.Set("Content-Disposition", disposition(f.Name))
	h["Content-Security-Policy"] = sandboxValue
	if f.SHA256 != "" {
		h.Set("ETag", `"`+f.SHA256+`"`)
	}
	w := &contentWriter{call: c, control: http.NewResponseController(c.w)}
	http.ServeContent(w, c.r, "", f.CreatedAt, content)
	return w.refused()
}

// openContent opens the file with the key, or by the signed address if there is none.
func (c *call) openContent() (*service.File, io.ReadSeekCloser, error) {
	if c.principal != nil {
		return c.server.service.OpenFile(c.r.Context(), c.principal, c.file)
	}
	link := service.Link{File: c.file}
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
		w.call.status = status
		w.call.w.WriteHeader(status)
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

// disposition is the Content-Disposition of a download (RFC 6266): a name that every client
// can read, and the exact one.
func disposition(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/%`, r) {
			return '_'
		}
		return r
	}, name)
	if plain == "" {
		plain, name = "file", "file"
	}
	// PathEscape leaves some characters as they are that RFC 8187 wants encoded.
	exact := strings.NewReplacer("'", "%27", "(", "%28", ")", "%29", "*", "%2A", "@", "%40", ":", "%3A", "=", "%3D", ",", "%2C", ";", "%3B").
		Replace(url.PathEscape(strings.ToValidUTF8(name, "\ufffd")))
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + exact
}
