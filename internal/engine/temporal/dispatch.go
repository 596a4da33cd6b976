package temporal

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
)

// dispatcherConfig configures a dispatcher. Store, Relay and Services are required.
type dispatcherConfig struct {
	Store    *store.Store
	Relay    *relay
	Services *background.Group // in which accounts are served

	AccountSlots int              // executions of an account that run at once; default 1,000
	AtOnce       int              // accounts that are served at once; default 4
	Every        time.Duration    // between sweeps for executions that other nodes left; default 1 s
	Log          *slog.Logger     // default: slog.Default()
	Now          func() time.Time // wall clock; default: time.Now
}

func (c dispatcherConfig) withDefaults() dispatcherConfig {
	c.AccountSlots = cmp.Or(c.AccountSlots, engine.DefaultAccountSlots)
	c.AtOnce = cmp.Or(c.AtOnce, 4)
	c.Every = cmp.Or(c.Every, time.Second)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// markPage bounds the executions that get a slot in one transaction.
const markPage = 200

// dispatcher hands out the slots of accounts, from rows, together with the dispatchers of
// other nodes. Methods are safe for concurrent use.
type dispatcher struct {
	dispatcherConfig
	passes chan struct{} // a token for each account that is served

	mu        sync.Mutex
	running   map[int64]*accountWork   // accounts that are served, or wait for a pass
	positions map[int64]queuePositions // of the other accounts, for their next pass

	marked atomic.Int64 // executions that got a slot here
}

// queuePositions says which queue of an account was served last. Only the goroutine that serves the account uses it.
type queuePositions struct {
	shares [2]struct { // live, test
		ready, queued store.QueuePosition // of the queue that was served last
	}
	afterLive bool // live was served last
}

// accountWork is the state of an account that is served. It is guarded by dispatcher.mu.
type accountWork struct {
	again bool // notified in the meantime
}

// maxPositions bounds the accounts whose positions are remembered.
const maxPositions = 10_000

func newDispatcher(c dispatcherConfig) *dispatcher {
	d := &dispatcher{
		dispatcherConfig: c.withDefaults(), running: make(map[int64]*accountWork), positions: make(map[int64]queuePositions),
	}
	d.passes = make(chan struct{}, d.AtOnce)
	return d
}

// notify says that a slot of an account may be free, or that an execution wants one. It
// never blocks; many at once are one. When the services have been stopped, it does nothing.
func (d *dispatcher) notify(account int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.running[account]; l != nil {
		l.again = true
		return
	}
	t := d.positions[account]
	l := &accountWork{}
	d.running[account] = l
	d.Services.Start("dispatcher", func(ctx context.Context) { d.serveAccount(ctx, account, l, t) })
}

// Counting the held slots reads one index entry for each, with the account locked. Where many are held, a pass is
// followed by a rest, so that the slots that come free meanwhile share the next count. So at most some 500,000 entries
// are read per second, however fast slots come free.
const (
	countsFreely = 2_000                // as many take less than a millisecond
	restPerSlot  = 2 * time.Microsecond // beyond
)

// restAfter is how long an account rests after a pass that counted held slots and marked executions.
func restAfter(held, marked int) time.Duration {
	if held <= countsFreely || marked >= markPage {
		return 0
	}
	return time.Duration(held) * restPerSlot
}

// serveAccount makes passes over an account until nothing is left to do, or ctx ends.
func (d *dispatcher) serveAccount(ctx context.Context, account int64, l *accountWork, t queuePositions) {
	for {
		d.mu.Lock()
		l.again = false
		d.mu.Unlock()
		p, err := d.pass(ctx, account, &t)
		if err != nil && !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
			d.Log.Error("give free slots to waiting executions", "account", account, "error", err)
		}
		if rest := restAfter(p.held, len(p.list)); err == nil && rest > 0 {
			_ = pause.For(ctx, rest) // the error says that the services have been stopped
		}
		d.mu.Lock()
		if ctx.Err() != nil || err != nil || !l.again && len(p.list) < markPage {
			delete(d.running, account)
			if len(d.positions) >= maxPositions {
				clear(d.positions)
			}
			d.positions[account] = t
			d.mu.Unlock()
			return // after a failure the sweep comes back to it
		}
		d.mu.Unlock()
	}
}

// pass gives the free slots of an account to waiting executions, at most a page, and hands their messages to the
// relay.
func (d *dispatcher) pass(ctx context.Context, account int64, t *queuePositions) (p page, err error) {
	select {
	case d.passes <- struct{}{}:
		defer func() { <-d.passes }()
	case <-ctx.Done():
	}
	waits := false
	err = d.Store.View(ctx, func(r *store.Reader) (err error) {
		waits, err = r.Waiting(account)
		return err
	})
	if err != nil || !waits {
		return page{}, err
	}
	err = d.Store.Update(ctx, func(tx *store.Tx) error {
		p = page{tx: tx, account: account, positions: *t, now: d.Now(), dueMs: d.Relay.leaseMs()}
		return p.fill(d.AccountSlots)
	})
	if err != nil {
		return page{}, err
	}
	*t = p.positions
	d.marked.Add(int64(len(p.list)))
	d.Relay.hand(p.list...)
	return p, nil
}

// run sweeps until ctx ends.
func (d *dispatcher) run(ctx context.Context) {
	for {
		if err := d.sweep(ctx); err != nil && !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
			d.Log.Error("look for executions that wait", "error", err)
		}
		if pause.For(ctx, jitter(d.Every)) != nil {
			return
		}
	}
}

// sweep notifies the accounts that have executions which could continue. It locks nothing.
func (d *dispatcher) sweep(ctx context.Context) error {
	var accounts []int64
	err := d.Store.View(ctx, func(r *store.Reader) (err error) {
		accounts, err = r.WaitingAccounts()
		return err
	})
	if err != nil {
		return err
	}
	for _, account := range accounts {
		var useful bool
		err := d.Store.View(ctx, func(r *store.Reader) (err error) {
			useful, err = canMark(r, account, d.AccountSlots)
			return err
		})
		if err != nil {
			return err
		}
		if useful {
			d.notify(account)
		}
	}
	return nil
}

// canMark reports whether a pass would find something to do.
func canMark(r *store.Reader, account int64, slots int) (bool, error) {
	active, err := r.CountActive(account, slots)
	if err != nil || active >= slots {
		return false, err
	}
	for _, env := range []chargehand.Environment{chargehand.Live, chargehand.Test} {
		if env == chargehand.Test {
			held, err := r.CountActiveOfTest(account, slotsOfTest(slots))
			if err != nil || held >= slotsOfTest(slots) {
				return false, err
			}
		}
		for _, run := range []store.ExecutionState{store.StateReady, store.StateQueued} {
			open, err := openSources(r, account, run, env, store.QueuePosition{}, 1)
			if err != nil || len(open) > 0 {
				return len(open) > 0, err
			}
		}
	}
	return false, nil
}

// slotsOfTest is how many of an account's slots its environment test may hold.
func slotsOfTest(slots int) int { return fair.Limits{Permits: slots}.OfTest() }
