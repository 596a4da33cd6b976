package machine

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

// listening starts an execution of the given tasks and expects it to listen.
func listening(t testing.TB, tasks string, input value.Value) *Machine {
	t.Helper()
	m := New(compilePlan(t, testHeader+tasks), testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: input})
	if m.Load().Listens == 0 {
		t.Fatal("it does not listen")
	}
	return m
}

// receive gives an event to the first subscription.
func receive(m *Machine, number int64, envelope value.Value) []Command {
	return m.Apply(Event{Kind: EventReceived, TimeMs: scriptEpoch, Command: m.Subscriptions()[0].Command, Number: number, Output: envelope})
}

// Which events match, one filter at a time (T57).
func TestFilters(t *testing.T) {
	const event = `{"id": "1", "type": "order.created", "source": "/s", "level": 3, "flag": true,
		"data": {"n": 1, "text": "hello", "list": [1, "two", {"x": 1}], "inner": {"a": 1, "b": null}}}`
	for filter, want := range map[string]bool{
		`{type: order.created}`:                        true,
		`{type: order}`:                                false,
		`{type: 'order\..*'}`:                          true,
		`{type: 'order|order.created'}`:                true,
		`{type: '(?i)ORDER.CREATED'}`:                  true,
		`{type: 'created'}`:                            false,
		`{type: '['}`:                                  false,
		`{type: order.created, source: /t}`:            false,
		`{level: 3}`:                                   true,
		`{level: 3.0}`:                                 true,
		`{level: '3'}`:                                 false,
		`{flag: true}`:                                 true,
		`{flag: '${ . }'}`:                             true,
		`{missing: '.*'}`:                              false,
		`{missing: '${ . == null }'}`:                  true,
		`{data: {n: 1}}`:                               true,
		`{data: {n: 2}}`:                               false,
		`{data: {}}`:                                   true,
		`{level: {}}`:                                  false,
		`{data: {text: 'h.*o', inner: {b: null}}}`:     true,
		`{data: {inner: {c: null}}}`:                   false,
		`{data: {list: [1, 'tw.', {x: 1}]}}`:           true,
		`{data: {list: [1, two]}}`:                     false,
		`{data: {n: [1]}}`:                             false,
		`{data: '${ .n == 1 }'}`:                       true,
		`{data: '${ .n > 1 }'}`:                        false,
		`{data: '${ .none }'}`:                         false,
		`{data: '${ .n + .text }'}`:                    false,
		`{data: '${ $event.level == 3 and .n == 1 }'}`: true,
		`{data: '${ {n: 1, inner: {a: 1}} }'}`:         true,
		`{data: '${ {n: 1, inner: {a: 2}} }'}`:         false,
		`{data: '${ {inner: {a: {}}} }'}`:              false,
		`{data: '${ {missing: 1} }'}`:                  false,
		`{data: {n: '${ .n }'}}`:                       true,
		`{source: '${ "/s" }'}`:                        true,
		`{source: '${ "." + "*" }'}`:                   false, // results are no patterns
		`{source: '${ $input.source }'}`:               true,
		`{source: '${ $input.all }'}`:                  true,
		`{source: '${ $input.nothing }'}`:              false,
		`{data: '${ .n | error }'}`:                    false,
		`{time: '${ . == null and now > 0 }'}`:         true,
		`{source: 's'}`:                                false,
		`{subject: '${ $task.name }'}`:                 false,
	} {
		t.Run(filter, func(t *testing.T) {
			m := listening(t, "do: [{a: {listen: {to: {one: {with: "+filter+"}}}}}]", parseJSON(t, `{"source": "/s", "all": true}`))
			envelope := parseJSON(t, event)
			before := m.Checkpoint()
			if got := m.Wants(1, envelope); got != want {
				t.Errorf("wants it: %v, want %v", got, want)
			}
			if !bytes.Equal(m.Checkpoint(), before) {
				t.Error("Wants changed the state")
			}
			receive(m, 1, envelope)
			if m.Done() != want {
				t.Errorf("takes it: %v, want %v", m.Done(), want)
			}
		})
	}
}

