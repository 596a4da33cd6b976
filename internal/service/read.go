package service

import (
	"context"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// linkHalf is the part of time that entity tags cover: half the life of a link, so that an
// answer "not modified" never leaves a link with less than half of it to live.
const linkHalf = linkLife / 2

// GetExecution reads an execution under its workflow. Codes: execution_not_found.
func (s *Service) GetExecution(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID, v View) (e *Execution, err error) {
	err = s.await(ctx, id, v.Wait, func(ctx context.Context) (done bool, err error) {
		e, err = s.readExecution(ctx, v, func(r *store.Reader) (store.Execution, error) {
			return s.findExecution(r, p, workflow, id)
		})
		return err == nil && nothingToAwait(e.Status), err
	})
	return e, err
}

// WorkflowOf finds the workflow under which an execution stands. Codes: execution_not_found.
func (s *Service) WorkflowOf(ctx context.Context, p *Principal, id chargehand.ExecutionID) (workflow chargehand.WorkflowID, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		row, err := r.ExecutionByID(p.AccountNo, p.Environment, id)
		if err != nil {
			return notFoundIs(err, executionNotFound)
		}
		if workflow, err = s.names.workflow(r, row.Workflow); err == nil && !p.seesStarted(workflow, row.StartedBy) {
			err = executionNotFound()
		}
		return err
	})
	return workflow, err
}

// awaitExecution waits for an execution that was just started, or by a request that the
// principal repeats. since began before it was accepted, and it had not ended then; nil: that is not known.
// Codes: execution_not_found (another key started it, and this one may not see its workflow).
func (s *Service) awaitExecution(
	ctx context.Context, p *Principal, id chargehand.ExecutionID, since *watch, v View,
) (e *Execution, err error) {
	err = s.awaitSince(ctx, id, since, v.Wait, func(ctx context.Context) (done bool, err error) {
		e, err = s.readExecution(ctx, v, func(r *store.Reader) (store.Execution, error) {
			row, err := r.ExecutionByID(p.AccountNo, p.Environment, id)
			if err != nil {
				return row, notFoundIs(err, executionNotFound)
			}
			workflow, err := s.names.workflow(r, row.Workflow)
			if err == nil && !p.seesStarted(workflow, row.StartedBy) {
				err = executionNotFound()
			}
			return row, err
		})
		return err == nil && nothingToAwait(e.Status), err
	})
	return e, err
}

// nothingToAwait reports whether a request that waits for an execution ends at this status. It does not wait for a
// person to decide.
func nothingToAwait(status chargehand.Status) bool {
	return status.Final() || status == chargehand.HumanInTheLoop
}

// findExecution reads the row of an execution of the workflow, if the principal may see it.
// Codes: execution_not_found.
func (s *Service) findExecution(r *store.Reader, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID) (store.Execution, error) {
	if !p.Sees(workflow) {
		return store.Execution{}, executionNotFound()
	}
	row, err := r.ExecutionByID(p.AccountNo, p.Environment, id)
	if err != nil {
		return row, notFoundIs(err, executionNotFound)
	}
	own, err := s.names.workflow(r, row.Workflow)
	if err == nil && (own != workflow || !p.seesStarted(workflow, row.StartedBy)) {
		err = executionNotFound()
	}
	return row, err
}

// snapshot is what one View has read about an execution.
type snapshot struct {
	row     store.Execution
	summary bool // without results
	names   startNames
	batch   chargehand.BatchID
	outcome store.Outcome
	files   []store.File // the result files; none: output.json

	labels        []store.Label
	parent, root  chargehand.ExecutionID // zero: none
	retainedUntil time.Time
	tasks         []store.OpenTask // for people
}

// readExecution reads and shows one execution with its output.
func (s *Service) readExecution(ctx context.Context, v View, find func(*store.Reader) (store.Execution, error)) (*Execution, error) {
	x, err := s.snapshotOf(ctx, find)
	if err != nil {
		return nil, err
	}
	return s.shown(ctx, x, v)
}

// snapshotOf reads all that is shown of one execution, but its output.
func (s *Service) snapshotOf(ctx context.Context, find func(*store.Reader) (store.Execution, error)) (*snapshot, error) {
	var x snapshot
	err := s.view(ctx, func(r *store.Reader) (err error) {
		x = snapshot{}
		if x.row, err = find(r); err == nil {
			err = s.complete(r, &x)
		}
		if err == nil {
			one := []snapshot{x}
			err = s.completeAll(r, one)
			x = one[0]
		}
		return err
	})
	return &x, err
}

// shown is everything about an execution.
func (s *Service) shown(ctx context.Context, x *snapshot, v View) (*Execution, error) {
	e, err := s.show(x, v)
	if err == nil && e.Error != nil && e.Error.Instance != "" {
		e.Error.Line, e.Error.Column, err = s.plans.Position(ctx, x.row.Revision, e.Error.Instance)
	}
	if err == nil && x.row.Status == chargehand.Finished {
		e.Output, err = s.showOutput(ctx, x, v)
	}
	if err == nil {
		e.Input, err = s.showInput(ctx, &x.row, v)
	}
	return e, err
}

// complete reads what belongs to the row.
func (s *Service) complete(r *store.Reader, x *snapshot) (err error) {
	if x.names, err = s.startNames(r, &x.row); err != nil {
		return err
	}
	if x.batch, err = s.names.batch(r, x.row.Batch); err != nil || !x.row.Status.Final() || x.summary && x.row.Status == chargehand.Finished {
		return err
	}
	if x.outcome, err = r.Outcome(x.row.No); err != nil {
		return err
	}
	x.files, err = resultFiles(r, &x.row, &x.outcome)
	return err
}

