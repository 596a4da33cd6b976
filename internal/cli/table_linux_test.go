package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"
)

const (
	anID      = "01a202f3-b4d2-7180-9d6d-8ec5065ba04e"
	anotherID = "01a202f3-b4d4-74c2-b014-b80b7042ca9a"
	aReason   = "POST https://warehouse.example.com/v2/reservations/2026-11-28/o-4711 answered 503: " +
		"the service is not available at the moment, try again later"
)

// tableRows are answers of a server with rows as they come in practice, by the ends of paths: the longest words of
// states, ids without names, times of hours, counts of a large batch.
var tableRows = map[string]string{
	"/workflows":                       `{"id": ID, "namespace": "billing", "name": "reconcile-invoices", "version": "12.10.0-beta.2", "title": "Reconcile the invoices of a month with the bank", "updated_at": AGO}`,
	"/workflows/" + anID + "/versions": `{"version": "12.10.0-beta.2", "revision": 112, "published": true, "published_revision": 111, "created_at": AGO, "updated_at": AGO}`,
	"/executions":                      `{"id": ID, "workflow_id": ID, "workflow_version": "12.10.0", "status": "human_in_the_loop", "phase": "waiting", "created_at": AGO, "started_at": AGO, "finished_at": NOW, "batch_id": OTHER, "error": {"title": "Communication error", "detail": REASON}}`,
	"/timeline":                        `{"seq": 1207, "name": "reserveStock", "kind": "call", "reference": "/do/3/reserveStock", "phase": "completed", "attempt": 12, "started_at": AGO, "finished_at": NOW}, {"seq": 1208, "parent_seq": 1207, "name": "reserveStock", "kind": "listen", "reference": "/do/3/reserveStock", "phase": "faulted", "attempt": 1, "started_at": AGO, "finished_at": NOW, "error": {"title": "Communication error", "detail": REASON}}, {"seq": 1209, "name": "askAccounting", "kind": "call", "reference": "/do/4/ask", "phase": "faulted", "attempt": 2, "started_at": AGO, "error": {"title": "Communication error", "detail": REASON}}`,
	"/progress":                        `{"reference": "/do/3/reserveStock", "kind": "listen", "phase": "completed", "counts": {"completed": 100000, "faulted": 10000, "running": 1000}, "attempts": 9, "first_failed_seq": 1208, "mean_duration_ms": 1234567, "max_duration_ms": 12345678}`,
	"/failures":                        `{"count": 10000, "workflow_id": ID, "code": "communication", "reference": "/do/3/reserveStock/try/0/reserveStock", "detail": REASON, "last_at": AGO, "sample_id": ID}`,
	"/batches":                         `{"batch_id": ID, "workflow_id": ID, "status": "completed", "total": 100000, "completed": 89000, "failed": 11000, "running": 1000, "started_at": AGO, "completed_at": NOW}`,
	"/items":                           `{"index": 99999, "execution_id": ID, "status": "human_in_the_loop", "phase": "waiting", "duration_ms": 12345678, "inputs": {"order": "o-4711", "customer": "c-0815"}, "error": {"title": "Communication error", "detail": REASON}}`,
	"/operations":                      `{"id": ID, "action": "suspend", "status": "completed", "total": 100000, "succeeded": 100000, "failed": 10000, "started_by": {"kind": "key", "id": OTHER}, "created_at": AGO, "finished_at": NOW}`,
	"/operations/" + anID + "/items":   `{"execution_id": ID, "outcome": "succeeded", "retry_id": OTHER, "error": {"code": "communication", "detail": REASON}}`,
	"/human-tasks":                     `{"id": ID, "status": "withdrawn", "title": "Approve the refund of order o-4711 to c-0815", "due_at": AGO, "priority": 10, "claimed_by": {"id": OTHER}, "workflow": "billing/reconcile-invoices", "execution_id": ID}`,
	"/secrets":                         `{"name": "warehouse-api-token-of-the-second-region", "version": 112, "created_at": AGO, "updated_at": AGO}`,
	"/api-keys":                        `{"id": ID, "prefix": "sk_live_a1b2", "last_four": "w9x8", "name": "the nightly import of orders", "scopes": ["admin", "executions:read"], "namespaces": ["billing"], "workflows": [ID], "expires_at": AGO, "last_used_at": AGO}`,
	"/users":                           `{"id": ID, "email": "ada.lovelace@accounting.example.com", "name": "Ada King, Countess of Lovelace", "status": "disabled", "last_seen_at": AGO, "groups": [OTHER, ID]}`,
	"/groups":                          `{"id": ID, "name": "the accountants of the second region", "members": [ID], "more_members": true, "created_at": AGO, "source": "company"}`,
	"/members":                         `{"id": ID, "email": "ada.lovelace@accounting.example.com", "name": "Ada King, Countess of Lovelace"}`,
	"/grants":                          `{"id": ID, "user_id": OTHER, "role": "participant", "namespace": "billing", "environments": ["live", "test"], "created_at": AGO}`,
	"/audit-log":                       `{"at": AGO, "actor": {"kind": "key", "id": OTHER}, "action": "master_key.exchanged", "target": {"kind": "execution", "id": ID, "name": "billing/reconcile-invoices"}, "count": 1, "changes": {"version": {"before": "12.9.0", "after": "12.10.0-beta.2"}}}`,
	"/limits":                          `{"name": "running_executions_of_workflow", "value": 107374182400, "used": 107374182399, "setting": "max-processes-per-workflow", "description": "What an API key or person has uploaded, its drafts and comments on human tasks, and inputs, outputs, files and human tasks of executions that it has started."}`,
}

