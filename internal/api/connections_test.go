package api

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// TestTooManyConnections: a client above the maximum of connections gets an answer that says so, and after a
// connection was closed the next client is served again.
func TestTooManyConnections(t *testing.T) {
	s := New(Config{Service: &fake{}, Log: slog.New(slog.NewTextHandler(testLog{t}, nil)), MaxConnections: 2})
	addr := start(t, s)
	dial := func() (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(20 * time.Second))
		io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
		return c, bufio.NewReader(c)
	}
	first, answer := dial()
	if a := readAnswer(t, answer); a.status != 200 {
		t.Fatalf("the first: %d", a.status)
	}
	_, answer = dial()
	if a := readAnswer(t, answer); a.status != 200 {
		t.Fatalf("the second: %d", a.status)
	}
	_, answer = dial()
	a := readAnswer(t, answer)
	p := wantProblem(t, a, 503, "unavailable")
	if a.header.Get("Retry-After") == "" || !strings.Contains(p["detail"].(string), "connections") {
		t.Errorf("the third: %v %v", a.header, p["detail"])
	}
	first.Close()
	for deadline := time.Now().Add(20 * time.Second); ; { // the server notices the end in its own time
		_, answer = dial()
		if a := readAnswer(t, answer); a.status == 200 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no connection is accepted after one was closed")
		}
	}
}
