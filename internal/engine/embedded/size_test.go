package embedded

import (
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl/dsltest"
	"github.com/chargehand/chargehand/internal/store"
)

// BenchmarkSize runs definitions of every shape at n and at 10 n, to their end or to where
// they listen.
func BenchmarkSize(b *testing.B) {
	for _, shape := range dsltest.Shapes() {
		for name, n := range map[string]int{"n": shape.N, "10n": 10 * shape.N} {
			b.Run(shape.Name+"/"+name, func(b *testing.B) {
				w := benchWorld(b)
				_, tasks, _ := strings.Cut(shape.Definition(n), "\n")
				revision := w.defineAll(tasks)
				report := cpu(b, b.N)
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					row := w.run(revision, "{}")
					if shape.Listens {
						w.awaitWaiting(row)
						continue
					}
					if row = w.final(row); row.Status != chargehand.Finished {
						b.Fatalf("it ended %+v", row)
					}
				}
				b.StopTimer()
				report()
			})
		}
	}
}

// awaitWaiting waits until an execution waits for events.
func (w *world) awaitWaiting(row store.Execution) {
	w.t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for row.Phase != chargehand.Waiting {
		select {
		case <-tick.C:
			row = w.read(row.No)
		case <-deadline:
			w.t.Fatalf("it does not wait: %+v\n%s", row, w.log)
		}
	}
}
