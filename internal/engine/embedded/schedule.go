package embedded

import (
	"errors"
	"slices"

	"github.com/chargehand/chargehand/internal/store"
)

const (
	// maxStarted bounds the queued executions that are started in one Update, so that
	// the writer is free for others every few milliseconds.
	maxStarted = 128
	// maxEnded is maxStarted where all of them end in their first step: each writes little.
	maxEnded = 512
	// maxPassed bounds the rows that are read to get past executions that have a driver.
	maxPassed = 10_000
)

// schedule gives the leases that were granted to a queue to its executions, until no more are
// granted. Each queue has at most one scheduler at a time.
func (e *Engine) schedule(q *queue) {
	reader := queueReader{queue: q, byKey: e.limits.SlotsPerKey > 0, ahead: 1, most: maxStarted}
	e.retry(func() bool {
		for {
			g, ok := e.slots.next(q)
			if !ok {
				return true
			}
			for _, w := range g.woken {
				e.goWork(func() { e.send(w.execution, message{kind: takeLease, lease: w.lease}) })
			}
			if len(g.leases) == 0 {
				continue
			}
			left, err := e.startQueued(&reader, g)
			e.slots.release(left...)
			if err != nil {
				e.noteFailure("start queued executions", err)
				return false
			}
		}
	})
}

// queueReader reads the queued rows of a queue in order.
type queueReader struct {
	queue   *queue
	byKey   bool // keys have a bound: its singles are those of its key
	ahead   int  // rows to read per lease: it grows while executions need no lease
	most    int  // maxStarted or maxEnded
	skipped int  // rows whose executions had a driver
}

// read returns the next rows, at most limit. Fewer than limit means that there are no more.
func (q *queueReader) read(r *store.Reader, limit int) ([]store.Execution, error) {
	if q.queue.batch != 0 {
		return r.QueuedItems(q.queue.batch, limit)
	}
	account, owner := q.queue.share.account.number, q.queue.owner
	if q.byKey {
		return r.QueuedSinglesOf(owner.Key, account, owner.Environment, owner.Workflow, limit)
	}
	return r.QueuedSingles(account, owner.Environment, owner.Workflow, limit)
}

// startQueued starts queued executions in their order, as many as get a lease, in one Update. An
// execution that ends or parks at once leaves its lease to the next one. left are the leases that
// remain unused.
func (e *Engine) startQueued(q *queueReader, g grantedLeases) (left []*lease, err error) {
	left = g.leases
	departures := e.slots.departures(q.queue)
	limit := min(len(left)*q.ahead, q.most) + q.skipped
	var rows []store.Execution
	err = e.store.View(e.ctx, func(r *store.Reader) (err error) {
		rows, err = q.read(r, limit)
		return err
	})
	if err != nil {
		return left, err
	}
	var sets []*writeSet
	tried, passed := 0, 0
	for ; tried < len(rows) && len(left) > 0; tried++ {
		inst, ok := e.instances.tryDrive(rows[tried].No)
		if !ok {
			passed++
			continue
		}
		if inst.loaded || e.slots.departures(q.queue) != departures { // the row may no longer be queued
			e.finishDriving(inst)
			break
		}
		last := len(left) - 1
		inst.row, inst.queue, inst.loaded, inst.lease = rows[tried], q.queue, true, left[last]
		s := &writeSet{inst: inst, grouped: true}
		if failure := e.prepare(s); failure != nil {
			left = left[:last]
			e.failed(s, failure)
			break
		}
		if s.row.State == store.StateActive {
			left = left[:last]
		} else {
			inst.lease = nil
		}
		sets = append(sets, s)
	}
	q.skipped = min(passed, maxPassed)
	q.ahead, q.most = min(2*q.ahead, maxEnded), maxEnded
	if len(left) < len(g.leases) {
		q.ahead = 1
	}
	if slices.ContainsFunc(sets, func(s *writeSet) bool { return s.end == nil }) {
		q.most = maxStarted
	}
	if len(rows) < limit && tried == len(rows) {
		e.slots.exhausted(q.queue, g.arrivals)
	}
	return e.commitStarts(sets, left)
}

// commitStarts writes the first events of several executions together. If that fails although the
// store is available, each execution takes a step of its own. commitStarts returns the leases that
// remain unused.
func (e *Engine) commitStarts(sets []*writeSet, left []*lease) ([]*lease, error) {
	if len(sets) == 0 {
		return left, nil
	}
	err := e.commit(e.ctx, sets)
	switch {
	case err == nil:
		for _, s := range sets {
			if s.conflict {
				e.failed(s, errEnded)
				continue
			}
			e.completed(s)
			e.finishDriving(s.inst)
		}
		return left, nil
	case errors.Is(err, store.ErrUnavailable) || e.ctx.Err() != nil:
		for _, s := range sets {
			e.failed(s, err)
		}
		return left, err
	}
	if len(sets) > 1 && !errors.Is(err, store.ErrConflict) { // another transaction has ended one of them
		e.log.Error("queued executions could not be started together; each is tried alone",
			"count", len(sets), "error", err)
	}
	for _, s := range sets {
		if s.inst.lease != nil {
			left, s.inst.lease = append(left, s.inst.lease), nil
		}
	}
	for _, s := range sets {
		e.uncountChildren(s, false)
		if e.startAlone(s.inst, left) {
			left = left[:len(left)-1]
		}
	}
	return left, nil
}

// startAlone starts one execution with the last of some leases. It reports whether there was a
// lease. Without one the execution stays queued.
func (e *Engine) startAlone(inst *instance, left []*lease) bool {
	inst.invalidate()
	if len(left) == 0 {
		e.slots.notifyQueued(inst.queue)
		e.finishDriving(inst)
		return false
	}
	inst.lease = left[len(left)-1]
	if e.step(inst, nil) {
		e.finishDriving(inst)
	}
	return true
}
