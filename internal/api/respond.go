package api

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
)

// All answers share the values of headers that never change. net/http only reads them.
var (
	jsonValue    = []string{"application/json"}
	problemValue = []string{"application/problem+json"}
	nosniffValue = []string{"nosniff"}
	cacheValue   = []string{"private, no-cache"}
	closeValue   = []string{"close"}
	bearerValue  = []string{"Bearer"}
	trueValue    = []string{"true"}
)

// goodHeaders are meant for the answer that turned out to be a problem.
var goodHeaders = [...]string{
	"Etag", "Location", "Preference-Applied", "Idempotency-Replayed", "Content-Disposition", "Last-Modified", "Vary", logComplete,
}

// maxInstance bounds the path that problems and logs repeat.
const maxInstance = 2048

// send answers with a body that is complete.
func (c *call) send(status int, mediaType []string, body []byte) {
	h := c.w.Header()
	h["Content-Type"] = mediaType
	// net/http counts short bodies itself, but not before the handler has ended. Where that drains a body, the client must
	// see the end of the answer before.
	if len(body) > 1<<10 || c.r.Method == http.MethodHead || c.drains() {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	c.head(status)
	if c.r.Method == http.MethodHead {
		return
	}
	n, _ := c.w.Write(body) // the only error is that the client is gone
	c.sent += int64(n)
}

// json answers with a JSON text.
func (c *call) json(status int, body []byte) { c.send(status, jsonValue, body) }

// view answers with a value of one of the types in view.go.
func (c *call) view(status int, v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	c.json(status, text)
	return nil
}

// show answers with what was found, or with why it was not; view shows it.
func show[Found, View any](c *call, found Found, err error, view func(Found) View) error {
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, view(found))
}

// empty answers without a body.
func (c *call) empty(status int) {
	c.head(status)
}

// head begins the answer.
func (c *call) head(status int) {
	c.limitRest()
	// The body of the request, and what was done for it, may have taken longer than answers may. A writer that knows no
	// deadlines has none to move.
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(c.server.http.WriteTimeout))
	c.status = status
	c.w.WriteHeader(status)
}

// done answers a request that succeeds without a body.
func (c *call) done(err error) error {
	if err == nil {
		c.empty(http.StatusNoContent)
	}
	return err
}

// fail answers with a problem. Nothing is left to answer if the status was sent already: the
// connection is cut off, so that the client does not take half an answer for a whole one.
func (c *call) fail(err error) {
	switch gone := c.r.Context().Err() != nil; {
	case errors.Is(err, errClientGone), gone && errors.Is(err, context.Canceled):
		panic(http.ErrAbortHandler) // the client is gone and reads no answer
	case errors.Is(err, context.Canceled) && c.server.stopping.Err() != nil:
		err = chargehand.NewError(chargehand.CodeUnavailable, "The server is stopping.")
	}
	shown, hidden := asProblem(err)
	c.code, c.hidden = shown.Code, hidden
	if c.status != 0 {
		c.tell(time.Since(c.began)) // finish does not come that far
		panic(http.ErrAbortHandler)
	}
	c.r.Body = c.arriving // net/http looks at its own: whether the client waits for leave to send, and what is left of it
	c.readRest()
	status := statusOf(shown)
	h := c.w.Header()
	for _, name := range goodHeaders {
		delete(h, name)
	}
	switch status {
	case http.StatusUnauthorized:
		h["Www-Authenticate"] = bearerValue
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h["Retry-After"] = []string{strconv.Itoa(max(shown.RetryAfter, retryAfterSeconds))}
	}
	isPage := c.route != nil && (c.route.page || c.route.browsed && c.asksForPage()) || c.isTaskLink() && c.asksForPage()
	if isPage && c.failPage(status, shown) == nil {
		return
	}
	path := cut(c.r.URL.EscapedPath(), maxInstance)
	if path == "" { // as in CONNECT
		path = "/"
	}
	if c.isTaskLink() {
		path = linkedPath
	}
	body := problemText(shown, c.base(), path, c.requestID)
	c.sendEarly(status, problemValue, body)
}

// sendEarly answers a request of which the client may be sending more.
func (c *call) sendEarly(status int, mediaType []string, body []byte) {
	if c.unread() {
		c.w.Header()["Connection"] = closeValue
	}
	c.send(status, mediaType, body)
}

// recovered answers a request whose handler panicked.
func (c *call) recovered(p any) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	c.tellPanic(p)
	if c.status != 0 {
		panic(http.ErrAbortHandler)
	}
	c.fail(&chargehand.Error{Code: chargehand.CodeInternal})
}

// base is what stands before /api/v1 in the addresses of this answer.
func (c *call) base() string {
	if c.server.publicURL != "" {
		return c.server.publicURL
	}
	scheme := "http://"
	if c.r.TLS != nil {
		scheme = "https://"
	}
	if isHost(c.r.Host) {
		return scheme + c.r.Host
	}
	if addr, ok := c.r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return scheme + addr.String()
	}
	return scheme + "localhost"
}

// isHost reports whether a Host header can be part of an address. Forwarding headers are not
// trusted; behind a proxy the public address is configured.
func isHost(host string) bool {
	return host != "" && len(host) <= 255 && !strings.ContainsFunc(host, func(r rune) bool {
		alphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !alphanumeric && !strings.ContainsRune("-._:[]", r)
	})
}

// notModified reports whether the client has this representation already, and sets the tag.
func (c *call) notModified(tag string) bool {
	quoted := `"` + tag + `"`
	c.w.Header()["Etag"] = []string{quoted}
	for _, line := range c.r.Header["If-None-Match"] {
		for candidate := range strings.SplitSeq(line, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == quoted || candidate == "*" {
				return true
			}
		}
	}
	return false
}

// errClientGone marks errors of writing to the client, which are no errors of the server.
var errClientGone = errors.New("client is gone")

// maxRequestID bounds the name that a client may give its request.
const maxRequestID = 128

// requestID is the client's name for its request, if logs and headers can hold it, and
// otherwise a new one.
func requestID(h http.Header) string {
	lines := h["X-Request-Id"]
	if len(lines) != 1 || lines[0] == "" || len(lines[0]) > maxRequestID || strings.ContainsFunc(lines[0], func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:/+=@", r)
	}) {
		return newRequestID()
	}
	return lines[0]
}

// newRequestID is unique enough to find a request in a log; it keeps no secret.
func newRequestID() string {
	id := make([]byte, 0, 20)
	id = append(id, "req_"...)
	for n := rand.Uint64(); len(id) < cap(id); n >>= 4 {
		id = append(id, "0123456789abcdef"[n&15])
	}
	return string(id)
}

// cut shortens text to at most n bytes.
func cut(text string, n int) string {
	if len(text) > n {
		return text[:n]
	}
	return text
}