// What a task reads of an event, by its media type (T65).
func TestForms(t *testing.T) {
	for _, test := range []struct{ event, data, raw string }{
		{`{}`, `null`, `null`},
		{`{"data": null}`, `null`, `null`},
		{`{"data": "text"}`, `"text"`, `"\"text\""`},
		{`{"data": {"b": 1, "a": 1.0}}`, `{"b": 1, "a": 1.0}`, `"{\"a\":1.0,\"b\":1}"`},
		{`{"data": "text", "datacontenttype": "text/plain"}`, `"text"`, `"text"`},
		{`{"data": "<a/>", "datacontenttype": "application/soap+xml"}`, `"<a/>"`, `"<a/>"`},
		{`{"data": "x", "datacontenttype": "application/json"}`, `"x"`, `"\"x\""`},
		{`{"data": "x", "datacontenttype": "application/octet-stream"}`, `"x"`, `"x"`},
		{`{"data_base64": "eyJhIjoxfQ=="}`, `"eyJhIjoxfQ=="`, `"eyJhIjoxfQ=="`},
		{`{"data_base64": "eyJhIjoxfQ==", "datacontenttype": "application/vnd.x+json; charset=utf-8"}`, `{"a": 1}`, `"{\"a\":1}"`},
		{`{"data_base64": "eyJhIg==", "datacontenttype": "Application/JSON"}`, `"eyJhIg=="`, `"{\"a\""`},
		{`{"data_base64": "aGk=", "datacontenttype": " text/html;x=y"}`, `"hi"`, `"hi"`},
		{`{"data_base64": "a: 1", "datacontenttype": "application/yaml"}`, `"a: 1"`, `"a: 1"`},
		{`{"data_base64": "/w==", "datacontenttype": "text/plain"}`, `"/w=="`, `"/w=="`},
		{`{"data_base64": 5, "datacontenttype": "text/plain"}`, `5`, `5`},
	} {
		envelope := parseJSON(t, test.event).(map[string]any)
		if got := readEvent("data", envelope); !value.Equal(got, parseJSON(t, test.data)) {
			t.Errorf("%s: data is %s, want %s", test.event, value.Marshal(got), test.data)
		}
		if got := readEvent("raw", envelope); !value.Equal(got, parseJSON(t, test.raw)) {
			t.Errorf("%s: raw is %s, want %s", test.event, value.Marshal(got), test.raw)
		}
		if got := readEvent("envelope", envelope); !value.Equal(got, envelope) {
			t.Errorf("%s: envelope is %s", test.event, value.Marshal(got))
		}
	}
}

func TestFilterKeys(t *testing.T) {
	if FilterKey(17) != FilterKey(17.0) || FilterKey([]any{map[string]any{"a": -2.0}}) != FilterKey([]any{map[string]any{"a": -2}}) {
		t.Error("equal numbers have different keys")
	}
	huge := new(big.Int).Lsh(big.NewInt(1), 100)
	if FilterKey(huge) != FilterKey(float64(1<<50)*float64(1<<50)) {
		t.Error("large equal numbers have different keys")
	}
	if FilterKey(1.5) == FilterKey(1) || FilterKey("1") == FilterKey(1) {
		t.Error("different values have the same key")
	}
	path, err := CompilePath(`.data["a b"][0]`)
	if err != nil {
		t.Fatal(err)
	}
	steps := expr.MaxSteps
	if key, ok, _ := path.Key(parseJSON(t, `{"data": {"a b": ["x"]}}`), &steps); !ok || key != FilterKey("x") {
		t.Error("the key of a path is wrong")
	}
	for _, envelope := range []string{`{}`, `{"data": "text"}`, `{"data": {"a b": [null]}}`, `5`} {
		if _, ok, _ := path.Key(parseJSON(t, envelope), &steps); ok {
			t.Errorf("%s has a key", envelope)
		}
	}
	if _, err := CompilePath("{"); err == nil {
		t.Error("a bad path was compiled")
	}
	if kind := CompileType("["); !kind.Lets("[") || kind.Lets("x") {
		t.Error("a text that is no pattern matches itself")
	}
	if !CompileType("").Lets("x") || !CompileType("a.c").Lets("abc") || CompileType("a.c").Lets("xabc") {
		t.Error("types are compared wrongly")
	}
}

const foreachOfCalls = "do: [{a: {listen: {to: {any: [{with: {type: x}}], until: 'false'}}, foreach: {do: [{b: {call: http, with: {method: get, endpoint: 'https://e.org'}}}]}}}]"

// No more than 1,000 events wait for their turn; while they do, none is taken.
func TestQueueIsBounded(t *testing.T) {
	m := listening(t, foreachOfCalls, nil)
	envelope := map[string]any{"type": "x", "data": 1}
	number := int64(0)
	for !m.Subscriptions()[0].Paused {
		number++
		receive(m, number, envelope)
	}
	if number != maxQueue+1 { // one is at work
		t.Fatalf("paused after %d events", number)
	}
	if m.Wants(1, envelope) {
		t.Error("it wants an event while it is paused")
	}
	state := m.Checkpoint()
	if commands := receive(m, number+1, envelope); len(commands) > 0 || !bytes.Equal(m.Checkpoint(), state) {
		t.Error("an event was taken while paused")
	}
	restored, err := Restore(m.plan, m.id, state)
	if err != nil {
		t.Fatal(err)
	}
	if s := restored.Subscriptions()[0]; !s.Paused || s.Position != number {
		t.Errorf("restored as %+v", s)
	}
	m.Apply(Event{Kind: ActivityEnded, TimeMs: scriptEpoch, Command: 2})
	if s := m.Subscriptions()[0]; s.Paused || s.Position != number || !m.Wants(1, envelope) {
		t.Errorf("after one was handled: %+v", s)
	}
}

