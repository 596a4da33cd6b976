package temporal

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// remoteFuncs is a Temporal of functions; those that are nil must not be called.
type remoteFuncs struct {
	onStart  func(started) error
	onSignal func(chargehand.ExecutionID, message) error
	onClosed func(sinceMs int64, each func(closedWorkflow) error) (int64, error)
	onOpen   func(chargehand.ExecutionID) (bool, error)
	onQueued func(chargehand.ExecutionID) (bool, error) // nil: workers take every task at once
}

func (r remoteFuncs) start(_ context.Context, s started) error { return r.onStart(s) }
func (r remoteFuncs) signal(_ context.Context, id chargehand.ExecutionID, m message) error {
	return r.onSignal(id, m)
}
func (r remoteFuncs) closed(_ context.Context, sinceMs int64, each func(closedWorkflow) error) (int64, error) {
	return r.onClosed(sinceMs, each)
}
func (r remoteFuncs) queued(_ context.Context, id chargehand.ExecutionID) (bool, error) {
	if r.onQueued == nil {
		return false, nil
	}
	return r.onQueued(id)
}
func (r remoteFuncs) ended(_ context.Context, id chargehand.ExecutionID) (string, error) {
	open, err := r.onOpen(id)
	if open || err != nil {
		return "", err
	}
	return "terminated", nil
}

// relayTo makes a relay without dispatcher.
func (w *rowsFixture) relayTo(to remote) *relay {
	r := newRelay(relayConfig{Store: w.store, Remote: to, Blobs: noBlobs{}, Queue: "queue", Runtime: "1.2.3",
		Lease: w.lease, Every: w.every, SlowStep: time.Hour, Log: slog.New(slog.DiscardHandler)})
	w.t.Cleanup(func() { _ = r.stop(context.Background(), context.Background()) })
	return r
}

func (w *rowsFixture) outboxEmpty() {
	w.t.Helper()
	eventually(w.t, "the outbox is empty", func() bool { return w.number(`SELECT COUNT(*) FROM outbox`) == 0 })
}

func TestStartTellsEverything(t *testing.T) {
	w := newSQLiteFixture(t)
	b, items := w.batch(1, 1)
	single := w.row()
	single.Environment, single.Input = chargehand.Test, store.Payload{Inline: make([]byte, 2000)}
	for i := range single.Input.Inline {
		single.Input.Inline[i] = '1'
	}
	w.update(func(tx *store.Tx) error { return tx.InsertExecution(&single) })
	got := make(chan started, 10)
	r := w.relayTo(remoteFuncs{onStart: func(s started) error { got <- s; return nil }})
	positions := queuePositions{}
	_, list := w.marks(&positions)
	r.hand(list...)
	w.outboxEmpty()
	byID := map[chargehand.ExecutionID]started{}
	for range 2 {
		s := <-got
		byID[s.argument.Execution] = s
	}
	s := byID[items[0].ID]
	var row store.Execution
	w.view(func(r *store.Reader) (err error) { row, err = r.ExecutionByNo(items[0].No); return err })
	want := argument{Execution: row.ID, No: row.No, Account: w.account.ID, Environment: chargehand.Live, Revision: 1, Runtime: "1.2.3",
		Digest: digestOf("do: []", nil), Definition: "do: []", StartedMs: row.StartedMs, Queue: "queue"}
	if string(s.argument.Input) != `{"n":1}` {
		t.Errorf("input %s", s.argument.Input)
	}
	s.argument.Input = nil
	if a := s.argument; a.Execution != want.Execution || a.No != want.No || a.Account != want.Account || a.Environment != want.Environment ||
		a.Revision != want.Revision || a.Runtime != want.Runtime || a.Digest != want.Digest || a.Definition != want.Definition ||
		a.StartedMs != want.StartedMs || a.StartedMs == 0 || a.Queue != want.Queue || a.Continued != nil {
		t.Errorf("argument %+v\nwant %+v", a, want)
	}
	if want := (attributes{Account: w.account.ID.String(), Environment: "live", Workflow: w.workflow.ID.String(), Batch: b.ID.String(), Phase: "running"}); s.attributes != want {
		t.Errorf("attributes %+v\nwant %+v", s.attributes, want)
	}
	if s := byID[single.ID]; string(s.argument.Input) != string(single.Input.Inline) || s.attributes.Batch != "" || s.attributes.Environment != "test" {
		t.Errorf("single with a large input: %d bytes, %+v", len(s.argument.Input), s.attributes)
	}
}

