package api

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

// The answers.
type (
	executionCount struct {
		Count         int64  `json:"count" minimum:"0" doc:"How many executions there are; 10,000 at most."`
		AtLeast       bool   `json:"at_least" doc:"There may be more: counting has ended at 10,000, or at examined_until."`
		ExaminedUntil moment `json:"examined_until,omitempty" doc:"Executions that were created before this time were not looked at; left out: all were."`
	}
	failureGroup struct {
		Workflow  chargehand.WorkflowID  `json:"workflow_id" format:"uuid"`
		Code      string                 `json:"code" doc:"Code of the error."`
		Reference string                 `json:"reference,omitempty" doc:"The task that failed, as a JSON pointer into the definition; left out: no task did."`
		Detail    string                 `json:"detail,omitempty" doc:"What the details of the errors have in common: numbers, ids and quoted text are replaced."`
		Count     int64                  `json:"count" minimum:"1" doc:"How many executions have failed in this way."`
		First     moment                 `json:"first_at" doc:"When the first of them ended."`
		Last      moment                 `json:"last_at" doc:"When the last of them ended."`
		Sample    chargehand.ExecutionID `json:"sample_id" format:"uuid" doc:"The execution that was created last of them."`
		Failure   string                 `json:"failure" doc:"What they have in common. With the code and the workflow, this filter of lists finds them again."`
	}
	failureGroups struct {
		Data          []failureGroup `json:"data" nullable:"false" doc:"The groups, the largest first."`
		AtLeast       bool           `json:"at_least" doc:"There may be more: not all failures were looked at, or there are more groups than limit."`
		ExaminedUntil moment         `json:"examined_until,omitempty" doc:"Failures of executions that were created before this time were not looked at; left out: all were."`
	}
	overview struct {
		From      moment            `json:"from" doc:"Beginning of the first bucket."`
		To        moment            `json:"to" doc:"End of the last bucket."`
		Step      int64             `json:"step_seconds" minimum:"3600" doc:"Length of a bucket."`
		AsOf      moment            `json:"as_of,omitempty" doc:"All that had happened by then is counted in the buckets; left out: nothing was counted yet."`
		Buckets   []overviewBucket  `json:"buckets" nullable:"false" doc:"One for each step, in the order of time."`
		Total     OverviewTotal     `json:"total" doc:"All buckets together."`
		Workflows overviewWorkflows `json:"workflows" doc:"The same by workflow."`
		Now       overviewNow       `json:"now" doc:"Executions that have not ended."`
		Failures  failureGroups     `json:"failures" doc:"The ten largest groups of failures of executions that were created between from and to."`
	}
	// OverviewTotal is exported because the document leaves out the fields of embedded types that are not.
	OverviewTotal struct {
		Started   int64  `json:"started" doc:"Executions that were accepted in the time."`
		Finished  int64  `json:"finished" doc:"Executions that ended without an error in the time."`
		Failed    int64  `json:"error" doc:"Executions that ended in error in the time; cancelled ones are not among them."`
		Cancelled int64  `json:"cancelled" doc:"Executions that were cancelled in the time."`
		P50       *int64 `json:"duration_p50_ms,omitempty" doc:"Median time from start to end of those that finished or failed, at most a sixteenth above it; left out: there are none."`
		P95       *int64 `json:"duration_p95_ms,omitempty" doc:"The time that 95 of 100 of them took at most."`
	}
	overviewBucket struct {
		At moment `json:"at" doc:"Beginning of the bucket."`
		OverviewTotal
	}
	overviewWorkflows struct {
		ByFailures    []overviewWorkflow `json:"by_failures" nullable:"false" doc:"The ten workflows with the most failures, the one with the most first. Those without failures are left out."`
		ByP95         []overviewWorkflow `json:"by_p95" nullable:"false" doc:"The ten workflows with the highest duration_p95_ms, the highest first, of those that are compared."`
		Count         int                `json:"count" minimum:"0" doc:"How many workflows something was counted of."`
		Compared      int                `json:"compared" minimum:"0" doc:"Of how many of them by_p95 was chosen: the 50 of which most executions finished or failed."`
		AtLeast       bool               `json:"at_least" doc:"Too much was counted by workflow to add it all up: what came first is not in it."`
		ExaminedUntil moment             `json:"examined_until,omitempty" doc:"What was counted before this time is not in it, or not all of it; left out: all is."`
	}
	overviewWorkflow struct {
		Workflow chargehand.WorkflowID `json:"workflow_id" format:"uuid"`
		Name     string                `json:"workflow" doc:"Namespace and name."`
		OverviewTotal
	}
	overviewNow struct {
		Queued  int64            `json:"queued" doc:"Executions that wait for a slot."`
		Running int64            `json:"running" doc:"Executions that hold a slot."`
		Waiting int64            `json:"waiting" doc:"Executions that wait for a timer, an event, another execution or a person."`
		Human   int64            `json:"human" doc:"Those of waiting that wait for a person."`
		Delayed int64            `json:"delayed" doc:"Executions that do not start yet, because that was asked for."`
		AtLeast bool             `json:"at_least" doc:"There may be more: of each kind, 10,000 are counted at most."`
		Oldest  *oldestExecution `json:"oldest,omitempty" doc:"The execution that was created first of those that have not ended and are not delayed; left out: there is none."`
	}
	oldestExecution struct {
		ID        chargehand.ExecutionID `json:"id" format:"uuid"`
		Workflow  chargehand.WorkflowID  `json:"workflow_id" format:"uuid"`
		Status    string                 `json:"status"`
		Phase     string                 `json:"phase"`
		CreatedAt moment                 `json:"created_at"`
	}
)

