package embedded

import (
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

// maxGrant bounds the leases that one queue takes ahead for queued executions, so that a
// long queue does not lock out the others while it reads its rows.
const maxGrant = 64

// slots hands out leases: the right to run. The leases mirror the rows: an execution holds a
// lease while its row says StateActive, from before that commit until after the commit that
// says otherwise. So the bounds hold at every moment, also as counted from rows.
//
// Executions that wait for a lease wait in a queue: the singles of a workflow in an environment, or a batch.
// The leases of an account are shared between the environments as package fair says: test never holds more than half of them.
// The queues of an environment take turns; within a queue woken executions (StateReady) go before
// queued ones, and a queue with woken executions goes before one without.
type slots struct {
	limits fair.Limits // of an account
	// schedule starts a goroutine that starts what waits in a queue that has been granted leases.
	schedule func(*queue)

	mu             sync.Mutex
	accounts       map[int64]*account
	batches        map[int64]*queue
	closed         bool
	doubleReleases int // releases of a lease that was released already: a defect
}

type account struct {
	number int64
	held   int
	shares [2]*share // live, test
	latest *share    // that has got the latest lease
}

// share is what an environment of an account holds and waits for.
type share struct {
	account   *account
	limit     int
	held      int
	workflows map[int64]*workflowLeases
	// Queues that want a lease and may have one, those with woken executions apart.
	ready  queueList
	queued queueList
}

// workflowLeases are those of one workflow in an environment.
type workflowLeases struct {
	held    int
	singles *queue
	batches map[int64]*queue
}

// lease is one slot. Its holder is one execution in memory, a message to one, or the record of
// one that is in doubt. The last holder releases it, once.
type lease struct {
	queue    *queue
	released bool // guarded by slots.mu
}

// queue is where executions wait for a lease. All fields are guarded by slots.mu.
type queue struct {
	share    *share
	workflow *workflowLeases
	owner    fair.Owner
	batch    int64    // internal number, 0 for singles
	batchID  [16]byte // for watchers
	limit    int      // leases at once, the concurrency of a batch

	held       int      // leases handed out, granted ones included
	granted    []*lease // for the scheduler, which has not fetched them yet
	woken      int      // of granted: for woken executions
	ready      []int64  // woken executions, by wake
	hasQueued  bool     // rows may be queued
	arrivals   uint64   // counts news of queued rows
	departures uint64   // counts rows that left the queue by another hand than the scheduler's
	scheduling bool     // its scheduler runs
	closed     bool     // a cancelled batch starts nothing more
	listed     *queueList
	before     *queue // neighbours in the list
	after      *queue
}

type queueList struct{ first, last *queue }

func (l *queueList) push(q *queue) {
	q.listed, q.before, q.after = l, l.last, nil
	if l.last != nil {
		l.last.after = q
	} else {
		l.first = q
	}
	l.last = q
}

func (l *queueList) remove(q *queue) {
	if q.before != nil {
		q.before.after = q.after
	} else {
		l.first = q.after
	}
	if q.after != nil {
		q.after.before = q.before
	} else {
		l.last = q.before
	}
	q.listed, q.before, q.after = nil, nil, nil
}

func newSlots(limits fair.Limits, schedule func(*queue)) *slots {
	return &slots{
		limits: limits, schedule: schedule,
		accounts: make(map[int64]*account), batches: make(map[int64]*queue),
	}
}

// account needs s.mu.
func (s *slots) account(number int64) *account {
	a := s.accounts[number]
	if a == nil {
		a = &account{number: number}
		for i, limit := range [2]int{s.limits.Places, s.limits.OfTest()} {
			a.shares[i] = &share{account: a, limit: limit, workflows: make(map[int64]*workflowLeases)}
		}
		s.accounts[number] = a
	}
	return a
}

// leasesOf needs s.mu.
func (s *slots) leasesOf(account int64, owner fair.Owner) *workflowLeases {
	sh := s.account(account).shares[0]
	if owner.Environment == chargehand.Test {
		sh = sh.account.shares[1]
	}
	w := sh.workflows[owner.Workflow]
	if w == nil {
		w = &workflowLeases{batches: make(map[int64]*queue)}
		w.singles = &queue{share: sh, workflow: w, owner: owner, limit: s.limits.Places}
		sh.workflows[owner.Workflow] = w
	}
	return w
}

// singles returns the queue of the executions without a batch of a workflow in an environment.
func (s *slots) singles(account int64, owner fair.Owner) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leasesOf(account, owner).singles
}

