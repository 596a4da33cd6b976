package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
	"github.com/danielgtaylor/huma/v2"
)

// The body and the answers.
type (
	operationBody struct {
		Action  string           `json:"action" enum:"cancel,retry,suspend,resume,delete" doc:"What is done to each execution, as the route of that name does it to one."`
		Filter  *operationFilter `json:"filter,omitempty" doc:"Which executions are meant, as the list of executions takes it; {} stands for all. Of these, the operation takes those to which the action can be done. A retry without status and phase is for those that have failed, and not for cancelled ones. Not together with ids."`
		IDs     []string         `json:"ids,omitempty" nullable:"false" minItems:"1" maxItems:"1000" doc:"The executions, by their ids. Not together with filter."`
		Reason  string           `json:"reason,omitempty" doc:"Of cancellations: shown in the error of what was cancelled."`
		Version string           `json:"version,omitempty" enum:"published,same" doc:"Of retries: published (what a start would run now), or same (the revision of each execution, which is the default)."`
		DryRun  bool             `json:"dry_run,omitempty" doc:"Only count what the operation would act on now, and answer 200."`
	}
	// operationFilter has the filters of a list of executions, by their names.
	operationFilter struct {
		Statuses      []string `json:"status,omitempty" nullable:"false" doc:"Executions with one of these statuses."`
		Phases        []string `json:"phase,omitempty" nullable:"false" doc:"Executions in one of these phases."`
		Batch         string   `json:"batch_id,omitempty" format:"uuid" doc:"Executions of this batch."`
		CreatedAfter  string   `json:"created_after,omitempty" format:"date-time" doc:"What was created after this time."`
		CreatedBefore string   `json:"created_before,omitempty" format:"date-time" doc:"What was created before this time. What was created after the operation is never meant."`
		Versions      []string `json:"version,omitempty" nullable:"false" doc:"Executions of one of these versions of their workflow."`
		ErrorCodes    []string `json:"error_code,omitempty" nullable:"false" doc:"Executions that failed with one of these codes."`
		Causes        []string `json:"cause,omitempty" nullable:"false" doc:"Executions that were started by one of these: api, batch, schedule, event, parent, retry."`
		Waits         []string `json:"waiting_for,omitempty" nullable:"false" doc:"Executions that wait for one of these: person, child, event, retry, timer, slot."`
		Labels        []string `json:"label,omitempty" nullable:"false" doc:"Executions that have all of these labels, each name:value."`
		Root          string   `json:"root_id,omitempty" format:"uuid" doc:"Executions that this one has started, directly or through others."`
		RetryOf       string   `json:"retry_of,omitempty" format:"uuid" doc:"Executions that repeat this one."`
		Failure       string   `json:"failure,omitempty" doc:"Executions that have failed like this: the failure of a group of /executions/failures."`
		MinDurationMs int64    `json:"min_duration_ms,omitempty" minimum:"0" doc:"Executions that took this long, or run for this long by now."`
		Search        string   `json:"q,omitempty" doc:"Executions with this id, its beginning or its end, this id of an item, or a label with this value."`
		Workflows     []string `json:"workflow_id,omitempty" nullable:"false" doc:"Executions of one of these workflows."`
		WorkflowNames []string `json:"workflow,omitempty" nullable:"false" doc:"Executions of one of these workflows, namespace/name."`
	}
	operation struct {
		ID          chargehand.OperationID `json:"id" format:"uuid"`
		Action      string                 `json:"action" enum:"cancel,retry,suspend,resume,delete" doc:"What it does to each execution."`
		Status      string                 `json:"status" enum:"selecting,running,completed,cancelled,stopped" doc:"selecting: it looks for the executions that its filter selects; running: it acts on them; completed: it has acted on all; cancelled: a request has ended it; stopped: the server has, and error says why. The last three are final."`
		Environment string                 `json:"environment" enum:"live,test" doc:"The environment of its executions."`
		StartedBy   *startedBy             `json:"started_by,omitempty" doc:"The user or key that has started it. It acts on what this one sees and manages when the turn of each execution comes."`
		Filter      *operationFilter       `json:"filter,omitempty" doc:"Which executions are meant; left out: they were named."`
		Version     string                 `json:"version,omitempty" enum:"published" doc:"What retries run; left out: the revision of each execution."`
		Reason      string                 `json:"reason,omitempty" doc:"The reason of cancellations."`
		Total       int64                  `json:"total" minimum:"0" doc:"Executions that are selected; while it is selecting, so far."`
		Pending     int64                  `json:"pending" minimum:"0" doc:"Those on which it has not acted. When it has ended, it never will."`
		Succeeded   int64                  `json:"succeeded" minimum:"0" doc:"Those to which the action was done."`
		Skipped     int64                  `json:"skipped" minimum:"0" doc:"Those to which it could not be done any more, such as a cancellation of what has ended meanwhile."`
		Failed      int64                  `json:"failed" minimum:"0" doc:"Those to which it could not be done for another reason, such as a retry of a workflow that is deleted."`
		Error       *operationError        `json:"error,omitempty" doc:"Why the server has stopped it."`
		Failures    []operationItem        `json:"failures,omitempty" nullable:"false" doc:"The first ten that have failed; left out in lists."`
		CreatedAt   moment                 `json:"created_at"`
		FinishedAt  moment                 `json:"finished_at,omitempty"`
	}
	operationError struct {
		Code   string `json:"code" doc:"Stable code, as in problems."`
		Detail string `json:"detail" doc:"The reason in words."`
	}
	operationPage struct {
		Data   []operation `json:"data" nullable:"false"`
		Cursor *string     `json:"cursor"`
	}
	operationItem struct {
		Execution chargehand.ExecutionID  `json:"execution_id" format:"uuid" doc:"The execution; it need not exist."`
		Outcome   string                  `json:"outcome" enum:"pending,succeeded,skipped,failed" doc:"pending: nothing was done yet; for the others see the counts of the operation."`
		Retry     *chargehand.ExecutionID `json:"retry_id,omitempty" format:"uuid" doc:"The new execution; of retries alone."`
		Error     *operationError         `json:"error,omitempty" doc:"Why it was skipped, or has failed."`
	}
	operationItemPage struct {
		Data   []operationItem `json:"data" nullable:"false"`
		Cursor *string         `json:"cursor"`
	}
	operationPreview struct {
		DryRun        bool   `json:"dry_run" doc:"true: nothing was done."`
		Action        string `json:"action" enum:"cancel,retry,suspend,resume,delete" doc:"What would be done to each execution."`
		Count         int64  `json:"count" minimum:"0" doc:"On how many executions the operation would act now."`
		AtLeast       bool   `json:"at_least" doc:"There are more, or may be: counting has ended at limit, or at examined_until. With more than limit, the operation would stop before it does anything."`
		Limit         int64  `json:"limit" minimum:"1" doc:"On how many executions one operation can act."`
		ExaminedUntil moment `json:"examined_until,omitempty" doc:"Executions that were created before this time were not looked at; left out: all were."`
	}
)

