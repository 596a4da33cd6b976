package machinetest

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
)

// EventScripts are the scripts that need stored events or streams (RunEvents).
func EventScripts() []*Script {
	var all []*Script
	for _, part := range [][]*Script{listenScripts(), foreachScripts(), streamScripts()} {
		all = append(all, part...)
	}
	return all
}

// httpGet is a call whose answer stores events.
const httpGet = "{call: http, with: {method: get, endpoint: 'https://example.org/'}, output: {as: '$input'}}"

func listenScripts() []*Script {
	return []*Script{
		{
			Name:       "listen to one",
			Definition: "do: [{a: {listen: {to: {one: {with: {type: order}}}}}}]",
			Before:     []string{`{"type": "order", "data": "before the start"}`},
			Events:     []string{`{"type": "other"}`, `{"type": "order", "data": {"n": 1}}`, `{"type": "order", "data": {"n": 2}}`},
			Want:       Want{Output: `[{"n": 1}]`, Order: []string{"a"}},
		},
		{
			Name:       "event before the listen",
			Definition: "do: [{a: " + httpGet + "}, {b: {listen: {to: {one: {with: {type: order}}}}}}]",
			Answers:    map[string][]Answer{"a": {{Events: []string{`{"type": "order", "data": 1}`}}}},
			Want:       Want{Output: `[1]`, Order: []string{"a", "b"}},
		},
		{
			Name:       "listen to all",
			Definition: "do: [{a: {listen: {to: {all: [{with: {type: a}}, {with: {type: 'a|b'}}, {with: {source: /suite}}]}, read: envelope}, output: {as: '[.[].type]'}}}]",
			Events:     []string{`{"type": "b"}`, `{"type": "b"}`, `{"type": "a"}`, `{"type": "a"}`},
			Want:       Want{Output: `["b", "b", "a"]`},
		},
		{
			Name:       "listen to any",
			Definition: "do: [{a: {listen: {to: {any: [{with: {type: a}}, {with: {type: b}}]}}}}]",
			Events:     []string{`{"type": "c"}`, `{"type": "b", "data": 2}`, `{"type": "a", "data": 1}`},
			Want:       Want{Output: `[2]`},
		},
		{
			Name:       "until an expression",
			Definition: "do: [{a: {listen: {to: {any: [{with: {type: a}}], until: '. | add > 5'}}}}]",
			Events:     []string{`{"type": "a", "data": 1}`, `{"type": "b", "data": 9}`, `{"type": "a", "data": 2}`, `{"type": "a", "data": 3}`, `{"type": "a", "data": 4}`},
			Want:       Want{Output: `[1, 2, 3]`},
		},
		{
			Name:       "until an event",
			Definition: "do: [{a: {listen: {to: {any: [], until: {all: [{with: {type: stop}}, {with: {type: 'sto.'}}]}}}}}]",
			Events:     []string{`{"type": "a", "data": 1}`, `{"type": "stop", "data": 2}`, `{"type": "b", "data": 3}`, `{"type": "stot"}`},
			Want:       Want{Output: `[1, 3]`},
		},
		{
			Name: "filters of events",
			Definition: `
do:
  - a:
      listen:
        to:
          any:
            - with: {type: 'order\.(created|changed)', subject: '${ . != null and $event.level > $input.level }', data: {customer: {id: '${ $input.id }'}, open: true}}
          until: length == 2
`,
			Input: `{"level": 3, "id": 7}`,
			Events: []string{
				`{"type": "order.created", "subject": "s", "level": 4, "data": {"customer": {"id": 8}, "open": true}}`,
				`{"type": "order.created", "subject": "s", "level": 4, "data": {"customer": {"id": 7}}}`,
				`{"type": "order.created", "subject": "s", "level": 4, "data": {"customer": {"id": 7, "x": 1}, "open": true, "n": 1}}`,
				`{"type": "order.created", "level": 4, "data": {"customer": {"id": 7}, "open": true}}`,
				`{"type": "order.created", "subject": "s", "level": 3, "data": {"customer": {"id": 7}, "open": true}}`,
				`{"type": "order.changed!", "subject": "s", "level": 4, "data": {"customer": {"id": 7}, "open": true}}`,
				`{"type": "order.changed", "subject": "s", "level": 4, "data": {"customer": {"id": 7}, "open": true, "n": 2}}`,
			},
			Want: Want{Output: `[{"customer": {"id": 7, "x": 1}, "open": true, "n": 1}, {"customer": {"id": 7}, "open": true, "n": 2}]`},
		},
		{
			Name: "correlation",
			Definition: `
do:
  - ask: {emit: {event: {with: {type: asked, subject: question-1}}}}
  - answer:
      listen:
        to:
          all:
            - {with: {type: answered}, correlate: {request: {from: .subject, expect: .subject}, order: {from: .data.order}}}
            - {with: {type: paid}, correlate: {order: {from: .data.order}}}
  - done: {set: '${ [.[].n] }'}
`,
			Events: []string{
				`{"type": "answered", "subject": "question-2", "data": {"order": 1, "n": 1}}`,
				`{"type": "answered", "subject": "question-1", "data": {"n": 2}}`,
				`{"type": "answered", "subject": "question-1", "data": {"order": 5, "n": 3}}`,
				`{"type": "paid", "data": {"order": 6, "n": 4}}`,
				`{"type": "paid", "data": {"order": 5.0, "n": 5}}`,
			},
			Want: Want{Output: `[3, 5]`, Events: 1},
		},
		{
			Name: "each event once",
			Definition: `
do:
  - a:
      for: {in: '[1, 2, 3]'}
      do:
        - b: {listen: {to: {one: {with: {type: x}}}}, output: {as: '.[0]'}, export: {as: '{got: (($context.got // []) + [.])}'}}
  - c: {listen: {to: {one: {with: {type: x}}}}}
  - d: {set: '${ {loop: $context.got, other: .} }'}
`,
			Events: []string{`{"type": "x", "data": 1}`, `{"type": "y", "data": 2}`, `{"type": "x", "data": 3}`, `{"type": "x", "data": 4}`},
			Want:   Want{Output: `{"loop": [1, 3, 4], "other": [1]}`, Order: []string{"a", "b", "b", "b", "c", "d"}},
		},
		{
			Name:       "what an execution publishes it hears",
			Definition: "do: [{a: {emit: {event: {with: {type: x, data: 1}}}}}, {b: {listen: {to: {one: {with: {type: x}}}}}}]",
			Want:       Want{Output: `[1]`, Events: 1},
		},
		{
			Name:       "forms of events",
			Definition: "do: [{a: {listen: {to: {any: [], until: length == 4}, read: raw}}}]",
			Events: []string{
				`{"type": "x", "data": {"b": 1, "a": [2]}}`, `{"type": "x", "datacontenttype": "text/plain", "data": "hello"}`,
				`{"type": "x", "datacontenttype": "text/plain; charset=utf-8", "data_base64": "aGk="}`, `{"type": "x", "datacontenttype": "image/png", "data_base64": "iVBO"}`,
			},
			Want: Want{Output: `["{\"a\":[2],\"b\":1}", "hello", "hi", "iVBO"]`},
		},
		{
			Name:       "listen that takes too long",
			Definition: "do: [{a: {try: [{b: {timeout: {after: {milliseconds: 500}}, listen: {to: {one: {with: {type: x}}}}}}], catch: {errors: {with: {status: 408}}, do: [{c: {set: '${ $error.instance }'}}]}}}]",
			Events:     []string{`{"type": "y"}`},
			Want:       Want{Output: `"/do/0/a/try/0/b"`, Order: []string{"a", "b", "c"}},
		},
		{
			Name:       "competing listens",
			Definition: "do: [{a: {fork: {compete: true, branches: [{b: {listen: {to: {one: {with: {type: x}}}}}}, {c: {listen: {to: {one: {with: {type: y}}}}}}, {d: {wait: PT1H}}]}}}]",
			Events:     []string{`{"type": "y", "data": 1}`},
			Want:       Want{Output: `[1]`, Order: []string{"a", "b", "c", "d"}},
		},
		{
			Name:       "listens in a fork",
			Definition: "do: [{a: {fork: {branches: [{b: {listen: {to: {one: {with: {type: x}}}}}}, {c: {listen: {to: {one: {with: {type: x}}}}}}]}}}]",
			Events:     []string{`{"type": "x", "data": 1}`},
			Want:       Want{Output: `[[1], [1]]`},
		},
		{
			Name:       "bad until",
			Definition: "do: [{a: {listen: {to: {any: [], until: '.[0].x > 1'}}}}]",
			Events:     []string{`{"type": "x", "data": "text"}`},
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrExpression, 400, "/do/0/a")},
		},
		{
			Name:       "events that filters fail on",
			Definition: "do: [{a: {listen: {to: {one: {with: {data: '${ .n + 1 > 2 }'}}}}}}]",
			Events:     []string{`{"type": "x", "data": "text"}`, `{"type": "x"}`, `{"type": "x", "data": {"n": "1"}}`, `{"type": "x", "data": {"n": 2}}`},
			Want:       Want{Output: `[{"n": 2}]`},
		},
		{
			Name:       "bad filter",
			Definition: "do: [{a: {listen: {to: {one: {with: {type: '${ $input.x.y }'}}}}}}]",
			Input:      `{"x": 1}`,
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrExpression, 400, "/do/0/a")},
		},
	}
}

