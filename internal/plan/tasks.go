package plan

import (
	"fmt"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
)

// list compiles a task list and links its jumps.
func (c *compiler) list(tasks []*dsl.Task, at location) *List {
	list := &List{Tasks: make([]*Task, 0, len(tasks))}
	index := make(map[string]int, len(tasks))
	for i, t := range tasks {
		index[t.Name] = i
	}
	for _, t := range tasks {
		list.Tasks = append(list.Tasks, c.task(t, at, index))
	}
	if !c.shared.refused {
		c.reachable(tasks, list)
	}
	return list
}

// task compiles one task. index finds the targets of its jumps.
func (c *compiler) task(t *dsl.Task, outer location, index map[string]int) *Task {
	compiled := &Task{
		Number: len(c.plan.Tasks), Name: t.Name, Reference: t.Pointer, Kind: t.Kind,
		Definition: t.Value, Metadata: t.Metadata, Remote: c.self != nil, extending: c.extending,
	}
	c.plan.Tasks = append(c.plan.Tasks, compiled)
	at := location{base: t.Pointer, locals: outer.locals}
	before := at.with(inTaskInput)
	compiled.If = c.condition(t.If, before)
	compiled.Timeout = c.timeout(t.Timeout, before)
	if t.Input != nil {
		compiled.InputSchema = c.schema(t.Input.Schema, at)
		compiled.InputFrom = c.operand(t.Input.From, before)
	}
	compiled.Then = c.flow(t.Then, index)
	inside := c.payload(compiled, t, at, index)
	if t.Output != nil {
		compiled.OutputAs = c.operand(t.Output.As, at.with(inOutput))
		compiled.OutputSchema = c.schema(t.Output.Schema, at)
	}
	if t.Export != nil {
		compiled.ExportAs = c.operand(t.Export.As, at.with(inExport))
		compiled.ExportSchema = c.schema(t.Export.Schema, at)
	}
	compiled.UsesAuthorization = inside || uses("authorization", compiled.OutputAs, compiled.ExportAs)
	c.metadata(t)
	return compiled
}

// payload compiles what the kind of the task says. It reports whether an operand in it reads
// $authorization.
func (c *compiler) payload(compiled *Task, t *dsl.Task, at location, index map[string]int) bool {
	switch t.Kind {
	case dsl.KindSet:
		c.paths(t.Set.Pointer, t.Set.Value, at)
		compiled.Set = c.value(t.Set, at)
	case dsl.KindDo:
		compiled.Body = c.list(t.Do, at)
	case dsl.KindSwitch:
		compiled.Cases = c.cases(t.Switch, at, index)
	case dsl.KindFor:
		c.loop(compiled, t.For, at)
	case dsl.KindFork:
		c.fork(compiled, t.Fork, at)
	case dsl.KindTry:
		compiled.Body = c.list(t.Try.Do, at)
		compiled.Catch = c.catch(t.Try.Catch, at, index)
	case dsl.KindRaise:
		compiled.Raise = c.raise(t.Raise, at)
	case dsl.KindWait:
		compiled.Wait = c.duration(t.Wait, at)
	case dsl.KindEmit:
		compiled.Emit = c.value(t.Emit.With, at)
		doc := c.shared.root.doc
		compiled.DefaultSource = fmt.Sprintf("/%s/%s/%s", doc.Namespace, doc.Name, doc.Version)
	case dsl.KindCall:
		return c.call(compiled, t.Call, at)
	case dsl.KindRun:
		c.run(compiled, t.Run, at)
	case dsl.KindListen:
		c.listen(compiled, t.Listen, at)
	}
	return false
}

// flow links a directive. The reader of definitions has refused unknown targets; a branch of
// a fork has no list to jump in (T28).
func (c *compiler) flow(d dsl.Directive, index map[string]int) Flow {
	if d.Flow != dsl.FlowJump {
		return Flow{Kind: d.Flow}
	}
	target, ok := index[d.Target]
	if !ok {
		c.fail(d.Pointer, CodeForeignTarget,
			fmt.Sprintf("There is no task named %q in this list.", d.Target),
			"A directive leads to a task of the same list, or is one of continue, exit and end.")
	}
	return Flow{Kind: dsl.FlowJump, Target: target}
}