// Large events that queue up do not fault the execution either.
func TestQueueIsBoundedInBytes(t *testing.T) {
	m := listening(t, foreachOfCalls, nil)
	number := int64(0)
	for !m.Subscriptions()[0].Paused {
		number++
		receive(m, number, map[string]any{"type": "x", "data": fmt.Sprint(number) + strings.Repeat("x", 300_000)})
	}
	if number < 5 || number > 10 || m.Done() {
		t.Errorf("paused after %d events, done %v", number, m.Done())
	}
	for command := CommandID(2); m.Subscriptions()[0].Paused; command++ {
		m.Apply(Event{Kind: ActivityEnded, TimeMs: scriptEpoch, Command: command})
	}
}

func TestStreamIsPaused(t *testing.T) {
	m := New(compilePlan(t, testHeader+`do: [{a: {call: asyncapi, with: {document: {endpoint: 'https://e.org'}, channel: c, subscription: {filter: '. != 0', consume: {while: 'true'},
  foreach: {do: [{b: {call: http, with: {method: get, endpoint: 'https://e.org'}}}]}}}}}]`), testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch})
	if m.Wants(1, 0) || !m.Wants(1, 1) || m.Wants(2, 1) {
		t.Error("it wants the wrong messages")
	}
	number := int64(0)
	for !m.Streams()[0].Paused {
		number++
		m.Apply(Event{Kind: Progressed, TimeMs: scriptEpoch, Command: 1, Number: number, Output: 1})
	}
	if number != maxQueue+1 || m.Wants(1, 1) {
		t.Errorf("paused after %d messages", number)
	}
	m.Apply(Event{Kind: Progressed, TimeMs: scriptEpoch, Command: 1, Number: number + 1, Output: 1})
	if s := m.Streams()[0]; s.Position != number {
		t.Errorf("stream is at %d", s.Position)
	}
	deep := value.Value(1)
	for range 200 {
		deep = []any{deep}
	}
	m.Apply(Event{Kind: ActivityEnded, TimeMs: scriptEpoch, Command: 2})
	if m.Wants(1, deep) {
		t.Error("it wants a message that is nested too deep")
	}
	m.Apply(Event{Kind: Interrupted, TimeMs: scriptEpoch, Command: 1})
	if s := m.Streams()[0]; s.Position != 0 {
		t.Errorf("after an interruption the stream is at %d", s.Position)
	}
}

// A stream that gets on may be interrupted more often than other activities (T91).
func TestStreamSurvives(t *testing.T) {
	m := New(compilePlan(t, testHeader+`do: [{a: {call: asyncapi, with: {document: {endpoint: 'https://e.org'}, channel: c, subscription: {consume: {amount: 100}}}}}]`), testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch})
	for range 10 {
		m.Apply(Event{Kind: Interrupted, TimeMs: scriptEpoch, Command: 1})
		m.Apply(Event{Kind: Progressed, TimeMs: scriptEpoch, Command: 1, Number: 1})
	}
	for range maxInterruptions {
		m.Apply(Event{Kind: Interrupted, TimeMs: scriptEpoch, Command: 1})
	}
	if m.Done() {
		t.Fatal("it gave up too early")
	}
	if last := m.Apply(Event{Kind: Interrupted, TimeMs: scriptEpoch, Command: 1}); len(last) == 0 || last[0].Fault == nil || last[0].Fault.Code != CodeInterrupted {
		t.Errorf("after %d interruptions: %v", maxInterruptions+1, last)
	}
}

// Only so many consumed events are remembered; of older ones all count as consumed.
func TestConsumedIsBounded(t *testing.T) {
	c := &consumedEvents{}
	for number := int64(2); number <= 2*(maxConsumed+5); number += 2 {
		c.add(number)
	}
	if len(c.numbers) != maxConsumed || c.floor != 10 {
		t.Errorf("%d numbers above %d", len(c.numbers), c.floor)
	}
	if !c.has(9) || !c.has(12) || c.has(13) || c.has(1<<40) {
		t.Error("it remembers the wrong events")
	}
	c.passed = 20
	c.remove(13)
	c.remove(12)
	if c.has(12) || c.passed != 11 {
		t.Errorf("a removed event is remembered, or passed is %d", c.passed)
	}
}

