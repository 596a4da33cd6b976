package examples

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// people is a server with the examples that ask people, and a key that answers for them.
func people(t *testing.T, files ...string) *servertest.Server {
	t.Helper()
	s := servertest.Start(t, servertest.Options{})
	cli(t, s, append([]string{"workflows", "apply"}, files...)...)
	return s
}

// started starts an example and returns the id of the execution.
func started(t *testing.T, s *servertest.Server, name, input string) string {
	t.Helper()
	var e struct {
		ID string `json:"execution_id"`
	}
	if err := json.Unmarshal([]byte(cli(t, s, "run", "examples/"+name, "--input", input, "--no-wait", "-o", "json")), &e); err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// openTask waits for the open task of an execution with a title, and reads it.
func openTask(t *testing.T, s *servertest.Server, execution, title string) map[string]any {
	t.Helper()
	return openTaskOf(t, s, execution, func(task map[string]any) bool { return task["title"] == title })
}

// openTaskOf waits for an open task of an execution, and reads it.
func openTaskOf(t *testing.T, s *servertest.Server, execution string, is func(task map[string]any) bool) map[string]any {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		list, _ := s.Do(t, http.MethodGet, "/human-tasks?execution_id="+execution, "").Object()["data"].([]any)
		for _, item := range list {
			if task := item.(map[string]any); is(task) {
				return s.Do(t, http.MethodGet, fmt.Sprintf("/human-tasks/%v", task["id"]), "").Object()
			}
		}
		time.Sleep(5 * time.Millisecond) // a task has no other signal from outside
	}
	t.Fatal("no such task is open")
	return nil
}

func answer(t *testing.T, s *servertest.Server, task map[string]any, body, code string) {
	t.Helper()
	a := s.Do(t, http.MethodPost, fmt.Sprintf("/human-tasks/%v/answer", task["id"]), body)
	if got, _ := a.Object()["code"].(string); got != code || code == "" && a.Status != http.StatusOK {
		t.Errorf("answer %s: %d %s, want %q", body, a.Status, a.Body, code)
	}
}

func output(t *testing.T, s *servertest.Server, execution string) map[string]any {
	t.Helper()
	var e struct{ Output map[string]any }
	if err := json.Unmarshal([]byte(cli(t, s, "executions", "watch", execution, "-o", "json")), &e); err != nil {
		t.Fatal(err)
	}
	return e.Output
}

func TestReadInvoice(t *testing.T) {
	s := people(t, "read-invoice.yaml")
	sure := started(t, s, "read-invoice", `{"text": "Invoice R-2041 of 2026-03-01. Total: EUR 1204.50"}`)
	if got := output(t, s, sure); fmt.Sprint(got["fields"]) != "map[date:2026-03-01 number:R-2041 total:1204.50]" || got["checked_by"] != nil {
		t.Errorf("read alone: %v", got)
	}
	doubtful := started(t, s, "read-invoice", `{"text": "Invoice R-2042, to be paid soon. Total: EUR 80"}`)
	task := openTask(t, s, doubtful, "Check the invoice R-2042")
	if fmt.Sprint(task["data"]) != "map[number:R-2042 total:80]" || task["due_at"] == nil {
		t.Errorf("task: %v", task)
	}
	answer(t, s, task, `{"outcome": "accept", "data": {"number": "R-2042", "date": "soon", "total": "80"}}`, "answer_invalid")
	answer(t, s, task, `{"outcome": "accept", "data": {"number": "R-2042", "date": "2026-03-02", "total": "80.00"}}`, "")
	if got := output(t, s, doubtful); fmt.Sprint(got["fields"]) != "map[date:2026-03-02 number:R-2042 total:80.00]" || got["checked_by"] == nil {
		t.Errorf("read with a person: %v", got)
	}
	recorded(t, s, 3, 2)
}

func TestApproveInvoice(t *testing.T) {
	s := people(t, "approve-invoice.yaml")
	s.Key = servertest.CreateKey(t, s.DataDir, "--scopes", "workflows:read,workflows:write,executions:create,executions:read,tasks:read,tasks:respond,tasks:impersonate")
	const input = `{"invoice": "R-2041", "amount": 1204.5, "approvers": ["ada@example.com", "ben@example.com"], "leads": ["ada@example.com", "lea@example.com"], "wait": "%s"}`
	by := func(name, outcome string) string {
		return fmt.Sprintf(`{"outcome": %q, "on_behalf_of": "%s@example.com"}`, outcome, name)
	}
	const first, second, overdue = "Approve invoice R-2041: 1204.5 EUR", "Approve invoice R-2041 as the second person", "Overdue: approve invoice R-2041 as the second person"

	approved := started(t, s, "approve-invoice", fmt.Sprintf(input, "P2D"))
	task := openTask(t, s, approved, first)
	answer(t, s, task, by("lea", "approve"), "not_assigned")
	answer(t, s, task, by("ada", "approve"), "")
	task = openTask(t, s, approved, second)
	answer(t, s, task, by("ada", "approve"), "excluded")
	answer(t, s, task, by("ben", "approve"), "")
	if got := output(t, s, approved); got["approved"] != true || !slices.Equal(got["by"].([]any), []any{"ada@example.com", "ben@example.com"}) {
		t.Errorf("approved by two: %v", got)
	}

	late := started(t, s, "approve-invoice", fmt.Sprintf(input, "PT0.2S"))
	answer(t, s, openTask(t, s, late, first), by("ada", "approve"), "")
	task = openTask(t, s, late, overdue)
	answer(t, s, task, by("ada", "approve"), "excluded") // a lead who has approved as the first person
	answer(t, s, task, by("lea", "reject"), "")
	if got := output(t, s, late); got["approved"] != false || !slices.Equal(got["by"].([]any), []any{"lea@example.com"}) {
		t.Errorf("escalated: %v", got)
	}
	recorded(t, s, 3, 2)
}