// TestSignalWaitsForItsStart delivers a cancellation before the start of its workflow, which
// is the other node's.
func TestSignalWaitsForItsStart(t *testing.T) {
	w := newSQLiteFixture(t)
	row := w.accept(1)[0]
	start := store.OutboxMessage{Execution: row.No, Kind: store.OutboxStart, DueMs: time.Now().Add(time.Hour).UnixMilli()}
	cancel := store.OutboxMessage{Execution: row.No, Kind: store.OutboxCancel, Reason: "why not", DueMs: 1}
	w.update(func(tx *store.Tx) error {
		return errors.Join(tx.InsertOutboxMessage(&start), tx.InsertOutboxMessage(&cancel))
	})
	asked, known := make(chan bool, 100), make(chan struct{})
	w.relayTo(remoteFuncs{onSignal: func(id chargehand.ExecutionID, m message) error {
		if id != row.ID || m.No != cancel.No || m.Kind != kindCancel || m.Reason != "why not" {
			t.Errorf("signal to %v: %+v", id, m)
		}
		select {
		case <-known:
			asked <- true
			return nil
		default:
			asked <- false
			return errGone
		}
	}})
	for range 3 {
		if <-asked {
			t.Fatal("delivered before the start")
		}
	}
	if n := w.number(`SELECT COUNT(*) FROM outbox`); n != 2 {
		t.Fatalf("%d messages, want both", n)
	}
	close(known)
	w.update(func(tx *store.Tx) error { return tx.DeleteOutboxMessages(start.No) })
	for !<-asked {
		continue
	}
	w.outboxEmpty()
}

// TestSignalToNobody asks twice before it believes that a workflow is gone.
func TestSignalToNobody(t *testing.T) {
	w := newSQLiteFixture(t)
	row := w.accept(1)[0]
	w.update(func(tx *store.Tx) error {
		return errors.Join(tx.InsertOutboxMessage(&store.OutboxMessage{Execution: row.No, Kind: store.OutboxGrant, Report: 3}),
			// of a row that is deleted
			tx.InsertOutboxMessage(&store.OutboxMessage{Execution: 999, Kind: store.OutboxCancel}))
	})
	asked := make(chan message, 10)
	w.relayTo(remoteFuncs{onSignal: func(_ chargehand.ExecutionID, m message) error { asked <- m; return errGone }})
	w.outboxEmpty()
	if len(asked) != 2 {
		t.Errorf("asked %d times, want twice", len(asked))
	}
	if m := <-asked; m.Kind != kindGrant || m.Report != 3 {
		t.Errorf("grant %+v", m)
	}
}

func TestRefusedStartRests(t *testing.T) {
	w := newSQLiteFixture(t)
	w.lease = 100 * time.Millisecond
	row := w.accept(1)[0]
	w.update(func(tx *store.Tx) error {
		return tx.InsertOutboxMessage(&store.OutboxMessage{Execution: row.No, Kind: store.OutboxStart})
	})
	asked := make(chan bool, 100)
	w.relayTo(remoteFuncs{onStart: func(started) error {
		asked <- true
		return serviceerror.NewInvalidArgument("no mapping defined for search attribute ChargehandAccount")
	}})
	<-asked
	eventually(t, "the message rests for a minute", func() bool {
		return w.number(`SELECT COUNT(*) FROM outbox WHERE due_ms > ?1`, time.Now().Add(40*time.Second).UnixMilli()) == 1
	})
	if n := w.number(`SELECT COUNT(*) FROM execution WHERE state = 1`); n != 1 || len(asked) > 0 {
		t.Errorf("the execution is changed, or was tried %d times more", len(asked))
	}
}

// TestBrokenStartEnds has an execution of a definition that is not there.
func TestBrokenStartEnds(t *testing.T) {
	w := newSQLiteFixture(t)
	row := w.row()
	row.Revision = 999
	blob := w.row()
	digest := make([]byte, 32)
	blob.Input = store.Payload{Blob: digest, Size: 1 << 20}
	w.update(func(tx *store.Tx) error {
		return errors.Join(tx.ReserveBlob(digest, 1<<20), tx.InsertExecution(&row), tx.InsertExecution(&blob))
	})
	w.start(0)
	w.notify()
	w.allEnd()
	for _, no := range []int64{row.No, blob.No} {
		w.view(func(r *store.Reader) error {
			o, err := r.Outcome(no)
			if err != nil {
				return err
			}
			f, err := engine.DecodeFault(o.Fault)
			if f.Origin != "system" || f.Code != engine.CodeInternal || !strings.Contains(f.Detail, "cannot be read") {
				t.Errorf("fault %+v", f)
			}
			return err
		})
	}
	if len(w.stage.plays) != 0 {
		t.Error("it was started nevertheless")
	}
}

