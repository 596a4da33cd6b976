package service

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// CreateExecution is the request to start one execution.
type CreateExecution struct {
	Workflow    chargehand.WorkflowID
	Version     string      // empty: the current one
	Body        value.Value // an object with `input`; nil: an empty body
	Idempotency *Idempotency
	View        View
}

// CreateExecution starts an execution. When it returns, the execution is durable. The answer
// says initial, whatever has happened since, also when it is replayed; only a caller who
// waits sees more.
// Codes: workflow_not_found, version_not_found, invalid_body, unknown_field, input_invalid,
// storage_reserve, quota_exceeded, queue_full (with RetryAfter), idempotency_key_reused, idempotency_in_progress.
func (s *Service) CreateExecution(ctx context.Context, p *Principal, r CreateExecution) (e *Execution, replayed bool, err error) {
	return guarded(ctx, s, p, r.Idempotency,
		func(c *idempotencyGuard) (*Execution, error) { return s.create(ctx, p, &r, c) },
		func(c *idempotencyGuard) (*Execution, error) { return s.created(ctx, p, c.found, r.View) })
}

func (s *Service) create(ctx context.Context, p *Principal, r *CreateExecution, c *idempotencyGuard) (*Execution, error) {
	w, revision, err := s.startable(ctx, p, r.Workflow, r.Version)
	if err != nil {
		return nil, err
	}
	f, err := openBody(r.Body, "input", "labels", "delay", "delay_until")
	if err != nil {
		return nil, err
	}
	input, labels, startMs := f.object("input"), f.labels("labels"), f.startMs(s.now())
	if err := f.err(); err != nil {
		return nil, err
	}
	compiled, err := s.plans.Plan(ctx, revision.No)
	if err != nil {
		return nil, storageError(err)
	}
	if err := checkInput(compiled, input); err != nil {
		return nil, err
	}
	starter, err := s.starter(ctx, p)
	if err != nil {
		return nil, err
	}
	start := engine.Start{
		Row: store.Execution{
			ID: newID[chargehand.ExecutionID](s.nowMs()), Account: p.AccountNo, Environment: p.Environment,
			Workflow: w.row.No, Revision: revision.No, Trace: span.Encode(ctx), Starter: starter, StartedBy: p.actor(),
			Labels: labels, StartMs: startMs,
		},
		Plan: compiled, Input: input,
	}
	return s.start(ctx, p, &start, startNames{w.row.ID, w.fullName(), nameOf(&revision), p.startedBy()}, c, r.View)
}

// startNames is what the answer to a start shows beside the row.
type startNames struct {
	workflow  chargehand.WorkflowID
	name      string // of the workflow: namespace/name
	revision  revisionName
	startedBy Actor
}

// start hands a complete start to the engine and answers it. start.InTx runs in the same transaction.
// Codes: storage_reserve, quota_exceeded, queue_full.
func (s *Service) start(ctx context.Context, p *Principal, start *engine.Start, n startNames, c *idempotencyGuard, v View) (_ *Execution, err error) {
	if err := s.checkReserve(); err != nil {
		return nil, err
	}
	room := s.admission(p)
	if start.Row.Input.Size == 0 {
		err = s.packInput(ctx, p, start, &room)
	} else {
		err = room.take(ctx, amount{executions: 1, bytes: start.Row.Input.Size})
	}
	if err != nil {
		room.end(false)
		return nil, err
	}
	refers := start.Row.Input.Blob != nil || mayRefer(start.Row.Input.Inline)
	if given := start.InTx; c != nil || refers || given != nil {
		start.InTx = func(tx *store.Tx, no int64) error {
			if given != nil {
				if err := given(tx, no); err != nil {
					return err
				}
			}
			if refers {
				if err := useFiles(tx, start, no); err != nil {
					return err
				}
			}
			return c.record(tx, statusCreated, "execution", start.Row.ID)
		}
	}
	var outcome store.Outcome
	var since *watch
	if v.Wait > 0 {
		start.Outcome = &outcome
		since = s.watch(start.Row.ID) // before there is anything that may change
		defer since.stop()
	}
	row, err := s.engine.Start(ctx, *start)
	room.end(err == nil)
	if err != nil {
		return nil, storageError(err)
	}
	s.names.workflows.put(row.Workflow, n.workflow)
	s.names.revisions.put(row.Revision, n.revision)
	switch {
	case v.Wait <= 0:
		return s.fresh(&row, start.Row.Labels, n), nil
	case outcome.Execution != 0 && outcome.Files == nil && row.Root == 0:
		return s.ended(ctx, row, start, n, outcome, v)
	case nothingToAwait(row.Status):
		since = nil
	}
	return s.awaitExecution(ctx, p, row.ID, since, v)
}

