package service

import (
	"context"
	"reflect"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// found is what a reading finds of a topic.
type found struct {
	row       any
	execution *snapshot
	batch     *Batch
	final     bool
	mine      *taskState
	at        int // the number of a topic of human tasks
}

// read reads the states of topics, of up to store.MaxStatuses at a time.
func (h *live) read(due []*topic) {
	h.mu.Lock()
	round := h.round
	h.mu.Unlock()
	for len(due) > 0 {
		n := min(len(due), store.MaxStatuses)
		began := time.Now()
		known, err := h.states(due[:n])
		h.publish(due[:n], known, err, round, time.Since(began))
		due = due[n:]
	}
}

// states reads rows, a query for each kind of them.
func (h *live) states(due []*topic) (known map[Topic]found, err error) {
	var executions, batches [][16]byte
	before := make(map[Topic]found, len(due))
	h.mu.Lock()
	for _, t := range due {
		before[t.Topic] = found{row: t.row, execution: t.execution, batch: t.batch}
		if t.Kind == TopicBatch {
			batches = append(batches, t.ID)
		} else {
			executions = append(executions, t.ID)
		}
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = h.s.view(ctx, func(r *store.Reader) error {
		known = make(map[Topic]found, len(due))
		if err := h.executions(r, executions, before, known); err != nil {
			return err
		}
		return h.batches(r, batches, before, known)
	})
	return known, err
}

func (h *live) executions(r *store.Reader, ids [][16]byte, before, known map[Topic]found) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := r.ExecutionsWithIDs(ids)
	if err != nil {
		return err
	}
	tasks, err := h.s.openTasks(r, rows)
	if err != nil {
		return err
	}
	for _, row := range rows {
		id := Topic{TopicExecution, row.ID}
		f := before[id]
		if now := (rowWithTasks{row, tasks[row.No]}); f.row == nil || !reflect.DeepEqual(f.row, now) {
			f = found{row: now, execution: &snapshot{row: row, tasks: now.tasks}}
			if err := h.s.complete(r, f.execution); err != nil {
				return err
			}
		}
		f.final = row.Status.Final()
		known[id] = f
	}
	return h.completeAll(r, before, known)
}

// rowWithTasks is what is compared of an execution. Its tasks may change beside its row.
type rowWithTasks struct {
	row   store.Execution
	tasks []store.OpenTask
}

// completeAll reads what belongs to the executions that have changed. Labels and ancestors never change.
func (h *live) completeAll(r *store.Reader, before, known map[Topic]found) error {
	var changed []*snapshot
	for id, f := range known {
		x, was := f.execution, before[id].execution
		switch {
		case x == nil || x == was:
		case was != nil && !f.final:
			x.labels, x.parent, x.root = was.labels, was.parent, was.root
		default:
			changed = append(changed, x)
		}
	}
	list := make([]snapshot, len(changed))
	for i, x := range changed {
		list[i] = *x
	}
	err := h.s.completeAll(r, list)
	for i, x := range changed {
		*x = list[i]
	}
	return err
}

func (h *live) batches(r *store.Reader, ids [][16]byte, before, known map[Topic]found) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := r.BatchesWithIDs(ids)
	if err != nil {
		return err
	}
	var open []int64
	for i := range rows {
		if !rows[i].Status.Final() {
			open = append(open, rows[i].No)
		}
	}
	counts, err := r.CountItemsOf(open)
	if err != nil {
		return err
	}
	for i := range rows {
		row := &rows[i]
		b, err := h.s.batchWith(r, row, counts[row.No], View{})
		if err != nil {
			return err
		}
		if was := before[Topic{TopicBatch, row.ID}].batch; was != nil {
			b.Labels = was.Labels // they never change
		} else if b.Labels, err = r.BatchLabels(row.No); err != nil {
			return err
		}
		known[Topic{TopicBatch, row.ID}] = found{row: *b, batch: b, final: row.Status.Final()}
	}
	return nil
}
