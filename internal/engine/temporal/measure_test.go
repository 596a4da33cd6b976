package temporal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
)

// TestCost holds what an execution costs in Temporal: actions are what Temporal's cloud
// bills (starts, activities, timers, signals, searches that change, new runs).
func TestCost(t *testing.T) {
	t.Parallel()
	b := newServerFixture(t, defaultLimits())
	var steps strings.Builder
	for i := range 10 {
		fmt.Fprintf(&steps, "{s%d: %s}, ", i, get)
	}
	for name, test := range map[string]struct {
		definition      string
		actions, events int
	}{
		"set":             {"do: [{a: {set: {x: 1}}}]", 2, 11},
		"ten calls":       {"do: [" + steps.String() + "]", 12, 71},
		"call, wait, set": {"do: [{a: " + get + "}, {w: {wait: {milliseconds: 5}}}, {b: {set: {x: 1}}}]", 6, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := b.begin(compile(t, test.definition), 1, echo)
			b.end(a)
			actions, events, bytes := 0, 0, 0
			for _, h := range b.histories(a) {
				events += len(h.Events)
				bytes += proto.Size(h)
				for _, ev := range h.Events {
					switch ev.EventType {
					case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
						enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
						enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
						actions++
					}
				}
			}
			t.Logf("%d actions, %d events, %d bytes", actions, events, bytes)
			if actions > test.actions || test.events > 0 && events > test.events+6 { // a workflow task may be repeated
				t.Errorf("%d actions and %d events, want at most %d and %d", actions, events, test.actions, test.events)
			}
		})
	}
}

// BenchmarkReplay replays a recorded run of 200 events and more.
func BenchmarkReplay(b *testing.B) {
	f, err := os.Open(filepath.Join(historyFolder, "r1_loop_across_runs_1.json"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := replay(b, h, defaultLimits(), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(h.Events))*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
