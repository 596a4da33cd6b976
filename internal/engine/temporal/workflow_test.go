package temporal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const get = "{call: http, with: {method: get, endpoint: 'https://example.org/'}}"

// echo answers an activity with what it was given.
func echo(_ context.Context, c runner.Call) runner.Result { return runner.Result{Output: c.Input} }

// simulate runs a definition in the simulation to its end.
func simulate(t *testing.T, definition string, input value.Value, outside func(context.Context, runner.Call) runner.Result, change func(*simulated, argument)) (*workerFixture, argument, *simulated) {
	t.Helper()
	o := newWorkerFixture(t)
	o.outside = outside
	s := &simulated{workerFixture: o, limits: defaultLimits()}
	a := o.accept(compile(t, definition), input)
	if change != nil {
		change(s, a)
	}
	s.run(t, a)
	return o, a, s
}

func wantOutput(t *testing.T, o *workerFixture, a argument, want string) {
	t.Helper()
	got := o.result(a, nil)
	if got.Phase != chargehand.Completed || !value.Equal(got.Output, parsed(t, []byte(want))) {
		t.Errorf("it ended %s with %s, fault %+v; want %s", got.Phase, value.Marshal(got.Output), got.Fault, want)
	}
}

func wantFault(t *testing.T, o *workerFixture, a argument, code string) {
	t.Helper()
	got := o.result(a, nil)
	if got.Phase != chargehand.Faulted || got.Fault == nil || got.Fault.Code != code {
		t.Errorf("it ended %s with %s, fault %+v; want code %s", got.Phase, value.Marshal(got.Output), got.Fault, code)
	}
}

// suggest makes the simulation suggest a new run once that many activities have begun in a run.
func suggest(s *simulated, after int) {
	s.before = func(env environment) {
		begun := 0
		env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) {
			if begun++; begun >= after {
				env.SetContinueAsNewSuggested(true)
			}
		})
	}
}

// A loop over calls continues across runs, and its timeline is whole.
func TestLoopAcrossRuns(t *testing.T) {
	t.Parallel()
	o, a, s := simulate(t,
		"do: [{a: {for: {in: '[range(60)]'}, do: [{b: "+get+"}, {c: {set: '${ . + 1 }'}}]}}]", 0, echo,
		func(s *simulated, _ argument) { suggest(s, 7) })
	wantOutput(t, o, a, "60")
	if s.runs < 8 {
		t.Errorf("there were %d runs", s.runs)
	}
	if entries := o.result(a, nil).Timeline; len(entries) != 121 || entries[120].Seq != 121 {
		t.Errorf("the timeline has %d entries", len(entries))
	}
}

// Two loops in a fork: a run ends only when the calls of both have.
func TestForkedLoopsAcrossRuns(t *testing.T) {
	t.Parallel()
	loop := "{for: {in: '[range(40)]'}, do: [{b: " + get + "}, {c: {set: '${ . + 1 }'}}]}"
	o, a, s := simulate(t, "do: [{split: {fork: {branches: [{l: "+loop+"}, {r: "+loop+"}]}}}]", 0, echo,
		func(s *simulated, _ argument) { suggest(s, 5) })
	wantOutput(t, o, a, "[40, 40]")
	if s.runs < 8 {
		t.Errorf("there were %d runs", s.runs)
	}
}

// Pure steps beyond what a run may take, with more than the timeline keeps.
func TestComputingAcrossRuns(t *testing.T) {
	t.Parallel()
	o, a, s := simulate(t, "do: [{a: {for: {in: '[range(90000)]'}, do: [{b: {set: '${ . + 1 }'}}]}}]", 0, echo, nil)
	wantOutput(t, o, a, "90000")
	if s.runs != 3 {
		t.Errorf("there were %d runs", s.runs)
	}
	var chunks [][]byte
	o.view(func(r *store.Reader) (err error) {
		chunks, err = r.TimelineChunks(a.No)
		return err
	})
	got := o.result(a, nil)
	if len(got.Timeline) != 1+10_000 || got.Timeline[0].Seq != 1 || len(chunks) != 1 { // with the loop itself
		t.Errorf("%d entries in the end, %d chunks before", len(got.Timeline), len(chunks))
	}
}

