package service

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/store"
)

// Version is one version of a workflow: its newest revision.
type Version struct {
	Workflow   chargehand.WorkflowID
	Version    string
	Revision   int64 // counts from 1 within the version
	Title      string
	Published  bool      // the published pointer stands on this version
	Draft      bool      // its newest revision was never published
	CreatedAt  time.Time // of the first revision
	UpdatedAt  time.Time // of the newest revision
	Definition []byte    // JSON; only in answers about one version
	Source     []byte    // as WorkflowDetail.Source; only in answers about one version
	SourceType string
}

// VersionPage is one page of versions, the most recently applied first.
type VersionPage struct {
	Data   []Version
	Cursor Cursor
}

// ListVersions lists the versions of a workflow. Codes: workflow_not_found.
func (s *Service) ListVersions(ctx context.Context, p *Principal, id chargehand.WorkflowID, limit int, after Cursor) (*VersionPage, error) {
	w, _, err := s.readable(ctx, p, id)
	if err != nil {
		return nil, err
	}
	page := &VersionPage{Data: []Version{}}
	err = s.view(ctx, func(r *store.Reader) error {
		last := after.Milli // the number of a revision
		for {
			rows, err := r.ListRevisions(w.row.No, last, 100)
			if err != nil || len(rows) == 0 {
				return err
			}
			for i := range rows {
				newest, err := r.RevisionByVersion(w.row.No, rows[i].Version, true)
				if err != nil {
					return err
				}
				if newest.No != rows[i].No {
					continue
				}
				if len(page.Data) == limit {
					page.Cursor = Cursor{Milli: last, ID: w.row.ID}
					return nil
				}
				v, err := w.version(r, &rows[i])
				if err != nil {
					return err
				}
				page.Data = append(page.Data, v)
				last = rows[i].No
			}
			last = rows[len(rows)-1].No
		}
	})
	return page, err
}

func (w *currentWorkflow) version(r *store.Reader, row *store.Revision) (Version, error) {
	v := Version{
		Workflow: w.row.ID, Version: row.Version, Revision: row.Number, Title: row.Title,
		Published: row.Version == w.published.Version, Draft: row.Draft,
		CreatedAt: atMs(row.CreatedMs), UpdatedAt: atMs(row.CreatedMs),
	}
	if row.Number == 1 {
		return v, nil
	}
	first, err := r.RevisionByNumber(row.Workflow, row.Version, 1)
	v.CreatedAt = atMs(first.CreatedMs)
	return v, err
}

// GetVersion returns one version. Codes: workflow_not_found, version_not_found.
func (s *Service) GetVersion(ctx context.Context, p *Principal, id chargehand.WorkflowID, version string) (*Version, error) {
	w, _, err := s.readable(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return s.shownVersion(ctx, w, version)
}

func (s *Service) shownVersion(ctx context.Context, w *currentWorkflow, version string) (*Version, error) {
	var v Version
	var revision store.Revision
	err := s.view(ctx, func(r *store.Reader) (err error) {
		if revision, err = r.RevisionByVersion(w.row.No, version, true); err != nil {
			return err
		}
		definition, err := r.Definition(revision.Definition)
		if err != nil {
			return err
		}
		v, err = w.version(r, &revision)
		v.Source, v.SourceType = definition.Source, definition.MediaType
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, versionNotFound(version)
	}
	if err != nil {
		return nil, err
	}
	compiled, err := s.plans.Plan(ctx, revision.No)
	if err != nil {
		return nil, storageError(err)
	}
	v.Definition = expr.Marshal(compiled.Definition())
	return &v, nil
}

// PublishVersion moves the published pointer to the newest revision of a version. A workflow
// that has drafts only is there for this, in live too.
// Codes: workflow_not_found, version_not_found, idempotency_key_reused, idempotency_in_progress.
func (s *Service) PublishVersion(ctx context.Context, p *Principal, id chargehand.WorkflowID, version string, i *Idempotency) (v *Version, replayed bool, err error) {
	show := func(*claim) (*Version, error) {
		w, err := s.current(ctx, p, id)
		if err != nil {
			return nil, err
		}
		return s.shownVersion(ctx, w, version)
	}
	return once(ctx, s, p, i, func(c *claim) (*Version, error) {
		if err := s.publish(ctx, p, id, version, c); err != nil {
			return nil, err
		}
		return show(c)
	}, show)
}

func (s *Service) publish(ctx context.Context, p *Principal, id chargehand.WorkflowID, version string, c *claim) error {
	w, err := s.current(ctx, p, id)
	if err != nil {
		return err
	}
	err = s.update(ctx, func(tx *store.Tx) error {
		row, err := tx.WorkflowForUpdate(w.row.No)
		if err != nil {
			return err
		}
		if row.DeletedMs != 0 {
			return workflowNotFound()
		}
		revision, err := tx.RevisionByVersion(row.No, version, true)
		if errors.Is(err, store.ErrNotFound) {
			return versionNotFound(version)
		}
		if err == nil && revision.No != row.Published {
			// Whether it has a schedule is looked up when that begins.
			err = movePointer(tx, &row, &revision, true, s.nowMs())
		}
		if err != nil {
			return err
		}
		return c.record(tx, statusOK, "workflow", id)
	})
	s.workflows.forget(workflowKey{p.AccountNo, id})
	s.schedules.Poke()
	return err
}

// movePointer publishes a revision. What was the draft of the same version is none any more.
// The schedule of what was published before ends, and if scheduled, that of the revision begins.
func movePointer(tx *store.Tx, row *store.Workflow, revision *store.Revision, scheduled bool, nowMs int64) error {
	if revision.Draft {
		if err := tx.SetRevisionDraft(revision.No, false); err != nil {
			return err
		}
		revision.Draft = false
	}
	if row.Draft != 0 {
		draft, err := tx.RevisionByNo(row.Draft)
		if err != nil {
			return err
		}
		if draft.Version == revision.Version {
			row.Draft = 0
		}
	}
	row.Published = revision.No
	row.UpdatedMs = max(nowMs, row.UpdatedMs)
	if err := tx.UpdateWorkflow(row); err != nil {
		return err
	}
	if !scheduled {
		return tx.DeactivateSchedule(row.No)
	}
	return tx.ActivateSchedule(row.Account, row.No, revision.No, nowMs)
}
