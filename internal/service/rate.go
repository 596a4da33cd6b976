package service

import (
	"math"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
)

// maxBuckets bounds the memory of the rate limiter. Only buckets that are not full are worth
// keeping, so the bound is met only by as many keys at work within two seconds.
const maxBuckets = 10_000

// Rate tells what is left of a key's token bucket.
type Rate struct {
	Limit     int           // requests per second; 0: no limit
	Burst     int           // size of the bucket
	Remaining int           // whole requests left now
	Reset     time.Duration // until the bucket is full again
}

// limiter holds one token bucket per key. A bucket holds two seconds' worth of requests and
// starts full, so forgetting a full one changes nothing.
type limiter struct {
	mu      sync.Mutex
	buckets map[int64]*bucket
}

type bucket struct {
	tokens float64
	perS   float64
	at     time.Time
}

func newLimiter() *limiter { return &limiter{buckets: make(map[int64]*bucket)} }

// fill adds what has accrued since the last time.
func (b *bucket) fill(now time.Time) {
	if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.tokens = min(b.tokens+passed*b.perS, burst(b.perS))
		b.at = now
	}
}

func burst(perS float64) float64 { return max(2*perS, 1) }

// take takes one token. ok tells whether there was one, wait how long until there is one.
func (l *limiter) take(key int64, perS float64, now time.Time) (left Rate, wait time.Duration, ok bool) {
	return l.takeMany(key, perS, 1, now)
}

// takeMany takes n tokens. More than the bucket holds are taken when it is full, which leaves it below zero.
func (l *limiter) takeMany(key int64, perS, n float64, now time.Time) (left Rate, wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		if len(l.buckets) >= maxBuckets {
			l.forget(now)
		}
		b = &bucket{tokens: burst(perS), perS: perS, at: now}
		l.buckets[key] = b
	}
	b.fill(now)
	if b.perS != perS { // the key was changed
		b.perS, b.tokens = perS, min(b.tokens, burst(perS))
	}
	if needed := min(n, burst(perS)); b.tokens >= needed {
		b.tokens, ok = b.tokens-n, true
	} else {
		wait = seconds((needed - b.tokens) / perS)
	}
	return Rate{
		Limit: int(math.Ceil(perS)), Burst: int(burst(perS)), Remaining: max(0, int(b.tokens)),
		Reset: seconds((burst(perS) - b.tokens) / perS),
	}, wait, ok
}

// taken is how many tokens of a bucket are taken and have not come back.
func (l *limiter) taken(key int64, now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		return 0
	}
	b.fill(now)
	return int64(math.Ceil(burst(b.perS) - b.tokens))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// forget drops full buckets, and all of them if that makes no room.
func (l *limiter) forget(now time.Time) {
	for key, b := range l.buckets {
		if b.fill(now); b.tokens >= burst(b.perS) {
			delete(l.buckets, key)
		}
	}
	if len(l.buckets) >= maxBuckets {
		clear(l.buckets)
	}
}

// sweep drops full buckets.
func (l *limiter) sweep(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now)
}

// Allow takes one request out of the key's bucket. It never blocks. Buckets are per node: with
// several of them a key has as many times its rate, spread as its requests are. The rate
// protects a node from a client; sharing it would cost a write per request.
// Codes: rate_limited (with RetryAfter).
func (s *Service) Allow(p *Principal) (Rate, error) {
	perS := s.limits.RatePerSecond
	if p.RatePerSecond != 0 {
		perS = p.RatePerSecond
	}
	if perS < 0 {
		return Rate{}, nil
	}
	left, wait, ok := s.limiter.take(p.actor(), perS, s.now())
	if ok {
		return left, nil
	}
	return left, &chargehand.Error{
		Code:       chargehand.CodeRateLimited,
		Detail:     "The API key has used up its requests for the moment.",
		RetryAfter: max(1, int(math.Ceil(wait.Seconds()))),
	}
}
