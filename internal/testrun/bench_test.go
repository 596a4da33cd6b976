//go:build unix

package testrun_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/testrun"
)

// manyTests is a file of n tests of a workflow of ten tasks.
func manyTests(n int) (definition, tests string) {
	var d, f strings.Builder
	d.WriteString("do:\n")
	f.WriteString("defaults:\n  mocks:\n")
	for i := range 5 {
		fmt.Fprintf(&d, "  - call%d: {call: http, with: {method: post, endpoint: 'https://example.org/%d', body: {n: '${ .n }'}}}\n", i, i)
		fmt.Fprintf(&d, "  - set%d: {set: {n: '${ .n + 1 }'}}\n", i)
		fmt.Fprintf(&f, "    call%d: {response: {body: {n: %d}}, after: PT1S}\n", i, i)
	}
	f.WriteString("tests:\n")
	for i := range n {
		fmt.Fprintf(&f, "  - {name: test %d, input: {n: %d}, expect: {output: {n: 5}, elapsed: PT5S, tasks: {set4: {times: 1}}, calls: [{task: call0, args: {body: {n: %d}}}]}}\n", i, i, i)
	}
	return d.String(), f.String()
}

// used is the time of processors that this process has used.
func used(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// yardstick is fixed work of the standard library, much of it memory, as that of tests is. It tells how fast the
// machine is at this moment.
func yardstick(t *testing.T) time.Duration {
	t.Helper()
	text := "[" + strings.Repeat(`{"name": "a task", "n": 17, "phase": "completed", "tags": ["x", "y", "z"], "at": 1.5},`, 500) + "null]"
	began := used(t)
	for range yardsticks {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	return used(t) - began
}

const (
	yardsticks = 100
	// usualYardstick is what yardstick takes on the machine for which the bar was set. One that needs longer gets as much
	// longer for the tests.
	usualYardstick = 160 * time.Millisecond
)

// 1,000 tests of ten tasks take less than two seconds on one core, whatever else the machine does, and however slow it
// is.
func TestLongThousand(t *testing.T) {
	definition, tests := manyTests(1000)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	before := yardstick(t)
	began := used(t)
	r := run(t, definition, tests)
	took := used(t) - began
	slowness := max(1, float64(max(before, yardstick(t)))/float64(usualYardstick))
	if r.Counts.Passed != 1000 {
		t.Fatalf("%+v", r.Counts)
	}
	t.Logf("%v on a machine of the slowness %.2f (%v)", took, slowness, before)
	if bar := time.Duration(slowness * float64(2*time.Second)); took > bar {
		t.Errorf("1,000 tests took %v, and may take %v here", took, bar)
	}
}

func BenchmarkTests(b *testing.B) {
	definition, tests := manyTests(100)
	folder := files{"flow.yaml": header + definition, "flow.test.yaml": tests}
	for b.Loop() {
		report, err := testrun.New(testrun.Config{ReadFile: folder.read, Version: "1", Jobs: 1}).Run(b.Context(), []string{"flow.test.yaml"})
		if err != nil || report.Counts.Passed != 100 {
			b.Fatal(err, report.Counts)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/100, "µs/test")
}
