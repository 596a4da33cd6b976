package eventstream

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// pumpEvents bounds the events that are handed out together: a subscription that listens to all of them is
	// woken once for all.
	pumpEvents = store.MaxPartly
	// pumpEntries bounds the pairs of an event and an entry of the index that lets it through.
	pumpEntries = 100_000
	// pumpFilters bounds the entries of the index: each transaction of a handout asks for all of them.
	pumpFilters = 1_000
	// pumpTime bounds the time in which filters are asked about events before the first are handed out.
	pumpTime = 50 * time.Millisecond
	// pumpWakes bounds the subscriptions that are woken in one transaction, and pumpLooks those that are looked at: most
	// may be awake already, which costs little.
	pumpWakes = 500
	pumpLooks = 4_000
	// Where more subscriptions than pumpWakes are to be woken, those of entries that let few through, at most
	// pumpFew, go first, and at most pumpWakes of them.
	pumpFew = 16
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

	matchTime time.Duration // 0: pumpTime
}

// Pumped is what a step has done.
type Pumped struct {
	// Woken are subscriptions that have to look at events now. Their rows say so too.
	Woken []store.Subscription
	// More: there is more to do. Nobody else may be there who does it.
	More bool
}

// Step takes the next events of a stream, wakes who may want them, and moves the cursor, in
// one transaction that wakes some 500 subscriptions at most. Errors: store.ErrUnavailable, after which it may have been done
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
	events := &handout{}
	if len(kinds) > 0 {
		last = min(last, seen.Number+pumpEvents)
		if _, begun := seen.Partly(); begun > 0 {
			last = seen.Number + int64(begun)
		}
		if events, err = p.match(ctx, account, env, seen, last, kinds); err != nil {
			return Pumped{}, err
		}
		last = events.last
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

// handout is what of a stream is handed out together: the events behind one, up to another one, by the entries of the
// index that let them through.
type handout struct {
	account     int64
	environment chargehand.Environment
	after, last int64
	kinds       []string // that were asked

	filters []store.Filter
	numbers [][]int64 // of the events, by filter
	entries int       // numbers in all
}

// match finds the filters for the next events, up to last or, if that takes long, some of them. A handout that has
// begun is matched whole.
func (p *Pump) match(ctx context.Context, account int64, env chargehand.Environment, c store.StreamCursor, last int64, texts []string) (*handout, error) {
	if h := p.Reader.matched(account, env, c.Number, last, texts); h != nil {
		return h, nil
	}
	kinds, err := newFilterKinds(texts, p.Reader, p.Sealer)
	if err != nil {
		return nil, err
	}
	h := &handout{account: account, environment: env, after: c.Number, last: last, kinds: texts}
	places := make(map[string]int)
	began := time.Now()
	through := c.Number
	for through < h.last {
		begin := through
		err := p.Reader.read(ctx, account, env, through, h.last, func() {}, func(e *Event) (bool, error) {
			through = e.Number
			h.add(places, e.Number, kinds.of(account, env, e))
			late := time.Since(began) > cmp.Or(p.matchTime, pumpTime)
			if c.Part == 0 && (late || h.entries > pumpEntries || len(h.filters) >= pumpFilters) {
				h.last = through
			}
			return through < h.last, nil
		})
		if err != nil {
			return nil, err
		}
		if through == begin { // the rest was deleted
			break
		}
	}
	p.Reader.mu.Lock()
	p.Reader.latest = h
	p.Reader.mu.Unlock()
	return h, nil
}

// matched returns the latest handout, if it is the one that is wanted.
func (r *Reader) matched(account int64, env chargehand.Environment, after, last int64, kinds []string) *handout {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.latest
	if h == nil || h.account != account || h.environment != env || h.after != after || h.last != last || !slices.Equal(h.kinds, kinds) {
		return nil
	}
	return h
}

// add notes which filters let an event through. places are those of the filters in the handout.
func (h *handout) add(places map[string]int, number int64, filters []store.Filter) {
	for _, f := range filters {
		name := f.Kind + "\x00" + string(f.Key)
		at, known := places[name]
		if !known {
			at = len(h.filters)
			places[name] = at
			h.filters, h.numbers = append(h.filters, f), append(h.numbers, nil)
		}
		h.numbers[at] = append(h.numbers[at], number)
		h.entries++
	}
}

// handOut wakes who may want the events, as many as fit into one transaction, and returns how far that got. A
// subscription is looked at once for all of the events: which of them are for it, its filters tell.
func handOut(tx *store.Tx, account int64, env chargehand.Environment, c store.StreamCursor, h *handout, last int64) (store.StreamCursor, []store.Subscription, error) {
	var woken []store.Subscription
	after, _ := c.Partly()
	begun := after > 0
	for looked := 0; looked < pumpLooks && len(woken) < pumpWakes; {
		room := pumpWakes - len(woken)
		page, err := tx.MatchSubscriptions(account, env, h.filters, after, room)
		if err != nil {
			return c, nil, err
		}
		now, err := wake(tx, page, h.numbers)
		if err != nil {
			return c, nil, err
		}
		if woken = append(woken, now...); len(page) < room {
			return store.StreamCursor{Number: last}, woken, nil
		}
		looked += room
		after = page[room-1].No
	}
	if !begun {
		few, err := wakeFew(tx, account, env, h)
		if err != nil {
			return c, nil, err
		}
		woken = append(woken, few...)
	}
	return store.StreamCursor{Number: c.Number, Part: store.Partly(after, int(last-c.Number))}, woken, nil
}

// wakeFew wakes the subscriptions of entries that let few through: those who wait for an event of their own do not
// wait until thousands have been woken for others. When it is their turn they are awake, or have looked already: so
// all of their filters count here, also those that let many through.
func wakeFew(tx *store.Tx, account int64, env chargehand.Environment, h *handout) ([]store.Subscription, error) {
	var few []store.Found
	var nos []int64
	places := make(map[string]int, len(h.filters))
	for i, f := range h.filters {
		places[f.Kind+"\x00"+string(f.Key)] = i
		if len(few) >= pumpWakes {
			continue
		}
		page, err := tx.MatchSubscriptions(account, env, h.filters[i:i+1], 0, pumpFew+1)
		if err != nil {
			return nil, err
		}
		if len(page) > pumpFew {
			continue
		}
		for _, s := range page {
			if !s.Woken && !slices.Contains(nos, s.No) {
				few, nos = append(few, s), append(nos, s.No)
			}
		}
	}
	filters, err := tx.SubscriptionFilters(nos)
	if err != nil {
		return nil, err
	}
	for i := range few {
		few[i].Filters = nil
		for _, f := range filters[few[i].No] {
			if at, is := places[f.Kind+"\x00"+string(f.Key)]; is {
				few[i].Filters = append(few[i].Filters, at)
			}
		}
	}
	return wake(tx, few, h.numbers)
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
