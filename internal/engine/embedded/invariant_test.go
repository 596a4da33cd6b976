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
	var batches, withItems []store.Batch
	var singles []store.QueuedActor
	var timers [2][]store.Timer
	fx.view(func(r *store.Reader) (err error) {
		if active, err = allActive(r); err == nil {
			queued, err = r.QueuedWorkflows()
		}
		if err == nil {
			singles, err = e.queuedSingles(r, queued)
		}
		if err == nil {
			batches, err = r.ActiveBatches()
		}
		for _, b := range batches {
			var items []store.Execution
			if err == nil {
				items, err = r.QueuedItems(b.No, 1)
			}
			if len(items) > 0 {
				withItems = append(withItems, b)
			}
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
	fx.queues(singles, withItems, complain)
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

// queues checks that queued rows have a queue that knows of them, and that every queue is in the lists in which it
// waits.
func (fx *fixture) queues(singles []store.QueuedActor, batches []store.Batch, complain func(string, ...any)) {
	s := fx.engine.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, waiting := range singles {
		if q := s.known(waiting); q == nil || !q.hasQueued {
			complain("executions of %+v are queued, and no queue knows of them", waiting)
		}
	}
	for _, b := range batches {
		if q := s.batches[b.No]; q == nil || !q.hasQueued && !q.closed {
			complain("items of batch %d are queued, and no queue knows of them", b.No)
		}
	}
	for _, q := range s.batches {
		s.listed(q, complain)
	}
	for number, a := range s.accounts {
		for _, sh := range a.shares {
			if !s.closed && a.held < s.limits.Permits && sh.held < sh.limit && sh.fair().Waits {
				complain("a queue of account %d waits while a slot is free", number)
			}
			for _, w := range sh.workflows {
				s.listed(w.singles, complain)
				for _, lane := range w.lanes {
					s.listed(lane, complain)
				}
			}
		}
	}
}

// known is singlesOf that makes no queue.
func (s *slots) known(waiting store.QueuedActor) *queue {
	a := s.accounts[waiting.Account]
	if a == nil {
		return nil
	}
	sh := a.shares[0]
	if waiting.Environment == chargehand.Test {
		sh = a.shares[1]
	}
	w := sh.workflows[waiting.Workflow]
	switch {
	case w == nil:
		return nil
	case s.limits.PerKey <= 0 || waiting.Actor == 0:
		return w.singles
	}
	return w.lanes[waiting.Actor]
}

// listed checks that q and its groups are in the lists in which they wait, and in no others.
func (s *slots) listed(q *queue, complain func(string, ...any)) {
	var wants *group
	switch {
	case q.closed || q.held >= q.limit:
	case len(q.ready) > q.woken:
		wants = &q.groups.ready
	case q.hasQueued && len(q.granted)-q.woken+q.taken < maxGrant:
		wants = &q.groups.queued
	}
	if q.wants != wants || (q.position.List() != nil) != (wants != nil && s.limits.AllowsKey(q.key.held)) {
		complain("the queue of %+v (batch %d) is not listed as it waits", q.owner, q.batch)
	}
	for _, g := range [...]*group{&q.groups.ready, &q.groups.queued} {
		isEligible := g.queues.First() != nil && s.limits.Allows(q.workflow.held)
		if (g.position.List() != nil) != isEligible || (g.ofWorkflow.List() != nil) != (g.waiting > 0) {
			complain("a group of %+v (batch %d) is not listed as it waits", q.owner, q.batch)
		}
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
