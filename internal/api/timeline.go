package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/graph"
	"github.com/chargehand/chargehand/internal/service"
)

type timelineEntry struct {
	Seq        int64                   `json:"seq"`
	Parent     int64                   `json:"parent_seq,omitempty" minimum:"1" doc:"seq of the task that this one is a part of: the task whose list holds it, that calls its function, or that its extension extends. Left out: none."`
	Name       string                  `json:"name"`
	Kind       string                  `json:"kind" enum:"call,do,emit,for,fork,listen,raise,run,set,switch,try,wait" doc:"Keyword of the task."`
	Reference  string                  `json:"reference" doc:"JSON pointer of the task in the definition."`
	Iteration  int                     `json:"iteration"`
	Iterations []int                   `json:"iterations" nullable:"false" doc:"Which pass of each loop around the task it is, from 0, the outermost loop first. Empty outside of loops."`
	Attempt    int                     `json:"attempt"`
	Phase      string                  `json:"phase" enum:"pending,running,waiting,cancelled,faulted,completed"`
	StartedAt  moment                  `json:"started_at"`
	FinishedAt moment                  `json:"finished_at,omitempty"`
	WaitingFor *taskWait               `json:"waiting_for,omitempty" doc:"What the task waits for; left out: for nothing."`
	Child      *chargehand.ExecutionID `json:"child_execution_id,omitempty" format:"uuid" doc:"The execution of another workflow that the task has started."`
	Input      json.RawMessage         `json:"input,omitempty"`
	Output     json.RawMessage         `json:"output,omitempty"`
	Error      *executionError         `json:"error,omitempty"`
	Files      []result                `json:"files,omitempty" nullable:"false"`
	LogBytes   int64                   `json:"log_bytes,omitempty" minimum:"1" doc:"Size of the text that the task has in the log of the execution; left out: none."`
	Document   string                  `json:"document_digest,omitempty" doc:"Digest, sha256:<hex>, of the OpenAPI or AsyncAPI document that the call used."`
}

type taskWait struct {
	Kind    string       `json:"kind" enum:"person,child,event,retry,timer" doc:"person: the answer to a human task; child: the end of an execution of another workflow; event: events; retry: the delay before the next attempt; timer: a wait."`
	Task    string       `json:"task_id,omitempty" doc:"The human task."`
	Until   moment       `json:"until,omitempty" doc:"When it is over; left out: it is not known."`
	Filter  *eventFilter `json:"filter,omitempty" doc:"Which events it waits for. Left out: any type."`
	Unknown []string     `json:"unknown_assignees,omitempty" nullable:"false" doc:"Users and groups to whom the human task is assigned, and that the account does not have now. Such a person answers by a link only, such a group not at all."`
}

type timelinePage struct {
	Data      []timelineEntry `json:"data" nullable:"false"`
	Cursor    *string         `json:"cursor" nullable:"true"`
	Truncated bool            `json:"truncated" doc:"Older entries were dropped."`
}

type taskProgress struct {
	Reference      string            `json:"reference" doc:"JSON pointer of the task in the definition."`
	Name           string            `json:"name"`
	Kind           string            `json:"kind" enum:"call,do,emit,for,fork,listen,raise,run,set,switch,try,wait" doc:"Keyword of the task."`
	Phase          string            `json:"phase" enum:"pending,running,waiting,cancelled,faulted,completed" doc:"running or waiting if one of its runs is; otherwise the phase of the newest run."`
	Counts         graph.PhaseCounts `json:"counts" doc:"Its runs by their phase."`
	Attempts       int               `json:"attempts" minimum:"1" doc:"The highest attempt."`
	FirstFailedSeq int64             `json:"first_failed_seq,omitempty" minimum:"1" doc:"seq of the first run that has failed; left out: none has."`
	LastSeq        int64             `json:"last_seq" minimum:"1" doc:"seq of the newest run."`
	MinDurationMs  *int64            `json:"min_duration_ms,omitempty" minimum:"0" doc:"The shortest run that has ended, in milliseconds; left out: none has."`
	MeanDurationMs *int64            `json:"mean_duration_ms,omitempty" minimum:"0" doc:"The mean of the runs that have ended."`
	MaxDurationMs  *int64            `json:"max_duration_ms,omitempty" minimum:"0" doc:"The longest run that has ended."`
}

