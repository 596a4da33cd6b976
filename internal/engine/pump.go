package engine

import (
	"context"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// pumpEvents bounds the events that are handed out in one transaction.
	pumpEvents = 100
	// pumpWakes bounds the subscriptions that are looked at in one transaction.
	pumpWakes = 500
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
		// Who subscribes later than this looks by himself at what is there by then.
		kinds, err = r.FilterKinds(account, env, maxKinds)
		return err
	})
	if err != nil || seen.Number >= s.Last {
		return Pumped{}, err
	}
	last := s.Last
	var events []handout
	if len(kinds) > 0 {
		last = min(last, seen.Number+pumpEvents)
		if events, last, err = p.match(ctx, account, env, seen.Number, last, kinds); err != nil {
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

// handout is an event with the entries of the index that let it through.
type handout struct {
	number  int64
	filters []store.Filter
}

// match finds the filters for the next events. last is how far that got.
func (p *Pump) match(ctx context.Context, account int64, env chargehand.Environment, after, last int64, texts []string) ([]handout, int64, error) {
	kinds, err := newFilterKinds(texts, p.Reader, p.Sealer)
	if err != nil {
		return nil, 0, err
	}
	var events []handout
	through := after
	for through < last {
		begin := through
		err := p.Reader.read(ctx, account, env, through, last, func(e *StoredEvent) (bool, error) {
			through = e.Number
			if filters := kinds.of(account, env, e); len(filters) > 0 {
				events = append(events, handout{e.Number, filters})
			}
			return true, nil
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

// handOut wakes who may want the events, as many as fit into one transaction, and returns how far that got.
func handOut(tx *store.Tx, account int64, env chargehand.Environment, c store.StreamCursor, events []handout, last int64) (store.StreamCursor, []store.Subscription, error) {
	var woken []store.Subscription
	room := pumpWakes
	for i := range events {
		e := &events[i]
		if e.number != c.Number+1 { // what is between is for nobody
			c = store.StreamCursor{Number: e.number - 1}
		}
		page, err := tx.MatchSubscriptions(account, env, e.filters, c.Part, room)
		if err != nil {
			return c, nil, err
		}
		var nos []int64
		for _, s := range page {
			if !s.Woken && s.Since < e.number {
				s.Woken, s.Since = true, e.number-1
				woken, nos = append(woken, s), append(nos, s.No)
			}
		}
		if err := tx.WakeSubscriptions(nos, e.number); err != nil {
			return c, nil, err
		}
		if len(page) == room {
			c.Part = page[room-1].No
			return c, woken, nil
		}
		room -= len(page)
		c = store.StreamCursor{Number: e.number}
	}
	return store.StreamCursor{Number: last}, woken, nil
}
