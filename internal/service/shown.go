package service

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// Cause is what has started an execution.
type Cause struct {
	Kind string // api, batch, schedule, event, parent or retry
	ID   string // of the batch, the event or the execution; empty: there is none
}

// WaitingFor is what an execution waits for: the most blocking one of all.
type WaitingFor struct {
	Kind  string    // person, child, event, retry, timer or slot
	Until time.Time // zero: that is not known
	Task  string    // id of the human task
	Title string    // of the human task; empty: it is not among the newest of the execution
	Types []string  // of the events
}

// OpenTask is what an execution shows of a human task of its that has not ended.
type OpenTask struct {
	ID         chargehand.HumanTaskID
	Title      string
	Reference  string
	Iterations []int
	DueAt      time.Time // zero: never
}

// MaxOpenTasks is how many human tasks an execution shows.
const MaxOpenTasks = 10

// openTasks reads the human tasks of executions, by their number.
func (s *Service) openTasks(r *store.Reader, rows []store.Execution) (map[int64][]store.OpenTask, error) {
	var nos []int64
	for i := range rows {
		if status := rows[i].Status; status == chargehand.Processing || status == chargehand.HumanInTheLoop {
			nos = append(nos, rows[i].No)
		}
	}
	if len(nos) == 0 {
		return nil, nil
	}
	return r.OpenTasksOf(nos, MaxOpenTasks)
}

// Attempting is an attempt that is delayed for long.
type Attempting struct {
	Reference string
	Attempt   int
	Of        int // 0: as many as it takes
	NextAt    time.Time
}

var waitNames = map[store.WaitKind]string{
	store.WaitPerson: "person", store.WaitChild: "child", store.WaitEvent: "event", store.WaitRetry: "retry", store.WaitTimer: "timer",
}

// causeOf is the cause as far as the row says it; that of an item or a child lacks its id.
func causeOf(row *store.Execution) Cause {
	switch {
	case row.Batch != 0:
		return Cause{Kind: "batch"}
	case row.Root != 0:
		return Cause{Kind: "parent"}
	case !row.RetryOf.IsZero():
		return Cause{Kind: "retry", ID: row.RetryOf.String()}
	case row.Cause == store.CauseSchedule:
		return Cause{Kind: "schedule"}
	case row.Cause == store.CauseEvent:
		return Cause{Kind: "event", ID: row.CauseID}
	}
	return Cause{Kind: "api"}
}

func waitingFor(row *store.Execution) *WaitingFor {
	w := &row.Waits
	switch {
	case row.State == store.StateDelayed:
		return &WaitingFor{Kind: "timer", Until: atMs(row.StartMs)}
	case row.State == store.StateQueued, row.State == store.StateReady:
		return &WaitingFor{Kind: "slot"}
	case w.Kind == 0 || row.Status.Final():
		return nil
	}
	return &WaitingFor{Kind: waitNames[w.Kind], Until: atMs(w.UntilMs), Task: w.Task, Types: w.Types}
}

func attempting(row *store.Execution) *Attempting {
	a := row.Waits.Attempt
	if a == nil || row.Status.Final() {
		return nil
	}
	return &Attempting{Reference: a.Reference, Attempt: a.Number, Of: a.Of, NextAt: atMs(a.NextMs)}
}

// completeAll reads what belongs to rows beside their outcomes: labels, trees, and until when they are kept.
func (s *Service) completeAll(r *store.Reader, list []snapshot) error {
	rows := make([]store.Execution, len(list))
	for i := range list {
		rows[i] = list[i].row
	}
	labels, err := r.Labels(rows)
	if err != nil {
		return err
	}
	tasks, err := s.openTasks(r, rows)
	if err != nil {
		return err
	}
	batches := map[int64]int64{} // when they have ended
	for i := range list {
		x := &list[i]
		x.labels, x.tasks = labels[x.row.No], tasks[x.row.No]
		if x.row.Root != 0 {
			if x.parent, x.root, err = r.Ancestors(x.row.No); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		endedMs := x.row.FinishedMs
		if x.row.Batch != 0 && endedMs != 0 {
			known, found := batches[x.row.Batch]
			if !found {
				b, err := r.BatchByNo(x.row.Batch)
				if err != nil {
					return err
				}
				known = b.FinishedMs
				batches[x.row.Batch] = known
			}
			endedMs = known
		}
		if endedMs != 0 {
			x.retainedUntil = s.retainedUntil(&x.row, endedMs)
		}
	}
	return nil
}

// retainedUntil is when an execution may be deleted that has ended at that time, or whose batch has.
func (s *Service) retainedUntil(row *store.Execution, endedMs int64) time.Time {
	return atMs(endedMs).Add(s.retentionOf(row.Environment))
}

func (s *Service) retentionOf(env chargehand.Environment) time.Duration {
	if env == chargehand.Test {
		return s.retention.Test
	}
	return s.retention.Live
}

// about sets what an execution shows beside its status and its results.
func (e *Execution) about(x *snapshot) {
	row := &x.row
	e.WorkflowName, e.Title, e.ItemID, e.Labels = x.names.name, x.names.revision.title, row.ItemID, x.labels
	e.Cause, e.Parent, e.Root, e.RetainedUntil = causeOf(row), x.parent, x.root, x.retainedUntil
	switch e.Cause.Kind {
	case "batch":
		e.Cause.ID = x.batch.String()
	case "parent":
		if !x.parent.IsZero() {
			e.Cause.ID = x.parent.String()
		}
	}
	e.WaitingFor, e.Attempting = waitingFor(row), attempting(row)
	for i := range x.tasks {
		t := &x.tasks[i]
		shown := OpenTask{ID: t.ID, Title: t.Title, Reference: t.Reference, Iterations: t.Iterations}
		if t.DueMs != store.NeverDue {
			shown.DueAt = atMs(t.DueMs)
		}
		e.HumanTasks = append(e.HumanTasks, shown)
		if e.WaitingFor != nil && e.WaitingFor.Task == t.ID.String() {
			e.WaitingFor.Title = t.Title
		}
	}
}

// showInput is the input of an execution, with absolute references to its files.
func (s *Service) showInput(ctx context.Context, row *store.Execution, v View) ([]byte, error) {
	data, err := s.unpack(ctx, row.Input)
	if err != nil || !mayRefer(data) {
		return data, err
	}
	err = s.view(ctx, func(r *store.Reader) (err error) {
		data, err = showReferences(r, row.Account, row.Environment, v.BaseURL, data)
		return err
	})
	return data, err
}
