package blackbox_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// others are clients who do something else during an attack.
type others struct {
	t    *testing.T
	s    *server
	flow string
	sent atomic.Int64 // events
}

// round reads some things and stores an event, and says how long that took.
func (o *others) round() time.Duration {
	o.t.Helper()
	began := time.Now()
	for _, path := range []string{"/workflows", "/workflows/" + o.flow, "/executions"} {
		if a := o.s.Do(o.t, "GET", path, ""); a.Status != 200 {
			o.t.Errorf("%s meanwhile: %d", path, a.Status)
		}
	}
	event := fmt.Sprintf(`{"specversion":"1.0","id":"%d","source":"/others","type":"others"}`, o.sent.Add(1))
	if a := o.s.Do(o.t, "POST", "/events", event, "Content-Type", "application/cloudevents+json"); a.Status != 202 {
		o.t.Errorf("an event meanwhile: %d", a.Status)
	}
	return time.Since(began)
}

// alone are some rounds without an attack.
func (o *others) alone() []time.Duration {
	return []time.Duration{o.round(), o.round(), o.round()}
}

// during are the rounds while something is done.
func (o *others) during(do func()) (rounds []time.Duration) {
	done := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			rounds = append(rounds, o.round())
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	do()
	close(done)
	asking.Wait()
	return rounds
}

// heldUp reports whether an attack has kept others from being answered for a second. What they wait for alone, just
// before and after it, tells how busy the machine is with other things.
func heldUp(during, alone []time.Duration) (took, most time.Duration, held bool) {
	took, most = slices.Max(during), time.Second+10*slices.Max(alone)
	return took, most, took > most
}
