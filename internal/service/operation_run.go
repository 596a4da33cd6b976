package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
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
