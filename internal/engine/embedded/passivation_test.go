package embedded

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// residentBytes is the memory that the process has from the system, after what is free was
// given back.
func residentBytes(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("the memory of the process is read from /proc")
	}
	pages, err := strconv.ParseInt(string(bytes.Fields(data)[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// TestLongWaitingExecutionsCostNoMemory bounds what 100,000 executions on timers may cost.
func TestLongWaitingExecutionsCostNoMemory(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { set: { customer: '${ .n }' } }\n- b: { wait: { hours: 1 } }")
	startAll(t, fx, rev, 6400) // caches and pools are warm
	before := residentBytes(t)
	startAll(t, fx, rev, 100_000-6400)
	fx.idle(0)
	grown := residentBytes(t) - before
	t.Logf("%d bytes more for 93,600 executions", grown)
	if grown > 90<<20 {
		t.Fatalf("100,000 waiting executions cost %d MiB", grown>>20)
	}
	if n, timers := fx.engine.instances.size(), fx.engine.timers.held(); n != 0 || timers > 2*10_000+1 {
		t.Fatalf("%d executions and %d timers in memory", n, timers)
	}
}

// TestTimersBeyondTheWindow wakes far more executions than timers fit into memory, also
// after a restart, each once and in time.
func TestTimersBeyondTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.limits.TimerWindow = 8
		fx.start()
		rev := fx.define("- a: { wait: '${ .for }' }\n- b: { set: { done: true } }")
		var rows []store.Execution
		var due []int64
		for i := range 200 {
			ms := 10_000 + int64(i*7919%100)*1000
			row := fx.run(rev, `{"for":"PT`+strconv.FormatInt(ms/1000, 10)+`S"}`)
			rows, due = append(rows, row), append(due, row.StartedMs+ms)
		}
		if n := fx.engine.timers.held(); n > 17 {
			t.Fatalf("%d timers in memory", n)
		}
		time.Sleep(40*time.Second + 500*time.Millisecond)
		fx.stop()
		time.Sleep(20 * time.Second)
		back := time.Now().UnixMilli()
		fx.start()
		defer fx.stop()
		for i, row := range rows {
			fx.endOf(row, 2*time.Minute)
			row = fx.read(row.No)
			want := due[i]
			if want > back-20_000 { // while it was down, or later
				want = max(want, back)
			}
			if row.FinishedMs < want || row.FinishedMs > want+100 {
				t.Errorf("execution %d was due at %d and ended at %d", i, want, row.FinishedMs)
			}
		}
	})
}
