package temporal

import (
	"context"
	"fmt"
	"sync"

	"github.com/chargehand/chargehand/internal/store"
)

// walk asks Temporal for the workflow of every row in one state (an index of walked). It does not use Temporal's list
// of workflows, which may be late. It fails after a page for which Temporal did not answer at all; the next walk
// continues behind that page.
func (r *reconciler) walk(ctx context.Context, state int) error {
	if err := r.verify(ctx); err != nil {
		return err
	}
	position := &r.positions[state]
	for {
		var page []store.Execution
		err := r.Store.View(ctx, func(rd *store.Reader) (err error) {
			page, err = rd.ScanUnfinished(walked[state], *position, walkPage)
			return err
		})
		if err != nil {
			return err
		}
		err = r.ask(ctx, page)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(page) < walkPage {
			*position = nil
			return err
		}
		*position = &page[len(page)-1]
		if err != nil {
			return err
		}
	}
}

// ask asks for the workflows of a page: several at once, because answers take their time, and each a little after the
// one before, to spare Temporal. Its error is that of the last request, if none was answered.
func (r *reconciler) ask(ctx context.Context, page []store.Execution) error {
	var mu sync.Mutex
	var failed error
	answered := false
	rows := make(chan *store.Execution)
	var all sync.WaitGroup
	for range min(askedAtOnce, len(page)) {
		all.Go(func() {
			for row := range rows {
				err := r.check(ctx, row)
				mu.Lock()
				if err != nil {
					failed = err
				} else {
					answered = true
				}
				mu.Unlock()
			}
		})
	}
	for i := range page {
		if r.Now().UnixMilli()-page[i].StartedMs < r.Grace.Milliseconds() {
			continue
		}
		rows <- &page[i]
		if !r.sleep(ctx, r.Asking) {
			break
		}
	}
	close(rows)
	all.Wait()
	if answered {
		return nil
	}
	return failed
}

// check asks for one workflow, and ends its row if the workflow has ended. It asks Temporal first, because most
// workflows are open. If Temporal does not have the workflow as open, check makes sure that its start has been
// delivered, and asks again: only an answer from after the delivery counts.
func (r *reconciler) check(ctx context.Context, row *store.Execution) error {
	how, err := r.Remote.ended(ctx, row.ID)
	if err != nil {
		return fmt.Errorf("ask for a workflow: %w", err)
	}
	if how == "" {
		return nil
	}
	var starting bool
	err = r.Store.View(ctx, func(rd *store.Reader) (err error) {
		starting, err = rd.StartUndelivered(row.No)
		return err
	})
	if err != nil || starting {
		return err
	}
	if how, err = r.Remote.ended(ctx, row.ID); err != nil {
		return fmt.Errorf("ask for a workflow: %w", err)
	}
	switch how {
	case "":
		return nil
	case goneStatus:
		return r.end(ctx, row.No, "The execution's workflow is gone from Temporal, and had not finished.")
	}
	return r.endAs(ctx, row.No, how, "")
}
