package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// nested has a list in a loop in a loop, and calls a function there.
const nested = `document: {dsl: 1.0.3, namespace: test, name: nested, version: 1.0.0}
use: {functions: {twice: {do: [{inner: {set: '${ . }'}}]}}}
do:
  - rows:
      for: {each: row, in: '${ [1, 2] }'}
      do:
        - columns:
            for: {each: column, in: '${ [1, 2, 3] }'}
            do: [{cell: {set: '${ [$row, $column] }'}}, {both: {call: twice}}]
  - pause: {wait: PT1S}
`

// timelineOf makes the entries of an execution of a definition, and its plan.
func timelineOf(t *testing.T, source string, input value.Value) (*plan.Plan, []machine.Entry) {
	t.Helper()
	doc, problems := dsl.Parse([]byte(source))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	compiled, problems := plan.Compile(doc, plan.Options{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := machine.New(compiled, machine.Identity{Execution: chargehand.ExecutionID{1}})
	m.Apply(machine.Event{Kind: machine.Started, TimeMs: epoch.UnixMilli(), Output: input})
	return compiled, m.Timeline()
}

func TestTimeline(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	fx.engine.cut = true
	_, made := timelineOf(t, string(definition("one", "1.0.0")), map[string]any{})
	for i := range 5 {
		entry := made[0]
		entry.Seq, entry.Phase, entry.EndedMs, entry.Input, entry.Wait = i+3, chargehand.Completed, epoch.UnixMilli()+1, map[string]any{"i": i}, nil
		fx.engine.lines = append(fx.engine.lines, entry)
	}
	fx.engine.lines[4].Phase, fx.engine.lines[4].Fault = chargehand.Faulted, &machine.Fault{Type: machine.ErrRuntime, Status: 500}
	fx.engine.lines[0].Files = []machine.File{{ID: newID[chargehand.FileID](1).String(), Name: "a.txt", MediaType: "text/plain", Size: 2, Digest: "sha256:" + strings.Repeat("ab", 32)}}
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		row, err := tx.FindExecution(e.ID)
		if err != nil {
			return err
		}
		return tx.AppendLog(&store.LogSegment{Execution: row.No, Lines: 2, Bytes: 30, Tasks: []byte{3, 20, 6, 10}, Data: store.Payload{Inline: []byte("x")}})
	}); err != nil {
		t.Fatal(err)
	}
	list := ListTimeline{Workflow: flow.ID, Execution: e.ID, Limit: 2, View: view}
	page, err := fx.Timeline(t.Context(), fx.p, list)
	if err != nil || len(page.Data) != 2 || page.Next != 4 || !page.Truncated {
		t.Fatalf("first page is %+v, %v", page, err)
	}
	first := page.Data[0]
	if first.Seq != 3 || string(first.Input) != `{"i":0}` || string(first.Output) != "null" || first.FinishedAt.Sub(first.StartedAt) != time.Millisecond || first.Kind != "wait" || first.LogBytes != 20 || page.Data[1].LogBytes != 0 {
		t.Errorf("entry is %+v", first)
	}
	if f := first.Files[0]; f.Filename != "a.txt" || f.SHA256 != strings.Repeat("ab", 32) || !strings.HasPrefix(f.URL, "https://example.com/api/v1/files/") {
		t.Errorf("file is %+v", f)
	}
	list.Limit, list.After = 3, page.Next
	page, err = fx.Timeline(t.Context(), fx.p, list)
	if err != nil || len(page.Data) != 3 || page.Next != 0 {
		t.Fatalf("last page is %+v, %v", page, err)
	}
	if last := page.Data[2]; last.Error == nil || last.Error.Code != "runtime" || last.Error.Origin != "workflow" || last.Output != nil {
		t.Errorf("entry is %+v", last)
	}
	_, err = fx.Timeline(t.Context(), fx.test, list)
	wantCode(t, err, chargehand.CodeExecutionNotFound)
	_, err = fx.Progress(t.Context(), fx.test, flow.ID, e.ID)
	wantCode(t, err, chargehand.CodeExecutionNotFound)
	_, err = fx.ExecutionGraph(t.Context(), fx.test, flow.ID, e.ID)
	wantCode(t, err, chargehand.CodeExecutionNotFound)
}

