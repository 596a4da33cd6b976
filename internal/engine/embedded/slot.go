package embedded

import (
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fair"
)

// slots hands out leases: the right to run. The leases mirror the rows: an execution holds a lease
// while its row says StateActive, from before that commit until after the commit that says
// otherwise. So the bounds hold at every moment, also when they are counted from the rows.
//
// Executions that wait for a lease wait in a queue: the singles of a workflow in an environment, or
// a batch. Package fair tells how the environments of an account share its leases: test never holds
// more than half of them. The queues of an environment take turns. Within a queue woken executions
// (StateReady) go before queued ones, and a queue with woken executions goes before one without.
type slots struct {
	limits fair.Limits // of an account
	// schedule starts the scheduler of a queue that has been granted leases.
	schedule func(*queue)

	mu             sync.Mutex
	accounts       map[int64]*account
	batches        map[int64]*queue
	closed         bool
	doubleReleases int // of leases: a defect, which the tests find
}

type account struct {
	number int64
	held   int
	shares [2]*share // live, test
	// afterLive: live has got the latest lease
	afterLive bool
}

// share is what one environment of an account holds and waits for.
type share struct {
	account   *account
	limit     int
	held      int
	workflows map[int64]*workflowLeases
	// The queues that want a lease and may have one. Those with woken executions are in ready.
	ready  queueList
	queued queueList
}

// workflowLeases are the leases of one workflow in one environment.
type workflowLeases struct {
	held    int
	singles *queue
	batches map[int64]*queue
}

// lease is one slot. It has one holder: an execution in memory, a message to one, or the record of
// a start in doubt. The last holder releases it, once.
type lease struct {
	queue    *queue
	released bool // guarded by slots.mu
}

func newSlots(limits fair.Limits, schedule func(*queue)) *slots {
	return &slots{
		limits: limits, schedule: schedule,
		accounts: make(map[int64]*account), batches: make(map[int64]*queue),
	}
}

// account returns an account, and makes it if it is new. The caller holds s.mu.
func (s *slots) account(number int64) *account {
	a := s.accounts[number]
	if a == nil {
		a = &account{number: number}
		for i, limit := range [2]int{s.limits.Permits, s.limits.OfTest()} {
			a.shares[i] = &share{account: a, limit: limit, workflows: make(map[int64]*workflowLeases)}
		}
		s.accounts[number] = a
	}
	return a
}

// leasesOf returns the leases of a workflow. The caller holds s.mu.
func (s *slots) leasesOf(account int64, owner fair.Owner) *workflowLeases {
	sh := s.account(account).shares[0]
	if owner.Environment == chargehand.Test {
		sh = sh.account.shares[1]
	}
	w := sh.workflows[owner.Workflow]
	if w == nil {
		w = &workflowLeases{batches: make(map[int64]*queue)}
		w.singles = &queue{share: sh, workflow: w, owner: owner, limit: s.limits.Permits}
		sh.workflows[owner.Workflow] = w
	}
	return w
}

// free reports whether an execution of q may have one more lease. The caller holds s.mu.
func (s *slots) free(q *queue) bool {
	a := q.share.account
	return !s.closed && !q.closed && a.held < s.limits.Permits && q.share.held < q.share.limit &&
		q.held < q.limit && s.limits.Allows(q.workflow.held)
}

// newLease makes a lease of q, whatever the bounds are. The caller holds s.mu.
func (s *slots) newLease(q *queue) *lease {
	q.share.account.held++
	q.share.account.afterLive = q.share == q.share.account.shares[0]
	q.share.held++
	q.workflow.held++
	q.held++
	return &lease{queue: q}
}

// acquire leases a slot to an execution that is in memory. It returns nil where no slot is free,
// and where others of the same queue wait already.
func (s *slots) acquire(q *queue) *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.free(q) || len(q.ready) > 0 {
		return nil
	}
	return s.newLease(q)
}

// acquireNew is acquire for a new single, which goes behind the queued ones of its workflow.
func (s *slots) acquireNew(account int64, owner fair.Owner) (*queue, *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.leasesOf(account, owner).singles
	if !s.free(q) || q.hasQueued || len(q.ready) > 0 {
		return q, nil
	}
	return q, s.newLease(q)
}

// adopt leases a slot to an execution whose row says StateActive, whatever the bounds are.
func (s *slots) adopt(q *queue) *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newLease(q)
}

// release gives leases back. A nil lease is ignored.
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

// next returns the queue that gets the next lease of an account, and whether the lease is for a woken execution. The
// caller holds slots.mu.
func (a *account) next() (q *queue, woken bool) {
	at := fair.Next(a.shares[0].fair(), a.shares[1].fair(), a.afterLive)
	if at < 0 {
		return nil, false
	}
	if best := a.shares[at]; best.ready.first == nil {
		return best.queued.first, false
	}
	return a.shares[at].ready.first, true
}

func (sh *share) fair() fair.Share {
	return fair.Share{Held: sh.held, Limit: sh.limit, Waits: sh.ready.first != nil || sh.queued.first != nil}
}

// grant leases the free slots of an account to its queues in turn. The caller holds s.mu.
func (s *slots) grant(a *account) {
	for !s.closed && a.held < s.limits.Permits {
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

// heldBy returns the leases of an account.
func (s *slots) heldBy(number int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account(number).held
}
