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
//
// Where keys have a bound, the singles that a key has started in a workflow have a queue of their own,
// so that no other key waits behind those of a key that holds all it may. The queues of a workflow
// then share its turn.
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
	keys      map[int64]*keyLeases // where they have a bound
	// Whose queues want a lease and may have one. Those with woken executions are in ready.
	ready  fair.List[*group]
	queued fair.List[*group]
}

// workflowLeases are the leases of one workflow in one environment.
type workflowLeases struct {
	held    int
	singles *queue           // of all keys, or, where keys have a bound, of what no key has started
	lanes   map[int64]*queue // then the singles of keys
	groups  groups           // of singles and lanes
	none    keyLeases        // of what no key has started
	batches map[int64]*queue
	// waiting are the groups in which queues want a lease, in the order in which they began to, or got the latest one.
	waiting fair.List[*group]
}

// keyLeases are the leases of what one key has started in one environment, over all workflows.
type keyLeases struct {
	held    int
	waiting fair.List[*queue] // where keys have a bound: those that want a lease, in the order of groups that wait
}

// group is what takes turns in an environment: a batch, or the singles of a workflow. Those of its
// queues that want a lease take turns within it.
type group struct {
	queues     fair.List[*queue]  // whose keys may hold one more lease
	waiting    int                // queues that want a lease, whatever their keys hold
	roundRobin *fair.List[*group] // of the environment
	position   fair.Node[*group]  // in roundRobin
	ofWorkflow fair.Node[*group]  // in those of its workflow that wait
}

// groups are one of the queues with woken executions, and one of the others.
type groups struct{ ready, queued group }

func (g *groups) init(sh *share) *groups {
	g.ready.init(&sh.ready)
	g.queued.init(&sh.queued)
	return g
}

func (g *group) init(roundRobin *fair.List[*group]) {
	g.roundRobin, g.position.Value, g.ofWorkflow.Value = roundRobin, g, g
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
			a.shares[i] = &share{
				account: a, limit: limit, workflows: make(map[int64]*workflowLeases), keys: make(map[int64]*keyLeases),
			}
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
		sh.workflows[owner.Workflow] = w
		owner.Key = 0
		w.singles = newQueue(sh, w, &w.none, w.groups.init(sh), queue{owner: owner, limit: s.limits.Permits})
	}
	return w
}

// keyOf returns the leases of a key, or those of what no key has started in a workflow. Where keys have no bound, that
// is everything. The caller holds s.mu.
func (s *slots) keyOf(w *workflowLeases, key int64) *keyLeases {
	if s.limits.PerKey <= 0 || key == 0 {
		return &w.none
	}
	keys := w.singles.share.keys
	k := keys[key]
	if k == nil {
		k = &keyLeases{}
		keys[key] = k
	}
	return k
}

// singlesOf returns the queue of the singles of an owner. The caller holds s.mu.
func (s *slots) singlesOf(account int64, owner fair.Owner) *queue {
	w := s.leasesOf(account, owner)
	if s.limits.PerKey <= 0 || owner.Key == 0 {
		return w.singles
	}
	q := w.lanes[owner.Key]
	if q == nil {
		q = newQueue(w.singles.share, w, s.keyOf(w, owner.Key), &w.groups, queue{owner: owner, limit: s.limits.Permits})
		if w.lanes == nil {
			w.lanes = make(map[int64]*queue)
		}
		w.lanes[owner.Key] = q
	}
	return q
}

// free reports whether an execution of q may have one more lease. The caller holds s.mu.
func (s *slots) free(q *queue) bool {
	a := q.share.account
	return !s.closed && !q.closed && a.held < s.limits.Permits && q.share.held < q.share.limit &&
		q.held < q.limit && s.limits.Allows(q.workflow.held) && s.limits.AllowsKey(q.key.held)
}

// take makes a lease of q, whatever the bounds are. The caller holds s.mu.
func (s *slots) take(q *queue) *lease {
	l := s.newLease(q)
	s.listTaken(q) // those that wait may have none any more
	return l
}

// newLease makes a lease of q, whatever the bounds are, and lists no queues. The caller holds s.mu.
func (s *slots) newLease(q *queue) *lease {
	q.share.account.held++
	q.share.account.afterLive = q.share == q.share.account.shares[0]
	q.share.held++
	q.workflow.held++
	q.key.held++
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
	return s.take(q)
}

// acquireNew is acquire for a new single, which goes behind the queued ones of its queue.
func (s *slots) acquireNew(account int64, owner fair.Owner) (*queue, *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.singlesOf(account, owner)
	if !s.free(q) || q.hasQueued || len(q.ready) > 0 {
		return q, nil
	}
	return q, s.take(q)
}

// adopt leases a slot to an execution whose row says StateActive, whatever the bounds are.
func (s *slots) adopt(q *queue) *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(q)
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
			q.key.held--
			q.held--
			// It may have left the bounds of its key and workflow.
			s.listAll(q, q.key.held == s.limits.PerKey-1, q.workflow.held == s.limits.PerWorkflow-1)
			s.grant(q.share.account)
		}
	}
}

// next returns the queue that gets the next lease of an account, and whether the lease is for a woken execution. The
// caller holds slots.mu.
func (a *account) next(limits fair.Limits) (q *queue, woken bool) {
	at := fair.Next(a.shares[0].fair(), a.shares[1].fair(), a.afterLive)
	if at < 0 {
		return nil, false
	}
	list, woken := &a.shares[at].ready, true
	if list.First() == nil {
		list, woken = &a.shares[at].queued, false
	}
	q = list.First().Value.queues.First().Value
	if q.key.held == limits.PerKey-1 {
		q = q.key.first(list)
	}
	return q, woken
}

// first returns the queue of a key that has waited longest, among those whose groups are in list; there is one. It gets
// the lease that brings the key to its bound, whichever queue of the key has its turn: at the bound all of them leave
// their turns, and one among many other keys of its workflow would never have it.
func (k *keyLeases) first(list *fair.List[*group]) *queue {
	n := k.waiting.First()
	for n.Value.wants.position.List() != list {
		n = n.Next()
	}
	return n.Value
}

func (sh *share) fair() fair.Share {
	return fair.Share{Held: sh.held, Limit: sh.limit, Waits: sh.ready.First() != nil || sh.queued.First() != nil}
}

// grant leases the free slots of an account to its queues in turn. The caller holds s.mu.
func (s *slots) grant(a *account) {
	for !s.closed && a.held < s.limits.Permits {
		q, woken := a.next(s.limits)
		if q == nil {
			return
		}
		q.granted = append(q.granted, s.newLease(q))
		if woken {
			q.woken++
		}
		s.leaveGroup(q)
		s.listTaken(q)
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
