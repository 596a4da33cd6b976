package plan

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
)

// compileTask compiles a definition of one task.
func compileTask(t *testing.T, task string) (*Plan, dsl.Problems) {
	t.Helper()
	doc, problems := dsl.Parse([]byte("document: {dsl: 1.0.3, namespace: test, name: listen, version: 1.0.0}\ndo: [{a: " + task + "}]\n"))
	if problems.HasErrors() {
		return nil, problems
	}
	return Compile(doc, Options{})
}

func TestListen(t *testing.T) {
	p, problems := compileTask(t, `{listen: {to: {any: [
		{with: {data: {b: 1, a: '${ .x }'}, type: 'a.*', level: '${ $context.level }'}, correlate: {k: {from: .data.k, expect: .k}, l: {from: '.data.l | tostring'}}},
		{with: {type: plain}, correlate: {k: {from: .subject}}}], until: {one: {with: {type: stop}}}}, read: raw},
		foreach: {item: e, at: i, do: [{b: {set: '${ [$e, $i] }'}}], output: {as: '$e'}, export: {as: '{i: $i}'}}}`)
	if p == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	task := p.Tasks[0]
	l := task.Listen
	if task.Leaf() || task.Foreach == nil || task.Foreach.Item != "e" || task.Body.Tasks[0].Reference != "/do/0/a/foreach/do/0/b" {
		t.Errorf("foreach %+v of %s", task.Foreach, task.Body.Tasks[0].Reference)
	}
	if len(l.Filters) != 3 || l.To.UntilEvents.Filters[0].Number != 2 || l.Read != "raw" || l.EnvelopeOnly {
		t.Errorf("listen %+v", l)
	}
	first := l.Filters[0]
	if names := first.Attributes[0].Name + first.Attributes[1].Name + first.Attributes[2].Name; names != "typeleveldata" {
		t.Errorf("attributes in the order %s", names)
	}
	if level := first.Attributes[1].Match; level.Fixed != 0 || len(l.Fixed) != 1 {
		t.Errorf("what depends on no event is evaluated once: %+v", level)
	}
	if a := first.Attributes[2].Match.Fields[0]; a.Name != "a" || a.Match.Operand == nil || a.Match.Fixed != -1 {
		t.Errorf("what depends on the event is not: %+v", a)
	}
	if len(l.Keys) != 2 || l.Keys[0].Name != "k" || l.Keys[0].Expect == nil || l.Keys[1].Expect != nil {
		t.Errorf("keys %+v", l.Keys)
	}
	if k, i := first.Correlations[0], first.Correlations[1]; k.Path != ".data.k" || i.Path != "" || l.Filters[1].Correlations[0].Key != k.Key {
		t.Errorf("correlations %+v %+v", k, i)
	}
	if l.Filters[1].Attributes[0].Match.Pattern != nil || first.Attributes[0].Match.Pattern == nil {
		t.Error("only texts with something to match are patterns")
	}
}