// TestBrokenStartEndsItsBatch: who watches a batch whose last item cannot be started is notified at once.
func TestBrokenStartEndsItsBatch(t *testing.T) {
	w := newSQLiteFixture(t)
	b, items := w.batch(1, 1)
	notifiedIDs := make(chan [16]byte, 10)
	quiet := slog.New(slog.DiscardHandler)
	c := &canceller{
		Store: w.store, Freed: func(int64) {}, Changed: func(id [16]byte) { notifiedIDs <- id }, Now: time.Now, Log: quiet,
	}
	r := newRelay(relayConfig{
		Store: w.store, Remote: remoteFuncs{}, Blobs: noBlobs{}, Canceller: c, Queue: "queue", Every: time.Hour, Log: quiet,
	})
	t.Cleanup(func() { _ = r.stop(context.Background(), context.Background()) })
	d := delivery{OutboxMessage: store.OutboxMessage{Execution: items[0].No, ID: items[0].ID, Kind: store.OutboxStart}}
	w.update(func(tx *store.Tx) error { return tx.InsertOutboxMessage(&d.OutboxMessage) })
	fault := engine.SystemFault(engine.CodeInternal, "broken")
	if err := c.fail(t.Context(), d.Execution, fault, d.No); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][16]byte{items[0].ID, b.ID} {
		select {
		case got := <-notifiedIDs:
			if got != want {
				t.Errorf("told of %x, want %x", got, want)
			}
		default:
			t.Errorf("no one is notified of %x", want)
		}
	}
	w.allEnd()
}

// TestStoppedRelayGivesBack stops a relay whose messages cannot be delivered: others need
// not wait for the leases.
func TestStoppedRelayGivesBack(t *testing.T) {
	w := newSQLiteFixture(t)
	w.slots = 100
	w.stage.down.Store(true)
	n := w.start(0)
	w.accept(90) // more than are delivered at once
	eventually(t, "all slots are given out", func() bool { return w.number(active) == 90 })
	n.stop()
	if n := w.number(`SELECT COUNT(*) FROM outbox WHERE due_ms <= ?1`, time.Now().UnixMilli()); n < 90-64 {
		t.Errorf("%d messages are free", n)
	}
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backoff{log: slog.New(slog.DiscardHandler)}
		never := make(chan struct{})
		begun := time.Now()
		if !b.wait(never, time.Now) || time.Since(begun) != 0 || b.holds() {
			t.Error("it waits before anything has failed")
		}
		for range 64 { // all at the same time
			b.failed(errors.New("down"), time.Now)
		}
		b.wait(never, time.Now)
		if d := time.Since(begun); d < minPause*4/5 || d > minPause*6/5 {
			t.Errorf("waited %v after the first failure", d)
		}
		for range 20 {
			b.failed(errors.New("down"), time.Now)
			begun = time.Now()
			b.wait(never, time.Now)
		}
		if d := time.Since(begun); d < maxPause*4/5 || d > maxPause*6/5 {
			t.Errorf("waited %v after many failures", d)
		}
		b.failed(errors.New("down"), time.Now)
		stop := make(chan struct{})
		close(stop)
		if b.wait(stop, time.Now) || !b.holds() {
			t.Error("a stop does not end the wait")
		}
		b.over()
		if begun = time.Now(); !b.wait(never, time.Now) || time.Since(begun) != 0 || b.holds() {
			t.Error("it waits when all is well again")
		}
	})
}

// hangingDB is a database that never answers an Update before its context ends.
type hangingDB struct{ store.DB }

func (hangingDB) Update(ctx context.Context, _ func(store.Conn) error) error {
	<-ctx.Done()
	return store.ErrUnavailable
}

// TestStopDoesNotWaitForADatabaseThatHangs: neither to give messages back, nor to delete those that were delivered.
func TestStopDoesNotWaitForADatabaseThatHangs(t *testing.T) {
	w := newSQLiteFixture(t)
	r := newRelay(relayConfig{Store: store.New(hangingDB{w.db}), Remote: remoteFuncs{}, Blobs: noBlobs{}, Queue: "queue", Every: time.Hour, Log: slog.New(slog.DiscardHandler)})
	r.done <- 1
	r.mu.Lock()
	r.back = append(r.back, 2)
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := r.stop(ctx, context.Background()); err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-stopped:
	case <-time.After(4 * time.Minute):
		t.Fatal("the relay waits for a database that does not answer")
	}
}