// batch returns the queue of a batch, or nil if it is not known.
func (s *slots) batch(number int64) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches[number]
}

// addBatch makes the queue of a batch, or returns the one that stands.
func (s *slots) addBatch(b *store.Batch) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.batches[b.No]
	if q == nil {
		owner := fair.Owner{Environment: b.Environment, Workflow: b.Workflow}
		w := s.leasesOf(b.Account, owner)
		q = &queue{share: w.singles.share, workflow: w, owner: owner, batch: b.No, batchID: b.ID, limit: b.Concurrency}
		s.batches[b.No], w.batches[b.No] = q, q
	}
	return q
}

// free reports whether an execution of q may have a lease more. It needs s.mu.
func (s *slots) free(q *queue) bool {
	a := q.share.account
	return !s.closed && !q.closed && a.held < s.limits.Places && q.share.held < q.share.limit && q.held < q.limit && s.limits.Allows(q.workflow.held)
}

// lend makes a lease of q, whatever the bounds are. It needs s.mu.
func (s *slots) newLease(q *queue) *lease {
	q.share.account.held++
	q.share.account.latest = q.share
	q.share.held++
	q.workflow.held++
	q.held++
	return &lease{queue: q}
}

// take leases a slot to an execution that wants to go on at once. It returns nil where
// there is none, and where others of the same queue wait already.
func (s *slots) acquire(q *queue) *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.free(q) || len(q.ready) > 0 {
		return nil
	}
	return s.newLease(q)
}

// start is take for a new single, which goes behind queued ones.
func (s *slots) acquireNew(account int64, owner fair.Owner) (*queue, *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.leasesOf(account, owner).singles
	if !s.free(q) || q.hasQueued || len(q.ready) > 0 {
		return q, nil
	}
	return q, s.newLease(q)
}

// adopt leases a slot to an execution whose row says StateActive, whatever the bounds are now.
func (s *slots) adopt(q *queue) *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newLease(q)
}

// release gives leases back. Nil stands for none.
func (s *slots) release(leases ...*lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range leases {
		switch {
		case l == nil:
		case l.released:
			s.doubleReleases++
		default:
			l.released = true
			q := l.queue
			q.share.account.held--
			q.share.held--
			q.workflow.held--
			q.held--
			s.listAll(q)
			s.grant(q.share.account)
		}
	}
}

// wake puts a woken execution in line.
func (s *slots) enqueueReady(q *queue, execution int64) {
	s.mu.Lock()
	q.ready = append(q.ready, execution)
	s.list(q)
	s.grant(q.share.account)
	s.mu.Unlock()
}

// queued says that rows of q may have become StateQueued.
func (s *slots) notifyQueued(q *queue) {
	s.mu.Lock()
	q.hasQueued = true
	q.arrivals++
	s.list(q)
	s.grant(q.share.account)
	s.mu.Unlock()
}

// queuedAll is queued for every queue.
func (s *slots) notifyAllQueued() {
	s.mu.Lock()
	var all []*queue
	for _, a := range s.accounts {
		for _, sh := range a.shares {
			for _, w := range sh.workflows {
				all = append(all, w.singles)
			}
		}
	}
	for _, q := range s.batches {
		all = append(all, q)
	}
	s.mu.Unlock()
	for _, q := range all {
		s.notifyQueued(q)
	}
}

// left says that a row has left q by another hand than the scheduler's, which must not trust
// rows that it has read before.
func (s *slots) noteDeparture(q *queue) {
	s.mu.Lock()
	q.departures++
	s.mu.Unlock()
}

// departures returns how many rows have left q as left says.
func (s *slots) departures(q *queue) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return q.departures
}

