package rehearse_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/rehearse"
	"github.com/chargehand/chargehand/internal/value"
)

func compile(t *testing.T, definition string) *plan.Plan {
	t.Helper()
	return (&machinetest.Script{Definition: definition}).Compile(t)
}

const call = "{call: http, with: {method: get, endpoint: 'https://example.org/'}}"

// play runs a definition whose activities are answered by the last part of their pointer.
func play(t *testing.T, c rehearse.Config, definition string, answers map[string]rehearse.Answer) (rehearse.Result, error) {
	t.Helper()
	c.Plan, c.Input, c.StartMs = compile(t, definition), map[string]any{}, epoch
	c.Outside.Activity = func(_ *rehearse.Execution, cmd machine.Command) (rehearse.Answer, error) {
		return answers[cmd.Reference[strings.LastIndexByte(cmd.Reference, '/')+1:]], nil
	}
	return rehearse.Run(t.Context(), c)
}

// The clock moves to what comes first, be it an outcome or a timer: a delayed answer comes before a later timeout, and
// never after an earlier one.
func TestClock(t *testing.T) {
	const definition = "do: [{ask: {call: http, with: {method: get, endpoint: 'https://example.org/'}, timeout: {after: PT10S}}}]"
	for _, c := range []struct {
		afterMs, endMs int64
		phase          chargehand.Phase
	}{{9_000, 9_000, chargehand.Completed}, {11_000, 10_000, chargehand.Faulted}, {10_000, 10_000, chargehand.Faulted}} {
		got, err := play(t, rehearse.Config{}, definition, map[string]rehearse.Answer{"ask": {AfterMs: c.afterMs}})
		if err != nil || got.Phase != c.phase || got.EndMs-epoch != c.endMs {
			t.Errorf("an answer after %d ms: %s after %d ms, %v", c.afterMs, got.Phase, got.EndMs-epoch, err)
		}
	}
}

// Nothing left to happen is an error that says what hangs.
func TestStuck(t *testing.T) {
	_, err := play(t, rehearse.Config{}, "do: [{ask: "+call+"}]", map[string]rehearse.Answer{"ask": {Hangs: true}})
	var stuck *rehearse.Stuck
	if !errors.As(err, &stuck) || len(stuck.Hanging) != 1 || stuck.Hanging[0].Reference != "/do/0/ask" || len(stuck.Open) != 1 {
		t.Errorf("got %v, %+v", err, stuck)
	}
}

func TestInterruptions(t *testing.T) {
	for count, phase := range map[int]chargehand.Phase{3: chargehand.Completed, 4: chargehand.Faulted} {
		got, err := play(t, rehearse.Config{}, "do: [{ask: "+call+"}]", map[string]rehearse.Answer{"ask": {Interruptions: count}})
		if err != nil || got.Phase != phase {
			t.Errorf("%d interruptions: %s, %v", count, got.Phase, err)
		}
	}
}

// What is suspended starts nothing until it is resumed, and an execution can be stopped while it waits.
func TestScheduled(t *testing.T) {
	steps := func(r *rehearse.Rehearsal) bool {
		if r.NowMs() > epoch {
			return false
		}
		r.At(epoch+1_000, (*rehearse.Rehearsal).Suspend)
		r.At(epoch+9_000, (*rehearse.Rehearsal).Resume)
		r.At(epoch+1, func(*rehearse.Rehearsal) {})
		return false
	}
	once := false
	got, err := play(t, rehearse.Config{Outside: rehearse.Outside{Idle: func(r *rehearse.Rehearsal) bool {
		if once {
			return false
		}
		once = true
		return steps(r)
	}}}, "do: [{a: {wait: PT2S}}, {b: {wait: PT2S}}]", nil)
	if err != nil || got.Phase != chargehand.Completed || got.EndMs-epoch != 11_000 {
		t.Errorf("suspended: %s after %d ms, %v", got.Phase, got.EndMs-epoch, err)
	}
	got, err = play(t, rehearse.Config{Outside: rehearse.Outside{Idle: func(r *rehearse.Rehearsal) bool {
		if r.Phase() == chargehand.Waiting {
			r.Stop()
		}
		return true
	}}}, "do: [{a: {listen: {to: {any: []}}}}]", nil)
	if err != nil || got.Phase != chargehand.Waiting || len(got.Timeline) != 1 {
		t.Errorf("stopped: %s, %v, %v", got.Phase, value.Marshal(got.Output), err)
	}
}

func TestEndless(t *testing.T) {
	_, err := play(t, rehearse.Config{MaxEvents: 100}, "do: [{a: {wait: PT1S}}, {b: {set: {n: 1}, then: a}}]", nil)
	if !errors.Is(err, rehearse.ErrEndless) {
		t.Errorf("got %v", err)
	}
}

// A workflow that starts itself without end gets the error that it gets in life.
func TestChildDepth(t *testing.T) {
	const definition = "do: [{again: {run: {workflow: {namespace: test, name: flow, version: '1.0.0'}}}}]"
	p, asked := compile(t, definition), byte(0)
	child := func(*rehearse.Execution, machine.Command) (*plan.Plan, rehearse.Answer, error) {
		asked++
		if asked > machine.MaxChildDepth { // else the stack ends the whole program
			return nil, rehearse.Answer{}, errors.New("one too many was started")
		}
		return p, rehearse.Answer{}, nil
	}
	got, err := play(t, rehearse.Config{Outside: rehearse.Outside{Child: child}}, definition, nil)
	if err != nil || got.Phase != chargehand.Faulted || got.Fault == nil || got.Fault.Code != machine.CodeChildDepth {
		t.Errorf("got %s, %+v, %v", got.Phase, got.Fault, err)
	}
	if n := len(got.Executions); n != machine.MaxChildDepth+1 {
		t.Errorf("%d executions were started", n)
	}
}
