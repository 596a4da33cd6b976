package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

// The words of status and phase.
var (
	statuses = []any{"initial", "processing", "human_in_the_loop", "finished", "error"}
	phases   = []any{"pending", "running", "waiting", "suspended", "cancelled", "faulted", "completed"}
	// taskPhases are those of a task: executions are suspended, tasks are not.
	taskPhases = []any{"pending", "running", "waiting", "cancelled", "faulted", "completed"}
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
		about:  "Only executions in this phase. Repeat it for several.",
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
		StartOptionsBody
	}
	StartOptionsBody struct {
		Labels     map[string]string `json:"labels,omitempty" nullable:"false" doc:"Up to 20. A name has up to 63 of the characters a-z, 0-9, dot, underscore, slash and hyphen, a value up to 255 characters. They are not encrypted."`
		Delay      string            `json:"delay,omitempty" doc:"ISO 8601 duration, at most 366 days: it does not start earlier."`
		DelayUntil string            `json:"delay_until,omitempty" format:"date-time" doc:"It does not start earlier. At most 366 days ahead; not together with delay."`
	}
	retryBody struct {
		Input   map[string]any    `json:"input,omitempty" doc:"Another input; must match the workflow's input_schema if it has one. Missing: the input of the execution."`
		Version string            `json:"version,omitempty" doc:"What it runs: published (what a start would run now), same (the revision of the execution, which is the default), or a version, whose newest revision it runs."`
		From    string            `json:"from,omitempty" format:"json-pointer" doc:"Reference of a task of the definition's own list that the execution has begun, such as /do/1/pay: the retry begins there, with the data that the task began with last. Not together with input. Missing: it begins with the first task."`
		Labels  map[string]string `json:"labels,omitempty" nullable:"false" doc:"Labels in place of those of the execution."`
	}
	cancelBody struct {
		Reason string `json:"reason,omitempty" doc:"Shown in the error of what was cancelled."`
	}
	nothing struct{}
)

const aboutList = "Newest first, without outputs. A page looks at 6,000 executions at most; it may then have fewer items than limit, and a cursor."