// cases puts the default case last (docs/language/switch.md).
func (c *compiler) cases(cases []*dsl.Case, at location, index map[string]int) []Case {
	var compiled, otherwise []Case
	for _, one := range cases {
		it := Case{When: c.condition(one.When, at), Then: c.flow(one.Then, index)}
		if it.When == nil {
			otherwise = append(otherwise, it)
		} else {
			compiled = append(compiled, it)
		}
	}
	return append(compiled, otherwise...)
}

func (c *compiler) loop(compiled *Task, f *dsl.For, at location) {
	inside := at.bind(f.Each, f.At)
	compiled.For = &For{
		Each: f.Each, At: f.At,
		In:    c.operand(f.In, at),
		While: c.condition(f.While, inside),
	}
	compiled.Body = c.list(f.Do, inside)
}

func (c *compiler) fork(compiled *Task, f *dsl.Fork, at location) {
	if limit := c.options.Limits.Branches; len(f.Branches) > limit {
		c.fail(f.Pointer+"/branches", CodeTooManyBranch,
			fmt.Sprintf("The fork has %d branches; at most %d are allowed.", len(f.Branches), limit), "")
		return
	}
	compiled.Fork = &Fork{Compete: f.Compete}
	for _, branch := range f.Branches {
		task := c.task(branch, at, nil)
		compiled.Fork.Branches = append(compiled.Fork.Branches, &List{Tasks: []*Task{task}})
	}
}

// metadata warns of settings that look like ours but mean nothing.
func (c *compiler) metadata(t *dsl.Task) {
	given, ok := t.Metadata["onInterrupted"]
	if !ok || given == "fault" || given == "retry" {
		return
	}
	c.warn(t.Pointer+"/metadata/onInterrupted", CodeMetadata,
		"`onInterrupted` is ignored, because it is neither \"fault\" nor \"retry\".", "")
}

// reachable warns of tasks that no way leads to (T28).
func (c *compiler) reachable(tasks []*dsl.Task, list *List) {
	seen := make([]bool, len(tasks))
	var open []int
	visit := func(i int) {
		if i < len(seen) && !seen[i] {
			seen[i] = true
			open = append(open, i)
		}
	}
	visit(0)
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		t := list.Tasks[i]
		follow := func(f Flow) {
			switch f.Kind {
			case dsl.FlowJump:
				visit(f.Target)
			case dsl.FlowExit, dsl.FlowEnd:
			default:
				visit(i + 1)
			}
		}
		if t.If != nil { // skipped: the next one (T18)
			visit(i + 1)
		}
		for _, f := range exits(t) {
			follow(f)
		}
	}
	for i, reached := range seen {
		if !reached {
			c.warn(tasks[i].Pointer, CodeUnreachable, fmt.Sprintf("No way leads to the task %q.", tasks[i].Name), "")
		}
	}
}

// exits lists the directives that may follow a task.
func exits(t *Task) []Flow {
	switch {
	case t.Kind == dsl.KindRaise:
		return nil
	case t.Kind == dsl.KindSwitch:
		var flows []Flow
		decided := false
		for _, one := range t.Cases {
			flow := one.Then
			if flow.Kind == dsl.FlowNone {
				flow = t.Then
			}
			flows = append(flows, flow)
			decided = decided || one.When == nil
		}
		if !decided {
			flows = append(flows, t.Then)
		}
		return flows
	case t.Catch != nil && t.Catch.Then.Kind != dsl.FlowNone:
		return []Flow{t.Then, t.Catch.Then}
	default:
		return []Flow{t.Then}
	}
}

// listed joins names for people, at most ten.
func listed(names []string) string {
	if len(names) > 10 {
		return strings.Join(names[:10], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
