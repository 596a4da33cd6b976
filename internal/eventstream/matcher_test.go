package eventstream

import (
	"context"
	"fmt"
	"testing"

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
