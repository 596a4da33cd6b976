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

// TestStreamsDoNotKeepCallsWaiting: streams that are open for days have permits of their own; what
// finds none waits in line and gets one later.
func TestStreamsDoNotKeepCallsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.limits.Calls, fx.limits.Streams = 1, 2
		fx.runner = openRunner{}
		fx.start()
		defer fx.stop()
		stream := fx.define(fmt.Sprintf(streamOf, 4))
		rows := []int64{}
		for range 3 {
			rows = append(rows, fx.run(stream, `{}`).No)
		}
		synctest.Wait()
		if s := fx.engine.Stats(); s.StreamsRunning != 2 || s.StreamsWaiting != 1 || s.CallsRunning != 0 {
			t.Fatalf("%d streams are open, %d wait, %d calls run", s.StreamsRunning, s.StreamsWaiting, s.CallsRunning)
		}
		call := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/ } }"), `{}`)
		if got := fx.endOf(call, time.Minute).result; got != `"answered"` {
			t.Errorf("a call beside streams ends with %s", got)
		}
		if err := fx.engine.Cancel(t.Context(), fx.read(rows[0]).ID, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := fx.engine.Stats(); s.StreamsRunning != 2 || s.StreamsWaiting != 0 {
			t.Errorf("%d streams are open, %d wait after one has ended", s.StreamsRunning, s.StreamsWaiting)
		}
		for _, no := range rows[1:] {
			if err := fx.engine.Cancel(t.Context(), fx.read(no).ID, ""); err != nil {
				t.Fatal(err)
			}
		}
		fx.idle(0)
	})
}

// TestDetachedProcessIsLogged: the log says how a process ends that no task awaits, before and
// after the end of its execution.
func TestDetachedProcessIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		defer fx.stop()
		for _, more := range []string{"", "\n- c: { wait: { seconds: 10 } }"} {
			rev := fx.define(`
- a: { run: { shell: { command: sh///slow/100 }, await: false } }
- b: { run: { shell: { command: sh///slowfail/100 }, await: false } }` + more)
			row := fx.run(rev, `{}`)
			if end := fx.endOf(row, time.Minute); end.status != chargehand.Finished.String()+" "+chargehand.Completed.String() {
				t.Fatalf("it ends as %s", end.status)
			}
			time.Sleep(time.Second)
			if fx.log.contains("late outcome") {
				t.Errorf("an outcome that no task awaits counts as late:\n%s", fx.log)
			}
			for _, want := range []string{
				"INFO a detached process has ended execution=" + row.ID.String() + " task=/do/0/a",
				"WARN a detached process has failed execution=" + row.ID.String() +
					" task=/do/1/b type=" + machine.ErrCommunication + " status=503",
			} {
				if !fx.log.contains(want) {
					t.Errorf("the log does not say %q:\n%s", want, fx.log)
				}
			}
		}
		fx.idle(0)
	})
}
