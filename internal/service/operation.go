package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// The bounds of operations.
const (
	// MaxOperationExecutions is how many executions one operation may select.
	MaxOperationExecutions = 100_000
	// MaxOperationIDs is how many executions a request may name.
	MaxOperationIDs = 1_000
	// MaxActiveOperations is the limit of the operations of an environment that are under way.
	MaxActiveOperations = 20
	// MaxKeptOperations is how many operations of an environment are kept; the oldest that has ended makes room.
	MaxKeptOperations = 1_000
	// OperationLife is how long an operation is kept after its end.
	OperationLife = 30 * 24 * time.Hour
	// shownFailures is how many failures an operation is shown with.
	shownFailures = 10
)

// The names of what operations do, and of how far they and their items are.
var (
	operationActions = []string{store.OperationCancel: "cancel", store.OperationRetry: "retry", store.OperationSuspend: "suspend",
		store.OperationResume: "resume", store.OperationDelete: "delete"}
	operationStatuses = []string{store.OperationSelecting: "selecting", store.OperationRunning: "running", store.OperationCompleted: "completed",
		store.OperationCancelled: "cancelled", store.OperationStopped: "stopped"}
	itemOutcomes = []string{store.ItemPending: "pending", store.ItemSucceeded: "succeeded", store.ItemSkipped: "skipped", store.ItemFailed: "failed"}
)

// OperationActions, OperationStatuses and OperationOutcomes list these names.
func OperationActions() []string  { return operationActions[1:] }
func OperationStatuses() []string { return operationStatuses[1:] }
func OperationOutcomes() []string { return itemOutcomes }

// Operation is one action on many executions as it is read.
type Operation struct {
	ID          chargehand.OperationID
	Action      string
	Status      string
	Environment chargehand.Environment
	StartedBy   Actor
	Filter      json.RawMessage // by the names of the filters of a list; nil: the executions were named
	Version     string          // that retries run: published; empty: the one of each execution
	Reason      string          // of cancellations
	Total       int64           // executions that were selected so far
	Pending     int64           // those of them that were not handled
	Succeeded   int64
	Skipped     int64
	Failed      int64
	Code        string // why the server has stopped it; empty: it has not
	Detail      string
	CreatedAt   time.Time
	EndedAt     time.Time       // zero while it has not ended
	Failures    []OperationItem // the first ones; not in lists
}

// OperationItem is an execution that an operation was to act on.
type OperationItem struct {
	Execution chargehand.ExecutionID
	Outcome   string
	Started   chargehand.ExecutionID // by a retry; zero: none
	Code      string
	Detail    string
}

// OperationPreview is what an operation would act on.
type OperationPreview struct {
	Action string
	ExecutionCount
}

// StartOperation is the request to act on many executions.
type StartOperation struct {
	Body value.Value // an object with `action`, `filter` or `ids`, `reason`, `version`, `dry_run`
	// Filter is what the field `filter` says; nil: there is none. Its fields that say what is shown are not used.
	Filter      *ListExecutions
	Idempotency *Idempotency
}

// operationBody is what the body of a request for an operation says.
type operationBody struct {
	action  store.OperationAction
	ids     []chargehand.ExecutionID
	reason  string
	version string
	dryRun  bool
}

// readOperation reads the body of a request for an operation. Codes: invalid_body, unknown_field.
func readOperation(r *StartOperation) (b operationBody, err error) {
	f, err := openBody(r.Body, "action", "filter", "ids", "reason", "version", "dry_run")
	if err != nil {
		return b, err
	}
	b.action = f.operationAction()
	b.ids = f.executionIDs("ids")
	switch {
	case f.has("ids") && f.has("filter"):
		f.fail("ids", "with_filter", `The fields "filter" and "ids" exclude each other: name executions, or say which ones are meant.`)
	case !f.has("ids") && !f.has("filter"):
		f.fail("filter", "missing", `One of the fields "filter" and "ids" is needed. An empty filter stands for all executions.`)
	}
	if b.reason = f.text("reason", maxReasonBytes); b.reason != "" && b.action != store.OperationCancel {
		f.fail("reason", "not_here", `The field "reason" is for the action cancel alone.`)
	}
	b.version = f.text("version", maxVersionBytes)
	switch {
	case !f.has("version"):
	case b.action != store.OperationRetry:
		f.fail("version", "not_here", `The field "version" is for the action retry alone.`)
	case b.version != versionSame && b.version != versionPublished:
		f.fail("version", "wrong_value", `The field "version" must be "published" or "same": the executions may be of several workflows.`)
	}
	if b.version == versionSame {
		b.version = ""
	}
	if v, given := f.values["dry_run"]; given {
		var ok bool
		if b.dryRun, ok = v.(bool); !ok {
			f.wrongType("dry_run", "true or false")
		}
	}
	return b, f.err()
}

