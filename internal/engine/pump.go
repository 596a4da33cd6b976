package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// pumpEvents bounds the events that are handed out in one transaction, and together: whoever listens to all of
	// them is looked at once for all.
	pumpEvents = 1_000
	// pumpTime bounds the time in which filters are asked about events before the first are handed out.
	pumpTime = 50 * time.Millisecond
	// pumpWakes bounds the subscriptions that are woken in one transaction, and pumpLooks those that are looked at: most
	// may be awake already, which costs little.
	pumpWakes = 500
	pumpLooks = 4_000
	// maxKinds is above what any stream has of kinds of filters: definitions make them, not executions.
	maxKinds = 1 << 20
)

// Pump wakes subscriptions for the events of a stream. One at a time does so for each stream;
// who does is settled by the lock of its cursor. What it does is durable: it can end at any moment.
type Pump struct {
	Store  *store.Store
	Reader *Reader
	Sealer *secret.Sealer // of executions with secrets; nil: there are none
	// Also, if set, runs in the transaction that wakes subscriptions: what it writes is as durable as that.
	Also func(tx *store.Tx, woken []store.Subscription) error
}

// Pumped is what a step has done.
type Pumped struct {
	// Woken are subscriptions that have to look at events now. Their rows say so too.
	Woken []store.Subscription
	// More: there is more to do. Nobody else may be there who does it.
	More bool
}

// Step takes the next events of a stream, wakes who may want them, and moves the cursor, in
// one transaction that looks at 500 subscriptions at most. Errors: store.ErrUnavailable, after which it may have been done
// nevertheless: then look for woken subscriptions in the store; a Sealer is missing.
func (p *Pump) Step(ctx context.Context, account int64, env chargehand.Environment) (Pumped, error) {
	var s store.Stream
	var seen store.StreamCursor
	var kinds []string
	err := p.Store.View(ctx, func(r *store.Reader) (err error) {
		if s, err = r.Stream(account, env); err != nil {
			return err
		}
		if seen, err = r.Cursor(account, env, store.ListenCursor); err != nil || seen.Number >= s.Last {
			return err
		}
		kinds, err = r.FilterKinds(account, env, maxKinds)
		return err
	})
	if err != nil || seen.Number >= s.Last {
		return Pumped{}, err
	}
	last := s.Last
	var events []handout
	if len(kinds) > 0 {
		_, begun := seen.Partly()
		last = min(last, seen.Number+int64(max(begun, pumpEvents)))
		if begun > 0 {
			last = seen.Number + int64(begun)
		}
		if events, last, err = p.match(ctx, account, env, seen, last, kinds); err != nil {
			return Pumped{}, err
		}
	}
	var done Pumped
	var moved store.StreamCursor
	err = p.Store.Update(ctx, func(tx *store.Tx) error {
		done, moved = Pumped{}, seen
		now, ok, err := tx.TakeCursor(account, env, store.ListenCursor)
		if err != nil || !ok { // somebody else is at it, and goes on
			return err
		}
		if now != seen {
			moved, done.More = now, now.Number < s.Last
			return nil
		}
		if fresh, err := newKinds(tx, account, env, kinds); err != nil || fresh {
			done.More = true
			return err
		}
		if moved, done.Woken, err = handOut(tx, account, env, now, events, last); err != nil {
			return err
		}
		if p.Also != nil && len(done.Woken) > 0 {
			if err := p.Also(tx, done.Woken); err != nil {
				return err
			}
		}
		done.More = moved.Number < s.Last
		return tx.MoveCursor(account, env, store.ListenCursor, moved)
	})
	if err != nil {
		return Pumped{}, fmt.Errorf("hand out events: %w", err)
	}
	return done, nil
}

// newKinds reports whether a subscription has brought a kind of filters that is not among those known. It may sleep by now,
// and have looked before the events were published that are handed out: they have to be asked of its kind too. Subscriptions that
// settle later than this see that the cursor has passed them.
func newKinds(tx *store.Tx, account int64, env chargehand.Environment, known []string) (bool, error) {
	now, err := tx.FilterKinds(account, env, maxKinds)
	if err != nil {
		return false, err
	}
	set := make(map[string]bool, len(known))
	for _, kind := range known {
		set[kind] = true
	}
	return slices.ContainsFunc(now, func(kind string) bool { return !set[kind] }), nil
}

