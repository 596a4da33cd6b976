package testfile

import (
	"errors"
	"fmt"
	"regexp"
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
	d.object(p, []string{"tests"}, fileHints,
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

var fileHints = map[string]string{
	"testCases": `Did you mean "tests"?`, "cases": `Did you mean "tests"?`, "name": `Each test is an item of "tests".`, "expect": `It belongs in a test, an item of "tests".`,
	"document": `This is a definition of a workflow. Its "tests" are in NAME.test.yaml beside it.`, "do": "It belongs in the definition of the workflow.",
}

var caseHints = map[string]string{
	"assertions": `Did you mean "expect"?`, "fixtures": `Did you mean "mocks"?`, "events": `Events over time go into "script", those before the start into "before".`,
	"phase": `It belongs in "expect".`, "output": `It belongs in "expect".`, "mock": `Did you mean "mocks"?`, "tests": `Tests stand beside "defaults".`,
	"workflow": `It stands at the top of the file: all tests of a file are of one workflow.`,
}

// defaultsHints are those of what all tests have.
var defaultsHints = map[string]string{
	"name": "It belongs in each test.", "expect": "It belongs in each test.", "skip": "It belongs in each test.", "only": "It belongs in each test.",
	"tests": caseHints["tests"], "workflow": caseHints["workflow"], "fixtures": caseHints["fixtures"], "events": caseHints["events"], "mock": caseHints["mock"],
}

// fill reads a test, or the defaults of all.
func (d *decoder) fill(c *Case, p location, isTest bool) {
	c.At = d.at(p)
	properties := []property{
		{"input", func(p location) {
			switch p.value.(type) {
			case map[string]any, []any:
				c.Input, c.HasInput = p.value, true
			default:
				d.wrongType(p, "an object", "A workflow that events start gets a list.")
			}
		}},
		{"at", func(p location) { c.StartMs, c.HasStart = d.time(p) }},
		{"secrets", func(p location) {
			c.Secrets = map[string]value.Value{}
			d.named(p, "NAME: VALUE", func(name string, p location) { c.Secrets[name] = p.value })
		}},
		{"people", func(p location) {
			c.People = map[string]Person{}
			d.named(p, "bo@example.org: [GROUP]", func(name string, p location) {
				person := Person{At: d.at(p)}
				if p.value == nil {
					d.wrongType(p, "a list of groups", "Write [] for a person in no group.")
				} else {
					person.Groups = d.texts(p).List
				}
				c.People[name] = person
			})
		}},
		{"children", func(p location) {
			c.Children = map[string]Child{}
			d.named(p, "namespace/name: PATH", func(name string, p location) {
				child := Child{At: d.at(p)}
				filled(d, &child.File)(p)
				if strings.Count(name, "/") != 1 || strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/") {
					d.problem(p, dsl.CodeName, fmt.Sprintf("%q does not name a workflow.", name), "Write namespace/name.")
				}
				c.Children[name] = child
			})
		}},
		{"mocks", func(p location) {
			d.named(p, "TASK: {returns: …}", func(name string, p location) { c.Mocks = append(c.Mocks, d.mock(name, p)) })
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
	hints := caseHints
	if !isTest {
		hints = defaultsHints
	}
	d.object(p, required, hints, properties...)
}

// time reads an instant.
func (d *decoder) time(p location) (ms int64, ok bool) {
	const hint = "Write for example 2026-01-31T12:00:00Z."
	s, isTime := p.value.(string)
	if !isTime {
		d.wrongType(p, "a time (a text)", hint)
		return 0, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		d.invalid(p, fmt.Sprintf("is %q, which is no time from 1970 to 9999 with a zone.", s), hint)
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
		hint := "An event has at least a type."
		for _, name := range value.SortedKeys(attributes) {
			if dsl.Suggest(name, []string{"type"}) != "" {
				hint = fmt.Sprintf("Did you mean it by %q?", name)
			}
		}
		d.problem(p, dsl.CodeRequired, fmt.Sprintf("%s lacks the required property %q.", p.label(), "type"), hint)
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
		property{"waiting", d.addressText(&s.Waiting)},
		property{"event", func(p location) { s.Event = d.event(p) }},
		property{"cancel", func(p location) {
			reason, isText := p.value.(string)
			if p.value != true && !isText {
				d.wrongTypeOf(p, "true or the reason (a text)")
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

// undefined is a name that means nothing in an expression: there are no variables.
var undefined = regexp.MustCompile(`^The (?:variable [$]|function )([A-Za-z_]+)(?:/0)? is not defined`)

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
		switch name := undefined.FindStringSubmatch(wrong.Detail); {
		case wrong.Hint != "":
			hint = "Perhaps: " + wrong.Hint + "."
		case strings.HasPrefix(strings.TrimSpace(source), "${"):
			hint = "Write it without ${ }."
		case name != nil:
			hint = "If it is a property, write ." + name[1] + "."
		}
		d.invalid(p, "is no expression in jq. "+wrong.Detail, hint)
	case err != nil:
		d.invalid(p, "is no expression in jq: "+err.Error(), "")
	}
	c.Expression = e
	return c
}
