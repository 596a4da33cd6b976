package blackbox_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// A gate is a receiver of calls that holds each one until it is let through. It makes an
// execution run for exactly as long as a test wants.
type barrier struct {
	url  string
	open chan struct{} // closed: everybody passes

	mu      sync.Mutex
	inside  int
	most    int      // inside at once
	order   []string // bodies in the order of arrival
	entered chan struct{}
}

func newGate(t *testing.T) *barrier {
	g := &barrier{open: make(chan struct{}), entered: make(chan struct{}, 1<<16)}
	server := httptest.NewServer(http.HandlerFunc(g.serve))
	g.url = server.URL
	t.Cleanup(func() {
		g.release()
		server.Close()
	})
	return g
}

func (g *barrier) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	g.inside++
	g.most = max(g.most, g.inside)
	g.order = append(g.order, string(body))
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.inside--
		g.mu.Unlock()
	}()
	g.entered <- struct{}{}
	select {
	case <-g.open:
	case <-r.Context().Done():
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"passed":true}`)
}

// release lets everybody pass from now on.
func (g *barrier) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// await waits until n calls have arrived since the last time.
func (g *barrier) await(n int) {
	for range n {
		<-g.entered
	}
}

func (g *barrier) now() (inside, most int, order []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside, g.most, append([]string(nil), g.order...)
}

// flow is a workflow whose only step is a call to the gate with the field n as its body.
func (g *barrier) flow() string {
	return fmt.Sprintf("do:\n- call: {call: http, with: {method: post, endpoint: '%s', body: '${ .n }'}}\n", g.url)
}

// egress are the flags that let workflows reach the gate.
var egress = []string{"--allow-egress", "127.0.0.1"}
