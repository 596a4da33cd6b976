package testrun

import (
	"fmt"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testfile"
)

// unit is a compiled definition.
type unit struct {
	file     string
	plan     *plan.Plan
	doc      *dsl.Document
	warnings dsl.Problems
	paths    map[string]string // of names, by reference
	tasks    []*plan.Task      // each once, in the order of the plan; none of functions from outside
}

func newUnit(file string, p *plan.Plan, warnings dsl.Problems) *unit {
	u := &unit{file: file, plan: p, doc: p.Document(), warnings: warnings, paths: map[string]string{}}
	for _, t := range p.Tasks {
		if _, known := u.paths[t.Reference]; known || t.Remote {
			continue
		}
		u.paths[t.Reference] = t.Name
		u.tasks = append(u.tasks, t)
	}
	for _, t := range u.tasks {
		u.paths[t.Reference] = u.pathOf(t)
	}
	return u
}

// pathOf joins the names of the tasks around a task and its own.
func (u *unit) pathOf(t *plan.Task) string {
	for above := t.Reference; ; {
		at := strings.LastIndexByte(above, '/')
		if at <= 0 {
			return t.Name
		}
		above = above[:at]
		if path, ok := u.paths[above]; ok { // it comes before in the plan, so its path is complete
			return path + "/" + t.Name
		}
	}
}

// target is a task of the workflow, or of one that it starts.
type target struct {
	unit      *unit
	task      *plan.Task
	reference string // with those of the tasks that start the workflow
	path      string
	address   string // the shortest one
}

// index finds tasks by addresses.
type index struct {
	targets     []*target
	byReference map[string]*target
	byName      map[string][]*target // by the last part of the path
}

// The bounds of an index: workflows may start themselves.
const (
	maxChildDepth = 8
	maxTargets    = 50_000
)

// newIndex lists the tasks of a workflow, and of those of its children whose definitions are given.
func newIndex(root *unit, children map[string]*unit) *index {
	x := &index{byReference: map[string]*target{}, byName: map[string][]*target{}}
	x.add(root, "", "", children, 0)
	named := map[string]int{} // how many tasks a path names
	for _, t := range x.targets {
		for _, address := range addresses(t.path) {
			named[address]++
		}
	}
	for _, t := range x.targets {
		t.address = t.reference
		for _, address := range addresses(t.path) {
			if named[address] == 1 {
				t.address = address
				break
			}
		}
	}
	return x
}

// maxAddressNames bounds the names in the shortest address of a task: a longer one is no shorter than its reference.
const maxAddressNames = 8

// addresses are the paths of names that a task has, the shortest first.
func addresses(path string) (list []string) {
	for at := len(path); at > 0 && len(list) < maxAddressNames; {
		at = strings.LastIndexByte(path[:at], '/')
		list = append(list, path[at+1:])
	}
	return list
}

func (x *index) add(u *unit, reference, path string, children map[string]*unit, depth int) {
	for _, t := range u.tasks {
		if len(x.targets) >= maxTargets {
			return
		}
		one := &target{unit: u, task: t, reference: reference + t.Reference, path: path + u.paths[t.Reference]}
		x.targets = append(x.targets, one)
		x.byReference[one.reference] = one
		last := one.path[strings.LastIndexByte(one.path, '/')+1:]
		x.byName[last] = append(x.byName[last], one)
		if t.Child == nil || t.Detached || depth == maxChildDepth {
			continue
		}
		if child := children[t.Child.Namespace+"/"+t.Child.Name]; child != nil {
			x.add(child, one.reference, one.path+"/", children, depth+1)
		}
	}
}

// matches are the tasks that an address names.
func (x *index) matches(address string) []*target {
	if strings.HasPrefix(address, "/") {
		if t := x.byReference[address]; t != nil {
			return []*target{t}
		}
		return nil
	}
	var found []*target
	for _, t := range x.byName[address[strings.LastIndexByte(address, '/')+1:]] {
		if t.path == address || strings.HasSuffix(t.path, "/"+address) {
			found = append(found, t)
		}
	}
	return found
}

