package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Execution is an execution as it is created (ExecutionID) or read (ID).
type Execution struct {
	ID              string `json:"id"`
	ExecutionID     string `json:"execution_id,omitempty"`
	WorkflowID      string `json:"workflow_id"`
	Workflow        string `json:"workflow,omitempty"` // namespace/name
	Title           string `json:"title,omitempty"`
	Status          string `json:"status"`
	Phase           string `json:"phase"`
	WorkflowVersion string `json:"workflow_version"`
	Revision        int    `json:"revision"`
	Environment     string `json:"environment"`
	BatchID         string `json:"batch_id,omitempty"`
	ItemID          string `json:"item_id,omitempty"` // of the item of a batch that it is
	RetryOf         string `json:"retry_of,omitempty"`
	// ParentID is the execution that has started it, RootID the one at the top of the tree; empty: none has.
	ParentID   string            `json:"parent_id,omitempty"`
	RootID     string            `json:"root_id,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"` // those of its batch, too
	Cause      *Cause            `json:"cause,omitempty"`
	StartedBy  *StartedBy        `json:"started_by,omitempty"`  // nil: no request has
	WaitingFor *WaitingFor       `json:"waiting_for,omitempty"` // nil: a task runs, or it has ended
	HumanTasks []OpenTask        `json:"human_tasks,omitempty"` // that have not ended; the newest 10
	Attempting *Attempting       `json:"attempting,omitempty"`  // the attempt that a retry delay of 5 s or more precedes
	CreatedAt  time.Time         `json:"created_at"`
	StartedAt  *time.Time        `json:"started_at,omitempty"`
	FinishedAt *time.Time        `json:"finished_at,omitempty"`
	// RetainedUntil is when it is deleted at the earliest; nil: it has not ended, or stays.
	RetainedUntil *time.Time      `json:"retained_until,omitempty"`
	Input         json.RawMessage `json:"input,omitempty"` // where it was asked for, and of one execution
	Output        json.RawMessage `json:"output,omitempty"`
	Error         *ExecutionError `json:"error,omitempty"`
	Results       []Result        `json:"results"`
	// NewerVersion and NewerRevision are what a start would run now, in the answer to a retry
	// that runs an older one; empty and 0 otherwise.
	NewerVersion  string `json:"newer_version,omitempty"`
	NewerRevision int    `json:"newer_revision,omitempty"`
	raw
}

// Cause is what has caused an execution.
type Cause struct {
	Kind string `json:"kind"` // api, batch, schedule, event, parent or retry
	ID   string `json:"id,omitempty"`
}

