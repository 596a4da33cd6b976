package temporal

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

// listeners makes executions of a workflow that were woken for an event, with messages that say so.
func (w *rowsFixture) listeners(env chargehand.Environment, workflow int64, n int, dueMs int64) []store.OutboxMessage {
	w.t.Helper()
	messages := make([]store.OutboxMessage, n)
	w.update(func(tx *store.Tx) error {
		event := store.Event{Account: w.account.No, Environment: env, Dedupe: w.id(), Type: "t", Data: store.Payload{Inline: []byte("{}"), Size: 2}}
		if _, err := tx.InsertEvents([]store.Event{event}, 1); err != nil {
			return err
		}
		nos := make([]int64, n)
		for i := range nos {
			row := w.row()
			row.Environment, row.Workflow, row.State = env, workflow, store.StateParked
			if err := tx.InsertExecution(&row); err != nil {
				return err
			}
			nos[i] = row.No
			s := store.Subscription{Account: w.account.No, Environment: env, Execution: row.No, Command: 1}
			if err := tx.InsertSubscription(&s, nil); err != nil {
				return err
			}
		}
		inserted, err := tx.InsertOutboxMessages(store.OutboxEvents, nos, dueMs)
		for i, no := range nos {
			messages[i] = inserted[no]
		}
		return err
	})
	return messages
}

// signals is a Temporal that notes signals.
type signals struct {
	mu    sync.Mutex
	count map[chargehand.ExecutionID]int
	kinds map[string]int
	on    func(chargehand.ExecutionID, message) error
}

func (s *signals) remote() remoteFuncs {
	s.count, s.kinds = make(map[chargehand.ExecutionID]int), make(map[string]int)
	return remoteFuncs{onSignal: func(id chargehand.ExecutionID, m message) error {
		s.mu.Lock()
		s.count[id]++
		s.kinds[m.Kind]++
		s.mu.Unlock()
		if s.on != nil {
			return s.on(id, m)
		}
		return nil
	}}
}

func (s *signals) of(messages ...store.OutboxMessage) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		n += s.count[m.ID]
	}
	return n
}

// TestReadersAlternate: of many woken executions of one workflow, a limited number is notified at once. Executions of
// other workflows are notified meanwhile, and cancellations come before all.
func TestReadersAlternate(t *testing.T) {
	onDialects(t, func(w *rowsFixture) {
		var got signals
		r := w.relayTo(got.remote())
		lease := time.Now().Add(w.lease).UnixMilli()
		many := w.listeners(chargehand.Live, 1, 200, lease)
		r.handMessages(many)
		permits := laneLimits(r.lanes[eventLane].permits).PerWorkflow
		eventually(w.t, "the first are notified", func() bool { return got.of(many...) == permits })

		cancel := store.OutboxMessage{Execution: many[199].Execution, Kind: store.OutboxCancel, DueMs: lease}
		w.update(func(tx *store.Tx) error { return tx.InsertOutboxMessage(&cancel) })
		cancel.ID, cancel.Environment, cancel.Workflow = many[199].ID, chargehand.Live, 1
		other, test := w.listeners(chargehand.Live, 2, 1, lease), w.listeners(chargehand.Test, 1, 1, lease)
		begun := time.Now()
		r.handMessages([]store.OutboxMessage{cancel, other[0], test[0]})
		eventually(w.t, "others are notified", func() bool { return got.of(other[0], test[0], many[199]) == 3 })
		w.t.Logf("others are notified within %v", time.Since(begun))
		if n := got.of(many[:199]...); n != permits {
			w.t.Errorf("%d listeners of one workflow were notified before one has read, want %d", n, permits)
		}

		read := func(m store.OutboxMessage) {
			w.update(func(tx *store.Tx) error {
				list, err := tx.Subscriptions(m.Execution)
				if err == nil {
					_, err = tx.SleepSubscription(&list[0], 1)
				}
				return err
			})
		}
		for _, m := range many[:permits] {
			read(m)
		}
		eventually(w.t, "those that have read leave their places to others", func() bool { return got.of(many[:199]...) >= 2*permits })
		// they read before they are notified, as others that have got another message, or have ended
		unneeded := many[150:160]
		for _, m := range unneeded {
			read(m)
		}
		done := make(map[int64]bool)
		eventually(w.t, "the others are notified", func() bool {
			for _, m := range many[permits:] {
				if !done[m.No] && got.of(m) > 0 {
					done[m.No] = true
					read(m)
				}
			}
			return got.of(many[:199]...) >= 199-len(unneeded) && w.number(`SELECT COUNT(*) FROM outbox`) == 0
		})
		if n := got.of(unneeded...); n != 0 {
			w.t.Errorf("%d were notified of what they had read", n)
		}
	})
}

