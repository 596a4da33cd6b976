package embedded

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// workflow is a task that starts a workflow that deploy has made.
func workflow(name, more string) string {
	return "{ run: { workflow: { namespace: test, name: " + name + ", version: 1.0.0 }" + more + " } }"
}

// childrenOf reads the executions that one has started.
func (w *world) childrenOf(row store.Execution) (rows []store.Execution) {
	w.t.Helper()
	w.view(func(r *store.Reader) error {
		rows = nil
		all, err := r.ListExecutions(store.ExecutionFilter{Account: w.account.No, Environment: chargehand.Live, Limit: 10_000})
		if err != nil {
			return err
		}
		for _, e := range all {
			if link, err := r.ChildByExecution(e.No); err == nil && link.Parent == row.No {
				rows = append(rows, e)
			}
		}
		return nil
	})
	return rows
}

func (w *world) faultOf(no int64) engine.Fault {
	w.t.Helper()
	var o store.Outcome
	w.view(func(r *store.Reader) (err error) {
		o, err = r.Outcome(no)
		return err
	})
	f, err := engine.DecodeFault(o.Fault)
	if err != nil {
		w.t.Fatalf("%v: %s", err, o.Output.Inline)
	}
	return f
}

// TestParentsHoldNoSlot: with a single slot, executions that wait for each other still end.
func TestParentsHoldNoSlot(t *testing.T) {
	w := newWorld(t)
	w.limits.AccountSlots = 1
	w.start()
	defer w.stop()
	w.deploy("c", "- a: { call: http, with: { method: get, endpoint: http://x/echo/one } }")
	w.deploy("b", "- a: "+workflow("c", ""))
	rev := w.define("- a: " + workflow("b", "") + "\n- d: { call: http, with: { method: get, endpoint: http://x/echo/two } }")
	row := w.final(w.run(rev, `{}`))
	if got := w.result(row.No); got != `{"said":"two","to":{"said":"one","to":{}}}` {
		t.Errorf("it ends with %s\n%s", got, w.log)
	}
	w.idle(0)
}

// TestCancelReachesChildren: who is awaited by a cancelled execution is cancelled, at any depth; who
// is independent goes on.
func TestCancelReachesChildren(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	w.deploy("endless", "- a: { listen: { to: { one: { with: { type: never } } } } }")
	w.deploy("middle", "- a: "+workflow("endless", ""))
	w.deploy("free", "- a: { listen: { to: { one: { with: { type: free } } } } }")
	rev := w.define(`
- a: ` + workflow("free", ", await: false") + `
- b:
    fork:
      branches:
        - c: ` + workflow("middle", "") + `
        - d: ` + workflow("endless", ""))
	for _, batch := range []bool{false, true} {
		var row store.Execution
		var b store.Batch
		if batch {
			b = w.batch(rev, 1, []string{`{}`})
			row = w.items(b.No)[0]
		} else {
			row = w.run(rev, `{}`)
		}
		children := awaitTree(w, row, 4)
		var err error
		if batch {
			err = w.engine.CancelBatch(context.Background(), b.ID, "enough")
		} else {
			err = w.engine.Cancel(context.Background(), row.ID, "enough")
		}
		if err != nil {
			t.Fatal(err)
		}
		w.publish(envelope("free", int(row.No), "1"))
		cancelled := 0
		for _, child := range children {
			if child = w.final(child); child.Phase == chargehand.Cancelled {
				cancelled++
			}
		}
		if cancelled != 3 {
			t.Errorf("%d of 4 were cancelled, want all but the independent one\n%s", cancelled, w.log)
		}
	}
	w.idle(0)
}

// TestSlowCancellationHoldsUpNoOther: a child that takes its time to end keeps none of another execution.
func TestSlowCancellationHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	w.deploy("endless", "- a: { listen: { to: { one: { with: { type: never } } } } }")
	rev := w.define("- a: " + workflow("endless", ""))
	var parents, children []store.Execution
	for range 2 {
		row := w.run(rev, `{}`)
		parents, children = append(parents, row), append(children, awaitTree(w, row, 1)...)
	}
	slow, drive := w.engine.runs.put(children[0].No, message{kind: family}) // and nobody drives it
	if !drive {
		t.Fatal("the child is in memory")
	}
	for _, parent := range parents {
		if err := w.engine.Cancel(t.Context(), parent.ID, "enough"); err != nil {
			t.Fatal(err)
		}
	}
	if child := w.final(children[1]); child.Phase != chargehand.Cancelled {
		t.Errorf("the other child ended %s", child.Phase)
	}
	w.engine.goWork(func() { w.engine.drive(slow) })
	if child := w.final(children[0]); child.Phase != chargehand.Cancelled {
		t.Errorf("the slow child ended %s", child.Phase)
	}
	w.idle(0)
}

