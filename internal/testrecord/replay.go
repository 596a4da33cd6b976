package testrecord

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// Replayed is how a definition decides with what an execution of another one received.
type Replayed struct {
	// Unfaithful says what the recorded definition itself does otherwise than it did: it depended on what a recording
	// does not have, such as the values of secrets. What follows from that is no difference of the new definition.
	Unfaithful []string
	Renamed    []Rename
	Decisions  int         // that were compared: starts of tasks, and calls
	Divergence *Divergence // the first; nil: there is none
}

// Rename is a task that has another name and is the same otherwise.
type Rename struct{ Was, Now Location }

// Location is a task, or nothing, in a definition.
type Location struct {
	Task         string // shortest address
	Reference    string // JSON pointer
	Line, Column int    // in the text, from 1
}

// The kinds of divergences.
const (
	DivergesTask  = "task"  // another task is started, or none
	DivergesCall  = "call"  // a task asks for something else
	DivergesTime  = "time"  // a task is started at another time
	DivergesEvent = "event" // another event is published
	DivergesEnd   = "end"   // the execution comes to something else
)

// Divergence is the first decision that is another one. The execution takes its answers from the recording up to there.
type Divergence struct {
	Kind     string
	AtMs     int64     // of virtual time since the start, in the new definition
	Was, Now *Location // nil: nothing was, or is, started
	Where    string    // JSON pointer of what differs in a call, an event or an output; empty: all of it
	Expected value.Value
	Got      value.Value
	// HasExpected and HasGot tell null from nothing.
	HasExpected, HasGot bool
	Decision            *Decision
	Detail              string // a sentence
}

// Decision is the choice of a task that has led to a divergence.
type Decision struct {
	Was, Now *Location
	WasWay   string // such as `case small` or `if false`; empty: it had nothing to choose
	NowWay   string
}

// DefinitionError says that a definition cannot be replayed.
type DefinitionError struct {
	Problems []testrun.Problem
}

func (e *DefinitionError) Error() string {
	if len(e.Problems) == 0 {
		return "the definition cannot be compiled"
	}
	p := e.Problems[0]
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Detail)
}

// Definition is the text of a definition and its name for messages.
type Definition struct {
	Name string
	Text []byte
}

// Replay runs the definition that was recorded, and then another one, with what an execution received, and compares
// what both decide. Errors: *DefinitionError, that of ctx, and an error for a recording that cannot be read.
func Replay(ctx context.Context, g *client.Recording, recorded, changed Definition) (*Replayed, error) {
	was, err := revise(recorded)
	if err != nil {
		return nil, err
	}
	now, err := revise(changed)
	if err != nil {
		return nil, err
	}
	now.align(was)
	before, err := play(ctx, g, was, recorded.Text)
	if err != nil {
		return nil, err
	}
	after, err := play(ctx, g, now, recorded.Text)
	if err != nil {
		return nil, err
	}
	result := &Replayed{Unfaithful: before.against(g), Renamed: now.renamed}
	result.Divergence, result.Decisions = compare(before, after)
	return result, nil
}

// revision is a compiled definition.
type revision struct {
	plan      *plan.Plan
	doc       *dsl.Document
	addresses map[string]string
	ways      map[string]testrun.TaskWays
	toOld     map[string]string // pointers of tasks in the recorded definition, by those here
	renamed   []Rename
}

// revise compiles a definition, whatever it may run.
func revise(d Definition) (*revision, error) {
	doc, found := dsl.Parse(d.Text)
	var result plan.Result
	if !found.HasErrors() {
		result = plan.Check(doc, found, plan.Options{Run: plan.AnyRun()})
		found = result.Problems
	}
	if result.Plan == nil {
		failed := &DefinitionError{}
		for _, p := range found.Errors() {
			failed.Problems = append(failed.Problems, testrun.Problem{File: d.Name, Line: p.Line, Column: p.Column, Code: p.Code, Detail: p.Detail})
		}
		for _, w := range result.Wanted {
			line, column := doc.Position(w.Pointer)
			failed.Problems = append(failed.Problems, testrun.Problem{File: d.Name, Line: line, Column: column, Code: plan.CodeResourceMissing,
				Detail: fmt.Sprintf("The definition needs the %s %s, and a replay reads no resources.", w.Kind, w.URI)})
		}
		return nil, failed
	}
	r := &revision{plan: result.Plan, doc: result.Plan.Document(), addresses: testrun.Addresses(result.Plan), ways: testrun.Ways(result.Plan), toOld: map[string]string{}}
	for _, t := range r.plan.Tasks {
		r.toOld[t.Reference] = t.Reference
	}
	return r, nil
}

func (r *revision) location(reference string) *Location {
	line, column := r.doc.Position(reference)
	p := &Location{Task: r.addresses[reference], Reference: reference, Line: line, Column: column}
	if p.Task == "" {
		p.Task = reference
	}
	return p
}

// against compares a replay of the recorded definition with what really happened.
func (r *replay) against(g *client.Recording) (differences []string) {
	differ := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	if r.phase != g.Phase {
		differ("It ended %s, and is %s: %s.", g.Phase, r.phase, r.why())
		return differences
	}
	if g.Phase == "completed" {
		output, err := readValue(g.Output)
		if err != nil {
			differ("Its output cannot be read: %s.", err)
		} else if where, _, _, same := firstDifference(output, r.redacted(r.output)); !same {
			differ("Its output is another one at %q.", where)
		}
	}
	if g.Phase == "faulted" && g.Error != nil && r.fault != nil && (g.Error.Type != r.fault.Type || g.Error.Status != r.fault.Status) {
		differ("It ended with the error %s %d, and now with %s %d.", g.Error.Type, g.Error.Status, r.fault.Type, r.fault.Status)
	}
	was, now := map[string][]string{}, map[string][]string{}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		list := listOf(t.Reference) + fmt.Sprint(t.Iterations)
		was[list] = append(was[list], t.Reference)
	}
	for i := range r.timeline {
		t := &r.timeline[i]
		list := listOf(t.Reference) + fmt.Sprint(append([]int{}, t.Iterations...))
		now[list] = append(now[list], t.Reference)
	}
	for i := range g.Tasks { // in their order
		list := listOf(g.Tasks[i].Reference) + fmt.Sprint(g.Tasks[i].Iterations)
		if !slices.Equal(was[list], now[list]) {
			differ("It started other tasks beside %s.", g.Tasks[i].Reference)
			break
		}
	}
	return differences
}

// why says in words how a replay ended.
func (r *replay) why() string {
	switch {
	case r.err != nil:
		return r.err.Error()
	case r.fault != nil:
		return fmt.Sprintf("%s %d %s", r.fault.Type, r.fault.Status, r.fault.Detail)
	}
	return r.phase
}

var errUnanswered = errors.New("the recording has no answer for what it asks")
