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
	versions  memo[string]
	batches   memo[chargehand.BatchID]
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

// version is the version of a revision.
func (n *names) version(r *store.Reader, revisionNo int64) (string, error) {
	return n.versions.get(revisionNo, func() (string, error) {
		row, err := r.RevisionByNo(revisionNo)
		return row.Version, err
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
