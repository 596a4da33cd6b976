package service

import (
	"context"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// RetryExecution is the request to run an execution again.
type RetryExecution struct {
	Workflow    chargehand.WorkflowID
	Execution   chargehand.ExecutionID
	Body        value.Value // nil, or an object with `input`, `version`, `from` and `labels`
	Idempotency *Idempotency
	View        View
	// resolve writes that an operation has started the new execution, in place of an entry of the audit log.
	resolve func(tx *store.Tx, started chargehand.ExecutionID) error
}

// RetryExecution starts a new execution with the input of one that has ended, or with another input. It may begin with
// a task of that execution, so that those before it do not run again.
// Codes: execution_not_found, state_conflict (it has not ended), workflow_not_found
// (deleted), version_not_found, invalid_body, unknown_field, task_not_retryable, and those of CreateExecution.
func (s *Service) RetryExecution(ctx context.Context, p *Principal, r RetryExecution) (e *Execution, replayed bool, err error) {
	e, replayed, err = guarded(ctx, s, p, r.Idempotency,
		func(c *idempotencyGuard) (*Execution, error) { return s.retry(ctx, p, &r, c) },
		func(c *idempotencyGuard) (*Execution, error) { return s.created(ctx, p, c.found, r.View) })
	if err != nil {
		return nil, false, err
	}
	e.Newer = s.newer(ctx, p, e)
	return e, replayed, nil
}

// newer is what a start would run now, if that is newer than what an execution runs. It is a
// hint beside an answer that stands: what cannot be found out is left out.
func (s *Service) newer(ctx context.Context, p *Principal, e *Execution) *NewerRevision {
	w, err := s.current(context.WithoutCancel(ctx), p, e.Workflow)
	if err != nil {
		return nil
	}
	now, ok := w.revision(p.Environment)
	if !ok || now.No <= e.revisionNo {
		return nil
	}
	return &NewerRevision{Version: now.Version, Revision: now.Number}
}

// The words that name a version beside the versions themselves.
const (
	versionPublished = "published" // what a start would run
	versionSame      = "same"      // the revision of the original
)

// retryBody is what the body of a retry says.
type retryBody struct {
	input   map[string]any // nil: that of the original
	version string         // empty: the revision of the original
	from    string         // task that it begins with; empty: the first
	labels  []store.Label  // if relabels
	// relabels: the retry does not have the labels of the original, and of its batch.
	relabels bool
}

// readRetry reads the body of a retry. Codes: invalid_body, unknown_field.
func readRetry(body value.Value) (b retryBody, err error) {
	f, err := openBody(body, "input", "version", "from", "labels")
	if err != nil {
		return b, err
	}
	if f.has("input") {
		b.input = f.object("input")
	}
	if b.relabels = f.has("labels"); b.relabels {
		b.labels = f.labels("labels")
	}
	b.version = f.text("version", maxVersionBytes)
	if f.has("version") && b.version == "" && f.err() == nil {
		f.fail("version", "empty", `The field "version" must be "published", "same" or a version.`)
	}
	if b.version == versionSame {
		b.version = ""
	}
	b.from = f.text("from", maxReferenceBytes)
	if f.has("from") && b.from == "" && f.err() == nil {
		f.fail("from", "empty", `The field "from" must be the reference of a task, such as "/do/1/pay".`)
	}
	if err := f.err(); err != nil || b.from == "" || !f.has("input") {
		return b, err
	}
	const detail = `The fields "input" and "from" exclude each other: a retry from a task takes over the data of the execution. Leave one of them out.`
	return b, chargehand.NewError(chargehand.CodeTaskNotRetryable, detail, chargehand.FieldError{Pointer: "/input", Code: "with_from", Detail: detail})
}

// maxVersionBytes bounds the version that a retry names. No definition has a longer one.
const maxVersionBytes = 1000

func (s *Service) retry(ctx context.Context, p *Principal, r *RetryExecution, c *idempotencyGuard) (*Execution, error) {
	body, err := readRetry(r.Body)
	if err != nil {
		return nil, err
	}
	var original store.Execution
	var name revisionName
	var labels []store.Label
	err = s.view(ctx, func(reader *store.Reader) (err error) {
		if original, err = s.findExecution(reader, p, r.Workflow, r.Execution); err != nil {
			return err
		}
		if name, err = s.names.revision(reader, original.Revision); err != nil {
			return err
		}
		if labels = body.labels; body.relabels {
			return nil
		}
		all, err := reader.Labels([]store.Execution{original})
		labels = all[original.No]
		return err
	})
	if err != nil {
		return nil, err
	}
	if !original.Status.Final() {
		return nil, stateConflict("The execution has not ended yet.")
	}
	w, revision, err := s.retried(ctx, p, r.Workflow, body.version, store.Revision{
		No: original.Revision, Version: name.version, Number: name.number, Title: name.title,
	})
	if err != nil {
		return nil, err
	}
	starter, err := s.retryStarter(ctx, p, original.Starter)
	if err != nil {
		return nil, err
	}
	start := engine.Start{Row: store.Execution{
		ID: newID[chargehand.ExecutionID](s.nowMs()), Account: p.AccountNo, Environment: p.Environment,
		Workflow: w.row.No, Revision: revision.No, RetryOf: original.ID, Labels: labels,
		Trace: span.Encode(ctx), Starter: starter, StartedBy: p.actor(),
	}}
	if start.Plan, err = s.plans.Plan(ctx, revision.No); err != nil {
		return nil, storageError(err)
	}
	if body.from != "" {
		if err := s.retryFrom(ctx, &start, &original, body.from, revision.Version); err != nil {
			return nil, err
		}
	}
	if err := s.retryInput(ctx, p, &start, &original, body.input); err != nil {
		return nil, err
	}
	start.InTx = func(tx *store.Tx, _ int64) error {
		if r.resolve != nil {
			return r.resolve(tx, start.Row.ID)
		}
		changes := changed("execution", nil, start.Row.ID.String()).Set("version", name.version, revision.Version)
		changes.Set("revision", name.number, revision.Number)
		if body.input != nil {
			changes.Set("input", "that of the execution", "another")
		}
		if body.from != "" {
			changes.Set("from", "", body.from)
		}
		return s.audit(ctx, tx, p, audit.ExecutionRetried, audit.Target{
			Kind: "execution", ID: r.Execution.String(), Name: w.row.Namespace + "/" + w.row.Name,
		}, changes)
	}
	return s.start(ctx, p, &start, startNames{w.row.ID, w.fullName(), nameOf(&revision), p.startedBy()}, c, r.View)
}

// retried finds the revision that a retry runs. Codes: workflow_not_found, version_not_found.
func (s *Service) retried(
	ctx context.Context, p *Principal, workflow chargehand.WorkflowID, version string, same store.Revision,
) (*currentWorkflow, store.Revision, error) {
	named := version
	if version == versionPublished {
		named = ""
	}
	w, revision, err := s.startable(ctx, p, workflow, named)
	if version == "" {
		revision = same
	}
	return w, revision, err
}

// retryInput puts the input of a retry into its start: the given one, or that of the original with the files that the
// original was granted. Codes: input_invalid.
func (s *Service) retryInput(ctx context.Context, p *Principal, start *engine.Start, original *store.Execution, given map[string]any) error {
	if given != nil {
		start.Input = given
		return checkInput(start.Plan, start.Input)
	}
	input, err := s.unpack(ctx, original.Input)
	if err != nil {
		return err
	}
	start.Row.Input = original.Input
	if start.Input, err = parseStored(input); err != nil {
		return err
	}
	if err := checkInput(start.Plan, start.Input); err != nil {
		return err
	}
	return s.giveAgain(ctx, p, start, original)
}
