package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

// The words of status and phase. No execution is suspended yet.
var (
	statuses = []any{"initial", "processing", "human_in_the_loop", "finished", "error"}
	phases   = []any{"pending", "running", "waiting", "cancelled", "faulted", "completed"}
)

// retryLaterValue is the hint on executions and batches that are not final yet.
var retryLaterValue = []string{"1"}

var (
	versionParameter = &parameter{
		name: "version", in: "query", about: "Run this version instead of the current one.",
		schema: huma.Schema{Type: "string", MinLength: count(1)},
		read: func(c *call, value string) (complaint string) {
			if value == "" {
				return "must name a version."
			}
			c.args.version = value
			return ""
		},
	}
	statusParameter = &parameter{
		name: "status", in: "query", many: true, about: "Only executions with this status. Repeat it for several.",
		schema: huma.Schema{Type: "string", Enum: statuses},
		read: func(c *call, value string) (complaint string) {
			status, ok := chargehand.ParseStatus(value)
			if !ok {
				return "must be one of " + listed(statuses) + "."
			}
			c.args.statuses = append(c.args.statuses, status)
			return ""
		},
	}
	phaseParameter = &parameter{
		name: "phase", in: "query", many: true,
		about:  "Only executions in this phase. Repeat it for several. A page looks at 50,000 executions at most; it may then have fewer items than limit, and a cursor.",
		schema: huma.Schema{Type: "string", Enum: phases},
		read: func(c *call, value string) (complaint string) {
			phase, ok := chargehand.ParsePhase(value)
			if !ok || !slices.Contains(phases, any(value)) {
				return "must be one of " + listed(phases) + "."
			}
			c.args.phases = append(c.args.phases, phase)
			return ""
		},
	}
	batchParameter = &parameter{
		name: "batch_id", in: "query", about: "Only executions of this batch.",
		schema: huma.Schema{Type: "string", Format: "uuid"},
		read: func(c *call, value string) (complaint string) {
			if setID(&c.args.batch, value) != nil {
				return "must be the id of a batch."
			}
			return ""
		},
	}
	createdAfterParameter = &parameter{
		name: "created_after", in: "query", about: "Only what was created after this time.",
		schema: huma.Schema{Type: "string", Format: "date-time"},
		read: func(c *call, value string) (complaint string) {
			c.args.createdAfter, complaint = parseTime(value)
			return complaint
		},
	}
	createdBeforeParameter = &parameter{
		name: "created_before", in: "query", about: "Only what was created before this time.",
		schema: huma.Schema{Type: "string", Format: "date-time"},
		read: func(c *call, value string) (complaint string) {
			c.args.createdBefore, complaint = parseTime(value)
			return complaint
		},
	}
)

// The bodies as the document describes them; the service reads them.
type (
	createExecutionBody struct {
		Input map[string]any `json:"input,omitempty" doc:"Input data; must match the workflow's input_schema if it has one. Missing: {}."`
	}
	cancelBody struct {
		Reason string `json:"reason,omitempty" doc:"Shown in the error of what was cancelled."`
	}
	nothing struct{}
)