func executionEndpoints() []endpoint {
	const list, one = "/workflows/{workflowId}/executions", "/workflows/{workflowId}/executions/{executionId}"
	filters := slices.Concat(executionFilters, []*parameter{limitParameter, cursorParameter}, orderFilters)
	created := []string{"Location", "ETag", "Idempotency-Replayed", "Preference-Applied"}
	return []endpoint{
		{
			method: post, path: list, id: "createExecution", tag: "Executions", lenient: true,
			summary: "Create execution", about: "The execution is durable before the answer.",
			scopes: service.ScopeExecutionsCreate, body: jsonBody(createExecutionBody{}, false),
			parameters: []*parameter{versionParameter, waitParameter, preferParameter, idempotencyParameter},
			answers:    []answer{{status: 201, about: "Execution created", view: CreatedExecution{}, headers: created}},
			problems:   []chargehand.Code{chargehand.CodeInputInvalid, chargehand.CodeVersionNotFound, chargehand.CodeQueueFull, chargehand.CodeQuotaExceeded, chargehand.CodeStorageReserve},
			unaudited:  unauditedStart,
			serve:      (*call).createExecution,
		},
		{
			method: get, path: list, id: "listWorkflowExecutions", tag: "Executions",
			summary: "List the executions of a workflow", about: aboutList,
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, parameters: filters,
			answers: []answer{{status: 200, about: "List of executions", view: executionPage{}}},
			serve:   (*call).listExecutions,
		},
		{
			method: get, path: "/executions", id: "listExecutions", tag: "Executions",
			summary: "List executions of all workflows", about: aboutList,
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, parameters: slices.Concat(filters, workflowFilters),
			answers: []answer{{status: 200, about: "List of executions", view: executionPage{}}},
			serve:   (*call).listExecutions,
		},
		{
			method: get, path: one, id: "getExecution", tag: "Executions", lenient: true,
			summary: "Get execution", about: "With wait, as soon as it has ended or needs a person.",
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn,
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
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn,
			parameters: []*parameter{waitParameter, preferParameter, ifNoneMatchParameter},
			answers: []answer{
				{status: 200, about: "Execution details", view: Execution{}, headers: []string{"ETag", "Retry-After", "Preference-Applied"}},
				{status: 304, about: "Nothing has changed since the answer with this ETag", headers: []string{"ETag"}},
			},
			serve: anywhere((*call).getExecution),
		},
		logEndpoint("/executions/{executionId}", "getLogById", "Get the log of an execution, whatever its workflow", anywhere((*call).getLog)),
		logEndpoint(one, "getLog", "Get the log of an execution", (*call).getLog),
		archiveEndpoint(one, "getArchive", "Get an execution with all that is kept of it", (*call).getArchive),
		archiveEndpoint("/executions/{executionId}", "getArchiveById", "Get an execution with all that is kept of it, whatever its workflow", anywhere((*call).getArchive)),
		{
			method: post, path: one + "/cancel", id: "cancelExecution", tag: "Executions",
			summary: "Cancel an execution", about: "The execution has ended when this answers.",
			scopes: service.ScopeExecutionsManage, body: jsonBody(cancelBody{}, false), parameters: []*parameter{idempotencyParameter},
			answers:  []answer{{status: 202, about: "Cancelled", view: Execution{}, headers: []string{"ETag", "Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeStateConflict},
			change:   "execution cancelled",
			audits:   []audit.Action{audit.ExecutionCancelled},
			serve:    changeExecution(Service.CancelExecution),
		},
		{
			method: post, path: one + "/suspend", id: "suspendExecution", tag: "Executions",
			summary: "Suspend an execution",
			about: "It starts nothing until it is resumed. Tasks that run are left to end, then its slot is free; what it has started as executions of their own continues. " +
				"Timers, events and outcomes of the time between take effect when it is resumed. A queued execution keeps its place and its status.",
			scopes: service.ScopeExecutionsManage, body: jsonBody(nothing{}, false), parameters: []*parameter{idempotencyParameter},
			answers:  []answer{{status: 202, about: "Suspended", view: Execution{}, headers: []string{"ETag", "Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeStateConflict},
			change:   "execution suspended",
			audits:   []audit.Action{audit.ExecutionSuspended},
			serve:    changeExecution(Service.SuspendExecution),
		},
		{
			method: post, path: one + "/resume", id: "resumeExecution", tag: "Executions",
			summary: "Resume an execution", about: "What has happened while it was suspended takes effect now, deadlines too.",
			scopes: service.ScopeExecutionsManage, body: jsonBody(nothing{}, false), parameters: []*parameter{idempotencyParameter},
			answers:  []answer{{status: 202, about: "Resumed", view: Execution{}, headers: []string{"ETag", "Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeStateConflict},
			change:   "execution resumed",
			audits:   []audit.Action{audit.ExecutionResumed},
			serve:    changeExecution(Service.ResumeExecution),
		},
		{
			method: remove, path: one, id: "deleteExecution", tag: "Executions",
			summary: "Delete an execution",
			about: "One that has ended, with its input, output, timeline and files; files that another execution uses stay. " +
				"Items go with their batch. Executions that it has started stay, and can be deleted after it.",
			scopes:   service.ScopeExecutionsManage,
			answers:  []answer{{status: 204, about: "Deleted"}},
			problems: []chargehand.Code{chargehand.CodeStateConflict},
			change:   "execution deleted",
			audits:   []audit.Action{audit.ExecutionDeleted},
			serve:    (*call).deleteExecution,
		},
		{
			method: post, path: one + "/retry", id: "retryExecution", tag: "Executions",
			summary: "Run an execution again", about: "Makes a new execution with the same input and the same revision of the definition, unless the body says otherwise. newer_version and newer_revision say if a newer one would run now.",
			scopes: service.ScopeExecutionsManage, body: jsonBody(retryBody{}, false),
			parameters: []*parameter{waitParameter, preferParameter, idempotencyParameter},
			answers:    []answer{{status: 201, about: "Execution created", view: retriedExecution{}, headers: created}},
			problems: []chargehand.Code{
				chargehand.CodeStateConflict, chargehand.CodeVersionNotFound, chargehand.CodeInputInvalid, chargehand.CodeTaskNotRetryable,
				chargehand.CodeQueueFull, chargehand.CodeQuotaExceeded, chargehand.CodeStorageReserve,
			},
			audits: []audit.Action{audit.ExecutionRetried},
			change: "execution retried",
			serve:  (*call).retryExecution,
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
	return c.created(e, replayed)
}

func (c *call) retryExecution() error {
	ctx, done := c.waiting()
	defer done()
	e, replayed, err := c.server.service.RetryExecution(ctx, c.principal, service.RetryExecution{
		Workflow: c.workflow, Execution: c.execution, Body: c.value, Idempotency: c.idempotency(), View: c.asked(),
	})
	if err != nil {
		return err
	}
	return c.created(e, replayed)
}

// created answers with a new execution.
func (c *call) created(e *service.Execution, replayed bool) error {
	c.replayed(replayed)
	c.location("/workflows/" + e.Workflow.String() + "/executions/" + e.ID.String())
	c.w.Header()["Etag"] = []string{`"` + e.ETag + `"`}
	v := retriedExecution{CreatedExecution: CreatedExecution{ExecutionID: e.ID, Execution: viewExecution(e)}}
	if e.Newer != nil {
		v.NewerVersion, v.NewerRevision = e.Newer.Version, e.Newer.Revision
	}
	return c.view(http.StatusCreated, v)
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
	return c.view(http.StatusOK, viewExecution(e))
}

// changeExecution serves a request that changes an execution and is answered with it.
func changeExecution(
	change func(Service, context.Context, *service.Principal, service.ChangeExecution) (*service.Execution, bool, error),
) func(*call) error {
	return func(c *call) error {
		e, replayed, err := change(c.server.service, c.r.Context(), c.principal, service.ChangeExecution{
			Workflow: c.workflow, Execution: c.execution, Body: c.value, Idempotency: c.idempotency(), View: c.asked(),
		})
		if err != nil {
			return err
		}
		c.replayed(replayed)
		c.w.Header()["Etag"] = []string{`"` + e.ETag + `"`}
		return c.view(http.StatusAccepted, viewExecution(e))
	}
}

func (c *call) deleteExecution() error {
	if err := c.server.service.DeleteExecution(c.r.Context(), c.principal, c.workflow, c.execution); err != nil {
		return err
	}
	c.empty(http.StatusNoContent)
	return nil
}

func (c *call) listExecutions() error {
	q := c.listedExecutions()
	q.Limit, q.After, q.View = c.args.limit, c.args.after, c.asked()
	q.Inputs, q.Summary = c.args.inputs, c.args.summary
	page, err := c.server.service.ListExecutions(c.r.Context(), c.principal, q)
	if err != nil {
		return err
	}
	v := executionPage{Data: make([]Execution, len(page.Data)), Cursor: cursorText(page.Cursor)}
	for i, e := range page.Data {
		v.Data[i] = viewExecution(e)
	}
	return c.view(http.StatusOK, v)
}

// listedExecutions says which executions are asked for.
func (c *call) listedExecutions() service.ListExecutions {
	return service.ListExecutions{
		Workflow: c.workflow, Statuses: c.args.statuses, Phases: c.args.phases, Batch: c.args.batch,
		CreatedAfter: c.args.createdAfter, CreatedBefore: c.args.createdBefore, Filter: c.args.filter,
	}
}

// asked says how the answer is to be shown.
func (c *call) asked() service.View {
	return service.View{BaseURL: c.base(), Wait: c.args.wait}
}

// waiting is the context of a call that may wait. It ends early when the server stops, or the
// key or session ends; the service answers what it has then.
func (c *call) waiting() (context.Context, func()) {
	if c.args.wait <= 0 {
		return c.r.Context(), func() {}
	}
	c.w.Header()["Preference-Applied"] = []string{"wait=" + strconv.Itoa(int(c.args.wait.Seconds()))}
	held, letGo := c.server.service.Hold(c.r.Context(), c.principal)
	ctx, cancel := context.WithCancel(held)
	release := context.AfterFunc(c.server.stopping, cancel)
	return ctx, func() { release(); cancel(); letGo() }
}
