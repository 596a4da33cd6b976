package app

import (
	"os"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/testserve"
)

func TestMain(m *testing.M) {
	process.MaybeHelper(script.Worker(), testserve.Worker())
	os.Exit(m.Run())
}

// T80: what was allowed when a workflow was applied, and is no longer, is a configuration error
// of the execution.
func TestNarrowedAllowRunHoldsForWorkflowsThatWereApplied(t *testing.T) {
	dir := t.TempDir()
	open := install(t, dir, func(c *Config) { c.AllowRun = []string{"shell", "python"} })
	ids := map[string]string{
		"shell":  open.Apply(apptest.Definition("sh", "{run: {shell: {command: echo ran}}}")),
		"python": open.Apply(apptest.Definition("py", "{run: {script: {language: python, code: 'print(1)'}}}")),
	}
	if _, e := open.Ask("POST", "/workflows/"+ids["shell"]+"/executions?wait=20s", "application/json", "{}"); e["status"] != "finished" {
		t.Fatalf("where it is allowed: %v", e)
	}
	open.Halt()

	narrow := install(t, dir)
	for kind, id := range ids {
		_, e := narrow.Ask("POST", "/workflows/"+id+"/executions?wait=20s", "application/json", "{}")
		fault, _ := e["error"].(map[string]any)
		if kindOf, _ := fault["type"].(string); e["status"] != "error" || !strings.HasSuffix(kindOf, "/configuration") {
			t.Errorf("%s: %v %v", kind, e["status"], fault)
		}
		if detail, _ := fault["detail"].(string); !strings.Contains(detail, "allow") {
			t.Errorf("%s: the detail %q does not say that it is not allowed", kind, detail)
		}
	}
}
