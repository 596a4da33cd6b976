package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// The media types of definitions.
const (
	mediaYAML = "application/yaml"
	mediaJSON = "application/json"
)

// ApplyWorkflow is the request to create or update a workflow.
type ApplyWorkflow struct {
	Definition []byte // YAML or JSON
	MediaType  string // application/yaml or application/json
	Draft      bool   // do not publish; so it is for a principal without workflows:publish
	Message    string // about the revision that is made; at most maxMessageBytes
	// Match are entity tags of which the workflow must have one, or * for any workflow; none: it may be anything.
	Match       []string
	Idempotency *Idempotency
}

// maxMessageBytes bounds what is said about a revision.
const maxMessageBytes = 1000

// matches tells whether a workflow is as the request wants it. Codes: revision_conflict.
func (r *ApplyWorkflow) matches(row *store.Workflow) error {
	tag := workflowTag(row)
	if len(r.Match) == 0 || row.No != 0 && slices.ContainsFunc(r.Match, func(m string) bool { return m == "*" || m == tag }) {
		return nil
	}
	detail := "The workflow has changed since it was read."
	if row.No == 0 {
		detail = "There is no workflow of this name yet, or it was deleted."
	}
	return chargehand.NewError(chargehand.CodeRevisionConflict, detail)
}

// workflowTag changes with every revision that is applied and with every publication.
func workflowTag(row *store.Workflow) string {
	return strconv.FormatInt(row.Published, 36) + "-" + strconv.FormatInt(row.Draft, 36)
}

// AppliedWorkflow tells what became of it. Version is the one that was applied.
type AppliedWorkflow struct {
	Workflow
	Revision int64 // counts from 1 within the version
	Draft    bool
	Created  bool // the workflow is new
	Warnings []chargehand.FieldError
	ETag     string // of the workflow, without quotes
}

// ApplyWorkflow creates a workflow, a version or a revision, and publishes it unless it is a
// draft or the principal may not publish. Identical content under the same version changes nothing,
// whether it is written in YAML or JSON; only a draft that is applied again as no draft is published.
// External resources are content too: they are fetched each time, and pinned (T69, T87).
// Codes: invalid_body or invalid_json (neither YAML nor JSON), definition_invalid,
// payload_too_large, workflow_not_found (outside the key's list), revision_conflict, idempotency_key_reused,
// idempotency_in_progress.
func (s *Service) ApplyWorkflow(ctx context.Context, p *Principal, r ApplyWorkflow) (w *AppliedWorkflow, replayed bool, err error) {
	return guarded(ctx, s, p, r.Idempotency,
		func(c *idempotencyGuard) (*AppliedWorkflow, error) { return s.apply(ctx, p, &r, c) },
		func(c *idempotencyGuard) (*AppliedWorkflow, error) { return s.applied(ctx, p, &r, c.found) })
}

// application is one definition on its way into the store.
type application struct {
	account  int64
	by       int64        // Principal.actor
	limits   store.Limits // of the key: they are pinned with the revision
	request  *ApplyWorkflow
	plan     *plan.Plan
	pins     []byte            // plan.EncodePins
	digest   [sha256.Size]byte // of the definition with its pins
	nowMs    int64
	workflow store.Workflow      // zero: there is none of that name
	newest   store.Revision      // of the version; zero: there is none
	same     bool                // newest has the same content
	files    []chargehand.FileID // that the definition names and the key may read: they are pinned with the revision

	publishes func(*store.Tx, *store.Workflow, *store.Revision) error // as in movePointer
}

// maxApplyAttempts bounds how often a decision is made anew. A decision is lost only if another
// request has changed the same workflow meanwhile.
const maxApplyAttempts = 100

// errChanged is returned out of a transaction that finds other rows than those that the
// decision was made on.
var errChanged = errors.New("the workflow was changed in between")

