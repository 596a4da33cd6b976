package dsl

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kindOf is the kind that a keyword stands for, or KindNone.
func kindOf(key string) Kind {
	if key == "" {
		return KindNone
	}
	return Kind(max(0, slices.Index(kindNames[:], key)))
}

// secondKeys are the properties that belong to a kind beside its keyword.
var secondKeys = [kindCount][]string{
	KindCall:   {"with"},
	KindFor:    {"while", "do"},
	KindListen: {"foreach"},
	KindTry:    {"catch"},
}

var commonKeys = []string{"if", "input", "output", "export", "timeout", "then", "metadata"}

// taskKeys are the properties of a task of each kind.
var taskKeys = func() (keys [kindCount][]string) {
	for kind := range keys {
		keys[kind] = slices.Concat([]string{kindNames[kind]}, secondKeys[kind], commonKeys)
	}
	keys[KindNone] = slices.Concat(kindNames[1:], commonKeys)
	return keys
}()

// kindHints answers what people write who know other languages.
var kindHints = map[string]string{
	"http":      "Write call: http and with: {method: …, endpoint: …}.",
	"openapi":   "Write call: openapi and with: {document: …, operationId: …}.",
	"grpc":      "Write call: grpc and with: {…}.",
	"function":  "Write call: and the name of the function.",
	"uses":      "Write call: and the name of the function.",
	"script":    "Write run: {script: …}.",
	"shell":     "Write run: {shell: …}.",
	"container": "Write run: {container: …}.",
	"workflow":  "Write run: {workflow: …}.",
	"command":   "Write run: {shell: {command: …}}.",
	"human":     "Write call: human:1.0.0@default.",
	"sleep":     `Did you mean "wait"?`,
	"delay":     `Did you mean "wait"?`,
	"parallel":  `Did you mean "fork"?`,
	"branches":  "Write fork: {branches: …}.",
	"foreach":   `Did you mean "for"?`,
	"when":      `Did you mean "if"?`,
	"next":      `Did you mean "then"?`,
	"goto":      `Did you mean "then"?`,
	"retry":     "Write try: with a list of tasks, and catch: {retry: …}.",
	"error":     "Write raise: {error: …}.",
	"throw":     `Did you mean "raise"?`,
	"return":    "Use set for the output, and then: end.",
	"as":        "Write output: {as: …}.",
	"from":      "Write input: {from: …}.",
	"event":     "Write emit: {event: …}.",
}

// taskList decodes a list of named tasks: one scope of names and jumps.
func (d *decoder) taskList(at location) []*Task { return d.namedTasks(at, false) }

// namedTasks decodes a task list, or the branches of a fork, of which each is a scope of its own.
func (d *decoder) namedTasks(at location, areBranches bool) []*Task {
	if at.shape != shapeList {
		d.wrongType(at, "a list of named tasks", taskListHint(at))
		return nil
	}
	tasks := make([]*Task, 0, len(at.items))
	lines := make(map[string]int32, len(at.items))
	for i := range at.items {
		item := at.item(i)
		if !d.oneKey(item, "task") {
			for j := range item.members {
				lines[item.members[j].key] = item.members[j].line
			}
			continue
		}
		for j := range item.members {
			m := &item.members[j]
			if !d.checkName(item, m, "task") {
				continue
			}
			d.checkTaskName(item, m, lines)
			if task := d.namedTask(item.property(m), m.key); task != nil {
				tasks = append(tasks, task)
			}
		}
	}
	for _, task := range tasks {
		if areBranches {
			clear(lines)
			lines[task.Name] = 1
		}
		d.checkTargets(task, lines)
	}
	return tasks
}

// taskListHint answers T45's `try: {call: …}` and lists written as objects.
func taskListHint(at location) string {
	if at.shape != shapeObject {
		return ""
	}
	for i := range at.members {
		if kindOf(at.members[i].key) != KindNone {
			return "Put the task into a list and give it a name: [{myTask: {" + at.members[i].key + ": …}}]."
		}
	}
	if len(at.members) > 0 && at.members[0].value.shape == shapeObject && len(at.members[0].key) <= maxNameBytes {
		return "Write each task as an item of a list: - " + at.members[0].key + ": {…}."
	}
	return ""
}

