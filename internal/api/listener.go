package api

import (
	"bytes"
	"container/list"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/chargehand/chargehand"
)

// listener wraps accepted connections, because net/http refuses some requests before any
// handler runs (a control character in the path, headers that are too long …) and answers
// in plain text. See refusal.
type listener struct {
	net.Listener
	server *Server
}

func (l listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := accepted.(*net.TCPConn)
		if !ok {
			return accepted, nil
		}
		c := &conn{TCPConn: tcp, server: l.server}
		evicted, ok := l.server.open.enter(c)
		if evicted != nil {
			l.server.tellTooMany("the one that had waited longest for a request was closed", evicted.RemoteAddr())
			evicted.Close()
		}
		if ok {
			return c, nil
		}
		l.server.turnAway(tcp)
	}
}

// conn rewrites the refusals of net/http to problems. All other methods are those of the
// TCP connection, so net/http finds everything it looks for.
type conn struct {
	*net.TCPConn
	server *Server
	// handled is set while a request is answered by the handler. What is written then may be
	// content, which may look like anything, also like a refusal.
	handled atomic.Bool

	// Guarded by the openConns of the server.
	position *list.Element // among those that wait for a request; nil: one is being answered
	removed  bool          // it is not counted any more
}

// Close makes room for another connection.
func (c *conn) Close() error {
	c.server.open.leave(c)
	return c.TCPConn.Close()
}

// connKey is the key of the conn in the context of its requests.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// handling notes that the handler answers from here on; false: the connection was closed to make room for another.
func handling(ctx context.Context) bool {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return true
	}
	c.handled.Store(true)
	return c.server.open.answering(c)
}

// connState notes that an answer has been written: the next request may be refused.
func connState(c net.Conn, state http.ConnState) {
	if c, ok := c.(*conn); ok && state == http.StateIdle {
		c.handled.Store(false)
		c.server.open.answered(c)
	}
}

func (c *conn) Write(b []byte) (int, error) {
	if c.handled.Load() {
		return c.TCPConn.Write(b)
	}
	status, detail, ok := refusal(b)
	if !ok {
		return c.TCPConn.Write(b)
	}
	if _, err := c.TCPConn.Write(c.server.refusalAnswer(status, detail, c.LocalAddr().String(), c.RemoteAddr().String())); err != nil {
		return 0, err
	}
	return len(b), nil
}

// refusalHeaders is what net/http writes between the status line and the text when it
// refuses a request by itself. No handler's answer begins this way: the server's own
// headers are sorted in between.
const refusalHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// refusal recognises an answer that net/http made by itself.
func refusal(b []byte) (status int, detail string, ok bool) {
	const start = "HTTP/1.1 "
	if len(b) > 512 || !bytes.HasPrefix(b, []byte(start)) {
		return 0, "", false
	}
	if bytes.HasPrefix(b, []byte("HTTP/1.1 417 ")) {
		return http.StatusExpectationFailed, "", true
	}
	line, text, ok := strings.Cut(string(b), refusalHeaders)
	if !ok || strings.Contains(line, "\r\n") || len(line) < len(start)+3 {
		return 0, "", false
	}
	status, err := strconv.Atoi(line[len(start) : len(start)+3])
	return status, text, err == nil && status >= 400
}

// refusalAnswer is the whole answer to a request that net/http refused.
func (s *Server) refusalAnswer(status int, text, addr, remote string) []byte {
	e := &chargehand.Error{Code: chargehand.CodeInvalidParameter}
	_, reason, found := strings.Cut(text, ": ")
	switch {
	case status == http.StatusRequestHeaderFieldsTooLarge:
		e.Detail = "The request line and the headers are together larger than " + strconv.Itoa(maxHeaderBytes) + " bytes."
	case found:
		e.Detail = "The request line or a header cannot be read: " + reason + "."
	case status == http.StatusExpectationFailed:
		e.Detail = "The header Expect names something other than 100-continue."
	case status == http.StatusNotImplemented:
		e.Detail = "The header Transfer-Encoding names something other than chunked."
	default:
		e.Detail = "The request line or a header cannot be read: it is malformed or holds a control character."
	}
	requestID := newRequestID()
	s.tellRefusal(requestID, remote, e.Code)
	return s.rawAnswer(e, addr, requestID)
}

// rawAnswer is the whole answer, with its status line, to a request that no handler sees. It closes the connection.
// addr is that of this server.
func (s *Server) rawAnswer(e *chargehand.Error, addr, requestID string) []byte {
	base := s.publicURL
	if base == "" {
		base = "http://" + addr
	}
	status, retry := statusOf(e), ""
	if e.RetryAfter > 0 {
		retry = "Retry-After: " + strconv.Itoa(e.RetryAfter) + "\r\n"
	}
	body := problemText(e, base, "/", requestID)
	head := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\n%s"+
		"X-Content-Type-Options: nosniff\r\nX-Request-Id: %s\r\n\r\n", status, http.StatusText(status), len(body), retry, requestID)
	return append(head, body...)
}
