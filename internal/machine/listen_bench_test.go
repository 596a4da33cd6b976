package machine

import (
	"fmt"
	"testing"
)

// The time per event must not grow with their number.
func BenchmarkListen(b *testing.B) {
	id := testIdentity(b)
	for _, bench := range []struct {
		name, tasks string
		events      int
	}{
		{"until", "do: [{a: {listen: {to: {any: [{with: {type: x, data: '${ .n >= 0 }'}}], until: 'length == %d'}}}}]", 100},
		{"until", "do: [{a: {listen: {to: {any: [{with: {type: x, data: '${ .n >= 0 }'}}], until: 'length == %d'}}}}]", 1_000},
		{"until", "do: [{a: {listen: {to: {any: [{with: {type: x, data: '${ .n >= 0 }'}}], until: 'length == %d'}}}}]", 10_000},
		{"foreach", "do: [{a: {listen: {to: {any: [{with: {type: x}}], until: 'length == %d'}}, foreach: {do: [{b: {set: '${ $item.n }'}}]}}}]", 1_000},
		{"foreach", "do: [{a: {listen: {to: {any: [{with: {type: x}}], until: 'length == %d'}}, foreach: {do: [{b: {set: '${ $item.n }'}}]}}}]", 10_000},
		{"loop", "do: [{a: {for: {in: '[range(%d)]'}, do: [{b: {listen: {to: {one: {with: {type: x}}}}}}]}}]", 1_000},
		{"loop", "do: [{a: {for: {in: '[range(%d)]'}, do: [{b: {listen: {to: {one: {with: {type: x}}}}}}]}}]", 10_000},
	} {
		b.Run(fmt.Sprintf("%s/events=%d", bench.name, bench.events), func(b *testing.B) {
			p := compilePlan(b, testHeader+fmt.Sprintf(bench.tasks, bench.events))
			for b.Loop() {
				m := New(p, id)
				m.Apply(Event{Kind: Started, TimeMs: scriptEpoch})
				number := 0
				for ; !m.Done(); number++ {
					envelope := map[string]any{"type": "x", "data": map[string]any{"n": number}}
					command := m.Subscriptions()[0].Command
					if m.Wants(command, envelope) {
						m.Apply(Event{Kind: EventReceived, TimeMs: scriptEpoch, Command: command, Number: int64(number + 1), Output: envelope})
						m.TakeTimeline()
					}
				}
				if number != bench.events {
					b.Fatalf("it ended after %d events", number)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(bench.events), "ns/event")
		})
	}
}
