package machine

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/dsl/dsltest"
)

// BenchmarkSize runs definitions of every shape at n and at 10 n on the bare machine, and
// reports how large the checkpoint is at its largest.
func BenchmarkSize(b *testing.B) {
	for _, shape := range dsltest.Shapes() {
		for name, n := range map[string]int{"n": shape.N, "10n": 10 * shape.N} {
			b.Run(shape.Name+"/"+name, func(b *testing.B) {
				p := compilePlan(b, shape.Definition(n))
				id := testIdentity(b)
				b.ReportAllocs()
				for b.Loop() {
					runShape(b, New(p, id), shape, func(*Machine) {})
				}
				largest := 0
				runShape(b, New(p, id), shape, powers(func(m *Machine) { largest = max(largest, len(m.Checkpoint())) }))
				b.ReportMetric(float64(largest), "checkpoint-B")
			})
		}
	}
}

// Running costs about ten times as much at ten times the size, in memory that is allocated
// (time tells nothing on a busy machine), and so does the checkpoint. What were quadratic
// would cost a hundred times as much; a yield in between, which only the larger one meets,
// costs up to four times.
func TestCostIsLinear(t *testing.T) {
	for _, shape := range dsltest.Shapes() {
		t.Run(shape.Name, func(t *testing.T) {
			n := min(shape.N, 1_000)
			bytes, state := costOf(t, shape, n)
			tenBytes, tenState := costOf(t, shape, 10*n)
			if tenBytes > 40*bytes || tenState > 40*state {
				t.Errorf("%d takes %d bytes and a checkpoint of %d; %d takes %d and one of %d", n, bytes, state, 10*n, tenBytes, tenState)
			}
		})
	}
}