func (f *fields) operationAction() store.OperationAction {
	text := f.text("action", maxVersionBytes)
	for action, name := range operationActions {
		if name != "" && name == text {
			return store.OperationAction(action)
		}
	}
	if _, wrong := f.values["action"].(string); wrong || !f.has("action") {
		f.fail("action", "wrong_value", `The field "action" must be one of `+strings.Join(OperationActions(), ", ")+".")
	}
	return 0
}

// executionIDs reads an array of ids, each of which is in it once; nil if absent.
func (f *fields) executionIDs(name string) []chargehand.ExecutionID {
	texts := f.texts(name, MaxOperationIDs)
	if f.has(name) && len(texts) == 0 && f.err() == nil {
		f.fail(name, "empty", "The list "+excerpt.Quote(name)+" must not be empty.")
	}
	ids, known := make([]chargehand.ExecutionID, len(texts)), map[chargehand.ExecutionID]bool{}
	for i, text := range texts {
		if text == "" {
			continue // it is no string
		}
		err := ids[i].UnmarshalText([]byte(text))
		switch at := []string{name, strconv.Itoa(i)}; {
		case err != nil:
			f.failAt(at, "wrong_value", "The entry "+excerpt.Quote(text)+" is not the id of an execution, which is a UUID.")
		case known[ids[i]]:
			f.failAt(at, "twice", "The execution "+excerpt.Quote(text)+" is named twice.")
		}
		known[ids[i]] = true
	}
	return ids
}

// PreviewsOperation reports whether a body asks what an operation would act on, and not for the operation.
func PreviewsOperation(body value.Value) bool {
	object, _ := body.(map[string]any)
	dry, _ := object["dry_run"].(bool)
	return dry
}

// StartOperation accepts an operation. It is durable when this returns, and is carried out beside requests
// (RunOperations). It acts on what was created before it, as far as its principal sees and manages that when its turn
// comes. Codes: invalid_body, unknown_field, quota_exceeded (with RetryAfter: too many are under way),
// idempotency_key_reused, idempotency_in_progress.
func (s *Service) StartOperation(ctx context.Context, p *Principal, r StartOperation) (o *Operation, replayed bool, err error) {
	return guarded(ctx, s, p, r.Idempotency,
		func(c *idempotencyGuard) (*Operation, error) { return s.startOperation(ctx, p, &r, c) },
		func(c *idempotencyGuard) (*Operation, error) {
			return s.GetOperation(ctx, p, chargehand.OperationID(c.found.Resource))
		})
}

func (s *Service) startOperation(ctx context.Context, p *Principal, r *StartOperation, c *idempotencyGuard) (*Operation, error) {
	b, err := readOperation(r)
	if err != nil {
		return nil, err
	}
	row := store.Operation{
		ID: newID[chargehand.OperationID](s.nowMs()), Account: p.AccountNo, Environment: p.Environment, Action: b.action,
		StartedBy: p.actor(), Key: p.KeyNo, Version: b.version, Reason: b.reason,
	}
	if r.Filter != nil {
		if row.Filter, err = encodeFilter(r.Filter); err != nil {
			return nil, err
		}
	}
	err = s.update(ctx, func(tx *store.Tx) error {
		if err := s.roomForOperation(tx, p); err != nil {
			return err
		}
		if err := tx.InsertOperation(&row, b.ids); err != nil {
			return err
		}
		changes := changed("action", nil, operationActions[row.Action]).Set("ids", nil, len(b.ids)).
			Set("version", nil, row.Version).Set("reason", nil, row.Reason)
		if row.Filter != nil {
			changes.Set("filter", nil, json.RawMessage(row.Filter))
		}
		if err := s.audit(ctx, tx, p, audit.OperationStarted, operationTarget(&row), changes); err != nil {
			return err
		}
		return c.record(tx, statusAccepted, "operation", row.ID)
	})
	if err != nil {
		return nil, err
	}
	s.operations.wake()
	return s.showOperation(&row, p.startedBy()), nil
}