var overviewParameters = []*parameter{
	{
		name: "from", in: "query", about: "Beginning of the time; without it, a day before to. It is rounded down to a full step.",
		schema: huma.Schema{Type: "string", Format: "date-time"}, example: "2026-01-31T00:00:00Z",
		read: func(c *call, value string) (complaint string) {
			c.args.overview.From, complaint = parseTime(value)
			return complaint
		},
	},
	{
		name: "to", in: "query", about: "End of the time; without it, now. It is rounded up to a full step. 400 days after from at most.",
		schema: huma.Schema{Type: "string", Format: "date-time"}, example: "2026-02-01T00:00:00Z",
		read: func(c *call, value string) (complaint string) {
			c.args.overview.To, complaint = parseTime(value)
			return complaint
		},
	},
	{
		name: "step", in: "query", about: "Length of a bucket, in hours or days: 1h, 6h, 1d. There are at most 1,000 buckets. Without it, an hour, or a day for more than a week.",
		schema: huma.Schema{Type: "string", Pattern: stepPattern}, example: "1h",
		read: func(c *call, value string) string {
			if !stepForm.MatchString(value) {
				return "must be hours or days, such as 1h, 6h or 1d."
			}
			n, _ := strconv.Atoi(value[:len(value)-1])
			c.args.overview.Step = time.Duration(n) * time.Hour
			if value[len(value)-1] == 'd' {
				c.args.overview.Step *= 24
			}
			return ""
		},
	},
	workflowParameter,
}

var workflowParameter = &parameter{
	name: "workflow_id", in: "query", about: "Only executions of this workflow.",
	schema: huma.Schema{Type: "string", Format: "uuid"}, example: exampleWorkflowID,
	read: func(c *call, value string) string {
		if setID(&c.workflow, value) != nil {
			return "must be the id of a workflow."
		}
		return ""
	},
}

const stepPattern = "^[1-9][0-9]{0,3}[hd]$"

var stepForm = regexp.MustCompile(stepPattern)

