package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

func TestTrivialExecutionEndsInItsAcceptance(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { set: { sum: '${ .a + 1 }' } }")
	row := fx.run(rev, `{"a":41}`)
	if row.Status != chargehand.Finished || row.Phase != chargehand.Completed || row.State != store.StateEnded {
		t.Fatalf("%+v", row)
	}
	read := fx.read(row.No)
	if read.Status != chargehand.Finished || read.StartedMs == 0 || read.FinishedMs < read.StartedMs {
		t.Fatalf("%+v", read)
	}
	if got := fx.result(row.No); got != `{"sum":42}` {
		t.Fatalf("output %s", got)
	}
	if got, want := fx.story(row.No), "1 in 0 /do/0/a [] 1 completed {\"a\":41} {\"sum\":42}\n"; got != want {
		t.Fatalf("timeline %q", got)
	}
	if n := fx.engine.instances.size(); n != 0 {
		t.Fatalf("%d executions in memory", n)
	}
}

func TestHowExecutionsEnd(t *testing.T) {
	tests := map[string]struct {
		tasks  string
		input  string
		status chargehand.Status
		want   string
	}{
		"one activity after another": {`
- a: { call: http, with: { method: get, endpoint: http://x/echo/one } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/two } }
- c: { set: { last: '${ .said }' } }`, `{}`, chargehand.Finished, `{"last":"two"}`},
		"a fork": {`
- f:
    fork:
      branches:
        - a: { call: http, with: { method: get, endpoint: http://x/echo/one } }
        - b: { call: http, with: { method: get, endpoint: http://x/echo/two } }
- g: { set: { all: '${ [.[].said] }' } }`, `{}`, chargehand.Finished, `{"all":["one","two"]}`},
		"a fault": {`
- a: { call: http, with: { method: get, endpoint: http://x/missing } }`,
			`{}`, chargehand.Errored, "fault communication"},
		"a fault before any effect": {`
- a: { raise: { error: { type: 'https://example.com/broken', status: 500 } } }`,
			`{}`, chargehand.Errored, "fault fault"},
		"a panic in a runner": {`
- a: { call: http, with: { method: get, endpoint: http://x/panic } }`, `{}`, chargehand.Errored, "fault internal"},
		"a panic is caught like other faults": {`
- a:
    try:
      - b: { call: http, with: { method: get, endpoint: http://x/panic } }
    catch:
      do:
        - c: { set: { caught: true } }`, `{}`, chargehand.Finished, `{"caught":true}`},
		"an outcome above the limit": {`
- a: { call: http, with: { method: get, endpoint: http://x/size/1000000 } }`,
			`{}`, chargehand.Errored, "fault output_too_large"},
		"a kind without a runner": {`
- a: { run: { script: { language: js, code: '1' } } }`, `{}`, chargehand.Errored, "fault run_not_allowed"},
		"a process": {`
- a: { run: { shell: { command: sh///echo/one } } }
- b: { set: { said: '${ .said }' } }`, `{}`, chargehand.Finished, `{"said":"one"}`},
		"retries without a delay": {`
- a:
    try:
      - b: { call: http, with: { method: get, endpoint: http://x/fail/2 } }
    catch:
      retry:
        delay: { milliseconds: 1 }
        limit: { attempt: { count: 5 } }
- c: { set: { result: '${ . }' } }`, `{}`, chargehand.Finished, `{"result":"recovered"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t)
			fx.limits.ActivityOutputBytes = 900_000
			fx.without = "script"
			fx.start()
			defer fx.stop()
			row := fx.run(fx.define(test.tasks), test.input)
			if !row.Status.Final() && (row.Status != chargehand.Processing || row.State != store.StateActive) {
				t.Fatalf("accepted as %+v", row)
			}
			row = fx.final(row)
			if got := fx.result(row.No); row.Status != test.status || got != test.want {
				t.Fatalf("ended as %v %s, want %v %s", row.Status, got, test.status, test.want)
			}
		})
	}
}

func TestAlsoBelongsToTheAcceptance(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	for name, tasks := range map[string]string{
		"ends at once": "- a: { set: { x: 1 } }",
		"continues":    "- a: { wait: { hours: 1 } }",
		"runs":         "- a: { call: http, with: { method: get, endpoint: http://x/block/never } }",
	} {
		t.Run(name, func(t *testing.T) {
			rev := fx.define(tasks)
			p, _ := fx.Plan(t.Context(), rev)
			no := errors.New("no")
			row := fx.row(rev, `{}`)
			_, err := fx.engine.Start(t.Context(), engine.Start{Row: row, Plan: p, Input: map[string]any{},
				InTx: func(tx *store.Tx, no64 int64) error {
					if err := tx.SetMeta("hook", []byte("x")); err != nil {
						return err
					}
					return no
				}})
			if !errors.Is(err, no) {
				t.Fatalf("got %v", err)
			}
			fx.view(func(r *store.Reader) error {
				if _, err := r.FindExecution(row.ID); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("the execution is there: %v", err)
				}
				if _, err := r.Meta("hook"); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("what Also wrote is there: %v", err)
				}
				return nil
			})
			if n, held := fx.engine.instances.size(), fx.engine.slots.heldBy(fx.account.No); n != 0 || held != 0 {
				t.Fatalf("%d in memory, %d slots held", n, held)
			}
			var got int64
			row, err = fx.engine.Start(t.Context(), engine.Start{Row: row, Plan: p, Input: map[string]any{},
				InTx: func(tx *store.Tx, no int64) error {
					got = no
					e, err := tx.ExecutionByNo(no)
					if err == nil && e.ID != row.ID {
						err = fmt.Errorf("it is %v", e.ID)
					}
					return err
				}})
			if err != nil || got == 0 || got != row.No {
				t.Fatalf("%v, number %d, the hook got %d", err, row.No, got)
			}
			if !row.Status.Final() {
				if err := fx.engine.Cancel(t.Context(), row.ID, ""); err != nil {
					t.Fatal(err)
				}
			}
			fx.idle(0) // for the next case
		})
	}
}

func TestLoopsYieldAndEnd(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define(`
- a:
    for: { in: '${ [range(5000)] }' }
    do:
      - b: { set: { n: '${ $index }' } }`)
	row := fx.final(fx.run(rev, `{}`))
	if got := fx.result(row.No); got != `{"n":4999}` {
		t.Fatalf("output %s", got)
	}
}

func TestEndlessLoopIsStoppedAndHurtsNobody(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define(`
- a: { set: { x: 1 } }
- b: { set: { x: 2 }, then: a }`)
	var loops []store.Execution
	for range 5 {
		loops = append(loops, fx.run(rev, `{}`))
	}
	other := fx.final(fx.run(fx.define(`
- a: { call: http, with: { method: get, endpoint: http://x/echo/one } }
- b: { set: { x: 1 } }`), `{}`))
	if other.Status != chargehand.Finished {
		t.Fatal(fx.result(other.No))
	}
	for _, row := range loops {
		fx.final(row)
		if got := fx.result(row.No); got != "fault step_limit" {
			t.Fatalf("ended as %s", got)
		}
	}
}

func TestLargePayloadsGoToTheBlobStore(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	rev := fx.define(`
- a:
    call: http
    with: { method: get, endpoint: http://x/size/300000 }
    export: { as: '${ { text: . } }' }
- b: { call: http, with: { method: get, endpoint: http://x/block/gate } }
- c: { set: { text: '${ $context.text }' } }`)
	release := fx.outside.block("gate")
	fx.outside.started = make(chan callSeen, 10)
	row := fx.run(rev, `{}`)
	fx.blocked()
	fx.view(func(r *store.Reader) error {
		return r.Journal(row.No, 0, func(j *store.JournalRow) error {
			if len(j.Event.Inline) > store.InlineBytes {
				t.Errorf("event %d is in its row with %d bytes", j.Seq, len(j.Event.Inline))
			}
			return nil
		})
	})
	fx.kill() // and what is in blobs is found again
	fx.start()
	defer fx.stop()
	close(release)
	row = fx.final(row)
	if got, want := fx.result(row.No), `{"text":"`+strings.Repeat("x", 300000)+`"}`; got != want {
		t.Fatalf("ended as %.100s", got)
	}
	fx.view(func(r *store.Reader) error {
		o, err := r.Outcome(row.No)
		if err == nil && (o.Output.Blob == nil || o.Output.Size != 300011) {
			t.Errorf("output of %d bytes is in its row", len(o.Output.Inline))
		}
		return err
	})
}

func TestWaitingCostsARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		defer fx.stop()
		rev := fx.define(`
- a: { set: { before: true } }
- b: { wait: { hours: 3 } }
- c: { set: { after: true } }`)
		begin := time.Now()
		row := fx.run(rev, `{"x":1}`)
		if row.State != store.StateParked || row.Phase != chargehand.Waiting || row.Status != chargehand.Processing {
			t.Fatalf("%+v", row)
		}
		if n, held := fx.engine.instances.size(), fx.engine.slots.heldBy(fx.account.No); n != 0 || held != 0 {
			t.Fatalf("%d in memory, %d slots held", n, held)
		}
		if got := fx.story(row.No); !strings.Contains(got, "2 /do/1/b 0 1 running") && !strings.Contains(got, "waiting") {
			t.Fatalf("timeline %s", got)
		}
		if n := fx.journalLength(row); n != 1 { // a checkpoint is a cache of it
			t.Fatalf("%d events in the journal", n)
		}
		time.Sleep(time.Hour)
		if row := fx.read(row.No); row.State != store.StateParked {
			t.Fatalf("woken early: %+v", row)
		}
		time.Sleep(time.Hour + 59*time.Minute)
		row = fx.finalIn(row, 2*time.Minute)
		if took := time.Since(begin); took < 3*time.Hour || took > 3*time.Hour+2*time.Minute {
			t.Fatalf("took %v", took)
		}
		if row.FinishedMs-row.StartedMs < 3*3600*1000 || row.FinishedMs-row.StartedMs > 3*3600*1000+1000 {
			t.Fatalf("says it took %d ms", row.FinishedMs-row.StartedMs)
		}
		if got := fx.result(row.No); got != `{"after":true}` {
			t.Fatal(got)
		}
		if got := strings.Count(fx.story(row.No), "completed"); got != 3 {
			t.Fatalf("timeline %s", fx.story(row.No))
		}
	})
}

func TestEmittedEventsArePublishedOnce(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define(`
- a: { emit: { event: { with: { type: org.example.done.v1, source: 'https://example.com', data: { x: 1 } } } } }`)
	fx.final(fx.run(rev, `{}`))
	fx.mu.Lock()
	defer fx.mu.Unlock()
	if got := fx.emitted(); len(got) != 1 || !strings.Contains(string(value.Marshal(got[0])), "org.example.done.v1") {
		t.Fatalf("published %v", got)
	}
}

func TestQueueIsBoundedPerWorkflow(t *testing.T) {
	fx := newFixture(t)
	fx.limits.AccountSlots, fx.limits.QueuedPerWorkflow = 1, 3
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }")
	other := fx.define("- a: { set: { x: 1 } }")
	release := fx.outside.block("gate")
	rows := []store.Execution{fx.run(rev, `{}`)}
	for range 3 {
		row := fx.run(rev, `{}`)
		if row.Status != chargehand.Initial || row.State != store.StateQueued || row.StartedMs != 0 {
			t.Fatalf("%+v", row)
		}
		rows = append(rows, row)
	}
	if _, err := fx.startOne(rev, `{}`); !errors.Is(err, engine.ErrQueueFull) {
		t.Fatalf("got %v", err)
	}
	rows = append(rows, fx.run(other, `{}`)) // the bound of another workflow
	if err := fx.engine.Cancel(t.Context(), rows[3].ID, "enough"); err != nil {
		t.Fatal(err)
	}
	rows = append(rows, fx.run(rev, `{}`)) // in the place of the one that was cancelled
	if _, err := fx.startOne(rev, `{}`); !errors.Is(err, engine.ErrQueueFull) {
		t.Fatalf("got %v", err)
	}
	close(release)
	var last int64
	for i, row := range rows {
		row = fx.final(row)
		if i == 3 {
			if row.StartedMs != 0 || row.Phase != chargehand.Cancelled || fx.result(row.No) != "fault cancelled" {
				t.Fatalf("the cancelled one: %+v", row)
			}
			continue
		}
		if row.Status != chargehand.Finished || row.StartedMs < last && row.Workflow == rev {
			t.Fatalf("number %d: %+v after %d", i, row, last)
		}
		if row.Workflow != rev { // workflows take turns
			continue
		}
		last = row.StartedMs
	}
	fx.idle(0)
	if len(fx.engine.queued.count) != 0 {
		t.Fatalf("queued %v", fx.engine.queued.count)
	}
}

func TestResultFiles(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	digest, err := fx.Put(t.Context(), []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	insert := func(visible bool, account int64) store.File {
		f := store.File{
			ID: chargehand.FileID(fx.id()), Account: account, Environment: chargehand.Live,
			Name: "x.txt", MediaType: "text/plain", Size: 7, Digest: digest, Visible: visible,
		}
		if err := fx.store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertFile(&f) }); err != nil {
			t.Fatal(err)
		}
		return f
	}
	made, upload, foreign := insert(false, fx.account.No), insert(true, fx.account.No), insert(true, 99)
	fx.outside.files = func() []machine.File {
		return []machine.File{{ID: made.ID.String(), Name: "x.txt", MediaType: "text/plain", Size: 7, Digest: "sha256:00"}}
	}
	files := func(row store.Execution) string {
		var o store.Outcome
		fx.view(func(r *store.Reader) (err error) {
			o, err = r.Outcome(row.No)
			return err
		})
		return string(o.Files)
	}
	attached := "- a: { call: http, with: { method: get, endpoint: http://x/files } }\n"
	row := fx.final(fx.run(fx.define(attached), `{}`))
	if got, want := files(row), `["`+made.ID.String()+`"]`; got != want {
		t.Fatalf("attached: %s, want %s", got, want)
	}
	fx.view(func(r *store.Reader) error {
		f, err := r.FileByID(fx.account.No, chargehand.Live, made.ID)
		if err == nil && (!f.Visible || f.Execution != row.No) {
			t.Errorf("%+v", f)
		}
		return err
	})
	ref := func(f store.File) string { return fmt.Sprintf(`{"uri":"/api/v1/files/%s","name":"x.txt"}`, f.ID) }
	byInput := fx.define(attached + "- b: { set: '${ $workflow.input }' }\n")
	row = fx.final(fx.run(byInput, `{"z":`+ref(upload)+`,"a":`+ref(made)+`,"f":`+ref(foreign)+`}`))
	if got, want := files(row), fmt.Sprintf(`["%s","%s"]`, made.ID, upload.ID); got != want {
		t.Fatalf("referred to: %s, want %s", got, want)
	}
	row = fx.final(fx.run(byInput, `{"f":`+ref(foreign)+`}`))
	if got, want := files(row), `["`+made.ID.String()+`"]`; got != want {
		t.Fatalf("of another account: %s, want the attached one", got)
	}
	row = fx.final(fx.run(fx.define("- a: { set: '${ . }' }"), `{"f":`+ref(upload)+`}`))
	if got, want := files(row), `["`+upload.ID.String()+`"]`; got != want {
		t.Fatalf("at once: %s, want %s", got, want)
	}
	row = fx.run(fx.define("- a: { set: { x: 1 } }"), `{}`)
	if got := files(row); got != "" {
		t.Fatalf("none: %s", got)
	}
}

func TestLongJournalIsDroppedAtCheckpoints(t *testing.T) {
	fx := newFixture(t)
	fx.limits.JournalEvents = 10
	fx.start()
	rev := fx.define(`
- a:
    for: { in: '${ [range(25)] }' }
    do:
      - b: { call: http, with: { method: get, endpoint: '${ "http://x/echo/\($index)" }' } }
- c: { call: http, with: { method: get, endpoint: http://x/block/gate } }`)
	release := fx.outside.block("gate")
	fx.outside.started = make(chan callSeen, 10)
	row := fx.run(rev, `{}`)
	fx.blocked()
	first := int64(0)
	fx.view(func(r *store.Reader) error {
		c, err := r.Checkpoint(row.No)
		if err != nil {
			return err
		}
		if c.Seq != 20 {
			t.Errorf("checkpoint at %d", c.Seq)
		}
		return r.Journal(row.No, 0, func(j *store.JournalRow) error {
			if first == 0 {
				first = j.Seq
			}
			return nil
		})
	})
	if first != 21 {
		t.Fatalf("the journal begins at %d", first)
	}
	live := fx.story(row.No)
	if n := strings.Count(live, "\n"); n != 27 {
		t.Fatalf("%d entries while it runs:\n%s", n, live)
	}
	fx.kill()
	fx.start()
	defer fx.stop()
	if got := fx.story(row.No); got != live {
		t.Fatalf("after a restart:\n%s\nbefore:\n%s", got, live)
	}
	close(release)
	row = fx.final(row)
	if n := strings.Count(fx.story(row.No), "completed"); row.Status != chargehand.Finished || n != 27 {
		t.Fatalf("%v, %d entries:\n%s", row.Status, n, fx.story(row.No))
	}
	for key, n := range fx.outside.allRuns() {
		if n > 1 && n != 2 {
			t.Fatalf("%s ran %d times", key, n)
		}
	}
}

func TestWatchers(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }")
	release := fx.outside.block("gate")
	row := fx.run(rev, `{}`)
	changed, stop := fx.engine.Watch(row.ID)
	defer stop()
	if closed(changed) {
		t.Fatal("notified of nothing")
	}
	close(release)
	select {
	case <-changed:
	case <-time.After(endTime):
		t.Fatal("not notified of the end")
	}
	if !fx.read(row.No).Status.Final() {
		t.Fatal("notified before the end")
	}
}

func TestReadyAndRefusalAfterStop(t *testing.T) {
	fx := newFixture(t)
	e := fx.start()
	rev := fx.define("- a: { set: { x: 1 } }")
	row := fx.run(rev, `{}`)
	if !e.Ready() {
		t.Fatal("not ready")
	}
	fx.checkInvariants()
	if err := e.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer fx.close()
	if e.Ready() {
		t.Fatal("ready after its stop")
	}
	if _, err := fx.startOne(rev, `{}`); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("start: %v", err)
	}
	if err := e.Cancel(t.Context(), row.ID, ""); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("cancel: %v", err)
	}
	if err := e.Stop(context.Background()); err != nil {
		t.Fatalf("stopped twice: %v", err)
	}
	fx.engine = nil
}

// TestLateWordsChangeNothing: outcomes and timers that the machine does not wait for.
func TestLateWordsChangeNothing(t *testing.T) {
	fx := newFixture(t)
	e := fx.start()
	defer fx.stop()
	release := fx.outside.block("gate")
	fx.outside.started = make(chan callSeen, 10)
	row := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }"), `{}`)
	fx.blocked()
	e.send(row.No, message{kind: applyEvent, call: &call{command: 1}, event: machine.Event{
		Kind: machine.ActivityEnded, Command: 1, Output: "of another run",
	}})
	e.send(row.No, message{kind: applyEvent, event: machine.Event{Kind: machine.TimerFired, Command: 7}})
	e.send(row.No, message{kind: applyEvent, event: machine.Event{Kind: machine.TimerFired, Command: 1}})
	if n := fx.journalLength(row); n != 1 {
		t.Fatalf("%d events in the journal", n)
	}
	if n := e.Stats().Late; n != 1 || !fx.log.contains("late outcome dropped") {
		t.Fatalf("%d late outcomes\n%s", n, fx.log)
	}
	close(release)
	fx.final(row)
	if got := fx.result(row.No); got != `"released gate"` {
		t.Fatal(got)
	}
	e.send(row.No, message{kind: applyEvent, event: machine.Event{Kind: machine.TimerFired, Command: 7}})
	e.send(row.No+1000, message{kind: applyEvent, event: machine.Event{Kind: machine.TimerFired, Command: 7}})
	fx.idle(0) // the goroutine that ended the execution leaves it a moment after its commit
	if n := e.instances.size(); n != 0 {
		t.Fatalf("%d executions in memory", n)
	}
}
