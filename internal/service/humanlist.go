package service

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/store"
)

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
