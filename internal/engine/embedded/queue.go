package embedded

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

// maxGrant bounds the leases that are granted to one queue ahead of its queued rows, so that a long
// queue does not lock out the others while its scheduler reads rows. Those that the scheduler works with count.
const maxGrant = 64

// queue is where executions wait for a lease: the singles of a workflow in an environment, or the
// items of a batch. slots.mu guards all fields.
type queue struct {
	share    *share
	workflow *workflowLeases
	key      *keyLeases
	groups   *groups
	owner    fair.Owner
	batch    int64    // internal number, 0 for singles
	batchID  [16]byte // for its watchers
	limit    int      // leases at once: the concurrency of a batch

	held       int               // leases handed out, granted ones included
	granted    []*lease          // for the scheduler, which has not taken them yet
	woken      int               // how many of granted are for woken executions
	taken      int               // leases for queued rows that the scheduler has taken at its latest call of next
	ready      []int64           // woken executions, in the order in which they were woken
	hasQueued  bool              // rows may be queued
	arrivals   uint64            // calls of notifyQueued
	departures uint64            // calls of noteDeparture
	scheduling bool              // its scheduler runs
	closed     bool              // its batch is cancelled: it starts nothing more
	wants      *group            // in which of its groups it waits; nil: it wants no lease
	position   fair.Node[*queue] // in the queues of that group, while its key may hold one more lease
	ofKey      fair.Node[*queue] // in the queues of its key that wait
}

// newQueue completes a queue.
func newQueue(sh *share, w *workflowLeases, k *keyLeases, g *groups, q queue) *queue {
	q.share, q.workflow, q.key, q.groups = sh, w, k, g
	made := &q
	made.position.Value, made.ofKey.Value = made, made
	return made
}

// ownerOf is the owner of the permits that an execution takes (package fair).
func ownerOf(row *store.Execution) fair.Owner {
	return fair.Owner{Environment: row.Environment, Workflow: row.Workflow, Key: row.Actor()}
}

// ownerOfQueued is ownerOf for what an actor has queued.
func ownerOfQueued(q store.QueuedActor) fair.Owner {
	return fair.Owner{Environment: q.Environment, Workflow: q.Workflow, Key: q.Actor}
}

// queueOf returns the queue of an execution that has not ended.
func (e *Engine) queueOf(row *store.Execution) (*queue, error) {
	if row.Batch == 0 {
		return e.slots.singles(row.Account, ownerOf(row)), nil
	}
	return e.batchQueue(row.Batch)
}

// batchQueue returns the queue of a batch. Errors: store.ErrNotFound, also if the batch has ended.
func (e *Engine) batchQueue(batch int64) (*queue, error) {
	if q := e.slots.batch(batch); q != nil {
		return q, nil
	}
	var b store.Batch
	err := e.store.View(e.ctx, func(r *store.Reader) (err error) {
		b, err = r.BatchByNo(batch)
		return err
	})
	if err != nil {
		return nil, err
	}
	if b.Status.Final() {
		return nil, fmt.Errorf("batch %d has ended: %w", batch, store.ErrNotFound)
	}
	q := e.slots.addBatch(&b)
	if b.CancelRequested {
		e.slots.close(q)
	}
	return q, nil
}

// BatchReady implements engine.Engine.
func (e *Engine) BatchReady(batch int64) {
	if !e.requests.Enter() {
		return // the next start finds it
	}
	defer e.requests.Leave()
	e.goWork(func() {
		e.retry(func() bool {
			q, err := e.batchQueue(batch)
			if err == nil {
				e.slots.notifyQueued(q)
				e.delays.Wake() // its items may be delayed
				return true
			}
			e.log.Error("read a batch that is ready", "batch", batch, "error", err)
			return errors.Is(err, store.ErrNotFound)
		})
	})
}

// singles returns the queue of the executions of an owner that are not in a batch.
func (s *slots) singles(account int64, owner fair.Owner) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.singlesOf(account, owner)
}

// batch returns the queue of a batch, or nil if there is none in memory.
func (s *slots) batch(number int64) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches[number]
}

// addBatch makes the queue of a batch, or returns the queue that it has.
func (s *slots) addBatch(b *store.Batch) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.batches[b.No]
	if q == nil {
		owner := fair.Owner{Environment: b.Environment, Workflow: b.Workflow, Key: b.StartedBy}
		w := s.leasesOf(b.Account, owner)
		q = newQueue(w.singles.share, w, s.keyOf(w, owner.Key), new(groups).init(w.singles.share),
			queue{owner: owner, batch: b.No, batchID: b.ID, limit: b.Concurrency})
		s.batches[b.No], w.batches[b.No] = q, q
	}
	return q
}

// enqueueReady puts a woken execution into its queue.
func (s *slots) enqueueReady(q *queue, execution int64) {
	s.mu.Lock()
	q.ready = append(q.ready, execution)
	s.list(q)
	s.grant(q.share.account)
	s.mu.Unlock()
}

// notifyQueued says that rows of q may have become StateQueued.
func (s *slots) notifyQueued(q *queue) {
	s.mu.Lock()
	q.hasQueued = true
	q.arrivals++
	s.list(q)
	s.grant(q.share.account)
	s.mu.Unlock()
}

// noteDeparture says that a row has left q, and not by q's scheduler. The scheduler then does not
// trust the rows that it has read before.
func (s *slots) noteDeparture(q *queue) {
	s.mu.Lock()
	q.departures++
	s.mu.Unlock()
}

// departures returns how often noteDeparture was called for q.
func (s *slots) departures(q *queue) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return q.departures
}

