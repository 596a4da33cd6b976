package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// ClaimHumanTask makes a task the principal's, so that no other person answers it. Body: force, which takes it from
// another person and needs executions:manage. Codes: human_task_not_found, insufficient_scope, not_assigned, excluded,
// claimed_by_other, invalid_body, unknown_field, state_conflict (it has ended).
func (s *Service) ClaimHumanTask(ctx context.Context, p *Principal, id chargehand.HumanTaskID, body value.Value) (HumanTask, error) {
	return s.changeTask(ctx, p, id, body, func(tx *store.Tx, row *store.HumanTask, who *responder, force bool) error {
		if err := s.resolveExcluded(&tx.Reader, row); err != nil {
			return err
		}
		if err := who.mayAct(row); err != nil {
			return err
		}
		switch {
		case row.Claimant == who.actor:
			return nil
		case row.Claimant != 0 && !force:
			return s.claimedByOther(&tx.Reader, row)
		}
		listed := ""
		if who.person {
			listed = who.id
		}
		if err := tx.ClaimTask(row, who.actor, listed); err != nil {
			return err
		}
		return s.audit(ctx, tx, p, audit.TaskClaimed, taskTarget(row), nil)
	})
}

// ReleaseHumanTask takes back a claim. Body: force, which takes back that of another person and needs
// executions:manage. Codes: human_task_not_found, insufficient_scope, claimed_by_other, invalid_body, unknown_field,
// state_conflict (it has ended).
func (s *Service) ReleaseHumanTask(ctx context.Context, p *Principal, id chargehand.HumanTaskID, body value.Value) (HumanTask, error) {
	return s.changeTask(ctx, p, id, body, func(tx *store.Tx, row *store.HumanTask, who *responder, force bool) error {
		switch {
		case row.Claimant == 0:
			return nil
		case row.Claimant != who.actor && !force:
			return s.claimedByOther(&tx.Reader, row)
		}
		if err := tx.ReleaseTask(row); err != nil {
			return err
		}
		return s.audit(ctx, tx, p, audit.TaskReleased, taskTarget(row), nil)
	})
}

func (s *Service) claimedByOther(r *store.Reader, row *store.HumanTask) error {
	by, err := s.names.actor(r, row.Claimant, s.now())
	if err != nil {
		return err
	}
	return chargehand.NewError(chargehand.CodeClaimedByOther, "The task is claimed by "+by.Name+".")
}

// changeTask runs a change of a task that has not ended, whose body may say force.
func (s *Service) changeTask(
	ctx context.Context, p *Principal, id chargehand.HumanTaskID, body value.Value,
	change func(tx *store.Tx, row *store.HumanTask, who *responder, force bool) error,
) (HumanTask, error) {
	f, err := openBody(body, "force")
	if err != nil {
		return HumanTask{}, err
	}
	force := f.flag("force")
	if err := f.err(); err != nil {
		return HumanTask{}, err
	}
	scope := ScopeTasksRespond
	if force {
		scope |= ScopeExecutionsManage
	}
	err = s.updateTask(ctx, p, id, scope, func(tx *store.Tx, row *store.HumanTask, who *responder) error { return change(tx, row, who, force) })
	if err != nil {
		return HumanTask{}, err
	}
	return s.GetHumanTask(ctx, p, id)
}

// updateTask runs a change of a task that the principal sees and that has not ended. Codes: human_task_not_found,
// insufficient_scope, state_conflict.
func (s *Service) updateTask(
	ctx context.Context, p *Principal, id chargehand.HumanTaskID, scope Scopes, change func(tx *store.Tx, row *store.HumanTask, who *responder) error,
) error {
	return s.withTask(ctx, p, id, scope, func(tx *store.Tx, row *store.HumanTask, who *responder) error {
		if row.EndedMs != 0 {
			return stateConflict("The task has ended: it is " + taskStatuses[row.Status] + ".")
		}
		err := change(tx, row, who)
		if errors.Is(err, store.ErrConflict) {
			return stateConflict("The task was changed at the same time. Read it again.")
		}
		return err
	})
}

// withTask runs a transaction about a task that the principal sees, whether it has ended or not, and on whose workflow
// it has a scope. Codes: human_task_not_found, insufficient_scope.
func (s *Service) withTask(
	ctx context.Context, p *Principal, id chargehand.HumanTaskID, scope Scopes, do func(tx *store.Tx, row *store.HumanTask, who *responder) error,
) error {
	return s.update(ctx, func(tx *store.Tx) error {
		row, who, err := s.taskWith(&tx.Reader, p, id, scope)
		if err != nil {
			return err
		}
		return do(tx, &row, &who)
	})
}

// taskWith reads a task that the principal sees and on whose workflow it has a scope. Codes: human_task_not_found,
// insufficient_scope.
func (s *Service) taskWith(r *store.Reader, p *Principal, id chargehand.HumanTaskID, scope Scopes) (row store.HumanTask, who responder, err error) {
	if row, who, err = s.seenTask(r, p, id); err != nil {
		return row, who, err
	}
	w, err := r.WorkflowByNo(row.Workflow)
	if err != nil {
		return row, who, err
	}
	return row, who, p.mayOn(scope, w.ID, w.Namespace)
}

