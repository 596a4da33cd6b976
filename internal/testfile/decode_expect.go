package testfile

import (
	"github.com/chargehand/chargehand/internal/dsl"
)

var expectHints = map[string]string{
	"status": `Did you mean "phase"?`, "duration": `Did you mean "elapsed"?`, "fault": `Did you mean "error"?`, "checks": `Did you mean "check"?`,
	"outputEquals": `Did you mean "output_equals"?`, "outcome": `Did you mean "phase"?`, "people": `Did you mean "human"?`,
}

func (d *decoder) expect(p place) *Expect {
	e := &Expect{At: d.at(p)}
	if !d.object(p, nil, expectHints,
		property{"phase", func(p place) { e.Phase, e.PhaseAt = d.oneOf(p, Phases...), d.at(p) }},
		property{"output", func(p place) { e.Output = d.valueAt(p) }},
		property{"output_equals", func(p place) { e.OutputEquals = d.valueAt(p) }},
		property{"error", func(p place) { e.Error = d.expectError(p) }},
		property{"files", func(p place) { e.Files = d.expectFiles(p) }},
		property{"elapsed", func(p place) { e.Elapsed = &Elapsed{At: d.at(p), Span: d.duration(p), Text: d.textOf(p)} }},
		property{"tasks", func(p place) {
			d.named(p, func(name string, p place) { e.Tasks = append(e.Tasks, d.expectTask(name, p)) })
		}},
		property{"order", func(p place) {
			e.Order = &Order{At: d.at(p)}
			d.list(p, func(p place) { e.Order.Addresses = append(e.Order.Addresses, d.address(p)) })
		}},
		property{"calls", func(p place) {
			d.list(p, func(p place) { e.Calls = append(e.Calls, d.expectCall(p)) })
		}},
		property{"events", func(p place) { e.Events = d.values(p) }},
		property{"human", func(p place) {
			d.list(p, func(p place) { e.Human = append(e.Human, d.expectHuman(p)) })
		}},
		property{"warnings", func(p place) { e.Warnings = d.texts(p) }},
		property{"check", func(p place) {
			if isText(p.value) {
				e.Check = []*Condition{d.condition(p)}
				return
			}
			d.list(p, func(p place) { e.Check = append(e.Check, d.condition(p)) })
		}},
		property{"snapshot", func(p place) { e.Snapshot, e.SnapshotAt = d.boolean(p), d.at(p) }},
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

func (d *decoder) textOf(p place) string { s, _ := p.value.(string); return s }

// expectError reads an expected error; null says that there is none.
func (d *decoder) expectError(p place) *ErrorExpect {
	e := &ErrorExpect{At: d.at(p)}
	if p.value == nil {
		e.None = true
		return e
	}
	read := func(name string) property {
		return property{name, func(p place) {
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
	d.object(p, nil, nil, read("type"), read("status"), read("title"), read("detail"), read("instance"))
	return e
}

// expectFiles reads the expected result files. A text is a name.
func (d *decoder) expectFiles(p place) *Files {
	f := &Files{At: d.at(p)}
	d.list(p, func(p place) {
		v := d.valueAt(p)
		if isText(p.value) {
			v.Value = map[string]any{"name": p.value}
		} else {
			d.object(p, nil, map[string]string{"mediaType": `Did you mean "media_type"?`},
				property{"name", func(p place) { d.text(p) }},
				property{"media_type", func(p place) { d.text(p) }},
				property{"size", func(p place) { d.whole(p, 0, 1<<40) }},
			)
		}
		f.List = append(f.List, *v)
	})
	return f
}

// taskPhases are those that a run of a task may have.
var taskPhases = []string{"running", "waiting", "cancelled", "faulted", "completed"}

func (d *decoder) expectTask(name string, p place) *Task {
	t := &Task{Address: Address{At: d.at(p), Text: name}}
	d.object(p, nil, map[string]string{"status": `Did you mean "phase"?`, "runs": `Did you mean "times"?`, "count": `Did you mean "times"?`},
		property{"times", func(p place) { t.Times = d.count(p) }},
		property{"phase", func(p place) { t.Phase, t.PhaseAt = d.oneOf(p, taskPhases...), d.at(p) }},
		property{"input", func(p place) { t.Input = d.valueAt(p) }},
		property{"output", func(p place) { t.Output = d.valueAt(p) }},
		property{"error", func(p place) { t.Error = d.expectError(p) }},
		property{"attempts", func(p place) { t.Attempts = d.count(p) }},
	)
	return t
}

func (d *decoder) expectCall(p place) *Call {
	c := &Call{At: d.at(p)}
	d.object(p, []string{"task"}, map[string]string{"with": `Did you mean "args"?`, "arguments": `It belongs into "args".`},
		property{"task", func(p place) { c.Task = d.address(p) }},
		property{"args", func(p place) { c.Args = d.valueAt(p) }},
		property{"input", func(p place) { c.Input = d.valueAt(p) }},
	)
	return c
}

// requestProperties are what a human task asks for (package human).
var requestProperties = []string{"title", "instructions", "assignees", "form", "data", "outcomes", "due", "remind", "priority", "show", "files", "upload"}

func (d *decoder) expectHuman(p place) *HumanTask {
	h := &HumanTask{At: d.at(p), Request: &Value{At: d.at(p)}}
	request := map[string]any{}
	properties := []property{{"task", func(p place) { h.Task = d.address(p) }}}
	for _, name := range requestProperties {
		properties = append(properties, property{name, func(p place) { request[name] = p.value }})
	}
	d.object(p, []string{"task"}, nil, properties...)
	h.Request.Value = request
	return h
}