// handout is an event with the entries of the index that let it through.
type handout struct {
	number  int64
	filters []store.Filter
}

// match finds the filters for the next events, up to last. It returns how far that got.
func (p *Pump) match(ctx context.Context, account int64, env chargehand.Environment, c store.StreamCursor, last int64, texts []string) ([]handout, int64, error) {
	kinds, err := newFilterKinds(texts, p.Reader, p.Sealer)
	if err != nil {
		return nil, 0, err
	}
	var events []handout
	began := time.Now()
	through := c.Number
	for through < last {
		begin := through
		err := p.Reader.read(ctx, account, env, through, last, func() {}, func(e *StoredEvent) (bool, error) {
			through = e.Number
			if filters := kinds.of(account, env, e); len(filters) > 0 {
				events = append(events, handout{e.Number, filters})
			}
			if c.Part == 0 && time.Since(began) > pumpTime { // what has begun is handed out as it has begun
				last = through
			}
			return through < last, nil
		})
		if err != nil {
			return nil, 0, err
		}
		if through == begin { // the rest was deleted
			break
		}
	}
	return events, last, nil
}

// handOut wakes who may want the events up to last, as many as fit into one transaction, and returns how far that got. A
// subscription is looked at once for all of the events: which of them are for it, its filters tell.
func handOut(tx *store.Tx, account int64, env chargehand.Environment, c store.StreamCursor, events []handout, last int64) (store.StreamCursor, []store.Subscription, error) {
	var filters []store.Filter
	var numbers [][]int64 // of the events, by filter
	places := make(map[string]int)
	for i := range events {
		for _, f := range events[i].filters {
			name := f.Kind + "\x00" + string(f.Key)
			at, known := places[name]
			if !known {
				at = len(filters)
				places[name] = at
				filters, numbers = append(filters, f), append(numbers, nil)
			}
			numbers[at] = append(numbers[at], events[i].number)
		}
	}
	var woken []store.Subscription
	after, _ := c.Partly()
	for looked := 0; looked < pumpLooks && len(woken) < pumpWakes; {
		room := pumpWakes - len(woken)
		page, err := tx.MatchSubscriptions(account, env, filters, after, room)
		if err != nil {
			return c, nil, err
		}
		now, err := wake(tx, page, numbers)
		if err != nil {
			return c, nil, err
		}
		if woken = append(woken, now...); len(page) < room {
			return store.StreamCursor{Number: last}, woken, nil
		}
		looked += room
		after = page[room-1].No
	}
	return store.StreamCursor{Number: c.Number, Part: store.Partly(after, int(last-c.Number))}, woken, nil
}

// wake wakes those of the subscriptions that sleep and for which there is an event. numbers are those of the events, by filter.
func wake(tx *store.Tx, page []store.Found, numbers [][]int64) (woken []store.Subscription, err error) {
	first := make(map[int64][]int64) // subscriptions by the first event that is for them
	for i := range page {
		s := &page[i]
		if s.Woken {
			continue
		}
		if number := firstAbove(numbers, s.Filters, s.Since); number != 0 {
			first[number] = append(first[number], s.No)
			s.Woken, s.Since = true, number-1
			woken = append(woken, s.Subscription)
		}
	}
	for number, nos := range first {
		if err := tx.WakeSubscriptions(nos, number); err != nil {
			return nil, err
		}
	}
	return woken, nil
}

// firstAbove is the lowest of the numbers of some filters above one; 0 if there is none.
func firstAbove(numbers [][]int64, filters []int, since int64) (first int64) {
	for _, f := range filters {
		at, _ := slices.BinarySearch(numbers[f], since+1)
		if at < len(numbers[f]) && (first == 0 || numbers[f][at] < first) {
			first = numbers[f][at]
		}
	}
	return first
}
