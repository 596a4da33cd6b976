package service

import (
	"errors"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// maxNames bounds each of the tables of names.
const maxNames = 10_000

// names turns internal numbers into what callers see. What it remembers never changes, but for the names of actors.
type names struct {
	workflows memo[chargehand.WorkflowID]
	fullNames memo[string] // namespace/name
	revisions memo[revisionName]
	batches   memo[chargehand.BatchID]
	actors    memo[knownActor]
}

// actorLife is how long the name of a user or an API key is remembered: unlike the others, it may change.
const actorLife = 10 * time.Second

// Actor is the user or API key whose request has started something. The zero value is none.
type Actor struct {
	Kind string // user or key
	ID   string
	Name string
}

type knownActor struct {
	Actor
	read time.Time
}

// revisionName is what callers see of a revision.
type revisionName struct {
	version string
	number  int64 // within the version, from 1
	title   string
	tags    string // as store.Revision.Tags
}

func nameOf(row *store.Revision) revisionName {
	return revisionName{version: row.Version, number: row.Number, title: row.Title, tags: row.Tags}
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

// workflowName is namespace/name.
func (n *names) workflowName(r *store.Reader, no int64) (string, error) {
	return n.fullNames.get(no, func() (string, error) {
		row, err := r.WorkflowByNo(no)
		return row.Namespace + "/" + row.Name, err
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

// actor is who has started something, by a number as in store.Execution.StartedBy.
func (n *names) actor(r *store.Reader, no int64, now time.Time) (Actor, error) {
	if no == 0 {
		return Actor{}, nil
	}
	n.actors.mu.RLock()
	known, found := n.actors.values[no]
	n.actors.mu.RUnlock()
	if age := now.Sub(known.read); found && age >= 0 && age < actorLife {
		return known.Actor, nil
	}
	a, err := readActor(r, no)
	if err != nil {
		return a, err
	}
	n.actors.put(no, knownActor{a, now})
	return a, nil
}

func readActor(r *store.Reader, no int64) (a Actor, err error) {
	if no < 0 {
		var p store.Person
		p, err = r.PersonByNo(-no)
		a = Actor{actorUser, p.ID.String(), p.Name}
	} else {
		var k store.Key
		k, err = r.KeyByNo(no)
		a = Actor{actorKey, k.ID.String(), k.Name}
	}
	if errors.Is(err, store.ErrNotFound) {
		return Actor{}, nil
	}
	return a, err
}

// The kinds of actors.
const (
	actorUser = "user"
	actorKey  = "key"
)

// startedBy is the principal as the one who starts something.
func (p *Principal) startedBy() Actor {
	switch {
	case p.PersonNo != 0:
		return Actor{actorUser, p.User.String(), p.Name}
	case p.KeyNo != 0:
		return Actor{actorKey, p.Key.String(), p.Name}
	}
	return Actor{}
}