// awaitTree waits until an execution has n descendants, all of which listen or wait.
func awaitTree(w *world, row store.Execution, n int) []store.Execution {
	w.t.Helper()
	return awaitChange(w, row.ID, patience, "a tree", func() (all []store.Execution, ok bool) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.engine.work.wait(ctx)
		next := []store.Execution{row}
		for len(next) > 0 {
			found := w.childrenOf(next[0])
			next, all = append(next[1:], found...), append(all, found...)
		}
		return all, len(all) == n
	})
}

// TestChildLimits: what is too deep or too many is a clear fault.
func TestChildLimits(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	w.deploy("again", "- a: "+workflow("again", ""))
	row := w.final(w.run(w.define("- a: "+workflow("again", "")), `{}`))
	if f := w.faultOf(row.No); f.Code != engine.CodeChildDepth || !strings.Contains(f.Detail, "at most 32") {
		t.Errorf("too deep: %+v", f)
	}
	w.deploy("slow", "- a: { listen: { to: { one: { with: { type: never } } } } }")
	rev := w.define(fmt.Sprintf(`
- a:
    for: { in: '${ [range(%d)] }' }
    do:
      - b: %s
- c: %s`, engine.MaxOpenChildren, workflow("slow", ", await: false"), workflow("slow", "")))
	row = w.finalIn(w.run(rev, `{}`), 2*patience)
	if f := w.faultOf(row.No); f.Code != engine.CodeChildren || !strings.Contains(f.Detail, "1000") {
		t.Errorf("too many: %+v", f)
	}
	w.idle(0)
	if rows := w.childrenOf(row); len(rows) != engine.MaxOpenChildren {
		t.Errorf("%d were started, want %d", len(rows), engine.MaxOpenChildren)
	}
}

// watchTree notes how many executions of the tree of the first one are open at most, counted from rows in each Update.
func (w *world) watchTree() (most *atomic.Int64) {
	most = new(atomic.Int64)
	w.rows = store.New(&faultyDB{DB: w.db, check: func(c store.Conn) error {
		return c.Query(`SELECT open FROM child WHERE execution = 1 AND root = 1`, func(row store.Row) error {
			most.Store(max(most.Load(), row.Int(0)))
			return nil
		})
	}})
	return most
}

