package embedded

import (
	"runtime"
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
				if testing.Short() && n > 1_000 {
					b.Skip("-short: thousands of commits")
				}
				w := sizeWorld(b)
				revision := w.defineShape(shape, n)
				report := cpu(b, b.N)
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					w.runShape(revision, shape)
				}
				b.StopTimer()
				report()
			})
		}
	}
}

// What an execution costs grows with its size, in memory that is allocated, and not with its
// square, which would be a hundred times as much at ten times the size.
func TestCostIsLinear(t *testing.T) {
	for _, shape := range dsltest.Shapes() {
		if shape.N > 100 {
			continue // see the benchmark
		}
		t.Run(shape.Name, func(t *testing.T) {
			w := sizeWorld(t)
			cost := func(n int) uint64 {
				revision := w.defineShape(shape, n)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				w.runShape(revision, shape)
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			cost(1) // what is allocated once
			if one, ten := cost(shape.N), cost(10*shape.N); ten > 40*one {
				t.Errorf("%d takes %d bytes, %d takes %d", shape.N, one, 10*shape.N, ten)
			}
		})
	}
}

// sizeWorld is a world whose activities do nothing.
func sizeWorld(t testing.TB) *world {
	w := newWorld(t)
	w.runner = nothingRunner{}
	w.start()
	t.Cleanup(w.stop)
	return w
}

func (w *world) defineShape(shape dsltest.Shape, n int) int64 {
	w.t.Helper()
	_, tasks, _ := strings.Cut(shape.Definition(n), "\n")
	return w.defineAll(tasks)
}

// runShape runs a definition to its end, or to where it listens.
func (w *world) runShape(revision int64, shape dsltest.Shape) {
	w.t.Helper()
	row := w.run(revision, "{}")
	if shape.Listens {
		w.awaitWaiting(row)
	} else if row = w.final(row); row.Status != chargehand.Finished {
		w.t.Fatalf("it ended %+v", row)
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
