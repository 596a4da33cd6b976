package api

import (
	"encoding/json"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

// humanTask is a task as it is shown. Lists have the fields up to refused.
type humanTask struct {
	ID          chargehand.HumanTaskID `json:"id" format:"uuid"`
	Status      string                 `json:"status" enum:"open,claimed,answered,withdrawn"`
	Title       string                 `json:"title"`
	Assignees   taskAssignees          `json:"assignees"`
	ClaimedBy   *taskPerson            `json:"claimed_by,omitempty"`
	Priority    int                    `json:"priority" minimum:"0" maximum:"100"`
	DueAt       moment                 `json:"due_at,omitempty"`
	CreatedAt   moment                 `json:"created_at"`
	EndedAt     moment                 `json:"ended_at,omitempty"`
	Workflow    chargehand.WorkflowID  `json:"workflow_id" format:"uuid"`
	Name        string                 `json:"workflow"`
	Execution   chargehand.ExecutionID `json:"execution_id" format:"uuid"`
	Reference   string                 `json:"reference"`
	Iterations  []int                  `json:"iterations" nullable:"false"`
	Seq         int                    `json:"seq"`
	Batch       *chargehand.BatchID    `json:"batch_id,omitempty" format:"uuid"`
	ItemID      string                 `json:"item_id,omitempty"`
	Environment string                 `json:"environment" enum:"live,test"`
	Withdrawn   string                 `json:"withdrawn_reason,omitempty" enum:"timeout,cancelled,lost_branch,jump,ended"`
	Refused     chargehand.Code        `json:"refused,omitempty" enum:"not_assigned,excluded,claimed_by_other,insufficient_scope,answer_conflict,task_withdrawn" doc:"The code with which an answer of yours would be refused now. Left out: you may answer."`

	Instructions     string            `json:"instructions,omitempty"`
	InstructionsHTML string            `json:"instructions_html,omitempty"`
	Form             json.RawMessage   `json:"form,omitempty"`
	Outline          []form.Field      `json:"outline,omitempty"`
	Data             json.RawMessage   `json:"data,omitempty"`
	Show             json.RawMessage   `json:"show,omitempty"`
	Files            []json.RawMessage `json:"files,omitempty"`
	Upload           *taskUpload       `json:"upload,omitempty"`
	Outcomes         []taskOutcome     `json:"outcomes,omitempty"`
	Comments         []taskComment     `json:"comments,omitempty"`
	Links            []taskLink        `json:"links,omitempty"`
	Answer           *taskAnswer       `json:"answer,omitempty"`
}

type taskAssignees struct {
	Users   []string `json:"users" nullable:"false"`
	Groups  []string `json:"groups" nullable:"false"`
	Exclude []string `json:"exclude" nullable:"false"`
}

type taskPerson struct {
	Kind string `json:"kind" enum:"user,key"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

type taskUpload struct {
	Accept   []string `json:"accept" nullable:"false"`
	Max      int      `json:"max"`
	Required bool     `json:"required"`
}

type taskOutcome struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Style string `json:"style,omitempty" enum:"primary,danger"`
}

type taskComment struct {
	ID   chargehand.HumanTaskID `json:"id" format:"uuid"`
	By   taskPerson             `json:"by"`
	Text string                 `json:"text"`
	At   moment                 `json:"at"`
}

// taskLink is a link without its address.
type taskLink struct {
	ID        chargehand.TaskLinkID `json:"id" format:"uuid"`
	Name      string                `json:"name"`
	Email     string                `json:"email,omitempty"`
	CreatedBy *taskPerson           `json:"created_by,omitempty"`
	CreatedAt moment                `json:"created_at"`
	ExpiresAt moment                `json:"expires_at"`
	RevokedAt moment                `json:"revoked_at,omitempty"`
}

// newTaskLink is a link in the answer that makes it.
type newTaskLink struct {
	ID        chargehand.TaskLinkID `json:"id" format:"uuid"`
	URL       string                `json:"url,omitempty"`
	ExpiresAt moment                `json:"expires_at"`
}

type taskAnswer struct {
	Outcome string            `json:"outcome"`
	Data    json.RawMessage   `json:"data,omitempty"`
	Comment string            `json:"comment,omitempty"`
	Files   []json.RawMessage `json:"files" nullable:"false"`
	At      string            `json:"at" format:"date-time"`
	By      taskAnswerer      `json:"by"`
	Used    bool              `json:"used"`
}

type taskAnswerer struct {
	ID   string  `json:"id"`
	Name string  `json:"name"`
	Via  taskVia `json:"via"`
}

type taskVia struct {
	Kind   string   `json:"kind" enum:"session,key,link,event"`
	ID     string   `json:"id"`
	MadeBy string   `json:"made_by,omitempty"`
	Behind []string `json:"behind,omitempty" nullable:"false"`
}

type humanTaskCount struct {
	Count   int64 `json:"count"`
	AtLeast bool  `json:"at_least"`
}

type humanTaskCounts struct {
	Mine       humanTaskCount `json:"mine"`
	Groups     humanTaskCount `json:"groups"`
	Unassigned humanTaskCount `json:"unassigned"`
	Overdue    humanTaskCount `json:"overdue"`
	All        humanTaskCount `json:"all"`
}

func viewTaskCounts(n service.TaskCounts) humanTaskCounts {
	view := func(t service.TaskCount) humanTaskCount { return humanTaskCount{t.Count, t.AtLeast} }
	return humanTaskCounts{view(n.Mine), view(n.Groups), view(n.Unassigned), view(n.Overdue), view(n.All)}
}

func viewHumanTask(t *service.HumanTask) humanTask {
	v := humanTask{
		ID: t.ID, Status: t.Status, Title: t.Title, Priority: t.Priority, CreatedAt: at(t.CreatedAt), DueAt: at(t.DueAt), EndedAt: at(t.EndedAt), Workflow: t.Workflow, Name: t.Name,
		Execution: t.Execution, Reference: t.Reference, Iterations: append([]int{}, t.Iterations...), Seq: t.Seq, ItemID: t.ItemID,
		Environment: t.Environment.String(), Withdrawn: t.Withdrawn, Refused: t.Refused,
		Assignees: taskAssignees{append([]string{}, t.Assignees.Users...), append([]string{}, t.Assignees.Groups...), append([]string{}, t.Assignees.Exclude...)},
	}
	if t.ClaimedBy != (service.Actor{}) {
		v.ClaimedBy = &taskPerson{t.ClaimedBy.Kind, t.ClaimedBy.ID, t.ClaimedBy.Name}
	}
	if !t.Batch.IsZero() {
		v.Batch = &t.Batch
	}
	if t.Full != nil {
		v.full(t.Full)
	}
	return v
}

// full shows what lists leave out.
func (v *humanTask) full(f *service.FullTask) {
	r := &f.Request
	v.Instructions, v.InstructionsHTML, v.Outline = r.Instructions, f.InstructionsHTML, f.Outline
	v.Form, v.Data, v.Show = rawValue(r.Form), rawValue(r.Data), rawValue(r.Show)
	for _, file := range r.Files {
		v.Files = append(v.Files, rawValue(file))
	}
	if r.Upload != nil {
		v.Upload = &taskUpload{append([]string{}, r.Upload.Accept...), r.Upload.Max, r.Upload.Required}
	}
	for _, o := range r.Outcomes {
		v.Outcomes = append(v.Outcomes, taskOutcome{o.Name, o.Title, o.Style})
	}
	for _, comment := range f.Comments {
		v.Comments = append(v.Comments, taskComment{comment.ID, taskPerson{comment.By.Kind, comment.By.ID, comment.By.Name}, comment.Text, at(comment.At)})
	}
	for _, l := range f.Links {
		link := taskLink{ID: l.ID, Name: l.Name, Email: l.Email, CreatedAt: at(l.CreatedAt), ExpiresAt: at(l.ExpiresAt), RevokedAt: at(l.RevokedAt)}
		if l.MadeBy != (service.Actor{}) {
			link.CreatedBy = &taskPerson{l.MadeBy.Kind, l.MadeBy.ID, l.MadeBy.Name}
		}
		v.Links = append(v.Links, link)
	}
	if a := f.Answer; a != nil {
		v.Answer = &taskAnswer{
			Outcome: a.Outcome, Data: rawValue(a.Data), Comment: a.Comment, Files: []json.RawMessage{}, At: a.At,
			By: taskAnswerer{a.By.ID, a.By.Name, taskVia{a.By.Via.Kind, a.By.Via.ID, a.By.Via.MadeBy, strings.Fields(a.By.Via.Behind)}}, Used: f.Used,
		}
		for _, file := range a.Files {
			v.Answer.Files = append(v.Answer.Files, rawValue(file))
		}
	}
}

// rawValue is a value of the language as JSON; nil for null.
func rawValue(v value.Value) json.RawMessage {
	if v == nil {
		return nil
	}
	return value.Marshal(v)
}