func operationTarget(row *store.Operation) audit.Target {
	return audit.Target{Kind: "operation", ID: row.ID.String(), Name: operationActions[row.Action]}
}

// roomForOperation refuses an operation while too many are under way, and hides the oldest one where many are kept.
// Codes: quota_exceeded.
func (s *Service) roomForOperation(tx *store.Tx, p *Principal) error {
	active, err := tx.CountActiveOperations(p.AccountNo, p.Environment, MaxActiveOperations)
	if err != nil {
		return err
	}
	if active == MaxActiveOperations {
		return &chargehand.Error{
			Code: chargehand.CodeQuotaExceeded, RetryAfter: operationRetryAfter,
			Quota: &chargehand.Quota{
				Name: "operations", OwnerKind: "environment", OwnerID: p.Environment.String(), Limit: MaxActiveOperations, Used: active,
			},
			Detail: fmt.Sprintf("%d operations of the environment %s have not ended, and there can be no more at once. Wait until one has ended, or cancel one.",
				active, p.Environment),
		}
	}
	kept, err := tx.KeptOperations(p.AccountNo, p.Environment, MaxKeptOperations)
	if err != nil || kept < MaxKeptOperations {
		return err
	}
	return tx.HideOperation(p.AccountNo, p.Environment)
}

// operationRetryAfter is when to try again, in seconds, where too many operations are under way.
const operationRetryAfter = 5

// showOperation shows a row without its failures.
func (s *Service) showOperation(row *store.Operation, by Actor) *Operation {
	return &Operation{
		ID: row.ID, Action: operationActions[row.Action], Status: operationStatuses[row.Status], Environment: row.Environment, StartedBy: by,
		Filter: row.Filter, Version: row.Version, Reason: row.Reason,
		Total: row.Total, Pending: row.Total - row.Succeeded - row.Skipped - row.Failed, Succeeded: row.Succeeded, Skipped: row.Skipped, Failed: row.Failed,
		Code: row.Code, Detail: row.Detail, CreatedAt: row.ID.Time(), EndedAt: atMs(row.EndedMs),
	}
}

// operationsOf is whose operations a principal sees: with everything of the environment those of all, else its own. A
// personal key that is limited sees those that it has started, and not those of its person. 0: any.
func operationsOf(p *Principal) (startedBy, key int64) {
	if p.seesEverything() {
		return 0, 0
	}
	return p.actor(), p.KeyNo
}

// findOperation reads an operation that the principal may see. Codes: operation_not_found.
func (s *Service) findOperation(r *store.Reader, p *Principal, id chargehand.OperationID) (store.Operation, error) {
	row, err := r.OperationByID(p.AccountNo, p.Environment, id)
	startedBy, key := operationsOf(p)
	if err == nil && (startedBy != 0 && startedBy != row.StartedBy || key != 0 && key != row.Key) {
		err = store.ErrNotFound
	}
	return row, notFoundIs(err, func() error {
		return chargehand.NewError(chargehand.CodeOperationNotFound, "There is no such operation.")
	})
}

// GetOperation reads an operation with its first failures. Codes: operation_not_found.
func (s *Service) GetOperation(ctx context.Context, p *Principal, id chargehand.OperationID) (o *Operation, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		row, err := s.findOperation(r, p, id)
		if err != nil {
			return err
		}
		by, err := s.names.actor(r, row.StartedBy, s.now())
		if err != nil {
			return err
		}
		o = s.showOperation(&row, by)
		failed, err := r.ListOperationItems(store.OperationItemFilter{Operation: row.No, Outcomes: []store.ItemOutcome{store.ItemFailed}, Limit: shownFailures})
		for i := range failed {
			o.Failures = append(o.Failures, showItem(&failed[i]))
		}
		return err
	})
	return o, err
}