// Waits that are longer than a run keep their due times.
func TestWaitsAcrossRuns(t *testing.T) {
	t.Parallel()
	var began time.Time
	o, a, s := simulate(t, "do: [{f: {fork: {branches: [{w: {wait: PT1H}}, {l: {for: {in: '[range(9)]'}, do: [{b: "+get+"}]}}]}}}, {z: {set: '${ 1 }'}}]", 0, echo,
		func(s *simulated, a argument) {
			suggest(s, 2)
			began = time.UnixMilli(a.StartedMs)
			before := s.before
			s.before = func(env environment) {
				before(env)
				env.SetStartTime(began)
			}
		})
	wantOutput(t, o, a, "1")
	for _, e := range o.result(a, nil).Timeline {
		if e.Name == "w" && (e.EndedMs-e.StartedMs < 3_600_000 || e.EndedMs-e.StartedMs > 3_601_000) {
			t.Errorf("the wait took %d ms", e.EndedMs-e.StartedMs)
		}
	}
	if s.runs < 4 {
		t.Errorf("there were %d runs", s.runs)
	}
	if row := o.row(a.No); row.FinishedMs-row.StartedMs < 3_600_000 {
		t.Errorf("it ended after %d ms", row.FinishedMs-row.StartedMs)
	}
}

// A request to cancel that comes while the run drains ends the execution.
func TestCancelWhileDraining(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	var s *simulated
	var a argument
	o, _, _ := simulate(t, "do: [{a: {for: {in: '[range(1000)]'}, do: [{b: "+get+"}]}}]", 0,
		func(_ context.Context, c runner.Call) runner.Result {
			if calls.Add(1) == 5 {
				s.during.SetContinueAsNewSuggested(true)
				s.workerFixture.cancel(a.No)
				s.during.SignalWorkflow(messageSignal, message{No: 1, Kind: kindCancel, Reason: "enough"})
			}
			return runner.Result{Output: c.Input}
		}, func(x *simulated, y argument) { s, a = x, y })
	got := o.result(a, nil)
	if got.Phase != chargehand.Cancelled || calls.Load() > 6 {
		t.Errorf("it ended %s after %d calls", got.Phase, calls.Load())
	}
	if n := len(got.Timeline); n < 6 || !got.Timeline[n-1].Ended() {
		t.Errorf("the timeline has %d entries", n)
	}
}

// What is held must not wait for a call of another branch without end: after a while the run
// continues.
func TestDrainingGivesWay(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	var calls atomic.Int32
	o, a, s := simulate(t, `
do:
  - race:
      fork:
        compete: true
        branches:
          - slow: `+get+`
          - quick: {do: [{l: {for: {in: '[range(6)]'}, do: [{b: `+get+`}]}}, {z: {set: '${ "won" }'}}]}
`, 0, func(ctx context.Context, c runner.Call) runner.Result {
		if len(c.Reference) > 4 && c.Reference[len(c.Reference)-4:] == "slow" {
			select {
			case <-ctx.Done():
			case <-released:
			}
			return runner.Result{}
		}
		calls.Add(1)
		return runner.Result{Output: c.Input}
	}, func(s *simulated, _ argument) {
		s.limits.drainTimeout = 20 * time.Millisecond // of real time: an activity runs
		suggest(s, 3)
	})
	close(released)
	wantOutput(t, o, a, `"won"`)
	if calls.Load() != 6 || s.runs != 1 {
		t.Errorf("%d calls in %d runs", calls.Load(), s.runs)
	}
}

// Messages are taken in once, however often they come, also in the next run.
func TestMessagesOnce(t *testing.T) {
	t.Parallel()
	r := &run{limits: defaultLimits(), seen: []int64{7}}
	for i := range int64(1500) {
		r.remember(i + 10)
	}
	if len(r.seen) != maxSeen || r.seen[maxSeen-1] != 1509 || r.seen[0] != 510 {
		t.Errorf("%d numbers from %d to %d", len(r.seen), r.seen[0], r.seen[len(r.seen)-1])
	}
	if r.remember(1509) || !r.remember(9) {
		t.Error("a number that was seen counts as new, or the other way round")
	}
}

// loser makes attempts look as if their worker had gone.
type loser struct {
	mu   sync.Mutex
	runs map[string]int
	lost int // attempts of each activity
	err  error
}

func (l *loser) perform(a *activities) func(context.Context, call) (outcome, error) {
	return func(ctx context.Context, c call) (outcome, error) {
		l.mu.Lock()
		l.runs[c.Key]++
		lost := l.runs[c.Key] <= l.lost
		l.mu.Unlock()
		if lost && l.err == nil {
			panic("boom")
		}
		if lost {
			return outcome{}, l.err
		}
		return a.perform(ctx, c)
	}
}

func loseAttempts(t *testing.T, task string, lost int, err error) (*workerFixture, argument, *loser) {
	t.Helper()
	l := &loser{runs: make(map[string]int), lost: lost, err: err}
	o := newWorkerFixture(t)
	o.outside = echo
	a := o.accept(compile(t, "do: [{a: "+task+"}]"), 1)
	s := &simulated{workerFixture: o, limits: defaultLimits(), perform: l.perform}
	s.run(t, a)
	return o, a, l
}