type executionProgress struct {
	Data      []taskProgress `json:"data" nullable:"false" doc:"The tasks that have run, in the order of the definition."`
	Truncated bool           `json:"truncated" doc:"Runs are missing: the server itself had to fail the execution, and a long timeline is all that is left of it."`
}

// maxReferences bounds how many tasks a request may ask for.
const maxReferences = 100

var (
	referenceParameter = &parameter{
		name: "reference", in: "query", many: true, about: "Only runs of the task with this JSON pointer. Repeat it for several.",
		schema: huma.Schema{Type: "string", Format: "json-pointer"}, example: "/do/0/confirm",
		read: func(c *call, value string) (complaint string) {
			list := &c.args.timeline
			if len(list.References) == maxReferences {
				return "may be sent 100 times at most."
			}
			list.References = append(list.References, value)
			return pointerComplaint(value)
		},
	}
	underParameter = &parameter{
		name: "under", in: "query", about: "Only runs of the task with this JSON pointer and of what is in it: the tasks of its lists, of a function that it calls, and of its extensions.",
		schema: huma.Schema{Type: "string", Format: "json-pointer"}, example: "/do/0/confirm",
		read: func(c *call, value string) (complaint string) {
			c.args.timeline.Under = value
			return pointerComplaint(value)
		},
	}
	taskPhaseParameter = &parameter{
		name: "phase", in: "query", many: true, about: "Only runs in this phase. Repeat it for several.",
		schema: huma.Schema{Type: "string", Enum: taskPhases},
		read: func(c *call, value string) (complaint string) {
			phase, ok := chargehand.ParsePhase(value)
			if !ok || !slices.Contains(taskPhases, any(value)) {
				return "must be one of " + listed(taskPhases) + "."
			}
			c.args.timeline.Phases = append(c.args.timeline.Phases, phase)
			return ""
		},
	}
	afterSeqParameter = &parameter{
		name: "after_seq", in: "query", about: "Only runs with a higher seq.",
		schema: huma.Schema{Type: "integer", Minimum: number(0)}, example: 100,
		read: func(c *call, value string) (complaint string) {
			seq, err := strconv.ParseInt(value, 10, 64)
			if err != nil || seq < 0 {
				return "must be a whole number from 0."
			}
			c.args.timeline.AfterSeq = seq
			return ""
		},
	}
	timelineOrderParameter = &parameter{
		name: "order", in: "query", about: "asc: what started first comes first; desc: what started last.",
		schema: huma.Schema{Type: "string", Enum: []any{"asc", "desc"}, Default: "asc"}, example: "desc",
		read: func(c *call, value string) (complaint string) {
			if value != "asc" && value != "desc" {
				return "must be asc or desc."
			}
			c.args.timeline.Descending = value == "desc"
			return ""
		},
	}
	timelineParameters = []*parameter{
		referenceParameter, underParameter, taskPhaseParameter, afterSeqParameter, timelineOrderParameter, summaryOf("input and output"),
		limitParameter, seqCursorParameter,
	}
)

// pointerComplaint refuses what is no JSON pointer of a task.
func pointerComplaint(value string) string {
	rest := strings.NewReplacer("~0", "", "~1", "").Replace(value)
	if !strings.HasPrefix(value, "/") || strings.Contains(rest, "~") {
		return "must be a JSON pointer of a task, such as /do/0/confirm: a timeline names them in reference."
	}
	return ""
}

