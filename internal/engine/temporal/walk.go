package temporal

import (
	"context"
	"fmt"
	"sync"

	"github.com/chargehand/chargehand/internal/store"
)

// walk asks Temporal for the workflows of all rows in one state (an index of walked). It trusts no
// list of Temporal's, which may be late. After a page for which Temporal did not answer at all it fails; the
// next walk continues behind that page.
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

// ask asks for the workflows of a page, several at once, because answers take their time, and each a little after the
// one before,
// to spare Temporal. Its error is that of the last question, if none was answered.
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

// check asks for one workflow, and ends the row of one that is gone. Most are not, so the order is: Temporal first.
// But only
// once its start has been delivered, what Temporal says about it afterwards is true.
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
