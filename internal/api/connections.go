package api

import (
	"container/list"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
)

// A client that is turned away has lingerTime to read why; at most lingering clients do that at once. A client without
// a key has as long to send the body of a request that was refused (limitRest).
const (
	lingerTime = time.Second
	lingering  = 128
)

// openConns counts the connections of a server. When there are too many, the one that has waited longest for a request
// makes room, so that clients which send none keep no others out. A request holds its connection while its body is read
// and its answer is taken, for the time that the limits of connections (server.go) leave it.
type openConns struct {
	most       int           // 0: no bound
	turnedAway chan struct{} // one value for each client that is turned away and still reads why

	mu      sync.Mutex
	count   int
	waiting list.List // of *conn: without a request that is being answered, the longest first
}

func newOpenConns(most int) *openConns {
	return &openConns{most: most, turnedAway: make(chan struct{}, lingering)}
}

// enter takes a connection in; false: all others are answering. The one that makes room, or nil, is to be closed.
func (o *openConns) enter(c *conn) (evicted *conn, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.most > 0 && o.count >= o.most {
		longest := o.waiting.Front()
		if longest == nil {
			return nil, false
		}
		evicted = longest.Value.(*conn)
		o.remove(evicted)
	}
	o.count++
	c.position = o.waiting.PushBack(c)
	return evicted, true
}

// answering notes that a request is being answered; false: the connection had to make room.
func (o *openConns) answering(c *conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.removed {
		return false
	}
	if c.position != nil {
		o.waiting.Remove(c.position)
		c.position = nil
	}
	return true
}

// answered notes that the connection waits for its next request.
func (o *openConns) answered(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !c.removed && c.position == nil {
		c.position = o.waiting.PushBack(c)
	}
}

func (o *openConns) leave(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !c.removed {
		o.remove(c)
	}
}

func (o *openConns) remove(c *conn) {
	c.removed = true
	o.count--
	if c.position != nil {
		o.waiting.Remove(c.position)
		c.position = nil
	}
}

// tellTooMany tells the operator, now and then, that there are too many connections.
func (s *Server) tellTooMany(what string, from net.Addr) {
	if s.lines.Allow("too many connections") {
		s.log.Warn("too many connections: "+what, "from", host(from.String()), "max_connections", s.open.most)
	}
}

// turnAway tells a client that there are too many connections, and closes its own.
func (s *Server) turnAway(c *net.TCPConn) {
	s.tellTooMany("one was turned away", c.RemoteAddr())
	select {
	case s.open.turnedAway <- struct{}{}:
	default:
		c.Close()
		return
	}
	go func() {
		defer func() { <-s.open.turnedAway }()
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(lingerTime))
		if _, err := c.Write(s.tooManyAnswer(c.LocalAddr().String())); err != nil {
			return
		}
		// A connection that is closed while it holds unread bytes is reset, and the client loses the answer.
		_ = c.CloseWrite()
		_, _ = io.CopyN(io.Discard, c, drainBytes)
	}()
}

// tooManyAnswer is the whole answer to a client that is turned away.
func (s *Server) tooManyAnswer(addr string) []byte {
	requestID := newRequestID()
	s.log.Debug("connection turned away", slog.String("request_id", requestID))
	return s.rawAnswer(&chargehand.Error{
		Code:       chargehand.CodeUnavailable,
		Detail:     "The server has " + strconv.Itoa(s.open.most) + " connections open, the maximum. Try again in a moment, and keep fewer open.",
		RetryAfter: 1,
	}, addr, requestID)
}