func timelineEndpoints() []endpoint {
	const one, anywhereOne = "/workflows/{workflowId}/executions/{executionId}", "/executions/{executionId}"
	const whatever = "The same as under its workflow."
	g := exampleExecutionGraph()
	list := []endpoint{
		{
			path: "/timeline", id: "getTimeline", summary: "Get the timeline of an execution",
			about:      "One entry per run of a task, in the order in which they started. A task is there from its start. The newest 10,000 are kept, and the tasks that hold them.",
			parameters: timelineParameters,
			answers:    []answer{{status: 200, about: "The timeline", view: timelinePage{}}},
			serve:      (*call).getTimeline,
		},
		{
			path: "/progress", id: "getProgress", summary: "Count the tasks of an execution",
			about:   "One row per task that has run, however often it has. Runs that the timeline does not hold any more are counted too.",
			answers: []answer{{status: 200, about: "The tasks", view: executionProgress{}}},
			serve:   (*call).getProgress,
		},
		{
			path: "/graph", id: "getExecutionGraph", summary: "Get the control flow of an execution",
			about:      "The graph of the revision that the execution runs, with the state of each task that has run, as getProgress counts it.",
			parameters: graphFormParameters,
			answers: []answer{{
				status: 200, about: "The graph", view: graph.Graph{}, headers: []string{"Vary"},
				texts: []text{{mermaidMedia, g.Mermaid()}, {dotMedia, g.DOT()}},
			}},
			serve: (*call).getExecutionGraph,
		},
	}
	endpoints := make([]endpoint, 0, 2*len(list))
	for _, e := range list {
		e.method, e.tag, e.scopes, e.instead = get, "Executions", service.ScopeExecutionsRead, service.ScopeExecutionsReadOwn
		under := e
		under.path = one + e.path
		e.path, e.id, e.about, e.serve = anywhereOne+e.path, e.id+"ById", whatever, anywhere(e.serve)
		e.summary += ", whatever its workflow"
		if under.id == "getTimeline" {
			e.about += " Lifecycle events name this address."
		}
		endpoints = append(endpoints, under, e)
	}
	return endpoints
}

func (c *call) getTimeline() error {
	list := c.args.timeline
	list.Workflow, list.Execution, list.Limit, list.After, list.View = c.workflow, c.execution, c.args.limit, c.args.seq, c.asked()
	list.Summary = c.args.summary
	page, err := c.server.service.Timeline(c.r.Context(), c.principal, list)
	if err != nil {
		return err
	}
	v := timelinePage{Data: make([]timelineEntry, len(page.Data)), Truncated: page.Truncated}
	if page.Next != 0 {
		text := strconv.FormatInt(page.Next, 10)
		v.Cursor = &text
	}
	for i := range page.Data {
		v.Data[i] = viewTimelineEntry(&page.Data[i])
	}
	return c.view(http.StatusOK, v)
}

func viewTimelineEntry(e *service.TimelineEntry) timelineEntry {
	v := timelineEntry{
		Seq: e.Seq, Parent: e.Parent, Name: e.Name, Kind: e.Kind, Reference: e.Reference,
		Attempt: e.Attempt, Phase: e.Phase.String(), StartedAt: at(e.StartedAt), FinishedAt: at(e.FinishedAt), Input: e.Input, Output: e.Output,
		Error: viewExecutionError(e.Error), Files: viewResults(e.Files), Document: e.Document,
	}
	v.Iteration, v.Iterations = viewIterations(e.Iterations)
	v.LogBytes = e.LogBytes
	if w := e.WaitingFor; w != nil {
		v.WaitingFor = &taskWait{Kind: w.Kind, Task: w.Task, Until: at(w.Until), Filter: filterOf(w.Types), Unknown: w.Unknown}
	}
	if e.Child != (chargehand.ExecutionID{}) {
		v.Child = &e.Child
	}
	return v
}

// viewIterations are the pass of the innermost loop around a task, 0 outside of loops, and that of each.
func viewIterations(all []int) (innermost int, each []int) {
	if len(all) == 0 {
		return 0, []int{}
	}
	return all[len(all)-1], all
}

func (c *call) getProgress() error {
	progress, err := c.server.service.Progress(c.r.Context(), c.principal, c.workflow, c.execution)
	if err != nil {
		return err
	}
	v := executionProgress{Data: make([]taskProgress, len(progress.Data)), Truncated: progress.Truncated}
	for i := range progress.Data {
		t := &progress.Data[i]
		v.Data[i] = taskProgress{
			Reference: t.Reference, Name: t.Name, Kind: t.Kind, Phase: t.Phase.String(), Counts: t.Counts, Attempts: t.Attempts,
			FirstFailedSeq: t.FirstFailedSeq, LastSeq: t.LastSeq,
		}
		if t.Ended > 0 {
			v.Data[i].MinDurationMs, v.Data[i].MeanDurationMs, v.Data[i].MaxDurationMs = &t.MinMs, &t.MeanMs, &t.MaxMs
		}
	}
	return c.view(http.StatusOK, v)
}

func (c *call) getExecutionGraph() error {
	g, err := c.server.service.ExecutionGraph(c.r.Context(), c.principal, c.workflow, c.execution)
	if err != nil {
		return err
	}
	return c.sendGraph(g)
}
