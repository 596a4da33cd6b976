package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Batch is a batch of executions of one workflow.
type Batch struct {
	BatchID              string            `json:"batch_id"`
	WorkflowID           string            `json:"workflow_id"`
	Status               string            `json:"status"`
	Total                int               `json:"total"`
	Completed            int               `json:"completed"`
	Failed               int               `json:"failed"`
	Cancelled            int               `json:"cancelled"` // counted in Failed too
	Running              int               `json:"running"`
	Waiting              int               `json:"waiting"`
	Queued               int               `json:"queued"`
	Phase                string            `json:"phase"`       // as Status, and cancelled
	Concurrency          int               `json:"concurrency"` // as it was asked for
	EffectiveConcurrency int               `json:"effective_concurrency"`
	EtaMs                *int64            `json:"eta_ms,omitempty"` // nil: not known
	Environment          string            `json:"environment"`
	Labels               map[string]string `json:"labels,omitempty"`
	StartedBy            *StartedBy        `json:"started_by,omitempty"`
	WorkflowVersion      string            `json:"workflow_version"`
	Revision             int               `json:"revision"`
	CreatedAt            time.Time         `json:"created_at"`
	StartedAt            *time.Time        `json:"started_at,omitempty"`
	CompletedAt          *time.Time        `json:"completed_at,omitempty"`
	Executions           []BatchExecution  `json:"executions,omitempty"`
	// ExecutionsCursor leads to the items that follow; empty: none does.
	ExecutionsCursor string `json:"executions_cursor,omitempty"`
	raw
}

// Final reports whether all items have ended.
func (b *Batch) Final() bool { return b.Status == "completed" || b.Status == "failed" }

// BatchExecution is one item of a batch.
type BatchExecution struct {
	Index       int             `json:"index"`
	ExecutionID string          `json:"execution_id"`
	ItemID      string          `json:"item_id,omitempty"`
	Inputs      json.RawMessage `json:"inputs,omitempty"` // nil in a summary
	Status      string          `json:"status"`
	Phase       string          `json:"phase"`
	DurationMS  *int64          `json:"duration_ms,omitempty"`
	Error       *ExecutionError `json:"error,omitempty"`
	raw
}

// BatchOptions of a batch.
type BatchOptions struct {
	Concurrency int // 0: the server's default, 5
	Version     string
	Labels      map[string]string // of its executions, too
	Delay       string            // ISO 8601 duration; it does not start earlier
	Wait        time.Duration
}

func batch(workflow, id string) string {
	return "/workflows/" + url.PathEscape(workflow) + "/batch/" + url.PathEscape(id)
}

// StartBatch starts one execution per item; items are JSON objects.
func (c *Client) StartBatch(ctx context.Context, workflow string, items []json.RawMessage, o BatchOptions) (*Batch, error) {
	q := waitQuery(nil, o.Wait)
	if o.Version != "" {
		q.Set("version", o.Version)
	}
	body := struct {
		Items       []json.RawMessage `json:"items"`
		Concurrency int               `json:"concurrency,omitempty"`
		Labels      map[string]string `json:"labels,omitempty"`
		Delay       string            `json:"delay,omitempty"`
	}{items, o.Concurrency, o.Labels, o.Delay}
	var b Batch
	return &b, c.do(ctx, call{
		method: http.MethodPost, path: "/workflows/" + url.PathEscape(workflow) + "/batch",
		query: q, body: body, idempotent: true, into: &b,
	})
}

// GetBatch reads a batch. executions says how many of its items the answer lists: full, none or page.
func (c *Client) GetBatch(ctx context.Context, workflow, id, executions string, wait time.Duration) (*Batch, error) {
	q := waitQuery(nil, wait)
	if executions != "" {
		q.Set("executions", executions)
	}
	var b Batch
	return &b, c.do(ctx, call{method: http.MethodGet, path: batch(workflow, id), query: q, into: &b})
}

// FindBatch reads a batch whose workflow is not known, without its items.
func (c *Client) FindBatch(ctx context.Context, id string) (*Batch, error) {
	var b Batch
	return &b, c.do(ctx, call{method: http.MethodGet, path: "/batches/" + url.PathEscape(id), query: url.Values{"executions": {"none"}}, into: &b})
}

// BatchFilter narrows a list of batches; zero fields do not.
type BatchFilter struct {
	Workflow      string   // id or namespace.name
	Statuses      []string // pending, running, completed, failed
	Phases        []string // as Statuses, and cancelled
	Labels        []string // name:value; a batch has all of them
	CreatedAfter  string   // RFC 3339
	CreatedBefore string
}

// ListBatches returns a page of batches without their items, newest first.
func (c *Client) ListBatches(ctx context.Context, f BatchFilter, limit int, cursor string) (*Page[Batch], error) {
	q := page(limit, cursor)
	set(q, map[string]string{"created_after": f.CreatedAfter, "created_before": f.CreatedBefore})
	addAll(q, "status", f.Statuses)
	addAll(q, "phase", f.Phases)
	addAll(q, "label", f.Labels)
	path := "/batches"
	if f.Workflow != "" {
		path = "/workflows/" + url.PathEscape(f.Workflow) + "/batch"
		q.Set("executions", "none")
	}
	return list[Batch](ctx, c, path, q)
}

// ItemFilter narrows a list of items; zero fields do not.
type ItemFilter struct {
	Statuses []string
	Phases   []string
	Summary  bool // without the inputs
}

// BatchItems returns a page of the items of a batch, in order of the items.
func (c *Client) BatchItems(ctx context.Context, workflow, id string, f ItemFilter, limit int, cursor string) (*Page[BatchExecution], error) {
	q := page(limit, cursor)
	addAll(q, "status", f.Statuses)
	addAll(q, "phase", f.Phases)
	if f.Summary {
		q.Set("fields", "summary")
	}
	return list[BatchExecution](ctx, c, batch(workflow, id)+"/items", q)
}

// DeleteBatch deletes a batch that has ended, with its items and everything that belongs to them.
func (c *Client) DeleteBatch(ctx context.Context, workflow, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: batch(workflow, id)})
}

// CancelBatch cancels every item that has not ended.
func (c *Client) CancelBatch(ctx context.Context, workflow, id string) (*Batch, error) {
	var b Batch
	return &b, c.do(ctx, call{method: http.MethodPost, path: batch(workflow, id) + "/cancel", idempotent: true, into: &b})
}
