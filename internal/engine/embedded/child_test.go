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
func (fx *fixture) childrenOf(row store.Execution) (rows []store.Execution) {
	fx.t.Helper()
	fx.view(func(r *store.Reader) error {
		rows = nil
		filter := store.ExecutionFilter{Account: fx.account.No, Environment: chargehand.Live, Limit: 10_000}
		all, err := r.ListExecutions(filter)
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

func (fx *fixture) faultOf(no int64) engine.Fault {
	fx.t.Helper()
	var o store.Outcome
	fx.view(func(r *store.Reader) (err error) {
		o, err = r.Outcome(no)
		return err
	})
	f, err := engine.DecodeFault(o.Fault)
	if err != nil {
		fx.t.Fatalf("%v: %s", err, o.Output.Inline)
	}
	return f
}

// TestParentsHoldNoSlot: with a single slot, executions that wait for each other still end.
func TestParentsHoldNoSlot(t *testing.T) {
	fx := newFixture(t)
	fx.limits.AccountSlots = 1
	fx.start()
	defer fx.stop()
	fx.deploy("c", "- a: { call: http, with: { method: get, endpoint: http://x/echo/one } }")
	fx.deploy("b", "- a: "+workflow("c", ""))
	rev := fx.define("- a: " + workflow("b", "") +
		"\n- d: { call: http, with: { method: get, endpoint: http://x/echo/two } }")
	row := fx.final(fx.run(rev, `{}`))
	if got := fx.result(row.No); got != `{"said":"two","to":{"said":"one","to":{}}}` {
		t.Errorf("it ends with %s\n%s", got, fx.log)
	}
	fx.idle(0)
}

// TestCancelReachesChildren: the children that a cancelled execution awaits are cancelled, at any
// depth. Its independent children continue.
func TestCancelReachesChildren(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	fx.deploy("endless", "- a: { listen: { to: { one: { with: { type: never } } } } }")
	fx.deploy("middle", "- a: "+workflow("endless", ""))
	fx.deploy("free", "- a: { listen: { to: { one: { with: { type: free } } } } }")
	rev := fx.define(`
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
			b = fx.batch(rev, 1, []string{`{}`})
			row = fx.items(b.No)[0]
		} else {
			row = fx.run(rev, `{}`)
		}
		children := awaitTree(fx, row, 4)
		var err error
		if batch {
			err = fx.engine.CancelBatch(context.Background(), b.ID, "enough")
		} else {
			err = fx.engine.Cancel(context.Background(), row.ID, "enough")
		}
		if err != nil {
			t.Fatal(err)
		}
		fx.publish(envelope("free", int(row.No), "1"))
		cancelled := 0
		for _, child := range children {
			if child = fx.final(child); child.Phase == chargehand.Cancelled {
				cancelled++
			}
		}
		if cancelled != 3 {
			t.Errorf("%d of 4 were cancelled, want all but the independent one\n%s", cancelled, fx.log)
		}
	}
	fx.idle(0)
}

// TestSlowCancellationHoldsUpNoOther: a child that takes its time to end keeps none of another execution.
func TestSlowCancellationHoldsUpNoOther(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	fx.deploy("endless", "- a: { listen: { to: { one: { with: { type: never } } } } }")
	rev := fx.define("- a: " + workflow("endless", ""))
	var parents, children []store.Execution
	for range 2 {
		row := fx.run(rev, `{}`)
		parents, children = append(parents, row), append(children, awaitTree(fx, row, 1)...)
	}
	slow, drive := fx.engine.instances.put(children[0].No, message{kind: readChildren}) // and no goroutine drives it
	if !drive {
		t.Fatal("the child is in memory")
	}
	for _, parent := range parents {
		if err := fx.engine.Cancel(t.Context(), parent.ID, "enough"); err != nil {
			t.Fatal(err)
		}
	}
	if child := fx.final(children[1]); child.Phase != chargehand.Cancelled {
		t.Errorf("the other child ended %s", child.Phase)
	}
	fx.engine.goWork(func() { fx.engine.drive(slow) })
	if child := fx.final(children[0]); child.Phase != chargehand.Cancelled {
		t.Errorf("the slow child ended %s", child.Phase)
	}
	fx.idle(0)
}

// awaitTree waits until an execution has n descendants, all of which listen or wait.
func awaitTree(fx *fixture, row store.Execution, n int) []store.Execution {
	fx.t.Helper()
	return awaitChange(fx, row.ID, endTime, "a tree", func() (all []store.Execution, ok bool) {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		fx.engine.work.Wait(ctx)
		next := []store.Execution{row}
		for len(next) > 0 {
			found := fx.childrenOf(next[0])
			next, all = append(next[1:], found...), append(all, found...)
		}
		return all, len(all) == n
	})
}

// TestChildLimits: what is too deep or too many is a clear fault.
func TestChildLimits(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	fx.deploy("again", "- a: "+workflow("again", ""))
	row := fx.final(fx.run(fx.define("- a: "+workflow("again", "")), `{}`))
	if f := fx.faultOf(row.No); f.Code != engine.CodeChildDepth || !strings.Contains(f.Detail, "at most 32") {
		t.Errorf("too deep: %+v", f)
	}
	fx.deploy("slow", "- a: { listen: { to: { one: { with: { type: never } } } } }")
	rev := fx.define(fmt.Sprintf(`
- a:
    for: { in: '${ [range(%d)] }' }
    do:
      - b: %s
- c: %s`, engine.MaxOpenChildren, workflow("slow", ", await: false"), workflow("slow", "")))
	row = fx.finalIn(fx.run(rev, `{}`), 2*endTime)
	if f := fx.faultOf(row.No); f.Code != engine.CodeChildren || !strings.Contains(f.Detail, "1000") {
		t.Errorf("too many: %+v", f)
	}
	fx.idle(0)
	if rows := fx.childrenOf(row); len(rows) != engine.MaxOpenChildren {
		t.Errorf("%d were started, want %d", len(rows), engine.MaxOpenChildren)
	}
}

// watchTree notes how many executions of the first execution's tree are open at most, counted from
// the rows in each Update.
func (fx *fixture) watchTree() (most *atomic.Int64) {
	most = new(atomic.Int64)
	fx.rows = store.New(&faultyDB{DB: fx.db, check: func(c store.Conn) error {
		return c.Query(`SELECT unfinished FROM child WHERE execution = 1 AND root = 1`, func(row store.Row) error {
			most.Store(max(most.Load(), row.Int(0)))
			return nil
		})
	}})
	return most
}

// TestLongTreeIsBounded: executions that start more and more of each other end when too many are
// open. Few more start until the error has reached the root, and none after that.
func TestLongTreeIsBounded(t *testing.T) {
	fx := newFixture(t)
	most := fx.watchTree()
	fx.start()
	defer fx.stop()
	twice := "- f: { fork: { branches: [ { a: " + workflow("twice", "") + " }, { b: " + workflow("twice", "") + " } ] } }"
	fx.deploy("twice", twice)
	row := fx.finalIn(fx.run(fx.define(twice), `{}`), 10*endTime)
	if f := fx.faultOf(row.No); f.Code != engine.CodeChildren || !strings.Contains(f.Detail, "have not ended") {
		t.Errorf("it ends with %+v", f)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*endTime)
	defer cancel()
	fx.engine.work.Wait(ctx)
	fx.idle(0)
	if n := most.Load(); n < engine.MaxTree*9/10 || n > engine.MaxTree {
		t.Errorf("at most %d executions were open at once, want %d", n, engine.MaxTree)
	}
	// At the bound an execution starts for each one that ends, until the error has reached the root.
	const enough = engine.MaxTree * 3 / 2
	fx.view(func(r *store.Reader) error {
		filter := store.ExecutionFilter{Account: fx.account.No, Environment: chargehand.Live, Limit: 2 * engine.MaxTree}
		all, err := r.ListExecutions(filter)
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

// TestWithdrawnChildDoesNotStart: a queued execution that is certain to be cancelled does not start
// when it gets a slot. The execution that awaits it, and is about to be cancelled too, does not
// take that for an error.
func TestWithdrawnChildDoesNotStart(t *testing.T) {
	fx := newFixture(t)
	fx.limits.AccountSlots = 1
	fx.outside.started = make(chan callSeen, 10)
	fx.start()
	defer fx.stop()
	call := func(path string) string {
		return "{ call: http, with: { method: get, endpoint: 'http://x/" + path + "' } }"
	}
	fx.deploy("leaf", "- a: "+call("echo/leaf"))
	fx.deploy("middle", `
- a: { listen: { to: { one: { with: { type: go } } } } }
- b:
    try:
      - c: `+workflow("leaf", "")+`
    catch:
      do:
        - d: `+call("echo/caught"))
	root := fx.run(fx.define("- a: "+workflow("middle", "")), `{}`)
	middle := awaitTree(fx, root, 1)[0]
	release := fx.outside.block("slot")
	other := fx.run(fx.define("- a: "+call("block/slot")), `{}`) // holds the slot
	fx.blocked()
	fx.publish(envelope("go", 1, "1"))
	var leaf store.Execution
	for deadline := time.Now().Add(endTime); leaf.No == 0; <-time.After(time.Millisecond) {
		if rows := fx.childrenOf(middle); len(rows) == 1 {
			leaf = rows[0]
		}
		if time.Now().After(deadline) {
			t.Fatalf("no child is queued\n%s", fx.log)
		}
	}
	// The goroutine that started the child leaves the execution in the middle a moment after its commit.
	for deadline := time.Now().Add(endTime); fx.engine.instances.size() > 1 && time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
	}
	slow, drive := fx.engine.instances.put(middle.No, message{kind: readChildren}) // and nothing drives it
	if !drive {
		t.Fatal("the execution in the middle is in memory")
	}
	if err := fx.engine.Cancel(t.Context(), root.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	close(release)
	fx.final(other)
	for _, row := range []store.Execution{root, leaf} {
		if row = fx.final(row); row.Phase != chargehand.Cancelled {
			t.Errorf("execution %d ended %s\n%s", row.No, row.Phase, fx.log)
		}
	}
	fx.engine.goWork(func() { fx.engine.drive(slow) })
	if middle = fx.final(middle); middle.Phase != chargehand.Cancelled {
		t.Errorf("the execution in the middle ended %s", middle.Phase)
	}
	fx.idle(0)
	if runs := fx.outside.allRuns(); len(runs) != 1 {
		t.Errorf("these calls were made: %v", runs)
	}
}

// TestWideTreeIsBounded: executions that each start many children at the same moment do not exceed
// the bound of their tree together.
func TestWideTreeIsBounded(t *testing.T) {
	fx := newFixture(t)
	most := fx.watchTree()
	fx.start()
	defer fx.stop()
	many := func(n int, name string) string {
		return fmt.Sprintf("- a: { for: { in: '${ [range(%d)] }' }, do: [ { b: %s } ] }", n, workflow(name, ", await: false"))
	}
	fx.deploy("slow", "- a: { listen: { to: { one: { with: { type: never } } } } }")
	fx.deploy("wide", many(200, "slow"))
	fx.final(fx.run(fx.define(many(100, "wide")), `{}`))
	fx.idle(0)
	if n := most.Load(); n < engine.MaxTree-100 || n > engine.MaxTree {
		t.Errorf("at most %d executions were open at once, want %d", n, engine.MaxTree)
	}
}

// TestRefusedChildrenInALoop: a loop that asks for what there is not ends all the same.
func TestRefusedChildrenInALoop(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define(`
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
	row := fx.final(fx.run(rev, `{}`))
	if got := fx.result(row.No); got != `{"all":{"code":400}}` {
		t.Errorf("it ends with %s", got)
	}
	fx.idle(0)
}

// TestDetachedProcessGoesOn: a process that no task awaits outlives its task, and also the
// execution if that completes. It ends with an execution that is cancelled.
func TestDetachedProcessGoesOn(t *testing.T) {
	fx := newFixture(t)
	fx.outside.started = make(chan callSeen, 10)
	fx.start()
	defer fx.stop()
	release := fx.outside.block("long")
	rev := fx.define("- a: { run: { shell: { command: sh///block/long }, await: false } }\n- b: { set: { done: true } }")
	row := fx.final(fx.run(rev, `{}`))
	if got := fx.result(row.No); got != `{"done":true}` {
		t.Errorf("it ends with %s", got)
	}
	fx.blocked()
	if n := fx.outside.running.Load(); n != 1 {
		t.Errorf("%d processes run after the end, want 1", n)
	}
	waiting := fx.define("- a: { run: { shell: { command: sh///block/long }, await: false } }\n" +
		"- b: { wait: { hours: 1 } }")
	other := fx.run(waiting, `{}`)
	fx.blocked()
	if err := fx.engine.Cancel(context.Background(), other.ID, "enough"); err != nil && !errors.Is(err, engine.ErrFinal) {
		t.Fatal(err)
	}
	close(release)
	fx.final(other)
	fx.idle(0)
	if n := fx.outside.running.Load(); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// TestIndependentChildrenAreNotLost: independent children start exactly once when the write set
// that asks for them ends early and its commit fails, or the engine crashes.
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
			fx, broken := brokenFixture(t)
			defer func() { fx.stop() }()
			fx.deploy("free", "- a: { set: { x: 1 } }")
			row := fx.run(fx.define(body), `{}`)
			from, tripped := broken.count(), make(chan struct{})
			broken.setFail(func(n int) (before, after bool) {
				if n == from+1 {
					close(tripped)
				}
				return n > from+1 && crash, n == from+1
			})
			<-tripped
			if crash {
				fx.kill()
				fx.start()
			}
			if got := fx.endOf(row, time.Minute).result; got != `{"done":true}` {
				t.Errorf("it ends with %s", got)
			}
			fx.allEnd(time.Minute)
			if rows := fx.childrenOf(row); len(rows) != 3 {
				t.Errorf("after a crash: %v: %d children were started, want 3\n%s", crash, len(rows), fx.log)
			}
		})
	}
}

// TestIndependentChildrenOfAListener: the same for events that come faster than children are started.
func TestIndependentChildrenOfAListener(t *testing.T) {
	const count = 2*maxReceived + 100
	synctest.Test(t, func(t *testing.T) {
		fx, broken := brokenFixture(t)
		defer func() { fx.stop() }()
		fx.deploy("free", "- a: { set: { x: 1 } }")
		row := fx.run(fx.define(`
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
		fx.publish(events...)
		synctest.Wait()
		random := rand.New(rand.NewPCG(1, 1))
		broken.setFail(func(int) (before, after bool) { return random.IntN(3) == 0, random.IntN(3) == 0 })
		time.Sleep(time.Minute)
		broken.setFail(nil)
		if got := fx.endOf(row, time.Minute).result; got != fmt.Sprintf(`{"got":%d}`, count) {
			t.Errorf("it ends with %s", got)
		}
		fx.allEnd(time.Minute)
		if rows := fx.childrenOf(row); len(rows) != count/10 {
			t.Errorf("%d children were started, want %d\n%s", len(rows), count/10, fx.log)
		}
	})
}
