package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/markdown"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// The bounds of lists and counts of human tasks.
const (
	maxTaskCount    = 10_000 // a count counts up to
	MaxTaskComments = 500    // of one task
	tasksAtOnce     = 200    // rows that a search by text reads at a time
	// MaxTaskText bounds the texts by which tasks are searched, in bytes.
	MaxTaskText = 500
)

// HumanTask is a human task. Those of lists lack what Full says.
type HumanTask struct {
	ID          chargehand.HumanTaskID
	Environment chargehand.Environment
	Status      string
	Title       string
	Assignees   store.TaskAssignees
	ClaimedBy   Actor // zero: no person
	Priority    int
	DueAt       time.Time // zero: never
	CreatedAt   time.Time
	EndedAt     time.Time // zero: it has not ended
	Workflow    chargehand.WorkflowID
	Name        string // namespace/name of the workflow
	Execution   chargehand.ExecutionID
	Reference   string
	Iterations  []int
	Seq         int // of the entry in the timeline
	Batch       chargehand.BatchID
	ItemID      string
	Withdrawn   string // why; empty: it is not
	Step        int64  // counts its changes
	// Refused is the code with which an answer of the principal would be refused now; empty: it may answer.
	Refused chargehand.Code

	Full *FullTask // nil in lists
}

// FullTask is what lists leave out.
type FullTask struct {
	Request          human.Request
	InstructionsHTML string
	Outline          []form.Field // nil: there is no form
	Comments         []TaskComment
	Links            []TaskLink
	Answer           *human.Answer // nil: none
	Used             bool          // the execution has used it
}

// TaskComment is a comment on a task.
type TaskComment struct {
	ID     chargehand.HumanTaskID
	By     Actor
	Text   string
	At     time.Time
	author int64
}

// TaskSort is an order of tasks: that of due times, of creation, or of priority.
type TaskSort = store.TaskSort

var taskStatuses = [...]string{store.TaskOpen: "open", store.TaskClaimed: "claimed", store.TaskAnswered: "answered", store.TaskWithdrawn: "withdrawn"}

// ParseTaskStatus finds the status of that name.
func ParseTaskStatus(name string) (store.TaskStatus, bool) {
	i := slices.Index(taskStatuses[:], name)
	return store.TaskStatus(i), i > 0
}

func taskNotFound() error {
	return chargehand.NewError(chargehand.CodeHumanTaskNotFound, "There is no such human task in this environment.")
}

// taskKind stands for the kind of an id that is not known yet.
type taskKind struct{}