func TestListenProblems(t *testing.T) {
	many := strings.Repeat("{with: {type: x}}, ", maxFilters)
	for _, test := range []struct {
		task, code, pointer string
		warning             bool
	}{
		{`{listen: {to: {one: {with: {dataContentType: x}}}}}`, CodeUnknownAttribute, "/do/0/a/listen/to/one/with/dataContentType", true},
		{`{listen: {to: {one: {with: {type: 'a('}}}}}`, CodePattern, "/do/0/a/listen/to/one/with/type", true},
		{`{listen: {to: {one: {with: {data: {x: ['a)|(b']}}}}}}`, CodePattern, "/do/0/a/listen/to/one/with/data/x/0", true},
		{`{listen: {to: {one: {with: {type: 'a ${ .x } b'}}}}}`, CodeLiteral, "/do/0/a/listen/to/one/with/type", true},
		{`{listen: {to: {one: {with: {data: '${ $item }'}}}}}`, CodeExpression, "/do/0/a/listen/to/one/with/data", false},
		{`{listen: {to: {one: {with: {data: '${ .x( }'}}}}}`, CodeExpression, "/do/0/a/listen/to/one/with/data", false},
		{`{listen: {to: {one: {with: {type: x}, correlate: {k: {from: '$event.x'}}}}}}`, CodeExpression, "/do/0/a/listen/to/one/correlate/k/from", false},
		{`{listen: {to: {any: [], until: '$event'}}}`, CodeExpression, "/do/0/a/listen/to/until", false},
		{`{listen: {to: {any: [], until: '$item'}}}`, CodeExpression, "/do/0/a/listen/to/until", false},
		{`{listen: {to: {any: []}}, foreach: {item: e, do: [{b: {set: '${ $item }'}}]}}`, CodeExpression, "/do/0/a/foreach/do/0/b/set", false},
		{`{listen: {to: {any: []}}, foreach: {item: e}, output: {as: '$e'}}`, CodeExpression, "/do/0/a/output/as", false},
		{`{listen: {to: {any: []}}, foreach: {output: {as: '$none'}}}`, CodeExpression, "/do/0/a/foreach/output/as", false},
		{`{listen: {to: {any: []}}, foreach: {output: {as: '$output'}}}`, CodeOutOfScope, "/do/0/a/foreach/output/as", true},
		{`{listen: {to: {any: []}}, foreach: {export: {schema: {document: {type: 5}}}}}`, CodeSchema, "/do/0/a/foreach/export/schema/document/type", false},
		{`{listen: {to: {all: []}}}`, CodeEmptyStrategy, "/do/0/a/listen/to", true},
		{`{listen: {to: {any: [` + many + `{with: {type: x}}]}}}`, CodeTooManyFilters, "/do/0/a/listen/to", false},
		{`{listen: {to: {any: [{with: {type: x}, correlate: {k: {from: .a, expect: .b}}}, {with: {type: x}, correlate: {k: {from: .a, expect: .c}}}]}}}`,
			CodeDoubtful, "/do/0/a/listen/to/any/1/correlate/k/expect", true},
		{`{listen: {to: {any: [], until: {any: [], until: 'true'}}}}`, dsl.CodeConflict, "/do/0/a/listen/to/until/until", false},
		{`{call: asyncapi, with: {document: {endpoint: 'https://e.org'}, channel: c, protocol: kafka, message: {}}}`, CodeNotSupported, "/do/0/a/with/protocol", false},
		{`{call: asyncapi, with: {document: {endpoint: 'https://e.org'}, channel: c, subscription: {filter: '$item', consume: {amount: 1}, foreach: {}}}}`,
			CodeExpression, "/do/0/a/with/subscription/filter", false},
	} {
		p, problems := compileTask(t, test.task)
		if (p != nil) != test.warning {
			t.Errorf("%s: compiled %v: %v", test.task, p != nil, problems)
			continue
		}
		found := false
		for _, problem := range problems {
			found = found || problem.Code == test.code && strings.HasPrefix(problem.Pointer, test.pointer)
		}
		if !found {
			t.Errorf("%s: no %s at %s: %v", test.task, test.code, test.pointer, problems)
		}
	}
}

func TestAsyncAPI(t *testing.T) {
	p, problems := compileTask(t, `{call: asyncapi, with: {document: {endpoint: 'https://e.org'}, operation: o, protocol: ws, server: {name: s, variables: {v: '${ .v }'}},
		subscription: {filter: '.x < now', consume: {until: '$item == 1', for: PT1S}, foreach: {do: [{b: {set: '${ $index }'}}]}}}}`)
	if p == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	task := p.Tasks[0]
	if s := task.Stream; s == nil || !s.Timed || s.Amount != 0 || s.Until == nil || s.For == nil || task.Leaf() {
		t.Errorf("stream %+v", s)
	}
	if a := task.Activity; a.Constants["protocol"] != "ws" || a.Constants["operation"] != "o" || a.Constants["channel"] != nil || len(a.Fields) != 2 {
		t.Errorf("activity %+v", a)
	}
	if task.Body.Tasks[0].Reference != "/do/0/a/with/subscription/foreach/do/0/b" {
		t.Errorf("the body is at %s", task.Body.Tasks[0].Reference)
	}
}

func TestCompilePattern(t *testing.T) {
	for _, text := range []string{"a)|(b", "[", "a**"} {
		if _, err := CompilePattern(text); err == nil {
			t.Errorf("%s is a pattern", text)
		}
	}
	if p, err := CompilePattern("a|b"); err != nil || p.MatchString("ab") || !p.MatchString("b") {
		t.Errorf("a|b matches the wrong texts: %v", err)
	}
}
