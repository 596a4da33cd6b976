package embedded

import (
	"errors"
	"sync"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// childCanceller cancels the executions whose rows say that they must be cancelled. One goroutine
// at a time reads these rows, and a bounded number of executions is cancelled at once.
type childCanceller struct {
	permits chan struct{}

	mu                 sync.Mutex
	running, requested bool
	ending             map[int64]bool
}

func newChildCanceller() *childCanceller {
	return &childCanceller{permits: make(chan struct{}, cancelAtOnce), ending: make(map[int64]bool)}
}

// busy reports whether executions are being cancelled, or their rows are being read.
func (c *childCanceller) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running || len(c.ending) > 0
}

// begin reports whether the caller must read the rows. Otherwise the goroutine that reads them
// already reads them once more.
func (c *childCanceller) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		c.requested = true
		return false
	}
	c.running = true
	return true
}

// again reports whether the caller must read the rows once more. Otherwise no goroutine reads them
// any longer.
func (c *childCanceller) again(failed bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.requested = c.requested || failed, false
	return c.running
}

// acquire reports whether the caller must cancel an execution. The caller then calls release.
func (c *childCanceller) acquire(no int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending[no] {
		return false
	}
	c.ending[no] = true
	return true
}

func (c *childCanceller) release(no int64) {
	c.mu.Lock()
	delete(c.ending, no)
	c.mu.Unlock()
	<-c.permits
}

// cancelChildren cancels all executions whose rows say so (store.ChildStopped). A tree ends level
// by level. What is left when the engine stops is found at the next start.
func (e *Engine) cancelChildren() {
	if !e.canceller.begin() {
		return
	}
	e.goWork(func() {
		e.retry(func() bool {
			for {
				err := e.cancelStopped()
				if !e.canceller.again(err != nil) {
					return true
				}
				if err != nil {
					return false
				}
			}
		})
	})
}

// cancelStopped reads the rows once and starts a cancellation for each. A cancellation that takes
// long holds one permit only.
func (e *Engine) cancelStopped() error {
	for after := int64(0); ; {
		var page []store.Child
		err := e.store.View(e.ctx, func(r *store.Reader) (err error) {
			page, err = r.DueChildren(store.ChildStopped, after, cancelAtOnce)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, link := range page {
			after = link.Execution
			select {
			case e.canceller.permits <- struct{}{}:
			case <-e.ctx.Done():
				return e.ctx.Err()
			}
			if !e.canceller.acquire(after) {
				<-e.canceller.permits
				continue
			}
			e.goWork(func() { e.cancelChild(link.Execution) })
		}
	}
}

// cancelChild cancels one execution, repeats that until it succeeds, and gives its permit back.
func (e *Engine) cancelChild(no int64) {
	defer e.canceller.release(no)
	e.retry(func() bool {
		err := e.cancelExecution(e.ctx, no, engine.ChildCancelled)
		if err == nil || errors.Is(err, engine.ErrFinal) {
			return true
		}
		if !errors.Is(err, store.ErrUnavailable) && e.ctx.Err() == nil {
			e.log.Error("cancel a child", "execution", no, "error", err)
		}
		return false
	})
}
