package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ExecutionCount is how many executions there are, up to 10,000.
type ExecutionCount struct {
	Count         int64      `json:"count"`
	AtLeast       bool       `json:"at_least"`
	ExaminedUntil *time.Time `json:"examined_until,omitempty"`
}

// FailureGroup are executions that have failed in the same way.
type FailureGroup struct {
	WorkflowID string    `json:"workflow_id"`
	Code       string    `json:"code"`
	Reference  string    `json:"reference,omitempty"`
	Detail     string    `json:"detail,omitempty"`
	Count      int64     `json:"count"`
	FirstAt    time.Time `json:"first_at"`
	LastAt     time.Time `json:"last_at"`
	SampleID   string    `json:"sample_id"`
	Failure    string    `json:"failure"` // with code and workflow, ExecutionFilter finds them again
}

// FailureGroups are the ways in which executions have failed, the most frequent first.
type FailureGroups struct {
	Data          []FailureGroup `json:"data"`
	AtLeast       bool           `json:"at_least"`
	ExaminedUntil *time.Time     `json:"examined_until,omitempty"`
}

// Overview is what was done in a time, and what is being done.
type Overview struct {
	From        time.Time         `json:"from"`
	To          time.Time         `json:"to"`
	StepSeconds int64             `json:"step_seconds"`
	AsOf        *time.Time        `json:"as_of,omitempty"`
	Buckets     []OverviewBucket  `json:"buckets"`
	Total       OverviewTotal     `json:"total"`
	Workflows   OverviewWorkflows `json:"workflows"`
	Now         OverviewNow       `json:"now"`
	Failures    FailureGroups     `json:"failures"`
}

// OverviewTotal counts what was accepted and what has ended in a time.
type OverviewTotal struct {
	Started       int64  `json:"started"`
	Finished      int64  `json:"finished"`
	Error         int64  `json:"error"`
	Cancelled     int64  `json:"cancelled"`
	DurationP50Ms *int64 `json:"duration_p50_ms,omitempty"`
	DurationP95Ms *int64 `json:"duration_p95_ms,omitempty"`
}

// OverviewBucket is an OverviewTotal of a part of the time.
type OverviewBucket struct {
	At time.Time `json:"at"`
	OverviewTotal
}

// OverviewWorkflows are the workflows whose executions an overview counts, ten in each order.
type OverviewWorkflows struct {
	ByFailures    []OverviewWorkflow `json:"by_failures"` // the one with the most first
	ByP95         []OverviewWorkflow `json:"by_p95"`      // the longest first
	Count         int                `json:"count"`       // of all workflows of which something was counted
	Compared      int                `json:"compared"`    // of how many of them ByP95 was chosen
	AtLeast       bool               `json:"at_least"`
	ExaminedUntil *time.Time         `json:"examined_until,omitempty"` // what came before is not in it
}

// OverviewWorkflow is an OverviewTotal of a workflow.
type OverviewWorkflow struct {
	WorkflowID string `json:"workflow_id"`
	Workflow   string `json:"workflow"` // namespace/name
	OverviewTotal
}

// OverviewNow counts executions that have not ended.
type OverviewNow struct {
	Queued  int64            `json:"queued"`
	Running int64            `json:"running"`
	Waiting int64            `json:"waiting"`
	Human   int64            `json:"human"`   // of Waiting
	Delayed int64            `json:"delayed"` // they do not start yet
	AtLeast bool             `json:"at_least"`
	Oldest  *OldestExecution `json:"oldest,omitempty"`
}

// OldestExecution was created first of those that have not ended.
type OldestExecution struct {
	ID         string    `json:"id"`
	WorkflowID string    `json:"workflow_id"`
	Status     string    `json:"status"`
	Phase      string    `json:"phase"`
	CreatedAt  time.Time `json:"created_at"`
}

// CountExecutions counts what ListExecutions lists.
func (c *Client) CountExecutions(ctx context.Context, f ExecutionFilter) (*ExecutionCount, error) {
	var n ExecutionCount
	return &n, c.do(ctx, call{method: http.MethodGet, path: "/executions/count", query: f.everywhere(url.Values{}), into: &n})
}

// Failures groups the failures among what ListExecutions lists, up to limit groups (1 to 100).
func (c *Client) Failures(ctx context.Context, f ExecutionFilter, limit int) (*FailureGroups, error) {
	var g FailureGroups
	return &g, c.do(ctx, call{method: http.MethodGet, path: "/executions/failures", query: f.everywhere(page(limit, "")), into: &g})
}

// everywhere adds the filter to the query of a route that is below no workflow.
func (f *ExecutionFilter) everywhere(q url.Values) url.Values {
	f.add(q)
	if f.Workflow != "" {
		q.Set(f.workflow())
	}
	return q
}

// workflow is the filter by the workflow, and its value.
func (f *ExecutionFilter) workflow() (name, value string) {
	if namespace, name, ok := strings.Cut(f.Workflow, "."); ok {
		return "workflow", namespace + "/" + name
	}
	return "workflow_id", f.Workflow
}

// OverviewFilter says what an overview is of; zero fields stand for the defaults.
type OverviewFilter struct {
	Workflow string // id
	From, To string // RFC 3339
	Step     string // such as 1h or 1d
}

// Overview tells what was done in a time, and what is being done.
func (c *Client) Overview(ctx context.Context, f OverviewFilter) (*Overview, error) {
	q := url.Values{}
	for name, value := range map[string]string{"workflow_id": f.Workflow, "from": f.From, "to": f.To, "step": f.Step} {
		if value != "" {
			q.Set(name, value)
		}
	}
	var o Overview
	return &o, c.do(ctx, call{method: http.MethodGet, path: "/overview", query: q, into: &o})
}