func foreachScripts() []*Script {
	return []*Script{
		{
			Name: "foreach",
			Definition: `
do:
  - a:
      listen: {to: {any: [{with: {type: x}}], until: length == 3}, read: envelope}
      foreach:
        item: event
        at: i
        do:
          - b: ` + get + `
          - c: {set: '${ {n: $event.data, i: $i, got: .} }'}
        output: {as: '.n * 10 + .i'}
        export: {as: '{sum: (($context.sum // 0) + .)}'}
  - d: {set: '${ [., $context.sum] }'}
`,
			Answers: map[string][]Answer{"b": {{Output: "1"}}},
			Events:  []string{`{"type": "x", "data": 1}`, `{"type": "y", "data": 2}`, `{"type": "x", "data": 3}`, `{"type": "x", "data": 4}`, `{"type": "x", "data": 5}`},
			Want: Want{Output: `[[10, 31, 42], 83]`, Runs: map[string]int{"b": 3},
				Order: []string{"a", "b", "c", "b", "c", "b", "c", "d"}},
		},
		{
			Name: "foreach until an event",
			Definition: `
do:
  - a:
      listen: {to: {any: [{with: {type: x}}], until: {one: {with: {type: stop}}}}}
      foreach: {do: [{b: ` + get + `}, {c: {set: '${ $item }', then: exit}}, {d: {set: {wrong: true}}}]}
`,
			Answers: map[string][]Answer{"b": {{Output: "1"}}},
			Events:  []string{`{"type": "x", "data": 1}`, `{"type": "x", "data": 2}`, `{"type": "stop"}`, `{"type": "x", "data": 3}`},
			Want:    Want{Output: `[1, 2]`, Runs: map[string]int{"b": 2}},
		},
		{
			Name: "events that a foreach left",
			Definition: `
do:
  - a:
      for: {in: '[1, 2]'}
      do:
        - b:
            listen: {to: {any: [{with: {type: x}}], until: length == 2}}
            foreach: {do: [{c: ` + get + `}, {d: {set: '${ $item }'}}]}
            export: {as: '{got: (($context.got // []) + .)}'}
  - e: {set: '${ $context.got }'}
`,
			Answers: map[string][]Answer{"c": {{Output: "1"}}},
			Events:  []string{`{"type": "x", "data": 1}`, `{"type": "x", "data": 2}`, `{"type": "x", "data": 3}`, `{"type": "x", "data": 4}`},
			Want:    Want{Output: `[1, 2, 3, 4]`, Runs: map[string]int{"c": 4}},
		},
		{
			Name:       "foreach without a body",
			Definition: "do: [{a: {listen: {to: {all: [{with: {type: x}}, {with: {type: y}}]}}, foreach: {output: {as: '[$item, $index]'}}}}]",
			Events:     []string{`{"type": "y", "data": 1}`, `{"type": "x", "data": 2}`},
			Want:       Want{Output: `[[1, 0], [2, 1]]`},
		},
		{
			Name:       "foreach that faults",
			Definition: "do: [{a: {try: [{b: {listen: {to: {any: [], until: 'false'}}, foreach: {do: [{c: " + get + "}]}}}], catch: {do: [{d: {set: '${ $error.instance }'}}]}}}]",
			Answers:    map[string][]Answer{"c": {{Output: "1"}, {Fault: communication(500)}}},
			Events:     []string{`{"type": "x"}`, `{"type": "x"}`, `{"type": "x"}`},
			Want:       Want{Output: `"/do/0/a/try/0/b/foreach/do/0/c"`, Runs: map[string]int{"c": 2}},
		},
		{
			Name:       "end in a foreach",
			Definition: "do: [{a: {listen: {to: {any: [], until: 'false'}}, foreach: {do: [{b: {set: '${ $item }', then: end}}]}}}, {c: {set: {wrong: true}}}]",
			Events:     []string{`{"type": "x", "data": {"n": 1}}`, `{"type": "x"}`},
			Want:       Want{Output: `{"n": 1}`, Order: []string{"a", "b"}},
		},
		{
			Name:       "cancelled foreach",
			Definition: "do: [{a: {listen: {to: {any: [], until: 'false'}}, foreach: {do: [{b: " + get + "}]}}}]",
			Answers:    map[string][]Answer{"b": {{Hang: true}}},
			Events:     []string{`{"type": "x"}`, `{"type": "x"}`},
			Cancel:     true,
			Want:       Want{Phase: chargehand.Cancelled, Fault: &machine.Fault{Code: machine.CodeCancelled}, Order: []string{"a", "b"}},
		},
	}
}