// close keeps q from starting anything: its batch was cancelled.
func (s *slots) close(q *queue) {
	s.mu.Lock()
	q.closed = true
	q.ready = nil
	q.hasQueued = false
	if q.listed != nil {
		q.listed.remove(q)
	}
	s.mu.Unlock()
}

// stop hands out no more leases.
func (s *slots) stop() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
}

// open hands out leases, for the first time after the recovery.
func (s *slots) open() {
	s.mu.Lock()
	s.closed = false
	for _, a := range s.accounts {
		s.grant(a)
	}
	s.mu.Unlock()
}

// list puts q in the list where it belongs. It needs s.mu.
func (s *slots) list(q *queue) {
	var to *queueList
	switch {
	case q.closed || q.held >= q.limit || !s.limits.Allows(q.workflow.held):
	case len(q.ready) > q.woken:
		to = &q.share.ready
	case q.hasQueued && len(q.granted)-q.woken < maxGrant:
		to = &q.share.queued
	}
	if q.listed == to {
		return
	}
	if q.listed != nil {
		q.listed.remove(q)
	}
	if to != nil {
		to.push(q)
	}
}

// listAll is list for all queues that the bound of a workflow concerns, after one of them has changed. It needs s.mu.
func (s *slots) listAll(q *queue) {
	s.list(q)
	if s.limits.PerWorkflow <= 0 {
		return
	}
	s.list(q.workflow.singles)
	for _, other := range q.workflow.batches {
		s.list(other)
	}
}

// next returns the queue of an account that gets the next lease, and whether that is for a woken execution. Of the
// environments that wait, the one that holds less is served; if both hold as much, they take turns. It needs s.mu.
func (a *account) next() (q *queue, woken bool) {
	var best *share
	for _, sh := range a.shares {
		if sh.held >= sh.limit || sh.ready.first == nil && sh.queued.first == nil {
			continue
		}
		if best == nil || sh.held < best.held || sh.held == best.held && best == a.latest {
			best = sh
		}
	}
	switch {
	case best == nil:
		return nil, false
	case best.ready.first != nil:
		return best.ready.first, true
	}
	return best.queued.first, false
}

// grant leases the free slots of an account to its queues in turn. It needs s.mu.
func (s *slots) grant(a *account) {
	for !s.closed && a.held < s.limits.Places {
		q, woken := a.next()
		if q == nil {
			return
		}
		q.granted = append(q.granted, s.newLease(q))
		if woken {
			q.woken++
		}
		q.listed.remove(q)
		s.listAll(q)
		if !q.scheduling {
			q.scheduling = true
			s.schedule(q)
		}
	}
}

// granted is what a scheduler may use: a lease for each of the woken executions, and leases
// for queued ones.
type grantedLeases struct {
	woken    []wokenLease
	leases   []*lease
	arrivals uint64 // to be given to exhausted
}

type wokenLease struct {
	execution int64
	lease     *lease
}

// next returns what was granted to q since the last call. Nothing was granted: the
// caller is no longer the scheduler of q.
func (s *slots) next(q *queue) (grantedLeases, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(q.granted) == 0 || s.closed {
		q.scheduling = false
		return grantedLeases{}, false
	}
	// Fewer are ready than leases were granted for if the queue was closed in the meantime.
	n := min(q.woken, len(q.ready))
	g := grantedLeases{leases: q.granted[n:], arrivals: q.arrivals}
	for i := range n {
		g.woken = append(g.woken, wokenLease{q.ready[i], q.granted[i]})
	}
	q.ready = q.ready[n:]
	if len(q.ready) == 0 {
		q.ready = nil
	}
	q.granted, q.woken = nil, 0
	s.list(q)
	return g, true
}

// exhausted says that the rows were read when added news of q were known, and that none
// is queued any more.
func (s *slots) exhausted(q *queue, added uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.arrivals == added {
		q.hasQueued = false
		s.list(q)
	}
}

// forget drops the queue of a batch whose items have all ended.
func (s *slots) forget(batch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.batches[batch]; q != nil {
		delete(q.workflow.batches, batch)
		delete(s.batches, batch)
	}
}

// heldBy returns the leases of an account.
func (s *slots) heldBy(number int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account(number).held
}
