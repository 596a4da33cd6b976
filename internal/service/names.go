package service

import (
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// maxNames bounds each of the tables of names.
const maxNames = 10_000

// names turns internal numbers into what callers see. What it remembers never changes.
type names struct {
	workflows memo[chargehand.WorkflowID]
	revisions memo[revisionName]
	batches   memo[chargehand.BatchID]
}

// revisionName is what callers see of a revision.
type revisionName struct {
	version string
	number  int64 // within the version, from 1
	title   string
}

func nameOf(row *store.Revision) revisionName {
	return revisionName{version: row.Version, number: row.Number, title: row.Title}
}

// memo remembers values by number. It starts anew when it is full.
type memo[V any] struct {
	mu     sync.RWMutex
	values map[int64]V
}

func (m *memo[V]) get(no int64, read func() (V, error)) (V, error) {
	m.mu.RLock()
	v, ok := m.values[no]
	m.mu.RUnlock()
	if ok {
		return v, nil
	}
	v, err := read()
	if err != nil {
		return v, err
	}
	m.put(no, v)
	return v, nil
}

func (m *memo[V]) put(no int64, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil || len(m.values) >= maxNames {
		m.values = make(map[int64]V)
	}
	m.values[no] = v
}

func (n *names) workflow(r *store.Reader, no int64) (chargehand.WorkflowID, error) {
	return n.workflows.get(no, func() (chargehand.WorkflowID, error) {
		row, err := r.WorkflowByNo(no)
		return row.ID, err
	})
}

func (n *names) revision(r *store.Reader, no int64) (revisionName, error) {
	return n.revisions.get(no, func() (revisionName, error) {
		row, err := r.RevisionByNo(no)
		return nameOf(&row), err
	})
}

// batch is the id of a batch; zero for none.
func (n *names) batch(r *store.Reader, no int64) (chargehand.BatchID, error) {
	if no == 0 {
		return chargehand.BatchID{}, nil
	}
	return n.batches.get(no, func() (chargehand.BatchID, error) {
		row, err := r.BatchByNo(no)
		return row.ID, err
	})
}
