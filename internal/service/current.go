package service

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/store"
)

// maxCachedWorkflows bounds the cache of workflows.
const maxCachedWorkflows = 10_000

// workflowCache holds the rows of workflows and what their pointers lead to, so that a start
// costs no query. This process forgets an entry when it changes the workflow; what another
// process changed counts within a second, as with keys, or at once if the database is known
// to be shared (Config.Shared): then the row is compared each time, and only what the
// pointers lead to is taken from the cache. A client that got the answer "published" may
// then start that version on any node.
type workflowCache struct {
	mu      sync.RWMutex
	entries map[workflowKey]*currentWorkflow
	age     uint64 // counts the changes made here
}

type workflowKey struct {
	account int64
	id      chargehand.WorkflowID
}

// currentWorkflow is a workflow that is not deleted.
type currentWorkflow struct {
	row       store.Workflow
	published store.Revision // zero: none
	draft     store.Revision // zero: none
	loaded    time.Time
	reading   atomic.Bool // a request reads it again
}

// fullName is namespace/name.
func (w *currentWorkflow) fullName() string { return w.row.Namespace + "/" + w.row.Name }

// revision is what a start without `version` runs: in live the published one, in test the
// most recently applied draft, else the published one.
func (w *currentWorkflow) revision(env chargehand.Environment) (store.Revision, bool) {
	if env == chargehand.Test && w.draft.No != 0 {
		return w.draft, true
	}
	return w.published, w.published.No != 0
}

func (c *workflowCache) find(key workflowKey) (*currentWorkflow, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.entries[key], c.age
}

func (c *workflowCache) put(key workflowKey, w *currentWorkflow, age uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.age != age {
		return
	}
	if c.entries == nil || len(c.entries) >= maxCachedWorkflows {
		c.entries = make(map[workflowKey]*currentWorkflow)
	}
	c.entries[key] = w
}

// forget drops an entry, also one that is being read: the workflow was changed.
func (c *workflowCache) forget(key workflowKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
	c.age++
}

// fresh tells whether the entry may be used without reading it again.
func (w *currentWorkflow) fresh(now time.Time) bool {
	age := now.Sub(w.loaded)
	return age >= 0 && (age < softAge || age < hardAge && !w.reading.CompareAndSwap(false, true))
}

// current finds a workflow that the principal can see and that is not deleted, whether or
// not something of it can be started. Codes: workflow_not_found.
func (s *Service) current(ctx context.Context, p *Principal, id chargehand.WorkflowID) (*currentWorkflow, error) {
	// A workflow of the key's namespaces may be newer than the key's list.
	if !p.Sees(id) && len(p.Limits.Namespaces) == 0 {
		return nil, workflowNotFound()
	}
	key := workflowKey{p.AccountNo, id}
	now := s.now()
	w, age := s.workflows.find(key)
	if w != nil && !s.shared && w.fresh(now) {
		if !p.Sees(id) && !p.Limits.Admit(id, w.row.Namespace) {
			return nil, workflowNotFound()
		}
		return w, nil
	}
	known := w
	w = &currentWorkflow{loaded: now}
	err := s.view(ctx, func(r *store.Reader) error { return w.read(r, key, known) })
	if errors.Is(err, store.ErrNotFound) || err == nil && w.row.DeletedMs != 0 {
		return nil, workflowNotFound()
	}
	if err != nil {
		return nil, err
	}
	s.workflows.put(key, w, age)
	if !p.Sees(id) && !p.Limits.Admit(id, w.row.Namespace) {
		return nil, workflowNotFound()
	}
	return w, nil
}

// read reads the row and, unless it is the one of known, what its pointers lead to: a
// revision changes only together with the row of its workflow.
func (w *currentWorkflow) read(r *store.Reader, key workflowKey, known *currentWorkflow) (err error) {
	if w.row, err = r.WorkflowByID(key.account, key.id); err != nil {
		return err
	}
	if known != nil && known.row == w.row {
		w.published, w.draft = known.published, known.draft
		return nil
	}
	if w.row.Published != 0 {
		if w.published, err = r.RevisionByNo(w.row.Published); err != nil {
			return err
		}
	}
	if w.row.Draft != 0 {
		w.draft, err = r.RevisionByNo(w.row.Draft)
	}
	return err
}

func workflowNotFound() error {
	return chargehand.NewError(chargehand.CodeWorkflowNotFound, "There is no such workflow.")
}

func versionNotFound(version string) error {
	return chargehand.NewError(chargehand.CodeVersionNotFound, "The workflow has no version "+excerpt.Quote(version)+".")
}

// startable finds the revision that a start runs. Drafts run in test only.
// Codes: workflow_not_found, version_not_found.
func (s *Service) startable(ctx context.Context, p *Principal, id chargehand.WorkflowID, version string) (*currentWorkflow, store.Revision, error) {
	w, err := s.current(ctx, p, id)
	if err != nil {
		return nil, store.Revision{}, err
	}
	revision, ok := w.revision(p.Environment)
	if !ok {
		return nil, store.Revision{}, workflowNotFound()
	}
	// A published revision is the newest one of its version that is no draft.
	if version == "" || version == revision.Version && p.Environment == chargehand.Live {
		return w, revision, nil
	}
	err = s.view(ctx, func(r *store.Reader) (err error) {
		revision, err = r.RevisionByVersion(w.row.No, version, p.Environment == chargehand.Test)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = versionNotFound(version)
	}
	return w, revision, err
}
