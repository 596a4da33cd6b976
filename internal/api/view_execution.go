package api

import (
	"encoding/json"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

// Execution is an execution as it is read; see Workflow.
type Execution struct {
	ID              chargehand.ExecutionID  `json:"id" format:"uuid"`
	Workflow        chargehand.WorkflowID   `json:"workflow_id" format:"uuid"`
	Status          string                  `json:"status" enum:"initial,processing,human_in_the_loop,finished,error"`
	CreatedAt       moment                  `json:"created_at"`
	Results         []result                `json:"results" nullable:"true" doc:"Output files of the last step; null while the execution is not finished, and in lists with fields=summary."`
	Phase           string                  `json:"phase" enum:"pending,running,waiting,suspended,cancelled,faulted,completed"`
	WorkflowVersion string                  `json:"workflow_version"`
	Revision        int64                   `json:"revision" doc:"Revision of workflow_version, counted from 1."`
	Environment     string                  `json:"environment" enum:"live,test"`
	Batch           *chargehand.BatchID     `json:"batch_id,omitempty" format:"uuid"`
	RetryOf         *chargehand.ExecutionID `json:"retry_of,omitempty" format:"uuid"`
	WorkflowName    string                  `json:"workflow" doc:"namespace/name of the workflow."`
	Title           string                  `json:"title,omitempty" doc:"Title of the definition, if it has one."`
	ItemID          string                  `json:"item_id,omitempty" doc:"Id of the item in the batch, if it has one."`
	Labels          map[string]string       `json:"labels,omitempty" nullable:"false" doc:"Its own labels and those of its batch. They are not encrypted."`
	Cause           cause                   `json:"cause" doc:"What has started it."`
	Parent          *chargehand.ExecutionID `json:"parent_id,omitempty" format:"uuid" doc:"The execution that has started it, if one has."`
	Root            *chargehand.ExecutionID `json:"root_id,omitempty" format:"uuid" doc:"The execution at the top of its tree, if another execution has started it."`
	RetainedUntil   moment                  `json:"retained_until,omitempty" doc:"When it may be deleted at the earliest; left out until it, or its batch, has ended."`
	WaitingFor      *waitingFor             `json:"waiting_for,omitempty" doc:"What it waits for: the most blocking one of all. Left out while a task runs and after the end."`
	HumanTasks      []openTask              `json:"human_tasks,omitempty" nullable:"false" maxItems:"10" doc:"Its human tasks that have not ended: the newest 10, the oldest of these first. Left out: there are none."`
	Attempting      *attempting             `json:"attempting,omitempty" doc:"The next attempt of a task, if it is delayed by 5 seconds or more."`
	StartedBy       *startedBy              `json:"started_by,omitempty" doc:"Whose request has started it; left out: a schedule, an event or another execution has."`
	StartedAt       moment                  `json:"started_at,omitempty"`
	FinishedAt      moment                  `json:"finished_at,omitempty"`
	Input           json.RawMessage         `json:"input,omitempty" doc:"Left out in the answer to a start, and in lists without include=input."`
	Output          json.RawMessage         `json:"output,omitempty"`
	Error           *executionError         `json:"error,omitempty"`
}

type cause struct {
	Kind string `json:"kind" enum:"api,batch,schedule,event,parent,retry" doc:"A request, a batch, a schedule, an event, another execution, or a retry."`
	ID   string `json:"id,omitempty" doc:"Of the batch, the event, or the execution that started it or that it repeats."`
}

type waitingFor struct {
	Kind   string       `json:"kind" enum:"person,child,event,retry,timer,slot" doc:"A person, an execution that it has started, an event, the next attempt, a time, or a free slot."`
	Until  moment       `json:"until,omitempty" doc:"When it continues, if that is known."`
	Task   string       `json:"task_id,omitempty" doc:"The human task."`
	Title  string       `json:"title,omitempty" doc:"Title of the human task."`
	Filter *eventFilter `json:"filter,omitempty" doc:"Which events it waits for. Left out where the workflow uses secrets."`
}

type openTask struct {
	ID         chargehand.HumanTaskID `json:"id" format:"uuid"`
	Title      string                 `json:"title"`
	Reference  string                 `json:"reference" doc:"JSON pointer of the task in the definition."`
	Iterations []int                  `json:"iterations" nullable:"false" doc:"The index in each loop around the task, the outermost first."`
	DueAt      moment                 `json:"due_at,omitempty"`
}

type eventFilter struct {
	Types []string `json:"types" nullable:"false" maxItems:"10" doc:"Types of the events, at most 10. Of a task each has at most 255 bytes and an ellipsis."`
}

type attempting struct {
	Reference string `json:"reference" doc:"JSON pointer of the task in the definition."`
	Attempt   int    `json:"attempt" doc:"Number of the attempt, from 1."`
	Of        int    `json:"of,omitempty" doc:"How many attempts there are at most; left out: as many as it takes."`
	NextAt    moment `json:"next_at" doc:"When it begins."`
}

// CreatedExecution is an execution as it is created; see Workflow.
type CreatedExecution struct {
	ExecutionID chargehand.ExecutionID `json:"execution_id" format:"uuid"`
	Execution
}

type retriedExecution struct {
	CreatedExecution
	NewerVersion  string `json:"newer_version,omitempty" doc:"The version that a start would run now, if it is newer than what the retry runs."`
	NewerRevision int64  `json:"newer_revision,omitempty" doc:"The revision of newer_version."`
}

type executionError struct {
	Type      string `json:"type" format:"uri"`
	Status    int    `json:"status"`
	Title     string `json:"title,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Instance  string `json:"instance,omitempty" doc:"JSON pointer of the component of the definition at fault."`
	Code      string `json:"code"`
	Origin    string `json:"origin" enum:"workflow,system"`
	Retryable bool   `json:"retryable"`
	Line      int    `json:"line,omitempty" minimum:"1" doc:"Line of instance in the source of the definition. Left out in lists."`
	Column    int    `json:"column,omitempty" minimum:"1" doc:"Column of instance in the source of the definition, in characters. Left out in lists."`
}

type result struct {
	Filename    string `json:"filename" doc:"For display only."`
	URL         string `json:"url" format:"uri" doc:"Signed, valid until expires_at, made fresh on each read."`
	Size        int64  `json:"size" doc:"Bytes."`
	ContentType string `json:"content_type"`
	SHA256      string `json:"sha256,omitempty" pattern:"^[0-9a-f]{64}$"`
	ExpiresAt   moment `json:"expires_at"`
}

type batch struct {
	BatchID              chargehand.BatchID    `json:"batch_id" format:"uuid"`
	ID                   chargehand.BatchID    `json:"id" format:"uuid" doc:"The same as batch_id."`
	Workflow             chargehand.WorkflowID `json:"workflow_id" format:"uuid"`
	Status               string                `json:"status" enum:"pending,running,completed,failed"`
	Total                int                   `json:"total"`
	Completed            int                   `json:"completed" doc:"Executions that are finished."`
	Failed               int                   `json:"failed" doc:"Executions that ended in error."`
	Cancelled            int                   `json:"cancelled" doc:"Executions that were cancelled. They are counted in failed too."`
	Running              int                   `json:"running"`
	Waiting              int                   `json:"waiting"`
	Queued               int                   `json:"queued"`
	Labels               map[string]string     `json:"labels,omitempty" nullable:"false" doc:"Its items have them too. They are not encrypted."`
	Concurrency          int                   `json:"concurrency"`
	EffectiveConcurrency int                   `json:"effective_concurrency"`
	WorkflowVersion      string                `json:"workflow_version"`
	Revision             int64                 `json:"revision" doc:"Revision of workflow_version, counted from 1."`
	Phase                string                `json:"phase" enum:"pending,running,completed,failed,cancelled" doc:"As status; cancelled: it failed because it was cancelled."`
	ETAMs                int64                 `json:"eta_ms,omitempty" doc:"How many milliseconds it will run, if the items that are left take as long as those that have ended."`
	Environment          string                `json:"environment" enum:"live,test"`
	StartedBy            *startedBy            `json:"started_by,omitempty" doc:"Whose request has started it."`
	CreatedAt            moment                `json:"created_at"`
	StartedAt            moment                `json:"started_at,omitempty"`
	CompletedAt          moment                `json:"completed_at,omitempty"`
	Executions           []batchEntry          `json:"executions,omitempty" nullable:"false" doc:"One entry per execution, in input order. Left out with executions=none."`
	ExecutionsCursor     *string               `json:"executions_cursor,omitempty" nullable:"true" doc:"With executions=page: the cursor for the batch's items; null: there are no more."`
}

type batchEntry struct {
	Execution  chargehand.ExecutionID `json:"execution_id" format:"uuid"`
	Inputs     map[string]any         `json:"inputs"`
	Status     string                 `json:"status" enum:"initial,processing,human_in_the_loop,finished,error"`
	Phase      string                 `json:"phase" enum:"pending,running,waiting,suspended,cancelled,faulted,completed"`
	DurationMs *int64                 `json:"duration_ms,omitempty" minimum:"0" doc:"Finish minus start, in milliseconds."`
	Index      int                    `json:"index" minimum:"0"`
	ItemID     string                 `json:"item_id,omitempty"`
	Error      *executionError        `json:"error,omitempty"`
}

// batchItem is a batchEntry in a list of items, which may be a summary.
type batchItem struct {
	Execution  chargehand.ExecutionID `json:"execution_id" format:"uuid"`
	Inputs     map[string]any         `json:"inputs,omitempty" nullable:"false" doc:"The item: what the execution was started with. Left out with fields=summary."`
	Status     string                 `json:"status" enum:"initial,processing,human_in_the_loop,finished,error"`
	Phase      string                 `json:"phase" enum:"pending,running,waiting,suspended,cancelled,faulted,completed"`
	DurationMs *int64                 `json:"duration_ms,omitempty" minimum:"0" doc:"Finish minus start, in milliseconds."`
	Index      int                    `json:"index" minimum:"0"`
	ItemID     string                 `json:"item_id,omitempty"`
	Error      *executionError        `json:"error,omitempty"`
}

func viewExecution(e *service.Execution) Execution {
	v := Execution{
		ID: e.ID, Workflow: e.Workflow, Status: e.Status.String(), CreatedAt: at(e.CreatedAt), Results: viewResults(e.Results),
		Phase: e.Phase.String(), WorkflowVersion: e.WorkflowVersion, Revision: e.Revision, Environment: e.Environment.String(),
		StartedAt: at(e.StartedAt), FinishedAt: at(e.FinishedAt), Output: e.Output, Error: viewExecutionError(e.Error),
		StartedBy: viewStartedBy(e.StartedBy), WorkflowName: e.WorkflowName, Title: e.Title, ItemID: e.ItemID, Labels: viewLabels(e.Labels),
		Cause: cause{e.Cause.Kind, e.Cause.ID}, RetainedUntil: at(e.RetainedUntil), Input: e.Input,
	}
	if !e.Parent.IsZero() {
		v.Parent = &e.Parent
	}
	if !e.Root.IsZero() {
		v.Root = &e.Root
	}
	if w := e.WaitingFor; w != nil {
		v.WaitingFor = &waitingFor{Kind: w.Kind, Until: at(w.Until), Task: w.Task, Title: w.Title, Filter: filterOf(w.Types)}
	}
	for i := range e.HumanTasks {
		t := &e.HumanTasks[i]
		v.HumanTasks = append(v.HumanTasks, openTask{t.ID, t.Title, t.Reference, append([]int{}, t.Iterations...), at(t.DueAt)})
	}
	if a := e.Attempting; a != nil {
		v.Attempting = &attempting{a.Reference, a.Attempt, a.Of, at(a.NextAt)}
	}
	if !e.Batch.IsZero() {
		v.Batch = &e.Batch
	}
	if !e.RetryOf.IsZero() {
		v.RetryOf = &e.RetryOf
	}
	return v
}

// filterOf is nil where any type will do.
func filterOf(types []string) *eventFilter {
	if len(types) == 0 {
		return nil
	}
	return &eventFilter{types}
}

// viewLabels is nil where there are none.
func viewLabels(list []service.Label) map[string]string {
	if len(list) == 0 {
		return nil
	}
	labels := make(map[string]string, len(list))
	for _, l := range list {
		labels[l.Name] = l.Value
	}
	return labels
}

// viewStartedBy is nil where no request has started it.
func viewStartedBy(a service.Actor) *startedBy {
	if a.Kind == "" {
		return nil
	}
	return &startedBy{Kind: a.Kind, ID: a.ID, Name: a.Name}
}

// viewExecutionError is nil where e is.
func viewExecutionError(e *service.ExecutionError) *executionError {
	if e == nil {
		return nil
	}
	return &executionError{
		Type: e.Type, Status: e.Status, Title: e.Title, Detail: e.Detail, Instance: e.Instance, Code: e.Code, Origin: e.Origin,
		Retryable: e.Retryable, Line: e.Line, Column: e.Column,
	}
}

// viewResults is nil where results is: an execution that has not finished has null, not [].
func viewResults(results []service.Result) []result {
	if results == nil {
		return nil
	}
	v := make([]result, len(results))
	for i, r := range results {
		v[i] = result{
			Filename: r.Filename, URL: r.URL, Size: r.Size, ContentType: r.ContentType, SHA256: r.SHA256, ExpiresAt: at(r.ExpiresAt),
		}
	}
	return v
}

// listed writes the words of an enumeration for a sentence.
func listed(words []any) string {
	text := fmt.Sprint(words[0])
	for _, word := range words[1:] {
		text += fmt.Sprint(", ", word)
	}
	return text
}
