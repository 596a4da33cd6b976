package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// The actions of operations.
const (
	ActionCancel  = "cancel"
	ActionRetry   = "retry"
	ActionSuspend = "suspend"
	ActionResume  = "resume"
	ActionDelete  = "delete"
)

// Operation is one action on many executions. The server carries it out beside requests.
type Operation struct {
	ID          string `json:"id"`
	Action      string `json:"action"` // one of the actions
	Status      string `json:"status"` // selecting, running, completed, cancelled or stopped
	Environment string `json:"environment"`
	// StartedBy has started it. It acts on what this one sees and manages.
	StartedBy  *StartedBy      `json:"started_by,omitempty"`
	Filter     json.RawMessage `json:"filter,omitempty"`  // an object; nil: the executions were named
	Version    string          `json:"version,omitempty"` // published; empty: retries run the revision of each execution
	Reason     string          `json:"reason,omitempty"`  // of cancellations
	Total      int64           `json:"total"`             // executions that are selected; while it is selecting, so far
	Pending    int64           `json:"pending"`           // of them, those on which it has not acted
	Succeeded  int64           `json:"succeeded"`
	Skipped    int64           `json:"skipped"` // the action could not be done any more
	Failed     int64           `json:"failed"`
	Error      *OperationError `json:"error,omitempty"`    // why the server has stopped it
	Failures   []OperationItem `json:"failures,omitempty"` // the first ones; not in lists
	CreatedAt  time.Time       `json:"created_at"`
	FinishedAt *time.Time      `json:"finished_at,omitempty"`
	raw
}

// Final reports whether the operation acts on no more executions.
func (o *Operation) Final() bool {
	return o.Status == "completed" || o.Status == "cancelled" || o.Status == "stopped"
}

// OperationError says why an operation was stopped, or what became of an execution.
type OperationError struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// OperationItem is an execution of an operation.
type OperationItem struct {
	ExecutionID string          `json:"execution_id"`
	Outcome     string          `json:"outcome"`            // pending, succeeded, skipped or failed
	RetryID     string          `json:"retry_id,omitempty"` // the new execution, of retries alone
	Error       *OperationError `json:"error,omitempty"`
	raw
}

// OperationPreview is what an operation would act on.
type OperationPreview struct {
	DryRun        bool       `json:"dry_run"`
	Action        string     `json:"action"`
	Count         int64      `json:"count"`
	AtLeast       bool       `json:"at_least"`
	Limit         int64      `json:"limit"` // of the executions of one operation
	ExaminedUntil *time.Time `json:"examined_until,omitempty"`
}

// OperationRequest says what is done to which executions: to those of IDs, or to those that Filter selects.
type OperationRequest struct {
	Action  string
	IDs     []string         // up to 1,000; nil: those of Filter
	Filter  *ExecutionFilter // without fields: all executions. OldestFirst and Input do not matter
	Reason  string           // of cancellations
	Version string           // of retries: published or same; empty: same
}

// operationBody is a request as it is sent.
type operationBody struct {
	Action  string         `json:"action"`
	IDs     []string       `json:"ids,omitempty"`
	Filter  map[string]any `json:"filter,omitzero"`
	Reason  string         `json:"reason,omitempty"`
	Version string         `json:"version,omitempty"`
	DryRun  bool           `json:"dry_run,omitempty"`
}

func (r *OperationRequest) body() operationBody {
	b := operationBody{Action: r.Action, IDs: r.IDs, Reason: r.Reason, Version: r.Version}
	if r.Filter != nil {
		b.Filter = r.Filter.object()
	}
	return b
}