func showItem(row *store.OperationItem) OperationItem {
	return OperationItem{Execution: row.Execution, Outcome: itemOutcomes[row.Outcome], Started: row.Started, Code: row.Code, Detail: row.Detail}
}

// ListOperations lists the operations that the principal may see, newest first.
func (s *Service) ListOperations(ctx context.Context, p *Principal, limit int, after Cursor) (*Page[*Operation], error) {
	f := store.OperationFilter{Account: p.AccountNo, Environment: p.Environment, Before: chargehand.OperationID(after.ID)}
	f.StartedBy, f.Key = operationsOf(p)
	return readPage(ctx, s, limit, func(r *store.Reader, most int) ([]store.Operation, error) {
		f.Limit = most
		return r.ListOperations(f)
	}, func(row *store.Operation) Cursor { return idCursor(row.ID) }, each(func(r *store.Reader, row *store.Operation) (*Operation, error) {
		by, err := s.names.actor(r, row.StartedBy, s.now())
		return s.showOperation(row, by), err
	}))
}

// ListOperationItems is a query for the executions of an operation.
type ListOperationItems struct {
	Operation chargehand.OperationID
	Outcomes  []string // none: any
	Limit     int
	After     Cursor
}

// ListOperationItems lists the executions of an operation and what became of them, the oldest execution first.
// Codes: operation_not_found.
func (s *Service) ListOperationItems(ctx context.Context, p *Principal, q ListOperationItems) (*Page[OperationItem], error) {
	f := store.OperationItemFilter{After: chargehand.ExecutionID(q.After.ID)}
	for outcome, name := range itemOutcomes {
		for _, asked := range q.Outcomes {
			if asked == name {
				f.Outcomes = append(f.Outcomes, store.ItemOutcome(outcome))
			}
		}
	}
	return readPage(ctx, s, q.Limit, func(r *store.Reader, most int) ([]store.OperationItem, error) {
		row, err := s.findOperation(r, p, q.Operation)
		if err != nil {
			return nil, err
		}
		f.Operation, f.Limit = row.No, most
		return r.ListOperationItems(f)
	}, func(row *store.OperationItem) Cursor { return idCursor(row.Execution) },
		each(func(_ *store.Reader, row *store.OperationItem) (OperationItem, error) { return showItem(row), nil }))
}

// CancelOperation is the request to end an operation.
type CancelOperation struct {
	Operation   chargehand.OperationID
	Body        value.Value // nil, or an object without fields
	Idempotency *Idempotency
}

// CancelOperation ends an operation: when this returns, it acts on no more executions. What it has done stays done.
// Codes: operation_not_found, state_conflict (it has ended), invalid_body, unknown_field, idempotency_key_reused,
// idempotency_in_progress.
func (s *Service) CancelOperation(ctx context.Context, p *Principal, r CancelOperation) (o *Operation, replayed bool, err error) {
	show := func(*idempotencyGuard) (*Operation, error) {
		return s.GetOperation(context.WithoutCancel(ctx), p, r.Operation)
	}
	return guarded(ctx, s, p, r.Idempotency, func(c *idempotencyGuard) (*Operation, error) {
		if _, err := openBody(r.Body); err != nil {
			return nil, err
		}
		err := s.update(ctx, func(tx *store.Tx) error {
			row, err := s.findOperation(&tx.Reader, p, r.Operation)
			if err != nil {
				return err
			}
			err = tx.EndOperation(row.No, store.OperationCancelled, "", "", s.nowMs())
			if errors.Is(err, store.ErrConflict) {
				return stateConflict("The operation has ended already.")
			}
			if err == nil {
				err = s.audit(ctx, tx, p, audit.OperationCancelled, operationTarget(&row), nil)
			}
			if err != nil {
				return err
			}
			return c.record(tx, statusAccepted, "operation", row.ID)
		})
		if err != nil {
			return nil, err
		}
		return show(c)
	}, show)
}
