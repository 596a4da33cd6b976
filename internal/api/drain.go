package api

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// Many clients read no answer before they have sent all, and take a connection that is closed
// under them for a broken one. So a refusal goes out at once, and what the client is still
// sending is read and dropped, up to these bounds.
const (
	drainBytes = 16 << 20
	drainTime  = 2 * time.Second
)

// unreadBytes is what net/http itself reads of a body before it closes a connection, or keeps it
// for the next request.
const unreadBytes = 256 << 10

// announced reports whether the client may still be sending a body.
func (c *call) announced() bool {
	return !c.whole && c.r.Body != nil && c.r.Body != http.NoBody
}

// unread reports whether the client may be sending more than net/http reads after an answer, or
// something that cannot be read.
func (c *call) unread() bool {
	if !c.announced() {
		return false
	}
	return c.begun || c.r.ContentLength < 0 || c.r.ContentLength > unreadBytes
}

// drains reports whether what is unread is worth reading: the client has a key or the secret of a link, and does not
// wait for leave to send.
func (c *call) drains() bool {
	return (c.principal != nil || c.linked) && (c.begun || !strings.EqualFold(c.r.Header.Get("Expect"), "100-continue"))
}

// hurry bounds the time that net/http waits for a body that no handler reads. Before it sends the answer, or before it
// closes the connection, it reads up to unreadBytes, until the read deadline: a client that has shown no key, and
// announces a body that it does not send, would hold its connection for as long as a body may take.
func (c *call) hurry() {
	if c.principal == nil && !c.linked && c.announced() {
		// A writer that knows no deadlines has none to move.
		_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(c.server.linger))
	}
}

// limitRest bounds the time that net/http waits, before it sends the answer, for a body that nothing reads. What has
// arrived by then is read: a limit from before the handler ran may have passed.
func (c *call) limitRest() {
	if !c.announced() || c.route == nil || c.route.body != nil {
		return
	}
	wait := drainTime
	if c.principal == nil && !c.linked {
		wait = c.server.linger
	}
	// A writer that knows no deadlines has none to move.
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(wait))
}

// drain reads what the client is still sending, after the answer has been sent.
func (c *call) drain() {
	control := http.NewResponseController(c.w)
	// Writers that know nothing of connections (in tests) have nothing to flush and no deadlines.
	_ = control.Flush()
	_ = control.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.Copy(io.Discard, io.LimitReader(c.arriving, drainBytes)) // what is around it would move the deadline
}

// readRest reads the short body of a client that has shown no key and is refused, so that the next request on its
// connection can be read. One that has not come within the second of hurry is left: net/http would end the connection
// behind it at once, and what the client sends then would take the answer away from it. The answer goes first now, and
// the client has another second.
func (c *call) readRest() {
	if c.principal != nil || c.linked || !c.announced() || c.unread() || strings.EqualFold(c.r.Header.Get("Expect"), "100-continue") {
		return
	}
	began := time.Now()
	_, err := io.CopyN(io.Discard, c.arriving, unreadBytes+1)
	c.began = c.began.Add(time.Since(began)) // the client's time is not the server's
	if c.whole = errors.Is(err, io.EOF); c.whole {
		return
	}
	c.w.Header()["Connection"] = closeValue
	// A writer that knows no deadlines has none to move.
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(c.server.linger))
}
