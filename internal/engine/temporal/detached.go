package temporal

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
)

// ownerPause is the time between two checks that the execution of a detached process still exists.
const ownerPause = 30 * time.Second

// errDisowned is the reason why a detached process is stopped: its execution has failed, was cancelled or deleted.
var errDisowned = errors.New("the execution is gone")

// watchOwner ends a detached process with its execution (T67), also where no workflow is left that could cancel it.
// The returned function ends the watch.
func (a *activities) watchOwner(
	ctx context.Context, c *call, every time.Duration, end context.CancelCauseFunc,
) (stop func()) {
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