// resolve finds the one task that an address names. The problem says what to write instead.
func (x *index) resolve(a testfile.Address) (*target, *Problem) {
	found := x.matches(a.Text)
	if len(found) == 1 {
		return found[0], nil
	}
	p := &Problem{Line: a.At.Line, Column: a.At.Column, Code: "unknown_task"}
	if len(found) > 1 {
		some := make([]string, 0, 4)
		for _, t := range found[:min(len(found), 4)] {
			some = append(some, t.address)
		}
		if len(found) > 4 {
			some = append(some, "…")
		}
		p.Code, p.Detail = "ambiguous_task", fmt.Sprintf("%d tasks are named %q. Write %s.", len(found), a.Text, strings.Join(some, " or "))
		return nil, p
	}
	p.Detail = fmt.Sprintf("There is no task %q in the workflow.", a.Text)
	if hint := x.suggest(a.Text); hint != "" {
		p.Detail += " " + hint
	}
	return nil, p
}

func (x *index) suggest(text string) string {
	names := make([]string, 0, 2*len(x.targets))
	for _, t := range x.targets {
		if strings.HasPrefix(text, "/") {
			names = append(names, t.reference)
		} else {
			names = append(names, t.path[strings.LastIndexByte(t.path, '/')+1:], t.path)
		}
	}
	hint := dsl.Suggest(text, names)
	if above := x.matches(text[:max(0, strings.LastIndexByte(text, '/'))]); hint == "" && len(above) == 1 && above[0].task.Child != nil {
		child := above[0].task.Child
		return fmt.Sprintf("Tasks of %s/%s are known where `children` has its definition.", child.Namespace, child.Name)
	}
	if at := strings.LastIndexByte(text, '/'); hint == "" && at > 0 { // perhaps only the way to it is wrong
		for _, t := range x.byName[text[at+1:]] {
			return fmt.Sprintf("Did you mean %q?", t.address)
		}
	}
	return hint
}

// effective is the task that does what a call of a function of one task does.
func effective(t *plan.Task) *plan.Task {
	for range 100 {
		if t.Call == nil || len(t.Call.Body.Tasks) != 1 {
			break
		}
		t = t.Call.Body.Tasks[0]
	}
	return t
}

// described says with an article what a task is: `an http call`, `a set task`.
func described(t *plan.Task) string {
	t = effective(t)
	switch {
	case t.Human != nil:
		return "a human task"
	case t.Child != nil:
		return "a start of the workflow " + t.Child.Namespace + "/" + t.Child.Name
	case t.Activity == nil:
		return article(t.Kind.String()) + " task"
	}
	switch t.Activity.Kind {
	case "shell", "container":
		return article(t.Activity.Kind) + " process"
	case "script":
		return "a script"
	}
	return article(t.Activity.Kind) + " call"
}

// kinds are the kinds of mocks that a task can have; nil: it runs as it is.
func kinds(t *plan.Task) []testfile.Kind {
	t = effective(t)
	switch {
	case t.Human != nil:
		return []testfile.Kind{testfile.Answers, testfile.Returns, testfile.Hangs}
	case t.Child != nil:
		return []testfile.Kind{testfile.Returns, testfile.Raises, testfile.Hangs}
	case t.Remote && t.Activity == nil: // whatever the function from outside does
		return testfile.Kinds
	case t.Activity == nil:
		return nil
	case t.Stream != nil:
		return []testfile.Kind{testfile.Messages, testfile.Raises, testfile.Hangs, testfile.Real}
	}
	all := []testfile.Kind{testfile.Returns, testfile.Raises, testfile.Hangs, testfile.Real}
	switch t.Activity.Kind {
	case "http", "openapi":
		all = append(all, testfile.Respond)
	case "shell", "script", "container":
		all = append(all, testfile.Process)
	case "a2a":
		all = append(all, testfile.Messages)
	}
	return all
}
