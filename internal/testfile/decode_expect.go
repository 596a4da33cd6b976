package testfile

import (
	"github.com/chargehand/chargehand/internal/dsl"
)

var expectHints = map[string]string{
	"status": `Did you mean "phase"?`, "duration": `Did you mean "elapsed"?`, "fault": `Did you mean "error"?`, "checks": `Did you mean "check"?`,
	"outputEquals": `Did you mean "output_equals"?`, "outcome": `Did you mean "phase"?`, "people": `Did you mean "human"?`,
}

func (d *decoder) expect(p location) *Expect {
	e := &Expect{At: d.at(p)}
	if !d.object(p, nil, expectHints,
		property{"phase", func(p location) { e.Phase, e.PhaseAt = d.oneOf(p, Phases...), d.at(p) }},
		property{"output", func(p location) { e.Output = d.valueAt(p) }},
		property{"output_equals", func(p location) { e.OutputEquals = d.valueAt(p) }},
		property{"error", func(p location) { e.Error = d.expectError(p) }},
		property{"files", func(p location) { e.Files = d.expectFiles(p) }},
		property{"elapsed", func(p location) { e.Elapsed = &Elapsed{At: d.at(p), Span: d.duration(p), Text: d.textOf(p)} }},
		property{"tasks", func(p location) {
			d.named(p, "TASK: {times: 1}", func(name string, p location) { e.Tasks = append(e.Tasks, d.expectTask(name, p)) })
		}},
		property{"order", func(p location) {
			e.Order = &Order{At: d.at(p)}
			d.list(p, func(p location) { e.Order.Addresses = append(e.Order.Addresses, d.address(p)) })
		}},
		property{"calls", func(p location) {
			d.list(p, func(p location) { e.Calls = append(e.Calls, d.expectCall(p)) })
		}},
		property{"events", func(p location) { e.Events = d.values(p) }},
		property{"human", func(p location) {
			d.list(p, func(p location) { e.Human = append(e.Human, d.expectHuman(p)) })
		}},
		property{"warnings", func(p location) { e.Warnings = d.texts(p) }},
		property{"check", func(p location) {
			if isText(p.value) {
				e.Check = []*Condition{d.condition(p)}
				return
			}
			d.list(p, func(p location) { e.Check = append(e.Check, d.condition(p)) })
		}},
		property{"snapshot", func(p location) { e.Snapshot, e.SnapshotAt = d.boolean(p), d.at(p) }},
	) {
		return e
	}
	if e.Output != nil && e.OutputEquals != nil {
		d.problem(p.property("output_equals"), dsl.CodeConflict, `"expect" has both "output" and "output_equals"; only one is allowed.`, "")
	}
	if e.Error != nil && !e.Error.None && (e.Phase == "completed" || e.Phase == "waiting") {
		d.problem(p.property("error"), dsl.CodeConflict, `"expect" has an "error", but its "phase" is "`+e.Phase+`".`, `Leave "phase" out, or write "faulted".`)
	}
	return e
}

func (d *decoder) textOf(p location) string { s, _ := p.value.(string); return s }

// expectError reads an expected error; null says that there is none.
func (d *decoder) expectError(p location) *ErrorExpect {
	e := &ErrorExpect{At: d.at(p)}
	if p.value == nil {
		e.None = true
		return e
	}
	read := func(name string) property {
		return property{name, func(p location) {
			f := ErrorField{At: d.at(p), Name: name, Value: p.value}
			switch name {
			case "type":
				f.Value = d.errorType(p)
			case "status":
				f.Value, _ = d.whole(p, 100, 599)
			default:
				f.Value = d.text(p)
			}
			e.Fields = append(e.Fields, f)
		}}
	}
	d.object(p, nil, map[string]string{"code": `Did you mean "status"?`, "message": `Did you mean "detail"?`}, read("type"), read("status"), read("title"), read("detail"), read("instance"))
	return e
}

// expectFiles reads the expected result files. A text is a name.
func (d *decoder) expectFiles(p location) *Files {
	f := &Files{At: d.at(p)}
	d.list(p, func(p location) {
		v := d.valueAt(p)
		if isText(p.value) {
			v.Value = map[string]any{"name": p.value}
		} else {
			d.object(p, nil, map[string]string{"mediaType": `Did you mean "media_type"?`, "filename": `Did you mean "name"?`},
				property{"name", func(p location) { d.text(p) }},
				property{"media_type", func(p location) { d.text(p) }},
				property{"size", func(p location) { d.whole(p, 0, 1<<40) }},
			)
		}
		f.List = append(f.List, *v)
	})
	return f
}

// taskPhases are those that a run of a task may have.
var taskPhases = []string{"running", "waiting", "cancelled", "faulted", "completed"}

func (d *decoder) expectTask(name string, p location) *Task {
	t := &Task{Address: Address{At: d.at(p), Text: name}}
	d.object(p, nil, map[string]string{"status": `Did you mean "phase"?`, "runs": `Did you mean "times"?`, "count": `Did you mean "times"?`},
		property{"times", func(p location) { t.Times = d.count(p) }},
		property{"phase", func(p location) { t.Phase, t.PhaseAt = d.oneOf(p, taskPhases...), d.at(p) }},
		property{"input", func(p location) { t.Input = d.valueAt(p) }},
		property{"output", func(p location) { t.Output = d.valueAt(p) }},
		property{"error", func(p location) { t.Error = d.expectError(p) }},
		property{"attempts", func(p location) { t.Attempts = d.count(p) }},
	)
	return t
}

func (d *decoder) expectCall(p location) *Call {
	c := &Call{At: d.at(p)}
	d.object(p, []string{"task"}, map[string]string{"with": `Did you mean "args"?`, "arguments": `It belongs in "args".`},
		property{"task", func(p location) { c.Task = d.address(p) }},
		property{"args", func(p location) { c.Args = d.valueAt(p) }},
		property{"input", func(p location) { c.Input = d.valueAt(p) }},
	)
	return c
}

// requestProperties are what a human task asks for (package human).
var requestProperties = []string{"title", "instructions", "assignees", "form", "data", "outcomes", "due", "remind", "priority", "show", "files", "upload"}

func (d *decoder) expectHuman(p location) *HumanTask {
	h := &HumanTask{At: d.at(p), Request: &Value{At: d.at(p)}}
	request := map[string]any{}
	properties := []property{{"task", func(p location) { h.Task = d.address(p) }}}
	for _, name := range requestProperties {
		properties = append(properties, property{name, func(p location) { request[name] = p.value }})
	}
	d.object(p, []string{"task"}, nil, properties...)
	h.Request.Value = request
	return h
}
