package api

import (
	"encoding/json"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/graph"
)

// Workflow is a workflow as lists show it. It is exported because the document leaves out the
// fields of embedded types that are not.
type Workflow struct {
	ID        chargehand.WorkflowID `json:"id" format:"uuid"`
	Name      string                `json:"name" doc:"The definition's name."`
	Namespace string                `json:"namespace"`
	Title     string                `json:"title,omitempty"`
	Version   string                `json:"version" doc:"The version that a start without a version runs."`
	Draft     bool                  `json:"draft,omitempty" doc:"The version is a draft."`
	Tags      []string              `json:"tags,omitempty" doc:"Tags of the definition, as key:value."`
	CreatedAt moment                `json:"created_at"`
	UpdatedAt moment                `json:"updated_at"`
	Activity  *activity             `json:"activity,omitempty" doc:"What happens with it, in lists with include=activity."`
}

type activity struct {
	Last         *lastExecution `json:"last_execution,omitempty" doc:"The newest execution; left out: there is none."`
	NextSchedule moment         `json:"next_schedule,omitempty" doc:"When its schedule starts it next."`
	Created      int            `json:"created" doc:"Executions that were created in the last 24 hours."`
	Finished     int            `json:"finished" doc:"Those of them that have finished."`
	Failed       int            `json:"failed" doc:"Those of them that have ended in error."`
	Open         int            `json:"open" doc:"Those of them that have not ended."`
	AtLeast      bool           `json:"at_least,omitempty" doc:"There are more: of each status, 100 are counted at most."`
}

type lastExecution struct {
	ID        chargehand.ExecutionID `json:"id" format:"uuid"`
	Status    string                 `json:"status" enum:"initial,processing,human_in_the_loop,finished,error"`
	CreatedAt moment                 `json:"created_at"`
}

type workflowPage struct {
	Data   []Workflow `json:"data" nullable:"false"`
	Cursor *moment    `json:"cursor" nullable:"true" doc:"Send it as cursor to get the next page; null: there is none."`
}

type workflowDetail struct {
	Workflow
	Revision         int64           `json:"revision"`
	PublishedVersion string          `json:"published_version,omitempty"`
	InputSchema      json.RawMessage `json:"input_schema,omitempty" doc:"JSON Schema of the input, if the definition has one."`
	Outline          *[]form.Field   `json:"outline,omitempty" doc:"The form for the input, with include=outline."`
	Definition       json.RawMessage `json:"definition,omitempty" doc:"Left out for those who may only start the workflow."`
	Source           string          `json:"source,omitempty" doc:"The definition as it was applied; left out as definition is."`
	SourceType       string          `json:"source_type,omitempty" doc:"Media type of source."`
}

type appliedWorkflow struct {
	Workflow
	Revision int64        `json:"revision"`
	Draft    bool         `json:"draft" doc:"It was not published."`
	Warnings []fieldError `json:"warnings" nullable:"false"`
}

type validation struct {
	Valid    bool         `json:"valid"`
	Errors   []fieldError `json:"errors" nullable:"false"`
	Warnings []fieldError `json:"warnings" nullable:"false"`
	Graph    *graph.Graph `json:"graph,omitempty" doc:"The control flow, of a valid definition."`
}

type fieldError struct {
	Pointer   *string `json:"pointer,omitempty" doc:"JSON pointer (RFC 6901) into the body or definition."`
	Parameter string  `json:"parameter,omitempty" doc:"Query parameter or header, instead of a pointer."`
	Code      string  `json:"code"`
	Detail    string  `json:"detail"`
	Line      int     `json:"line,omitempty" minimum:"1"`
	Column    int     `json:"column,omitempty" minimum:"1"`
}

type version struct {
	Workflow          chargehand.WorkflowID `json:"workflow_id" format:"uuid"`
	Version           string                `json:"version"`
	Revision          int64                 `json:"revision" doc:"Counts from 1 within the version."`
	Title             string                `json:"title,omitempty"`
	Published         bool                  `json:"published" doc:"A revision of this version is published."`
	PublishedRevision int64                 `json:"published_revision,omitempty" doc:"The one that is published; absent if none of this version is."`
	Draft             bool                  `json:"draft" doc:"This revision was never published."`
	CreatedAt         moment                `json:"created_at"`
	UpdatedAt         moment                `json:"updated_at"`
	Definition        json.RawMessage       `json:"definition,omitempty"`
	Source            string                `json:"source,omitempty"`
	SourceType        string                `json:"source_type,omitempty"`
	CreatedBy         *startedBy            `json:"created_by,omitempty" doc:"Who has applied this revision; left out: the server has, from its folder of workflows."`
	Message           string                `json:"message,omitempty" doc:"What that one said about it."`
	Revisions         []revision            `json:"revisions,omitempty" doc:"Of one version: its newest 100 revisions, newest first."`
}

type revision struct {
	Revision  int64      `json:"revision" doc:"Counts from 1 within the version."`
	Draft     bool       `json:"draft" doc:"It was never published."`
	Published bool       `json:"published" doc:"It is what is published."`
	CreatedAt moment     `json:"created_at"`
	CreatedBy *startedBy `json:"created_by,omitempty" doc:"The person or key that applied the revision."`
	Message   string     `json:"message,omitempty" doc:"What that one said about it."`
}