// subscribe is a subscription of AsyncAPI that consumes as the given text says.
func subscribe(consume string) string {
	return "{call: asyncapi, with: {document: {endpoint: 'https://example.org/'}, operation: o, subscription: {" + consume + "}}}"
}

func streamScripts() []*Script {
	messages := []string{`{"payload": 1}`, `{"payload": 2}`, `{"payload": "text"}`, `{"payload": 3}`}
	hanging := map[string][]Answer{"a": {{Messages: messages, Hang: true}}}
	return []*Script{
		{
			Name:       "stream of an amount",
			Definition: "do: [{a: " + subscribe("consume: {amount: 2}") + "}]",
			Answers:    hanging,
			Want:       Want{Output: `[{"payload": 1}, {"payload": 2}]`, Runs: map[string]int{"a": 1}, Order: []string{"a"}},
		},
		{
			Name:       "filtered stream",
			Definition: "do: [{a: " + subscribe("filter: '${ .payload + 0 > 1 }', consume: {while: '${ length < 2 }'}") + "}]",
			Answers:    hanging,
			Want:       Want{Output: `[{"payload": 2}, {"payload": 3}]`},
		},
		{
			Name:       "stream that is not needed",
			Definition: "do: [{a: " + subscribe("consume: {until: '${ true }'}") + "}]",
			Answers:    hanging,
			Want:       Want{Output: `[]`, Runs: map[string]int{"a": 0}},
		},
		{
			Name: "stream for some time",
			// so long that four messages come within it, also where the clock is real and the machine busy
			Definition: "do: [{a: " + subscribe("consume: {while: '${ true }', for: {seconds: 5}}") + "}]",
			Answers:    hanging,
			Want:       Want{Output: `[{"payload": 1}, {"payload": 2}, {"payload": "text"}, {"payload": 3}]`},
		},
		{
			Name:       "stream that ends",
			Definition: "do: [{a: " + subscribe("consume: {amount: 9}, foreach: {item: m, do: [{b: {set: '${ $m.payload }'}}]}") + "}]",
			Answers:    map[string][]Answer{"a": {{Messages: messages}}},
			Want:       Want{Output: `[1, 2, "text", 3]`, Order: []string{"a", "b", "b", "b", "b"}},
		},
		{
			Name: "foreach of a stream",
			Definition: "do: [{a: " + subscribe("consume: {until: '${ ($context.n | length) == 2 }'}, foreach: {item: m, do: [{b: "+get+
				"}], output: {as: '$m.payload'}, export: {as: '{n: (($context.n // []) + [.])}'}}") + "}]",
			Answers: map[string][]Answer{"a": {{Messages: messages, Hang: true}}, "b": {{Output: "1"}}},
			Want:    Want{Output: `[1, 2]`, Runs: map[string]int{"a": 1, "b": 2}},
		},
		{
			Name:       "stream that faults",
			Definition: "do: [{a: " + subscribe("consume: {amount: 9}") + "}]",
			Answers:    map[string][]Answer{"a": {{Messages: messages, Fault: communication(503)}}},
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrCommunication, 503, "/do/0/a")},
		},
		{
			Name:       "message to send",
			Definition: "do: [{a: {call: asyncapi, with: {document: {endpoint: 'https://example.org/'}, channel: c, protocol: nats, message: {payload: {x: 1}}}}}]",
			Answers:    map[string][]Answer{"a": {{Output: `{"sent": true}`}}},
			Want:       Want{Output: `{"sent": true}`, Runs: map[string]int{"a": 1}},
		},
	}
}
