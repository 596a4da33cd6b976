package service

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/markdown"
	"github.com/chargehand/chargehand/internal/person"
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

// taskView says which tasks a principal sees: all of some workflows, and of others those that are its own or have no
// assignee.
type taskView struct {
	who   responder
	all   *Principal // sees all tasks of the workflows that it sees as a whole
	whole []int64    // numbers of these; nil: all
	none  bool       // it sees no workflow as a whole
	part  []int64    // numbers of the others; nil: all others
	parts bool       // there are others
}

// viewTasks finds out which tasks a principal sees. Codes: insufficient_scope.
func (s *Service) viewTasks(r *store.Reader, p *Principal) (v taskView, err error) {
	if v.all, err = May(p, ScopeTasksRead|ScopeExecutionsRead, ScopeTasksRead); err != nil {
		// The routes that change a task show it too, and ask for these scopes.
		for _, scopes := range [...][2]Scopes{{ScopeTasksRespond | ScopeExecutionsRead, ScopeTasksRespond}, {ScopeExecutionsManage, 0}} {
			if v.all, err = May(p, scopes[0], scopes[1]); err == nil {
				break
			}
		}
	}
	if err != nil {
		return v, err
	}
	if v.who, err = s.responder(r, p); err != nil {
		return v, err
	}
	if v.all.partial == nil {
		v.whole, err = numbersOfWorkflows(r, p, v.all.Workflows)
		return v, err
	}
	v.parts = true
	if v.none = len(v.all.partial.whole) == 0; !v.none {
		v.whole, err = numbersOfWorkflows(r, p, v.all.partial.whole)
	}
	if err == nil {
		v.part, err = numbersOfWorkflows(r, p, v.all.Workflows)
	}
	return v, err
}

// numbersOfWorkflows is workflowNumbers; nil for nil.
func numbersOfWorkflows(r *store.Reader, p *Principal, ids []chargehand.WorkflowID) ([]int64, error) {
	if ids == nil {
		return nil, nil
	}
	return workflowNumbers(r, p, ids)
}

// sees reports whether a task is shown.
func (v *taskView) sees(s *Service, r *store.Reader, t *store.HumanTask) (bool, error) {
	id, err := s.names.workflow(r, t.Workflow)
	if err != nil || !v.all.Sees(id) {
		return false, err
	}
	return v.all.SeesWhole(id) || v.who.isAssigned(t.Assignees) || t.Claimant == v.who.actor || t.Answerer == v.who.actor, nil
}

// filters are the queries that together find what the view shows of a filter.
func (v *taskView) filters(f store.TaskFilter) []store.TaskFilter {
	var list []store.TaskFilter
	if !v.none {
		whole := f
		whole.Workflows = common(v.whole, f.Workflows)
		list = append(list, whole)
	}
	if !v.parts {
		return list
	}
	part := f
	part.Workflows = common(v.part, f.Workflows)
	if !v.none {
		part.Others = v.whole
	}
	switch mine := v.who.candidates(); {
	case f.Answerer != 0 && f.Answerer == v.who.actor: // what it has answered itself
	case f.Candidates == nil:
		part.Candidates = mine
	default:
		part.Candidates = slices.DeleteFunc(slices.Clone(f.Candidates), func(c store.TaskCandidate) bool { return !slices.Contains(mine, c) })
	}
	return append(list, part)
}

// common are the numbers in both lists; nil stands for all.
func common(a, b []int64) []int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	list := []int64{}
	for _, n := range a {
		if slices.Contains(b, n) {
			list = append(list, n)
		}
	}
	return list
}

// The assignees that are no person: the principal, and its groups where it is not assigned itself. No e-mail address or
// id reads like them.
const (
	assigneeMe       = "me"
	assigneeMyGroups = "my-groups"
)

// ListHumanTasks is a query for human tasks.
type ListHumanTasks struct {
	Statuses   []store.TaskStatus // none: open and claimed
	Assignee   string             // me, my-groups, an e-mail address or the id of a user; empty: any
	Group      string
	Unassigned bool
	AnsweredBy string // me; empty: any
	Workflow   chargehand.WorkflowID
	Batch      chargehand.BatchID
	Execution  chargehand.ExecutionID
	Overdue    bool
	Search     string // a part of the title
	Sort       store.TaskSort
	Limit      int
	After      Cursor
}

// ListHumanTasks lists the human tasks that the principal sees. A page that looks for a text looks at no more than
// maxExamined tasks; it may be short, and have a cursor. Codes: insufficient_scope, invalid_parameter.
func (s *Service) ListHumanTasks(ctx context.Context, p *Principal, q ListHumanTasks) (*Page[HumanTask], error) {
	page := &Page[HumanTask]{Data: []HumanTask{}}
	err := s.view(ctx, func(r *store.Reader) error {
		page.Data = page.Data[:0]
		v, err := s.viewTasks(r, p)
		if err != nil {
			return err
		}
		f, possible, err := s.taskFilter(r, p, &v, &q)
		if err != nil || !possible {
			return err
		}
		rows, last, err := findTasks(r, &v, f, q.Search, q.Limit, s.examined)
		if err != nil {
			return err
		}
		if last != nil {
			page.Cursor = taskCursor(f.Sort, last)
		}
		page.Data, err = s.shownTasks(r, p, &v.who, rows)
		return err
	})
	return page, err
}

