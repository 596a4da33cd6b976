package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Recording is what an execution that has ended received from outside, and what it came to.
type Recording struct {
	ExecutionID     string            `json:"execution_id"`
	WorkflowID      string            `json:"workflow_id"`
	WorkflowName    string            `json:"workflow"` // namespace/name
	WorkflowVersion string            `json:"workflow_version"`
	Revision        int64             `json:"revision"`   // of that version
	StartedAt       *time.Time        `json:"started_at"` // all times of the recording count from here
	ElapsedMS       int64             `json:"elapsed_ms"` // to its end
	Phase           string            `json:"phase"`
	Input           json.RawMessage   `json:"input"`
	Output          json.RawMessage   `json:"output,omitempty"` // nil: it has not completed
	Error           *ExecutionError   `json:"error,omitempty"`
	Secrets         []string          `json:"secrets"` // names of those that the definition declares
	Tasks           []RecordedTask    `json:"tasks"`   // in the order in which they started
	Outcomes        []RecordedOutcome `json:"outcomes"`
	raw
}

// RecordedTask is one run of a task.
type RecordedTask struct {
	Seq        int64  `json:"seq"`
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Reference  string `json:"reference"`
	Iterations []int  `json:"iterations"`
	Attempt    int    `json:"attempt"`
	Phase      string `json:"phase"`
	StartedMS  int64  `json:"started_ms"`
	EndedMS    int64  `json:"ended_ms"`
}

// RecordedOutcome is what came to a task from outside, before the task made its output of it.
type RecordedOutcome struct {
	Seq       int64           `json:"seq"` // of the RecordedTask
	Reference string          `json:"reference"`
	Kind      string          `json:"kind"` // activity, execution, answer, event, message or none
	AskedMS   int64           `json:"asked_ms"`
	AtMS      int64           `json:"at_ms"`
	Output    json.RawMessage `json:"output,omitempty"`
	Error     *ExecutionError `json:"error,omitempty"`
	Files     []RecordedFile  `json:"files"`
}

// RecordedFile is a file that came with an outcome.
type RecordedFile struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`
	Size        int64  `json:"size"`
	ContentType string `json:"content_type"`
	Digest      string `json:"digest"` // sha256:<hex>
}

// Recording returns what an execution that has ended received. Codes: state_conflict, recording_incomplete.
func (c *Client) Recording(ctx context.Context, workflow, id string) (*Recording, error) {
	var g Recording
	return &g, c.do(ctx, call{method: http.MethodGet, path: execution(workflow, id) + "/recording", into: &g})
}
