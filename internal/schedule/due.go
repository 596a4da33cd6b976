package schedule

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chargehand/chargehand/internal/store"
)

// startDue handles the rows that are due, page by page.
func (s *Scheduler) startDue(ctx context.Context) error {
	after := store.Schedule{DueMs: -1}
	for {
		var page []store.Schedule
		err := s.config.Store.View(ctx, func(r *store.Reader) (err error) {
			page, err = r.SchedulesDue(s.checkedMs, after, pageRows)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		after = page[len(page)-1]
		if err := s.startPage(ctx, page); err != nil {
			return err
		}
	}
}

// startPage handles rows, several at once, so that they are committed together.
func (s *Scheduler) startPage(ctx context.Context, page []store.Schedule) error {
	var working sync.WaitGroup
	var mu sync.Mutex
	var away error
	room := make(chan struct{}, startsAtOnce)
	for i := range page {
		row := &page[i]
		if s.troubled(row.No) {
			continue
		}
		room <- struct{}{}
		working.Go(func() {
			defer func() { <-room }()
			err := s.handle(ctx, row)
			if errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
				mu.Lock()
				away = err
				mu.Unlock()
				return
			}
			s.record(row, err)
		})
		mu.Lock()
		stop := away != nil
		mu.Unlock()
		if stop {
			break
		}
	}
	working.Wait()
	return away
}

// handle does what is due with a row.
func (s *Scheduler) handle(ctx context.Context, row *store.Schedule) error {
	p, err := s.config.Plans.Plan(ctx, row.Revision)
	if err != nil {
		return err
	}
	if p.Schedule == nil {
		return lost(s.config.Store.Update(ctx, func(tx *store.Tx) error { return tx.DeleteSchedule(row) }))
	}
	t := s.calendar.due(*row, p.Schedule, s.nowMs())
	if !t.run {
		return lost(s.config.Store.Update(ctx, func(tx *store.Tx) error { return tx.MoveSchedule(&t.row) }))
	}
	return lost(s.config.Starter.StartFiring(ctx, Firing{
		Schedule: *row, Plan: p, Input: map[string]any{}, Cause: store.CauseSchedule,
		InTx: func(tx *store.Tx, executionNo int64) error {
			next := t.row
			if t.after {
				next.Execution = executionNo
			}
			return moved(tx.MoveSchedule(&next))
		},
	}))
}

// moved tells a row that another process has changed from other conflicts.
func moved(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("%w: %v", errLost, err)
	}
	return err
}

// lost drops the error of a change that came too late: what was to be done is done, or is not wanted any more.
func lost(err error) error {
	if errors.Is(err, errLost) || errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

// troubled reports whether a schedule has to wait until it is tried again.
func (s *Scheduler) troubled(no int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.troubles[no]
	return t != nil && t.untilMs > s.nowMs()
}

// record notes how it went with a schedule. What failed is tried again, and logged when it begins
// and when it lasts for long.
func (s *Scheduler) record(row *store.Schedule, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.troubles[row.No]
	if err == nil {
		if t != nil {
			delete(s.troubles, row.No)
			s.log.Info("a schedule continues", "workflow", row.Workflow, "revision", row.Revision)
		}
		return
	}
	if t == nil {
		t = &trouble{wait: minRetry / 2}
		s.troubles[row.No] = t
	}
	if t.wait < maxRetry {
		s.log.Warn("a run of a schedule could not be started; it is tried again", "workflow", row.Workflow, "revision", row.Revision, "error", err)
	}
	t.wait = min(2*t.wait, maxRetry)
	t.untilMs = s.nowMs() + t.wait.Milliseconds()
}
