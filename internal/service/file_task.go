package service

import (
	"context"
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// taskFile finds a file that a human task shows to a principal that sees the task, although it may not see the
// execution. The task is no way to other files: a request can name any, so the file must also belong to the execution.
// Codes: file_not_found.
func (s *Service) taskFile(ctx context.Context, scope fileScope, id chargehand.FileID) (found foundFile, err error) {
	var task store.HumanTask
	err = s.view(ctx, func(r *store.Reader) (err error) {
		task, _, err = s.seenTask(r, scope.principal, scope.task)
		return err
	})
	var hidden *chargehand.Error
	if errors.As(err, &hidden) && (hidden.Code == chargehand.CodeHumanTaskNotFound || hidden.Code == chargehand.CodeInsufficientScope) {
		return found, fileNotFound()
	}
	if err != nil {
		return found, err
	}
	shown, err := s.filesOfTask(ctx, &task)
	if err != nil {
		return found, err
	}
	if !slices.Contains(shown, id) {
		return found, fileNotFound()
	}
	err = s.view(ctx, func(r *store.Reader) error {
		var err error
		if found.row, err = r.FileByID(task.Account, task.Environment, id); err != nil {
			return notFoundIs(err, fileNotFound)
		}
		e, err := r.ExecutionByNo(task.Execution)
		if err != nil {
			return err
		}
		has, err := engine.HasFile(r, &e, &found.row)
		if err == nil && !has {
			err = fileNotFound()
		}
		return err
	})
	return found, err
}

// filesOfTask are the files that a task and its answer show. It must not be called within a View.
func (s *Service) filesOfTask(ctx context.Context, task *store.HumanTask) ([]chargehand.FileID, error) {
	request, err := s.taskRequest(ctx, task)
	if err != nil {
		return nil, err
	}
	list := request.Files
	if task.Status == store.TaskAnswered {
		output, err := s.taskPayload(ctx, task.Answer)
		if err != nil {
			return nil, err
		}
		list = append(slices.Clone(list), human.AnswerOf(output).Files...)
	}
	var ids []chargehand.FileID
	for _, v := range list {
		if id, ok := referenceID(v); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// filesOfExecution finds the files that data of a task refers to and that belong to its execution: like a request, a
// definition can name any.
func filesOfExecution(
	r *store.Reader, task *store.HumanTask, data value.Value,
) (known map[chargehand.FileID]store.File, err error) {
	known, err = r.FilesByID(task.Account, task.Environment, engine.NamedFiles(data))
	if err != nil || len(known) == 0 {
		return nil, err
	}
	e, err := r.ExecutionByNo(task.Execution)
	if err != nil {
		return nil, err
	}
	return known, engine.KeepFiles(r, &e, known)
}