// TestLongTreeIsBounded: executions that start more and more of each other end when too many are open, and start few more
// until the error has reached the root.
func TestLongTreeIsBounded(t *testing.T) {
	w := newWorld(t)
	most := w.watchTree()
	w.start()
	defer w.stop()
	twice := "- f: { fork: { branches: [ { a: " + workflow("twice", "") + " }, { b: " + workflow("twice", "") + " } ] } }"
	w.deploy("twice", twice)
	row := w.finalIn(w.run(w.define(twice), `{}`), 10*patience)
	if f := w.faultOf(row.No); f.Code != engine.CodeChildren || !strings.Contains(f.Detail, "go on") {
		t.Errorf("it ends with %+v", f)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	w.engine.work.wait(ctx)
	w.idle(0)
	if n := most.Load(); n < engine.MaxTree*9/10 || n > engine.MaxTree {
		t.Errorf("at most %d executions were open at once, want %d", n, engine.MaxTree)
	}
	// Behind the bound an execution starts for each that ends, until the error has reached the root. Nothing starts after that.
	const enough = engine.MaxTree * 3 / 2
	w.view(func(r *store.Reader) error {
		all, err := r.ListExecutions(store.ExecutionFilter{Account: w.account.No, Environment: chargehand.Live, Limit: 2 * engine.MaxTree})
		if n := len(all); n < engine.MaxTree || n > enough {
			t.Errorf("%d executions were started, want %d and at most %d", n, engine.MaxTree, enough)
		}
		for _, e := range all {
			if e.State != store.StateEnded {
				t.Errorf("execution %d has not ended", e.No)
				break
			}
		}
		return err
	})
}

// TestWithdrawnChildDoesNotStart: a queued execution that is certain to be cancelled does not start when it gets a slot. The
// execution that awaits it, and is to be cancelled too, does not take that for an error.
func TestWithdrawnChildDoesNotStart(t *testing.T) {
	w := newWorld(t)
	w.limits.AccountSlots = 1
	w.outside.started = make(chan callSeen, 10)
	w.start()
	defer w.stop()
	call := func(path string) string {
		return "{ call: http, with: { method: get, endpoint: 'http://x/" + path + "' } }"
	}
	w.deploy("leaf", "- a: "+call("echo/leaf"))
	w.deploy("middle", `
- a: { listen: { to: { one: { with: { type: go } } } } }
- b:
    try:
      - c: `+workflow("leaf", "")+`
    catch:
      do:
        - d: `+call("echo/caught"))
	root := w.run(w.define("- a: "+workflow("middle", "")), `{}`)
	middle := awaitTree(w, root, 1)[0]
	gate := w.outside.gate("slot")
	other := w.run(w.define("- a: "+call("block/slot")), `{}`) // holds the slot
	w.blocked()
	w.publish(envelope("go", 1, "1"))
	var leaf store.Execution
	for deadline := time.Now().Add(patience); leaf.No == 0; <-time.After(time.Millisecond) {
		if rows := w.childrenOf(middle); len(rows) == 1 {
			leaf = rows[0]
		}
		if time.Now().After(deadline) {
			t.Fatalf("no child is queued\n%s", w.log)
		}
	}
	slow, drive := w.engine.runs.put(middle.No, message{kind: family}) // and nothing drives it
	if !drive {
		t.Fatal("the execution in the middle is in memory")
	}
	if err := w.engine.Cancel(t.Context(), root.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	close(gate)
	w.final(other)
	for _, row := range []store.Execution{root, leaf} {
		if row = w.final(row); row.Phase != chargehand.Cancelled {
			t.Errorf("execution %d ended %s\n%s", row.No, row.Phase, w.log)
		}
	}
	w.engine.goWork(func() { w.engine.drive(slow) })
	if middle = w.final(middle); middle.Phase != chargehand.Cancelled {
		t.Errorf("the execution in the middle ended %s", middle.Phase)
	}
	w.idle(0)
	if runs := w.outside.allRuns(); len(runs) != 1 {
		t.Errorf("these calls were made: %v", runs)
	}
}

// TestWideTreeIsBounded: executions that each start many at the same moment do not exceed the bound of their tree together.
func TestWideTreeIsBounded(t *testing.T) {
	w := newWorld(t)
	most := w.watchTree()
	w.start()
	defer w.stop()
	many := func(n int, name string) string {
		return fmt.Sprintf("- a: { for: { in: '${ [range(%d)] }' }, do: [ { b: %s } ] }", n, workflow(name, ", await: false"))
	}
	w.deploy("slow", "- a: { listen: { to: { one: { with: { type: never } } } } }")
	w.deploy("wide", many(200, "slow"))
	w.final(w.run(w.define(many(100, "wide")), `{}`))
	w.idle(0)
	if n := most.Load(); n < engine.MaxTree-100 || n > engine.MaxTree {
		t.Errorf("at most %d executions were open at once, want %d", n, engine.MaxTree)
	}
}

// TestRefusedChildrenInALoop: a loop that asks for what there is not ends all the same.
func TestRefusedChildrenInALoop(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	rev := w.define(`
- a:
    for: { in: '${ [range(450)] }' }
    do:
      - b:
          try:
            - c: ` + workflow("nowhere", "") + `
          catch:
            as: problem
            do:
              - d: { set: { code: '${ $problem.status }' } }
- e: { set: { all: '${ . }' } }`)
	row := w.final(w.run(rev, `{}`))
	if got := w.result(row.No); got != `{"all":{"code":400}}` {
		t.Errorf("it ends with %s", got)
	}
	w.idle(0)
}

// TestDetachedProcessGoesOn: a process that nobody waits for outlives its task, and the
// execution if that completes; it ends with one that is cancelled.
func TestDetachedProcessGoesOn(t *testing.T) {
	w := newWorld(t)
	w.outside.started = make(chan callSeen, 10)
	w.start()
	defer w.stop()
	gate := w.outside.gate("long")
	rev := w.define("- a: { run: { shell: { command: sh///block/long }, await: false } }\n- b: { set: { done: true } }")
	row := w.final(w.run(rev, `{}`))
	if got := w.result(row.No); got != `{"done":true}` {
		t.Errorf("it ends with %s", got)
	}
	w.blocked()
	if n := w.outside.running.Load(); n != 1 {
		t.Errorf("%d processes run after the end, want 1", n)
	}
	waiting := w.define("- a: { run: { shell: { command: sh///block/long }, await: false } }\n- b: { wait: { hours: 1 } }")
	other := w.run(waiting, `{}`)
	w.blocked()
	if err := w.engine.Cancel(context.Background(), other.ID, "enough"); err != nil && !errors.Is(err, engine.ErrFinal) {
		t.Fatal(err)
	}
	close(gate)
	w.final(other)
	w.idle(0)
	if n := w.outside.running.Load(); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// TestIndependentChildrenAreNotLost: children that nobody awaits start exactly once when a write set ends in the
// middle of what asks for them, and its commit fails, or the engine with it.
func TestIndependentChildrenAreNotLost(t *testing.T) {
	// The loop asks for more children that there are not than a write set takes in, and for one that
	// there is when the write set ends.
	last := maxRounds * maxRefusals
	body := `
- a: { wait: { milliseconds: 1 } }
- b:
    for: { in: '${ [range(` + fmt.Sprint(last+1) + `)] }' }
    do:
      - c:
          if: '${ $index % ` + fmt.Sprint(last/2) + ` == 0 }'
          run: { workflow: { namespace: test, name: free, version: 1.0.0 }, await: false }
      - d:
          try:
            - e: ` + workflow("nowhere", "") + `
          catch: { errors: {} }
- f: { set: { done: true } }`
	for _, crash := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w, broken := brokenWorld(t)
			defer func() { w.stop() }()
			w.deploy("free", "- a: { set: { x: 1 } }")
			row := w.run(w.define(body), `{}`)
			from, tripped := broken.count(), make(chan struct{})
			broken.setFail(func(n int) (before, after bool) {
				if n == from+1 {
					close(tripped)
				}
				return n > from+1 && crash, n == from+1
			})
			<-tripped
			if crash {
				w.kill()
				w.start()
			}
			if got := w.endOf(row, time.Minute).result; got != `{"done":true}` {
				t.Errorf("it ends with %s", got)
			}
			w.allEnd(time.Minute)
			if rows := w.childrenOf(row); len(rows) != 3 {
				t.Errorf("after a crash: %v: %d children were started, want 3\n%s", crash, len(rows), w.log)
			}
		})
	}
}