// StartedBy is the user or API key whose request has started an execution.
type StartedBy struct {
	Kind string `json:"kind"` // user or key
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// Attempting is the next attempt of a task.
type Attempting struct {
	Reference string    `json:"reference"`
	Attempt   int       `json:"attempt"`      // from 1
	Of        int       `json:"of,omitempty"` // attempts at most; 0: as many as it takes
	NextAt    time.Time `json:"next_at"`
}

// WaitingFor is what an execution waits for: the most blocking one of all.
type WaitingFor struct {
	Kind   string       `json:"kind"` // person, child, event, retry, timer or slot
	Until  *time.Time   `json:"until,omitempty"`
	TaskID string       `json:"task_id,omitempty"`
	Title  string       `json:"title,omitempty"` // of the human task
	Filter *EventFilter `json:"filter,omitempty"`
}

// OpenTask is a human task of an execution that has not ended.
type OpenTask struct {
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Reference  string     `json:"reference"` // of the task in the definition
	Iterations []int      `json:"iterations"`
	DueAt      *time.Time `json:"due_at,omitempty"`
}

// EventFilter says which events an execution or a task waits for.
type EventFilter struct {
	Types []string `json:"types"`
}

// Final reports whether the execution has ended.
func (e *Execution) Final() bool { return e.Status == "finished" || e.Status == "error" }

// ExecutionError is the language's error object with the API's additions.
type ExecutionError struct {
	Type      string `json:"type"`
	Status    int    `json:"status"`
	Title     string `json:"title,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Instance  string `json:"instance,omitempty"`
	Code      string `json:"code,omitempty"`
	Origin    string `json:"origin,omitempty"`
	Retryable bool   `json:"retryable"`
	Line      int    `json:"line,omitempty"` // of Instance in the source of the definition; 0: not known
	Column    int    `json:"column,omitempty"`
}

// Result is a result file. URL is signed and valid for an hour.
type Result struct {
	Filename    string    `json:"filename"`
	URL         string    `json:"url"`
	Size        int64     `json:"size"`
	ContentType string    `json:"content_type"`
	SHA256      string    `json:"sha256"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// StartOptions of an execution.
type StartOptions struct {
	Version string // empty: the published one
	Labels  map[string]string
	Delay   string        // ISO 8601 duration; empty: none
	Wait    time.Duration // at most 60 s
}

func (o StartOptions) query() url.Values {
	q := waitQuery(nil, o.Wait)
	if o.Version != "" {
		q.Set("version", o.Version)
	}
	return q
}

func execution(workflow, id string) string {
	return "/workflows/" + url.PathEscape(workflow) + "/executions/" + url.PathEscape(id)
}

// Start starts one execution of a workflow. input is a JSON object; nil: {}.
func (c *Client) Start(ctx context.Context, workflow string, input json.RawMessage, o StartOptions) (*Execution, error) {
	body := struct {
		Input  json.RawMessage   `json:"input,omitempty"`
		Labels map[string]string `json:"labels,omitempty"`
		Delay  string            `json:"delay,omitempty"`
	}{input, o.Labels, o.Delay}
	var e Execution
	err := c.do(ctx, call{
		method: http.MethodPost, path: "/workflows/" + url.PathEscape(workflow) + "/executions",
		query: o.query(), body: body, idempotent: true, into: &e,
	})
	if e.ID == "" {
		e.ID = e.ExecutionID
	}
	return &e, err
}

// GetExecution reads an execution; with wait (at most 60 s) as soon as it is final or needs a person.
func (c *Client) GetExecution(ctx context.Context, workflow, id string, wait time.Duration) (*Execution, error) {
	var e Execution
	return &e, c.do(ctx, call{method: http.MethodGet, path: execution(workflow, id), query: waitQuery(nil, wait), into: &e})
}

// ExecutionFilter narrows a list; zero fields do not.
type ExecutionFilter struct {
	Workflow      string // id or namespace.name
	Statuses      []string
	Phases        []string
	Batch         string
	CreatedAfter  string // RFC 3339
	CreatedBefore string
	ErrorCodes    []string
	Causes        []string // api, batch, schedule, event, parent, retry
	Labels        []string // name:value
	WaitingFor    []string // person, child, event, retry, timer, slot
	Versions      []string
	Root          string // id of the execution at the top of a tree
	RetryOf       string // id of the execution that is repeated
	Failure       string // of a FailureGroup
	MinDurationMs int64
	Search        string
	OldestFirst   bool
	Input         bool // with the inputs
	Summary       bool // without the results
}

// ListExecutions returns a page of executions, newest first.
func (c *Client) ListExecutions(ctx context.Context, f ExecutionFilter, limit int, cursor string) (*Page[Execution], error) {
	q := page(limit, cursor)
	f.add(q)
	if f.OldestFirst {
		q.Set("sort", "created")
	}
	if f.Input {
		q.Set("include", "input")
	}
	if f.Summary {
		q.Set("fields", "summary")
	}
	path := "/executions"
	if f.Workflow != "" {
		path = "/workflows/" + url.PathEscape(f.Workflow) + path
	}
	return list[Execution](ctx, c, path, q)
}

// add adds the filter to a query, but for the workflow, and for what is shown in which order.
func (f *ExecutionFilter) add(q url.Values) {
	set(q, map[string]string{
		"batch_id": f.Batch, "created_after": f.CreatedAfter, "created_before": f.CreatedBefore, "root_id": f.Root, "q": f.Search, "retry_of": f.RetryOf, "failure": f.Failure,
	})
	addAll(q, "status", f.Statuses)
	addAll(q, "phase", f.Phases)
	addAll(q, "error_code", f.ErrorCodes)
	addAll(q, "cause", f.Causes)
	addAll(q, "label", f.Labels)
	addAll(q, "waiting_for", f.WaitingFor)
	addAll(q, "version", f.Versions)
	if f.MinDurationMs > 0 {
		q.Set("min_duration_ms", strconv.FormatInt(f.MinDurationMs, 10))
	}
}

// CancelExecution ends an execution as cancelled. The reason, which may be empty, is shown in its error.
func (c *Client) CancelExecution(ctx context.Context, workflow, id, reason string) (*Execution, error) {
	body := struct {
		Reason string `json:"reason,omitempty"`
	}{reason}
	var e Execution
	return &e, c.do(ctx, call{method: http.MethodPost, path: execution(workflow, id) + "/cancel", body: body, idempotent: true, into: &e})
}

// SuspendExecution keeps an execution from starting anything until it is resumed.
func (c *Client) SuspendExecution(ctx context.Context, workflow, id string) (*Execution, error) {
	var e Execution
	return &e, c.do(ctx, call{method: http.MethodPost, path: execution(workflow, id) + "/suspend", idempotent: true, into: &e})
}

// ResumeExecution ends the suspension of an execution.
func (c *Client) ResumeExecution(ctx context.Context, workflow, id string) (*Execution, error) {
	var e Execution
	return &e, c.do(ctx, call{method: http.MethodPost, path: execution(workflow, id) + "/resume", idempotent: true, into: &e})
}

// DeleteExecution deletes an execution that has ended, with everything that belongs to it.
func (c *Client) DeleteExecution(ctx context.Context, workflow, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: execution(workflow, id)})
}

// RetryOptions of a retry.
type RetryOptions struct {
	Input   json.RawMessage // an object; nil: that of the execution
	Version string          // "published", "same" or a version; empty: the revision of the execution
	From    string          // reference of the task that it begins with; empty: the first. Not together with Input
	Wait    time.Duration   // at most 60 s
}

// RetryExecution starts a new execution in place of one that has ended.
func (c *Client) RetryExecution(ctx context.Context, workflow, id string, o RetryOptions) (*Execution, error) {
	body := struct {
		Input   json.RawMessage `json:"input,omitempty"`
		Version string          `json:"version,omitempty"`
		From    string          `json:"from,omitempty"`
	}{o.Input, o.Version, o.From}
	var e Execution
	return &e, c.do(ctx, call{
		method: http.MethodPost, path: execution(workflow, id) + "/retry", query: waitQuery(nil, o.Wait), body: body, idempotent: true, into: &e,
	})
}

// GetExecutionByID reads an execution without naming its workflow.
func (c *Client) GetExecutionByID(ctx context.Context, id string, wait time.Duration) (*Execution, error) {
	var e Execution
	return &e, c.do(ctx, call{method: http.MethodGet, path: "/executions/" + url.PathEscape(id), query: waitQuery(nil, wait), into: &e})
}