// findTasks reads up to limit tasks. last is the one behind which the next page begins; nil: there is none.
func findTasks(r *store.Reader, v *taskView, f store.TaskFilter, text string, limit, most int) (rows []store.HumanTask, last *store.HumanTask, err error) {
	text = strings.ToLower(text)
	f.Limit = limit + 1
	if text != "" {
		f.Limit = tasksAtOnce
	}
	for examined := 0; ; {
		var page []store.HumanTask
		for _, part := range v.filters(f) {
			some, err := r.HumanTasks(part)
			if err != nil {
				return nil, nil, err
			}
			page = mergeTasks(append(page, some...), f)
		}
		for i := range page {
			if !strings.Contains(strings.ToLower(page[i].Title), text) {
				continue
			}
			if len(rows) == limit {
				return rows, &rows[limit-1], nil
			}
			rows = append(rows, page[i])
		}
		if len(page) < f.Limit {
			return rows, nil, nil
		}
		end := &page[len(page)-1]
		if examined += len(page); examined >= most {
			return rows, end, nil
		}
		f.After = f.Sort.Key(end)
	}
}

func mergeTasks(rows []store.HumanTask, f store.TaskFilter) []store.HumanTask {
	slices.SortStableFunc(rows, func(a, b store.HumanTask) int {
		switch {
		case a.No == b.No:
			return 0
		case f.Sort.Before(&a, &b):
			return -1
		}
		return 1
	})
	rows = slices.CompactFunc(rows, func(a, b store.HumanTask) bool { return a.No == b.No })
	return rows[:min(len(rows), f.Limit)]
}

// taskFilter makes the filter of a query. possible is false if nothing can fit. Codes: invalid_parameter.
func (s *Service) taskFilter(r *store.Reader, p *Principal, v *taskView, q *ListHumanTasks) (f store.TaskFilter, possible bool, err error) {
	f = store.TaskFilter{Account: p.AccountNo, Environment: p.Environment, Statuses: q.Statuses, Sort: q.Sort, After: taskKey(q.After)}
	if q.AnsweredBy != "" {
		if f.Answerer = v.who.actor; len(f.Statuses) == 0 {
			f.Statuses = []store.TaskStatus{store.TaskAnswered}
		}
	}
	ended := slices.ContainsFunc(f.Statuses, func(s store.TaskStatus) bool { return s > store.TaskClaimed })
	if ended && f.Sort != store.SortCreated {
		return f, false, chargehand.NewError(chargehand.CodeInvalidParameter, "Tasks that have ended are sorted by created only.",
			chargehand.FieldError{Parameter: "sort", Code: "invalid", Detail: "Say sort=created, or ask for open and claimed tasks only."})
	}
	if q.Overdue {
		f.DueBeforeMs = s.nowMs()
		if ended || f.Sort != store.SortDue {
			return f, false, chargehand.NewError(chargehand.CodeInvalidParameter, "Overdue tasks are open or claimed, and sorted by due.")
		}
	}
	for _, part := range []struct {
		asked bool
		list  func() ([]store.TaskCandidate, error)
	}{
		{q.Assignee == assigneeMe, func() ([]store.TaskCandidate, error) { return v.who.own(), nil }},
		{q.Assignee == assigneeMyGroups, func() ([]store.TaskCandidate, error) {
			f.Without = v.who.own()
			return v.who.ofGroups(), nil
		}},
		{q.Assignee != "" && q.Assignee != assigneeMe && q.Assignee != assigneeMyGroups, func() ([]store.TaskCandidate, error) {
			return assigneeLists(r, p, q.Assignee)
		}},
		{q.Group != "", func() ([]store.TaskCandidate, error) {
			return []store.TaskCandidate{{Kind: store.CandidateGroup, Name: person.Key(q.Group)}}, nil
		}},
		{q.Unassigned, func() ([]store.TaskCandidate, error) {
			return []store.TaskCandidate{{Kind: store.CandidateAnybody}}, nil
		}},
	} {
		if !part.asked {
			continue
		}
		if f.Candidates != nil {
			return f, false, chargehand.NewError(chargehand.CodeInvalidParameter, "Of assignee, group and unassigned, one can be asked for at a time.")
		}
		if f.Candidates, err = part.list(); err != nil {
			return f, false, err
		}
		if f.Candidates = append([]store.TaskCandidate{}, f.Candidates...); ended {
			return f, false, chargehand.NewError(chargehand.CodeInvalidParameter, "Only open and claimed tasks are in the list of an assignee or a group.")
		}
	}
	possible, err = s.filterOrigin(r, p, q, &f)
	return f, possible, err
}