// shownTasks are rows as lists show them to a principal.
func (s *Service) shownTasks(r *store.Reader, p *Principal, who *responder, rows []store.HumanTask) ([]HumanTask, error) {
	list := make([]HumanTask, len(rows))
	for i := range rows {
		var err error
		if list[i], err = s.shownTask(r, p, who, &rows[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *Service) shownTask(r *store.Reader, p *Principal, who *responder, row *store.HumanTask) (t HumanTask, err error) {
	t = HumanTask{
		ID: row.ID, Environment: row.Environment, Status: taskStatuses[row.Status], Title: row.Title, Assignees: row.Assignees, Priority: row.Priority,
		CreatedAt: atMs(row.CreatedMs), EndedAt: atMs(row.EndedMs), Reference: row.Reference, Iterations: row.Iterations, Seq: row.Seq, Step: row.Step,
	}
	if row.DueMs != store.NeverDue {
		t.DueAt = atMs(row.DueMs)
	}
	if row.Status == store.TaskWithdrawn {
		t.Withdrawn = machine.Withdrawal(row.Why).String()
	}
	if t.ClaimedBy, err = s.names.actor(r, row.Claimant, s.now()); err != nil {
		return t, err
	}
	if t.Workflow, err = s.names.workflow(r, row.Workflow); err != nil {
		return t, err
	}
	if t.Name, err = s.names.workflowName(r, row.Workflow); err != nil {
		return t, err
	}
	if t.Batch, err = s.names.batch(r, row.Batch); err != nil {
		return t, err
	}
	namespace, _, _ := strings.Cut(t.Name, "/")
	resolved := *row
	if len(row.Assignees.Exclude) > 0 && row.EndedMs == 0 {
		resolved.Assignees.Exclude = slices.Clone(row.Assignees.Exclude)
		var refused *chargehand.Error
		if err := s.resolveExcluded(r, &resolved); errors.As(err, &refused) {
			t.Refused = refused.Code
		} else if err != nil {
			return t, err
		}
	}
	if t.Refused == "" {
		t.Refused = who.refusal(p, t.Workflow, namespace, &resolved)
	}
	t.Execution, t.ItemID, err = r.ExecutionName(row.Execution)
	return t, err
}

// GetHumanTask returns a task that the principal sees. Codes: human_task_not_found, insufficient_scope.
func (s *Service) GetHumanTask(ctx context.Context, p *Principal, id chargehand.HumanTaskID) (t HumanTask, err error) {
	var row store.HumanTask
	var who responder
	var comments []store.HumanComment
	var links []store.TaskLink
	err = s.view(ctx, func(r *store.Reader) error {
		if row, who, err = s.seenTask(r, p, id); err != nil {
			return err
		}
		if comments, err = r.HumanComments(row.No, MaxTaskComments); err != nil {
			return err
		}
		if links, err = r.TaskLinks(row.No, maxShownLinks); err != nil {
			return err
		}
		t, err = s.shownTask(r, p, &who, &row)
		return err
	})
	if err != nil {
		return t, err
	}
	if t.Full, err = s.fullTask(ctx, &row, comments); err != nil {
		return t, err
	}
	for i := range links {
		t.Full.Links = append(t.Full.Links, shownLink(&links[i]))
	}
	return t, nil
}

// seenTask reads the row of a task that the principal sees, and who the principal is. Codes: human_task_not_found,
// insufficient_scope.
func (s *Service) seenTask(r *store.Reader, p *Principal, id chargehand.HumanTaskID) (row store.HumanTask, who responder, err error) {
	v, err := s.viewTasks(r, p)
	if err != nil {
		return row, who, err
	}
	row, err = r.HumanTaskByID(p.AccountNo, p.Environment, id)
	if err != nil {
		return row, who, notFoundIs(err, taskNotFound)
	}
	seen, err := v.sees(s, r, &row)
	if err == nil && !seen {
		err = taskNotFound()
	}
	return row, v.who, err
}

// fullTask reads what lists leave out. It must not be called within a View.
func (s *Service) fullTask(ctx context.Context, row *store.HumanTask, comments []store.HumanComment) (*FullTask, error) {
	request, err := s.taskRequest(ctx, row)
	if err != nil {
		return nil, err
	}
	full := &FullTask{Request: request, Used: row.Used, Comments: make([]TaskComment, 0, len(comments))}
	if request.Instructions != "" {
		full.InstructionsHTML = markdown.HTML(request.Instructions)
	}
	if request.Form != nil {
		full.Outline = form.Of(request.Form, nil)
	}
	for _, c := range comments {
		kind := actorUser
		if c.Author > 0 {
			kind = actorKey
		}
		full.Comments = append(full.Comments, TaskComment{ID: c.ID, By: Actor{kind, c.ByID, c.ByName}, Text: c.Text, At: atMs(c.CreatedMs), author: c.Author})
	}
	if row.Status == store.TaskAnswered {
		output, err := s.taskPayload(ctx, row.Answer)
		if err != nil {
			return nil, err
		}
		answer := human.AnswerOf(output)
		full.Answer = &answer
	}
	return full, nil
}

func (s *Service) taskRequest(ctx context.Context, row *store.HumanTask) (human.Request, error) {
	v, err := s.taskPayload(ctx, row.Request)
	if err != nil {
		return human.Request{}, err
	}
	request, _ := human.Parse(v, nil)
	return request, nil
}

func (s *Service) taskPayload(ctx context.Context, p store.Payload) (value.Value, error) {
	data, err := s.unpack(ctx, p)
	if err != nil {
		return nil, err
	}
	return parseStored(data)
}