// TestIndependentChildrenOfAListener: the same for events that come faster than children are started.
func TestIndependentChildrenOfAListener(t *testing.T) {
	const count = 2*maxReceived + 100
	synctest.Test(t, func(t *testing.T) {
		w, broken := brokenWorld(t)
		defer func() { w.stop() }()
		w.deploy("free", "- a: { set: { x: 1 } }")
		row := w.run(w.define(`
- a: { wait: { seconds: 1 } }
- b:
    listen: { to: { any: [ { with: { type: go } } ], until: '(. | length) == `+fmt.Sprint(count)+`' } }
    foreach:
      item: n
      do:
        - c:
            if: '${ $n % 10 == 0 }'
            run: { workflow: { namespace: test, name: free, version: 1.0.0 }, await: false }
        - d:
            try:
              - e: `+workflow("nowhere", "")+`
            catch: { errors: {} }
        - f: { set: '${ 1 }' }
- g: { set: { got: '${ . | length }' } }`), `{}`)
		events := make([]string, count)
		for i := range events {
			events[i] = envelope("go", i, fmt.Sprint(i))
		}
		w.publish(events...)
		synctest.Wait()
		random := rand.New(rand.NewPCG(1, 1))
		broken.setFail(func(int) (before, after bool) { return random.IntN(3) == 0, random.IntN(3) == 0 })
		time.Sleep(time.Minute)
		broken.setFail(nil)
		if got := w.endOf(row, time.Minute).result; got != fmt.Sprintf(`{"got":%d}`, count) {
			t.Errorf("it ends with %s", got)
		}
		w.allEnd(time.Minute)
		if rows := w.childrenOf(row); len(rows) != count/10 {
			t.Errorf("%d children were started, want %d\n%s", len(rows), count/10, w.log)
		}
	})
}
