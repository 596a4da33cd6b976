package api

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

type recording struct {
	Execution    chargehand.ExecutionID `json:"execution_id" format:"uuid"`
	Workflow     chargehand.WorkflowID  `json:"workflow_id" format:"uuid"`
	WorkflowName string                 `json:"workflow" doc:"namespace/name of the workflow."`
	Version      string                 `json:"workflow_version" doc:"The version that the execution ran."`
	Revision     int64                  `json:"revision" minimum:"1" doc:"The revision of that version: getWorkflowVersion reads its definition."`
	StartedAt    moment                 `json:"started_at" doc:"All times of the recording count from here."`
	ElapsedMs    int64                  `json:"elapsed_ms" minimum:"0" doc:"From the start of the execution to its end."`
	Phase        string                 `json:"phase" enum:"cancelled,faulted,completed"`
	Input        json.RawMessage        `json:"input" doc:"References to files are relative."`
	Output       json.RawMessage        `json:"output,omitempty" doc:"Left out: it has not completed."`
	Error        *executionError        `json:"error,omitempty"`
	Secrets      []string               `json:"secrets" nullable:"false" doc:"Names of the secrets that the definition declares. [redacted] stands for their values everywhere."`
	Tasks        []recordedTask         `json:"tasks" nullable:"false" doc:"The runs of tasks, in the order in which they started."`
	Outcomes     []recordedOutcome      `json:"outcomes" nullable:"false" doc:"What came from outside: by the starts of the tasks, for each in the order in which it came."`
}

type recordedTask struct {
	Seq        int64  `json:"seq" minimum:"1" doc:"Number of the run in the order of starts."`
	Name       string `json:"name"`
	Kind       string `json:"kind" enum:"call,do,emit,for,fork,listen,raise,run,set,switch,try,wait" doc:"Keyword of the task."`
	Reference  string `json:"reference" doc:"JSON pointer of the task in the definition."`
	Iterations []int  `json:"iterations" nullable:"false" doc:"Which pass of each loop around the task it is, from 0, the outermost loop first."`
	Attempt    int    `json:"attempt" minimum:"1" doc:"Attempt of the innermost try around the task."`
	Phase      string `json:"phase" enum:"cancelled,faulted,completed"`
	StartedMs  int64  `json:"started_ms" doc:"When it started, in milliseconds."`
	EndedMs    int64  `json:"ended_ms" doc:"When it ended."`
}

type recordedOutcome struct {
	Seq       int64           `json:"seq" minimum:"1" doc:"The run of a task that it came to."`
	Reference string          `json:"reference" doc:"JSON pointer of the task that asked for it; another one than that of seq where a function calls a function."`
	Kind      string          `json:"kind" enum:"activity,execution,answer,event,message,none" doc:"activity: a call, a process or a script ended; execution: one of another workflow ended; answer: a person answered; event: an event was taken in; message: a subscription took in a message; none: the task stopped to wait, because its time was over or its branch was lost."`
	AskedMs   int64           `json:"asked_ms" doc:"When the task asked for it, in milliseconds."`
	AtMs      int64           `json:"at_ms" doc:"When it came."`
	Output    json.RawMessage `json:"output,omitempty" doc:"As it came, before the task transformed it. Of an event, its envelope."`
	Error     *executionError `json:"error,omitempty"`
	Files     []recordedFile  `json:"files" nullable:"false" doc:"That came with it."`
}

type recordedFile struct {
	ID          string `json:"id" format:"uuid" doc:"getFileContent reads it."`
	Filename    string `json:"filename" doc:"Name of the file."`
	Size        int64  `json:"size" minimum:"0"`
	ContentType string `json:"content_type"`
	SHA256      string `json:"digest" doc:"SHA-256 of the content, as sha256:<hex>."`
}

func recordingEndpoints() []endpoint {
	e := endpoint{
		method: get, path: "/workflows/{workflowId}/executions/{executionId}/recording", id: "getRecording", tag: "Executions",
		summary: "Get what an execution received", scopes: service.ScopeExecutionsRead,
		about: "All that came to an execution that has ended from outside, with the times, and what it came to: enough to run it again as a test. " +
			"It is at most 16 MiB, and complete or refused.",
		answers:  []answer{{status: 200, about: "The recording", view: recording{}}},
		problems: []chargehand.Code{chargehand.CodeStateConflict, chargehand.CodeRecordingIncomplete},
		serve:    (*call).getRecording,
	}
	anywhereOne := e
	anywhereOne.path, anywhereOne.id, anywhereOne.serve = "/executions/{executionId}/recording", "getRecordingById", anywhere(e.serve)
	anywhereOne.summary, anywhereOne.about = e.summary+", whatever its workflow", "The same as under its workflow."
	return []endpoint{e, anywhereOne}
}

func (c *call) getRecording() error {
	g, err := c.server.service.Recording(c.r.Context(), c.principal, c.workflow, c.execution)
	if err != nil {
		return err
	}
	e := g.Execution
	v := recording{
		Execution: e.ID, Workflow: e.Workflow, WorkflowName: e.WorkflowName, Version: e.WorkflowVersion, Revision: e.Revision,
		StartedAt: at(e.StartedAt), ElapsedMs: ms(e.FinishedAt.Sub(e.StartedAt)), Phase: e.Phase.String(),
		Input: e.Input, Output: e.Output, Error: viewExecutionError(e.Error), Secrets: append([]string{}, g.Secrets...),
		Tasks: make([]recordedTask, len(g.Tasks)), Outcomes: make([]recordedOutcome, len(g.Outcomes)),
	}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		v.Tasks[i] = recordedTask{
			Seq: t.Seq, Name: t.Name, Kind: t.Kind, Reference: t.Reference, Iterations: append([]int{}, t.Iterations...), Attempt: t.Attempt,
			Phase: t.Phase.String(), StartedMs: ms(t.Started), EndedMs: ms(t.Ended),
		}
	}
	for i := range g.Outcomes {
		o := &g.Outcomes[i]
		one := recordedOutcome{
			Seq: o.Seq, Reference: o.Reference, Kind: o.Kind, AskedMs: ms(o.Asked), AtMs: ms(o.At), Output: o.Output,
			Error: viewExecutionError(o.Error), Files: make([]recordedFile, len(o.Files)),
		}
		for i, f := range o.Files {
			one.Files[i] = recordedFile{ID: f.ID, Filename: f.Name, Size: f.Size, ContentType: f.MediaType, SHA256: f.Digest}
		}
		v.Outcomes[i] = one
	}
	return c.view(http.StatusOK, v)
}

// ms are the milliseconds of a duration.
func ms(d time.Duration) int64 { return d.Milliseconds() }