// exhausted says that the scheduler has found no more queued rows. arrivals is the count of
// arrivals from before it read the rows: with a higher count now, there may be rows again.
func (s *slots) exhausted(q *queue, arrivals uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.arrivals == arrivals {
		q.hasQueued = false
		s.list(q)
	}
}

// grantedLeases is what a scheduler may use: a lease for each of the woken executions, and leases
// for queued ones.
type grantedLeases struct {
	woken    []wokenLease
	leases   []*lease
	arrivals uint64 // the argument of exhausted
}

type wokenLease struct {
	execution int64
	lease     *lease
}

// next returns what was granted to q since the last call, whose leases the caller has used or given back. If nothing
// was granted, the caller is no longer the scheduler of q.
func (s *slots) next(q *queue) (grantedLeases, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.taken = 0
	s.list(q)
	s.grant(q.share.account) // no release may come that would: all leases of the last call may be in use
	if len(q.granted) == 0 || s.closed {
		q.scheduling = false
		return grantedLeases{}, false
	}
	// If the queue was closed meanwhile, fewer executions are ready than leases were granted.
	n := min(q.woken, len(q.ready))
	g := grantedLeases{leases: q.granted[n:], arrivals: q.arrivals}
	for i := range n {
		g.woken = append(g.woken, wokenLease{q.ready[i], q.granted[i]})
	}
	q.ready = q.ready[n:]
	if len(q.ready) == 0 {
		q.ready = nil
	}
	q.granted, q.woken, q.taken = nil, 0, len(g.leases) // list counts as many as before
	return g, true
}

// close keeps q from starting any more executions, because its batch was cancelled.
func (s *slots) close(q *queue) {
	s.mu.Lock()
	s.closeQueue(q)
	s.mu.Unlock()
}

// closeQueue is close. The caller holds s.mu.
func (s *slots) closeQueue(q *queue) {
	q.closed, q.ready, q.hasQueued = true, nil, false
	s.list(q)
}

// forget drops the queue of a batch whose items have all ended.
func (s *slots) forget(batch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.batches[batch]; q != nil {
		s.closeQueue(q) // its key and its workflow do not list it any more when they come to a bound
		delete(q.workflow.batches, batch)
		delete(s.batches, batch)
	}
}

// list puts q into its group of queues that want a lease and may have one, or takes it out. The caller holds s.mu.
func (s *slots) list(q *queue) {
	var wants *group
	switch {
	case q.closed || q.held >= q.limit:
	case len(q.ready) > q.woken:
		wants = &q.groups.ready
	case q.hasQueued && len(q.granted)-q.woken+q.taken < maxGrant:
		wants = &q.groups.queued
	}
	if q.wants != wants {
		s.wait(q, wants)
	}
	var to *fair.List[*queue]
	if wants != nil && s.limits.AllowsKey(q.key.held) {
		to = &wants.queues
	}
	if q.position.List() != to {
		q.position.Move(to)
		s.listGroups(q)
	}
}

// wait notes in which of its groups q waits. The caller holds s.mu.
func (s *slots) wait(q *queue, g *group) {
	if q.wants != nil {
		if q.wants.waiting--; q.wants.waiting == 0 {
			q.wants.ofWorkflow.Leave()
		}
		q.ofKey.Leave()
	}
	q.wants = g
	if g == nil {
		return
	}
	if g.waiting++; g.waiting == 1 {
		q.workflow.waiting.Push(&g.ofWorkflow)
	}
	if s.limits.PerKey > 0 {
		q.key.waiting.Push(&q.ofKey)
	}
}

// listGroups lists the groups of q. The caller holds s.mu.
func (s *slots) listGroups(q *queue) {
	s.listGroup(&q.groups.ready, q.workflow)
	s.listGroup(&q.groups.queued, q.workflow)
}

// listGroup puts a group of w into the round robin of its environment, or takes it out. The caller holds s.mu.
func (s *slots) listGroup(g *group, w *workflowLeases) {
	to := g.roundRobin
	if g.queues.First() == nil || !s.limits.Allows(w.held) {
		to = nil
	}
	g.position.Move(to)
}

// leaveGroup takes q, which has got a lease, out of its group, which goes behind the other groups if more of it wait.
// Listed again, q is behind them. The caller holds s.mu.
func (s *slots) leaveGroup(q *queue) {
	g := q.wants
	g.position.Leave()
	q.position.Leave()
	g.ofWorkflow.Leave()
	q.workflow.waiting.Push(&g.ofWorkflow)
	if s.limits.PerKey > 0 {
		q.ofKey.Leave()
		q.key.waiting.Push(&q.ofKey)
	}
	s.listGroups(q)
}

// listTaken lists q, which holds one lease more, and those that share a bound with it to which it may have come. The
// caller holds s.mu.
func (s *slots) listTaken(q *queue) {
	s.listAll(q, q.key.held == s.limits.PerKey, q.workflow.held == s.limits.PerWorkflow)
}

// listAll lists q, which holds one lease more or less, and those that wait and share with it a bound of their key or
// workflow, to which it has come, or which it has left. What has waited comes before what waits again by this. The
// caller holds s.mu.
func (s *slots) listAll(q *queue, key, workflow bool) {
	if workflow {
		for n := q.workflow.waiting.First(); n != nil; n = n.Next() {
			s.listGroup(n.Value, q.workflow)
		}
	}
	if key {
		for n := q.key.waiting.First(); n != nil; {
			other := n.Value
			n = n.Next() // q may not wait any more
			s.list(other)
		}
	}
	s.list(q)
}