// object is the filter as a body has it: by the names that a query has.
func (f *ExecutionFilter) object() map[string]any {
	object := map[string]any{}
	for name, value := range map[string]string{
		"batch_id": f.Batch, "created_after": f.CreatedAfter, "created_before": f.CreatedBefore, "root_id": f.Root, "retry_of": f.RetryOf,
		"failure": f.Failure, "q": f.Search,
	} {
		if value != "" {
			object[name] = value
		}
	}
	for name, values := range map[string][]string{
		"status": f.Statuses, "phase": f.Phases, "error_code": f.ErrorCodes, "cause": f.Causes, "label": f.Labels, "waiting_for": f.WaitingFor,
		"version": f.Versions,
	} {
		if len(values) > 0 {
			object[name] = values
		}
	}
	if f.Workflow != "" {
		name, value := f.workflow()
		object[name] = []string{value}
	}
	if f.MinDurationMs > 0 {
		object["min_duration_ms"] = f.MinDurationMs
	}
	return object
}

func operation(id string) string { return "/operations/" + url.PathEscape(id) }

// StartOperation starts an action on many executions. It is accepted when this returns, and not done yet.
func (c *Client) StartOperation(ctx context.Context, r OperationRequest) (*Operation, error) {
	var o Operation
	return &o, c.do(ctx, call{method: http.MethodPost, path: "/operations", body: r.body(), idempotent: true, into: &o})
}

// PreviewOperation counts on how many executions an operation would act now. Nothing is done.
func (c *Client) PreviewOperation(ctx context.Context, r OperationRequest) (*OperationPreview, error) {
	body := r.body()
	body.DryRun = true
	var p OperationPreview
	return &p, c.do(ctx, call{method: http.MethodPost, path: "/operations", body: body, idempotent: true, into: &p})
}

// GetOperation reads an operation with its counts and its first failures.
func (c *Client) GetOperation(ctx context.Context, id string) (*Operation, error) {
	var o Operation
	return &o, c.do(ctx, call{method: http.MethodGet, path: operation(id), into: &o})
}

// ListOperations returns a page of operations, newest first.
func (c *Client) ListOperations(ctx context.Context, limit int, cursor string) (*Page[Operation], error) {
	return list[Operation](ctx, c, "/operations", page(limit, cursor))
}

// OperationItems returns a page of the executions of an operation, the oldest first. outcomes: none stands for any.
func (c *Client) OperationItems(ctx context.Context, id string, outcomes []string, limit int, cursor string) (*Page[OperationItem], error) {
	q := page(limit, cursor)
	addAll(q, "outcome", outcomes)
	return list[OperationItem](ctx, c, operation(id)+"/items", q)
}

// CancelOperation ends an operation. When this returns, it acts on no more executions; what it has done stays done.
func (c *Client) CancelOperation(ctx context.Context, id string) (*Operation, error) {
	var o Operation
	return &o, c.do(ctx, call{method: http.MethodPost, path: operation(id) + "/cancel", idempotent: true, into: &o})
}

// operationPause lies between two looks at an operation that is followed.
const operationPause = time.Second

// FollowOperation calls handle with the states of an operation until it has ended, and returns its end.
func (c *Client) FollowOperation(ctx context.Context, id string, handle func(*Operation)) (*Operation, error) {
	for pause := operationPause / 10; ; pause = min(2*pause, operationPause) {
		o, err := c.GetOperation(ctx, id)
		if err != nil {
			return nil, err
		}
		if handle(o); o.Final() {
			return o, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// UnmarshalJSON reads an operation and keeps its text.
func (o *Operation) UnmarshalJSON(text []byte) error {
	type plain Operation
	return o.read(text, (*plain)(o))
}

// MarshalJSON repeats the text that an operation was read from.
func (o Operation) MarshalJSON() ([]byte, error) {
	type plain Operation
	return o.write(plain(o))
}

// UnmarshalJSON reads an item and keeps its text.
func (i *OperationItem) UnmarshalJSON(text []byte) error {
	type plain OperationItem
	return i.read(text, (*plain)(i))
}

// MarshalJSON repeats the text that an item was read from.
func (i OperationItem) MarshalJSON() ([]byte, error) {
	type plain OperationItem
	return i.write(plain(i))
}
