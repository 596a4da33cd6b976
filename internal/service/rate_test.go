package service

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
)

func TestRateLimit(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.RatePerSecond = 10 })
	take := func(p *Principal) (taken int, left Rate) {
		for {
			var err error
			if left, err = fx.Allow(p); err != nil {
				if shown := wantCode(t, err, chargehand.CodeRateLimited); shown.RetryAfter != 1 {
					t.Errorf("Retry-After is %d", shown.RetryAfter)
				}
				return taken, left
			}
			taken++
			if want := 20 - taken; taken <= 20 && (left.Remaining != want && fx.clock.Load() == 0 || left.Limit != 10 || left.Burst != 20) {
				t.Fatalf("after %d requests there is %+v", taken, left)
			}
		}
	}
	if n, last := take(fx.p); n != 20 || last.Remaining != 0 || last.Reset != 2*time.Second {
		t.Errorf("a burst takes %d requests and leaves %+v, want twice the rate", n, last)
	}
	fx.pass(time.Second)
	if n, _ := take(fx.p); n != 10 {
		t.Errorf("a second later there are %d, want 10", n)
	}
	fx.pass(time.Hour)
	if n, _ := take(fx.p); n != 20 {
		t.Errorf("an hour later there are %d, want no more than a burst", n)
	}
	other := *fx.p
	other.KeyNo++
	if n, _ := take(&other); n != 20 {
		t.Errorf("another key has %d", n)
	}
	fx.clock.Add(-int64(time.Hour)) // a clock that is set back gives nothing and takes nothing
	if n, _ := take(fx.p); n != 0 {
		t.Errorf("a clock that was set back gives %d", n)
	}
}

func TestRateOfAKeyAndOff(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.RatePerSecond = 1 })
	p := *fx.p
	p.RatePerSecond = 3
	for i := range 6 {
		if _, err := fx.Allow(&p); err != nil {
			t.Fatalf("request %d of a key with its own rate: %v", i, err)
		}
	}
	_, err := fx.Allow(&p)
	wantCode(t, err, chargehand.CodeRateLimited)
	p.RatePerSecond = 100 // the key was changed: what it has is kept
	_, err = fx.Allow(&p)
	wantCode(t, err, chargehand.CodeRateLimited)
	fx.pass(time.Second)
	if left, err := fx.Allow(&p); err != nil || left.Limit != 100 || left.Remaining != 99 {
		t.Errorf("with the new rate there is %+v, %v", left, err)
	}
	p.RatePerSecond = -1
	off := newFixture(t, func(c *Config) { c.Limits.RatePerSecond = -1 })
	for range 1000 {
		if _, err := fx.Allow(&p); err != nil {
			t.Fatal(err)
		}
		if left, err := off.Allow(off.p); err != nil || left.Limit != 0 {
			t.Fatalf("%+v, %v", left, err)
		}
	}
}

func TestRateLimiterMemoryIsBounded(t *testing.T) {
	l := newLimiter()
	now := epoch
	for key := range int64(3 * maxBuckets) {
		l.take(key, 1, now)
		now = now.Add(time.Millisecond)
	}
	if n := len(l.buckets); n > maxBuckets {
		t.Errorf("%d buckets are kept, want at most %d", n, maxBuckets)
	}
	l.sweep(now.Add(time.Minute))
	if n := len(l.buckets); n != 0 {
		t.Errorf("%d full buckets are kept", n)
	}
	for key := range int64(maxBuckets) + 1 { // none of them is full
		l.take(key, 1, now)
	}
	if n := len(l.buckets); n > maxBuckets {
		t.Errorf("%d buckets are kept, want at most %d", n, maxBuckets)
	}
}

func TestConcurrentRates(t *testing.T) {
	l := newLimiter()
	var taken atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if _, _, ok := l.take(1, 50, epoch); ok {
					taken.Add(1)
				}
			}
		})
	}
	group.Wait()
	if taken.Load() != 100 {
		t.Errorf("%d requests passed, want 100", taken.Load())
	}
}
