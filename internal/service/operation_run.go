package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// How operations are carried out: in small parts, those of each environment in turn, so that no part keeps other
// requests or another environment for long.
const (
	// operationEvery is how often this process looks for operations that other processes have accepted.
	operationEvery = time.Second
	// operationWait lies between two parts where all that is left waits for a queue.
	operationWait = 200 * time.Millisecond
	// operationLease is how long the right to work on operations lasts after it was last prolonged. Two processes that
	// do at once do no harm: each execution is resolved once.
	operationLease = 15 * time.Second
	// selectedAtOnce is how many executions one transaction selects.
	selectedAtOnce = 500
	// handledAtOnce bounds the executions of a part, handledTime its time, and handledBeside is how many of them are
	// handled beside each other. The rights of the one who has started the operation are read for each part.
	handledAtOnce = 32
	handledTime   = 300 * time.Millisecond
	handledBeside = 4
	// pendingAtOnce is how many executions are looked at for a part.
	pendingAtOnce = 200
	// operationQueue is how many queued executions of a workflow an operation adds to, so that those who start others
	// find places in its queue.
	operationQueue = 100
	// activeAtOnce bounds the operations that are read for a pass.
	activeAtOnce = 1000
)

// operations is what a process has of the operations that it works on.
type operations struct {
	woken chan struct{} // holds a token when one was accepted
	// previews holds a token for each count of what an operation would act on.
	previews chan struct{}
}

func (o *operations) init() {
	o.woken, o.previews = make(chan struct{}, 1), make(chan struct{}, maxPreviews)
}

func (o *operations) wake() {
	select {
	case o.woken <- struct{}{}:
	default:
	}
}

// operationWorker carries out operations. It belongs to one goroutine.
type operationWorker struct {
	*Service
	last      map[operationShare]int64         // the operation of an environment that had its turn last
	positions map[int64]chargehand.ExecutionID // where an operation looks for what is left
	passed    map[int64]bool                   // operations of which nothing was done since they were at the beginning
	leased    time.Time
}

// operationShare is who has turns: an environment of an account.
type operationShare struct {
	account     int64
	environment chargehand.Environment
}