// resultFiles are the result files that an execution still has, in order; none: the output is its result.
func resultFiles(r *store.Reader, e *store.Execution, o *store.Outcome) (files []store.File, err error) {
	order, err := resultIDs(o)
	if err != nil || len(order) == 0 {
		return nil, err
	}
	found, err := r.FilesByID(e.Account, e.Environment, order)
	if err != nil {
		return nil, err
	}
	for _, id := range order {
		if file, ok := found[id]; ok {
			files = append(files, file)
		}
	}
	return files, nil
}

// resultIDs are the result files of an outcome, in order, also those that were deleted; none: the output is the result.
func resultIDs(o *store.Outcome) ([]chargehand.FileID, error) {
	if o.Files == nil {
		return nil, nil
	}
	stored, err := parseStored(o.Files)
	if err != nil {
		return nil, err
	}
	list, _ := stored.([]any)
	ids := make([]chargehand.FileID, len(list))
	for i, v := range list {
		text, _ := v.(string)
		if err := ids[i].UnmarshalText([]byte(text)); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// show is everything about an execution but its output.
func (s *Service) show(x *snapshot, v View) (*Execution, error) {
	row := &x.row
	e := &Execution{
		ID: row.ID, Workflow: x.names.workflow, WorkflowVersion: x.names.revision.version, Revision: x.names.revision.number, Environment: row.Environment,
		Status: row.Status, Phase: row.Phase, Batch: x.batch, RetryOf: row.RetryOf,
		CreatedAt: row.ID.Time(), StartedAt: atMs(row.StartedMs), FinishedAt: atMs(row.FinishedMs),
		StartedBy: x.names.startedBy, revisionNo: row.Revision,
	}
	e.about(x)
	now := s.now()
	e.ETag = executionTag(e, len(x.files), now)
	switch {
	case row.Status == chargehand.Errored:
		var err error
		if e.Error, err = faultError(x.outcome.Fault); err != nil {
			return nil, err
		}
	case x.summary:
	case row.Status == chargehand.Finished && len(x.files) > 0:
		for i := range x.files {
			e.Results = append(e.Results, s.result(&x.files[i], v, now))
		}
	case row.Status == chargehand.Finished:
		file := outputFile(row, &x.outcome)
		e.Results = []Result{s.result(&file, v, now)}
	}
	return e, nil
}

// faultError shows a stored fault.
func faultError(stored []byte) (*ExecutionError, error) {
	fault, err := engine.DecodeFault(stored)
	if err != nil {
		return nil, err
	}
	return shownFault(fault), nil
}

func shownFault(fault engine.Fault) *ExecutionError {
	return &ExecutionError{
		Type: fault.Type, Status: fault.Status, Title: fault.Title, Detail: fault.Detail, Instance: fault.Instance,
		Code: fault.Code, Origin: fault.Origin, Retryable: fault.Retryable,
	}
}

func (s *Service) result(f *store.File, v View, now time.Time) Result {
	expires := linkExpiry(now)
	return Result{
		Filename: f.Name, Size: f.Size, ContentType: f.MediaType, SHA256: blob.DigestOf(f.Digest).String(),
		URL: s.link(v.BaseURL, linkKind(f), f.Environment, f.ID, expires), ExpiresAt: expires,
	}
}

// showOutput is the output with absolute references: those to the result files.
func (s *Service) showOutput(ctx context.Context, x *snapshot, v View) ([]byte, error) {
	data, err := s.unpack(ctx, x.outcome.Output)
	if err != nil || len(x.files) == 0 || !mayRefer(data) {
		return data, err
	}
	output, err := parseStored(data)
	if err != nil {
		return nil, err
	}
	known := make(map[chargehand.FileID]int64, len(x.files))
	for i := range x.files {
		known[x.files[i].ID] = x.files[i].No
	}
	return value.Marshal(withBase(output, v.BaseURL, known)), nil
}

// executionTag changes whenever the answer does, and every half-hour, because of the links. files is how many result
// files are left: they can be deleted.
func executionTag(e *Execution, files int, now time.Time) string {
	tag := make([]byte, 0, 40)
	tag = append(tag, 'a'+byte(e.Status), 'a'+byte(e.Phase))
	if w := e.WaitingFor; w != nil {
		tag = strconv.AppendInt(append(append(tag, '-'), w.Kind...), milliOf(w.Until), 36)
		tag = append(tag, w.Task...)
		for _, name := range w.Types { // they may hold anything
			tag = strconv.AppendUint(append(tag, '-'), uint64(crc32.ChecksumIEEE([]byte(name))), 36)
		}
	}
	for i := range e.HumanTasks {
		tag = strconv.AppendUint(append(tag, '-'), uint64(crc32.ChecksumIEEE(e.HumanTasks[i].ID[:])), 36)
	}
	if a := e.Attempting; a != nil {
		tag = strconv.AppendInt(append(tag, '-'), milliOf(a.NextAt), 36)
	}
	for _, n := range [...]int64{milliOf(e.StartedAt), milliOf(e.FinishedAt), int64(files), now.UnixMilli() / linkHalf.Milliseconds()} {
		tag = strconv.AppendInt(append(tag, '-'), n, 36)
	}
	return string(tag)
}

func milliOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
