package temporal

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
)

// ownerPause lies between two looks whether the execution of a process that no task awaits is still there.
const ownerPause = 30 * time.Second

// errDisowned is why a process ends that no task awaits: its execution has failed, was cancelled or deleted.
var errDisowned = errors.New("the execution is gone")

// watchOwner ends a process that no task awaits with its execution (T67), also where no workflow is
// left to say so. The returned function ends the watch.
func (a *activities) watchOwner(ctx context.Context, c *call, every time.Duration, end context.CancelCauseFunc) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause.For(ctx, every) == nil {
			var row store.Execution
			err := a.Store.View(ctx, func(r *store.Reader) (err error) {
				row, err = rowOf(r, c.No, c.Execution)
				return err
			})
			if errors.Is(err, store.ErrNotFound) || err == nil && row.Status.Final() && row.Status != chargehand.Finished {
				end(errDisowned)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