func executionEndpoints() []endpoint {
	const list, one = "/workflows/{workflowId}/executions", "/workflows/{workflowId}/executions/{executionId}"
	filters := []*parameter{
		statusParameter, phaseParameter, batchParameter, createdAfterParameter, createdBeforeParameter, limitParameter, cursorParameter,
	}
	created := []string{"Location", "ETag", "Idempotency-Replayed", "Preference-Applied"}
	return []endpoint{
		{
			method: post, path: list, id: "createExecution", tag: "Executions", lenient: true,
			summary: "Create execution", about: "The execution is durable before the answer.",
			scopes: service.ScopeExecutionsCreate, body: jsonBody(createExecutionBody{}, false),
			parameters: []*parameter{versionParameter, waitParameter, preferParameter, idempotencyParameter},
			answers:    []answer{{status: 201, about: "Execution created", view: CreatedExecution{}, headers: created}},
			problems:   []chargehand.Code{chargehand.CodeInputInvalid, chargehand.CodeVersionNotFound, chargehand.CodeQueueFull},
			serve:      (*call).createExecution,
		},
		{
			method: get, path: list, id: "listWorkflowExecutions", tag: "Executions",
			summary: "List the executions of a workflow", about: "Newest first.",
			scopes: service.ScopeExecutionsRead, parameters: filters,
			answers: []answer{{status: 200, about: "List of executions", view: executionPage{}}},
			serve:   (*call).listExecutions,
		},
		{
			method: get, path: "/executions", id: "listExecutions", tag: "Executions",
			summary: "List executions of all workflows", about: "Newest first.",
			scopes: service.ScopeExecutionsRead, parameters: filters,
			answers: []answer{{status: 200, about: "List of executions", view: executionPage{}}},
			serve:   (*call).listExecutions,
		},
		{
			method: get, path: one, id: "getExecution", tag: "Executions", lenient: true,
			summary: "Get execution", about: "With wait, as soon as it has ended or needs a person.",
			scopes:     service.ScopeExecutionsRead,
			parameters: []*parameter{waitParameter, preferParameter, ifNoneMatchParameter},
			answers: []answer{
				{status: 200, about: "Execution details", view: Execution{}, headers: []string{"ETag", "Retry-After", "Preference-Applied"}},
				{status: 304, about: "Nothing has changed since the answer with this ETag", headers: []string{"ETag"}},
			},
			serve: (*call).getExecution,
		},
		{
			method: get, path: "/executions/{executionId}", id: "getExecutionById", tag: "Executions",
			summary: "Get execution, whatever its workflow", about: "The same as under its workflow. Lifecycle events name this address.",
			scopes:     service.ScopeExecutionsRead,
			parameters: []*parameter{waitParameter, preferParameter, ifNoneMatchParameter},
			answers: []answer{
				{status: 200, about: "Execution details", view: Execution{}, headers: []string{"ETag", "Retry-After", "Preference-Applied"}},
				{status: 304, about: "Nothing has changed since the answer with this ETag", headers: []string{"ETag"}},
			},
			serve: anywhere((*call).getExecution),
		},
		{
			method: get, path: "/executions/{executionId}/timeline", id: "getTimelineById", tag: "Executions",
			summary: "Get the timeline of an execution, whatever its workflow", about: "The same as under its workflow. Lifecycle events name this address.",
			scopes: service.ScopeExecutionsRead, parameters: []*parameter{limitParameter, seqCursorParameter},
			answers: []answer{{status: 200, about: "The timeline", view: timelinePage{}}},
			serve:   anywhere((*call).getTimeline),
		},
		{
			method: post, path: one + "/cancel", id: "cancelExecution", tag: "Executions",
			summary: "Cancel an execution", about: "The execution has ended when this answers.",
			scopes: service.ScopeExecutionsManage, body: jsonBody(cancelBody{}, false), parameters: []*parameter{idempotencyParameter},
			answers:  []answer{{status: 202, about: "Cancelled", view: Execution{}, headers: []string{"ETag", "Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeStateConflict},
			change:   "execution cancelled",
			serve:    (*call).cancelExecution,
		},
		{
			method: post, path: one + "/retry", id: "retryExecution", tag: "Executions",
			summary: "Run an execution again", about: "Makes a new execution with the same input and, unless version is given, the same revision of the definition. newer_version and newer_revision say if a newer one would run now.",
			scopes: service.ScopeExecutionsManage, body: jsonBody(nothing{}, false),
			parameters: []*parameter{versionParameter, waitParameter, preferParameter, idempotencyParameter},
			answers:    []answer{{status: 201, about: "Execution created", view: retriedExecution{}, headers: created}},
			problems: []chargehand.Code{
				chargehand.CodeStateConflict, chargehand.CodeVersionNotFound, chargehand.CodeInputInvalid, chargehand.CodeQueueFull,
			},
			serve: (*call).retryExecution,
		},
		{
			method: get, path: one + "/timeline", id: "getTimeline", tag: "Executions",
			summary: "Get the timeline of an execution", about: "One entry per run of a task, in the order in which they started.",
			scopes: service.ScopeExecutionsRead, parameters: []*parameter{limitParameter, seqCursorParameter},
			answers: []answer{{status: 200, about: "The timeline", view: timelinePage{}}},
			serve:   (*call).getTimeline,
		},
	}
}

// anywhere finds out the workflow of an execution that is named without it.
func anywhere(serve func(*call) error) func(*call) error {
	return func(c *call) (err error) {
		if c.workflow, err = c.server.service.WorkflowOf(c.r.Context(), c.principal, c.execution); err != nil {
			return err
		}
		return serve(c)
	}
}

func (c *call) createExecution() error {
	ctx, done := c.waiting()
	defer done()
	e, replayed, err := c.server.service.CreateExecution(ctx, c.principal, service.CreateExecution{
		Workflow: c.workflow, Version: c.args.version, Body: c.value, Idempotency: c.idempotency(), View: c.asked(),
	})
	if err != nil {
		return err
	}
	c.created(e, replayed)
	return nil
}

func (c *call) retryExecution() error {
	ctx, done := c.waiting()
	defer done()
	e, replayed, err := c.server.service.RetryExecution(ctx, c.principal, service.RetryExecution{
		Workflow: c.workflow, Execution: c.execution, Version: c.args.version, Body: c.value,
		Idempotency: c.idempotency(), View: c.asked(),
	})
	if err != nil {
		return err
	}
	c.created(e, replayed)
	return nil
}

// created answers with a new execution.
func (c *call) created(e *service.Execution, replayed bool) {
	c.replayed(replayed)
	c.location("/workflows/" + e.Workflow.String() + "/executions/" + e.ID.String())
	c.w.Header()["Etag"] = []string{`"` + e.ETag + `"`}
	o := object(make([]byte, 0, 768))
	appendID(&o, "execution_id", e.ID)
	appendExecution(&o, e)
	if e.Newer != nil {
		o.text("newer_version", e.Newer.Version)
		o.number("newer_revision", e.Newer.Revision)
	}
	c.json(http.StatusCreated, o.end())
}

func (c *call) getExecution() error {
	ctx, done := c.waiting()
	defer done()
	e, err := c.server.service.GetExecution(ctx, c.principal, c.workflow, c.execution, c.asked())
	if err != nil {
		return err
	}
	if c.notModified(e.ETag) {
		c.empty(http.StatusNotModified)
		return nil
	}
	if !e.Status.Final() {
		c.w.Header()["Retry-After"] = retryLaterValue
	}
	o := object(make([]byte, 0, 768))
	appendExecution(&o, e)
	c.json(http.StatusOK, o.end())
	return nil
}

func (c *call) cancelExecution() error {
	e, replayed, err := c.server.service.CancelExecution(c.r.Context(), c.principal, service.ChangeExecution{
		Workflow: c.workflow, Execution: c.execution, Body: c.value, Idempotency: c.idempotency(), View: c.asked(),
	})
	if err != nil {
		return err
	}
	c.replayed(replayed)
	c.w.Header()["Etag"] = []string{`"` + e.ETag + `"`}
	o := object(nil)
	appendExecution(&o, e)
	c.json(http.StatusAccepted, o.end())
	return nil
}

func (c *call) listExecutions() error {
	page, err := c.server.service.ListExecutions(c.r.Context(), c.principal, service.ListExecutions{
		Workflow: c.workflow, Statuses: c.args.statuses, Phases: c.args.phases, Batch: c.args.batch,
		CreatedAfter: c.args.createdAfter, CreatedBefore: c.args.createdBefore,
		Limit: c.args.limit, After: c.args.after, View: c.asked(),
	})
	if err != nil {
		return err
	}
	l := openList(len(page.Data) * 512)
	for _, e := range page.Data {
		o := object(l.next())
		appendExecution(&o, e)
		l.add(o.end())
	}
	c.json(http.StatusOK, l.end(cursorText(page.Cursor)))
	return nil
}

// asked says how the answer is to be shown.
func (c *call) asked() service.View {
	return service.View{BaseURL: c.base(), Wait: c.args.wait}
}

// waiting is the context of a call that may wait. It ends early when the server stops; the
// service answers what it has then.
func (c *call) waiting() (context.Context, func()) {
	if c.args.wait <= 0 {
		return c.r.Context(), func() {}
	}
	c.w.Header()["Preference-Applied"] = []string{"wait=" + strconv.Itoa(int(c.args.wait.Seconds()))}
	ctx, cancel := context.WithCancel(c.r.Context())
	release := context.AfterFunc(c.server.stopping, cancel)
	return ctx, func() { release(); cancel() }
}

// appendExecution appends the fields of a read answer to o.
func appendExecution(o *writer, e *service.Execution) {
	appendID(o, "id", e.ID)
	appendID(o, "workflow_id", e.Workflow)
	o.text("status", e.Status.String())
	o.time("created_at", e.CreatedAt.UnixMilli())
	if e.Results == nil {
		o.null("results")
	} else {
		appendResults(o, "results", e.Results)
	}
	o.text("phase", e.Phase.String())
	o.text("workflow_version", e.WorkflowVersion)
	o.number("revision", e.Revision)
	o.text("environment", e.Environment.String())
	if !e.Batch.IsZero() {
		appendID(o, "batch_id", e.Batch)
	}
	if !e.RetryOf.IsZero() {
		appendID(o, "retry_of", e.RetryOf)
	}
	o.optionalTime("started_at", e.StartedAt)
	o.optionalTime("finished_at", e.FinishedAt)
	if e.Output != nil {
		o.raw("output", e.Output)
	}
	if e.Error != nil {
		appendExecutionError(o, e.Error)
	}
}

func appendExecutionError(o *writer, e *service.ExecutionError) {
	o.key("error")
	in := object(o.dst)
	in.text("type", e.Type)
	in.number("status", int64(e.Status))
	in.optionalText("title", e.Title)
	in.optionalText("detail", e.Detail)
	in.optionalText("instance", e.Instance)
	in.text("code", e.Code)
	in.text("origin", e.Origin)
	in.boolean("retryable", e.Retryable)
	if e.Line > 0 {
		in.number("line", int64(e.Line))
		in.number("column", int64(e.Column))
	}
	o.dst = in.end()
}

func appendResults(o *writer, name string, results []service.Result) {
	o.key(name)
	o.dst = append(o.dst, '[')
	for i := range results {
		r := &results[i]
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		in := object(o.dst)
		in.text("filename", r.Filename)
		in.text("url", r.URL)
		in.number("size", r.Size)
		in.text("content_type", r.ContentType)
		in.optionalText("sha256", r.SHA256)
		in.optionalTime("expires_at", r.ExpiresAt)
		o.dst = in.end()
	}
	o.dst = append(o.dst, ']')
}

// listed writes the words of an enumeration for a sentence.
func listed(words []any) string {
	text := fmt.Sprint(words[0])
	for _, word := range words[1:] {
		text += fmt.Sprint(", ", word)
	}
	return text
}