// filterOrigin looks up workflow, batch and execution of a query.
func (s *Service) filterOrigin(r *store.Reader, p *Principal, q *ListHumanTasks, f *store.TaskFilter) (possible bool, err error) {
	if !q.Workflow.IsZero() {
		var row store.Workflow
		if row, err = r.WorkflowByID(p.AccountNo, q.Workflow); err == nil {
			f.Workflows = []int64{row.No}
		}
	}
	if !q.Batch.IsZero() && err == nil {
		var row store.Batch
		if row, err = r.BatchByID(p.AccountNo, p.Environment, q.Batch); err == nil {
			f.Batch = row.No
		}
	}
	if !q.Execution.IsZero() && err == nil {
		var row store.Execution
		if row, err = r.ExecutionByID(p.AccountNo, p.Environment, q.Execution); err == nil {
			f.Execution = row.No
		}
	}
	if errors.Is(err, store.ErrNotFound) { // the answer does not say that it exists
		return false, nil
	}
	return err == nil, err
}

// assigneeLists are the lists of a person, named by e-mail address or id.
func assigneeLists(r *store.Reader, p *Principal, text string) ([]store.TaskCandidate, error) {
	key := engine.PersonKey(text)
	list := []store.TaskCandidate{{Kind: store.CandidateUser, Name: key}}
	var m store.Member
	var err error
	if id, bad := chargehand.ParseID[taskKind](key); bad == nil {
		m, err = r.MemberByID(p.AccountNo, chargehand.UserID(id))
	} else if row, found := r.PersonByEmail(key); found == nil {
		m, err = r.MemberByNo(p.AccountNo, row.No)
	} else {
		err = found
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return list, nil
	case err != nil:
		return nil, err
	}
	who := responder{person: true, id: m.Person.ID.String(), email: m.Person.EmailKey}
	return who.own(), nil
}

// taskKind stands for the kind of an id that is not known yet.
type taskKind struct{}

// taskCursor is the place of a task in an order. The order is part of it.
func taskCursor(sort store.TaskSort, t *store.HumanTask) Cursor {
	key := sort.Key(t)
	c := Cursor{Milli: key.Value}
	c.ID[0] = byte(sort) + 1
	binary.BigEndian.PutUint64(c.ID[8:], uint64(key.No))
	return c
}

func taskKey(c Cursor) store.TaskKey {
	return store.TaskKey{Value: c.Milli, No: int64(binary.BigEndian.Uint64(c.ID[8:]) & math.MaxInt64)}
}

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

// TaskCount counts tasks, up to a bound.
type TaskCount struct {
	Count   int64
	AtLeast bool // there may be more
}

// TaskCounts are the numbers of open and claimed tasks that the principal sees.
type TaskCounts struct {
	Mine       TaskCount // assigned to it, or claimed by it
	Groups     TaskCount // of its groups, and not counted in Mine
	Unassigned TaskCount
	Overdue    TaskCount
	All        TaskCount
}

// CountHumanTasks counts open and claimed tasks. Codes: insufficient_scope.
func (s *Service) CountHumanTasks(ctx context.Context, p *Principal) (c TaskCounts, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		v, err := s.viewTasks(r, p)
		if err == nil {
			c, err = s.countTasks(r, p, &v)
		}
		return err
	})
	return c, err
}

func (s *Service) countTasks(r *store.Reader, p *Principal, v *taskView) (c TaskCounts, err error) {
	base := store.TaskFilter{Account: p.AccountNo, Environment: p.Environment}
	for _, one := range []struct {
		to     *TaskCount
		change func(f *store.TaskFilter)
	}{
		{&c.Mine, func(f *store.TaskFilter) { f.Candidates = append([]store.TaskCandidate{}, v.who.own()...) }},
		{&c.Groups, func(f *store.TaskFilter) { f.Candidates, f.Without = v.who.ofGroups(), v.who.own() }},
		{&c.Unassigned, func(f *store.TaskFilter) { f.Candidates = []store.TaskCandidate{{Kind: store.CandidateAnybody}} }},
		{&c.Overdue, func(f *store.TaskFilter) { f.DueBeforeMs = s.nowMs() }},
		{&c.All, func(*store.TaskFilter) {}},
	} {
		f := base
		one.change(&f)
		for _, part := range v.filters(f) {
			n, more, err := r.CountHumanTasks(part, maxTaskCount+1)
			if err != nil {
				return c, err
			}
			one.to.Count += n
			one.to.AtLeast = one.to.AtLeast || more
		}
		if one.to.Count > maxTaskCount {
			*one.to = TaskCount{maxTaskCount, true}
		}
	}
	return c, nil
}