// TestLostAttempts: an activity survives three interruptions (T91), however they look.
func TestLostAttempts(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"heartbeat": sdk.NewHeartbeatTimeoutError(),
		"cut off":   sdk.NewNonRetryableApplicationError("stop", codeInterrupted, nil),
		"cancelled": sdk.NewCanceledError(),
		"payload":   errors.New("Activity task postprocess error: store payload: storage unavailable"),
	} {
		t.Run(name, func(t *testing.T) {
			o, a, l := loseAttempts(t, get, 3, err)
			wantOutput(t, o, a, "1")
			if len(l.runs) != 1 {
				t.Errorf("the attempts have %d keys", len(l.runs))
			}
			o, a, _ = loseAttempts(t, get, 4, err)
			wantFault(t, o, a, machine.CodeInterrupted)
		})
	}
	t.Run("onInterrupted", func(t *testing.T) {
		o, a, l := loseAttempts(t, "{call: http, metadata: {onInterrupted: fault}, with: {method: get, endpoint: 'https://example.org/'}}", 1, sdk.NewHeartbeatTimeoutError())
		wantFault(t, o, a, machine.CodeInterrupted)
		for key, runs := range l.runs {
			if runs != 1 {
				t.Errorf("%s ran %d times", key, runs)
			}
		}
	})
	t.Run("panic", func(t *testing.T) {
		o, a, l := loseAttempts(t, get, 1, nil)
		wantFault(t, o, a, engine.CodeInternal)
		for key, runs := range l.runs {
			if runs != 1 {
				t.Errorf("%s ran %d times", key, runs)
			}
		}
	})
}

// Many activities at once: no more than the pace allows, and few arguments per task.
func TestPending(t *testing.T) {
	t.Parallel()
	branches := ""
	for i := range 40 {
		branches += fmt.Sprintf("{b%d: %s}, ", i, get)
	}
	for name, slow := range map[string]func(*limits){
		"places":              func(p *limits) { p.pending, p.taskBytes = 8, 200 },
		"room in the history": func(p *limits) { p.roomBytes, p.taskBytes = 8*callBytes+500, 200 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var running, most atomic.Int32
			full := make(chan struct{})
			o, a, _ := simulate(t, "do: [{f: {fork: {branches: ["+branches+"]}}}, {z: {set: '${ 1 }'}}]", "x", func(context.Context, runner.Call) runner.Result {
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
					if n == 8 {
						close(full)
					}
				}
				<-full
				running.Add(-1)
				return runner.Result{}
			}, func(s *simulated, _ argument) { slow(&s.limits) })
			wantOutput(t, o, a, "1")
			if most.Load() != 8 {
				t.Errorf("%d ran at once", most.Load())
			}
		})
	}
}

// What cannot be revived ends with a system fault, in the row.
func TestBrokenArguments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*argument)
		code   string
	}{
		"revision":   {func(a *argument) { a.Revision = machine.Revision + 1 }, engine.CodeRevision},
		"definition": {func(a *argument) { a.Definition = "do: 1"; a.Digest = digestOf(a.Definition, nil) }, engine.CodeInternal},
		"digest":     {func(a *argument) { a.Digest = digestOf("other", nil) }, engine.CodeInternal},
		"checkpoint": {func(a *argument) { a.Continued = &continued{State: []byte(`{"version":1,"revision":1}`)} }, engine.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			o := newWorkerFixture(t)
			a := o.accept(compile(t, "do: [{a: {set: '${ 1 }'}}]"), 1)
			broken := a
			test.change(&broken)
			(&simulated{workerFixture: o, limits: defaultLimits()}).run(t, broken)
			wantFault(t, o, a, test.code)
		})
	}
}

// A workflow that is cancelled in Temporal itself ends its row as cancelled.
func TestCancelledInTemporal(t *testing.T) {
	t.Parallel()
	var s *simulated
	o, a, _ := simulate(t, "do: [{a: "+get+"}]", 0, func(ctx context.Context, _ runner.Call) runner.Result {
		s.during.CancelWorkflow()
		<-ctx.Done()
		return runner.Result{}
	}, func(x *simulated, _ argument) { s = x })
	got := o.result(a, nil)
	if got.Phase != chargehand.Cancelled || got.Fault.Detail != "The workflow was cancelled in Temporal." {
		t.Errorf("it ended %s, %+v", got.Phase, got.Fault)
	}
}