// maxReassigners bounds how many users and API keys reassign one task.
const maxReassigners = 20

// ReassignHumanTask says anew who may answer a task, and takes back its claim. The persons that it excludes stay
// excluded, and do not reassign it. The one that reassigns a task may be behind an address to which it goes: to exclude
// an answer that comes by a link, or in the name of a person, excludes all that have reassigned the task. Body: users,
// groups. Codes: human_task_not_found, insufficient_scope, excluded, invalid_body, unknown_field, state_conflict (it
// has ended, or too many have reassigned it).
func (s *Service) ReassignHumanTask(ctx context.Context, p *Principal, id chargehand.HumanTaskID, body value.Value) (HumanTask, error) {
	f, err := openBody(body, "users", "groups")
	if err != nil {
		return HumanTask{}, err
	}
	if !f.has("users") && !f.has("groups") { // empty lists let all people answer; to leave out both may be a mistake
		f.fail("users", "required", "One of the fields \"users\" and \"groups\" is required.")
	}
	to := store.TaskAssignees{Users: f.texts("users", human.MaxAssignees), Groups: f.texts("groups", human.MaxAssignees)}
	for name, list := range map[string][]string{"users": to.Users, "groups": to.Groups} {
		if slices.ContainsFunc(list, func(text string) bool { return strings.TrimSpace(text) == "" || len(text) > maxFieldText }) {
			f.fail(name, "invalid", "The field \""+name+"\" has an entry that is empty or too long.")
		}
	}
	if err := f.err(); err != nil {
		return HumanTask{}, err
	}
	err = s.updateTask(ctx, p, id, ScopeExecutionsManage, func(tx *store.Tx, row *store.HumanTask, who *responder) error {
		to.Exclude = row.Assignees.Exclude
		resolved := *row
		if err := s.resolveExcluded(&tx.Reader, &resolved); err != nil {
			return err
		}
		if err := who.notExcluded(&resolved); err != nil { // it would choose the second pair of eyes
			return err
		}
		if n := len(to.Users) + len(to.Groups) + len(to.Exclude); n > human.MaxAssignees {
			return badBody(chargehand.FieldError{Code: "too_many", Detail: "A task has at most 100 assignees, those that it excludes included."})
		}
		changes := changed("users", row.Assignees.Users, to.Users).Set("groups", row.Assignees.Groups, to.Groups)
		by := strings.Fields(row.Reassigners)
		if !slices.Contains(by, who.id) {
			by = append(by, who.id)
		}
		if len(by) > maxReassigners {
			return stateConflict("20 users and API keys have reassigned the task. One of these can reassign it again.")
		}
		if err := tx.ReassignTask(row, to, strings.Join(by, " "), engine.Candidates(to)); err != nil {
			return err
		}
		return s.audit(ctx, tx, p, audit.TaskReassigned, taskTarget(row), changes)
	})
	if err != nil {
		return HumanTask{}, err
	}
	return s.GetHumanTask(ctx, p, id)
}

// CommentHumanTask adds a comment to a task, also to one that has ended. Body: text. Codes: human_task_not_found,
// insufficient_scope, invalid_body, unknown_field, state_conflict (it has too many), idempotency_key_reused,
// idempotency_in_progress, quota_exceeded.
func (s *Service) CommentHumanTask(ctx context.Context, p *Principal, id chargehand.HumanTaskID, body value.Value, i *Idempotency) (t HumanTask, replayed bool, err error) {
	return guarded(ctx, s, p, i,
		func(c *idempotencyGuard) (HumanTask, error) {
			if err := s.comment(ctx, p, id, body, c); err != nil {
				return HumanTask{}, err
			}
			return s.GetHumanTask(ctx, p, id)
		},
		func(c *idempotencyGuard) (HumanTask, error) { return s.GetHumanTask(ctx, p, id) })
}

func (s *Service) comment(ctx context.Context, p *Principal, id chargehand.HumanTaskID, body value.Value, c *idempotencyGuard) (err error) {
	f, err := openBody(body, "text")
	if err != nil {
		return err
	}
	text := f.text("text", human.MaxComment)
	if strings.TrimSpace(text) == "" {
		f.fail("text", "required", "The field \"text\" is missing or empty.")
	}
	if err := f.err(); err != nil {
		return err
	}
	room := s.admission(p)
	defer func() { room.end(err == nil) }()
	if err := room.take(ctx, amount{bytes: int64(len(text))}); err != nil {
		return err
	}
	return s.withTask(ctx, p, id, ScopeTasksRespond, func(tx *store.Tx, row *store.HumanTask, who *responder) error {
		comment := store.HumanComment{
			ID: newID[chargehand.HumanTaskID](s.nowMs()), Author: who.actor, ByID: who.id, ByName: who.name, Text: text, CreatedMs: s.nowMs(),
		}
		if err := tx.InsertHumanComment(row, &comment); err != nil {
			return err
		}
		// Of those made at the same time, each counts the ones before it.
		n, err := tx.CountHumanComments(row.No, MaxTaskComments+1)
		switch {
		case err != nil:
			return err
		case n > MaxTaskComments:
			return stateConflict("The task has as many comments as it may have.")
		}
		return c.record(tx, statusCreated, "human_task", row.ID)
	})
}
