package api

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
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
	StartOptionsBody
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
			unaudited: unauditedStart,
			serve:     (*call).createBatch,
		},
		{
			method: get, path: collection, id: "listBatches", tag: "Batches", slow: true,
			summary: "List the batches of a workflow", about: "Newest first." + aboutBatchPage,
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, parameters: append(slices.Clone(batchFilters), entriesParameter),
			answers: []answer{{status: 200, about: "List of batches", view: batchPage{}}},
			serve:   (*call).listBatches,
		},
		{
			method: get, path: "/batches", id: "listAllBatches", tag: "Batches", slow: true,
			summary: "List the batches of all workflows", about: "Newest first, without their entries." + aboutBatchPage,
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, parameters: slices.Concat(batchFilters, workflowFilters),
			answers: []answer{{status: 200, about: "List of batches", view: batchPage{}}},
			serve: func(c *call) error {
				c.args.entries = entriesNone
				return c.listBatches()
			},
		},
		{
			method: get, path: "/batches/{batchId}", id: "getBatchById", tag: "Batches", slow: true,
			summary: "Get a batch, whatever its workflow", about: "The same as under its workflow.",
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn,
			parameters: []*parameter{entriesParameter, waitParameter, preferParameter, ifNoneMatchParameter},
			answers: []answer{
				{status: 200, about: "The batch", view: batch{}, headers: []string{"ETag", "Retry-After", "Preference-Applied"}},
				{status: 304, about: "Nothing has changed since the answer with this ETag", headers: []string{"ETag"}},
			},
			serve: func(c *call) (err error) {
				if c.workflow, err = c.server.service.WorkflowOfBatch(c.r.Context(), c.principal, c.batch); err != nil {
					return err
				}
				return c.getBatch()
			},
		},
		{
			method: get, path: one, id: "getBatch", tag: "Batches", slow: true,
			summary: "Get a batch", about: "With executions=none the counts alone. With wait, as soon as it has ended.",
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn,
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
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, parameters: []*parameter{statusParameter, phaseParameter, summaryOf("inputs"), limitParameter, seqCursorParameter},
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
			audits:     []audit.Action{audit.BatchCancelled},
			serve:      (*call).cancelBatch,
		},
		{
			method: remove, path: one, id: "deleteBatch", tag: "Batches", slow: true,
			summary: "Delete a batch",
			about: "One that has ended, with its items, their inputs, outputs, timelines and files; files that another execution uses stay. " +
				"Executions that its items have started stay, and can be deleted after it. If the request is cut off, a part of the items is gone: send it again.",
			scopes:   service.ScopeExecutionsManage,
			answers:  []answer{{status: 204, about: "Deleted"}},
			problems: []chargehand.Code{chargehand.CodeStateConflict},
			change:   "batch deleted",
			audits:   []audit.Action{audit.BatchDeleted},
			serve:    (*call).deleteBatch,
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

func (c *call) deleteBatch() error {
	if err := c.server.service.DeleteBatch(c.r.Context(), c.principal, c.workflow, c.batch); err != nil {
		return err
	}
	c.empty(http.StatusNoContent)
	return nil
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
	if err := c.streamBatch(out, b); err != nil {
		return err
	}
	return out.close()
}

func (c *call) listBatches() error {
	q := c.args.batches
	q.Workflow, q.Limit, q.After = c.workflow, c.args.limit, c.args.after
	q.Workflows, q.WorkflowNames, q.Labels = c.args.filter.Workflows, c.args.filter.WorkflowNames, c.args.filter.Labels
	q.CreatedAfter, q.CreatedBefore = c.args.createdAfter, c.args.createdBefore
	page, err := c.server.service.ListBatches(c.r.Context(), c.principal, q)
	if err != nil {
		return err
	}
	out := c.stream(http.StatusOK)
	out.text(`{"data":[`)
	for i, b := range page.Data {
		if i > 0 {
			out.text(",")
		}
		b.BaseURL = c.base()
		if err := c.streamBatch(out, b); err != nil {
			return err
		}
	}
	out.text(`],"cursor":` + cursorJSON(cursorText(page.Cursor)) + "}")
	return out.close()
}

// streamBatch writes a batch, with its entries as the request asks for them.
func (c *call) streamBatch(out *stream, b *service.Batch) error {
	head, err := encode(viewBatch(b))
	if err != nil || c.args.entries == entriesNone {
		out.dst = append(out.dst, head...)
		return err
	}
	q := service.BatchEntries{}
	if c.args.entries == entriesPage {
		q.Limit = maxPage
	}
	out.dst = append(out.dst, head[:len(head)-1]...) // the fields that follow are fields of the same object
	out.text(`,"executions":[`)
	next, err := c.streamEntries(out, b, q)
	if err != nil {
		return err
	}
	out.text("]")
	if c.args.entries == entriesPage {
		out.text(`,"executions_cursor":` + cursorJSON(entriesCursor(next)))
	}
	out.text("}")
	return nil
}

func (c *call) listBatchItems() error {
	b, err := c.server.service.GetBatch(c.r.Context(), c.principal, c.workflow, c.batch, c.asked())
	if err != nil {
		return err
	}
	out := c.stream(http.StatusOK)
	out.text(`{"data":[`)
	next := -1
	if c.args.seq < int64(b.Total) {
		q := service.BatchEntries{Statuses: c.args.statuses, Phases: c.args.phases, From: int(c.args.seq), Limit: c.args.limit, Summary: c.args.summary}
		if next, err = c.streamEntries(out, b, q); err != nil {
			return err
		}
	}
	out.text(`],"cursor":` + cursorJSON(entriesCursor(next)) + "}")
	return out.close()
}

// streamEntries writes the entries that q asks for, with commas between them. next is the index of the first
// entry that was left out, -1 where there is none.
func (c *call) streamEntries(out *stream, b *service.Batch, q service.BatchEntries) (next int, err error) {
	first := true
	return c.server.service.Entries(c.r.Context(), b, q, func(e *service.BatchEntry) error {
		if !first {
			out.text(",")
		}
		first = false
		if err := out.entry(e); err != nil {
			return err
		}
		return out.flow()
	})
}

// entry writes an entry as batchEntry describes it. It does so by hand, because 10,000 entries take encoding/json
// some 10 ms, as much as all the rest of the answer does.
func (s *stream) entry(e *service.BatchEntry) error {
	s.text(`{"execution_id":"`)
	s.dst = e.Execution.Append(s.dst)
	if s.text(`"`); e.Inputs != nil {
		s.text(`,"inputs":`)
		s.dst = append(s.dst, e.Inputs...)
	}
	s.text(`,"status":"` + e.Status.String() + `","phase":"` + e.Phase.String() + `"`)
	if e.Ended {
		s.text(`,"duration_ms":`)
		s.dst = strconv.AppendInt(s.dst, e.DurationMs, 10)
	}
	s.text(`,"index":`)
	s.dst = strconv.AppendInt(s.dst, int64(e.Index), 10)
	if e.ItemID != "" {
		if err := s.field(`,"item_id":`, e.ItemID); err != nil {
			return err
		}
	}
	if e.Error != nil {
		if err := s.field(`,"error":`, viewExecutionError(e.Error)); err != nil {
			return err
		}
	}
	s.text("}")
	return nil
}

// entriesCursor names the first entry of the next page; -1 stands for the end.
func entriesCursor(next int) *string {
	if next < 0 {
		return nil
	}
	text := strconv.Itoa(next)
	return &text
}

func viewBatch(b *service.Batch) batch {
	return batch{
		BatchID: b.ID, ID: b.ID, Workflow: b.Workflow, Status: b.Status.String(), Total: b.Total, Completed: b.Completed,
		Failed: b.Failed, Cancelled: b.Cancelled, Running: b.Running, Waiting: b.Waiting, Queued: b.Queued,
		Concurrency: b.Concurrency, EffectiveConcurrency: b.EffectiveConcurrency, WorkflowVersion: b.WorkflowVersion,
		Phase: b.Phase, ETAMs: b.ETAMs, Revision: b.Revision, Environment: b.Environment.String(), CreatedAt: at(b.CreatedAt), StartedAt: at(b.StartedAt),
		CompletedAt: at(b.CompletedAt), Labels: viewLabels(b.Labels), StartedBy: viewStartedBy(b.StartedBy),
	}
}
