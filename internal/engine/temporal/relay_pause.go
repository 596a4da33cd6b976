package temporal

import (
	"log/slog"
	"sync"
	"time"
)

const (
	minPause = 50 * time.Millisecond
	maxPause = 2 * time.Second
)

// backoff limits the requests to Temporal while it does not answer. Its methods are safe for concurrent use.
type backoff struct {
	log *slog.Logger

	mu       sync.Mutex
	failures int
	until    time.Time
}

// wait waits until the next request may be made. It reports false if stop comes first.
func (p *backoff) wait(stop <-chan struct{}, now func() time.Time) bool {
	p.mu.Lock()
	rest := time.Duration(0)
	if p.failures > 0 {
		rest = p.until.Sub(now())
	}
	p.mu.Unlock()
	if rest <= 0 {
		return true
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	}
}

// failed notes that a request to Temporal has failed.
func (p *backoff) failed(err error, now func() time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until.After(now()) {
		return // requests that fail at the same time count as one failure
	}
	if p.failures++; p.failures == 1 {
		p.log.Error("Temporal does not take messages; executions are accepted and continue when it is back", "error", err)
	}
	p.until = now().Add(jitter(min(minPause<<min(p.failures-1, 10), maxPause)))
}

// over notes that Temporal has answered.
func (p *backoff) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures > 0 {
		p.log.Info("Temporal takes messages again")
	}
	p.failures, p.until = 0, time.Time{}
}

// holds reports whether Temporal has not answered lately.
func (p *backoff) holds() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures > 0
}
