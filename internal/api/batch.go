package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

// entriesMode says which entries the answer about a batch carries.
type entriesMode uint8

const (
	entriesFull entriesMode = iota
	entriesNone
	entriesPage
)

var entriesParameter = &parameter{
	name: "executions", in: "query",
	about:  "full: one entry per execution; page: the first 100, and executions_cursor; none: no entries.",
	schema: huma.Schema{Type: "string", Enum: []any{"full", "none", "page"}, Default: "full"},
	read: func(c *call, value string) (complaint string) {
		switch value {
		case "full":
			c.args.entries = entriesFull
		case "none":
			c.args.entries = entriesNone
		case "page":
			c.args.entries = entriesPage
		default:
			return "must be one of full, none, page."
		}
		return ""
	},
}

// createBatchBody is the body as the document describes it; the service reads it.
type createBatchBody struct {
	Items       []map[string]any `json:"items" nullable:"false" minItems:"1" doc:"One input object per execution."`
	Concurrency float64          `json:"concurrency,omitempty" default:"5" minimum:"1" multipleOf:"1" doc:"Maximum number of parallel executions. More than the server's maximum is lowered; effective_concurrency says so."`
}

func batchEndpoints() []endpoint {
	const collection, one = "/workflows/{workflowId}/batch", "/workflows/{workflowId}/batch/{batchId}"
	run := jsonBody(createBatchBody{}, true)
	run.limit = func(l service.Limits) int64 { return l.BatchBodyBytes }
	return []endpoint{
		{
			method: post, path: collection, id: "runBatch", tag: "Batches", slow: true, lenient: true,
			summary: "Batch run", about: "Starts one execution per item. All are durable before the answer, or none is started.",
			scopes: service.ScopeExecutionsCreate, body: run,
			parameters: []*parameter{versionParameter, waitParameter, preferParameter, idempotencyParameter},
			answers: []answer{{
				status: 202, about: "Batch started", view: batch{},
				headers: []string{"Location", "ETag", "Idempotency-Replayed", "Preference-Applied"},
			}},
			problems: []chargehand.Code{
				chargehand.CodeItemsEmpty, chargehand.CodeTooManyItems, chargehand.CodeInputInvalid, chargehand.CodeVersionNotFound,
			},
			serve: (*call).createBatch,
		},
		{
			method: get, path: collection, id: "listBatches", tag: "Batches", slow: true,
			summary: "List the batches of a workflow", about: "Newest first.",
			scopes: service.ScopeExecutionsRead, parameters: []*parameter{limitParameter, cursorParameter, entriesParameter},
			answers: []answer{{status: 200, about: "List of batches", view: batchPage{}}},
			serve:   (*call).listBatches,
		},
		{
			method: get, path: one, id: "getBatch", tag: "Batches", slow: true,
			summary: "Get a batch", about: "With executions=none the counts alone. With wait, as soon as it has ended.",
			scopes:     service.ScopeExecutionsRead,
			parameters: []*parameter{entriesParameter, waitParameter, preferParameter, ifNoneMatchParameter},
			answers: []answer{
				{status: 200, about: "The batch", view: batch{}, headers: []string{"ETag", "Retry-After", "Preference-Applied"}},
				{status: 304, about: "Nothing has changed since the answer with this ETag", headers: []string{"ETag"}},
			},
			serve: (*call).getBatch,
		},
		{
			method: get, path: one + "/items", id: "listBatchItems", tag: "Batches",
			summary: "List the items of a batch", about: "In input order.",
			scopes: service.ScopeExecutionsRead, parameters: []*parameter{statusParameter, phaseParameter, limitParameter, seqCursorParameter},
			answers: []answer{{status: 200, about: "List of items", view: batchItemPage{}}},
			serve:   (*call).listBatchItems,
		},
		{
			method: post, path: one + "/cancel", id: "cancelBatch", tag: "Batches", slow: true,
			summary: "Cancel a batch", about: "Cancels every item that has not ended.",
			scopes: service.ScopeExecutionsManage, body: jsonBody(cancelBody{}, false),
			parameters: []*parameter{entriesParameter, idempotencyParameter},
			answers:    []answer{{status: 202, about: "Cancelled", view: batch{}, headers: []string{"ETag", "Idempotency-Replayed"}}},
			problems:   []chargehand.Code{chargehand.CodeStateConflict},
			change:     "batch cancelled",
			serve:      (*call).cancelBatch,
		},
	}
}

func (c *call) createBatch() error {
	ctx, done := c.waiting()
	defer done()
	b, replayed, err := c.server.service.CreateBatch(ctx, c.principal, service.CreateBatch{
		Workflow: c.workflow, Version: c.args.version, Body: c.value, Idempotency: c.idempotency(), View: c.askedBatch(),
	})
	if err != nil {
		return err
	}
	c.value, c.raw = nil, nil // the answer may take long; the request is not needed any more
	c.replayed(replayed)
	c.location("/workflows/" + b.Workflow.String() + "/batch/" + b.ID.String())
	return c.sendBatch(http.StatusAccepted, b)
}

func (c *call) getBatch() error {
	ctx, done := c.waiting()
	defer done()
	b, err := c.server.service.GetBatch(ctx, c.principal, c.workflow, c.batch, c.askedBatch())
	if err != nil {
		return err
	}
	if c.notModified(b.ETag) {
		c.empty(http.StatusNotModified)
		return nil
	}
	if !b.Status.Final() {
		c.w.Header()["Retry-After"] = retryLaterValue
	}
	return c.sendBatch(http.StatusOK, b)
}