// oneKey checks that a list item is an object with one key, a name. It reports false if
// nothing in the item can be read.
func (d *decoder) oneKey(item location, what string) bool {
	switch {
	case item.shape != shapeObject:
		d.wrongType(item, fmt.Sprintf("an object with the name of one %s as its key", what), "")
		return false
	case len(item.members) == 0:
		d.problem(item, CodeOneName, fmt.Sprintf("%s has no %s.", label(item.pointer), what), "")
		return false
	case len(item.members) == 1:
		return true
	}
	first, second := &item.members[0], &item.members[1]
	hint := fmt.Sprintf("Begin a list item of its own for %s: - %s: …", quote(second.key), quote(second.key))
	isReadable := true
	if what == "task" {
		switch {
		case first.value.shape == shapeNull && slices.Contains(taskKeys[KindNone], second.key):
			hint = fmt.Sprintf("Indent %s by more than %s, so that it stands inside that task.", quote(second.key), quote(first.key))
			isReadable = false
		case slices.ContainsFunc(item.members, func(m member) bool { return kindOf(m.key) != KindNone }):
			hint = "Give the task a name: - myTask: {" + first.key + ": …}."
			isReadable = false
		}
	}
	d.problem(keyLocation(item, second), CodeOneName,
		fmt.Sprintf("%s has more than one key: %s and %s; each item has the name of one %s.",
			label(item.pointer), quote(first.key), quote(second.key), what), hint)
	return isReadable
}

// checkTaskName refuses duplicate names (T28), and warns of names that no jump can reach (T94);
// lines gathers the names of the list.
func (d *decoder) checkTaskName(item location, m *member, lines map[string]int32) {
	switch m.key {
	case "continue", "exit", "end":
		d.warning(item.property(m), CodeShadowed,
			fmt.Sprintf("No jump can lead to a task called %q: in `then` the word is a flow directive.", m.key), "Choose another name.")
	}
	d.checkDuplicate(item, m, lines, "tasks")
}

func (d *decoder) checkDuplicate(item location, m *member, lines map[string]int32, what string) {
	if firstLine, exists := lines[m.key]; exists {
		d.problem(item.property(m), CodeDuplicate,
			fmt.Sprintf("Two %s of this list are called %s; the first is in line %d.", what, quote(m.key), firstLine),
			"Choose another name.")
		return
	}
	lines[m.key] = m.line
}

// namedTask decodes a task within the limits of tasks, nesting and pointers.
func (d *decoder) namedTask(at location, name string) *Task {
	d.depth++
	defer func() { d.depth-- }()
	d.tasks++
	d.pointerBytes += len(at.pointer)
	switch {
	case d.tasks > MaxTasks:
		if d.tasks == MaxTasks+1 {
			d.problem(at, CodeTooManyTasks, fmt.Sprintf("The definition has more than %s tasks.", thousands(MaxTasks)),
				"Move some of them into a workflow of their own.")
		}
		return nil
	case d.depth > MaxDepth:
		d.problem(at, CodeTooDeep, fmt.Sprintf("The tasks are nested more than %d levels deep here.", MaxDepth),
			"Move inner tasks into functions of `use.functions` or into a workflow of their own.")
		return nil
	case len(at.pointer) > maxPointerBytes || d.pointerBytes > maxAllPointerBytes:
		d.problem(at, CodeName,
			fmt.Sprintf("The names of the tasks around %s are too long: the path of a task has at most %s bytes, those of all tasks together 8 MiB.",
				quote(name), thousands(maxPointerBytes)), "Choose shorter names.")
		return nil
	}
	return d.task(at, name)
}

// task decodes one task. It returns nil if there is nothing to read.
func (d *decoder) task(at location, name string) *Task {
	if at.shape != shapeObject {
		hint := "Write for example {set: {…}}."
		if at.shape == shapeNull {
			hint = "Indent what belongs to the task by more than its name."
		}
		d.wrongType(at, "a task (an object)", hint)
		return nil
	}
	task := &Task{Name: name, Pointer: at.pointer, Value: at.value.(map[string]any), Kind: d.kind(at, name)}
	for i := range at.members {
		m := &at.members[i]
		switch {
		case slices.Contains(commonKeys, m.key):
			d.commonProperty(task, m.key, at.property(m))
		case task.Kind != KindNone && m.key == kindNames[task.Kind]:
			d.payload(task, at, at.property(m))
		case slices.Contains(secondKeys[task.Kind%Kind(len(secondKeys))], m.key):
		case kindOf(m.key) == KindNone && !(task.Kind == KindNone && isSecondKey(m.key)):
			d.unknown(at, m, taskKeys[task.Kind], kindHints)
		}
	}
	return task
}

func isSecondKey(key string) bool {
	return slices.ContainsFunc(secondKeys[:], func(keys []string) bool { return slices.Contains(keys, key) })
}

