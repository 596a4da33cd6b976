package embedded

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
)

// openRunner keeps streams open until they are stopped, and answers calls at once.
type openRunner struct{}

func (openRunner) Run(ctx context.Context, c activity.Call) activity.Result {
	if c.Progress != nil {
		<-ctx.Done()
	}
	return activity.Result{Output: "answered"}
}

// TestStreamsDoNotKeepCallsWaiting: streams that are open for days have places of their own; what
// finds none waits in line and gets one later.
func TestStreamsDoNotKeepCallsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.limits.Calls, w.limits.Streams = 1, 2
		w.runner = openRunner{}
		w.start()
		defer w.stop()
		stream := w.define(fmt.Sprintf(streamOf, 4))
		rows := []int64{}
		for range 3 {
			rows = append(rows, w.run(stream, `{}`).No)
		}
		synctest.Wait()
		if s := w.engine.Stats(); s.StreamsRunning != 2 || s.StreamsWaiting != 1 || s.CallsRunning != 0 {
			t.Fatalf("%d streams are open, %d wait, %d calls run", s.StreamsRunning, s.StreamsWaiting, s.CallsRunning)
		}
		call := w.run(w.define("- a: { call: http, with: { method: get, endpoint: http://x/ } }"), `{}`)
		if got := w.endOf(call, time.Minute).result; got != `"answered"` {
			t.Errorf("a call beside streams ends with %s", got)
		}
		if err := w.engine.Cancel(t.Context(), w.read(rows[0]).ID, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := w.engine.Stats(); s.StreamsRunning != 2 || s.StreamsWaiting != 0 {
			t.Errorf("%d streams are open, %d wait after one has ended", s.StreamsRunning, s.StreamsWaiting)
		}
		for _, no := range rows[1:] {
			if err := w.engine.Cancel(t.Context(), w.read(no).ID, ""); err != nil {
				t.Fatal(err)
			}
		}
		w.idle(0)
	})
}

// TestDetachedProcessIsLogged: how a process ends that nobody waits for goes to the log, before and after the end
// of its execution.
func TestDetachedProcessIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		defer w.stop()
		for _, more := range []string{"", "\n- c: { wait: { seconds: 10 } }"} {
			rev := w.define(`
- a: { run: { shell: { command: sh///slow/100 }, await: false } }
- b: { run: { shell: { command: sh///slowfail/100 }, await: false } }` + more)
			row := w.run(rev, `{}`)
			if end := w.endOf(row, time.Minute); end.status != chargehand.Finished.String()+" "+chargehand.Completed.String() {
				t.Fatalf("it ends as %s", end.status)
			}
			time.Sleep(time.Second)
			if w.log.contains("late outcome") {
				t.Errorf("what nobody waits for counts as late:\n%s", w.log)
			}
			for _, want := range []string{
				"INFO a process that nobody waits for has ended execution=" + row.ID.String() + " task=/do/0/a",
				"WARN a process that nobody waits for has failed execution=" + row.ID.String() + " task=/do/1/b type=" + machine.ErrCommunication + " status=503",
			} {
				if !w.log.contains(want) {
					t.Errorf("the log does not say %q:\n%s", want, w.log)
				}
			}
		}
		w.idle(0)
	})
}
