package service

import (
	"context"
	"fmt"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// maxReferenceBytes bounds the reference that a retry begins with.
const maxReferenceBytes = 2000

// notRetryable says why a retry cannot begin with a task.
func notRetryable(code, detail string) error {
	return chargehand.NewError(chargehand.CodeTaskNotRetryable, detail, chargehand.FieldError{Pointer: "/from", Code: code, Detail: detail})
}

// retryFrom lets a start begin with a task of an execution that has ended, with the data that the task began with
// last. Codes: task_not_retryable.
func (s *Service) retryFrom(ctx context.Context, start *engine.Start, original *store.Execution, from, version string) error {
	own, err := s.plans.Plan(ctx, original.Revision)
	if err != nil {
		return storageError(err)
	}
	if err := topLevel(own, from); err != nil {
		return err
	}
	if findTask(start.Plan, from) == nil {
		return otherTasks(start.Plan, from, version)
	}
	timeline, err := s.engine.Timeline(ctx, original.No)
	if err != nil {
		return storageError(err)
	}
	run := lastRun(timeline.Records, from)
	if run == nil {
		return notBegun(timeline, original, from)
	}
	data, err := timeline.TaskData(ctx, run)
	switch {
	case err != nil:
		return storageError(err)
	case data == nil: // it began with the input, as the retry does anyway
		return nil
	case data.Lost:
		return notRetryable("not_kept", fmt.Sprintf("What the task %s began with was not kept, because its data or $context hold a secret, "+
			"or are larger than 1 MiB together with those of the other tasks. Retry without from.", excerpt.Quote(from)))
	}
	if size := len(value.Marshal(data.Input)) + len(value.Marshal(data.Context)); size > engine.MaxPositionBytes {
		return notRetryable("too_large", fmt.Sprintf("The task %s began with %d bytes of data and $context. A retry takes over at most %d. Retry without from.",
			excerpt.Quote(from), size, engine.MaxPositionBytes))
	}
	start.Position = &machine.Position{Task: from, TaskData: *data}
	return nil
}

func findTask(p *plan.Plan, reference string) *plan.Task {
	for _, t := range p.Body.Tasks {
		if t.Reference == reference {
			return t
		}
	}
	return nil
}

// topLevel checks that a reference is that of a task of the definition's own list.
func topLevel(p *plan.Plan, reference string) error {
	if findTask(p, reference) != nil {
		return nil
	}
	for _, t := range p.Tasks {
		if t.Reference != reference {
			continue
		}
		for _, top := range p.Body.Tasks {
			if strings.HasPrefix(reference, top.Reference+"/") {
				return notRetryable("nested_task", fmt.Sprintf("The task %s is inside of %s. A retry can begin with tasks of the definition's own list only: retry from %s.",
					excerpt.Quote(reference), excerpt.Quote(top.Reference), excerpt.Quote(top.Reference)))
			}
		}
		return notRetryable("nested_task", fmt.Sprintf("The task %s is a part of a function or an extension. A retry can begin with tasks of the definition's own list only.",
			excerpt.Quote(reference)))
	}
	return notRetryable("unknown_task", fmt.Sprintf("The definition has no task %s. The timeline of the execution has the reference of each task, such as %s.",
		excerpt.Quote(reference), excerpt.Quote(p.Body.Tasks[0].Reference)))
}

// otherTasks says that another version does not have the task.
func otherTasks(p *plan.Plan, reference, version string) error {
	detail := fmt.Sprintf("Version %s has no task %s, so that it cannot take over what came before.", excerpt.Quote(version), excerpt.Quote(reference))
	name := reference[strings.LastIndexByte(reference, '/')+1:]
	for _, t := range p.Body.Tasks {
		if strings.HasSuffix(t.Reference, "/"+name) {
			detail += fmt.Sprintf(" Its task of that name is %s: other tasks come before it.", excerpt.Quote(t.Reference))
			break
		}
	}
	return notRetryable("other_tasks", detail+` Retry with the version "same", or without from.`)
}

// lastRun finds the last run of a top-level task.
func lastRun(records []machine.Record, reference string) *machine.Record {
	for i := len(records) - 1; i >= 0; i-- {
		if r := &records[i]; r.Parent == 0 && r.Reference == reference {
			return r
		}
	}
	return nil
}

// notBegun says that a task has not begun, as far as the timeline says.
func notBegun(timeline *engine.Timeline, original *store.Execution, reference string) error {
	if timeline.Truncated {
		return notRetryable("not_kept", fmt.Sprintf("The timeline of the execution no longer has the task %s: only the newest %d tasks are kept. Retry without from.",
			excerpt.Quote(reference), engine.TimelineEntries))
	}
	detail := fmt.Sprintf("The execution has not begun the task %s.", excerpt.Quote(reference))
	if !original.RetryOf.IsZero() {
		detail += fmt.Sprintf(" If it began behind that task, the execution that it repeats has the data: %s.", original.RetryOf)
	}
	for i := len(timeline.Records) - 1; i >= 0; i-- {
		if r := &timeline.Records[i]; r.Parent == 0 {
			detail += fmt.Sprintf(" The last one that it has begun is %s: retry from there, or without from.", excerpt.Quote(r.Reference))
			break
		}
	}
	return notRetryable("not_begun", detail)
}
