package temporal

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"

	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

var record = flag.Bool("record", false, "record the histories of this revision that are missing in testdata; what is there stays")

const historyFolder = "testdata/history"

// recordedScripts are the scripts of the suite whose histories are kept: each command of
// the machine, each way to end.
var recordedScripts = []string{
	"set", "long loop", "fork", "competing fork", "retried", "waits", "task timeout", "events", "files", "cancelled", "raise", "extensions",
}

// recordedInstallations are those that need an engine: listening, children and streams.
var recordedInstallations = []string{
	"listen to one", "correlation", "each event once", "competing listens", "foreach", "foreach until an event", "stream of an amount", "foreach of a stream",
	"child", "children in a loop", "fault of a child", "child that loses", "process that is not awaited", "fault beside a process that is not awaited",
}

// recordedPeople are those that ask people: answered, timed out, withdrawn by a lost branch, by an error and by a
// cancellation, asked again, in loops, functions and extensions.
var recordedPeople = []string{
	"human task", "human task that is sent back", "human tasks that race", "human tasks side by side", "human task that times out", "human tasks in a loop",
	"human task in a function", "human task in an extension", "error beside a human task", "human task of an execution that is cancelled",
}

// recordedRuns are executions that take several runs.
var recordedRuns = map[string]string{
	"loop across runs":  "do: [{a: {for: {in: '[range(50)]'}, do: [{b: " + get + "}, {c: {set: '${ . + 1 }'}}]}}]",
	"forks across runs": "do: [{f: {fork: {branches: [{w: {wait: {milliseconds: 300}}}, {l: {for: {in: '[range(40)]'}, do: [{b: " + get + "}]}}, {m: {for: {in: '[range(40)]'}, do: [{d: " + get + "}]}}]}}}]",
}

// TestRecordedHistories replays the histories that workflows of every revision left when
// they were recorded. A history that cannot be replayed any more is an execution that an
// update would stop: guard the change with workflow.GetVersion, or raise machine.Revision.
func TestRecordedHistories(t *testing.T) {
	if *record {
		recordHistories(t)
	}
	files, err := filepath.Glob(filepath.Join(historyFolder, "r*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if least := len(recordedScripts) + len(recordedInstallations) + len(recordedPeople) + len(recordedRuns) + len(suspendedRuns) + 1; len(files) < least {
		t.Fatalf("there are %d histories, fewer than %d", len(files), least)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := replay(t, h, defaultLimits(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// A history of other decisions is notified from one of ours: the test above can fail.
func TestForeignHistory(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join(historyFolder, "r1_set_1.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range h.Events {
		if a := ev.GetActivityTaskScheduledEventAttributes(); a != nil {
			a.ActivityType.Name = performType
		}
	}
	if replay(t, h, defaultLimits(), nil) == nil {
		t.Error("a history with another activity was replayed")
	}
}

// recordHistories runs what is to be recorded on a real server and writes what is missing.
func recordHistories(t *testing.T) {
	b := newServerFixture(t, defaultLimits())
	for _, s := range machinetest.Scripts() {
		for _, name := range recordedScripts {
			if s.Name == name {
				t.Run(name, func(t *testing.T) { s.Run(t, recording{serverRunner{b, defaultLimits()}, name}) })
			}
		}
	}
	all := newInstallation(t, defaultLimits())
	for _, s := range slices.Concat(machinetest.EventScripts(), machinetest.ChildScripts()) {
		if slices.Contains(recordedInstallations, s.Name) {
			t.Run(s.Name, func(t *testing.T) {
				s.Run(t, installationRunner{all, func(e *installation, a argument) { writeHistories(t, s.Name, e.histories(a)) }})
			})
		}
	}
	for _, s := range machinetest.HumanScripts() {
		if slices.Contains(recordedPeople, s.Name) {
			t.Run(s.Name, func(t *testing.T) {
				s.Run(t, installationPeople{all, func(e *installation, a argument) { writeHistories(t, s.Name, e.histories(a)) }})
			})
		}
	}
	for name, run := range suspendedRuns {
		e := all.tenant(t)
		writeHistories(t, name, e.histories(run(t, e)))
	}
	e := all.tenant(t)
	writeHistories(t, positionedRun, e.histories(runPositioned(t, e)))
	for name, definition := range recordedRuns {
		a := b.begin(compile(t, definition), 0, func(_ context.Context, c runner.Call) runner.Result { return runner.Result{Output: c.Input} })
		b.end(a)
		writeHistories(t, name, b.histories(a))
	}
}

type recording struct {
	serverRunner
	name string
}

func (r recording) Run(t *testing.T, p *plan.Plan, input value.Value, w *machinetest.Fixture) machinetest.Result {
	var last argument
	r.serverFixture.accepted = func(a argument) { last = a }
	result := r.serverRunner.Run(t, p, input, w)
	writeHistories(t, r.name, r.serverFixture.histories(last))
	return result
}

func writeHistories(t *testing.T, name string, runs []*historypb.History) {
	t.Helper()
	if err := os.MkdirAll(historyFolder, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, h := range runs {
		path := filepath.Join(historyFolder, fmt.Sprintf("r%d_%s_%d.json", machine.Revision, strings.ReplaceAll(name, " ", "_"), i+1))
		if _, err := os.Stat(path); err == nil {
			continue
		}
		data, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		// Names of a machine are no one's business.
		data = regexp.MustCompile(`"identity": ?"[^"]*"`).ReplaceAll(data, []byte(`"identity":"worker"`))
		data = regexp.MustCompile(`"name": ?"[^"]*", ?"kind": ?"TASK_QUEUE_KIND_STICKY"`).ReplaceAll(data, []byte(`"name":"sticky","kind":"TASK_QUEUE_KIND_STICKY"`))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
