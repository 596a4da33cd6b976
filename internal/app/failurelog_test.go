package app

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/logtest"
)

// TestFailedExecutionsAreLogged: whatever ends in error has a line with its id, workflow and code; a batch of which all
// items fail has some lines and a count.
func TestFailedExecutionsAreLogged(t *testing.T) {
	log := &logtest.Buffer{}
	i := install(t, t.TempDir(), func(c *Config) { c.Log = slog.New(slog.NewJSONHandler(log, nil)) })
	const message = "execution ended in error"
	bad := i.Apply(apptest.Definition("bad", "{raise: {error: {type: https://example.com/broken, status: 418, title: SECRET-TEXT}}}"))
	good := i.Apply(apptest.Definition("good", "{set: {x: 1}}"))
	sleeper := i.Apply(apptest.Definition("sleeper", "{wait: {hours: 1}}"))
	i.Ask("POST", "/workflows/"+good+"/executions?wait=20s", "application/json", "{}")
	_, failed := i.Ask("POST", "/workflows/"+bad+"/executions?wait=20s", "application/json", "{}")
	apptest.Await(t, func() bool { return len(log.With(message)) > 0 })
	line := log.With(message)[0]
	if line["execution"] != failed["id"] || line["workflow"] != "default/bad" || line["code"] != "fault" || line["phase"] != "faulted" {
		t.Errorf("line %v of %v", line, failed)
	}
	_, waiting := i.Ask("POST", "/workflows/"+sleeper+"/executions", "application/json", "{}")
	i.Ask("POST", "/workflows/"+sleeper+"/executions/"+waiting["id"].(string)+"/cancel", "application/json", "{}")
	apptest.Await(t, func() bool { return len(log.With(message)) > 1 })
	if line := log.With(message)[1]; line["execution"] != waiting["id"] || line["phase"] != "cancelled" {
		t.Errorf("of what was cancelled: %v", line)
	}
	if got := log.With("execution cancelled"); len(got) != 1 || got[0]["execution"] != waiting["id"] || got[0]["actor"] == nil {
		t.Errorf("who cancelled: %v", got)
	}

	items := strings.TrimSuffix(strings.Repeat(`{"input": {}},`, 200), ",")
	status, batch := i.Ask("POST", "/workflows/"+bad+"/batch?wait=20s", "application/json", fmt.Sprintf(`{"items": [%s]}`, items))
	if batch["status"] != "failed" && batch["failed"] != 200. {
		t.Fatalf("batch: %d %v", status, batch)
	}
	i.Halt()
	left := log.With("lines were left out, as too many said the same within a minute")
	if n := len(log.With(message)); n > 20 || len(left) != 1 || left[0]["lines"].(float64)+float64(n) != 202 {
		t.Errorf("202 failures have %d lines, and left out were %v", n, left)
	}
	if strings.Contains(log.String(), "SECRET-TEXT") {
		t.Error("the log holds texts of errors")
	}
}
