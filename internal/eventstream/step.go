package eventstream

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// stepEvents bounds the events of one step: a subscription to all of them is woken once for all.
	stepEvents = store.MaxPartly
	// stepEntries bounds the pairs of an event and an entry of the index that lets it through.
	stepEntries = 100_000
	// stepFilters bounds the entries of the index: each transaction of a handout asks for all of them.
	stepFilters = 1_000
	// maxMatchTime bounds the time in which filters are evaluated before the first subscription is woken.
	maxMatchTime = 50 * time.Millisecond
	// maxWoken bounds the subscriptions that one transaction wakes, and maxScanned those that it reads: most may be
	// awake already, which costs little.
	maxWoken   = 500
	maxScanned = 4_000
	// Where more subscriptions than maxWoken are to be woken, those of entries that let at most rareEntry through go
	// first, and at most maxWoken of them.
	rareEntry = 16
	// maxKinds is above what any stream has of kinds of filters: definitions make them, not executions.
	maxKinds = 1 << 20
)

// Matched is what a step has done.
type Matched struct {
	Woken  []store.Subscription
	More   bool // there are more events
	Locked bool // nothing was done: another transaction has the lock of the stream's cursor
}

// Step wakes the subscriptions that may want the next events of a stream, and moves the cursor, in one transaction that
// wakes some 500 subscriptions at most. Errors: store.ErrUnavailable, after which the step may have been committed
// nevertheless; a Sealer is missing.
func (m *Matcher) Step(ctx context.Context, stream ID) (Matched, error) {
	account, env := stream.Account, stream.Environment
	var s store.Stream
	var seen store.StreamCursor
	var kinds []string
	err := m.Store.View(ctx, func(r *store.Reader) (err error) {
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
		return Matched{}, err
	}
	last := s.Last
	events := &handout{}
	if len(kinds) > 0 {
		last = min(last, seen.Number+stepEvents)
		if _, begun := seen.Partly(); begun > 0 {
			last = seen.Number + int64(begun)
		}
		if events, err = m.match(ctx, stream, seen, last, kinds); err != nil {
			return Matched{}, err
		}
		last = events.last
	}
	var done Matched
	var moved store.StreamCursor
	err = m.Store.Update(ctx, func(tx *store.Tx) error {
		done, moved = Matched{}, seen
		now, ok, err := tx.TakeCursor(account, env, store.ListenCursor)
		if err != nil || !ok {
			done.Locked = !ok
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
		if moved, done.Woken, err = wakeAll(tx, account, env, now, events, last); err != nil {
			return err
		}
		if m.InTx != nil && len(done.Woken) > 0 {
			if err := m.InTx(tx, done.Woken); err != nil {
				return err
			}
		}
		done.More = moved.Number < s.Last
		return tx.MoveCursor(account, env, store.ListenCursor, moved)
	})
	if err != nil {
		return Matched{}, fmt.Errorf("wake subscriptions: %w", err)
	}
	return done, nil
}

// newKinds reports whether a subscription has brought a kind of filters that is not among those known. It may sleep by
// now, and may have read before the events of this step were published: so these have to be asked of its kind too. A
// subscription that goes to sleep later sees that the cursor has passed it.
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

// handout holds the events of one or more steps, which are behind after and up to last, by the entries of the index
// that let them through.
type handout struct {
	stream      ID
	after, last int64
	kinds       []string // that were asked

	filters []store.Filter
	numbers [][]int64 // of the events, by filter
	entries int       // numbers in all
}

// match finds the filters for the next events up to last or, if that takes long, for some of them. Once subscriptions
// were woken for some events, the rest is woken for the same events.
func (m *Matcher) match(ctx context.Context, stream ID, c store.StreamCursor, last int64, texts []string) (*handout, error) {
	if h := m.Reader.matched(stream, c.Number, last, texts); h != nil {
		return h, nil
	}
	kinds, err := newFilterKinds(texts, m.Reader, m.Sealer)
	if err != nil {
		return nil, err
	}
	h := &handout{stream: stream, after: c.Number, last: last, kinds: texts}
	positions := make(map[string]int)
	began := time.Now()
	through := c.Number
	for through < h.last {
		begin := through
		err := m.Reader.read(ctx, stream, through, h.last, func() {}, func(e *Event) (bool, error) {
			through = e.Number
			h.add(positions, e.Number, kinds.of(stream.Account, stream.Environment, e))
			late := time.Since(began) > cmp.Or(m.matchTime, maxMatchTime)
			if c.Part == 0 && (late || h.entries > stepEntries || len(h.filters) >= stepFilters) {
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
	m.Reader.mu.Lock()
	m.Reader.latest = h
	m.Reader.mu.Unlock()
	return h, nil
}

// matched returns the latest handout, if it is for these events and kinds.
func (r *Reader) matched(stream ID, after, last int64, kinds []string) *handout {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.latest
	if h == nil || h.stream != stream || h.after != after || h.last != last || !slices.Equal(h.kinds, kinds) {
		return nil
	}
	return h
}

// add notes which filters let an event through. positions are those of the filters in the handout.
func (h *handout) add(positions map[string]int, number int64, filters []store.Filter) {
	for _, f := range filters {
		name := f.Kind + "\x00" + string(f.Key)
		at, known := positions[name]
		if !known {
			at = len(h.filters)
			positions[name] = at
			h.filters, h.numbers = append(h.filters, f), append(h.numbers, nil)
		}
		h.numbers[at] = append(h.numbers[at], number)
		h.entries++
	}
}

// wakeAll wakes the subscriptions that may want the events, as many as fit into one transaction, and returns how far
// that got. It reads a subscription once for all of the events, and its filters say which of them are for it.
func wakeAll(tx *store.Tx, account int64, env chargehand.Environment, c store.StreamCursor, h *handout, last int64) (store.StreamCursor, []store.Subscription, error) {
	var woken []store.Subscription
	after, _ := c.Partly()
	begun := after > 0
	for scanned := 0; scanned < maxScanned && len(woken) < maxWoken; {
		room := maxWoken - len(woken)
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
		scanned += room
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

// wakeFew wakes the subscriptions of entries that let few through: an execution that waits for an event of its own does
// not wait until thousands have been woken for others. When its turn comes it is awake, or has read already: so all of
// its filters count here, also those that let many through.
func wakeFew(tx *store.Tx, account int64, env chargehand.Environment, h *handout) ([]store.Subscription, error) {
	var few []store.Found
	var nos []int64
	positions := make(map[string]int, len(h.filters))
	for i, f := range h.filters {
		positions[f.Kind+"\x00"+string(f.Key)] = i
		if len(few) >= maxWoken {
			continue
		}
		page, err := tx.MatchSubscriptions(account, env, h.filters[i:i+1], 0, rareEntry+1)
		if err != nil {
			return nil, err
		}
		if len(page) > rareEntry {
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
			if at, is := positions[f.Kind+"\x00"+string(f.Key)]; is {
				few[i].Filters = append(few[i].Filters, at)
			}
		}
	}
	return wake(tx, few, h.numbers)
}

// wake wakes those of the subscriptions that sleep and for which there is an event. numbers are those of the events, by
// filter.
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