// draftsOnly reports whether the principal must not publish the workflow of a definition.
func (s *Service) draftsOnly(ctx context.Context, p *Principal, compiled *plan.Plan) (bool, error) {
	if p.rights == nil {
		return Require(p, ScopeWorkflowsPublish) != nil, nil
	}
	document := compiled.Document()
	var row store.Workflow
	err := s.view(ctx, func(r *store.Reader) (err error) {
		row, err = r.WorkflowByName(p.AccountNo, document.Namespace, document.Name)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	return p.mayOn(ScopeWorkflowsPublish, row.ID, document.Namespace) != nil, nil
}

func (s *Service) apply(ctx context.Context, p *Principal, r *ApplyWorkflow, c *idempotencyGuard) (*AppliedWorkflow, error) {
	if err := s.checkDefinitionSize(r.Definition); err != nil {
		return nil, err
	}
	if err := checkMediaType(r); err != nil {
		return nil, err
	}
	if len(r.Message) > maxMessageBytes {
		return nil, &chargehand.Error{Code: chargehand.CodeInvalidParameter, Detail: "The message of the revision is too long.", Fields: []chargehand.FieldError{{
			Parameter: "message", Code: "too_long", Detail: "message must have at most " + strconv.Itoa(maxMessageBytes) + " bytes.",
		}}}
	}
	compiled, err := s.compile(ctx, r.Definition, true)
	if err != nil {
		return nil, err
	}
	if compiled.plan == nil {
		return nil, refusedDefinition(r, compiled.problems, compiled.readable)
	}
	if !r.Draft {
		if r.Draft, err = s.draftsOnly(ctx, p, compiled.plan); err != nil {
			return nil, err
		}
	}
	a := &application{
		account: p.AccountNo, by: p.actor(), limits: p.Limits, request: r, plan: compiled.plan, pins: compiled.pins,
		digest: plan.SourceDigest(r.Definition, compiled.pins), nowMs: s.nowMs(),
		publishes: s.auditPublished(ctx, p),
	}
	for attempt := 1; ; attempt++ {
		if err := s.findVersion(ctx, p, a); err != nil {
			return nil, err
		}
		if err := r.matches(&a.workflow); err != nil {
			return nil, err
		}
		found, err := s.authorship(ctx, p, a.plan, a.workflow.ID)
		if err != nil {
			return nil, err
		}
		if len(found.problems) > 0 {
			return nil, refusedDefinition(r, found.problems, true)
		}
		a.files = found.files
		if err := s.compareDefinition(ctx, a); err != nil {
			return nil, err
		}
		applied, err := s.writeDefinition(ctx, a, c)
		if errors.Is(err, errChanged) && attempt < maxApplyAttempts {
			continue // another request made progress
		}
		if err != nil {
			return nil, err
		}
		applied.Warnings = s.warnings(ctx, p, compiled.plan, compiled.problems)
		return applied, nil
	}
}

// warnings are those of a definition that was applied. It is stored by now, so what cannot be read is left out of them.
func (s *Service) warnings(ctx context.Context, p *Principal, compiled *plan.Plan, problems dsl.Problems) []chargehand.FieldError {
	problems = problems.Warnings()
	people, err := s.unknownAssignees(ctx, p, compiled)
	if err != nil {
		s.log.Warn("read whom an applied definition assigns tasks to", "error", err)
	} else {
		problems = append(problems, people...)
	}
	problems.Sort()
	return fieldErrors(problems)
}

// findVersion reads what stands under the name and version of the definition. Codes: workflow_not_found.
func (s *Service) findVersion(ctx context.Context, p *Principal, a *application) error {
	a.workflow, a.newest = store.Workflow{}, store.Revision{}
	document := a.plan.Document()
	err := s.view(ctx, func(r *store.Reader) (err error) {
		if a.workflow, err = r.WorkflowByName(p.AccountNo, document.Namespace, document.Name); err == nil {
			a.newest, err = r.RevisionByVersion(a.workflow.No, document.Version, true)
		}
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	// A key that is limited to some workflows neither makes new ones nor learns of others; in its namespaces it
	// makes new ones.
	return checkName(p, a.plan, a.workflow.ID)
}

// compareDefinition compares the definition with the newest revision of its version. The comparison may compile
// what is stored, so it is done outside of the transaction.
func (s *Service) compareDefinition(ctx context.Context, a *application) error {
	a.same = false
	if a.newest.No == 0 {
		return nil
	}
	// What a limited key has applied may do less: for a key that sees more it is other content.
	if !a.newest.Limits.All() && !a.limits.Within(a.newest.Limits) {
		return nil
	}
	for _, id := range a.files {
		if !slices.Contains(a.newest.Files, id) {
			return nil
		}
	}
	if a.same = string(a.newest.Digest) == string(a.digest[:]); a.same {
		return nil
	}
	stored, err := s.plans.Plan(ctx, a.newest.No)
	if err != nil {
		return storageError(err)
	}
	a.same = stored.Digest() == a.plan.Digest()
	return nil
}

// writeDefinition stores what compareDefinition found to be new. Errors: errChanged.
func (s *Service) writeDefinition(ctx context.Context, a *application, c *idempotencyGuard) (applied *AppliedWorkflow, err error) {
	if a.same && (a.request.Draft || !a.newest.Draft) && c == nil {
		return a.result(&a.workflow, &a.newest, false), nil
	}
	var revisionNo int64
	err = s.update(ctx, func(tx *store.Tx) error {
		row, revision, created, err := a.write(tx)
		if errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("%w: %w", errChanged, err) // another node inserted, or deleted, the same
		}
		if err != nil {
			return err
		}
		revisionNo = revision.No
		applied = a.result(row, revision, created)
		status := statusOK
		if created {
			status = statusCreated
		}
		return c.record(tx, status, "workflow "+strconv.FormatInt(revision.No, 10), row.ID)
	})
	if err != nil {
		return nil, err
	}
	s.workflows.forget(workflowKey{a.account, applied.ID})
	if applied.Created {
		s.keys.clear() // those of its namespace see it
	}
	s.plans.add(revisionNo, a.digest, len(a.request.Definition)+len(a.pins), a.plan)
	if a.plan.Schedule != nil {
		s.schedules.Notify()
	}
	return applied, nil
}

func (a *application) result(row *store.Workflow, revision *store.Revision, created bool) *AppliedWorkflow {
	return &AppliedWorkflow{
		Workflow: shownWorkflow(row, nameOf(revision)), Revision: revision.Number, Draft: revision.Draft, Created: created,
		ETag: workflowTag(row),
	}
}

// storedTags are the tags of a definition as a revision has them.
func storedTags(tags map[string]any) string {
	if len(tags) == 0 {
		return ""
	}
	list := make([]any, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		text, isText := tags[key].(string)
		if !isText {
			text = string(value.Marshal(tags[key]))
		}
		list = append(list, key+":"+text)
	}
	return string(value.Marshal(list))
}

func (a *application) write(tx *store.Tx) (row *store.Workflow, revision *store.Revision, created bool, err error) {
	document := a.plan.Document()
	if err := a.check(tx); err != nil {
		return nil, nil, false, err
	}
	workflow, newest := a.workflow, a.newest // the transaction may be undone
	row, revision = &workflow, &newest
	if a.same {
		if revision.Draft && !a.request.Draft {
			err = movePointer(tx, row, revision, a.plan.Schedule != nil, a.nowMs, a.publishes)
		}
		return row, revision, false, err
	}
	if created = row.No == 0; created {
		*row = store.Workflow{
			ID: newID[chargehand.WorkflowID](a.nowMs), Account: a.account,
			Namespace: document.Namespace, Name: document.Name, CreatedMs: a.nowMs,
		}
		if err := tx.InsertWorkflow(row); err != nil {
			return nil, nil, false, err
		}
	}
	media := mediaYAML
	if a.request.MediaType == mediaJSON {
		media = mediaJSON
	}
	definition := store.Definition{Account: a.account, Digest: a.digest[:], MediaType: media, Source: a.request.Definition, Resources: a.pins}
	if err := tx.PutDefinition(&definition); err != nil {
		return nil, nil, false, err
	}
	*revision = store.Revision{
		Workflow: row.No, Version: document.Version, Definition: definition.No, Digest: a.digest[:],
		Title: document.Title, Draft: a.request.Draft, CreatedMs: a.nowMs, Limits: a.limits,
		Files: a.files, CreatedBy: a.by, Message: a.request.Message, Tags: storedTags(document.Tags),
	}
	if err := tx.InsertRevision(revision); err != nil {
		return nil, nil, false, err
	}
	if err := tx.UseSecrets(a.account, revision.No, a.plan.Secrets()); err != nil {
		return nil, nil, false, err
	}
	if !a.request.Draft {
		return row, revision, created, movePointer(tx, row, revision, a.plan.Schedule != nil, a.nowMs, a.publishes)
	}
	row.Draft, row.UpdatedMs = revision.No, max(a.nowMs, row.UpdatedMs)
	return row, revision, created, tx.UpdateWorkflow(row)
}

// check tells whether the rows are still those that the decision was made on. It locks the
// workflow, so that they stay that until the transaction is committed.
func (a *application) check(tx *store.Tx) error {
	document := a.plan.Document()
	if a.workflow.No == 0 {
		_, err := tx.WorkflowByName(a.account, document.Namespace, document.Name)
		switch {
		case err == nil:
			return errChanged
		case errors.Is(err, store.ErrNotFound):
			return nil
		}
		return err
	}
	row, err := tx.WorkflowForUpdate(a.workflow.No)
	if err != nil {
		return err
	}
	if row != a.workflow { // it may be deleted
		return errChanged
	}
	newest, err := tx.RevisionByVersion(row.No, document.Version, true)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if newest.No != a.newest.No {
		return errChanged
	}
	return nil
}

// applied shows again what the same request made before.
func (s *Service) applied(ctx context.Context, p *Principal, r *ApplyWorkflow, found *store.Idempotency) (*AppliedWorkflow, error) {
	_, number, _ := strings.Cut(found.Kind, " ")
	revisionNo, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil, err
	}
	var row store.Workflow
	var revision store.Revision
	var definition store.Definition
	err = s.view(ctx, func(reader *store.Reader) (err error) {
		if row, err = reader.WorkflowByID(p.AccountNo, chargehand.WorkflowID(found.Resource)); err != nil {
			return err
		}
		if revision, err = reader.RevisionByNo(revisionNo); err != nil {
			return err
		}
		definition, err = reader.Definition(revision.Definition)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && !p.Sees(row.ID) {
		return nil, workflowNotFound()
	}
	if err != nil {
		return nil, err
	}
	// What is stored may be an equal definition with another text: the warnings are those of
	// the text that was sent, with the resources that were read then.
	compiled, problems, err := plan.Recompile(r.Definition, definition.Resources, s.plans.options.Limits)
	if err != nil {
		return nil, fmt.Errorf("compile the definition again: %w", err)
	}
	return &AppliedWorkflow{
		Workflow: shownWorkflow(&row, nameOf(&revision)), Revision: revision.Number, Draft: revision.Draft,
		Created: found.Status == statusCreated, Warnings: s.warnings(ctx, p, compiled, problems),
	}, nil
}

// ApplyFromOperator applies a definition for the operator of the installation: in the first
// account, published at once. Codes: as ApplyWorkflow.
func (s *Service) ApplyFromOperator(ctx context.Context, definition []byte) (*AppliedWorkflow, error) {
	account, err := FirstAccount(ctx, s.store, s.now())
	if err != nil {
		return nil, err
	}
	media := mediaYAML
	if checkMediaType(&ApplyWorkflow{Definition: definition, MediaType: mediaJSON}) == nil {
		media = mediaJSON
	}
	operator := &Principal{Kind: KindSystem, Account: account.ID, AccountNo: account.No, Environment: chargehand.Live, Scopes: PresetAll}
	applied, _, err := s.ApplyWorkflow(ctx, operator, ApplyWorkflow{Definition: definition, MediaType: media})
	return applied, err
}
