package storetest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var subscriptionTests = map[string]func(*fixture){
	"insert and delete":            subscriptionRows,
	"deleted with the execution":   subscriptionEnd,
	"kinds":                        subscriptionKinds,
	"filters of some":              subscriptionFilters,
	"match in pages, each once":    subscriptionMatch,
	"wake and sleep":               subscriptionSleep,
	"sleep while events pass":      subscriptionPassed,
	"sleep between two pages":      subscriptionPart,
	"woken ones are found":         subscriptionWoken,
	"filters of all kinds of text": subscriptionTexts,
}

// subscribe inserts a subscription of a new execution, or of the one given.
func (f *fixture) subscribe(execution int64, command uint64, filters ...store.Filter) store.Subscription {
	f.Helper()
	if execution == 0 {
		execution = f.inserted()
	}
	s := store.Subscription{Account: 1, Environment: chargehand.Live, Execution: execution, Command: command}
	f.update(func(tx *store.Tx) error { return tx.InsertSubscription(&s, filters) })
	return s
}

// sleep lets a subscription sleep and returns whether it sleeps.
func (f *fixture) sleep(s store.Subscription, through int64) (asleep bool) {
	f.Helper()
	f.update(func(tx *store.Tx) (err error) {
		asleep, err = tx.SleepSubscription(&s, through)
		return err
	})
	return asleep
}

func (f *fixture) moveCursor(number, part int64) {
	f.Helper()
	f.update(func(tx *store.Tx) error {
		if _, err := tx.LockCursor(1, chargehand.Live, store.ListenCursor); err != nil {
			return err
		}
		return tx.MoveCursor(1, chargehand.Live, store.ListenCursor, store.StreamCursor{Number: number, Part: part})
	})
}

func (f *fixture) wakeAll(number int64, list ...store.Subscription) {
	f.Helper()
	var nos []int64
	for _, s := range list {
		nos = append(nos, s.No)
	}
	f.update(func(tx *store.Tx) error { return tx.WakeSubscriptions(nos, number) })
}

func (f *fixture) subscription(s store.Subscription) store.Subscription {
	f.Helper()
	var list []store.Subscription
	f.view(func(r *store.Reader) (err error) {
		list, err = r.Subscriptions(s.Execution)
		return err
	})
	for _, got := range list {
		if got.No == s.No {
			return got
		}
	}
	f.Fatalf("there is no subscription %d among %+v", s.No, list)
	return s
}

func (f *fixture) match(after int64, limit int, filters ...store.Filter) (nos []int64) {
	f.Helper()
	f.update(func(tx *store.Tx) error {
		nos = nil
		list, err := tx.MatchSubscriptions(1, chargehand.Live, filters, after, limit)
		for _, s := range list {
			nos = append(nos, s.No)
		}
		return err
	})
	return nos
}

func subscriptionRows(f *fixture) {
	one := f.subscribe(0, 3, store.Filter{Kind: "a"})
	two := f.subscribe(one.Execution, 5, store.Filter{Kind: "b.x", Key: []byte{1}}, store.Filter{})
	if two.No <= one.No || !one.Woken {
		f.Errorf("inserted %+v and %+v", one, two)
	}
	if got := f.subscription(two); got != two {
		f.Errorf("read %+v, want %+v", got, two)
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { s := two; return tx.InsertSubscription(&s, nil) })
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.DeleteSubscription(two.Execution, two.Command), tx.DeleteSubscription(two.Execution, 77))
	})
	if n := f.number(`SELECT COUNT(*) FROM subscription`); n != 1 {
		f.Errorf("%d are left, want 1", n)
	}
	if again := f.subscribe(one.Execution, 5); again.No <= two.No {
		f.Errorf("number %d is used twice", again.No)
	}
	f.view(func(r *store.Reader) error {
		n, err := r.CountSubscriptions(10)
		if n != 2 {
			f.Errorf("counted %d, want 2", n)
		}
		return err
	})
}