// TestCancellationsAlternate: of many cancelled executions of one workflow, a limited number is notified at once. The
// cancellation of an execution of another workflow need not wait.
func TestCancellationsAlternate(t *testing.T) {
	w := newSQLiteFixture(t)
	var got signals
	r := w.relayTo(got.remote())
	cancelled := func(workflow int64, n int) []store.OutboxMessage {
		messages := make([]store.OutboxMessage, n)
		w.update(func(tx *store.Tx) error {
			for i := range messages {
				row := w.row()
				row.Workflow, row.Status, row.Phase, row.State = workflow, chargehand.Processing, chargehand.Running, store.StateActive
				if err := tx.InsertExecution(&row); err != nil {
					return err
				}
				_, err := tx.FinishExecution(row.No, chargehand.Errored, chargehand.Cancelled, 1, 2, &store.Outcome{})
				if err != nil {
					return err
				}
				messages[i] = store.OutboxMessage{Execution: row.No, ID: row.ID, Environment: row.Environment, Workflow: workflow,
					Kind: store.OutboxCancel, DueMs: r.leaseMs()}
				if err := tx.InsertOutboxMessage(&messages[i]); err != nil {
					return err
				}
			}
			return nil
		})
		return messages
	}
	many := cancelled(1, 100)
	r.handMessages(many)
	permits := laneLimits(r.lanes[cancelLane].permits).PerWorkflow
	eventually(t, "the first are notified", func() bool { return got.of(many...) == permits })
	other := cancelled(2, 1)
	r.handMessages(other)
	eventually(t, "another workflow is notified", func() bool { return got.of(other...) == 1 })
	if n := got.of(many...); n != permits {
		t.Errorf("%d were notified before one has ended, want %d", n, permits)
	}
	w.update(func(tx *store.Tx) error {
		for _, m := range many {
			if err := tx.CompleteTimeline(m.Execution, []byte{}); err != nil {
				return err
			}
		}
		return nil
	})
	eventually(t, "all are notified", func() bool { return got.of(many...) == len(many) })
	w.outboxEmpty()
}

// TestReadersThatDoNotRead keep their places for a while.
func TestReadersThatDoNotRead(t *testing.T) {
	w := newSQLiteFixture(t)
	var got signals
	r := newRelay(relayConfig{Store: w.store, Remote: got.remote(), Blobs: noBlobs{}, Queue: "queue", Runtime: "1",
		Unacked: 4, AckTimeout: 20 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = r.stop(context.Background(), context.Background()) })
	many := w.listeners(chargehand.Live, 1, 20, time.Now().Add(time.Minute).UnixMilli())
	r.handMessages(many)
	eventually(t, "all are notified", func() bool { return got.of(many...) == len(many) })
}

