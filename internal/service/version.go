package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/graph"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Version is one version of a workflow: its newest revision, or the one that was asked for.
type Version struct {
	Workflow          chargehand.WorkflowID
	Version           string
	Revision          int64 // counts from 1 within the version
	Title             string
	Published         bool      // the published pointer stands on this version
	PublishedRevision int64     // of this version; 0: none
	Draft             bool      // this revision was never published
	CreatedAt         time.Time // of the first revision
	UpdatedAt         time.Time // of this revision
	Definition        []byte    // JSON; only in answers about one version
	Source            []byte    // as WorkflowDetail.Source; only in answers about one version
	SourceType        string
	CreatedBy         Actor      // who has applied this revision; zero: this server, or it is not known
	Message           string     // what that one said about it
	Revisions         []Revision // the newest ones of the version; only in answers about one version
}

// Revision is one content of a version.
type Revision struct {
	Number    int64
	Draft     bool
	Published bool
	CreatedAt time.Time
	CreatedBy Actor
	Message   string
}

// maxListedRevisions is how many revisions an answer about a version lists.
const maxListedRevisions = 100

// ListVersions lists the versions of a workflow. Codes: workflow_not_found.
func (s *Service) ListVersions(ctx context.Context, p *Principal, id chargehand.WorkflowID, limit int, after Cursor) (*Page[Version], error) {
	w, _, err := s.readable(ctx, p, id)
	if err != nil {
		return nil, err
	}
	page := &Page[Version]{Data: []Version{}}
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
				v, err := s.version(r, w, &rows[i])
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

func (s *Service) version(r *store.Reader, w *currentWorkflow, row *store.Revision) (Version, error) {
	by, err := s.names.actor(r, row.CreatedBy, s.now())
	if err != nil {
		return Version{}, err
	}
	v := Version{
		Workflow: w.row.ID, Version: row.Version, Revision: row.Number, Title: row.Title,
		Published: row.Version == w.published.Version, Draft: row.Draft,
		CreatedAt: atMs(row.CreatedMs), UpdatedAt: atMs(row.CreatedMs), CreatedBy: by, Message: row.Message,
	}
	if v.Published {
		v.PublishedRevision = w.published.Number
	}
	if row.Number == 1 {
		return v, nil
	}
	first, err := r.RevisionByNumber(row.Workflow, row.Version, 1)
	v.CreatedAt = atMs(first.CreatedMs)
	return v, err
}

// GetVersion returns a revision of a version; number 0 stands for the newest one.
// Codes: workflow_not_found, version_not_found.
func (s *Service) GetVersion(
	ctx context.Context, p *Principal, id chargehand.WorkflowID, version string, number int64,
) (*Version, error) {
	w, _, err := s.readable(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return s.shownVersion(ctx, w, version, number)
}

func (s *Service) shownVersion(ctx context.Context, w *currentWorkflow, version string, number int64) (*Version, error) {
	var revision store.Revision
	err := s.view(ctx, func(r *store.Reader) (err error) {
		if revision, err = r.RevisionByVersion(w.row.No, version, true); err != nil {
			return notFoundIs(err, func() error { return versionNotFound(version) })
		}
		if number != 0 {
			revision, err = r.RevisionByNumber(w.row.No, version, number)
		}
		return notFoundIs(err, func() error { return revisionNotFound(version, number) })
	})
	if err != nil {
		return nil, err
	}
	return s.shownRevision(ctx, w, &revision)
}

// revisions lists the newest revisions of a version.
func (s *Service) revisions(r *store.Reader, w *currentWorkflow, version string) ([]Revision, error) {
	rows, err := r.RevisionsOf(w.row.No, version, maxListedRevisions)
	list := make([]Revision, len(rows))
	for i := range rows {
		row := &rows[i]
		list[i] = Revision{
			Number: row.Number, Draft: row.Draft, Published: row.No == w.row.Published, CreatedAt: atMs(row.CreatedMs), Message: row.Message,
		}
		if list[i].CreatedBy, err = s.names.actor(r, row.CreatedBy, s.now()); err != nil {
			return nil, err
		}
	}
	return list, err
}

// shownRevision is a version with the definition of one of its revisions.
func (s *Service) shownRevision(ctx context.Context, w *currentWorkflow, revision *store.Revision) (*Version, error) {
	var v Version
	err := s.view(ctx, func(r *store.Reader) error {
		definition, err := r.Definition(revision.Definition)
		if err != nil {
			return err
		}
		if v, err = s.version(r, w, revision); err != nil {
			return err
		}
		v.Source, v.SourceType = definition.Source, definition.MediaType
		v.Revisions, err = s.revisions(r, w, revision.Version)
		return err
	})
	if err != nil {
		return nil, err
	}
	compiled, err := s.plans.Plan(ctx, revision.No)
	if err != nil {
		return nil, storageError(err)
	}
	v.Definition = value.Marshal(compiled.Definition())
	return &v, nil
}

// Graph is the control flow of a revision of a workflow: of the one that GetWorkflow shows, or of a version's;
// number 0 stands for its newest revision. Codes: workflow_not_found, version_not_found.
func (s *Service) Graph(
	ctx context.Context, p *Principal, id chargehand.WorkflowID, version string, number int64,
) (*graph.Graph, error) {
	var source []byte
	if version == "" {
		w, err := s.GetWorkflow(ctx, p, id)
		if err != nil {
			return nil, err
		}
		source = w.Source
	} else {
		v, err := s.GetVersion(ctx, p, id, version, number)
		if err != nil {
			return nil, err
		}
		source = v.Source
	}
	return graphOf(source, id)
}

func revisionNotFound(version string, number int64) error {
	return chargehand.NewError(chargehand.CodeVersionNotFound,
		fmt.Sprintf("The version %s has no revision %d.", excerpt.Quote(version), number))
}

// PublishVersion is the request to publish a version.
type PublishVersion struct {
	Workflow    chargehand.WorkflowID
	Version     string
	Body        value.Value // nil, or an object with `revision`
	Idempotency *Idempotency
}

// PublishVersion moves the published pointer to a revision of a version: the newest one, or the one that the
// body names. A workflow that has drafts only is there for this, in live too.
// Codes: insufficient_scope, workflow_not_found, version_not_found, invalid_body, unknown_field, state_conflict (it is
// not clear which revision is meant, or a later one was published), idempotency_key_reused, idempotency_in_progress.
func (s *Service) PublishVersion(ctx context.Context, p *Principal, r PublishVersion) (v *Version, replayed bool, err error) {
	if err := Require(p, ScopeWorkflowsPublish); err != nil {
		return nil, false, err
	}
	show := func(*idempotencyGuard) (*Version, error) {
		w, err := s.current(ctx, p, r.Workflow)
		if err != nil {
			return nil, err
		}
		if w.published.Version != r.Version { // it was replaced in between
			return s.shownVersion(ctx, w, r.Version, 0)
		}
		return s.shownRevision(ctx, w, &w.published)
	}
	return guarded(ctx, s, p, r.Idempotency, func(c *idempotencyGuard) (*Version, error) {
		if err := s.publish(ctx, p, &r, c); err != nil {
			return nil, err
		}
		return show(c)
	}, show)
}

func (s *Service) publish(ctx context.Context, p *Principal, r *PublishVersion, c *idempotencyGuard) error {
	w, err := s.current(ctx, p, r.Workflow)
	if err != nil {
		return err
	}
	f, err := openBody(r.Body, "revision")
	if err != nil {
		return err
	}
	number := f.positive("revision", 0)
	if err := f.err(); err != nil {
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
		revision, err := publishable(&tx.Reader, &row, r.Version, number)
		if err == nil && revision.No != row.Published {
			// Whether it has a schedule is looked up when that begins.
			err = movePointer(tx, &row, &revision, true, s.nowMs(), s.auditPublished(ctx, p))
		}
		if err != nil {
			return err
		}
		return c.record(tx, statusOK, "workflow", r.Workflow)
	})
	s.workflows.forget(workflowKey{p.AccountNo, r.Workflow})
	s.schedules.Notify()
	return err
}

// publishable finds the revision of a version that is to be published; number 0 means the newest one. To go back
// to a version that was published before must not publish a draft that was added since, maybe by a key that may not
// publish. So the request names the revision, unless the version is the published one.
// Codes: version_not_found, state_conflict.
func publishable(r *store.Reader, row *store.Workflow, version string, number int64) (store.Revision, error) {
	newest, err := r.RevisionByVersion(row.No, version, true)
	if err != nil {
		return newest, notFoundIs(err, func() error { return versionNotFound(version) })
	}
	approved, err := r.RevisionByVersion(row.No, version, false)
	if errors.Is(err, store.ErrNotFound) {
		approved, err = store.Revision{}, nil
	}
	if err != nil {
		return newest, err
	}
	if number == 0 {
		if newest.Draft && approved.No != 0 && approved.No != row.Published {
			return newest, stateConflict(fmt.Sprintf("The version %s has the revision %d, which was published before, and a draft, revision %d. "+
				"Say which one is to be published, as {\"revision\": %d}.", excerpt.Quote(version), approved.Number, newest.Number, approved.Number))
		}
		return newest, nil
	}
	chosen, err := r.RevisionByNumber(row.No, version, number)
	if err != nil {
		return chosen, notFoundIs(err, func() error { return revisionNotFound(version, number) })
	}
	if chosen.No < approved.No {
		return chosen, stateConflict(fmt.Sprintf("Revision %d of the version %s was published after revision %d, so there is no way back to that one. "+
			"Read its definition (GET …/versions/{version}?revision=%d) and apply it again, best as a new version.",
			approved.Number, excerpt.Quote(version), number, number))
	}
	return chosen, nil
}

// movePointer publishes a revision. What was a draft of the same version before it is none any more.
// The schedule of what was published before ends, and if scheduled, that of the revision begins. publishes is called
// first, in the same transaction (auditPublished).
func movePointer(
	tx *store.Tx, row *store.Workflow, revision *store.Revision, scheduled bool, nowMs int64,
	publishes func(*store.Tx, *store.Workflow, *store.Revision) error,
) error {
	if err := publishes(tx, row, revision); err != nil {
		return err
	}
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
		if draft.Version == revision.Version && draft.No <= revision.No {
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