// ended shows an execution that the transaction which accepted it has also ended, without result files of its own, as a
// read would: what was just written is not read.
func (s *Service) ended(
	ctx context.Context, row store.Execution, start *engine.Start, n startNames, o store.Outcome, v View,
) (*Execution, error) {
	row.Input = start.Row.Input
	return s.shown(ctx, &snapshot{
		row: row, names: n, outcome: o, labels: start.Row.Labels, retainedUntil: s.retainedUntil(&row, row.FinishedMs),
	}, v)
}

// packInput makes the payload of the input, with references to known files made relative, if there is room for it.
func (s *Service) packInput(ctx context.Context, p *Principal, start *engine.Start, room *admission) (err error) {
	data := value.Append(make([]byte, 0, 128), start.Input)
	if mayRefer(data) {
		var known map[chargehand.FileID]int64
		err := s.view(ctx, func(r *store.Reader) (err error) {
			known, err = s.inputFiles(r, p, start.Input, "input")
			return err
		})
		if err != nil {
			return err
		}
		if len(known) > 0 {
			start.Files = slices.Collect(maps.Keys(known))
			start.Input = withBase(start.Input, "", known)
			data = value.Marshal(start.Input)
		}
	}
	if err := room.take(ctx, amount{executions: 1, bytes: int64(len(data))}); err != nil {
		return err
	}
	start.Row.Input, err = s.pack(ctx, data)
	return err
}

// giveAgain grants an execution the files of its input that the original execution was granted, and those that the data
// of its position name. They were granted to the definition that the original ran. If the new execution runs another
// definition, which the principal may have written, it gets only files that the principal may read.
func (s *Service) giveAgain(ctx context.Context, p *Principal, start *engine.Start, original *store.Execution) error {
	return s.view(ctx, func(r *store.Reader) (err error) {
		named := start.Input
		if at := start.Position; at != nil {
			named = []any{start.Input, at.Input, at.Context}
		}
		start.Files, err = s.grantedFiles(r, original, engine.NamedFiles(named))
		if err != nil || p.Limits.All() || start.Row.Revision == original.Revision {
			return err
		}
		given := start.Files
		start.Files = nil
		for _, id := range given {
			may, err := s.mayRead(r, p, id)
			if err != nil {
				return err
			}
			if may {
				start.Files = append(start.Files, id)
			}
		}
		return nil
	})
}

// grantedFiles are those that an execution may read.
func (s *Service) grantedFiles(r *store.Reader, row *store.Execution, named []chargehand.FileID) (ids []chargehand.FileID, err error) {
	known, err := r.FilesByID(row.Account, row.Environment, named)
	if err != nil {
		return nil, err
	}
	for id, f := range known {
		may, err := engine.MayRead(r, row, &f)
		if err != nil {
			return nil, err
		}
		if may {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// useFiles notes which files an execution is given, so that they stay as long as the execution.
func useFiles(tx *store.Tx, start *engine.Start, no int64) error {
	known, err := tx.FilesByID(start.Row.Account, start.Row.Environment, start.Files)
	if err != nil {
		return err
	}
	numbers := make([]int64, 0, len(known))
	for id := range known {
		numbers = append(numbers, known[id].No)
	}
	kept, err := keepFiles(tx, numbers)
	if err != nil {
		return err
	}
	for file := range kept {
		if err := tx.UseFile(file, no); err != nil {
			return err
		}
	}
	return nil
}

// keepFiles locks files in the order of their numbers, so that nodes which use the same ones
// wait for each other in one direction. A file that the sweep of another node has just
// deleted is left out: what names it is plain data now.
func keepFiles(tx *store.Tx, files []int64) (kept map[int64]bool, err error) {
	slices.Sort(files)
	kept = make(map[int64]bool, len(files))
	for _, file := range slices.Compact(files) {
		switch err := tx.KeepFile(file); {
		case err == nil:
			kept[file] = true
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	return kept, nil
}

// created answers a repeated start.
func (s *Service) created(ctx context.Context, p *Principal, found *store.Idempotency, v View) (*Execution, error) {
	id := chargehand.ExecutionID(found.Resource)
	if v.Wait > 0 {
		return s.awaitExecution(ctx, p, id, nil, v)
	}
	var e *Execution
	err := s.view(ctx, func(r *store.Reader) error {
		row, err := r.ExecutionByID(p.AccountNo, p.Environment, id)
		if err != nil {
			return notFoundIs(err, executionNotFound)
		}
		n, err := s.startNames(r, &row)
		if err == nil && !p.seesStarted(n.workflow, row.StartedBy) {
			err = executionNotFound()
		}
		if err != nil {
			return err
		}
		labels, err := r.Labels([]store.Execution{row})
		e = s.fresh(&row, labels[row.No], n)
		return err
	})
	return e, err
}
