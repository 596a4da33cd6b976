package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// SuspendExecution keeps an execution from starting anything until it is resumed.
// Codes: execution_not_found, state_conflict (it has ended, or is suspended), invalid_body, unknown_field,
// idempotency_key_reused, idempotency_in_progress.
func (s *Service) SuspendExecution(ctx context.Context, p *Principal, r ChangeExecution) (e *Execution, replayed bool, err error) {
	return s.switchExecution(ctx, p, r, s.engine.Suspend, audit.ExecutionSuspended)
}

// ResumeExecution ends the suspension of an execution.
// Codes: those of SuspendExecution; state_conflict: it has ended, or is not suspended.
func (s *Service) ResumeExecution(ctx context.Context, p *Principal, r ChangeExecution) (e *Execution, replayed bool, err error) {
	return s.switchExecution(ctx, p, r, s.engine.Resume, audit.ExecutionResumed)
}

// switcher is Suspend or Resume of an engine.
type switcher func(ctx context.Context, id chargehand.ExecutionID, inTx ...engine.InTx) error

func (s *Service) switchExecution(ctx context.Context, p *Principal, r ChangeExecution, do switcher, action audit.Action) (*Execution, bool, error) {
	show := func(*idempotencyGuard) (*Execution, error) {
		return s.GetExecution(context.WithoutCancel(ctx), p, r.Workflow, r.Execution, View{BaseURL: r.View.BaseURL})
	}
	return guarded(ctx, s, p, r.Idempotency, func(c *idempotencyGuard) (*Execution, error) {
		if err := s.checkExecution(ctx, p, r.Workflow, r.Execution); err != nil {
			return nil, err
		}
		if _, err := openBody(r.Body); err != nil {
			return nil, err
		}
		audited := func(tx *store.Tx) error {
			if action == audit.ExecutionSuspended {
				if err := countSuspension(tx, r.Execution); err != nil {
					return err
				}
			}
			target, err := executionTarget(&tx.Reader, r.Execution)
			if err != nil {
				return err
			}
			return s.audit(ctx, tx, p, action, target, nil)
		}
		if err := s.switched(do(ctx, r.Execution, append(c.recording(statusAccepted, "execution", r.Execution), audited)...)); err != nil {
			return nil, err
		}
		return show(c)
	}, show)
}

// switched tells what became of a suspension, a resumption or a cancellation of an execution.
func (s *Service) switched(err error) error {
	switch {
	case errors.Is(err, engine.ErrSuspended):
		return stateConflict("The execution is suspended already.")
	case errors.Is(err, engine.ErrNotSuspended):
		return stateConflict("The execution is not suspended.")
	}
	return s.cancelled(err, "execution", executionNotFound)
}

// MaxSuspensions is how often an execution can be suspended. Each suspension and each resumption is an event of it.
const MaxSuspensions = 1_000

func countSuspension(tx *store.Tx, id chargehand.ExecutionID) error {
	row, err := tx.FindExecution(id)
	if err != nil {
		return err
	}
	if err = tx.CountSuspension(row.No, MaxSuspensions); errors.Is(err, store.ErrConflict) {
		return stateConflict(fmt.Sprintf("The execution has been suspended %d times. No execution can be suspended more often "+
			"(limit execution_suspensions): let it continue, or cancel it.", MaxSuspensions))
	}
	return err
}
