package embedded

import (
	"fmt"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

// checkInvariants compares what the engine holds in memory with the rows. Every test of a fixture
// ends with it. Both differ for moments while the engine works, so it compares them again for a
// while.
func (fx *fixture) checkInvariants() {
	fx.t.Helper()
	if fx.unchecked != "" || fx.t.Failed() {
		return
	}
	storetest.CheckUsage(fx.t, fx.db)
	storetest.CheckTaskFacts(fx.t, fx.db)
	var found []string
	for wait := time.Duration(0); wait < 2*time.Second; wait = 2*wait + time.Millisecond {
		time.Sleep(wait)
		if found = fx.violations(); len(found) == 0 {
			return
		}
	}
	fx.t.Errorf("the engine does not hold what its rows say:")
	for _, text := range found {
		fx.t.Error(text)
	}
	fx.t.Log(fx.log)
}

// violations names what differs between memory and rows.
func (fx *fixture) violations() (found []string) {
	complain := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	e := fx.engine
	var active []store.Execution
	var queued map[store.QueuedWorkflow]int64
	var batches []store.Batch
	var timers [2][]store.Timer
	fx.view(func(r *store.Reader) (err error) {
		if active, err = allActive(r); err == nil {
			queued, err = r.QueuedWorkflows()
		}
		if err == nil {
			batches, err = r.ActiveBatches()
		}
		if err == nil {
			timers[0], err = r.TimersAfter(store.Timer{Environment: chargehand.Live}, e.limits.TimerWindow)
		}
		if err == nil {
			timers[1], err = r.TimersAfter(store.Timer{Environment: chargehand.Test}, e.limits.TimerWindow)
		}
		return err
	})
	leases := fx.instances(active, complain)
	fx.outages(leases, complain)
	fx.leases(leases, len(active), batches, complain)
	e.queued.mu.Lock()
	for workflow, n := range queued {
		if e.queued.count[workflow] != n {
			complain("workflow %v has %d queued executions, and %d are counted", workflow, n, e.queued.count[workflow])
		}
	}
	for workflow, n := range e.queued.count {
		if queued[workflow] == 0 {
			complain("workflow %v has no queued executions, and %d are counted", workflow, n)
		}
	}
	e.queued.mu.Unlock()
	for i, clock := range e.timers.each() {
		fx.timersInMemory(clock, timers[i], complain)
	}
	if n := e.watchers.watching.Load(); n != 0 {
		complain("%d watchers have not gone", n)
	}
	e.trees.mu.Lock()
	for root, n := range e.trees.reserved {
		complain("%d starts are reserved in the tree of execution %d", n, root)
	}
	e.trees.mu.Unlock()
	e.canceller.mu.Lock()
	if len(e.canceller.ending) > 0 {
		complain("%d executions are being cancelled", len(e.canceller.ending))
	}
	e.canceller.mu.Unlock()
	e.batchesInDoubt.Range(func(no, _ any) bool {
		complain("the cancellation of batch %v is in doubt", no)
		return true
	})
	return found
}

func allActive(r *store.Reader) (active []store.Execution, err error) {
	for {
		var after *store.Execution
		if len(active) > 0 {
			after = &active[len(active)-1]
		}
		page, err := r.ExecutionsByState(store.StateActive, after, recoveryPage)
		if active = append(active, page...); err != nil || len(page) < recoveryPage {
			return active, err
		}
	}
}

// instances checks that memory holds the active executions and no others, and returns their leases.
func (fx *fixture) instances(active []store.Execution, complain func(string, ...any)) map[*queue]int {
	leases := make(map[*queue]int)
	rows := make(map[int64]bool)
	for _, row := range active {
		rows[row.No] = true
	}
	fx.engine.instances.each(func(inst *instance) {
		inst.mu.Lock()
		defer inst.mu.Unlock()
		switch {
		case inst.removed:
			return
		case inst.driven || len(inst.mailbox) > 0:
			complain("execution %d is driven, with %d messages", inst.no, len(inst.mailbox))
			return // the rest belongs to the driver
		case !rows[inst.no]:
			complain("execution %d is in memory, and not active", inst.no)
		case inst.lease == nil:
			complain("execution %d is active without a lease", inst.no)
		}
		if inst.lease != nil {
			leases[inst.lease.queue]++
		}
		if len(inst.childrenInDoubt) > 0 {
			complain("execution %d has children in doubt", inst.no)
		}
		delete(rows, inst.no)
	})
	for no := range rows {
		complain("execution %d is active, and not in memory", no)
	}
	return leases
}

// outages checks that nothing waits for the storage.
func (fx *fixture) outages(leases map[*queue]int, complain func(string, ...any)) {
	o := &fx.engine.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.stalled) > 0 || len(o.inDoubt) > 0 {
		complain("%d executions have stalled, %d are in doubt", len(o.stalled), len(o.inDoubt))
	}
	for _, d := range o.inDoubt {
		if d.lease != nil {
			leases[d.lease.queue]++
		}
	}
	if n := fx.engine.stats.retained.Load(); n != 0 {
		complain("%d bytes of outcomes are retained", n)
	}
}

