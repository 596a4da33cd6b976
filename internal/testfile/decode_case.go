package testfile

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/cloudevent"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

func (d *decoder) file(p location) *File {
	f := &File{doc: d.doc}
	names := map[string]string{}
	d.object(p, []string{"tests"}, map[string]string{"testCases": `Did you mean "tests"?`, "cases": `Did you mean "tests"?`},
		property{"workflow", filled(d, &f.Workflow)},
		property{"defaults", func(p location) { d.fill(&f.Defaults, p, false) }},
		property{"tests", func(p location) {
			if list, ok := p.value.([]any); ok && len(list) == 0 {
				d.invalid(p, "must have at least one test.", "")
			}
			d.list(p, func(p location) {
				c := &Case{}
				d.fill(c, p, true)
				if at, twice := names[c.Name]; twice && c.Name != "" {
					d.problem(p.property("name"), dsl.CodeDuplicate, fmt.Sprintf("There are two tests named %q; the other is %s.", c.Name, at), "")
				}
				names[c.Name] = fmt.Sprintf("in line %d", c.At.Line)
				f.Tests = append(f.Tests, c)
			})
		}},
	)
	return f
}

var caseHints = map[string]string{
	"assertions": `Did you mean "expect"?`, "fixtures": `Did you mean "mocks"?`, "events": `Events over time go into "script", those before the start into "before".`,
	"phase": `It belongs in "expect".`, "output": `It belongs in "expect".`, "mock": `Did you mean "mocks"?`, "tests": `Tests stand beside "defaults".`,
	"workflow": `It stands at the top of the file: all tests of a file are of one workflow.`,
}

// fill reads a test, or the defaults of all.
func (d *decoder) fill(c *Case, p location, isTest bool) {
	c.At = d.at(p)
	properties := []property{
		{"input", func(p location) {
			object, ok := p.value.(map[string]any)
			if !ok {
				d.wrongType(p, "an object", "")
			}
			c.Input, c.HasInput = object, ok
		}},
		{"at", func(p location) { c.StartMs, c.HasStart = d.time(p) }},
		{"secrets", func(p location) {
			c.Secrets = map[string]value.Value{}
			d.named(p, func(name string, p location) { c.Secrets[name] = p.value })
		}},
		{"people", func(p location) {
			c.People = map[string]Person{}
			d.named(p, func(name string, p location) { c.People[name] = Person{At: d.at(p), Groups: d.texts(p).List} })
		}},
		{"children", func(p location) {
			c.Children = map[string]Child{}
			d.named(p, func(name string, p location) {
				child := Child{At: d.at(p)}
				filled(d, &child.File)(p)
				if strings.Count(name, "/") != 1 || strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/") {
					d.problem(p, dsl.CodeName, fmt.Sprintf("%q does not name a workflow.", name), "Write namespace/name.")
				}
				c.Children[name] = child
			})
		}},
		{"mocks", func(p location) {
			d.named(p, func(name string, p location) { c.Mocks = append(c.Mocks, d.mock(name, p)) })
		}},
		{"before", func(p location) {
			d.list(p, func(p location) { c.Before = append(c.Before, d.event(p)) })
		}},
		{"script", func(p location) {
			d.list(p, func(p location) { c.Script = append(c.Script, d.step(p)) })
		}},
		{"strict", func(p location) { strict := d.boolean(p); c.Strict = &strict }},
	}
	var required []string
	if isTest {
		required = []string{"name"}
		properties = append(properties,
			property{"name", filled(d, &c.Name)},
			property{"skip", func(p location) {
				switch v := p.value.(type) {
				case bool:
					if v {
						c.Skip = &Skip{}
					}
				case string:
					c.Skip = &Skip{Reason: v}
				default:
					d.wrongType(p, "true, false or the reason (a text)", "")
				}
			}},
			property{"only", func(p location) { c.Only = d.boolean(p) }},
			property{"expect", func(p location) { c.Expect = d.expect(p) }},
		)
	}
	d.object(p, required, caseHints, properties...)
}

// time reads an instant.
func (d *decoder) time(p location) (ms int64, ok bool) {
	s := d.text(p)
	if !isText(p.value) {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		d.invalid(p, fmt.Sprintf("is %q, which is no time from 1970 to 9999 with a zone.", s), "Write for example 2026-01-31T12:00:00Z.")
		return 0, false
	}
	return t.UnixMilli(), true
}

// event reads an event of the world outside. Only what is given is checked: the rest is filled in.
func (d *decoder) event(p location) *Event {
	e := &Event{At: d.at(p)}
	attributes, ok := p.value.(map[string]any)
	if !ok {
		d.wrongType(p, "an event (an object)", "Write at least {type: …}.")
		return e
	}
	e.Attributes = attributes
	if !p.has("type") {
		d.problem(p, dsl.CodeRequired, fmt.Sprintf("%s lacks the required property %q.", p.label(), "type"), "An event has at least a type.")
		return e
	}
	_, wrong := cloudevent.Check(e.Envelope("1"))
	for _, w := range wrong {
		at := p
		if w.Name != "" {
			at = p.property(w.Name)
		}
		d.problem(at, dsl.CodeValue, w.Detail, "")
	}
	return e
}

// Envelope is the event with what is missing of specversion, id and source.
func (e *Event) Envelope(id string) map[string]any {
	envelope := map[string]any{"specversion": "1.0", "id": id, "source": "/test"}
	for name, v := range e.Attributes {
		envelope[name] = v
	}
	return envelope
}

func (d *decoder) step(p location) *Step {
	s := &Step{At: d.at(p)}
	flag := func(f StepFlag) func(location) {
		return func(p location) { d.yes(p); s.Flag = f }
	}
	if !d.object(p, nil, map[string]string{"after": `Did you mean "at"? It counts from the start of the test.`},
		property{"at", func(p location) { s.After = d.duration(p) }},
		property{"waiting", filled(d, &s.Waiting)},
		property{"event", func(p location) { s.Event = d.event(p) }},
		property{"cancel", func(p location) {
			reason := ""
			if p.value != true {
				reason = d.text(p)
			}
			s.Cancel = &reason
		}},
		property{"suspend", flag(Suspend)},
		property{"resume", flag(Resume)},
	) {
		return s
	}
	d.exactlyOne(p, "at", "waiting")
	d.exactlyOne(p, "event", "cancel", "suspend", "resume")
	return s
}

// condition compiles an expression.
func (d *decoder) condition(p location) *Condition {
	c := &Condition{At: d.at(p), Source: d.text(p)}
	if !isText(p.value) {
		return c
	}
	source := c.Source
	if inner, ok := expr.Unwrap(source); ok {
		source = inner
	}
	e, err := expr.Compile(source, nil)
	var wrong *expr.CompileError
	switch {
	case errors.As(err, &wrong):
		hint := ""
		if wrong.Hint != "" {
			hint = "Perhaps: " + wrong.Hint + "."
		}
		d.invalid(p, "is no expression in jq. "+wrong.Detail, hint)
	case err != nil:
		d.invalid(p, "is no expression in jq: "+err.Error(), "")
	}
	c.Expression = e
	return c
}
