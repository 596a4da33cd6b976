package service

import (
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// TestRecording: what the timeline holds of the world outside is shown with times since the start, as a whole or not at
// all.
func TestRecording(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	_, err := fx.Recording(t.Context(), fx.p, flow.ID, e.ID)
	wantCode(t, err, chargehand.CodeStateConflict)
	fx.finish(e.ID, `{"done":true}`)
	_, made := timelineOf(t, string(definition("one", "1.0.0")), map[string]any{})
	entry, began := made[0], fx.get(e).StartedAt.UnixMilli()
	entry.Phase, entry.StartedMs, entry.EndedMs, entry.Wait = chargehand.Completed, began+1, began+3, nil
	entry.Outcomes = []machine.Outcome{
		{Kind: machine.Progressed, Reference: entry.Reference, AskedMs: began + 1, AtMs: began + 2, Output: map[string]any{"n": 1}},
		{Kind: machine.ActivityEnded, Reference: entry.Reference, AskedMs: began + 1, AtMs: began + 3, Fault: &machine.Fault{Type: machine.ErrTimeout, Status: 408}},
		{Reference: entry.Reference, AskedMs: began + 1, AtMs: began + 3},
	}
	fx.engine.lines = []machine.Entry{entry}
	g, err := fx.Recording(t.Context(), fx.p, flow.ID, e.ID)
	if err != nil || len(g.Tasks) != 1 || len(g.Outcomes) != 3 {
		t.Fatalf("%+v, %v", g, err)
	}
	if one := g.Outcomes[0]; one.Kind != "message" || string(one.Output) != `{"n":1}` || one.Asked != time.Millisecond || one.At != 2*time.Millisecond || one.Seq != 1 {
		t.Errorf("the first outcome is %+v", one)
	}
	if two, three := g.Outcomes[1], g.Outcomes[2]; two.Kind != "activity" || two.Output != nil || two.Error.Status != 408 || three.Kind != "none" || three.Output != nil {
		t.Errorf("the others are %+v and %+v", two, three)
	}
	if string(g.Execution.Output) != `{"done":true}` || string(g.Execution.Input) != `{}` || g.Tasks[0].Ended != 3*time.Millisecond {
		t.Errorf("the recording is %+v of %s to %s", g.Tasks, g.Execution.Input, g.Execution.Output)
	}
	_, err = fx.Recording(t.Context(), fx.test, flow.ID, e.ID)
	wantCode(t, err, chargehand.CodeExecutionNotFound)

	for name, change := range map[string]func(){
		"cut off": func() { fx.engine.cut = true },
		"lost":    func() { fx.engine.lines[0].Outcomes = []machine.Outcome{{Lost: true}} },
		"too large": func() {
			fx.engine.lines[0].Outcomes = []machine.Outcome{{Kind: machine.ActivityEnded, Output: strings.Repeat("x", maxRecordingBytes)}}
		},
		"faults": func() {
			fx.engine.lines[0].Outcomes = many(machine.Outcome{Kind: machine.ActivityEnded, Fault: &machine.Fault{Type: machine.ErrTimeout, Detail: strings.Repeat("x", 16<<10)}}, 1100)
		},
		"escaped faults": func() {
			fx.engine.lines[0].Outcomes = many(machine.Outcome{Kind: machine.ActivityEnded, Fault: &machine.Fault{Type: machine.ErrTimeout, Detail: strings.Repeat("\x01", 16<<10)}}, 200)
		},
		"files": func() {
			fx.engine.lines[0].Outcomes = many(machine.Outcome{Kind: machine.ActivityEnded, Files: make([]machine.File, 100)}, 900)
		},
		"outcomes": func() {
			fx.engine.lines[0].Outcomes = many(machine.Outcome{Kind: machine.Progressed, Reference: strings.Repeat("/do", 100)}, 40_000)
		},
		"tasks": func() {
			entry := entry
			entry.Name, entry.Outcomes = strings.Repeat("x", 1<<10), nil
			fx.engine.lines = many(entry, 15_000)
		},
	} {
		fx.engine.cut, fx.engine.lines = false, []machine.Entry{entry}
		change()
		_, err := fx.Recording(t.Context(), fx.p, flow.ID, e.ID)
		if wantCode(t, err, chargehand.CodeRecordingIncomplete); t.Failed() {
			t.Errorf("%s: %v", name, err)
		}
	}
	fx.engine.cut, fx.engine.lines = false, []machine.Entry{entry}
	unstarted := fx.create(flow.ID, noInput)
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		row, err := tx.FindExecution(unstarted.ID)
		if err == nil {
			_, err = tx.FinishExecution(row.No, chargehand.Errored, chargehand.Cancelled, 0, epoch.UnixMilli(), &store.Outcome{Fault: []byte(`{"type":"x","status":500}`)})
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	_, err = fx.Recording(t.Context(), fx.p, flow.ID, unstarted.ID)
	wantCode(t, err, chargehand.CodeRecordingIncomplete)
}

func many[T any](one T, n int) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = one
	}
	return list
}
