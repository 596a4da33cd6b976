package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// TaskDraft is an answer that a person, or a key that stands for none, is still writing. Only its author sees it, and
// nothing in it is held to the task before it is given as an answer.
type TaskDraft struct {
	Outcome   string
	Data      value.Value // nil: none
	Comment   string
	Files     []string
	UpdatedAt time.Time // zero: there is no draft
}

// HumanTaskDraft reads the principal's draft for a task; one without an UpdatedAt says that there is none, as after the
// end of the task. Codes: human_task_not_found, insufficient_scope.
func (s *Service) HumanTaskDraft(ctx context.Context, p *Principal, id chargehand.HumanTaskID) (d TaskDraft, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		d = TaskDraft{}
		task, who, err := s.taskWith(r, p, id, ScopeTasksRespond)
		if err != nil {
			return err
		}
		row, err := r.HumanDraft(task.No, who.actor)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		body, err := parseStored(row.Data)
		if err != nil {
			return err
		}
		d, err = readDraft(body)
		d.UpdatedAt = atMs(row.UpdatedMs)
		return err
	})
	return d, err
}

// PutHumanTaskDraft replaces the principal's draft for a task that has not ended, and that it may answer, unless
// another person has claimed it meanwhile. An empty body deletes it. Body: outcome, data, comment, files. Codes:
// human_task_not_found, insufficient_scope, not_assigned, excluded, invalid_body, unknown_field, payload_too_large,
// state_conflict (the task has ended), storage_reserve and quota_exceeded (an empty body is taken nevertheless).
func (s *Service) PutHumanTaskDraft(ctx context.Context, p *Principal, id chargehand.HumanTaskID, body value.Value) (d TaskDraft, err error) {
	if d, err = readDraft(body); err != nil {
		return d, err
	}
	text := value.Marshal(body)
	if len(text) > human.MaxDraftBytes {
		return d, chargehand.NewError(chargehand.CodePayloadTooLarge, "A draft must not be larger than "+strconv.Itoa(human.MaxDraftBytes)+" bytes.")
	}
	if !d.isEmpty() {
		if err := s.checkReserve(); err != nil {
			return d, err
		}
		room := s.admission(p)
		defer func() { room.end(err == nil) }()
		if err := s.roomForDraft(ctx, p, &room, id, len(text)); err != nil {
			return d, err
		}
	}
	err = s.updateTask(ctx, p, id, ScopeTasksRespond, func(tx *store.Tx, row *store.HumanTask, who *responder) error {
		if err := who.mayAct(row); err != nil {
			return err
		}
		if d.isEmpty() {
			d.UpdatedAt = time.Time{}
			return tx.DeleteHumanDraft(row, who.actor)
		}
		draft := store.HumanDraft{Task: row.No, Author: who.actor, Data: text, UpdatedMs: s.nowMs()}
		d.UpdatedAt = atMs(draft.UpdatedMs)
		return tx.PutHumanDraft(&draft)
	})
	return d, err
}

// roomForDraft admits a draft of so many bytes, as far as it is larger than the one that it replaces. Codes:
// human_task_not_found, insufficient_scope, quota_exceeded.
func (s *Service) roomForDraft(ctx context.Context, p *Principal, room *admission, id chargehand.HumanTaskID, bytes int) error {
	replaced := 0
	err := s.view(ctx, func(r *store.Reader) error {
		task, who, err := s.taskWith(r, p, id, ScopeTasksRespond)
		if err != nil {
			return err
		}
		row, err := r.HumanDraft(task.No, who.actor)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		replaced = len(row.Data)
		return err
	})
	if err != nil || bytes <= replaced {
		return err
	}
	return room.take(ctx, amount{bytes: int64(bytes - replaced)})
}

// readDraft reads the fields of a draft. Codes: invalid_body, unknown_field.
func readDraft(body value.Value) (d TaskDraft, err error) {
	f, err := openBody(body, "outcome", "data", "comment", "files")
	if err != nil {
		return d, err
	}
	d = TaskDraft{
		Outcome: f.text("outcome", maxFieldText), Data: f.values["data"], Comment: f.text("comment", human.MaxComment), Files: f.shortTexts("files", human.MaxFiles),
	}
	return d, f.err()
}

func (d *TaskDraft) isEmpty() bool {
	return d.Outcome == "" && d.Data == nil && d.Comment == "" && len(d.Files) == 0
}