// RunOperations carries out operations until ctx ends. What a crash or a stop has cut off continues at the next start,
// of this process or of another.
func (s *Service) RunOperations(ctx context.Context) {
	w := &operationWorker{
		Service: s, last: map[operationShare]int64{}, positions: map[int64]chargehand.ExecutionID{}, passed: map[int64]bool{},
	}
	for ctx.Err() == nil {
		rest, err := w.pass(ctx)
		s.report("work on operations", err)
		if err != nil {
			rest = operationEvery
		}
		if rest == 0 {
			continue
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-s.operations.woken:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	if s.shared && !w.leased.IsZero() {
		_, err := w.lease(context.WithoutCancel(ctx), -time.Millisecond)
		s.report("release the lease of operations", err)
	}
}

// pass gives each environment a turn, and says how long to rest before the next pass; 0: not at all.
func (w *operationWorker) pass(ctx context.Context) (rest time.Duration, err error) {
	var active []store.Operation
	err = w.view(ctx, func(r *store.Reader) (err error) {
		active, err = r.ActiveOperations(activeAtOnce)
		return err
	})
	if err != nil {
		return 0, err
	}
	w.forget(active)
	if len(active) == 0 {
		return operationEvery, nil
	}
	if mine, err := w.mine(ctx); err != nil || !mine {
		return operationEvery, err
	}
	rest = operationWait
	var failed error
	for _, row := range w.roundRobin(active) {
		waits, err := w.part(ctx, &row)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil: // the turns of others come all the same
			failed = errors.Join(failed, fmt.Errorf("operation %s: %w", row.ID, err))
		case !waits:
			rest = 0
		}
	}
	return rest, failed
}

// forget drops what is known of operations that have ended.
func (w *operationWorker) forget(active []store.Operation) {
	for no := range w.positions {
		if !slices.ContainsFunc(active, func(o store.Operation) bool { return o.No == no }) {
			delete(w.positions, no)
			delete(w.passed, no)
		}
	}
	if len(active) == 0 {
		clear(w.last)
	}
}

// roundRobin chooses an operation of each environment: the one behind that which had the turn before.
func (w *operationWorker) roundRobin(active []store.Operation) (chosen []store.Operation) {
	for from := 0; from < len(active); {
		env := operationShare{active[from].Account, active[from].Environment}
		to := from
		for to < len(active) && (operationShare{active[to].Account, active[to].Environment}) == env {
			to++
		}
		next := from
		for i := from; i < to; i++ {
			if active[i].No > w.last[env] {
				next = i
				break
			}
		}
		w.last[env] = active[next].No
		chosen = append(chosen, active[next])
		from = to
	}
	return chosen
}

// mine takes or prolongs the right to work on operations, and reports whether this process has it.
func (w *operationWorker) mine(ctx context.Context) (bool, error) {
	if !w.shared || w.now().Sub(w.leased) < operationLease/3 {
		return true, nil
	}
	return w.lease(ctx, operationLease)
}

func (w *operationWorker) lease(ctx context.Context, life time.Duration) (mine bool, err error) {
	at := w.now()
	err = w.update(ctx, func(tx *store.Tx) error {
		return tx.TakeLease("operations", w.node, at.UnixMilli(), at.Add(life).UnixMilli())
	})
	w.leased = time.Time{}
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	if err == nil {
		w.leased = at
	}
	return err == nil, err
}

// part does a part of an operation. waits tells that nothing of it could be done now.
func (w *operationWorker) part(ctx context.Context, row *store.Operation) (waits bool, err error) {
	p, err := w.operationPrincipal(ctx, row)
	var refused *chargehand.Error
	switch {
	case errors.As(err, &refused) && refused.Code == chargehand.CodeInsufficientScope:
		return false, w.stop(ctx, row, refused)
	case err != nil:
		return false, err
	case row.Status == store.OperationSelecting:
		return false, w.selectSome(ctx, p, row)
	}
	return w.handleSome(ctx, p, row)
}

// operationPrincipal is the one who has started an operation, with the rights that it has now.
// Codes: insufficient_scope.
func (s *Service) operationPrincipal(ctx context.Context, row *store.Operation) (p *Principal, err error) {
	err = s.view(ctx, func(r *store.Reader) (err error) {
		p, err = s.principalByNo(r, row)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, chargehand.NewError(chargehand.CodeInsufficientScope,
			"The API key or user that has started the operation has ended. It acts on no more executions.")
	}
	if err != nil {
		return nil, err
	}
	if p, err = May(p, ScopeExecutionsManage, 0); err != nil {
		err = chargehand.NewError(chargehand.CodeInsufficientScope,
			"The one who has started the operation may not manage executions any more. It acts on no more of them.")
	}
	return p, err
}

// principalByNo finds the principal of an operation. Errors: store.ErrNotFound.
func (s *Service) principalByNo(r *store.Reader, row *store.Operation) (*Principal, error) {
	if row.Key == 0 {
		base, grants, err := s.memberPrincipal(r, row.Account, -row.StartedBy)
		if err != nil {
			return nil, err
		}
		return withRights(r, base, grants, row.Environment)
	}
	key, err := r.KeyByNo(row.Key)
	switch {
	case err != nil:
		return nil, err
	case key.RevokedMs != 0 || key.ExpiresMs != 0 && s.nowMs() >= key.ExpiresMs:
		return nil, store.ErrNotFound
	case key.Person != 0:
		return s.personalPrincipal(r, &key)
	}
	return keyPrincipal(r, &key)
}

// stop ends an operation that cannot continue.
func (w *operationWorker) stop(ctx context.Context, row *store.Operation, why *chargehand.Error) error {
	err := w.update(ctx, func(tx *store.Tx) error {
		return tx.EndOperation(row.No, store.OperationStopped, string(why.Code), why.Detail, w.nowMs())
	})
	if err == nil || errors.Is(err, store.ErrConflict) {
		return w.tell(ctx, row.No)
	}
	return err
}

// tell logs an operation that has ended.
func (w *operationWorker) tell(ctx context.Context, no int64) error {
	var row store.Operation
	err := w.view(ctx, func(r *store.Reader) (err error) {
		row, err = r.OperationByNo(no)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && !row.Status.Ended() {
		return nil
	}
	if err == nil {
		w.log.LogAttrs(ctx, slog.LevelInfo, "operation ended", slog.String("operation", row.ID.String()),
			slog.String("action", operationActions[row.Action]), slog.String("status", operationStatuses[row.Status]), slog.String("environment", row.Environment.String()),
			slog.Int64("executions", row.Total), slog.Int64("succeeded", row.Succeeded), slog.Int64("skipped", row.Skipped), slog.Int64("failed", row.Failed))
	}
	return err
}

// selectSome adds a part of the executions that an operation is for. When all are there, it begins to act on them.
func (w *operationWorker) selectSome(ctx context.Context, p *Principal, row *store.Operation) error {
	selected, err := selectionOf(row)
	if err != nil { // it would not be better the next time
		w.report("select the executions of operation "+row.ID.String(), err)
		return w.stop(ctx, row, chargehand.NewError(chargehand.CodeInternal, "The filter of the operation cannot be read. The log of the server says why."))
	}
	var page selectedPage
	err = w.view(ctx, func(r *store.Reader) (err error) {
		page, err = selected.page(w.Service, r, p, row.Reached, selectedAtOnce)
		return err
	})
	if err != nil {
		return err
	}
	if row.Total+int64(len(page.ids)) > MaxOperationExecutions {
		return w.stop(ctx, row, tooManySelected())
	}
	err = w.update(ctx, func(tx *store.Tx) error {
		if !page.last || len(page.ids) > 0 {
			reached := page.reached
			if page.last {
				reached = page.ids[len(page.ids)-1]
			}
			if err := tx.SelectItems(row.No, row.Reached, reached, page.ids); err != nil {
				return err
			}
		}
		if page.last {
			return tx.BeginOperation(row.No, w.nowMs())
		}
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		return nil // it was cancelled, or another process works on it too
	}
	if err == nil && page.last && row.Total == 0 && len(page.ids) == 0 {
		err = w.tell(ctx, row.No)
	}
	return err
}

func tooManySelected() *chargehand.Error {
	return chargehand.NewError(chargehand.CodeTooManyItems, fmt.Sprintf(
		"The filter selects more than %d executions, which is the limit of one operation. Nothing was done to them. Narrow the filter, for example by created_after and created_before.",
		MaxOperationExecutions))
}

// errResolved is returned out of a transaction when another process has resolved the execution, or the operation has
// ended.
var errResolved = errors.New("the execution is resolved, or the operation has ended")

// handleSome acts on a part of the executions of an operation. waits tells that all that is left waits for a queue.
func (w *operationWorker) handleSome(ctx context.Context, p *Principal, row *store.Operation) (waits bool, err error) {
	var ids []chargehand.ExecutionID
	err = w.view(ctx, func(r *store.Reader) (err error) {
		ids, err = r.PendingItems(row.No, w.positions[row.No], pendingAtOnce)
		return err
	})
	if err != nil {
		return false, err
	}
	if len(ids) == 0 { // from the beginning again
		waits = w.passed[row.No]
		w.positions[row.No], w.passed[row.No] = chargehand.ExecutionID{}, true
		return waits, nil
	}
	part := operationPart{Service: w.Service, p: p, row: row, ids: ids, ends: w.now().Add(handledTime), full: map[chargehand.WorkflowID]bool{}}
	part.run(ctx)
	w.positions[row.No] = part.reached
	if part.handled > 0 {
		w.passed[row.No] = false
	}
	if part.refused != nil {
		return false, w.stop(ctx, row, part.refused)
	}
	if err := w.tell(ctx, row.No); err != nil {
		return false, err
	}
	if part.away {
		return true, pause.For(ctx, operationEvery)
	}
	return part.handled == 0, nil
}

// operationPart are executions that are handled in one turn. Methods are safe for concurrent use after the start.
type operationPart struct {
	*Service
	p    *Principal
	row  *store.Operation
	ids  []chargehand.ExecutionID
	ends time.Time

	mu      sync.Mutex
	next    int                            // of ids
	handled int                            // resolved, also by others
	reached chargehand.ExecutionID         // all up to it were looked at
	full    map[chargehand.WorkflowID]bool // workflows whose queue has no place now
	refused *chargehand.Error              // why the operation cannot continue
	away    bool                           // the storage cannot be used
}

// run handles executions beside each other, until the part has had its share.
func (o *operationPart) run(ctx context.Context) {
	var beside sync.WaitGroup
	for range min(handledBeside, len(o.ids)) {
		beside.Go(func() {
			for id, ok := o.take(ctx); ok; id, ok = o.take(ctx) {
				o.handle(ctx, id)
			}
		})
	}
	beside.Wait()
}

// take is the next execution to handle. ok is false if there is none in this part.
func (o *operationPart) take(ctx context.Context) (id chargehand.ExecutionID, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.next == len(o.ids) || o.handled >= handledAtOnce || o.refused != nil || o.away || ctx.Err() != nil || o.handled > 0 && !o.now().Before(o.ends) {
		return id, false
	}
	id = o.ids[o.next]
	o.next++
	if bytes.Compare(id[:], o.reached[:]) > 0 {
		o.reached = id
	}
	return id, true
}

// handle acts on an execution and resolves it, or leaves it for later.
func (o *operationPart) handle(ctx context.Context, id chargehand.ExecutionID) {
	err := o.act(ctx, id)
	var shown *chargehand.Error
	switch {
	case err == nil || errors.Is(err, errResolved):
	case ctx.Err() != nil:
		return
	case errors.As(err, &shown) && shown.Code == chargehand.CodeQueueFull:
		return // it waits for a place
	case errors.As(err, &shown) && shown.Code == chargehand.CodeUnavailable:
		o.note(func() { o.away = true })
		return
	case errors.As(err, &shown) && (shown.Code == chargehand.CodeQuotaExceeded || shown.Code == chargehand.CodeStorageReserve):
		o.note(func() { o.refused = shown })
		return
	default:
		if err := o.resolveError(ctx, id, err); err != nil {
			o.report("resolve an execution of an operation", err)
			o.note(func() { o.away = true })
			return
		}
	}
	o.note(func() { o.handled++ })
}

func (o *operationPart) note(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// resolveError writes why nothing was done to an execution.
func (o *operationPart) resolveError(ctx context.Context, id chargehand.ExecutionID, why error) error {
	item := store.OperationItem{Execution: id, Outcome: store.ItemFailed}
	var shown *chargehand.Error
	if errors.As(why, &shown) && shown.Code != chargehand.CodeInternal {
		item.Code, item.Detail = string(shown.Code), shown.Detail
		if shown.Code == chargehand.CodeStateConflict {
			item.Outcome = store.ItemSkipped
		}
	} else {
		o.log.Error("an operation failed on an execution", "operation", o.row.ID.String(), "execution", id.String(), "error", why)
		item.Code, item.Detail = string(chargehand.CodeInternal), "An unexpected error occurred. The log of the server names the execution."
	}
	err := o.update(ctx, func(tx *store.Tx) error { return o.resolve(tx, &item) })
	if errors.Is(err, errResolved) {
		return nil
	}
	return err
}

func (o *operationPart) resolve(tx *store.Tx, item *store.OperationItem) error {
	err := tx.ResolveItem(o.row.No, item, o.nowMs())
	if errors.Is(err, store.ErrConflict) {
		return errResolved
	}
	return err
}

// act does to an execution what the operation is for, and resolves it in the same transaction.
// Codes: those of the request for one execution. Errors: errResolved.
func (o *operationPart) act(ctx context.Context, id chargehand.ExecutionID) error {
	workflow, err := o.WorkflowOf(ctx, o.p, id)
	if err != nil {
		return err
	}
	succeeded := func(tx *store.Tx) error {
		return o.resolve(tx, &store.OperationItem{Execution: id, Outcome: store.ItemSucceeded})
	}
	switch o.row.Action {
	case store.OperationRetry:
		return o.retryItem(ctx, workflow, id)
	case store.OperationDelete:
		return o.update(ctx, func(tx *store.Tx) error {
			if _, err := o.deleteExecution(tx, o.p, workflow, id); err != nil {
				return err
			}
			return succeeded(tx)
		})
	case store.OperationSuspend:
		counted := func(tx *store.Tx) error { return countSuspension(tx, id) }
		err = o.engine.Suspend(ctx, id, counted, succeeded)
	case store.OperationResume:
		err = o.engine.Resume(ctx, id, succeeded)
	default:
		err = o.engine.Cancel(ctx, id, o.row.Reason, succeeded)
	}
	if errors.Is(err, errResolved) {
		return err
	}
	return o.switched(err)
}

// retryItem starts an execution again, unless the queue of its workflow is long.
// Codes: queue_full.
func (o *operationPart) retryItem(ctx context.Context, workflow chargehand.WorkflowID, id chargehand.ExecutionID) error {
	full, err := o.queueFull(ctx, workflow, id)
	if err == nil && full {
		err = storageError(engine.ErrQueueFull)
	}
	if err != nil {
		return err
	}
	var body value.Value
	if o.row.Version != "" {
		body = map[string]any{"version": o.row.Version}
	}
	_, err = o.retry(ctx, o.p, &RetryExecution{Workflow: workflow, Execution: id, Body: body, resolve: func(tx *store.Tx, started chargehand.ExecutionID) error {
		return o.resolve(tx, &store.OperationItem{Execution: id, Outcome: store.ItemSucceeded, Started: started})
	}}, nil)
	return err
}

// queueFull reports whether the queue of a workflow is so long that an operation adds nothing to it.
func (o *operationPart) queueFull(ctx context.Context, workflow chargehand.WorkflowID, id chargehand.ExecutionID) (full bool, err error) {
	o.mu.Lock()
	full = o.full[workflow]
	o.mu.Unlock()
	if full {
		return true, nil
	}
	most := operationQueue
	if limit := o.quotas.limits.Queued; limit > 0 {
		most = int(min(operationQueue, max(1, limit/2)))
	}
	err = o.view(ctx, func(r *store.Reader) error {
		row, err := r.ExecutionByID(o.p.AccountNo, o.p.Environment, id)
		if err != nil {
			return notFoundIs(err, executionNotFound)
		}
		full, err = r.QueuedAtLeast(row.Queue(), most)
		return err
	})
	if full {
		o.note(func() { o.full[workflow] = true })
	}
	return full, err
}
