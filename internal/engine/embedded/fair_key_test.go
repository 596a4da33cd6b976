package embedded

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

// The keys of these tests. A person is a number below 0.
const (
	greedy int64 = 7
	modest int64 = -8
)

// newKeyFixture is a fixture with so many slots for each key. A call to block/held waits until held is closed.
func newKeyFixture(t *testing.T, slots int) (fx *fixture, held chan struct{}) {
	fx = newFixture(t)
	fx.limits.SlotsPerKey = slots
	fx.outside.started = make(chan callSeen, 1000)
	return fx, fx.outside.block("held")
}

const (
	heldCall  = "- a: { call: http, with: { method: get, endpoint: http://x/block/held } }"
	heldShell = "- a: { run: { shell: { command: sh://x/block/held } } }"
	heldJS    = "- a: { run: { script: { language: js, code: '1', stdin: http://x/block/held } } }"
)

// runBy starts an execution for a key.
func (fx *fixture) runBy(key, revision int64) store.Execution {
	fx.t.Helper()
	fx.by = func() int64 { return key }
	defer func() { fx.by = nil }()
	return fx.run(revision, `{}`)
}

func (fx *fixture) batchBy(key, revision int64, items int) store.Batch {
	fx.t.Helper()
	fx.by = func() int64 { return key }
	defer func() { fx.by = nil }()
	return fx.batch(revision, items, numbered(items))
}

// activeOf counts what runs of a key.
func (fx *fixture) activeOf(key int64) (n int) {
	fx.t.Helper()
	fx.view(func(r *store.Reader) error {
		active, err := allActive(r)
		n = 0
		for _, row := range active {
			if row.Actor() == key {
				n++
			}
		}
		return err
	})
	return n
}

// awaitPhase waits until executions are in a phase.
func (fx *fixture) awaitPhase(phase chargehand.Phase, rows ...store.Execution) {
	fx.t.Helper()
	for _, row := range rows {
		fx.awaitCommit(row, phase.String(), func(row store.Execution) bool { return row.Phase == phase })
	}
}

// awaitCommit reads an execution again at each of its commits, also at one that leaves its status as it is.
func (fx *fixture) awaitCommit(row store.Execution, what string, is func(store.Execution) bool) {
	fx.t.Helper()
	moved := make(chan struct{}, 1)
	stop, _ := fx.engine.Follow(row.ID, func() {
		select {
		case moved <- struct{}{}:
		default:
		}
	})
	defer stop()
	deadline := time.After(endTime)
	for row = fx.read(row.No); !is(row); row = fx.read(row.No) {
		select {
		case <-moved:
		case <-deadline:
			fx.t.Fatalf("not %s: %+v\n%s", what, row, fx.log)
		}
	}
}

// finished fails the test unless executions finish while the calls of others hang.
func (fx *fixture) finished(rows ...store.Execution) {
	fx.t.Helper()
	for _, row := range rows {
		if row = fx.final(row); row.Status != chargehand.Finished {
			fx.t.Errorf("execution %d ended as %v: %s", row.No, row.Status, fx.result(row.No))
		}
	}
}

// TestKeyAtItsBound: what a key has queued keeps nothing waiting that others start, in the same workflow too, and the
// key runs no more in all workflows together. After a restart it is the same.
func TestKeyAtItsBound(t *testing.T) {
	fx, held := newKeyFixture(t, 3)
	fx.start()
	same := fx.define("- a: { call: http, with: { method: get, endpoint: '${ .endpoint }' } }")
	other := fx.define(heldCall)
	start := func(key int64, endpoint string) store.Execution {
		fx.by = func() int64 { return key }
		defer func() { fx.by = nil }()
		return fx.run(same, `{"endpoint": "http://x/`+endpoint+`"}`)
	}
	var rows []store.Execution
	for range 2 {
		rows = append(rows, start(greedy, "block/held"))
	}
	for range 20 {
		rows = append(rows, fx.runBy(greedy, other), start(greedy, "block/held"))
	}
	for range 3 {
		fx.blocked()
	}
	batch := fx.batchBy(greedy, other, 10)
	check := func() {
		t.Helper()
		if row := start(modest, "echo/a"); row.State == store.StateQueued {
			t.Error("another key is queued behind one at its bound")
		} else {
			fx.finished(row)
		}
		fx.finished(start(0, "echo/a"), start(modest, "echo/a"))
		if n := fx.activeOf(greedy); n != 3 {
			t.Errorf("%d executions of the key run", n)
		}
		fx.checkInvariants()
	}
	check()
	fx.kill()
	fx.start()
	for range 3 {
		fx.blocked()
	}
	check()
	close(held)
	fx.finished(rows...)
	if b := fx.finalBatch(batch); b.Finished != 10 {
		t.Errorf("the batch ended as %+v", b)
	}
	fx.idle(0)
	fx.stop()
}

