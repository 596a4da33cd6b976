package eventstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// beforeUpdate does something before the next Update.
type beforeUpdate struct {
	store.DB
	do func()
}

func (b *beforeUpdate) Update(ctx context.Context, fn func(store.Conn) error) error {
	if do := b.do; do != nil {
		b.do = nil
		do()
	}
	return b.DB.Update(ctx, fn)
}

// listen inserts a subscription to a type that has read the events up to through.
func (v *fixture) listen(execution byte, kind string, through int64) store.Subscription {
	v.Helper()
	s := store.Subscription{Account: 1, Environment: chargehand.Live, Execution: v.execution(execution).No, Command: 1}
	err := v.Update(context.Background(), func(tx *store.Tx) error {
		if err := tx.InsertSubscription(&s, RowFilters(&s, []machine.Filter{{Type: kind}}, nil)); err != nil {
			return err
		}
		asleep, err := tx.SleepSubscription(&s, through)
		if !asleep {
			v.Error("the matcher was first")
		}
		return err
	})
	if err != nil {
		v.Fatal(err)
	}
	return s
}

// TestMatcherSeesTheFirstListenerOfItsKind: an execution reads events and finds none; then one is published; then the
// matcher begins to match it; then the subscription is committed, the first one of its kind. It is woken.
func TestMatcherSeesTheFirstListenerOfItsKind(t *testing.T) {
	for _, alone := range []bool{true, false} {
		v := newFixture(t)
		if !alone {
			v.listen(1, "other", 0)
		}
		event := Received(map[string]any{"id": "1", "source": "/s", "type": "x"})
		if _, err := Publish(context.Background(), v.Store, nil, engine.Publisher{Account: 1, Environment: chargehand.Live}, []Publication{event}, 1); err != nil {
			t.Fatal(err)
		}
		var listening store.Subscription
		st := store.New(&beforeUpdate{v.db, func() { listening = v.listen(2, "x", 0) }})
		m := NewMatcher(MatcherConfig{Store: st, Reader: NewReader(st, nil)})
		var woken []store.Subscription
		for more := true; more; {
			done, err := m.Step(context.Background(), ID{1, chargehand.Live})
			if err != nil {
				t.Fatal(err)
			}
			woken, more = append(woken, done.Woken...), done.More
		}
		if len(woken) != 1 || woken[0].No != listening.No {
			t.Errorf("alone: %v: %+v were woken, not %+v", alone, woken, listening)
		}
	}
}

// TestKeysOfEventsAreBounded: what is kept of events for many kinds of filters counts, as the events do.
func TestKeysOfEventsAreBounded(t *testing.T) {
	r := NewReader(newFixture(t).Store, nil)
	paths := make([]string, maxTypes)
	for i := range paths {
		paths[i] = "@.a" + string(rune('0'+i))
	}
	const events = 500
	for number := range int64(events) {
		e := &Event{Number: number, Type: "x", Envelope: map[string]any{"data": map[string]any{"a": 1}}, Bytes: 100}
		r.remember(eventKey{ID{1, chargehand.Live}, number}, e)
		for _, path := range paths {
			steps := quickSteps
			r.keyOf(e, path, &steps)
		}
	}
	keys, bytes := 0, 0
	for _, element := range r.known {
		e := element.Value.(*kept).event
		keys += len(e.keys)
		bytes += e.Bytes + e.keysBytes
	}
	if keys == 0 || keys*keyedBytes > keptBytes || bytes != r.bytes {
		t.Errorf("%d keys are kept of %d events, and %d bytes are counted, not %d", keys, events, r.bytes, bytes)
	}
}

// TestSelectIsEnded: where reading is ended before an event was scanned, also at the begin of a page, the next read
// begins there.
func TestSelectIsEnded(t *testing.T) {
	v := newFixture(t)
	events := make([]Publication, 2*readPage)
	for i := range events {
		events[i] = Received(map[string]any{"id": fmt.Sprint(i), "source": "/s", "type": "x"})
	}
	if _, err := Publish(context.Background(), v.Store, nil, engine.Publisher{Account: 1, Environment: chargehand.Live}, events, 1); err != nil {
		t.Fatal(err)
	}
	last := int64(len(events))
	for permits := range len(events)/throttledEvents + 2 {
		scanned, left := int64(0), permits
		s := Selection{ID: ID{1, chargehand.Live}, Filters: []machine.Filter{{Type: "x"}}, throttle: func() (func(), bool, error) {
			left--
			return func() {}, left >= 0, nil
		}}
		through, err := NewReader(v.Store, nil).Select(context.Background(), s, 0, last, len(events), func(e *Event) (bool, error) {
			scanned = e.Number
			return true, nil
		})
		if err != nil || through != scanned {
			t.Errorf("with %d permits it has got to %d, and has scanned %d: %v", permits, through, scanned, err)
		}
	}
}