// TestLeasesHaveLanes: the messages about events that a dead node has left do not delay its cancellations.
func TestLeasesHaveLanes(t *testing.T) {
	onDialects(t, func(w *rowsFixture) {
		w.listeners(chargehand.Live, 1, 3*leasePage, 1)
		row := w.accept(1)[0]
		w.update(func(tx *store.Tx) error {
			return tx.InsertOutboxMessage(&store.OutboxMessage{Execution: row.No, Kind: store.OutboxCancel, DueMs: 2})
		})
		cancelled := make(chan struct{})
		got := signals{on: func(_ chargehand.ExecutionID, m message) error {
			if m.Kind == kindCancel {
				close(cancelled)
			}
			<-cancelled // what is notified of events hangs until then, whatever the bound of a request
			return nil
		}}
		// No lease ends, for the clock stands still: whenever the cancellation comes, nothing of events made way for it.
		begun := time.Now()
		r := newRelay(relayConfig{Store: w.store, Remote: got.remote(), Blobs: noBlobs{}, Queue: "queue", Runtime: "1",
			Lease: w.lease, Every: w.every, Now: func() time.Time { return begun }, Log: slog.New(slog.DiscardHandler)})
		w.t.Cleanup(func() { _ = r.stop(context.Background(), context.Background()) })
		select {
		case <-cancelled:
		case <-time.After(4 * time.Minute):
			close(cancelled)
			w.t.Error("the cancellation waits behind messages about events")
		}
	})
}

// TestHeldMessagesKeepTheirLease: what waits in memory is not taken over by another node.
func TestHeldMessagesKeepTheirLease(t *testing.T) {
	w := newSQLiteFixture(t)
	w.lease = 3 * time.Second // more than a busy machine keeps the one that prolongs it from doing so
	var first, second signals
	r := w.relayTo(first.remote())
	many := w.listeners(chargehand.Live, 1, 200, time.Now().Add(w.lease).UnixMilli())
	r.handMessages(many)
	w.relayTo(second.remote())
	least := func() int64 { return w.number(`SELECT COALESCE(MIN(due_ms), 0) FROM outbox WHERE kind = 4`) }
	begun := time.Now().UnixMilli()
	eventually(t, "leases were prolonged", func() bool { return least() > begun+5*w.lease.Milliseconds()/2 })
	if n := second.of(many...); n != 0 {
		t.Errorf("another node has taken over %d messages", n)
	}
	if n := first.of(many...); n == 0 || n > len(many)/2 { // the lane adapts its permits, which are far fewer
		t.Errorf("%d of %d were notified", n, len(many))
	}
}

// starts makes executions of a workflow that have got a slot, with messages that start them.
func (w *rowsFixture) starts(env chargehand.Environment, workflow int64, n int, dueMs int64) []delivery {
	w.t.Helper()
	list := make([]delivery, n)
	w.update(func(tx *store.Tx) error {
		nos := make([]int64, n)
		for i := range nos {
			row := w.row()
			row.Environment, row.Workflow, row.State = env, workflow, store.StateActive
			if err := tx.InsertExecution(&row); err != nil {
				return err
			}
			nos[i] = row.No
		}
		inserted, err := tx.InsertOutboxMessages(store.OutboxStart, nos, dueMs)
		for i, no := range nos {
			list[i] = delivery{OutboxMessage: inserted[no]}
		}
		return err
	})
	return list
}

// TestStartsAlternate: of a burst of starts of one workflow, so many are with Temporal as have permits, until workers
// have taken their tasks. A start of another workflow does not wait behind the others.
func TestStartsAlternate(t *testing.T) {
	onDialects(t, func(w *rowsFixture) {
		var mu sync.Mutex
		given, taken := make(map[chargehand.ExecutionID]bool), make(map[chargehand.ExecutionID]bool)
		r := w.relayTo(remoteFuncs{
			onStart: func(s started) error {
				mu.Lock()
				defer mu.Unlock()
				given[s.argument.Execution] = true
				return nil
			},
			onQueued: func(id chargehand.ExecutionID) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				return !taken[id], nil
			},
		})
		of := func(list ...delivery) (n int) {
			mu.Lock()
			defer mu.Unlock()
			for _, d := range list {
				if given[d.ID] {
					n++
				}
			}
			return n
		}
		lease := time.Now().Add(w.lease).UnixMilli()
		many := w.starts(chargehand.Live, 1, 100, lease)
		r.hand(many...)
		permits := laneLimits(r.lanes[workLane].permits).PerWorkflow
		eventually(w.t, "the first are with Temporal", func() bool { return of(many...) == permits })
		other, test := w.starts(chargehand.Live, 2, 1, lease), w.starts(chargehand.Test, 1, 1, lease)
		r.hand(other[0], test[0])
		eventually(w.t, "others are with Temporal", func() bool { return of(other[0], test[0]) == 2 })
		if n := of(many...); n != permits {
			w.t.Errorf("%d starts of one workflow are with Temporal, before a worker has taken one; want %d", n, permits)
		}
		eventually(w.t, "all are started", func() bool {
			mu.Lock()
			for id := range given { // workers take what Temporal has
				taken[id] = true
			}
			mu.Unlock()
			return of(many...) == len(many) && w.number(`SELECT COUNT(*) FROM outbox`) == 0
		})
	})
}