// A listen in a loop is not shown again what no round can want.
func TestListensToTheEnvelopeOnly(t *testing.T) {
	for filter, envelopeOnly := range map[string]bool{
		"one: {with: {type: x}}":                                         true,
		"any: [{with: {type: x, data: '${ . > 0 or $event.x }'}}]":       true,
		"one: {with: {type: x, data: '${ . > $item }'}}":                 false,
		"one: {with: {type: x, data: '${ . > $context.n }'}}":            false,
		"one: {with: {type: x, data: '${ . < now }'}}":                   false,
		"one: {with: {type: x}, correlate: {k: {from: .data}}}":          false,
		"all: [{with: {type: x}}]":                                       false,
		"one: {with: {type: '${ $item | if . then \"x\" else 1 end }'}}": false,
		"any: [{with: {type: x}}], until: {one: {with: {type: x}}}":      true,
		"any: [{with: {type: x}}], until: {all: [{with: {type: x}}]}":    false,
	} {
		m := listening(t, "do: [{l: {for: {in: '[1, 2]'}, do: [{a: {listen: {to: {"+filter+"}}}}]}}]", nil)
		receive(m, 1, map[string]any{"type": "y"})
		receive(m, 7, map[string]any{"type": "x", "data": 5})
		if s := m.Subscriptions(); len(s) != 1 || s[0].Command == 1 || (s[0].Position == 7) != envelopeOnly {
			t.Errorf("%s: the second round has %+v", filter, s)
		}
	}
}

func TestDeepEvents(t *testing.T) {
	m := listening(t, "do: [{a: {listen: {to: {any: []}}}}]", nil)
	deep := value.Value(1)
	for range maxEventDepth {
		deep = map[string]any{"d": deep}
	}
	if m.Wants(1, map[string]any{"data": deep}) || m.Wants(1, "text") || m.Wants(9, map[string]any{}) {
		t.Error("it wants what is no event, or too deep")
	}
	receive(m, 1, map[string]any{"data": deep})
	if receive(m, 2, deep); !m.Done() {
		t.Error("it did not take an event of the greatest depth")
	}
}

// Events that a task keeps count towards the limit of the state.
func TestEventsCountAsState(t *testing.T) {
	p := compilePlan(t, testHeader+"do: [{a: {listen: {to: {any: [], until: 'false'}}}}]")
	p.Limits.StateBytes = 1 << 20
	m := New(p, testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch})
	number := 0
	for ; !m.Done(); number++ {
		commands := receive(m, int64(number+1), map[string]any{"type": "x", "data": fmt.Sprint(number) + strings.Repeat("x", 50_000)})
		if m.Done() && commands[len(commands)-1].Fault.Code != CodeStateLimit {
			t.Fatalf("%+v", commands)
		}
	}
	if number < 20 || number > 30 {
		t.Errorf("the limit was reached after %d events", number)
	}
}

// busyListener has consumptions of all kinds in its state.
func busyListener(t testing.TB) *Machine {
	t.Helper()
	m := listening(t, `do:
  - split:
      fork:
        branches:
          - a: {listen: {to: {all: [{with: {type: '${ $input.kind }'}, correlate: {k: {from: .subject}, l: {from: .data, expect: .one}}}, {with: {type: y}}]}}}
          - b: {listen: {to: {any: [{with: {type: x}}], until: 'false'}}, foreach: {do: [{c: {call: http, with: {method: get, endpoint: 'https://e.org'}}}], output: {as: '[.]'}}}
          - d: {call: asyncapi, with: {document: {endpoint: 'https://e.org'}, channel: c, subscription: {consume: {amount: 5, for: PT1H}, foreach: {do: [{e: {wait: PT1H}}]}}}}
          - f: {listen: {to: {any: [], until: 'false'}}}
`, map[string]any{"kind": "x", "one": 1})
	x := map[string]any{"type": "x", "subject": "s", "data": 1}
	events := []Event{}
	for _, s := range m.Subscriptions() {
		for number := range int64(3) {
			events = append(events, Event{Kind: EventReceived, Command: s.Command, Number: number + 1, Output: x})
		}
	}
	stream := m.Streams()[0].Command
	for number := range int64(3) {
		events = append(events, Event{Kind: Progressed, Command: stream, Number: number + 1, Output: number == 1})
	}
	for _, ev := range events {
		ev.TimeMs = scriptEpoch
		m.Apply(ev)
	}
	for _, c := range m.InFlight() {
		if c.Activity == "http" {
			m.Apply(Event{Kind: ActivityEnded, TimeMs: scriptEpoch, Command: c.ID, Output: "out"})
		}
	}
	return m
}