// costOf runs a shape and returns the bytes that were allocated, and those of the largest of a
// few checkpoints.
func costOf(t *testing.T, shape dsltest.Shape, n int) (allocated uint64, state int) {
	p, id := compilePlan(t, shape.Definition(n)), testIdentity(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	runShape(t, New(p, id), shape, func(*Machine) {})
	runtime.ReadMemStats(&after)
	runShape(t, New(p, id), shape, powers(func(m *Machine) { state = max(state, len(m.Checkpoint())) }))
	return after.TotalAlloc - before.TotalAlloc, state
}

// powers calls visit at the events 1, 2, 4, 8 and so on.
func powers(visit func(*Machine)) func(*Machine) {
	applied := 0
	return func(m *Machine) {
		if applied++; applied&(applied-1) == 0 {
			visit(m)
		}
	}
}

// Forks of functions that fork make tens of thousands of branches. They are begun, taken into a
// checkpoint and withdrawn in an instant; with a cost that grows with their number, of each of
// them, this took five times as long.
func TestTensOfThousandsOfBranches(t *testing.T) {
	p := compilePlan(t, testHeader+"use: {functions: {f: {fork: {branches: ["+dsltest.Named(900, "b%d: {wait: PT1H}")+
		"]}}}}\ndo: [{a: {fork: {compete: true, branches: [{first: {wait: PT1S}}, "+dsltest.Named(50, "c%d: {call: f}")+"]}}}]")
	for name, phase := range map[string]chargehand.Phase{"one wins": chargehand.Completed, "cancelled": chargehand.Cancelled} {
		t.Run(name, func(t *testing.T) {
			m := New(p, testIdentity(t))
			commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
			first := commands[0] // the timer of the branch that wins
			for m.yield != 0 {
				m.Apply(Event{Kind: Continued, TimeMs: scriptEpoch})
				m.TakeTimeline()
			}
			m, err := Restore(p, testIdentity(t), m.Checkpoint())
			if err != nil || m.Load().Waits != 45_001 {
				t.Fatalf("%d branches wait, %v", m.Load().Waits, err)
			}
			if phase == chargehand.Completed {
				commands = m.Apply(Event{Kind: TimerFired, TimeMs: first.DueMs, Command: first.ID})
			} else {
				commands = m.Apply(Event{Kind: CancelRequested, TimeMs: scriptEpoch})
			}
			if last := commands[len(commands)-1]; last.Kind != Finish || last.Phase != phase || len(commands) < 45_001 {
				t.Errorf("%d commands, then %s", len(commands), commandText(last))
			}
		})
	}
}

// T90: 256 tasks inside each other, of every kind that nests, run, and survive a checkpoint at
// the deepest place.
func TestDeepestTasks(t *testing.T) {
	for _, nest := range dsltest.Nests() {
		t.Run(nest.Name, func(t *testing.T) {
			p := compilePlan(t, strings.Replace(nest.Definition(dsl.MaxDepth), "set: {done: true}", "wait: PT1S", 1))
			m := New(p, testIdentity(t))
			commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{"in": "put"}})
			for commands[len(commands)-1].Kind == Yield {
				commands = m.Apply(Event{Kind: Continued, TimeMs: scriptEpoch, Command: commands[len(commands)-1].ID})
			}
			if len(commands) != 1 || commands[0].Kind != StartTimer {
				t.Fatalf("%d commands, the first is %s", len(commands), commandText(commands[0]))
			}
			state := m.Checkpoint()
			restored, err := Restore(p, testIdentity(t), state)
			if err != nil {
				t.Fatal(err)
			}
			if again := restored.Checkpoint(); !bytes.Equal(again, state) || restored.size() != m.size() {
				t.Error("the checkpoint of the restored machine differs")
			}
			for name, ev := range map[string]Event{
				"fires":  {Kind: TimerFired, TimeMs: commands[0].DueMs, Command: commands[0].ID},
				"cancel": {Kind: CancelRequested, TimeMs: scriptEpoch},
			} {
				one, err := Restore(p, testIdentity(t), state)
				if err != nil {
					t.Fatal(err)
				}
				other, err := Restore(p, testIdentity(t), one.Checkpoint())
				if err != nil {
					t.Fatal(err)
				}
				got, want := one.Apply(ev), other.Apply(ev)
				last := got[len(got)-1]
				if last.Kind != Finish || Digest(got) != Digest(want) || (last.Phase == chargehand.Completed) != (name == "fires") {
					t.Errorf("%s: %s", name, commandText(last))
				}
				if entries := one.TakeTimeline(); len(entries) < dsl.MaxDepth || !one.Done() {
					t.Errorf("%s: %d entries", name, len(entries))
				} else if _, _, err := DecodeTimeline(p, EncodeTimeline(nil, entries, Tally{}), 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A loop over any number of items works as long as each has an effect: only what happens between
// two of them is bounded.
func TestHundredThousandItems(t *testing.T) {
	shape := dsltest.Shaped("items with effect")
	m := New(compilePlan(t, shape.Definition(100_000)), testIdentity(t))
	runShape(t, m, shape, func(*Machine) {})
	if m.lastCommand < 100_000 {
		t.Errorf("%d commands", m.lastCommand)
	}
}

// runShape drives a machine to its end, or to where it listens. Activities end in the order
// in which they began; timers that are not due yet fire when nothing else is left to happen.
func runShape(t testing.TB, m *Machine, shape dsltest.Shape, applied func(*Machine)) {
	t.Helper()
	now := int64(scriptEpoch)
	queue := m.Apply(Event{Kind: Started, TimeMs: now, Output: map[string]any{}})
	applied(m)
	var timers []Command
	for len(queue)+len(timers) > 0 && !m.Done() {
		if len(queue) == 0 {
			now = max(now, timers[0].DueMs)
			queue, timers = timers[:1], timers[1:]
		}
		c := queue[0]
		queue = queue[1:]
		if c.Kind == StartTimer && now < c.DueMs {
			timers = append(timers, c)
			continue
		}
		ev := Event{TimeMs: now, Command: c.ID}
		switch c.Kind {
		case RunActivity:
			ev.Kind, ev.Output = ActivityEnded, map[string]any{"done": true}
		case StartTimer:
			ev.Kind = TimerFired
		case Yield:
			ev.Kind = Continued
		default:
			continue
		}
		queue = append(queue, m.Apply(ev)...)
		m.TakeTimeline()
		applied(m)
	}
	if m.Done() == shape.Listens || !m.Done() && len(m.ready) > 0 {
		t.Fatalf("%s: ended %v", shape.Name, m.Done())
	}
	if m.Done() && m.phase.String() != "completed" {
		t.Fatalf("%s: %s", shape.Name, m.phase)
	}
}
