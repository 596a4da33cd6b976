package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/client"
)

// TestOverviewByWorkflow: two tables follow what was done by the hour, unless there is one workflow, or none.
func TestOverviewByWorkflow(t *testing.T) {
	p95, until := int64(3700), time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	total := client.OverviewTotal{Started: 9, Finished: 6, Error: 2, Cancelled: 1, DurationP50Ms: &p95, DurationP95Ms: &p95}
	o := client.Overview{
		StepSeconds: 3600, AsOf: &until, Total: total,
		Workflows: client.OverviewWorkflows{
			ByFailures: []client.OverviewWorkflow{{Workflow: "shop/fails", OverviewTotal: total}},
			ByP95:      []client.OverviewWorkflow{{Workflow: "shop/slow", OverviewTotal: total}},
			Count:      1, Compared: 1,
		},
	}
	show := func() (out, said string) {
		t.Helper()
		var o1, o2 bytes.Buffer
		c := &connection{console: console{nil, &o1, &o2}, output: formatTable}
		if err := c.showOverview(t.Context(), nil, &o); err != nil {
			t.Fatal(err)
		}
		return o1.String(), o2.String()
	}
	if out, said := show(); strings.Contains(out, "shop/") || said != "" {
		t.Errorf("of one workflow:\n%s%s", out, said)
	}
	o.Workflows.Count, o.Workflows.AtLeast, o.Workflows.ExaminedUntil = 60, true, &until
	out, said := show()
	for _, want := range []string{
		"FAILING     STARTED  FINISHED  ERROR  CANCELLED", "SLOWEST    STARTED", "shop/fails        9         6      2          1  3700 ms  3700 ms\n", "shop/slow ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	for _, want := range []string{"the 1 workflows, of 60,", "before 2026-01-31T09:00:00Z is not counted by workflow"} {
		if !strings.Contains(said, want) {
			t.Errorf("there is no %q in\n%s", want, said)
		}
	}
	o.Workflows.ByFailures, o.Workflows.ExaminedUntil = nil, nil
	if out, said := show(); strings.Contains(out, "FAILING") || !strings.Contains(out, "SLOWEST") || !strings.Contains(said, "what happened first is not") {
		t.Errorf("without failures:\n%s%s", out, said)
	}
}
