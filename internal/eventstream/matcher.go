package eventstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// ID names a stream: each environment of an account has one.
type ID struct {
	Account     int64
	Environment chargehand.Environment
}

// MatcherConfig configures a Matcher. Store, Reader, Woken and Failed are required.
type MatcherConfig struct {
	Store  *store.Store
	Reader *Reader
	Sealer *secret.Sealer // of executions with secrets; nil: there are none

	// InTx runs in the transaction that wakes subscriptions: what it writes is as durable as that. Nil: nothing.
	InTx func(tx *store.Tx, woken []store.Subscription) error
	// Woken gets the subscriptions that have to read events now. Their rows say so too.
	Woken func([]store.Subscription)
	// Recover wakes each subscription whose row says that it is woken. It is called at the start and after a failure,
	// because a transaction that failed may have been committed. Nil: the engine finds them without it.
	Recover func(ctx context.Context) error
	// Full reports whether the engine can take no more woken subscriptions of a stream. It calls Notify when it can
	// again. Nil: it always can.
	Full func(ID) bool
	// Failed gets the errors. What failed is repeated.
	Failed func(error)
	// Every is the time between searches for streams that other processes have left behind. 0: there is no other
	// process.
	Every time.Duration
}

const (
	// A step that failed, or whose stream another transaction had locked, is repeated after minWait, doubled up to
	// maxWait.
	minWait = 5 * time.Millisecond
	maxWait = time.Second
)

// Matcher finds the subscriptions that new events may be for, and wakes them. The streams take turns, so that a stream
// with many events does not delay the others. Several processes may work on the same database: the lock of a stream's
// cursor lets one of them work on that stream at a time. All that a matcher does is durable, so it may end at any
// moment. Methods are safe for concurrent use.
type Matcher struct {
	MatcherConfig
	matchTime time.Duration // 0: maxMatchTime
	notified  chan struct{}

	mu      sync.Mutex
	waiting []ID // in the order in which Notify was called
	listed  map[ID]bool
}

// NewMatcher makes a matcher. Run starts its work.
func NewMatcher(c MatcherConfig) *Matcher {
	return &Matcher{MatcherConfig: c, notified: make(chan struct{}, 1), listed: make(map[ID]bool)}
}

// Notify says that a stream has new events. It does not block; many calls at once count as one.
func (m *Matcher) Notify(stream ID) {
	m.mu.Lock()
	if !m.listed[stream] {
		m.listed[stream] = true
		m.waiting = append(m.waiting, stream)
	}
	m.mu.Unlock()
	m.wakeRun()
}

func (m *Matcher) wakeRun() {
	select {
	case m.notified <- struct{}{}:
	default:
	}
}

// waits returns the number of streams that wait.
func (m *Matcher) waits() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting)
}

// next takes out the stream that has waited longest.
func (m *Matcher) next() (stream ID, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) == 0 {
		return ID{}, false
	}
	stream, m.waiting = m.waiting[0], m.waiting[1:]
	delete(m.listed, stream)
	return stream, true
}

// Publish stores events from outside durably and returns how many of them were new. Errors: store.ErrUnavailable.
func (m *Matcher) Publish(ctx context.Context, from engine.Publisher, events []map[string]any, nowMs int64) (added int, err error) {
	list := make([]Publication, len(events))
	for i, ev := range events {
		list[i] = Received(ev)
	}
	added, err = Publish(ctx, m.Store, m.Reader.blobs, from, list, nowMs)
	if added > 0 || errors.Is(err, store.ErrUnavailable) { // then they may be stored nevertheless
		m.Notify(ID{from.Account, from.Environment})
	}
	return added, err
}

// Run matches events until ctx ends.
func (m *Matcher) Run(ctx context.Context) {
	search, retry := time.NewTimer(0), time.NewTimer(maxWait)
	defer search.Stop()
	defer retry.Stop()
	failed, locked := false, make(map[ID]bool) // what the next search and the next retry are for
	wait := minWait
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.notified:
		case <-search.C:
			if failed = !m.search(ctx); !failed && m.Every > 0 {
				search.Reset(m.Every - m.Every/5 + rand.N(2*m.Every/5))
			} else if failed {
				search.Reset(wait)
			}
			wait = min(2*wait, maxWait)
		case <-retry.C:
			for stream := range locked {
				m.Notify(stream)
			}
			clear(locked)
			wait = min(2*wait, maxWait)
		}
		waited := len(locked) > 0
		if ok := m.round(ctx, locked); !ok && !failed {
			failed = true
			search.Reset(wait)
		}
		switch {
		case len(locked) > 0 && !waited:
			retry.Reset(wait)
		case len(locked) == 0 && !failed:
			wait = minWait
		}
	}
}

// search finds the streams that have events which no subscription was woken for. It reports whether that succeeded.
func (m *Matcher) search(ctx context.Context) bool {
	var behind []store.Stream
	err := m.Store.View(ctx, func(r *store.Reader) (err error) {
		behind, err = r.StreamsBehind(store.ListenCursor)
		return err
	})
	if err == nil && m.Recover != nil {
		err = m.Recover(ctx)
	}
	for _, s := range behind {
		m.Notify(ID{s.Account, s.Environment})
	}
	m.note(ctx, err)
	return err == nil
}

func (m *Matcher) note(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		m.Failed(err)
	}
}

// round takes one step of each stream that waits. It adds those to locked that another transaction has locked.
// It reports whether all steps succeeded: a search finds the streams again whose step failed. A search or a retry that
// is due comes before the next round, however many events arrive.
func (m *Matcher) round(ctx context.Context, locked map[ID]bool) (ok bool) {
	ok = true
	for range m.waits() {
		stream, waits := m.next()
		if !waits || ctx.Err() != nil {
			break
		}
		if m.Full != nil && m.Full(stream) {
			continue
		}
		done, err := m.Step(ctx, stream)
		switch {
		case err != nil:
			ok = false
			m.note(ctx, err)
			if errors.Is(err, store.ErrUnavailable) {
				return ok // for the other streams too
			}
		case done.Locked:
			locked[stream] = true
		case done.More:
			m.Notify(stream)
		}
		if len(done.Woken) > 0 {
			m.Woken(done.Woken)
		}
	}
	if m.waits() > 0 {
		m.wakeRun()
	}
	return ok
}
