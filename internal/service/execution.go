package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// maxReasonBytes bounds the reason of a cancellation.
const maxReasonBytes = 1000

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

// checkInput validates input against the workflow's schema. Codes: input_invalid.
func checkInput(p *plan.Plan, input value.Value) error {
	if p.InputSchema == nil {
		return nil
	}
	return inputInvalid(schemaProblems(nil, p, input, "/input"))
}

// schemaProblems appends what is wrong with an input that stands at that pointer.
func schemaProblems(wrong []chargehand.FieldError, p *plan.Plan, input value.Value, at string) []chargehand.FieldError {
	for _, problem := range p.InputSchema.Validate(input) {
		wrong = append(wrong, chargehand.FieldError{Pointer: at + problem.Pointer, Code: snakeCase(problem.Keyword), Detail: problem.Detail})
	}
	return wrong
}

// snakeCase makes a stable code of a keyword such as minLength.
func snakeCase(keyword string) string {
	code := make([]byte, 0, len(keyword)+2)
	for _, c := range []byte(keyword) {
		switch {
		case c >= 'A' && c <= 'Z':
			code = append(code, '_', c+'a'-'A')
		case c >= 'a' && c <= 'z':
			code = append(code, c)
		}
	}
	return string(code)
}

func inputInvalid(wrong []chargehand.FieldError) error {
	if len(wrong) == 0 {
		return nil
	}
	return chargehand.NewError(chargehand.CodeInputInvalid,
		"The input does not match the input_schema of the workflow: "+inWords(wrong), wrong[:min(len(wrong), maxFields)]...)
}

// maxWords is how many problems the detail of an error repeats; all are in its fields.
const maxWords = 3

