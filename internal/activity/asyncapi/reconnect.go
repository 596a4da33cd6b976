package asyncapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/chargehand/chargehand/internal/machine"
)

// Reconnect says how a lost connection is made again. The zero value stands for the defaults.
type Reconnect struct {
	First   time.Duration // the first pause; default 500 ms; each further one is twice as long
	Most    time.Duration // the longest pause; default 30 s
	Steady  time.Duration // a connection that stood so long counts as good; default 10 s
	MaxDown time.Duration // since the last good connection; default 5 minutes
}

// WithDefaults fills in what is zero.
func (r Reconnect) WithDefaults() Reconnect {
	for _, field := range []struct {
		to       *time.Duration
		standard time.Duration
	}{{&r.First, 500 * time.Millisecond}, {&r.Most, 30 * time.Second}, {&r.Steady, 10 * time.Second}, {&r.MaxDown, 5 * time.Minute}} {
		if *field.to == 0 {
			*field.to = field.standard
		}
	}
	return r
}

// Pause is a pause of up to wanted, at least half of it, so that many who lost the same server
// do not come back at once.
func Pause(wanted time.Duration) time.Duration {
	return wanted/2 + rand.N(wanted/2+1)
}

// Follow calls listen again and again. Listen connects, calls up, and returns nil when its
// caller wants no more, or why the connection ended. Follow returns a fault that comes before the
// first connection, one that is not retryable, and the last one when it gives up. It returns
// nil when listen does or ctx is done.
func (r Reconnect) Follow(ctx context.Context, listen func(up func()) *machine.Fault) *machine.Fault {
	ever, pause := false, r.First
	var downSince time.Time
	for {
		var upSince time.Time
		fault := listen(func() { ever, upSince = true, time.Now() })
		if fault == nil || ctx.Err() != nil {
			return nil
		}
		if !ever || !fault.Retryable {
			return fault
		}
		now := time.Now()
		if downSince.IsZero() || !upSince.IsZero() && now.Sub(upSince) >= r.Steady {
			downSince, pause = now, r.First
		}
		if now.Sub(downSince) >= r.MaxDown {
			lost := *fault
			lost.Detail = fmt.Sprintf("the connection was lost and could not be kept for %s: %s", r.MaxDown, fault.Detail)
			return &lost
		}
		select {
		case <-time.After(Pause(pause)):
		case <-ctx.Done():
			return nil
		}
		pause = min(2*pause, r.Most)
	}
}
