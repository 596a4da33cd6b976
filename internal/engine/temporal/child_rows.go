package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// insertRelated writes the outbox messages that follow from the end of an execution: one to the parent that awaits it,
// and one for each child that has to stop. They are written in the transaction of the end.
func insertRelated(tx *store.Tx, e store.Ending, dueMs int64) (messages []store.OutboxMessage, err error) {
	if e.Parent != 0 {
		messages = append(messages, store.OutboxMessage{Execution: e.Parent, Kind: store.OutboxChild})
	}
	for _, no := range e.Children {
		messages = append(messages, store.OutboxMessage{Execution: no, Kind: store.OutboxStop, Reason: engine.ChildCancelled})
	}
	for i := range messages {
		m := &messages[i]
		row, err := tx.ExecutionByNo(m.Execution)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		m.ID, m.Environment, m.Workflow, m.DueMs = row.ID, row.Environment, row.Workflow, dueMs
		if err := tx.InsertOutboxMessage(m); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// leaseMs is the end of the lease of messages that this worker writes. Without a relay in this process the lease is
// over at once, and any node may deliver them.
func (a *activities) leaseMs() int64 {
	if a.Undelivered == nil {
		return a.nowMs()
	}
	return a.nowMs() + ownLease.Milliseconds()
}

func (a *activities) undelivered(messages []store.OutboxMessage) {
	if a.Undelivered != nil && len(messages) > 0 {
		a.Undelivered(messages)
	}
}

// child is the activity that starts and withdraws children, in order. Repeating it changes nothing.
func (a *activities) child(ctx context.Context, k childSteps) (childStepsDone, error) {
	var done childStepsDone
	var messages []store.OutboxMessage
	var account int64
	queued := false
	inputs, err := a.childInputs(ctx, &k)
	if err != nil {
		return done, fmt.Errorf("store the input of a child: %w", err)
	}
	err = a.Store.Update(ctx, func(tx *store.Tx) error {
		done, messages, queued = childStepsDone{}, nil, false
		row, err := tx.LockExecution(k.No)
		if errors.Is(err, store.ErrNotFound) || err == nil && (row.ID != k.Execution || row.State == store.StateEnded) {
			done.Final = true
			return nil
		}
		if err != nil {
			return err
		}
		account = row.Account
		var stopped store.Ending
		for i := range k.Steps {
			step := &k.Steps[i]
			if step.Start == nil {
				no, err := tx.StopChild(k.No, step.Command)
				if err != nil {
					return err
				}
				if no != 0 {
					stopped.Children = append(stopped.Children, no)
				}
				continue
			}
			fault, started, err := startChild(tx, a.Log, &row, step, &inputs[i])
			if err != nil {
				return err
			}
			queued = queued || started
			if fault != nil && step.Start.Await {
				done.Refused = append(done.Refused, childEnd{Command: step.Command, Fault: fault})
			}
		}
		messages, err = insertRelated(tx, stopped, a.leaseMs())
		return err
	})
	if err != nil {
		return childStepsDone{}, fmt.Errorf("start children: %w", err)
	}
	if queued {
		a.Freed(account) // a child waits for a slot
	}
	a.undelivered(messages)
	return done, nil
}

// childInput is the input of a child, parsed and as its row stores it.
type childInput struct {
	value   value.Value
	payload store.Payload
}

// childInputs parses the inputs of the children to be started, and puts large ones into the blob store.
func (a *activities) childInputs(ctx context.Context, k *childSteps) ([]childInput, error) {
	inputs := make([]childInput, len(k.Steps))
	for i := range k.Steps {
		start := k.Steps[i].Start
		if start == nil {
			continue
		}
		input, err := value.Parse(start.Input, value.Limits{Depth: value.MaxDepth})
		if err != nil {
			return nil, err
		}
		// On its way, encoding/json has escaped more than the language does, so it is written again.
		inputs[i] = childInput{input, engine.Inline(input)}
		if err := engine.Externalize(ctx, a.Blobs, &inputs[i].payload); err != nil {
			return nil, err
		}
	}
	return inputs, nil
}

// startChild inserts the row of a child, unless it exists already. The version is chosen by the first attempt.
func startChild(
	tx *store.Tx, log *slog.Logger, parent *store.Execution, step *childStep, input *childInput,
) (fault *machine.Fault, started bool, err error) {
	if _, err := tx.FindExecution(step.Start.ID); err == nil {
		return nil, false, nil
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, false, err
	}
	tree, err := engine.ReadTree(&tx.Reader, parent.No)
	if err != nil {
		return nil, false, err
	}
	c := step.Start
	command := machine.Command{ID: machine.CommandID(step.Command), Child: &machine.Child{
		ID: c.ID, Namespace: c.Namespace, Name: c.Name, Version: c.Version, Input: input.value, Await: c.Await,
	}}
	s, fault, err := tree.NewChild(&tx.Reader, parent, command, 0, nil)
	if err != nil {
		return nil, false, err
	}
	if fault != nil {
		if !c.Await {
			engine.LogRefusedChild(log, parent.ID, command.Child, fault)
		}
		return fault, false, nil
	}
	s.Row.Input = input.payload
	started, err = s.Insert(tx, parent.No)
	return nil, started, err
}

// outcome is the activity that reads the ends of the children that an execution awaits. The next call notes the ends
// of this one as delivered, because the workflow has them by then.
func (a *activities) outcome(ctx context.Context, q asking) (ends, error) {
	var open []store.Child
	err := a.Store.Update(ctx, func(tx *store.Tx) error {
		open = nil
		if _, err := rowOf(&tx.Reader, q.No, q.Execution); errors.Is(err, store.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		for _, no := range q.Delivered {
			if err := tx.DeliverChild(no); err != nil {
				return err
			}
		}
		var err error
		open, err = tx.OpenChildren(q.No, engine.MaxOpenChildren+1)
		return err
	})
	if err != nil {
		return ends{}, fmt.Errorf("read children: %w", err)
	}
	list, more, err := engine.ReadChildEnds(ctx, a.Store, a.Blobs, open, q.Delivered, a.Limits.ActivityOutputBytes)
	if err != nil {
		return ends{}, fmt.Errorf("read the end of a child: %w", err)
	}
	answer := ends{More: more}
	for _, one := range list {
		end := childEnd{No: one.No, Command: uint64(one.Event.Command), Fault: one.Event.Fault}
		if end.Fault == nil {
			end.Output = value.Marshal(one.Event.Output)
		}
		answer.Ends = append(answer.Ends, end)
	}
	return answer, nil
}
