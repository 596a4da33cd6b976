package testrecord

import (
	"fmt"
	"strconv"

	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// compare finds the first decision that is another one, and counts those that were compared.
func compare(was, now *replay) (*Divergence, int) {
	oldSteps, newSteps := decisions(was.steps), decisions(now.steps)
	for i := range max(len(oldSteps), len(newSteps)) {
		d := &Divergence{AtMs: now.endMs}
		var w, n *step
		if i < len(oldSteps) {
			w = &was.steps[oldSteps[i]]
			d.Was = was.location(w.reference)
		}
		if i < len(newSteps) {
			n = &now.steps[newSteps[i]]
			d.Now, d.AtMs = now.location(n.reference), n.atMs
		}
		if w == nil || n == nil || w.kind != n.kind || now.toOld[n.reference] != w.reference {
			d.Kind, d.Detail = DivergesTask, fmt.Sprintf("%s was expected, and %s came.", doing(w, d.Was, was), doing(n, d.Now, now))
			d.Decision = decision(was, now, before(oldSteps, i), before(newSteps, i), end(oldSteps, i, was.steps), end(newSteps, i, now.steps))
			return d, i
		}
		if d.differs(w, n) {
			return d, i
		}
	}
	if d := events(was, now); d != nil {
		return d, len(newSteps)
	}
	return ends(was, now), len(newSteps)
}

// decisions are the indexes of the steps that are compared.
func decisions(steps []step) (list []int) {
	for i := range steps {
		if steps[i].kind != takes {
			list = append(list, i)
		}
	}
	return list
}

// doing says what an execution does at a step, or that it has none.
func doing(s *step, p *Location, r *replay) string {
	switch {
	case s == nil && r.stuck() != "":
		return "nothing (" + r.stuck() + ")"
	case s == nil:
		return "the end (" + r.phase + ")"
	case s.kind == calls:
		return fmt.Sprintf("a call of %q (%s)", p.Task, s.what)
	}
	return fmt.Sprintf("the start of %q", p.Task)
}

// differs compares two steps of the same task.
func (d *Divergence) differs(w, n *step) bool {
	if w.kind == calls {
		where, expected, got, same := firstDifference(w.args, n.args)
		if w.what != n.what {
			d.Kind, d.Expected, d.Got, d.HasExpected, d.HasGot = DivergesCall, w.what, n.what, true, true
			d.Detail = fmt.Sprintf("The task %q makes another call: %s instead of %s.", d.Now.Task, n.what, w.what)
			return true
		}
		if same {
			return false
		}
		d.Kind, d.Where = DivergesCall, where
		d.set(expected, got)
		d.Detail = fmt.Sprintf("The task %q calls with other arguments.", d.Now.Task)
		return true
	}
	if w.atMs == n.atMs {
		return false
	}
	d.Kind, d.Expected, d.Got, d.HasExpected, d.HasGot = DivergesTime, testrun.ISO(w.atMs), testrun.ISO(n.atMs), true, true
	d.Detail = fmt.Sprintf("The task %q starts %s after the start of the execution instead of %s.", d.Now.Task, testrun.Span(n.atMs), testrun.Span(w.atMs))
	return true
}

func (d *Divergence) set(expected, got part) {
	d.Expected, d.HasExpected = expected.value, expected.has
	d.Got, d.HasGot = got.value, got.has
}

// before is the index of the step before the i-th decision.
func before(list []int, i int) int {
	if i == 0 {
		return -1
	}
	return list[min(i, len(list))-1]
}

// end is the index of the i-th decision, or that behind the last step.
func end(list []int, i int, steps []step) int {
	if i < len(list) {
		return list[i]
	}
	return len(steps)
}

// decision finds the task that has chosen another way between two decisions.
func decision(was, now *replay, wasFrom, nowFrom, wasTo, nowTo int) *Decision {
	chosen := map[string]*step{} // the last way of each task of the recorded definition
	for i := wasFrom + 1; i < wasTo; i++ {
		if s := &was.steps[i]; s.kind == takes {
			chosen[s.reference] = s
		}
	}
	for i := nowFrom + 1; i < nowTo; i++ {
		n := &now.steps[i]
		if n.kind != takes {
			continue
		}
		old := now.toOld[n.reference]
		w := chosen[old]
		switch {
		case w != nil && w.what != n.what:
			return &Decision{Was: was.location(w.reference), Now: now.location(n.reference), WasWay: w.what, NowWay: n.what}
		case w == nil && old != "" && n.what == "if false": // it had no condition
			return &Decision{Was: was.location(old), Now: now.location(n.reference), NowWay: n.what}
		}
		delete(chosen, old)
	}
	for i := wasFrom + 1; i < wasTo; i++ {
		w := &was.steps[i]
		if w.kind != takes || chosen[w.reference] != w || w.what != "if false" {
			continue
		}
		for mine, old := range now.toOld {
			if old == w.reference { // it has no condition any more
				return &Decision{Was: was.location(old), Now: now.location(mine), WasWay: w.what}
			}
		}
	}
	return nil
}

// events compares what was published. Ids and times follow from the execution.
func events(was, now *replay) *Divergence {
	for i := range max(len(was.published), len(now.published)) {
		var w, n part
		if i < len(was.published) {
			w = part{content(was.published[i]), true}
		}
		if i < len(now.published) {
			n = part{content(now.published[i]), true}
		}
		where, expected, got, same := "", w, n, false
		if w.has && n.has {
			where, expected, got, same = firstDifference(w.value, n.value)
		}
		if same {
			continue
		}
		d := &Divergence{Kind: DivergesEvent, AtMs: now.endMs, Where: where, Detail: fmt.Sprintf("The event %d that it publishes is another one.", i+1)}
		d.set(expected, got)
		return d
	}
	return nil
}

func content(envelope value.Value) value.Value {
	e, _ := envelope.(map[string]any)
	object := make(map[string]any, len(e))
	for name, v := range e {
		if name != "id" && name != "time" {
			object[name] = v
		}
	}
	return object
}

// ends compares what executions came to.
func ends(was, now *replay) *Divergence {
	d := &Divergence{Kind: DivergesEnd, AtMs: now.endMs}
	if wasEnd, nowEnd := was.ended(), now.ended(); wasEnd != nowEnd {
		d.set(part{wasEnd, true}, part{nowEnd, true})
		d.Detail = fmt.Sprintf("The execution ends otherwise: %s instead of %s.", nowEnd, wasEnd)
		return d
	}
	if where, expected, got, same := firstDifference(was.output, now.output); !same {
		d.Where = where
		d.set(expected, got)
		d.Detail = "The execution has another output."
		return d
	}
	if was.endMs != now.endMs {
		d.set(part{testrun.ISO(was.endMs), true}, part{testrun.ISO(now.endMs), true})
		d.Detail = fmt.Sprintf("The execution ends after %s instead of %s.", testrun.Span(now.endMs), testrun.Span(was.endMs))
		return d
	}
	return nil
}

// ended is how a replay ended, in a few words.
func (r *replay) ended() string {
	switch {
	case r.err != nil:
		return r.stuck()
	case r.fault != nil && r.phase == "faulted":
		return fmt.Sprintf("faulted with %s %d", r.fault.Type, r.fault.Status)
	}
	return r.phase
}

// part is a value, or nothing.
type part struct {
	value value.Value
	has   bool
}

// firstDifference is where two values differ: the first place in the order of names and indexes, and what stands there.
func firstDifference(a, b value.Value) (where string, was, now part, same bool) {
	if value.Equal(a, b) {
		return "", part{}, part{}, true
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		both := make(map[string]any, len(x)+len(y))
		for name := range x {
			both[name] = nil
		}
		for name := range y {
			both[name] = nil
		}
		for _, name := range value.SortedKeys(both) {
			v, inX := x[name]
			w, inY := y[name]
			if inX != inY {
				return "/" + jsonpointer.Escape(name), part{v, inX}, part{w, inY}, false
			}
			if where, was, now, same := firstDifference(v, w); !same {
				return "/" + jsonpointer.Escape(name) + where, was, now, false
			}
		}
	case []any:
		y, ok := b.([]any)
		if !ok {
			break
		}
		for i := range max(len(x), len(y)) {
			at := "/" + strconv.Itoa(i)
			if i >= len(x) {
				return at, part{}, part{y[i], true}, false
			}
			if i >= len(y) {
				return at, part{x[i], true}, part{}, false
			}
			if where, was, now, same := firstDifference(x[i], y[i]); !same {
				return at + where, was, now, false
			}
		}
	}
	return "", part{a, true}, part{b, true}, false
}
