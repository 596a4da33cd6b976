package api

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// Many clients read no answer before they have sent all, and take a connection that is closed
// under them for a broken one. So a refusal goes out soon, and what the client is still
// sending behind that, or any answer, is read and dropped, up to these bounds.
const (
	drainBytes = 16 << 20
	drainTime  = 2 * time.Second
)

// unreadBytes is what net/http itself reads of a body before it keeps a connection for the next request, or closes it.
// It closes one that the client wants closed (Connection: close, HTTP/1.0) without reading anything.
const unreadBytes = 256 << 10

// announced reports whether the client may still be sending a body.
func (c *call) announced() bool {
	whole := c.whole || c.long != nil && c.long.ended
	return !whole && c.r.Body != nil && c.r.Body != http.NoBody
}

// known reports whether the client has shown a key or the secret of a link.
func (c *call) known() bool { return c.principal != nil || c.linked }

// unread reports whether the client may be sending more than is read before an answer: what net/http would not read, or
// what cannot be read, or what is better read behind the answer, because the connection ends with it anyway.
func (c *call) unread() bool {
	if !c.announced() {
		return false
	}
	return c.begun || c.r.ContentLength < 0 || c.r.ContentLength > unreadBytes || c.r.Close && c.known()
}

// drains reports whether the rest of the body is read behind the answer: the client does not wait for leave to send,
// and it is known and sends more than net/http reads, or net/http would read nothing.
func (c *call) drains() bool {
	return c.announced() && !c.waitsForLeave() && (c.r.Close || c.known() && c.unread())
}

// waitsForLeave reports whether the client sends its body only when it is asked for.
func (c *call) waitsForLeave() bool {
	return !c.begun && strings.EqualFold(c.r.Header.Get("Expect"), "100-continue")
}

// drainTimeout is how long a body is waited for that nothing reads.
func (c *call) drainTimeout() time.Duration {
	if c.known() {
		return drainTime
	}
	return c.server.linger
}

// limitRest bounds the time that net/http waits, before it sends the answer or closes the connection, for a body that
// nothing reads: a client that announces a body and does not send it would hold its connection for as long as a body
// may take. What has arrived by then is read: a limit from before the handler ran may have passed.
func (c *call) limitRest() {
	if c.announced() {
		// A writer that knows no deadlines has none to move.
		_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(c.drainTimeout()))
	}
}

// drain reads what the client is still sending, after the answer has been sent, where net/http does not.
func (c *call) drain() {
	if !c.drains() {
		c.limitRest() // the answer may have taken longer than the limit that was set when it began
		return
	}
	// Writers that know nothing of connections (in tests) have nothing to flush.
	_ = http.NewResponseController(c.w).Flush()
	c.limitRest()
	_, _ = io.Copy(io.Discard, io.LimitReader(c.arriving, drainBytes)) // what is around it would move the deadline
}

// readRest reads the short body of a request that is refused, so that the next request on its connection can be read.
// One that has not come in time is left: net/http would end the connection behind it at once, and what the client sends
// then would take the answer away from it. The answer goes first now, and the client has as long again.
func (c *call) readRest() {
	c.limitRest()
	if !c.announced() || c.unread() || c.waitsForLeave() {
		return
	}
	began := time.Now()
	_, err := io.CopyN(io.Discard, c.arriving, unreadBytes+1)
	c.began = c.began.Add(time.Since(began)) // the client's time is not the server's
	if c.whole = errors.Is(err, io.EOF); !c.whole {
		c.w.Header()["Connection"] = closeValue
	}
}