// kind finds the one kind of a task (T28).
func (d *decoder) kind(at location, name string) Kind {
	kind := KindNone
	for i := range at.members {
		m := &at.members[i]
		found := kindOf(m.key)
		switch {
		case found == KindNone, found == KindDo && at.has("for"):
		case kind == KindNone:
			kind = found
		default:
			d.problem(at.property(m), CodeKindConflict,
				fmt.Sprintf("Task %s is both %q and %q; a task has one kind.", quote(name), kind.String(), m.key),
				fmt.Sprintf("Make %q a task of its own.", m.key))
		}
	}
	if kind == KindNone && !hasMisspeltKind(at) {
		d.problem(at, CodeKindMissing,
			fmt.Sprintf("Task %s does not say what to do; it needs one of %s.", quote(name), strings.Join(kindNames[1:], ", ")),
			missingKindHint(at))
	}
	return kind
}

// hasMisspeltKind reports whether an unknown key looks like a keyword, so that the problem of
// that key says it all.
func hasMisspeltKind(at location) bool {
	return slices.ContainsFunc(at.members, func(m member) bool {
		return !slices.Contains(commonKeys, m.key) && !isSecondKey(m.key) && (kindHints[m.key] != "" || suggest(m.key, kindNames[1:]) != "")
	})
}

func missingKindHint(at location) string {
	switch {
	case at.has("with"):
		return "Write call: and the name of the function beside `with`."
	case at.has("catch"):
		return "Write try: beside `catch`."
	case at.has("while"):
		return "Write for: and do: beside `while`."
	}
	return ""
}

func (d *decoder) commonProperty(task *Task, key string, at location) {
	switch key {
	case "if":
		task.If = d.expressionOperand(at)
	case "input":
		task.Input = d.input(at)
	case "output":
		task.Output = d.output(at)
	case "export":
		task.Export = d.output(at)
	case "timeout":
		task.Timeout = d.timeout(at)
	case "then":
		task.Then = d.directive(at)
	case "metadata":
		task.Metadata = d.metadata(at)
	}
}

// payload decodes what belongs to the kind; at is the place of the task, value that of the keyword.
func (d *decoder) payload(task *Task, at, value location) {
	switch task.Kind {
	case KindCall:
		task.Call = d.call(at, value)
	case KindDo:
		task.Do = d.taskList(value)
	case KindEmit:
		task.Emit = d.emit(value)
	case KindFor:
		task.For = d.loop(at, value)
	case KindFork:
		task.Fork = d.fork(value)
	case KindListen:
		task.Listen = d.listen(at, value)
	case KindRaise:
		task.Raise = d.raise(value)
	case KindRun:
		task.Run = d.run(value)
	case KindSet:
		task.Set = d.set(value)
	case KindSwitch:
		task.Switch = d.switchCases(value)
	case KindTry:
		task.Try = d.try(at, value)
	case KindWait:
		task.Wait = d.duration(value)
	}
}

// directive decodes a `then`.
func (d *decoder) directive(at location) Directive {
	result := Directive{Pointer: at.pointer}
	switch text := d.filled(at); text {
	case "":
		return Directive{}
	case "continue":
		result.Flow = FlowContinue
	case "exit":
		result.Flow = FlowExit
	case "end":
		result.Flow = FlowEnd
	default:
		result.Flow, result.Target = FlowJump, text
	}
	return result
}

// checkTargets checks the jumps of a task against the names of its list (T28).
func (d *decoder) checkTargets(task *Task, names map[string]int32) {
	d.checkTarget(task, task.Then, names)
	d.checkInnerTargets(task, names)
}

func (d *decoder) checkInnerTargets(task *Task, names map[string]int32) {
	for _, c := range task.Switch {
		d.checkTarget(task, c.Then, names)
	}
	if task.Try != nil && task.Try.Catch != nil {
		d.checkTarget(task, task.Try.Catch.Then, names)
	}
}

// checkTarget defers to the task for the position: a directive's own place is found by its
// pointer only when there is a problem.
func (d *decoder) checkTarget(task *Task, then Directive, names map[string]int32) {
	if then.Flow != FlowJump || d.report.full() {
		return
	}
	if _, exists := names[then.Target]; exists {
		return
	}
	line, column := d.root.find(then.Pointer)
	candidates := []string{"continue", "exit", "end"}
	if len(names) <= maxCandidates {
		candidates = append(slices.Sorted(maps.Keys(names)), candidates...)
	}
	hint := suggest(then.Target, candidates)
	if hint == "" {
		hint = "A jump leads to a task of the same list; use continue, exit or end otherwise."
	}
	d.report.add(Problem{Pointer: then.Pointer, Line: line, Column: column, Code: CodeTarget,
		Detail: fmt.Sprintf("Task %s jumps to %s, which is no task of its list.", quote(task.Name), quote(then.Target)),
		Hint:   hint})
}

// maxCandidates bounds the names that one suggestion looks at.
const maxCandidates = 1000