// failingDB fails each Update while broken is set.
type failingDB struct {
	store.DB
	broken atomic.Bool
}

func (f *failingDB) Update(ctx context.Context, fn func(store.Conn) error) error {
	return f.DB.Update(ctx, func(c store.Conn) error {
		if err := fn(c); err != nil || !f.broken.Load() {
			return err
		}
		return errors.New("a statement failed")
	})
}

// TestMatcherRepeatsWhatFailed: a step that fails is repeated without another event, and the subscription is woken
// once. Each failure is reported, and the engine is asked to find what a failed transaction may have woken.
func TestMatcherRepeatsWhatFailed(t *testing.T) {
	v := newFixture(t)
	listening := v.listen(1, "x", 0)
	db := &failingDB{DB: v.db}
	db.broken.Store(true)
	st := store.New(db)
	woken, failed, recovered := make(chan store.Subscription, 10), make(chan error, 1000), make(chan int, 1000)
	m := NewMatcher(MatcherConfig{
		Store: st, Reader: NewReader(st, nil),
		Woken: func(list []store.Subscription) {
			for _, s := range list {
				woken <- s
			}
		},
		Failed:  func(err error) { failed <- err },
		Recover: func(context.Context) error { recovered <- 1; return nil },
	})
	v.publish("x")
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { m.Run(ctx) })
	for range 3 {
		<-failed
	}
	if len(woken) != 0 {
		t.Error("a subscription was woken by a step that failed")
	}
	for len(recovered) > 0 {
		<-recovered
	}
	db.broken.Store(false)
	<-recovered
	if s := <-woken; s.No != listening.No {
		t.Errorf("subscription %d was woken", s.No)
	}
	cancel()
	work.Wait()
	if len(woken) != 0 {
		t.Error("it was woken twice")
	}
}

// TestMatcherPassesOverFullStreams: a stream whose listeners the engine has no room for waits until Notify is called
// again, and other streams continue.
func TestMatcherPassesOverFullStreams(t *testing.T) {
	v := newFixture(t)
	v.listen(1, "x", 0)
	var full atomic.Bool
	full.Store(true)
	asked, woken := make(chan ID, 10), make(chan store.Subscription, 10)
	m := NewMatcher(MatcherConfig{
		Store: v.Store, Reader: NewReader(v.Store, nil), Failed: func(err error) { t.Error(err) },
		Woken: func(list []store.Subscription) { woken <- list[0] },
		Full:  func(stream ID) bool { asked <- stream; return full.Load() },
	})
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { m.Run(ctx) })
	defer work.Wait()
	defer cancel()
	from := engine.Publisher{Account: 1, Environment: chargehand.Live}
	event := map[string]any{"id": "1", "source": "/s", "type": "x"}
	if added, err := m.Publish(ctx, from, []map[string]any{event, event}, 1); err != nil || added != 1 {
		t.Fatalf("%d events were added: %v", added, err)
	}
	live, test := ID{1, chargehand.Live}, ID{1, chargehand.Test}
	if stream := <-asked; stream != live {
		t.Errorf("it asks for %v", stream)
	}
	m.Notify(test)
	for stream := range asked { // the search at the start may have found the first stream too
		if stream == test {
			break
		}
	}
	if len(woken) != 0 {
		t.Error("a subscription was woken though the engine had no room")
	}
	full.Store(false)
	m.Notify(live)
	if s := <-woken; s.Command != 1 {
		t.Errorf("%+v was woken", s)
	}
}

// TestMatcherRepeatsBesideABusyStream: a stream that gets events without end delays neither the repetition of another
// stream's failed step nor the search for streams that other processes have left behind.
func TestMatcherRepeatsBesideABusyStream(t *testing.T) {
	v := newFixture(t)
	listening := v.listen(1, "x", 0)
	v.publish("x")
	busy := ID{1, chargehand.Test}
	woken, failed := make(chan store.Subscription, 10), make(chan error, 10)
	failures := 1
	var m *Matcher
	m = NewMatcher(MatcherConfig{
		Store: v.Store, Reader: NewReader(v.Store, nil), Failed: func(err error) { failed <- err },
		InTx: func(*store.Tx, []store.Subscription) error {
			if failures--; failures >= 0 {
				return errors.New("a statement failed")
			}
			return nil
		},
		Woken: func(list []store.Subscription) { woken <- list[0] },
		Full: func(stream ID) bool {
			if stream == busy {
				m.Notify(busy)
			}
			return stream == busy
		},
	})
	m.Notify(ID{1, chargehand.Live})
	m.Notify(busy)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	var work sync.WaitGroup
	work.Go(func() { m.Run(ctx) })
	defer work.Wait()
	defer cancel()
	<-failed
	select {
	case s := <-woken:
		if s.No != listening.No {
			t.Errorf("subscription %d was woken", s.No)
		}
	case <-ctx.Done():
		t.Error("the step that failed is not repeated while another stream has events")
	}
}