var outcomeParameter = &parameter{
	name: "outcome", in: "query", many: true, about: "Only executions with this outcome. Repeat it for several.", example: "failed",
	schema: huma.Schema{Type: "string", Enum: words(service.OperationOutcomes())},
	read: func(c *call, value string) (complaint string) {
		if !slices.Contains(service.OperationOutcomes(), value) {
			return "must be one of " + strings.Join(service.OperationOutcomes(), ", ") + "."
		}
		c.args.outcomes = append(c.args.outcomes, value)
		return ""
	},
}

func words(list []string) (all []any) {
	for _, word := range list {
		all = append(all, word)
	}
	return all
}

func operationEndpoints() []endpoint {
	const collection, one = "/operations", "/operations/{operationId}"
	return []endpoint{
		{
			method: post, path: collection, id: "startOperation", tag: "Operations",
			summary: "Act on many executions",
			about: "The operation is durable before the answer, and is carried out beside requests, also over a restart of the server. " +
				"It acts on executions that were created before it, at most " + strconv.Itoa(service.MaxOperationExecutions) + ", on each of them once. " +
				"It does what its starter may see and manage at that time: when a right was taken away, the rest is refused. " +
				"Retries wait for places in the queue of their workflow.",
			scopes: service.ScopeExecutionsManage, body: jsonBody(operationBody{}, true), parameters: []*parameter{idempotencyParameter}, slow: true,
			answers: []answer{
				{status: 200, about: "With dry_run: what the operation would act on", view: operationPreview{}},
				{status: 202, about: "The operation was accepted", view: operation{}, headers: []string{"Location", "Retry-After", "Idempotency-Replayed"}},
			},
			problems: []chargehand.Code{chargehand.CodeQuotaExceeded},
			change:   "operation started",
			audits:   []audit.Action{audit.OperationStarted},
			serve:    (*call).startOperation,
		},
		{
			method: get, path: collection, id: "listOperations", tag: "Operations",
			summary: "List operations",
			about: "Newest first. A user or key that sees all of the environment sees the operations of all; others see their own. " +
				"The newest " + strconv.Itoa(service.MaxKeptOperations) + " of an environment are kept, for 30 days after their end.",
			scopes: service.ScopeExecutionsManage, parameters: []*parameter{limitParameter, cursorParameter},
			answers: []answer{{status: 200, about: "List of operations", view: operationPage{}}},
			serve:   (*call).listOperations,
		},
		{
			method: get, path: one, id: "getOperation", tag: "Operations",
			summary: "Get an operation", about: "With its counts and its first failures.",
			scopes:  service.ScopeExecutionsManage,
			answers: []answer{{status: 200, about: "The operation", view: operation{}, headers: []string{"Retry-After"}}},
			serve:   (*call).getOperation,
		},
		{
			method: get, path: one + "/items", id: "listOperationItems", tag: "Operations",
			summary: "List the executions of an operation", about: "What became of each of them, the oldest first.",
			scopes: service.ScopeExecutionsManage, parameters: []*parameter{outcomeParameter, limitParameter, cursorParameter},
			answers: []answer{{status: 200, about: "List of executions", view: operationItemPage{}}},
			serve:   (*call).listOperationItems,
		},
		{
			method: post, path: one + "/cancel", id: "cancelOperation", tag: "Operations",
			summary: "End an operation", about: "When this answers, it acts on no more executions. What it has done stays done.",
			scopes: service.ScopeExecutionsManage, body: jsonBody(nothing{}, false), parameters: []*parameter{idempotencyParameter},
			answers:  []answer{{status: 202, about: "Ended", view: operation{}, headers: []string{"Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeStateConflict},
			change:   "operation cancelled",
			audits:   []audit.Action{audit.OperationCancelled},
			serve:    (*call).cancelOperation,
		},
	}
}

func (c *call) startOperation() error {
	filter, err := c.bodyFilter()
	if err != nil {
		return err
	}
	r := service.StartOperation{Body: c.value, Filter: filter, Idempotency: c.idempotency()}
	if service.PreviewsOperation(c.value) {
		c.unchanged = true
		preview, err := c.server.service.PreviewOperation(c.r.Context(), c.principal, r)
		if err != nil {
			return err
		}
		return c.view(http.StatusOK, operationPreview{
			DryRun: true, Action: preview.Action, Count: preview.Count, AtLeast: preview.AtLeast, ExaminedUntil: at(preview.ExaminedUntil),
			Limit: service.MaxOperationExecutions,
		})
	}
	o, replayed, err := c.server.service.StartOperation(c.r.Context(), c.principal, r)
	if err != nil {
		return err
	}
	c.replayed(replayed)
	c.location("/operations/" + o.ID.String())
	return c.sendOperation(http.StatusAccepted, o)
}

// bodyFilter reads the field `filter` of a body with the filters that a list of executions has; nil: there is none.
func (c *call) bodyFilter() (*service.ListExecutions, error) {
	if given, err := c.readBodyFilter(slices.Concat(executionFilters, workflowFilters)); !given || err != nil {
		return nil, err
	}
	q := c.listedExecutions()
	return &q, nil
}

// readBodyFilter reads the field `filter` of a body, an object with some of these filters, into the arguments.
func (c *call) readBodyFilter(known []*parameter) (given bool, err error) {
	body, _ := c.value.(map[string]any)
	filter, ok := body["filter"]
	if !ok {
		return false, nil
	}
	object, ok := filter.(map[string]any)
	if !ok {
		return false, badBody(chargehand.CodeInvalidBody, "/filter", `The field "filter" must be an object, not `+value.KindOf(filter)+".")
	}
	var wrong []chargehand.FieldError
	for _, p := range known {
		if v, given := object[p.name]; given {
			wrong = append(wrong, c.readFilter(p, v)...)
		}
	}
	wrong = append(wrong, unknownFilters(object, known)...)
	if len(wrong) > 0 {
		code := chargehand.CodeInvalidBody
		if wrong[0].Code == string(chargehand.CodeUnknownField) {
			code = chargehand.CodeUnknownField
		}
		return false, &chargehand.Error{Code: code, Detail: wrong[0].Detail, Fields: wrong[:min(len(wrong), maxFields)]}
	}
	return true, nil
}

// readFilter reads one filter of a body: a text or number, or an array of them where a query may repeat it.
func (c *call) readFilter(p *parameter, v value.Value) (wrong []chargehand.FieldError) {
	fail := func(at, complaint string) {
		wrong = append(wrong, chargehand.FieldError{
			Pointer: "/filter/" + p.name + at, Code: string(chargehand.CodeInvalidParameter), Detail: p.name + " " + complaint,
		})
	}
	one := func(at string, v value.Value) {
		text, ok := filterText(p, v)
		if !ok {
			fail(at, "must be "+filterForm(p)+", not "+value.KindOf(v)+".")
			return
		}
		complaint := textComplaint(text)
		if complaint == "" {
			complaint = p.read(c, text)
		}
		if complaint != "" {
			fail(at, complaint)
		}
	}
	list, isList := v.([]any)
	switch {
	case !isList || !p.many:
		one("", v)
	case len(list) == 0:
		fail("", "must not be an empty array; leave it out.")
	case len(list) > maxValues:
		fail("", "may have "+strconv.Itoa(maxValues)+" values at most.")
	default:
		for i, v := range list {
			one("/"+strconv.Itoa(i), v)
		}
	}
	return wrong
}

// filterText is the value of a filter as a query has it.
func filterText(p *parameter, v value.Value) (text string, ok bool) {
	switch p.schema.Type {
	case "integer":
		switch v.(type) {
		case int, float64:
			return string(value.Marshal(v)), true
		}
		return "", false
	case "boolean":
		on, ok := v.(bool)
		return strconv.FormatBool(on), ok
	}
	text, ok = v.(string)
	return text, ok
}

func filterForm(p *parameter) string {
	switch {
	case p.schema.Type == "integer":
		return "a number"
	case p.schema.Type == "boolean":
		return "true or false"
	case p.many:
		return "a string or an array of strings"
	}
	return "a string"
}

// unknownFilters lists fields of a filter that are none.
func unknownFilters(object map[string]any, known []*parameter) (wrong []chargehand.FieldError) {
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.name
	}
	for name := range object {
		if slices.Contains(names, name) {
			continue
		}
		detail := "There is no filter " + quote(name) + "."
		if meant := service.Suggest(name, names); meant != "" {
			detail += " Did you mean " + meant + "?"
		} else {
			detail += " There are " + strings.Join(names, ", ") + "."
		}
		wrong = append(wrong, chargehand.FieldError{Pointer: "/filter/" + jsonpointer.Escape(cut(name, maxNameShown)), Code: string(chargehand.CodeUnknownField), Detail: detail})
	}
	slices.SortFunc(wrong, func(a, b chargehand.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return wrong
}

func (c *call) listOperations() error {
	page, err := c.server.service.ListOperations(c.r.Context(), c.principal, c.args.limit, c.args.after)
	if err != nil {
		return err
	}
	v := operationPage{Data: make([]operation, len(page.Data)), Cursor: cursorText(page.Cursor)}
	for i, o := range page.Data {
		if v.Data[i], err = viewOperation(o); err != nil {
			return err
		}
	}
	return c.view(http.StatusOK, v)
}

func (c *call) getOperation() error {
	o, err := c.server.service.GetOperation(c.r.Context(), c.principal, c.operation)
	if err != nil {
		return err
	}
	return c.sendOperation(http.StatusOK, o)
}

func (c *call) listOperationItems() error {
	page, err := c.server.service.ListOperationItems(c.r.Context(), c.principal, service.ListOperationItems{
		Operation: c.operation, Outcomes: c.args.outcomes, Limit: c.args.limit, After: c.args.after,
	})
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, operationItemPage{Data: viewOperationItems(page.Data), Cursor: cursorText(page.Cursor)})
}

func (c *call) cancelOperation() error {
	o, replayed, err := c.server.service.CancelOperation(c.r.Context(), c.principal, service.CancelOperation{
		Operation: c.operation, Body: c.value, Idempotency: c.idempotency(),
	})
	if err != nil {
		return err
	}
	c.replayed(replayed)
	return c.sendOperation(http.StatusAccepted, o)
}

// sendOperation answers with an operation, and with a hint when to ask again while it has not ended.
func (c *call) sendOperation(status int, o *service.Operation) error {
	if o.EndedAt.IsZero() {
		c.w.Header()["Retry-After"] = retryLaterValue
	}
	v, err := viewOperation(o)
	if err != nil {
		return err
	}
	return c.view(status, v)
}

func viewOperation(o *service.Operation) (operation, error) {
	v := operation{
		ID: o.ID, Action: o.Action, Status: o.Status, Environment: o.Environment.String(), StartedBy: viewStartedBy(o.StartedBy),
		Version: o.Version, Reason: o.Reason, Total: o.Total, Pending: o.Pending, Succeeded: o.Succeeded, Skipped: o.Skipped, Failed: o.Failed,
		Error: viewOperationError(o.Code, o.Detail), CreatedAt: at(o.CreatedAt), FinishedAt: at(o.EndedAt),
	}
	if len(o.Failures) > 0 {
		v.Failures = viewOperationItems(o.Failures)
	}
	if o.Filter == nil {
		return v, nil
	}
	v.Filter = new(operationFilter)
	return v, json.Unmarshal(o.Filter, v.Filter)
}

func viewOperationError(code, detail string) *operationError {
	if code == "" {
		return nil
	}
	return &operationError{code, detail}
}

func viewOperationItems(list []service.OperationItem) []operationItem {
	all := make([]operationItem, len(list))
	for i := range list {
		one := &list[i]
		all[i] = operationItem{Execution: one.Execution, Outcome: one.Outcome, Error: viewOperationError(one.Code, one.Detail)}
		if !one.Started.IsZero() {
			all[i].Retry = &one.Started
		}
	}
	return all
}