// leases checks that each one is held by an execution, and that no queue outlives its batch.
func (fx *fixture) leases(leases map[*queue]int, active int, batches []store.Batch, complain func(string, ...any)) {
	s := fx.engine.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doubleReleases > 0 {
		complain("%d leases were released twice", s.doubleReleases)
	}
	total, byKey := 0, make(map[*keyLeases]int)
	check := func(name string, q *queue) {
		total += q.held
		byKey[q.key] += q.held
		if waits := q.ofKey.List() != nil; waits != (q.wants != nil && s.limits.PerKey > 0) {
			complain("%s is in the line of its key: %v", name, waits)
		}
		if q.held != leases[q]+len(q.granted) {
			complain("%s holds %d leases; executions have %d, and %d are granted", name, q.held, leases[q], len(q.granted))
		}
		if len(q.granted) > 0 && !s.closed {
			complain("%s has %d leases that it does not use", name, len(q.granted))
		}
		active += len(q.granted)
	}
	for number, q := range s.batches {
		check(fmt.Sprintf("batch %d", number), q)
		if !slices.ContainsFunc(batches, func(b store.Batch) bool { return b.No == number }) {
			complain("batch %d has ended, and its queue is in memory", number)
		}
	}
	ofKey := func(name string, key *keyLeases) int {
		if key.held != byKey[key] {
			complain("%s holds %d leases, its queues %d", name, key.held, byKey[key])
		}
		return key.held
	}
	held := 0
	for number, a := range s.accounts {
		held += a.held
		inEnvironments := 0
		for _, sh := range a.shares {
			inWorkflows, ofKeys := 0, 0
			for workflow, leases := range sh.workflows {
				check(fmt.Sprintf("workflow %d", workflow), leases.singles)
				held := leases.singles.held
				for key, lane := range leases.lanes {
					check(fmt.Sprintf("key %d in workflow %d", key, workflow), lane)
					held += lane.held
				}
				for _, batch := range leases.batches {
					held += batch.held
				}
				if leases.held != held {
					complain("workflow %d holds %d leases, its queues %d", workflow, leases.held, held)
				}
				inWorkflows += leases.held
				ofKeys += ofKey(fmt.Sprintf("no key in workflow %d", workflow), &leases.none)
			}
			for number, key := range sh.keys {
				ofKeys += ofKey(fmt.Sprintf("key %d", number), key)
			}
			if sh.held != ofKeys {
				complain("an environment of account %d holds %d leases, its keys %d", number, sh.held, ofKeys)
			}
			if sh.held != inWorkflows {
				complain("an environment of account %d holds %d leases, its workflows %d", number, sh.held, inWorkflows)
			}
			inEnvironments += sh.held
		}
		if a.held != inEnvironments {
			complain("account %d holds %d leases, its environments %d", number, a.held, inEnvironments)
		}
	}
	if held != total || held != active {
		complain("accounts hold %d leases, their queues %d; %d executions are active", held, total, active)
	}
}

// timersInMemory checks that each of an environment has its row, and that none is missing of those that are due next.
func (fx *fixture) timersInMemory(t *clock, rows []store.Timer, complain func(string, ...any)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := make(map[timerKey]bool)
	for _, row := range rows {
		key := timerKey{row.Execution, row.Command}
		known[key] = true
		if t.index[key] == nil && !before(t.horizon, row) && row.DueMs > t.nowMs() {
			complain("the timer %+v is not in memory", row)
		}
	}
	if len(rows) == fx.engine.limits.TimerWindow {
		return // there are more
	}
	for key := range t.index {
		if !known[key] {
			complain("the timer %+v is in memory and has no row", key)
		}
	}
}