func subscriptionEnd(f *fixture) {
	s := f.subscribe(0, 3, store.Filter{Kind: "a"}, store.Filter{Kind: "b"})
	f.subscribe(s.Execution, 4, store.Filter{})
	other := f.subscribe(0, 3, store.Filter{Kind: "a"})
	f.update(func(tx *store.Tx) error { _, err := finish(tx, s.Execution, startMs, "1"); return err })
	if n := f.number(`SELECT COUNT(*) FROM subscription_filter`); n != 1 {
		f.Errorf("%d filters are left, want 1", n)
	}
	f.subscription(other)
}

func subscriptionKinds(f *fixture) {
	f.subscribe(0, 1, store.Filter{Kind: "b.x"}, store.Filter{Kind: "a"}, store.Filter{})
	f.subscribe(0, 1, store.Filter{Kind: "a", Key: []byte{9}}, store.Filter{Kind: "b.y"})
	foreign := store.Subscription{Account: 2, Environment: chargehand.Live, Execution: f.inserted(), Command: 1}
	f.update(func(tx *store.Tx) error { return tx.InsertSubscription(&foreign, []store.Filter{{Kind: "c"}}) })
	f.view(func(r *store.Reader) error {
		got, err := r.FilterKinds(1, chargehand.Live, 100)
		if !slices.Equal(got, []string{"", "a", "b.x", "b.y"}) {
			f.Errorf("kinds are %q", got)
		}
		few, err2 := r.FilterKinds(1, chargehand.Live, 2)
		if len(few) != 2 {
			f.Errorf("%d kinds, want 2", len(few))
		}
		return errors.Join(err, err2)
	})
}

func subscriptionFilters(f *fixture) {
	two := []store.Filter{{Kind: "b", Key: []byte{0, 1}}, {Kind: "a", Key: []byte{}}}
	first := f.subscribe(0, 1, two...)
	f.subscribe(0, 1, store.Filter{Kind: "c"})
	none := f.subscribe(0, 1)
	want := map[int64][]store.Filter{first.No: two}
	f.view(func(r *store.Reader) error {
		got, err := r.SubscriptionFilters([]int64{none.No, first.No, 1 << 40})
		if !reflect.DeepEqual(got, want) {
			f.Errorf("filters %v, want %v", got, want)
		}
		nothing, err2 := r.SubscriptionFilters(nil)
		if len(nothing) != 0 {
			f.Errorf("filters of no subscriptions: %v", nothing)
		}
		return errors.Join(err, err2)
	})
}

func subscriptionMatch(f *fixture) {
	var want []int64
	for i := range 10 {
		filters := []store.Filter{{Kind: "a.k", Key: []byte{byte(i % 2)}}}
		if i%3 == 0 {
			filters = append(filters, store.Filter{Kind: "b"})
		}
		s := f.subscribe(0, 1, filters...)
		if i%2 == 0 || i%3 == 0 {
			want = append(want, s.No)
		}
	}
	filters := []store.Filter{{Kind: "a.k", Key: []byte{0}}, {Kind: "b"}}
	if got := f.match(0, 100, filters...); !slices.Equal(got, want) {
		f.Errorf("matched %v, want %v", got, want)
	}
	if got := f.match(want[1], 2, filters...); !slices.Equal(got, want[2:4]) {
		f.Errorf("a page is %v, want %v", got, want[2:4])
	}
	if got := f.match(0, 100, store.Filter{Kind: "a.k", Key: []byte{2}}); got != nil {
		f.Errorf("another key finds %v", got)
	}
}

func subscriptionSleep(f *fixture) {
	s, early := f.subscribe(0, 1), f.subscribe(0, 1)
	f.wakeAll(9, s) // it is woken: it looks from its own place on
	if got := f.subscription(s); got.Since != 0 || !got.Woken {
		f.Errorf("after waking what was woken: %+v", got)
	}
	f.moveCursor(4, 0)
	if !f.sleep(s, 4) {
		f.Error("it has seen all that passed, and does not sleep")
	}
	if got := f.subscription(s); got.Since != 4 || got.Woken {
		f.Errorf("asleep: %+v", got)
	}
	f.wakeAll(4, s)
	if got := f.subscription(s); got.Woken {
		f.Errorf("woken for what it has seen: %+v", got)
	}
	f.wakeAll(8, s, early)
	if got := f.subscription(s); got.Since != 7 || !got.Woken {
		f.Errorf("after waking: %+v", got)
	}
	f.wakeAll(9, s)
	if got := f.subscription(s); got.Since != 7 {
		f.Errorf("a later event has moved it on: %+v", got)
	}
}