func (c *call) cancelBatch() error {
	b, replayed, err := c.server.service.CancelBatch(c.r.Context(), c.principal, service.ChangeBatch{
		Workflow: c.workflow, Batch: c.batch, Body: c.value, Idempotency: c.idempotency(), View: c.askedBatch(),
	})
	if err != nil {
		return err
	}
	c.replayed(replayed)
	return c.sendBatch(http.StatusAccepted, b)
}

// askedBatch says how a batch is to be shown: entries that are all shown must agree with the
// counts beside them.
func (c *call) askedBatch() service.View {
	v := c.asked()
	v.Entries = c.args.entries == entriesFull
	return v
}

// sendBatch streams a batch with its entries.
func (c *call) sendBatch(status int, b *service.Batch) error {
	c.w.Header()["Etag"] = []string{`"` + b.ETag + `"`}
	out := c.stream(status)
	o := object(out.dst)
	appendBatch(&o, b)
	if err := c.appendEntries(&o, out, b); err != nil {
		return err
	}
	out.dst = o.end()
	return out.close()
}

func (c *call) listBatches() error {
	page, err := c.server.service.ListBatches(c.r.Context(), c.principal, c.workflow, c.args.limit, c.args.after)
	if err != nil {
		return err
	}
	out := c.stream(http.StatusOK)
	l := list{writer: object(out.dst)}
	l.open()
	for _, b := range page.Data {
		b.BaseURL = c.base()
		o := object(l.next())
		appendBatch(&o, b)
		if err := c.appendEntries(&o, out, b); err != nil {
			return err
		}
		l.add(o.end())
	}
	out.dst = l.end(cursorText(page.Cursor))
	return out.close()
}

// appendEntries appends the field executions as the request asks for it. Full text goes out
// through the stream.
func (c *call) appendEntries(o *writer, out *stream, b *service.Batch) error {
	if c.args.entries == entriesNone {
		return nil
	}
	q := service.BatchEntries{}
	if c.args.entries == entriesPage {
		q.Limit = maxPage
	}
	o.key("executions")
	o.dst = append(o.dst, '[')
	first := true
	next, err := c.server.service.Entries(c.r.Context(), b, q, func(e *service.BatchEntry) (err error) {
		if !first {
			o.dst = append(o.dst, ',')
		}
		first = false
		in := object(o.dst)
		appendEntry(&in, e)
		o.dst, err = out.flow(in.end())
		return err
	})
	if err != nil {
		return err
	}
	o.dst = append(o.dst, ']')
	if c.args.entries == entriesPage {
		if next < 0 {
			o.null("executions_cursor")
		} else {
			o.text("executions_cursor", strconv.Itoa(next))
		}
	}
	return nil
}

func (c *call) listBatchItems() error {
	b, err := c.server.service.GetBatch(c.r.Context(), c.principal, c.workflow, c.batch, c.asked())
	if err != nil {
		return err
	}
	l := openList(c.args.limit * 256)
	next := -1
	if c.args.seq < int64(b.Total) {
		next, err = c.items(c.r.Context(), b, &l)
		if err != nil {
			return err
		}
	}
	var cursor *string
	if next >= 0 {
		text := strconv.Itoa(next)
		cursor = &text
	}
	c.json(http.StatusOK, l.end(cursor))
	return nil
}

func (c *call) items(ctx context.Context, b *service.Batch, l *list) (next int, err error) {
	q := service.BatchEntries{Statuses: c.args.statuses, Phases: c.args.phases, From: int(c.args.seq), Limit: c.args.limit}
	return c.server.service.Entries(ctx, b, q, func(e *service.BatchEntry) error {
		o := object(l.next())
		appendEntry(&o, e)
		l.add(o.end())
		return nil
	})
}

func appendBatch(o *writer, b *service.Batch) {
	appendID(o, "batch_id", b.ID)
	appendID(o, "id", b.ID)
	appendID(o, "workflow_id", b.Workflow)
	o.text("status", b.Status.String())
	o.number("total", int64(b.Total))
	o.number("completed", int64(b.Completed))
	o.number("failed", int64(b.Failed))
	o.number("cancelled", int64(b.Cancelled))
	o.number("running", int64(b.Running))
	o.number("waiting", int64(b.Waiting))
	o.number("queued", int64(b.Queued))
	o.number("concurrency", int64(b.Concurrency))
	o.number("effective_concurrency", int64(b.EffectiveConcurrency))
	o.text("workflow_version", b.WorkflowVersion)
	o.number("revision", b.Revision)
	o.text("environment", b.Environment.String())
	o.time("created_at", b.CreatedAt.UnixMilli())
	o.optionalTime("started_at", b.StartedAt)
	o.optionalTime("completed_at", b.CompletedAt)
}

func appendEntry(o *writer, e *service.BatchEntry) {
	appendID(o, "execution_id", e.Execution)
	o.raw("inputs", e.Inputs)
	o.text("status", e.Status.String())
	o.text("phase", e.Phase.String())
	if e.Ended {
		o.number("duration_ms", e.DurationMs)
	}
	o.number("index", int64(e.Index))
	o.optionalText("item_id", e.ItemID)
	if e.Error != nil {
		appendExecutionError(o, e.Error)
	}
}