// TestStartsWithoutWorkers: where no worker takes tasks, or no one can tell, starts reach Temporal nevertheless.
func TestStartsWithoutWorkers(t *testing.T) {
	for name, queued := range map[string]func(chargehand.ExecutionID) (bool, error){
		"no worker":    func(chargehand.ExecutionID) (bool, error) { return true, nil },
		"not answered": func(chargehand.ExecutionID) (bool, error) { return false, context.DeadlineExceeded },
	} {
		t.Run(name, func(t *testing.T) {
			w := newSQLiteFixture(t)
			r := newRelay(relayConfig{
				Store: w.store, Remote: remoteFuncs{onStart: func(started) error { return nil }, onQueued: queued}, Blobs: noBlobs{}, Queue: "queue",
				Runtime: "1", AtOnce: 4, AckTimeout: 20 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
			})
			t.Cleanup(func() { _ = r.stop(context.Background(), context.Background()) })
			r.hand(w.starts(chargehand.Live, 1, 20, time.Now().Add(time.Minute).UnixMilli())...)
			w.outboxEmpty()
		})
	}
}

// TestSlowLanesShrink: while steps take long, a lane has fewer permits, and more again when they are quick.
func TestSlowLanesShrink(t *testing.T) {
	l := newLane(nil, 16)
	if l.permits != 8 {
		t.Errorf("it begins with %d permits, want half of 16", l.permits)
	}
	for range 10 {
		l.adapt(500*time.Millisecond, time.Unix(900, 0))
	}
	now := time.Unix(1000, 0)
	owner := fair.Owner{Environment: chargehand.Live, Workflow: 1}
	for range 20 {
		l.line.Push(owner, &delivery{})
	}
	begun := 0
	fill := func() {
		for {
			if _, _, ok := l.line.Next(); !ok {
				return
			}
			begun++
		}
	}
	if fill(); begun != 12 {
		t.Errorf("%d of one workflow begin, want 12 of 16 permits", begun)
	}
	l.unacked.interval = time.Second
	if l.adapt(500*time.Millisecond, now); l.permits != 12 {
		t.Errorf("%d permits after a slow step, want 12", l.permits)
	}
	for range 30 {
		l.adapt(500*time.Millisecond, now)
		now = now.Add(100 * time.Millisecond)
	}
	if l.permits != leastPermits {
		t.Errorf("%d permits after three slow seconds, want %d", l.permits, leastPermits)
	}
	for range 12 {
		l.line.Release(owner)
	}
	begun = 0
	if fill(); begun != 6 {
		t.Errorf("%d of one workflow begin, want 6 of 8 permits", begun)
	}
	l.unacked.interval, l.unacked.usual = time.Second, 400*time.Millisecond
	if l.adapt(500*time.Millisecond, now); l.permits != leastPermits {
		t.Errorf("%d permits, although steps are neither slow nor quick for a cluster that is far away", l.permits)
	}
	l.unacked.interval = 100 * time.Millisecond
	for range 30 {
		l.adapt(500*time.Millisecond, now)
	}
	if fill(); l.permits != 16 || begun != 8 {
		t.Errorf("%d permits, %d begin; want 16 and all of the other 8", l.permits, begun)
	}
}
