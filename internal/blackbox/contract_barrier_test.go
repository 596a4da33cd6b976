package blackbox_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// A barrier is a receiver of calls that holds each one until it is let through. It makes an
// execution run for exactly as long as a test wants.
type barrier struct {
	url  string
	open chan struct{} // closed: every call passes

	mu      sync.Mutex
	inside  int
	most    int      // inside at once
	order   []string // bodies in the order of arrival
	entered chan struct{}
}

func newBarrier(t *testing.T) *barrier {
	calls := &barrier{open: make(chan struct{}), entered: make(chan struct{}, 1<<16)}
	server := httptest.NewServer(http.HandlerFunc(calls.serve))
	calls.url = server.URL
	t.Cleanup(func() {
		calls.release()
		server.Close()
	})
	return calls
}

func (calls *barrier) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	calls.mu.Lock()
	calls.inside++
	calls.most = max(calls.most, calls.inside)
	calls.order = append(calls.order, string(body))
	calls.mu.Unlock()
	defer func() {
		calls.mu.Lock()
		calls.inside--
		calls.mu.Unlock()
	}()
	calls.entered <- struct{}{}
	select {
	case <-calls.open:
	case <-r.Context().Done():
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"passed":true}`)
}

// release lets every call pass from now on.
func (calls *barrier) release() {
	calls.mu.Lock()
	defer calls.mu.Unlock()
	select {
	case <-calls.open:
	default:
		close(calls.open)
	}
}

// await waits until n calls have arrived since the last time.
func (calls *barrier) await(n int) {
	for range n {
		<-calls.entered
	}
}

func (calls *barrier) now() (inside, most int, order []string) {
	calls.mu.Lock()
	defer calls.mu.Unlock()
	return calls.inside, calls.most, append([]string(nil), calls.order...)
}

// flow is a workflow whose only step is a call to the barrier with the field n as its body.
func (calls *barrier) flow() string {
	return fmt.Sprintf("do:\n- call: {call: http, with: {method: post, endpoint: '%s', body: '${ .n }'}}\n", calls.url)
}

// egress are the flags that let workflows reach the barrier.
var egress = []string{"--allow-egress", "127.0.0.1"}
