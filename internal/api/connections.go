package api

import (
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand"
)

// A client that is turned away has lingerTime to read why; at most lingering clients do that at once.
const (
	lingerTime = time.Second
	lingering  = 128
	lingerRead = 64 << 10
)

// openConns counts the connections of a server.
type openConns struct {
	most    int64 // 0: no bound
	now     atomic.Int64
	leaving chan struct{} // one value for each client that is turned away and still reads why
}

func newOpenConns(most int) *openConns {
	return &openConns{most: int64(most), leaving: make(chan struct{}, lingering)}
}

func (o *openConns) take() bool {
	if n := o.now.Add(1); o.most == 0 || n <= o.most {
		return true
	}
	o.now.Add(-1)
	return false
}

func (o *openConns) leave() { o.now.Add(-1) }

// turnAway tells a client that there are too many connections, and closes its own.
func (s *Server) turnAway(c *net.TCPConn) {
	if s.lines.Allow("too many connections") {
		s.log.Warn("too many connections: one was turned away", "from", host(c.RemoteAddr().String()), "max_connections", s.open.most)
	}
	select {
	case s.open.leaving <- struct{}{}:
	default:
		c.Close()
		return
	}
	go func() {
		defer func() { <-s.open.leaving }()
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(lingerTime))
		if _, err := c.Write(s.crowdedAnswer(c.LocalAddr().String())); err != nil {
			return
		}
		// A connection that is closed while it holds unread bytes is reset, and the client loses the answer.
		_ = c.CloseWrite()
		_, _ = io.CopyN(io.Discard, c, lingerRead)
	}()
}

// crowdedAnswer is the answer to a client that is turned away.
func (s *Server) crowdedAnswer(addr string) []byte {
	base := s.publicURL
	if base == "" {
		base = "http://" + addr
	}
	requestID := newRequestID()
	s.log.Debug("connection turned away", slog.String("request_id", requestID))
	body := problemText(&chargehand.Error{
		Code:   chargehand.CodeUnavailable,
		Detail: "The server has " + strconv.FormatInt(s.open.most, 10) + " connections open, the maximum. Try again in a moment, and keep fewer open.",
	}, base, "/", requestID)
	answer := "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/problem+json\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\nRetry-After: 1\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: " + requestID + "\r\n\r\n"
	return append([]byte(answer), body...)
}