// TestTimelineFilters: each filter lets through what it names, in both orders, on pages of any size.
func TestTimelineFilters(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply([]byte(nested))
	e := fx.create(flow.ID, noInput)
	fx.engine.plan, fx.engine.lines = timelineOf(t, nested, map[string]any{})
	const rows, columns = "/do/0/rows", "/do/0/rows/do/0/columns"
	const cell, both, inner = columns + "/do/0/cell", columns + "/do/1/both", "/use/functions/twice/do/0/inner"
	for name, c := range map[string]struct {
		list ListTimeline
		want []int64
	}{
		"all":            {ListTimeline{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22}},
		"of a task":      {ListTimeline{References: []string{columns}}, []int64{2, 12}},
		"of two tasks":   {ListTimeline{References: []string{columns, rows}}, []int64{1, 2, 12}},
		"of no task":     {ListTimeline{References: []string{"/do/9"}}, nil},
		"under a loop":   {ListTimeline{Under: columns, References: []string{cell}}, []int64{3, 6, 9, 13, 16, 19}},
		"under a call":   {ListTimeline{Under: both}, []int64{4, 5, 7, 8, 10, 11, 14, 15, 17, 18, 20, 21}},
		"under a prefix": {ListTimeline{Under: "/do/0/row"}, nil},
		"in a phase":     {ListTimeline{Phases: []chargehand.Phase{chargehand.Waiting, chargehand.Running}}, []int64{22}},
		"after one":      {ListTimeline{AfterSeq: 12, References: []string{inner}}, []int64{15, 18, 21}},
		"after all":      {ListTimeline{AfterSeq: 22}, nil},
		"a summary":      {ListTimeline{Summary: true, References: []string{rows}}, []int64{1}},
	} {
		c.list.Workflow, c.list.Execution, c.list.View = flow.ID, e.ID, view
		for _, limit := range []int{1, 3, 100} {
			c.list.Limit, c.list.Descending = limit, false
			if got := timelineSeqs(t, fx, c.list); !slices.Equal(got, c.want) {
				t.Errorf("%s by %d: %d, want %d", name, limit, got, c.want)
			}
			c.list.Descending = true
			got := timelineSeqs(t, fx, c.list)
			slices.Reverse(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s by %d, the last ones first: %d, want %d", name, limit, got, c.want)
			}
		}
	}
	page, err := fx.Timeline(t.Context(), fx.p, ListTimeline{Workflow: flow.ID, Execution: e.ID, AfterSeq: 19, Limit: 10, View: view})
	if err != nil || len(page.Data) != 3 {
		t.Fatalf("%+v, %v", page, err)
	}
	call, body, pause := page.Data[0], page.Data[1], page.Data[2]
	if call.Parent != 12 || call.Kind != "call" || !slices.Equal(call.Iterations, []int{1, 2}) || body.Parent != 20 || !slices.Equal(body.Iterations, []int{1, 2}) {
		t.Errorf("the call is %+v, the body of its function %+v", call, body)
	}
	if w := pause.WaitingFor; pause.Parent != 0 || len(pause.Iterations) != 0 || w == nil || w.Kind != "timer" || !w.Until.Equal(epoch.Add(time.Second)) {
		t.Errorf("the wait is %+v, waiting for %+v", pause, w)
	}
}

// timelineSeqs reads all pages of a list.
func timelineSeqs(t *testing.T, fx *fixture, list ListTimeline) (found []int64) {
	t.Helper()
	for {
		page, err := fx.Timeline(t.Context(), fx.p, list)
		if err != nil || len(page.Data) > list.Limit {
			t.Fatalf("%d entries, %v", len(page.Data), err)
		}
		for _, e := range page.Data {
			found = append(found, e.Seq)
			if list.Summary != (e.Input == nil) {
				t.Errorf("entry %d has the input %s", e.Seq, e.Input)
			}
		}
		if list.After = page.Next; list.After == 0 {
			return found
		}
	}
}

// TestProgress: each task is one row, and one node of the graph.
func TestProgress(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply([]byte(nested))
	e := fx.create(flow.ID, noInput)
	fx.engine.plan, fx.engine.lines = timelineOf(t, nested, map[string]any{})
	for _, i := range []int{5, 8} { // two cells
		fx.engine.lines[i].Phase, fx.engine.lines[i].Fault = chargehand.Faulted, &machine.Fault{Type: machine.ErrRuntime, Status: 500}
		fx.engine.lines[i].EndedMs += int64(i)
	}
	progress, err := fx.Progress(t.Context(), fx.p, flow.ID, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range progress.Data {
		got = append(got, fmt.Sprintf("%s %s %s %+v first %d last %d attempt %d, %d ended %d %d %d", p.Name, p.Kind, p.Phase, p.Counts,
			p.FirstFailedSeq, p.LastSeq, p.Attempts, p.Ended, p.MinMs, p.MeanMs, p.MaxMs))
	}
	want := []string{
		"rows for completed {Running:0 Waiting:0 Completed:1 Faulted:0 Cancelled:0} first 0 last 1 attempt 1, 1 ended 0 0 0",
		"columns for completed {Running:0 Waiting:0 Completed:2 Faulted:0 Cancelled:0} first 0 last 12 attempt 1, 2 ended 0 0 0",
		"cell set completed {Running:0 Waiting:0 Completed:4 Faulted:2 Cancelled:0} first 6 last 19 attempt 1, 6 ended 0 2 8",
		"both call completed {Running:0 Waiting:0 Completed:6 Faulted:0 Cancelled:0} first 0 last 20 attempt 1, 6 ended 0 0 0",
		"pause wait waiting {Running:0 Waiting:1 Completed:0 Faulted:0 Cancelled:0} first 0 last 22 attempt 1, 0 ended 0 0 0",
		"inner set completed {Running:0 Waiting:0 Completed:6 Faulted:0 Cancelled:0} first 0 last 21 attempt 1, 6 ended 0 0 0",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("progress\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	g, err := fx.ExecutionGraph(t.Context(), fx.p, flow.ID, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	states := 0
	for _, n := range g.Nodes {
		if n.State != nil {
			states++
		}
		if n.Name == "cell" && (n.State.Counts.Faulted != 2 || n.State.FirstFailedSeq != 6 || n.State.Phase != "completed") {
			t.Errorf("the state of a cell is %+v", n.State)
		}
	}
	if states != 6 {
		t.Errorf("%d nodes have a state", states)
	}
	if text := g.Mermaid(); !strings.Contains(text, "4 completed, 2 faulted") || !strings.Contains(text, "classDef waiting") {
		t.Errorf("it is drawn as\n%s", text)
	}
}
