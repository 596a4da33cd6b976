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

// breather keeps everybody from asking Temporal all the time while it does not answer. Its
// methods are safe for concurrent use.
type breather struct {
	log *slog.Logger

	mu       sync.Mutex
	failures int
	until    time.Time
}

// wait waits until it is worth while to ask again. It reports false if stop comes first.
func (p *breather) wait(stop <-chan struct{}, now func() time.Time) bool {
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

// failed notes that Temporal did not take something.
func (p *breather) failed(err error, now func() time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until.After(now()) {
		return // others have failed at the same time: that is one failure
	}
	if p.failures++; p.failures == 1 {
		p.log.Error("Temporal does not take messages; executions are accepted and go on when it is back", "error", err)
	}
	p.until = now().Add(jitter(min(minPause<<min(p.failures-1, 10), maxPause)))
}

// over notes that Temporal has answered.
func (p *breather) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures > 0 {
		p.log.Info("Temporal takes messages again")
	}
	p.failures, p.until = 0, time.Time{}
}

// holds reports whether Temporal has not answered lately.
func (p *breather) holds() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures > 0
}