// tableCommands are the lists that a server answers, and what else prints a table of many rows.
var tableCommands = map[string][]string{
	"chargehand workflows list": nil, "chargehand workflows versions": {anID},
	"chargehand executions list": nil, "chargehand executions timeline": {anID}, "chargehand executions progress": {anID}, "chargehand executions failures": nil,
	"chargehand batches list": nil, "chargehand batches items": {anID},
	"chargehand operations list": nil, "chargehand operations items": {anID},
	"chargehand tasks list": nil, "chargehand secrets list": nil, "chargehand keys list": nil,
	"chargehand users list": nil, "chargehand groups list": nil, "chargehand groups members": {anID}, "chargehand grants list": nil,
	"chargehand audit": nil, "chargehand limits": nil, "chargehand context list": nil,
}

// answerRows makes commands talk to a server that has these rows, whatever contexts and settings there are on the
// machine.
func answerRows(t *testing.T) {
	t.Helper()
	now := time.Now()
	values := strings.NewReplacer(
		"ID", `"`+anID+`"`, "OTHER", `"`+anotherID+`"`, "REASON", fmt.Sprintf("%q", aReason),
		"AGO", now.Add(-46*time.Hour).Format(`"`+time.RFC3339Nano+`"`), "NOW", now.Format(`"`+time.RFC3339Nano+`"`),
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, found := strings.TrimPrefix(r.URL.Path, "/api/v1"), ""
		for end := range tableRows {
			if strings.HasSuffix(path, end) && len(end) > len(found) {
				found = end
			}
		}
		text := values.Replace(fmt.Sprintf(`{"data": [%s], "cursor": null}`, tableRows[found]))
		if found == "" { // one object: a workflow, an execution, a batch, an operation, a user
			text = values.Replace(`{"id": ID, "workflow_id": ID, "batch_id": ID, "namespace": "billing", "name": "reconcile-invoices"}`)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	folder := t.TempDir()
	for name, value := range map[string]string{
		"CHARGEHAND_URL": server.URL, "CHARGEHAND_API_KEY": "a-key", "CHARGEHAND_CONTEXT": "", "CHARGEHAND_ENVIRONMENT": "", "CHARGEHAND_CONFIG": "",
		"NO_COLOR": "1", "HOME": folder, "XDG_CONFIG_HOME": folder,
	} {
		t.Setenv(name, value)
	}
}

// TestTablesFitTheTerminal: every list fits 80 columns with rows as they come in practice, and shows the ends of ids,
// because ids of one day begin alike.
func TestTablesFitTheTerminal(t *testing.T) {
	answerRows(t)
	if code := Run([]string{"context", "set", "the-second-region-of-the-company", "--url", "https://chargehand.second-region.example.com:8443"}, nil, os.Stderr, os.Stderr); code != 0 {
		t.Fatal("no context")
	}
	tested := 0
	everyCommand(t, func(t *testing.T, cmd *cobra.Command) {
		args, known := tableCommands[cmd.CommandPath()]
		if cmd.Flags().Lookup("cursor") != nil && !known {
			t.Error("this list has no row in the test")
		}
		if !known {
			return
		}
		tested++
		for _, line := range onTerminal(t, 80, append(strings.Fields(cmd.CommandPath())[1:], args...)...) {
			if width := runewidth.StringWidth(line); width > 80 {
				t.Errorf("%d columns: %q", width, line)
			}
			if regexp.MustCompile(`01a202f`).MatchString(line) {
				t.Errorf("the beginning of an id, which others share: %q", line)
			}
		}
	})
	if tested != len(tableCommands) {
		t.Errorf("%d commands of %d were found", tested, len(tableCommands))
	}
}

// TestReasonsAreWhole: a terminal shows why a task failed, and what a limit means, in whole sentences.
func TestReasonsAreWhole(t *testing.T) {
	answerRows(t)
	for _, width := range []uint16{60, 80, 120} {
		timeline := onTerminal(t, width, "executions", "timeline", anID)
		if without := strings.ReplaceAll(strings.Join(timeline, ""), " ", ""); strings.Count(without, strings.ReplaceAll(aReason, " ", "")) != 1 || !slices.Contains(timeline, belowIndent+sameAsAbove) {
			t.Errorf("%d columns show\n%s", width, strings.Join(timeline, "\n"))
		}
		limits := strings.Join(strings.Fields(strings.Join(onTerminal(t, width, "limits"), " ")), " ")
		if !strings.Contains(limits, "files and human tasks of executions that it has started.") {
			t.Errorf("%d columns show %s", width, limits)
		}
	}
}

// onTerminal runs a command and returns the lines that a terminal of that width is sent.
func onTerminal(t *testing.T, width uint16, args ...string) []string {
	t.Helper()
	out, written := openTerminal(t, width, "the end\r\n")
	var complaints bytes.Buffer
	code := Run(args, strings.NewReader(""), out, &complaints)
	fmt.Fprintln(out, "the end")
	lines := strings.Split(strings.ReplaceAll(<-written, "\r", ""), "\n")
	if code != 0 || len(lines) < 4 { // a header, a row, the end
		t.Fatalf("%v: exit %d, %s, %q", args, code, complaints.String(), lines)
	}
	return lines[:len(lines)-2]
}