// What passes while a subscription is woken is not lost: it stays woken.
func subscriptionPassed(f *fixture) {
	s := f.subscribe(0, 1)
	f.moveCursor(6, 0)
	if f.sleep(s, 5) {
		f.Error("it sleeps although event 6 has passed")
	}
	if got := f.subscription(s); !got.Woken || got.Since != 5 {
		f.Errorf("it is %+v", got)
	}
	f.update(func(tx *store.Tx) error { return tx.AdvanceSubscription(s.No, 6) })
	if got := f.subscription(s); !got.Woken || got.Since != 6 {
		f.Errorf("after it has looked at more, it is %+v", got)
	}
	if !f.sleep(s, 6) {
		f.Error("it does not sleep")
	}
}

// An event is handed out in pages: a subscription that had its turn must have seen it, one that had not will be woken.
func subscriptionPart(f *fixture) {
	first, second := f.subscribe(0, 1), f.subscribe(0, 1)
	f.moveCursor(5, store.Partly(first.No, 1))
	if f.sleep(first, 5) {
		f.Error("it sleeps although event 6 had passed it")
	}
	if !f.sleep(second, 5) {
		f.Error("it does not sleep although its turn is still to come")
	}
	if !f.sleep(first, 6) {
		f.Error("it does not sleep")
	}
	f.moveCursor(6, store.Partly(first.No, store.MaxPartly))
	if f.sleep(first, 6+store.MaxPartly-1) {
		f.Error("it sleeps although the last of many events had passed it")
	}
	if !f.sleep(second, 6) || !f.sleep(first, 6+store.MaxPartly) {
		f.Error("they do not sleep")
	}
}

func subscriptionWoken(f *fixture) {
	var list []store.Subscription
	for range 5 {
		list = append(list, f.subscribe(0, 1))
	}
	f.sleep(list[1], 0)
	for i := range list {
		list[i].Workflow = f.number(`SELECT workflow FROM execution ORDER BY no LIMIT 1`)
	}
	f.view(func(r *store.Reader) error {
		page, err := r.WokenSubscriptions(0, 2)
		rest, err2 := r.WokenSubscriptions(page[1].No, 100)
		if !slices.Equal(append(page, rest...), []store.Subscription{list[0], list[2], list[3], list[4]}) {
			f.Errorf("woken are %+v and %+v", page, rest)
		}
		return errors.Join(err, err2)
	})

	f.insertEvents(startMs, event("1", "t"), event("2", "t"), event("3", "t"))
	more := f.subscribe(list[2].Execution, 2)
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.AdvanceSubscription(list[0].No, 1), tx.AdvanceSubscription(list[2].No, 3), tx.AdvanceSubscription(more.No, 2))
	})
	f.view(func(r *store.Reader) error {
		unread, err := r.UnreadEvents([]int64{list[0].Execution, list[1].Execution, list[2].Execution, 12345})
		want := map[int64]store.Unread{list[0].Execution: {Since: 1, Last: 3}, list[2].Execution: {Since: 2, Last: 3}}
		if !maps.Equal(unread, want) {
			f.Errorf("unread is %+v, want %+v", unread, want)
		}
		return err
	})
}

func subscriptionTexts(f *fixture) {
	long := make([]byte, 2<<10) // that cannot be compressed
	for i := range long {
		long[i] = ' ' + byte(i*i*i/7+i/3)%90
	}
	for i, filter := range []store.Filter{{Kind: "12:x"}, {Kind: ""}, {Kind: ".*\n\x01é"}, {Kind: "#="}, {Kind: string(long)}} {
		filter.Key = fmt.Append(nil, i)
		s := f.subscribe(0, 1, filter)
		if got := f.match(0, 10, filter); !slices.Equal(got, []int64{s.No}) {
			f.Errorf("%+v finds %v, want %d", filter, got, s.No)
		}
		f.view(func(r *store.Reader) error {
			list, err := r.FilterKinds(1, chargehand.Live, 10)
			if !slices.Contains(list, filter.Kind) {
				f.Errorf("%+v is not among the kinds %q", filter, list)
			}
			return err
		})
	}
}