func TestRestoreOfConsumption(t *testing.T) {
	m := busyListener(t)
	state := m.Checkpoint()
	restored, err := Restore(m.plan, m.id, state)
	if err != nil {
		t.Fatal(err)
	}
	if again := restored.Checkpoint(); !bytes.Equal(again, state) || restored.size() != m.size() {
		t.Errorf("restored as\n%s\nnot\n%s\nsizes %d, %d", again, state, restored.size(), m.size())
	}
	text := string(state)
	for name, bad := range map[string]string{
		"no consumption":   strings.Replace(text, `"consume":{`, `"was":{`, 1),
		"no list":          strings.ReplaceAll(text, `"consume":{`, `"was":{`),
		"met":              strings.Replace(text, `"met":[0]`, `"met":[7]`, 1),
		"met type":         strings.Replace(text, `"met":[0]`, `"met":["0"]`, 1),
		"fixed":            strings.Replace(text, `"fixed":[`, `"fixed":[0,`, 1),
		"fixed type":       strings.Replace(text, `"fixed":[`, `"fixed":["0",`, 1),
		"expected":         strings.Replace(text, `"expected":[`, `"expected":[0,`, 1),
		"expected type":    strings.Replace(text, `"expected":[`, `"expected":["x",`, 1),
		"queue":            strings.Replace(text, `"numbers":[3]`, `"numbers":[3,1]`, 1),
		"queue type":       strings.Replace(text, `"numbers":[3]`, `"numbers":["3"]`, 1),
		"consumed":         strings.Replace(text, `"numbers":[1,1,1]`, `"numbers":[1,-1,1]`, 1),
		"consumed twice":   strings.Replace(text, `"consumed":[`, `"consumed":[{"reference":"/do/0/split/fork/branches/3/f","task":6},`, 1),
		"listen of others": strings.Replace(text, `"use":"listen"`, `"use":"consume"`, 1),
	} {
		if bad == text {
			t.Errorf("%s: nothing was changed in %s", name, text)
			continue
		}
		if _, err := Restore(m.plan, m.id, []byte(bad)); !errors.Is(err, errCorrupt) {
			t.Errorf("%s: restored with %v", name, err)
		}
	}
	for _, restore := range []*Machine{m, restored} {
		commands := restore.Apply(Event{Kind: CancelRequested, TimeMs: scriptEpoch})
		if last := commands[len(commands)-1]; last.Phase != chargehand.Cancelled || len(restore.InFlight()) > 0 {
			t.Errorf("cancelled with %s", commandsText(commands))
		}
	}
}

// Nothing in a damaged checkpoint makes a machine panic, whatever comes then.
func FuzzRestoreListening(f *testing.F) {
	m := busyListener(f)
	f.Add(m.Checkpoint())
	f.Fuzz(func(_ *testing.T, state []byte) {
		restored, err := Restore(m.plan, m.id, state)
		if err != nil {
			return
		}
		restored.Checkpoint()
		for _, c := range restored.InFlight() {
			restored.Wants(c.ID, map[string]any{"type": "x"})
			for number := range int64(3) {
				restored.Apply(Event{Kind: EventReceived, Command: c.ID, Number: number + 4, Output: map[string]any{"type": "x", "subject": "s", "data": 1}})
				restored.Apply(Event{Kind: Progressed, Command: c.ID, Number: number + 4, Output: number})
			}
			restored.Apply(Event{Kind: ActivityEnded, Command: c.ID})
			restored.Apply(Event{Kind: TimerFired, Command: c.ID})
		}
	})
}

// The filters of a task share the steps of one expression for an event, so that its check does not take long.
func TestFiltersShareTheirSteps(t *testing.T) {
	for costly, want := range map[int]bool{8: true, 200: false} {
		filters := strings.Repeat("{with: {data: '${ [range(100000)] | length < 0 }'}}, ", costly)
		m := listening(t, "do: [{a: {listen: {to: {any: ["+filters+"{with: {type: y}}, {with: {data: '${ . == 1 }'}}]}}}}]", nil)
		if costly == 8 { // this one has no part in the steps of the next one
			m.Wants(1, map[string]any{"type": "x", "data": 2})
		}
		if receive(m, 1, map[string]any{"type": "x", "data": 1}); m.Done() != want {
			t.Errorf("behind %d costly filters, the event is taken: %v, want %v", costly, m.Done(), want)
		}
	}
}
