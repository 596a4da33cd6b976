package testrun

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
)

// coverage adds up what tests have run. It is safe for concurrent use.
type coverage struct {
	mu       sync.Mutex
	branches map[branchKey]int
	outcomes map[outcomeKey]int
}

func (c *coverage) add(o *observer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.branches == nil {
		c.branches, c.outcomes = map[branchKey]int{}, map[outcomeKey]int{}
	}
	for key, n := range o.branches {
		c.branches[key] += n
	}
	for key, n := range o.outcomes {
		c.outcomes[key] += n
	}
}

// report is the coverage of the definitions that were tested. Definitions of children count where they ran.
func (c *coverage) report(suites []*suite) (list []*Coverage) {
	if c.branches == nil {
		return nil
	}
	tested := map[*unit]bool{}
	for _, s := range suites {
		if s.root != nil && slices.ContainsFunc(s.result.Tests, func(t *Test) bool { return t.Status != Skipped }) {
			tested[s.root] = true
		}
	}
	for key := range c.branches {
		tested[key.unit] = true
	}
	for u := range tested {
		list = append(list, c.of(u))
	}
	slices.SortFunc(list, func(a, b *Coverage) int { return cmp.Compare(a.File, b.File) })
	return list
}

func (c *coverage) of(u *unit) *Coverage {
	result := &Coverage{File: u.file, Namespace: u.doc.Namespace, Name: u.doc.Name}
	x := newIndex(u, nil)
	for _, t := range u.tasks {
		line, _ := u.doc.Position(t.Reference)
		one := TaskCoverage{Task: x.byReference[t.Reference].address, Reference: t.Reference, Line: line}
		one.Hits = c.branches[branchKey{u, t.Reference, machine.Branch{Kind: machine.BranchTask}}]
		for _, w := range ways(t) {
			way, _ := u.doc.Position(t.Reference + w.pointer)
			hits := c.branches[branchKey{u, t.Reference, w.branch}]
			if w.outcome != "" {
				hits = c.outcomes[outcomeKey{u, t.Reference, w.outcome}]
			}
			one.Branches = append(one.Branches, BranchCoverage{Name: w.name, Line: way, Hits: hits})
		}
		result.Tasks = append(result.Tasks, one)
	}
	slices.SortStableFunc(result.Tasks, func(a, b TaskCoverage) int { return cmp.Compare(a.Line, b.Line) })
	if u.plan.Timeout != nil {
		line, _ := u.doc.Position("/timeout")
		hits := c.branches[branchKey{u, "", machine.Branch{Kind: machine.BranchTimeout}}]
		result.Tasks = append(result.Tasks, TaskCoverage{Task: "(workflow)", Line: line, Hits: 1, Branches: []BranchCoverage{{"timeout", line, hits}}})
	}
	return result
}

// way is a way that can be taken at a task.
type way struct {
	name    string
	pointer string // of its place in the task
	branch  machine.Branch
	outcome string // instead: of a person
}

// ways are all ways at a task.
func ways(t *plan.Task) (all []way) {
	add := func(name, pointer string, kind machine.BranchKind, index int) {
		all = append(all, way{name: name, pointer: pointer, branch: machine.Branch{Kind: kind, Index: index}})
	}
	if t.If != nil {
		add("if true", "/if", machine.BranchIf, 1)
		add("if false", "/if", machine.BranchIf, 0)
	}
	switch t.Kind {
	case dsl.KindSwitch:
		names, hasDefault := casesOf(t)
		for i, one := range names {
			add("case "+one.name, "/switch/"+strconv.Itoa(one.index), machine.BranchCase, i)
		}
		if !hasDefault {
			add("no case", "/switch", machine.BranchCase, machine.NoCase)
		}
	case dsl.KindFor:
		add("loop some", "/for", machine.BranchLoop, 1)
		add("loop none", "/for", machine.BranchLoop, 0)
	case dsl.KindFork:
		if t.Fork != nil && t.Fork.Compete {
			for i, b := range t.Fork.Branches {
				add("winner "+b.Tasks[0].Name, fmt.Sprintf("/fork/branches/%d", i), machine.BranchWinner, i)
			}
		}
	}
	if t.Catch != nil {
		if t.Catch.Retry != nil {
			add("retried", "/catch/retry", machine.BranchCatch, 1)
			add("retries exhausted", "/catch/retry", machine.BranchCatch, 0)
		} else {
			add("caught", "/catch", machine.BranchCatch, 0)
		}
	}
	if t.Timeout != nil {
		add("timeout", "/timeout", machine.BranchTimeout, 0)
	}
	if t.Human != nil {
		for i, o := range outcomesOf(t) {
			all = append(all, way{name: "outcome " + o, pointer: fmt.Sprintf("/with/outcomes/%d", i), outcome: o})
		}
	}
	return all
}

// namedCase is a case of a switch and its place in the definition.
type namedCase struct {
	name  string
	index int
}

// casesOf are the cases in the order of plan.Task.Cases: the default one last.
func casesOf(t *plan.Task) (cases []namedCase, hasDefault bool) {
	list, _ := t.Definition["switch"].([]any)
	var otherwise []namedCase
	for i, item := range list {
		object, _ := item.(map[string]any)
		for name, one := range object {
			body, _ := one.(map[string]any)
			if body["when"] == nil {
				otherwise = append(otherwise, namedCase{name, i})
			} else {
				cases = append(cases, namedCase{name, i})
			}
		}
	}
	return append(cases, otherwise...), len(otherwise) > 0
}

// outcomesOf are the outcomes that the definition of a human task declares; none, if expressions make them.
func outcomesOf(t *plan.Task) (names []string) {
	request, _ := human.Parse(t.Definition["with"], func(text string) bool { _, ok := expr.Unwrap(text); return ok })
	for _, o := range request.Outcomes {
		if _, dynamic := expr.Unwrap(o.Name); dynamic {
			return nil
		}
		names = append(names, o.Name)
	}
	return names
}