func countEndpoints() []endpoint {
	return []endpoint{
		{
			method: get, path: "/executions/count", id: "countExecutions", tag: "Executions",
			summary: "Count executions", about: "Those that a list with the same filters shows, up to 10,000. Where rows are looked at one by one, 6,000 are at most.",
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, parameters: slices.Concat(executionFilters, workflowFilters),
			answers: []answer{{status: 200, about: "The count", view: executionCount{}}},
			serve:   (*call).countExecutions,
		},
		{
			method: get, path: "/executions/failures", id: "listFailures", tag: "Executions",
			summary: "Group failures", about: "Executions that have failed in the same way: with the same code, in the same task of the same workflow, and with a detail that differs in numbers, ids and quoted text alone. Of the executions that a list with the same filters shows, the 10,000 newest failures are grouped; where rows are looked at one by one, 6,000 are at most. Cancelled executions are not among them. A filter that no failure can fit is refused: a status other than error, a phase other than faulted, and waiting_for.",
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, parameters: slices.Concat(executionFilters, workflowFilters, []*parameter{limitParameter}),
			answers: []answer{{status: 200, about: "The groups", view: failureGroups{}}},
			serve:   (*call).listFailures,
		},
		{
			method: get, path: "/overview", id: "getOverview", tag: "Executions",
			summary: "Tell what was done, and what is being done", about: "Executions by the hour or day, counted beside their path, some seconds later: as_of says until when. They stay counted when they are deleted. It also names the workflows that failed most, and those that took longest.",
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, parameters: overviewParameters,
			answers:  []answer{{status: 200, about: "The overview", view: overview{}}},
			problems: []chargehand.Code{chargehand.CodeWorkflowNotFound},
			serve:    (*call).getOverview,
		},
	}
}

func (c *call) countExecutions() error {
	n, err := c.server.service.CountExecutions(c.r.Context(), c.principal, c.listedExecutions())
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, executionCount{n.Count, n.AtLeast, at(n.ExaminedUntil)})
}

func (c *call) listFailures() error {
	q := c.listedExecutions()
	q.Limit = c.args.limit
	g, err := c.server.service.ListFailures(c.r.Context(), c.principal, q)
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, viewFailures(g))
}

func viewFailures(g *service.FailureGroups) failureGroups {
	v := failureGroups{Data: make([]failureGroup, len(g.Data)), AtLeast: g.AtLeast, ExaminedUntil: at(g.ExaminedUntil)}
	for i, one := range g.Data {
		v.Data[i] = failureGroup{
			Workflow: one.Workflow, Code: one.Code, Reference: one.Reference, Detail: one.Detail,
			Count: one.Count, First: at(one.First), Last: at(one.Last), Sample: one.Sample, Failure: one.Mark.String(),
		}
	}
	return v
}

func (c *call) getOverview() error {
	q := c.args.overview
	q.Workflow = c.workflow
	o, err := c.server.service.Overview(c.r.Context(), c.principal, q)
	if err != nil {
		return err
	}
	v := overview{
		From: at(o.From), To: at(o.To), Step: int64(o.Step / time.Second), AsOf: at(o.AsOf),
		Buckets: make([]overviewBucket, len(o.Buckets)), Total: viewOverviewBucket(o.Total),
		Workflows: overviewWorkflows{
			ByFailures: viewOverviewWorkflows(o.Workflows.ByFailures), ByP95: viewOverviewWorkflows(o.Workflows.ByP95), Count: o.Workflows.Count,
			Compared: o.Workflows.Compared, AtLeast: o.Workflows.AtLeast, ExaminedUntil: at(o.Workflows.ExaminedUntil),
		},
		Now:      overviewNow{Queued: o.Now.Queued, Running: o.Now.Running, Waiting: o.Now.Waiting, Human: o.Now.Human, Delayed: o.Now.Delayed, AtLeast: o.Now.AtLeast},
		Failures: viewFailures(o.Failures),
	}
	for i, b := range o.Buckets {
		v.Buckets[i] = overviewBucket{at(b.From), viewOverviewBucket(b)}
	}
	if e := o.Now.Oldest; e != nil {
		v.Now.Oldest = &oldestExecution{e.ID, e.Workflow, e.Status.String(), e.Phase.String(), at(e.CreatedAt)}
	}
	return c.view(http.StatusOK, v)
}

func viewOverviewWorkflows(list []service.OverviewWorkflow) []overviewWorkflow {
	v := make([]overviewWorkflow, len(list))
	for i, w := range list {
		v[i] = overviewWorkflow{w.ID, w.Name, viewOverviewBucket(w.OverviewBucket)}
	}
	return v
}

func viewOverviewBucket(b service.OverviewBucket) OverviewTotal {
	v := OverviewTotal{Started: b.Started, Finished: b.Finished, Failed: b.Failed, Cancelled: b.Cancelled}
	if b.Timed {
		p50, p95 := b.P50.Milliseconds(), b.P95.Milliseconds()
		v.P50, v.P95 = &p50, &p95
	}
	return v
}
