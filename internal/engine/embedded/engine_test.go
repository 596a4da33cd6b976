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
	w := newWorld(t)
	w.start()
	defer w.stop()
	rev := w.define("- a: { set: { sum: '${ .a + 1 }' } }")
	row := w.run(rev, `{"a":41}`)
	if row.Status != chargehand.Finished || row.Phase != chargehand.Completed || row.State != store.StateEnded {
		t.Fatalf("%+v", row)
	}
	read := w.read(row.No)
	if read.Status != chargehand.Finished || read.StartedMs == 0 || read.FinishedMs < read.StartedMs {
		t.Fatalf("%+v", read)
	}
	if got := w.result(row.No); got != `{"sum":42}` {
		t.Fatalf("output %s", got)
	}
	if got, want := w.story(row.No), "1 /do/0/a 0 1 completed {\"a\":41} {\"sum\":42}\n"; got != want {
		t.Fatalf("timeline %q", got)
	}
	if n := w.engine.runs.size(); n != 0 {
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
- a: { call: http, with: { method: get, endpoint: http://x/missing } }`, `{}`, chargehand.Errored, "fault communication"},
		"a fault before any effect": {`
- a: { raise: { error: { type: 'https://example.com/broken', status: 500 } } }`, `{}`, chargehand.Errored, "fault fault"},
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
- a: { call: http, with: { method: get, endpoint: http://x/size/1000000 } }`, `{}`, chargehand.Errored, "fault output_too_large"},
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
			w := newWorld(t)
			w.limits.ActivityOutputBytes = 900_000
			w.without = "script"
			w.start()
			defer w.stop()
			row := w.run(w.define(test.tasks), test.input)
			if !row.Status.Final() && (row.Status != chargehand.Processing || row.State != store.StateActive) {
				t.Fatalf("accepted as %+v", row)
			}
			row = w.final(row)
			if got := w.result(row.No); row.Status != test.status || got != test.want {
				t.Fatalf("ended as %v %s, want %v %s", row.Status, got, test.status, test.want)
			}
		})
	}
}

func TestAlsoBelongsToTheAcceptance(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	for name, tasks := range map[string]string{
		"ends at once": "- a: { set: { x: 1 } }",
		"goes on":      "- a: { wait: { hours: 1 } }",
		"runs":         "- a: { call: http, with: { method: get, endpoint: http://x/block/never } }",
	} {
		t.Run(name, func(t *testing.T) {
			rev := w.define(tasks)
			p, _ := w.Plan(t.Context(), rev)
			no := errors.New("no")
			row := w.row(rev, `{}`)
			_, err := w.engine.Start(t.Context(), engine.Start{Row: row, Plan: p, Input: map[string]any{},
				Also: func(tx *store.Tx, no64 int64) error {
					if err := tx.SetMeta("also", []byte("x")); err != nil {
						return err
					}
					return no
				}})
			if !errors.Is(err, no) {
				t.Fatalf("got %v", err)
			}
			w.view(func(r *store.Reader) error {
				if _, err := r.FindExecution(row.ID); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("the execution is there: %v", err)
				}
				if _, err := r.Meta("also"); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("what Also wrote is there: %v", err)
				}
				return nil
			})
			if n, held := w.engine.runs.size(), w.engine.slots.heldBy(w.account.No); n != 0 || held != 0 {
				t.Fatalf("%d in memory, %d slots held", n, held)
			}
			var got int64
			row, err = w.engine.Start(t.Context(), engine.Start{Row: row, Plan: p, Input: map[string]any{},
				Also: func(tx *store.Tx, no int64) error {
					got = no
					e, err := tx.ExecutionByNo(no)
					if err == nil && e.ID != row.ID {
						err = fmt.Errorf("it is %v", e.ID)
					}
					return err
				}})
			if err != nil || got == 0 || got != row.No {
				t.Fatalf("%v, number %d, told %d", err, row.No, got)
			}
			if !row.Status.Final() {
				if err := w.engine.Cancel(t.Context(), row.ID, ""); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestLoopsYieldAndEnd(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	rev := w.define(`
- a:
    for: { in: '${ [range(5000)] }' }
    do:
      - b: { set: { n: '${ $index }' } }`)
	row := w.final(w.run(rev, `{}`))
	if got := w.result(row.No); got != `{"n":4999}` {
		t.Fatalf("output %s", got)
	}
}

func TestEndlessLoopIsStoppedAndHurtsNobody(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	rev := w.define(`
- a: { set: { x: 1 } }
- b: { set: { x: 2 }, then: a }`)
	var loops []store.Execution
	for range 5 {
		loops = append(loops, w.run(rev, `{}`))
	}
	other := w.final(w.run(w.define(`
- a: { call: http, with: { method: get, endpoint: http://x/echo/one } }
- b: { set: { x: 1 } }`), `{}`))
	if other.Status != chargehand.Finished {
		t.Fatal(w.result(other.No))
	}
	for _, row := range loops {
		w.final(row)
		if got := w.result(row.No); got != "fault step_limit" {
			t.Fatalf("ended as %s", got)
		}
	}
}

func TestLargePayloadsGoToTheBlobStore(t *testing.T) {
	w := newWorld(t)
	w.start()
	rev := w.define(`
- a:
    call: http
    with: { method: get, endpoint: http://x/size/300000 }
    export: { as: '${ { text: . } }' }
- b: { call: http, with: { method: get, endpoint: http://x/block/gate } }
- c: { set: { text: '${ $context.text }' } }`)
	gate := w.outside.gate("gate")
	w.outside.started = make(chan callSeen, 10)
	row := w.run(rev, `{}`)
	w.blocked()
	w.view(func(r *store.Reader) error {
		return r.Journal(row.No, 0, func(j *store.JournalRow) error {
			if len(j.Event.Inline) > store.InlineBytes {
				t.Errorf("event %d stands in its row with %d bytes", j.Seq, len(j.Event.Inline))
			}
			return nil
		})
	})
	w.kill() // and what is in blobs is found again
	w.start()
	defer w.stop()
	close(gate)
	row = w.final(row)
	if got, want := w.result(row.No), `{"text":"`+strings.Repeat("x", 300000)+`"}`; got != want {
		t.Fatalf("ended as %.100s", got)
	}
	w.view(func(r *store.Reader) error {
		o, err := r.Outcome(row.No)
		if err == nil && (o.Output.Blob == nil || o.Output.Size != 300011) {
			t.Errorf("output of %d bytes stands in its row", len(o.Output.Inline))
		}
		return err
	})
}

func TestWaitingCostsARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		defer w.stop()
		rev := w.define(`
- a: { set: { before: true } }
- b: { wait: { hours: 3 } }
- c: { set: { after: true } }`)
		begin := time.Now()
		row := w.run(rev, `{"x":1}`)
		if row.State != store.StateParked || row.Phase != chargehand.Waiting || row.Status != chargehand.Processing {
			t.Fatalf("%+v", row)
		}
		if n, held := w.engine.runs.size(), w.engine.slots.heldBy(w.account.No); n != 0 || held != 0 {
			t.Fatalf("%d in memory, %d slots held", n, held)
		}
		if got := w.story(row.No); !strings.Contains(got, "2 /do/1/b 0 1 running") && !strings.Contains(got, "waiting") {
			t.Fatalf("timeline %s", got)
		}
		if n := w.journalLength(row); n != 1 { // a checkpoint is a cache of it
			t.Fatalf("%d events in the journal", n)
		}
		time.Sleep(time.Hour)
		if row := w.read(row.No); row.State != store.StateParked {
			t.Fatalf("woken early: %+v", row)
		}
		time.Sleep(time.Hour + 59*time.Minute)
		row = w.finalIn(row, 2*time.Minute)
		if took := time.Since(begin); took < 3*time.Hour || took > 3*time.Hour+2*time.Minute {
			t.Fatalf("took %v", took)
		}
		if row.FinishedMs-row.StartedMs < 3*3600*1000 || row.FinishedMs-row.StartedMs > 3*3600*1000+1000 {
			t.Fatalf("says it took %d ms", row.FinishedMs-row.StartedMs)
		}
		if got := w.result(row.No); got != `{"after":true}` {
			t.Fatal(got)
		}
		if got := strings.Count(w.story(row.No), "completed"); got != 3 {
			t.Fatalf("timeline %s", w.story(row.No))
		}
	})
}

func TestEmittedEventsArePublishedOnce(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	rev := w.define(`
- a: { emit: { event: { with: { type: org.example.done.v1, source: 'https://example.com', data: { x: 1 } } } } }`)
	w.final(w.run(rev, `{}`))
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := w.emitted(); len(got) != 1 || !strings.Contains(string(value.Marshal(got[0])), "org.example.done.v1") {
		t.Fatalf("published %v", got)
	}
}

func TestQueueIsBoundedPerWorkflow(t *testing.T) {
	w := newWorld(t)
	w.limits.AccountSlots, w.limits.QueuedPerWorkflow = 1, 3
	w.start()
	defer w.stop()
	rev := w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }")
	other := w.define("- a: { set: { x: 1 } }")
	gate := w.outside.gate("gate")
	rows := []store.Execution{w.run(rev, `{}`)}
	for range 3 {
		row := w.run(rev, `{}`)
		if row.Status != chargehand.Initial || row.State != store.StateQueued || row.StartedMs != 0 {
			t.Fatalf("%+v", row)
		}
		rows = append(rows, row)
	}
	if _, err := w.startOne(rev, `{}`); !errors.Is(err, engine.ErrQueueFull) {
		t.Fatalf("got %v", err)
	}
	rows = append(rows, w.run(other, `{}`)) // the bound of another workflow
	if err := w.engine.Cancel(t.Context(), rows[3].ID, "enough"); err != nil {
		t.Fatal(err)
	}
	rows = append(rows, w.run(rev, `{}`)) // in the place of the one that was cancelled
	if _, err := w.startOne(rev, `{}`); !errors.Is(err, engine.ErrQueueFull) {
		t.Fatalf("got %v", err)
	}
	close(gate)
	var last int64
	for i, row := range rows {
		row = w.final(row)
		if i == 3 {
			if row.StartedMs != 0 || row.Phase != chargehand.Cancelled || w.result(row.No) != "fault cancelled" {
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
	w.idle(0)
	if len(w.engine.queued.count) != 0 {
		t.Fatalf("queued %v", w.engine.queued.count)
	}
}

func TestResultFiles(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	digest, err := w.Put(t.Context(), []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	insert := func(visible bool, account int64) store.File {
		f := store.File{
			ID: chargehand.FileID(w.id()), Account: account, Environment: chargehand.Live,
			Name: "x.txt", MediaType: "text/plain", Size: 7, Digest: digest, Visible: visible,
		}
		if err := w.store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertFile(&f) }); err != nil {
			t.Fatal(err)
		}
		return f
	}
	made, upload, foreign := insert(false, w.account.No), insert(true, w.account.No), insert(true, 99)
	w.outside.files = func() []machine.File {
		return []machine.File{{ID: made.ID.String(), Name: "x.txt", MediaType: "text/plain", Size: 7, Digest: "sha256:00"}}
	}
	files := func(row store.Execution) string {
		var o store.Outcome
		w.view(func(r *store.Reader) (err error) {
			o, err = r.Outcome(row.No)
			return err
		})
		return string(o.Files)
	}
	attached := "- a: { call: http, with: { method: get, endpoint: http://x/files } }\n"
	row := w.final(w.run(w.define(attached), `{}`))
	if got, want := files(row), `["`+made.ID.String()+`"]`; got != want {
		t.Fatalf("attached: %s, want %s", got, want)
	}
	w.view(func(r *store.Reader) error {
		f, err := r.FileByID(w.account.No, chargehand.Live, made.ID)
		if err == nil && (!f.Visible || f.Execution != row.No) {
			t.Errorf("%+v", f)
		}
		return err
	})
	ref := func(f store.File) string { return fmt.Sprintf(`{"uri":"/api/v1/files/%s","name":"x.txt"}`, f.ID) }
	byInput := w.define(attached + "- b: { set: '${ $workflow.input }' }\n")
	row = w.final(w.run(byInput, `{"z":`+ref(upload)+`,"a":`+ref(made)+`,"f":`+ref(foreign)+`}`))
	if got, want := files(row), fmt.Sprintf(`["%s","%s"]`, made.ID, upload.ID); got != want {
		t.Fatalf("referred to: %s, want %s", got, want)
	}
	row = w.final(w.run(byInput, `{"f":`+ref(foreign)+`}`))
	if got, want := files(row), `["`+made.ID.String()+`"]`; got != want {
		t.Fatalf("of another account: %s, want the attached one", got)
	}
	row = w.final(w.run(w.define("- a: { set: '${ . }' }"), `{"f":`+ref(upload)+`}`))
	if got, want := files(row), `["`+upload.ID.String()+`"]`; got != want {
		t.Fatalf("at once: %s, want %s", got, want)
	}
	row = w.run(w.define("- a: { set: { x: 1 } }"), `{}`)
	if got := files(row); got != "" {
		t.Fatalf("none: %s", got)
	}
}

func TestLongJournalIsDroppedAtCheckpoints(t *testing.T) {
	w := newWorld(t)
	w.limits.JournalEvents = 10
	w.start()
	rev := w.define(`
- a:
    for: { in: '${ [range(25)] }' }
    do:
      - b: { call: http, with: { method: get, endpoint: '${ "http://x/echo/\($index)" }' } }
- c: { call: http, with: { method: get, endpoint: http://x/block/gate } }`)
	gate := w.outside.gate("gate")
	w.outside.started = make(chan callSeen, 10)
	row := w.run(rev, `{}`)
	w.blocked()
	first := int64(0)
	w.view(func(r *store.Reader) error {
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
	live := w.story(row.No)
	if n := strings.Count(live, "\n"); n != 27 {
		t.Fatalf("%d entries while it runs:\n%s", n, live)
	}
	w.kill()
	w.start()
	defer w.stop()
	if got := w.story(row.No); got != live {
		t.Fatalf("after a restart:\n%s\nbefore:\n%s", got, live)
	}
	close(gate)
	row = w.final(row)
	if n := strings.Count(w.story(row.No), "completed"); row.Status != chargehand.Finished || n != 27 {
		t.Fatalf("%v, %d entries:\n%s", row.Status, n, w.story(row.No))
	}
	for key, n := range w.outside.allRuns() {
		if n > 1 && n != 2 {
			t.Fatalf("%s ran %d times", key, n)
		}
	}
}

func TestWatchers(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	rev := w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }")
	gate := w.outside.gate("gate")
	row := w.run(rev, `{}`)
	changed, stop := w.engine.Watch(row.ID)
	defer stop()
	if closed(changed) {
		t.Fatal("told of nothing")
	}
	close(gate)
	select {
	case <-changed:
	case <-time.After(patience):
		t.Fatal("not told of the end")
	}
	if !w.read(row.No).Status.Final() {
		t.Fatal("told before the end")
	}
}

func TestReadyAndRefusalAfterStop(t *testing.T) {
	w := newWorld(t)
	e := w.start()
	rev := w.define("- a: { set: { x: 1 } }")
	row := w.run(rev, `{}`)
	if !e.Ready() {
		t.Fatal("not ready")
	}
	if err := e.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if e.Ready() {
		t.Fatal("ready after its stop")
	}
	if _, err := w.startOne(rev, `{}`); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("start: %v", err)
	}
	if err := e.Cancel(t.Context(), row.ID, ""); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("cancel: %v", err)
	}
	if err := e.Stop(context.Background()); err != nil {
		t.Fatalf("stopped twice: %v", err)
	}
	w.engine = nil
}

// TestLateWordsChangeNothing: outcomes and timers that the machine does not wait for.
func TestLateWordsChangeNothing(t *testing.T) {
	w := newWorld(t)
	e := w.start()
	defer w.stop()
	gate := w.outside.gate("gate")
	w.outside.started = make(chan callSeen, 10)
	row := w.run(w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }"), `{}`)
	w.blocked()
	e.send(row.No, message{kind: deliver, call: &call{command: 1}, event: machine.Event{
		Kind: machine.ActivityEnded, Command: 1, Output: "of another run",
	}})
	e.send(row.No, message{kind: deliver, event: machine.Event{Kind: machine.TimerFired, Command: 7}})
	e.send(row.No, message{kind: deliver, event: machine.Event{Kind: machine.TimerFired, Command: 1}})
	if n := w.journalLength(row); n != 1 {
		t.Fatalf("%d events in the journal", n)
	}
	if n := e.Stats().Late; n != 1 || !w.log.contains("late outcome dropped") {
		t.Fatalf("%d late outcomes\n%s", n, w.log)
	}
	close(gate)
	w.final(row)
	if got := w.result(row.No); got != `"released gate"` {
		t.Fatal(got)
	}
	e.send(row.No, message{kind: deliver, event: machine.Event{Kind: machine.TimerFired, Command: 7}})
	e.send(row.No+1000, message{kind: deliver, event: machine.Event{Kind: machine.TimerFired, Command: 7}})
	if n := e.runs.size(); n != 0 {
		t.Fatalf("%d executions in memory", n)
	}
}