// inWords sums up problems: "5 problems: /input/a: …; /input/b: …; and 3 more."
func inWords(wrong []chargehand.FieldError) string {
	var b strings.Builder
	if len(wrong) > 1 {
		fmt.Fprintf(&b, "%d problems: ", len(wrong))
	}
	for i, w := range wrong[:min(len(wrong), maxWords)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(w.Pointer + ": " + w.Detail)
	}
	if more := len(wrong) - maxWords; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String() + "."
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

func (s *Service) startNames(r *store.Reader, row *store.Execution) (n startNames, err error) {
	if n.workflow, err = s.names.workflow(r, row.Workflow); err == nil {
		n.name, err = s.names.workflowName(r, row.Workflow)
	}
	if err == nil {
		n.revision, err = s.names.revision(r, row.Revision)
	}
	if err == nil {
		n.startedBy, err = s.names.actor(r, row.StartedBy, s.now())
	}
	return n, err
}

// fresh shows an execution as it was when it was accepted.
func (s *Service) fresh(row *store.Execution, labels []store.Label, n startNames) *Execution {
	e := &Execution{
		ID: row.ID, Workflow: n.workflow, WorkflowVersion: n.revision.version, Revision: n.revision.number, Environment: row.Environment,
		Status: chargehand.Initial, Phase: chargehand.Pending, RetryOf: row.RetryOf, CreatedAt: row.ID.Time(),
		StartedBy: n.startedBy, revisionNo: row.Revision, WorkflowName: n.name, Title: n.revision.title, Labels: labels,
		Cause: causeOf(row),
	}
	if row.StartMs > row.ID.Milli() {
		e.WaitingFor = &WaitingFor{Kind: "timer", Until: atMs(row.StartMs)}
	}
	e.ETag = executionTag(e, s.now())
	return e
}

// notFoundIs replaces the store's "not found" by the error that the caller gets.
func notFoundIs(err error, instead func() error) error {
	if errors.Is(err, store.ErrNotFound) {
		return instead()
	}
	return err
}

func executionNotFound() error {
	return chargehand.NewError(chargehand.CodeExecutionNotFound, "There is no such execution.")
}

func stateConflict(detail string) error {
	return chargehand.NewError(chargehand.CodeStateConflict, detail)
}

// ChangeExecution is the request to cancel an execution.
type ChangeExecution struct {
	Workflow    chargehand.WorkflowID
	Execution   chargehand.ExecutionID
	Body        value.Value // nil, or an object with `reason`
	Idempotency *Idempotency
	View        View
}

// CancelExecution ends an execution as cancelled; it is final when this returns.
// Codes: execution_not_found, state_conflict (it has ended), invalid_body, unknown_field,
// idempotency_key_reused, idempotency_in_progress.
func (s *Service) CancelExecution(ctx context.Context, p *Principal, r ChangeExecution) (e *Execution, replayed bool, err error) {
	show := func(*idempotencyGuard) (*Execution, error) {
		return s.GetExecution(context.WithoutCancel(ctx), p, r.Workflow, r.Execution, View{BaseURL: r.View.BaseURL})
	}
	return guarded(ctx, s, p, r.Idempotency, func(c *idempotencyGuard) (*Execution, error) {
		if err := s.checkExecution(ctx, p, r.Workflow, r.Execution); err != nil {
			return nil, err
		}
		reason, err := readReason(r.Body)
		if err != nil {
			return nil, err
		}
		audited := func(tx *store.Tx) error {
			target, err := executionTarget(&tx.Reader, r.Execution)
			if err != nil {
				return err
			}
			return s.audit(ctx, tx, p, audit.ExecutionCancelled, target, changed("reason", nil, reason))
		}
		err = s.engine.Cancel(ctx, r.Execution, reason, append(c.recording(statusAccepted, "execution", r.Execution), audited)...)
		if err := s.cancelled(err, "execution", executionNotFound); err != nil {
			return nil, err
		}
		return show(c)
	}, show)
}

// cancelled tells what became of a cancellation.
func (s *Service) cancelled(err error, what string, notFound func() error) error {
	if errors.Is(err, engine.ErrFinal) {
		return stateConflict("The " + what + " has ended already.")
	}
	return storageError(notFoundIs(err, notFound))
}

// readReason reads the body of a cancellation. Codes: invalid_body, unknown_field.
func readReason(body value.Value) (string, error) {
	f, err := openBody(body, "reason")
	if err != nil {
		return "", err
	}
	reason := f.text("reason", maxReasonBytes)
	return reason, f.err()
}

// checkExecution tells whether the principal can see the execution. Codes: execution_not_found.
func (s *Service) checkExecution(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID) error {
	return s.view(ctx, func(r *store.Reader) error {
		_, err := s.findExecution(r, p, workflow, id)
		return err
	})
}

// Execution is one execution as it is read. In lists Output is nil.
type Execution struct {
	ID              chargehand.ExecutionID
	Workflow        chargehand.WorkflowID
	WorkflowVersion string
	Revision        int64 // of WorkflowVersion, counts from 1
	Environment     chargehand.Environment
	Status          chargehand.Status
	Phase           chargehand.Phase
	Batch           chargehand.BatchID     // zero: none
	RetryOf         chargehand.ExecutionID // zero: none
	WorkflowName    string                 // namespace/name
	Title           string                 // of the revision; empty: none
	ItemID          string                 // empty: none
	Labels          []store.Label          // by name
	Cause           Cause
	Parent          chargehand.ExecutionID // zero: none
	Root            chargehand.ExecutionID // zero: none
	RetainedUntil   time.Time              // zero: it has not ended, or its batch has not
	WaitingFor      *WaitingFor            // nil: for nothing
	HumanTasks      []OpenTask             // that have not ended; the newest MaxOpenTasks, the oldest first
	Attempting      *Attempting            // nil: no attempt is delayed for long
	Input           []byte                 // JSON; nil where it was not asked for
	StartedBy       Actor
	CreatedAt       time.Time
	StartedAt       time.Time // zero: not yet
	FinishedAt      time.Time // zero: not yet
	Output          []byte    // JSON; nil unless finished
	Error           *ExecutionError
	Results         []Result // nil unless finished; never empty then
	// ETag is a strong entity tag without quotes. It covers the row and the half-hour.
	ETag string
	// Newer is what a start would run now, if that is newer than what this execution runs; only
	// in the answer to a retry. Nil: there is nothing newer.
	Newer *NewerRevision

	revisionNo int64
}

// NewerRevision names a revision of a workflow.
type NewerRevision struct {
	Version  string
	Revision int64
}

// ExecutionError is the language's error object and what the API adds to it.
type ExecutionError struct {
	Type      string // full address
	Status    int
	Title     string
	Detail    string
	Instance  string
	Code      string
	Origin    string // "workflow" or "system"
	Retryable bool
	// Line and Column are the position of Instance in the source of the definition, counted from 1.
	// Zero: it is not known, as in lists.
	Line, Column int
}

// Result is one result file of an execution.
type Result struct {
	Filename    string
	URL         string // absolute, signed
	Size        int64
	ContentType string
	SHA256      string // hex
	ExpiresAt   time.Time
}
