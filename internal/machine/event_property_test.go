package machine

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chargehand/chargehand/internal/value"
)

// randomListener draws a workflow of listens and subscriptions, in loops, forks and tries.
func randomListener(t *rapid.T) string {
	n := 0
	pick := func(options ...string) string { return rapid.SampledFrom(options).Draw(t, "part") }
	name := func() string { n++; return fmt.Sprintf("t%d", n) }
	filter := func() string {
		return pick("{with: {type: a}}", "{with: {type: 'a|b'}}", "{with: {type: b, data: {k: 1}}}", "{with: {data: '${ .k > 1 }'}}",
			"{with: {type: '${ $context.t // \"c\" }'}}", "{with: {type: a}, correlate: {k: {from: .data.k}}}",
			"{with: {source: /s}, correlate: {k: {from: .data.k, expect: '1'}}}", "{with: {subject: '${ $event.type }'}}",
			"{with: {type: '.'}, correlate: {k: {from: .data.k}, s: {from: .subject, expect: '$workflow.input.s'}}}")
	}
	foreach := func(body string) string {
		return pick("", "", ", foreach: {do: ["+body+"]}", ", foreach: {item: e, at: i, do: ["+body+"], output: {as: '[$i, $e]'}, export: {as: '{t: \"b\", n: $i}'}}")
	}
	var list func(depth int) string
	task := func(depth int) string {
		get := "call: http, with: {method: get, endpoint: 'https://e.org/'}"
		body := "{" + name() + ": {" + pick(get, get, "set: '${ . }', then: exit", "wait: PT1S", "raise: {error: {type: 'x:y', status: 400}}") + "}}"
		timeout := pick("", "", ", timeout: {after: PT5S}")
		if depth > 0 {
			switch pick("for", "fork", "try", "leaf", "leaf") {
			case "for":
				return "{for: {in: '[1, 2, 3]'}, do: " + list(depth-1) + timeout + "}"
			case "fork":
				return "{fork: {compete: " + pick("true", "false") + ", branches: " + list(depth-1) + "}" + timeout + "}"
			case "try":
				return "{try: " + list(depth-1) + ", catch: {retry: {limit: {attempt: {count: 1}}}, do: " + list(0) + "}}"
			}
		}
		switch pick("one", "any", "all", "until", "until", "stream", "call", "function") {
		case "one":
			return "{listen: {to: {one: " + filter() + "}}" + foreach(body) + timeout + "}"
		case "any":
			return "{listen: {to: {any: [" + filter() + ", " + filter() + "]}, read: envelope}" + foreach(body) + timeout + "}"
		case "all":
			return "{listen: {to: {all: [" + filter() + ", " + filter() + "]}, read: raw}" + foreach(body) + timeout + "}"
		case "until":
			until := pick("length >= 2", "false", "{one: "+filter()+"}", "{all: ["+filter()+", "+filter()+"]}", "{any: []}")
			if until == "false" || until == "length >= 2" {
				until = "'" + until + "'"
			}
			return "{listen: {to: {any: [" + pick("", filter()) + "], until: " + until + "}}" + foreach(body) + timeout + "}"
		case "stream":
			consume := pick("amount: 2", "amount: 3, for: PT3S", "while: 'length < 2'", "until: 'length > 1'", "until: '$context.n == 0', for: PT2S")
			each := strings.TrimPrefix(foreach(body), ", ")
			if each != "" {
				each = ", " + each
			}
			return "{call: asyncapi, with: {document: {endpoint: 'https://e.org/'}, channel: c, subscription: {" +
				pick("", "filter: .k > 0, ") + "consume: {" + consume + "}" + each + "}}" + timeout + "}"
		case "function":
			return "{call: " + pick("leaf", "group") + "}"
		}
		return "{" + get + "}"
	}
	list = func(depth int) string {
		var items []string
		for range 1 + rapid.IntRange(0, 1).Draw(t, "count") {
			items = append(items, "{"+name()+": "+task(depth)+"}")
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return testHeader + "use: {functions: {leaf: {listen: {to: {one: {with: {type: a}}}}}, group: {do: [{g: {listen: {to: {any: [], until: 'length > 1'}}}}]}}}\n" +
		"do: " + list(2) + "\n"
}

// eventFixture is the bus and the activities around a machine.
type eventFixture struct {
	t       *rapid.T
	open    map[CommandID]Command
	applied map[CommandID]int
	bus     []value.Value
	yielded CommandID
	done    bool
}

func (w *eventFixture) take(commands []Command) {
	for _, c := range commands {
		switch c.Kind {
		case StopActivity, StopTimer, Unsubscribe:
			if _, ok := w.open[c.ID]; !ok {
				w.t.Fatalf("%s withdraws nothing", commandText(c))
			}
			delete(w.open, c.ID)
		case RunActivity, StartTimer, Subscribe:
			w.open[c.ID] = c
		case Yield:
			w.yielded = c.ID
		case Finish:
			w.done = true
			if len(w.open) > 0 {
				w.t.Fatalf("%d commands are open at the end", len(w.open))
			}
		}
	}
}

func (w *eventFixture) message() map[string]any {
	k := rapid.IntRange(0, 2).Draw(w.t, "k")
	envelope := map[string]any{"id": fmt.Sprint(len(w.bus)), "source": rapid.SampledFrom([]string{"/s", "/o"}).Draw(w.t, "source"),
		"type": rapid.SampledFrom([]string{"a", "b", "c"}).Draw(w.t, "type"), "data": map[string]any{"k": k}}
	if k == 2 {
		envelope["subject"] = envelope["type"]
	}
	return envelope
}

// next draws an event that may happen now; Kind 0 if it is one that the machine does not want.
func (w *eventFixture) next(m *Machine, now int64) (Event, bool) {
	now += int64(rapid.IntRange(0, 300).Draw(w.t, "ms"))
	if w.yielded != 0 {
		ev := Event{Kind: Continued, TimeMs: now, Command: w.yielded}
		w.yielded = 0
		return ev, true
	}
	for len(w.bus) < 40 && rapid.Bool().Draw(w.t, "publish") {
		w.bus = append(w.bus, w.message())
	}
	ids := slices.Sorted(maps.Keys(w.open))
	c := w.open[rapid.SampledFrom(ids).Draw(w.t, "command")]
	ev := Event{Command: c.ID, TimeMs: now}
	switch {
	case c.Kind == Subscribe:
		at := w.applied[c.ID]
		if at >= len(w.bus) {
			return Event{TimeMs: now}, false
		}
		w.applied[c.ID]++
		ev.Kind, ev.Number, ev.Output = EventReceived, int64(at+1), w.bus[at]
		return ev, m.Wants(c.ID, ev.Output)
	case c.Kind == StartTimer:
		delete(w.open, c.ID)
		ev.Kind, ev.TimeMs = TimerFired, max(now, c.DueMs)
	case c.Stream && rapid.IntRange(0, 4).Draw(w.t, "stream") > 0:
		w.applied[c.ID]++
		ev.Kind, ev.Number, ev.Output = Progressed, int64(w.applied[c.ID]), map[string]any{"k": rapid.IntRange(0, 1).Draw(w.t, "k")}
		return ev, m.Wants(c.ID, ev.Output)
	case rapid.IntRange(0, 4).Draw(w.t, "outcome") == 0:
		w.applied[c.ID] = 0
		ev.Kind = Interrupted
	default:
		delete(w.open, c.ID)
		ev.Kind, ev.Output = ActivityEnded, int(c.ID)
		if rapid.IntRange(0, 4).Draw(w.t, "fault") == 0 {
			ev.Output, ev.Fault = nil, &Fault{Type: ErrCommunication, Status: 500}
		}
	}
	return ev, true
}

// Whatever events come in whatever order: a restored machine decides the same, a replay too,
// and so does one that is given only what it wants.
func TestRandomEvents(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		definition := randomListener(rt)
		p := compilePlan(t, definition)
		id := testIdentity(t)
		choosy, twin, greedy := New(p, id), New(p, id), New(p, id)
		w := &eventFixture{t: rt, open: map[CommandID]Command{}, applied: map[CommandID]int{}}
		ev, wanted := Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{"s": "c"}}, true
		var journal [][]byte
		var digests []uint64
		for steps := 0; !w.done; steps++ {
			if rapid.Bool().Draw(rt, "restore") {
				restored, err := Restore(p, id, twin.Checkpoint())
				if err != nil {
					rt.Fatalf("%v in\n%s\n%s", err, definition, twin.Checkpoint())
				}
				twin = restored
			}
			commands := greedy.Apply(ev)
			switch {
			case wanted:
				journal = append(journal, AppendEvent(nil, ev))
				digests = append(digests, Digest(commands))
				if Digest(choosy.Apply(ev)) != Digest(commands) || Digest(twin.Apply(ev)) != Digest(commands) {
					rt.Fatalf("the machines decided otherwise than\n%s in\n%s", commandsText(commands), definition)
				}
			case len(commands) > 0:
				rt.Fatalf("an event that was not wanted had effects\n%s in\n%s", commandsText(commands), definition)
			}
			if ev.Kind == Interrupted && choosy.pending.find(ev.Command, isActivity) == nil {
				delete(w.open, ev.Command)
			}
			w.take(commands)
			checkConsumption(rt, choosy, w)
			switch {
			case w.done:
			case steps >= 200: // no event is drawn any more: it would count as having happened
				ev, wanted = Event{Kind: CancelRequested, TimeMs: ev.TimeMs}, true
			default:
				ev, wanted = w.next(choosy, ev.TimeMs)
			}
		}
		if got, want := twin.Checkpoint(), choosy.Checkpoint(); !bytes.Equal(got, want) {
			rt.Fatalf("final states differ\n%s\n%s", got, want)
		}
		replay := New(p, id)
		for i, row := range journal {
			ev, err := DecodeEvent(row)
			if err != nil {
				rt.Fatal(err)
			}
			if Digest(replay.Apply(ev)) != digests[i] {
				rt.Fatalf("replay of event %d differs in\n%s", i, definition)
			}
		}
	})
}

func checkConsumption(t *rapid.T, m *Machine, w *eventFixture) {
	inFlight := m.InFlight()
	if len(inFlight) != len(w.open) {
		t.Fatalf("%d commands in flight, the world has %d", len(inFlight), len(w.open))
	}
	for _, c := range inFlight {
		if want := w.open[c.ID]; Digest([]Command{c}) != Digest([]Command{want}) {
			t.Fatalf("%s in flight, issued was %s", commandText(c), commandText(want))
		}
	}
	if !m.Done() && len(inFlight) == 0 && m.yield == 0 {
		t.Fatal("nothing is in flight and the execution has not ended")
	}
	subscriptions := 0
	for _, s := range m.Subscriptions() {
		subscriptions++
		if len(s.Filters) == 0 || s.Paused {
			t.Fatalf("subscription %+v", s)
		}
	}
	if m.Load().Listens != subscriptions {
		t.Fatalf("%d listens, %d subscriptions", m.Load().Listens, subscriptions)
	}
	for _, c := range m.consumed {
		if !slices.IsSorted(c.numbers) || len(c.numbers) != len(slices.Compact(slices.Clone(c.numbers))) {
			t.Fatalf("consumed %v", c.numbers)
		}
	}
}
