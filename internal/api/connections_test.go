package api

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// TestTooManyConnections: while all connections are being answered, a client above their maximum gets an answer that
// says so, and after one was answered the next client is served again.
func TestTooManyConnections(t *testing.T) {
	busy, done := make(chan struct{}), make(chan struct{})
	ready := func() bool {
		busy <- struct{}{}
		<-done
		return true
	}
	s := New(Config{Service: &fake{}, Ready: ready, Log: slog.New(slog.NewTextHandler(testLog{t}, nil)), MaxConnections: 2})
	addr := start(t, s)
	for range 2 {
		ask(t, addr, "/readyz")
		<-busy
	}
	_, answer := ask(t, addr, "/healthz")
	a := readAnswer(t, answer)
	p := wantProblem(t, a, 503, "unavailable")
	if a.header.Get("Retry-After") == "" || !strings.Contains(p["detail"].(string), "connections") {
		t.Errorf("the third: %v %v", a.header, p["detail"])
	}
	close(done)
	for deadline := time.Now().Add(20 * time.Second); ; { // the server notices the end in its own time
		_, answer = ask(t, addr, "/healthz")
		if a := readAnswer(t, answer); a.status == 200 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no connection is accepted after one was answered")
		}
	}
}

// TestIdleConnectionsMakeRoom: connections without a request, new ones and those that had one, keep no others out.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	s := New(Config{Service: &fake{}, Log: slog.New(slog.NewTextHandler(testLog{t}, nil)), MaxConnections: 20})
	addr := start(t, s)
	var idle []net.Conn
	for i := range 20 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(20 * time.Second))
		if i%2 == 0 {
			io.WriteString(c, "GET /healthz HTTP/1.1\r\nX-Slow: ") // a header that does not end
		}
		idle = append(idle, c)
	}
	for i := range 50 {
		_, answer := ask(t, addr, "/healthz")
		if a := readAnswer(t, answer); a.status != 200 {
			t.Fatalf("request %d: %d", i, a.status)
		}
	}
	for i, c := range idle {
		if n, err := c.Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("idle connection %d is still open: %d %v", i, n, err)
		}
	}
}

// TestRoomOfConnections: the one that has waited longest makes room, none that is answering, and each is counted once.
func TestRoomOfConnections(t *testing.T) {
	o := newOpenConns(2)
	conns := make([]*conn, 5)
	enter := func(i int, wantEvicted *conn, wantOK bool) {
		t.Helper()
		conns[i] = &conn{}
		if evicted, ok := o.enter(conns[i]); evicted != wantEvicted || ok != wantOK {
			t.Fatalf("connection %d: %p makes room, %t", i, evicted, ok)
		}
	}
	enter(0, nil, true)
	enter(1, nil, true)
	if !o.answering(conns[0]) {
		t.Fatal("the first is not to answer")
	}
	enter(2, conns[1], true)
	if o.answering(conns[1]) {
		t.Error("a connection answers that had to make room")
	}
	o.leave(conns[1]) // net/http closes it as well
	for range 2 {     // requests one after the other
		if !o.answering(conns[2]) {
			t.Fatal("the third is not to answer")
		}
	}
	enter(3, nil, false)
	o.answered(conns[2])
	o.answered(conns[0])
	o.answered(conns[0])
	enter(3, conns[2], true)
	enter(4, conns[0], true)
	for _, c := range conns {
		o.leave(c)
		o.answered(c)
	}
	if o.count != 0 || o.waiting.Len() != 0 {
		t.Errorf("%d are counted and %d wait", o.count, o.waiting.Len())
	}
}

// ask sends a request on a connection of its own.
func ask(t *testing.T, addr, path string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
	return c, bufio.NewReader(c)
}
