package embedded

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// people answers the human tasks of an execution as the script of the suite says, until the returned function is
// called. A task that is read again after a crash is answered as the first time.
func (fx *fixture) people(o *suiteOutside, row store.Execution) (stop func()) {
	fx.mu.Lock()
	p := fx.plans[1]
	fx.mu.Unlock()
	if !slices.ContainsFunc(p.Tasks, func(t *plan.Task) bool { return t.Human != nil }) {
		return func() {} // its clock runs freely
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := fx.engine
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			fx.answerTasks(ctx, e, o, row)
			select {
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
			}
		}
	})
	return func() { cancel(); all.Wait() }
}

// answerTasks answers what is open now.
func (fx *fixture) answerTasks(ctx context.Context, e *Engine, o *suiteOutside, row store.Execution) {
	var tasks []store.HumanTask
	err := e.store.View(ctx, func(r *store.Reader) (err error) {
		tasks, err = r.HumanTasks(store.TaskFilter{Account: row.Account, Environment: row.Environment, Limit: 100})
		return err
	})
	if err != nil {
		return
	}
	for _, task := range tasks {
		o.mu.Lock()
		key := "human task " + task.ID.String()
		answer, again := o.given[key]
		if !again {
			answer = o.script.Answer(task.Reference)
			o.given[key] = answer
		}
		hangs := o.hangs
		o.hung = o.hung || answer.Hang
		o.mu.Unlock()
		if answer.Hang {
			if o.script.Cancel && hangs != nil && !again {
				hangs()
			}
			continue
		}
		err := answerTask(ctx, e, task, answer.Value())
		if err != nil && !errors.Is(err, engine.ErrTaskEnded) && !errors.Is(err, engine.ErrFinal) && !errors.Is(err, store.ErrUnavailable) &&
			!errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			fx.t.Errorf("answer a task: %v", err)
		}
	}
}

// answerTask answers a task as the service does.
func answerTask(ctx context.Context, e engine.Engine, task store.HumanTask, output value.Value) error {
	return e.AnswerTask(ctx, engine.TaskAnswer{Task: task, Output: output, Write: func(tx *store.Tx, used bool) error {
		row := task
		return tx.AnswerTask(&row, -1, engine.Inline(output), task.CreatedMs+1, used)
	}})
}
