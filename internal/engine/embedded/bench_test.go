package embedded

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// clients is the number of connections that the speed floors are measured with.
const clients = 64

type nothingRunner struct{}

func (nothingRunner) Run(context.Context, activity.Call) activity.Result {
	return activity.Result{Output: "ok"}
}

func benchFixture(b *testing.B) *fixture {
	fx := newFixture(b)
	c := fx.config()
	c.Activities = map[string]activity.Runner{"http": nothingRunner{}}
	e, err := New(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	fx.engine = e
	b.Cleanup(fx.stop)
	return fx
}

func startMany(b *testing.B, fx *fixture, revision int64, input string) {
	p, _ := fx.Plan(b.Context(), revision)
	b.SetParallelism(clients / 2)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			v, err := value.Parse([]byte(input), value.Limits{})
			if err != nil {
				b.Error(err)
				return
			}
			row := fx.row(revision, input)
			if _, err := fx.engine.Start(context.Background(), engine.Start{Row: row, Plan: p, Input: v}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// cpu reports the processor time per operation, which tells more than the clock does on a
// machine that is shared.
func cpu(b *testing.B, operations int) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() {
		b.ReportMetric(float64((used()-before).Microseconds())/float64(operations), "cpu-µs/op")
	}
}

const benchInput = `{"customer":"Example Ltd","order":4711,"express":true,"n":12}`

// BenchmarkTrivial accepts and finishes executions of one `set`.
func BenchmarkTrivial(b *testing.B) {
	fx := benchFixture(b)
	rev := fx.define("- a: { set: { sum: '${ .order + 1 }' } }")
	b.ReportAllocs()
	report := cpu(b, b.N)
	b.ResetTimer()
	startMany(b, fx, rev, benchInput)
	b.StopTimer()
	report()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "executions/s")
}

// BenchmarkTenSets accepts and finishes executions of ten `set`.
func BenchmarkTenSets(b *testing.B) {
	fx := benchFixture(b)
	var tasks strings.Builder
	for i := range 10 {
		fmt.Fprintf(&tasks, "- a%d: { set: { order: '${ .order + 1 }' } }\n", i)
	}
	rev := fx.define(tasks.String())
	b.ReportAllocs()
	report := cpu(b, b.N)
	b.ResetTimer()
	startMany(b, fx, rev, benchInput)
	b.StopTimer()
	report()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "executions/s")
}

// BenchmarkTenActivities measures activities that do nothing, ten per execution.
func BenchmarkTenActivities(b *testing.B) {
	fx := benchFixture(b)
	var tasks strings.Builder
	for i := range 10 {
		fmt.Fprintf(&tasks, "- a%d: { call: http, with: { method: get, endpoint: http://x/y } }\n", i)
	}
	rev := fx.define(tasks.String())
	p, _ := fx.Plan(b.Context(), rev)
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan struct{})
	report := cpu(b, 10*b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for range clients {
		go func() {
			for left.Add(-1) >= 0 {
				row := fx.row(rev, benchInput)
				changed, stop := fx.engine.Watch(row.ID)
				v, _ := value.Parse([]byte(benchInput), value.Limits{})
				row, err := fx.engine.Start(context.Background(), engine.Start{Row: row, Plan: p, Input: v})
				if err != nil {
					b.Error(err)
					return
				}
				for !row.Status.Final() {
					<-changed
					stop()
					changed, stop = fx.engine.Watch(row.ID)
					row = fx.read(row.No)
				}
				stop()
			}
			done <- struct{}{}
		}()
	}
	for range clients {
		<-done
	}
	b.StopTimer()
	report()
	b.ReportMetric(float64(10*b.N)/b.Elapsed().Seconds(), "activities/s")
}

// BenchmarkLatency starts trivial executions one after another; the other figure is what a
// commit of one row takes.
func BenchmarkLatency(b *testing.B) {
	fx := benchFixture(b)
	rev := fx.define("- a: { set: { sum: '${ .order + 1 }' } }")
	begin := time.Now()
	for i := range b.N {
		err := fx.store.Update(b.Context(), func(tx *store.Tx) error { return tx.SetMeta("x", []byte{byte(i)}) })
		if err != nil {
			b.Fatal(err)
		}
	}
	single := time.Since(begin)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		fx.run(rev, benchInput)
	}
	b.StopTimer()
	b.ReportMetric(float64(single.Nanoseconds())/float64(b.N), "ns/commit")
}

// BenchmarkBatch runs batches of 10,000 trivial items at concurrency 50.
func BenchmarkBatch(b *testing.B) {
	fx := benchFixture(b)
	rev := fx.define("- a: { set: { sum: '${ .order + 1 }' } }")
	inputs := make([]string, 10_000)
	for i := range inputs {
		inputs[i] = benchInput
	}
	var total time.Duration
	for range b.N {
		batch := fx.batch(rev, 50, inputs) // begins at once
		begin := time.Now()
		fx.finalBatch(batch)
		total += time.Since(begin)
	}
	b.ReportMetric(total.Seconds()/float64(b.N), "s/batch")
}

// BenchmarkSlots takes and gives back slots of a key in a workflow, beside 10,000 open batches of both that do not
// wait.
func BenchmarkSlots(b *testing.B) {
	for name, limits := range map[string]fair.Limits{
		"unbounded": {Permits: 1000}, "per workflow": {Permits: 1000, PerWorkflow: 100}, "per key": {Permits: 1000, PerKey: 100},
		"at the bound of a workflow": {Permits: 1000, PerWorkflow: 1}, "at the bound of a key": {Permits: 1000, PerKey: 1},
	} {
		b.Run(name, func(b *testing.B) {
			s := newSlots(limits, func(*queue) {})
			for i := range int64(10_000) {
				s.addBatch(&store.Batch{Account: 1, Workflow: 1, No: 1 + i, Environment: chargehand.Live, Concurrency: 1, StartedBy: 7})
			}
			for b.Loop() {
				_, l := s.acquireNew(1, firstKey)
				s.release(l)
			}
		})
	}
}