// TestQueuedKeysAlternate: another key's execution, which is queued behind many of one key, is not last.
func TestQueuedKeysAlternate(t *testing.T) {
	fx, held := newKeyFixture(t, 2)
	fx.limits.AccountSlots = 2
	fx.start()
	defer fx.stop()
	rev := fx.define(heldCall + "\n- b: { call: http, with: { method: get, endpoint: http://x/slow/5 } }")
	for range 60 {
		fx.runBy(greedy, rev)
	}
	late := fx.runBy(modest, rev)
	if late.State != store.StateQueued {
		t.Fatalf("it got a slot though there are none: %+v", late)
	}
	close(held)
	fx.finished(late)
	var queued []store.Execution
	fx.view(func(r *store.Reader) (err error) {
		queued, err = r.QueuedSingles(fx.account.No, chargehand.Live, rev, 100)
		return err
	})
	if len(queued) < 30 {
		t.Errorf("only %d of 60 executions of the other key are behind it", len(queued))
	}
	fx.allEnd(endTime)
}

// TestItemsOfKeyAtItsBound: the items of a batch wait for their key, and not those of another one's.
func TestItemsOfKeyAtItsBound(t *testing.T) {
	fx, held := newKeyFixture(t, 2)
	fx.start()
	defer fx.stop()
	rev, quick := fx.define(heldCall), fx.define(quickCall)
	first, second := fx.batchBy(greedy, rev, 5), fx.batchBy(greedy, rev, 5)
	fx.blocked()
	fx.blocked()
	if b := fx.finalBatch(fx.batchBy(modest, quick, 20)); b.Finished != 20 {
		t.Errorf("the batch of another key ended as %+v", b)
	}
	if n := fx.activeOf(greedy); n != 2 {
		t.Errorf("%d items of the key run", n)
	}
	if err := fx.engine.CancelBatch(context.Background(), second.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	close(held)
	if b := fx.finalBatch(first); b.Finished != 5 {
		t.Errorf("the first batch ended as %+v", b)
	}
	fx.finalBatch(second)
	fx.allEnd(endTime)
}

// TestChildrenCountForTheKeyOfTheirRoot: whatever starts a workflow, the executions behind it count for one key.
func TestChildrenCountForTheKeyOfTheirRoot(t *testing.T) {
	fx, held := newKeyFixture(t, 2)
	fx.start()
	leaf := fx.deploy("leaf", heldCall)
	fx.deploy("middle", "- a: "+workflow("leaf", ""))
	rev := fx.define("- a: { fork: { branches: [ { one: " + workflow("middle", "") + " }, { two: " + workflow("middle", "") + " }, { three: " + workflow("leaf", "") + " } ] } }")
	roots := []store.Execution{fx.runBy(greedy, rev), fx.runBy(greedy, rev)}
	item := fx.batchBy(greedy, rev, 1)
	fx.blocked()
	fx.blocked()
	check := func() {
		t.Helper()
		row := fx.runBy(modest, leaf)
		fx.blocked()
		if n := fx.activeOf(greedy); n != 2 {
			t.Errorf("%d executions of the key run", n)
		}
		fx.checkInvariants()
		if err := fx.engine.Cancel(context.Background(), row.ID, "enough"); err != nil {
			t.Fatal(err)
		}
		fx.final(row)
	}
	check()
	fx.kill()
	fx.start()
	fx.blocked()
	fx.blocked()
	check()
	close(held)
	fx.finished(roots...)
	fx.finalBatch(item)
	fx.allEnd(endTime)
	fx.stop()
}

// TestWokenExecutionsWaitForTheirKey: an execution that wakes waits while its key holds all it may, also after a
// restart, and others do not.
func TestWokenExecutionsWaitForTheirKey(t *testing.T) {
	fx, held := newKeyFixture(t, 1)
	fx.start()
	rev := fx.define("- a: { listen: { to: { one: { with: { type: go } } } } }\n" + quickCall)
	woken := []store.Execution{fx.runBy(greedy, rev)}
	fx.awaitPhase(chargehand.Waiting, woken...)
	woken = append(woken, fx.runBy(greedy, rev))
	fx.awaitPhase(chargehand.Waiting, woken...)
	other := fx.runBy(modest, rev)
	fx.awaitPhase(chargehand.Waiting, other)
	hangs := fx.runBy(greedy, fx.define(heldCall))
	fx.blocked()
	event := map[string]any{"specversion": "1.0", "id": "1", "source": "https://example.com", "type": "go"}
	from := engine.Publisher{Account: fx.account.No, Environment: chargehand.Live}
	if err := fx.engine.Publish(context.Background(), from, []map[string]any{event}); err != nil {
		t.Fatal(err)
	}
	fx.finished(other)
	ready := func() {
		t.Helper()
		for _, row := range woken {
			fx.awaitCommit(row, "ready", func(row store.Execution) bool { return row.State == store.StateReady })
		}
	}
	ready()
	fx.kill()
	fx.start()
	fx.blocked()
	ready()
	close(held)
	fx.finished(append(woken, hangs)...)
	fx.stop()
}

// TestDelayedExecutionsWaitForTheirKey: an execution whose time has come joins the queue of its key.
func TestDelayedExecutionsWaitForTheirKey(t *testing.T) {
	fx, held := newKeyFixture(t, 1)
	fx.start()
	defer fx.stop()
	rev := fx.define(heldCall)
	hangs := fx.runBy(greedy, rev)
	fx.blocked()
	later := func(key int64) store.Execution {
		row := fx.row(rev, `{}`)
		row.StartedBy, row.StartMs = key, time.Now().UnixMilli()+50
		p, err := fx.Plan(context.Background(), rev)
		if err != nil {
			t.Fatal(err)
		}
		if row, err = fx.engine.Start(context.Background(), engine.Start{Row: row, Plan: p, Input: map[string]any{}}); err != nil {
			t.Fatal(err)
		}
		return row
	}
	mine, other := later(greedy), later(modest)
	if c := fx.blocked(); c.Execution != other.ID {
		t.Error("the key runs two")
	}
	close(held)
	fx.finished(hangs, mine, other)
}

// TestActivitiesPerKey: of calls, processes and scripts each, a key holds no more permits than it may, over all
// workflows.
func TestActivitiesPerKey(t *testing.T) {
	fx, held := newKeyFixture(t, 0)
	fx.limits.CallsPerKey, fx.limits.ProcessesPerKey, fx.limits.ScriptsPerKey = 2, 2, 2
	fx.start()
	defer fx.stop()
	var rows []store.Execution
	for _, hanging := range []string{heldCall, heldShell, heldJS} {
		for range 2 {
			rev := fx.define(hanging)
			for range 5 {
				rows = append(rows, fx.runBy(greedy, rev))
			}
		}
		for range 2 {
			fx.blocked()
		}
	}
	for _, quick := range []string{quickCall, quickShell, quickScript} {
		fx.finished(fx.runBy(modest, fx.define(quick)))
	}
	for name, p := range map[string]*pool{"calls": fx.engine.calls, "processes": fx.engine.processes, "scripts": fx.engine.scripts} {
		if running, queued := p.counts(); running != 2 || queued != 8 {
			t.Errorf("%d %s run and %d wait", running, name, queued)
		}
	}
	close(held)
	fx.finished(rows...)
	if at := slices.IndexFunc(rows, func(row store.Execution) bool { return row.State == store.StateQueued }); at >= 0 {
		t.Errorf("executions of a key waited for slots, although these have no bound: %+v", rows[at])
	}
}

// TestRefusedCancellationWakesNoOthers: the execution whose cancellation is undone is loaded again, as after a commit
// in doubt. No queue is searched that it has nothing in.
func TestRefusedCancellationWakesNoOthers(t *testing.T) {
	fx, _ := newKeyFixture(t, 2)
	fx.start()
	defer fx.stop()
	rev := fx.define(heldCall)
	lanes := make([]*queue, 1_000)
	for i := range lanes {
		lanes[i] = fx.engine.slots.singles(fx.account.No, fair.Owner{Environment: chargehand.Live, Workflow: rev, Key: int64(1_000 + i)})
	}
	row := fx.runBy(greedy, rev)
	fx.blocked()
	err := fx.engine.Cancel(context.Background(), row.ID, "", func(*store.Tx) error { return errRefused })
	if !errors.Is(err, errRefused) {
		t.Fatal(err)
	}
	if err := fx.engine.Cancel(context.Background(), row.ID, ""); err != nil {
		t.Fatal(err)
	}
	fx.final(row)
	fx.idle(0)
	fx.engine.slots.mu.Lock()
	defer fx.engine.slots.mu.Unlock()
	for _, lane := range lanes {
		if lane.arrivals > 0 {
			t.Fatalf("the lane of key %d was searched", lane.owner.Key)
		}
	}
}
