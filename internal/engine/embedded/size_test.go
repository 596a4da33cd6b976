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
				fx := sizeFixture(b)
				revision := fx.defineShape(shape, n)
				report := cpu(b, b.N)
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					fx.runShape(revision, shape)
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
			fx := sizeFixture(t)
			cost := func(n int) uint64 {
				revision := fx.defineShape(shape, n)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				fx.runShape(revision, shape)
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

// sizeFixture is a fixture whose activities do nothing.
func sizeFixture(t testing.TB) *fixture {
	fx := newFixture(t)
	fx.runner = nothingRunner{}
	fx.start()
	t.Cleanup(fx.stop)
	return fx
}

func (fx *fixture) defineShape(shape dsltest.Shape, n int) int64 {
	fx.t.Helper()
	_, tasks, _ := strings.Cut(shape.Definition(n), "\n")
	return fx.defineAll(tasks)
}

// runShape runs a definition to its end, or to where it listens.
func (fx *fixture) runShape(revision int64, shape dsltest.Shape) {
	fx.t.Helper()
	row := fx.run(revision, "{}")
	if shape.Listens {
		fx.awaitWaiting(row)
	} else if row = fx.final(row); row.Status != chargehand.Finished {
		fx.t.Fatalf("it ended %+v", row)
	}
}

// awaitWaiting waits until an execution waits for events.
func (fx *fixture) awaitWaiting(row store.Execution) {
	fx.t.Helper()
	deadline, tick := time.After(endTime), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for row.Phase != chargehand.Waiting {
		select {
		case <-tick.C:
			row = fx.read(row.No)
		case <-deadline:
			fx.t.Fatalf("it does not wait: %+v\n%s", row, fx.log)
		}
	}
}
