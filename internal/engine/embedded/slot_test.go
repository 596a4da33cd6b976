package embedded

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

var (
	ownLive   = fair.Owner{Environment: chargehand.Live, Workflow: 1}
	otherLive = fair.Owner{Environment: chargehand.Live, Workflow: 2}
	ownTest   = fair.Owner{Environment: chargehand.Test, Workflow: 1}
)

func TestSlotsOfTestAreHalf(t *testing.T) {
	s, _ := newTestSlots(5)
	held := 0
	for {
		if _, l := s.acquireNew(1, ownTest); l == nil {
			break
		}
		held++
	}
	if held != 2 {
		t.Fatalf("test holds %d of 5 slots", held)
	}
	for {
		if _, l := s.acquireNew(1, ownLive); l == nil {
			break
		}
		held++
	}
	if held != 5 {
		t.Fatalf("%d of 5 slots are held", held)
	}
}

// TestOneSlotIsShared: with one slot, live and test take turns.
func TestOneSlotIsShared(t *testing.T) {
	s, _ := newTestSlots(1)
	live, held := s.acquireNew(1, ownLive)
	test := s.singles(1, ownTest)
	s.notifyQueued(live)
	s.notifyQueued(test)
	for round := range 6 {
		s.release(held)
		next, name := test, "test"
		if round%2 == 1 {
			next, name = live, "live"
		}
		got, ok := s.next(next)
		if !ok || len(got.leases) != 1 {
			t.Fatalf("%s has no slot in round %d: %+v", name, round, got)
		}
		held = got.leases[0]
	}
}

func TestSlotsOfAWorkflowAreBounded(t *testing.T) {
	s, f := newTestSlots(5)
	s.limits.PerWorkflow = 2
	_, first := s.acquireNew(1, ownLive)
	_, second := s.acquireNew(1, ownLive)
	if _, l := s.acquireNew(1, ownLive); first == nil || second == nil || l != nil {
		t.Fatal("a workflow holds fewer slots than it may, or more")
	}
	if _, l := s.acquireNew(1, otherLive); l == nil {
		t.Fatal("another workflow was refused")
	}
	batch := s.addBatch(&store.Batch{Account: 1, Workflow: 1, No: 7, Environment: chargehand.Live, Concurrency: 5})
	s.notifyQueued(batch)
	if len(f.waiting) != 0 {
		t.Fatal("a batch of the workflow got a slot that it may not have")
	}
	s.release(first)
	if got, ok := s.next(batch); !ok || len(got.leases) != 1 {
		t.Fatalf("got %+v, %v, when a slot of the workflow was free", got, ok)
	}
}

// TestBoundsHoldWhileAQueueWaits: executions that wake take the rest of what a batch or a workflow may hold, while its
// scheduler has taken what was granted and more rows are queued. What is free elsewhere goes beyond no bound.
func TestBoundsHoldWhileAQueueWaits(t *testing.T) {
	for _, limits := range []fair.Limits{{Permits: 200}, {Permits: 200, PerWorkflow: 70}} {
		s := newSlots(limits, func(*queue) {})
		_, elsewhere := s.acquireNew(1, otherLive)
		batch := s.addBatch(&store.Batch{Account: 1, Workflow: 1, No: 7, Environment: chargehand.Live, Concurrency: 100})
		s.notifyQueued(batch)
		s.next(batch)
		for s.acquire(batch) != nil {
		}
		s.release(elsewhere)
		if most := min(100, limits.OfWorkflow()); batch.held != most {
			t.Errorf("%+v: the batch holds %d slots, want %d", limits, batch.held, most)
		}
	}
}

// TestQueueGetsAllThatIsFree: a queue with more rows than are granted at once gets the rest when its scheduler has used
// what it had, also if no slot comes back meanwhile.
func TestQueueGetsAllThatIsFree(t *testing.T) {
	s, f := newTestSlots(200)
	batch := s.addBatch(&store.Batch{Account: 1, Workflow: 1, No: 7, Environment: chargehand.Live, Concurrency: 100})
	s.notifyQueued(batch)
	for got, ok := s.next(batch); ok; got, ok = s.next(batch) {
		if len(got.leases) > maxGrant {
			t.Errorf("%d slots were granted at once", len(got.leases))
		}
	}
	if batch.held != 100 || len(f.waiting) != 1 {
		t.Errorf("the batch holds %d slots of 100, and has had %d schedulers", batch.held, len(f.waiting))
	}
}

// schedulers collects the queues that were granted leases; the test schedules by hand.
type schedulers struct{ waiting []*queue }

func newTestSlots(limit int) (*slots, *schedulers) {
	f := &schedulers{}
	return newSlots(fair.Limits{Permits: limit}, func(q *queue) { f.waiting = append(f.waiting, q) }), f
}

func TestSlotsOfAnAccountAreBounded(t *testing.T) {
	s, _ := newTestSlots(3)
	var last *lease
	for range 3 {
		if _, last = s.acquireNew(1, ownLive); last == nil {
			t.Fatal("a free slot was refused")
		}
	}
	if _, l := s.acquireNew(1, ownLive); l != nil {
		t.Fatal("a fourth slot of three was given")
	}
	if _, l := s.acquireNew(2, ownLive); l == nil {
		t.Fatal("another account was refused")
	}
	s.release(last)
	if _, l := s.acquireNew(1, ownLive); l == nil {
		t.Fatal("the slot that was given back was refused")
	}
}

func TestLeaseIsReleasedOnce(t *testing.T) {
	s, _ := newTestSlots(3)
	q, l := s.acquireNew(1, ownLive)
	_, other := s.acquireNew(1, ownLive)
	s.release(l)
	s.release(l)
	if s.heldBy(1) != 1 || q.held != 1 || s.doubleReleases != 1 {
		t.Fatalf("%d and %d are held after a release in excess (%d)", s.heldBy(1), q.held, s.doubleReleases)
	}
	s.release(other, nil)
	if s.heldBy(1) != 0 || s.doubleReleases != 1 {
		t.Fatalf("%d are held, %d released twice", s.heldBy(1), s.doubleReleases)
	}
}

func TestNewSingleGoesBehindQueuedOnes(t *testing.T) {
	s, f := newTestSlots(1)
	q, first := s.acquireNew(1, ownLive)
	s.notifyQueued(q)
	if len(f.waiting) != 0 {
		t.Fatal("scheduled without a lease")
	}
	s.release(first)
	if len(f.waiting) != 1 {
		t.Fatal("not scheduled though a slot is free")
	}
	if _, l := s.acquireNew(1, ownLive); l != nil {
		t.Fatal("a new execution overtook a queued one")
	}
	got, ok := s.next(q)
	if !ok || len(got.leases) != 1 || len(got.woken) != 0 {
		t.Fatalf("got %+v, %v", got, ok)
	}
	s.exhausted(q, got.arrivals)
	s.release(got.leases...) // nothing was queued after all
	if _, l := s.acquireNew(1, ownLive); l == nil {
		t.Fatal("refused though nothing waits")
	}
}

func TestNewsOfQueuedRowsAreNotLost(t *testing.T) {
	s, f := newTestSlots(1)
	q := s.singles(1, ownLive)
	s.notifyQueued(q)
	got, _ := s.next(q)
	s.notifyQueued(q) // after the rows were read
	s.exhausted(q, got.arrivals)
	s.release(got.leases...)
	if got, ok := s.next(q); !ok || len(got.leases) != 1 {
		t.Fatalf("the second row is forgotten: %+v %v; %d scheduled", got, ok, len(f.waiting))
	}
}

func TestWokenGoFirst(t *testing.T) {
	s, f := newTestSlots(1)
	singles, first := s.acquireNew(1, ownLive)
	batch := s.addBatch(&store.Batch{
		Account: 1, Workflow: 2, No: 7, ID: chargehand.BatchID{7}, Environment: chargehand.Live, Concurrency: 5,
	})
	s.notifyQueued(batch)
	s.notifyQueued(singles)
	s.enqueueReady(batch, 41)
	s.enqueueReady(batch, 42)
	s.release(first)
	got, ok := s.next(batch)
	if !ok || len(got.woken) != 1 || got.woken[0].execution != 41 || len(got.leases) != 0 {
		t.Fatalf("got %+v, %v; scheduled %d", got, ok, len(f.waiting))
	}
	s.release(got.woken[0].lease)
	if got, ok := s.next(batch); !ok || len(got.woken) != 1 || got.woken[0].execution != 42 {
		t.Fatalf("got %+v, %v", got, ok)
	}
}

func TestQueuesAlternate(t *testing.T) {
	s, _ := newTestSlots(1)
	single, first := s.acquireNew(1, ownLive)
	batch := s.addBatch(&store.Batch{
		Account: 1, Workflow: 2, No: 7, ID: chargehand.BatchID{7}, Environment: chargehand.Live, Concurrency: 5,
	})
	s.notifyQueued(batch)
	s.notifyQueued(single)
	last := []*lease{first}
	granted := map[*queue]int{}
	for range 10 {
		s.release(last...)
		for _, q := range []*queue{single, batch} {
			if got, ok := s.next(q); ok {
				last = got.leases
				granted[q] += len(got.leases)
			}
		}
	}
	if granted[single] != 5 || granted[batch] != 5 {
		t.Fatalf("singles got %d leases, the batch %d", granted[single], granted[batch])
	}
}

func TestCancelledBatchStartsNothing(t *testing.T) {
	s, f := newTestSlots(10)
	batch := s.addBatch(&store.Batch{
		Account: 1, Workflow: 2, No: 7, ID: chargehand.BatchID{7}, Environment: chargehand.Live, Concurrency: 5,
	})
	s.close(batch)
	s.notifyQueued(batch)
	s.enqueueReady(batch, 1)
	if len(f.waiting) != 0 || s.acquire(batch) != nil {
		t.Fatal("a cancelled batch was given a slot")
	}
}

// TestSlotsUnderRandomUse compares the bounds with what is given out, and checks that
// nothing waits while there is a slot for it.
func TestSlotsUnderRandomUse(t *testing.T) {
	for _, limits := range []fair.Limits{
		{Permits: 7}, {Permits: 7, PerWorkflow: 3}, {Permits: 7, PerKey: 2}, {Permits: 7, PerWorkflow: 3, PerKey: 2},
		{Permits: 210}, {Permits: 210, PerWorkflow: 90}, {Permits: 210, PerKey: 90}, // above maxGrant
	} {
		t.Run(fmt.Sprintf("%+v", limits), func(t *testing.T) { useSlots(t, limits) })
	}
}

func useSlots(t *testing.T, limits fair.Limits) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		limit := limits.Permits
		atOnce := limit / 7 // rows that come, executions that end
		s, f := newTestSlots(limit)
		s.limits = limits
		queues := []*queue{s.singles(1, ownLive)}
		if limits.PerKey > 0 {
			queues = append(queues, s.singles(1, firstKey), s.singles(1, otherKey), s.singles(1, firstKeyToo))
		}
		for i := range 3 {
			queues = append(queues, s.addBatch(&store.Batch{
				Account: 1, Workflow: 2, No: int64(i + 1), Environment: chargehand.Live, Concurrency: atOnce * (1 + random.IntN(4)), StartedBy: int64(6 + i),
			}))
		}
		rows := make([]int, len(queues))         // queued rows of each source
		running := make([][]*lease, len(queues)) // of executions that run
		waiting := make([][]int, len(queues))    // woken executions
		check := func(when string) {
			t.Helper()
			total := 0
			for i, q := range queues {
				total += q.held
				if q.held > q.limit || q.held < len(running[i]) {
					t.Fatalf("seed %d, %s: queue %d holds %d of %d, %d run", seed, when, i, q.held, q.limit, len(running[i]))
				}
				ofKey, ofWorkflow := 0, 0
				for _, other := range queues {
					if other.key == q.key {
						ofKey += other.held
					}
					if other.workflow == q.workflow {
						ofWorkflow += other.held
					}
				}
				if ofKey != q.key.held || ofWorkflow != q.workflow.held || ofKey > limits.OfKey() || ofWorkflow > limits.OfWorkflow() {
					t.Fatalf("seed %d, %s: the workflow of queue %d holds %d, its key %d", seed, when, i, ofWorkflow, ofKey)
				}
			}
			a := queues[0].share.account
			for _, sh := range a.shares {
				if a.held < limit && sh.held < sh.limit && sh.fair().Waits {
					t.Fatalf("seed %d, %s: a queue is listed while a slot is free", seed, when)
				}
			}
			if total > limit || total != queues[0].share.account.held {
				t.Fatalf("seed %d, %s: %d held, account says %d of %d", seed, when, total, queues[0].share.account.held, limit)
			}
		}
		schedule := func() {
			for len(f.waiting) > 0 {
				q := f.waiting[0]
				f.waiting = f.waiting[1:]
				i := 0
				for queues[i] != q {
					i++
				}
				for {
					got, ok := s.next(q)
					if !ok {
						break
					}
					for _, woken := range got.woken {
						if waiting[i][0] != int(woken.execution) {
							t.Fatalf("seed %d: %d woken before %d", seed, woken.execution, waiting[i][0])
						}
						waiting[i] = waiting[i][1:]
						running[i] = append(running[i], woken.lease)
					}
					n := min(len(got.leases), rows[i])
					rows[i] -= n
					running[i] = append(running[i], got.leases[:n]...)
					if n < len(got.leases) {
						s.exhausted(q, got.arrivals)
					}
					s.release(got.leases[n:]...)
				}
				check("scheduled")
			}
		}
		for step := range 300 {
			i := random.IntN(len(queues))
			switch random.IntN(4) {
			case 0:
				rows[i] += 1 + random.IntN(atOnce)
				s.notifyQueued(queues[i])
			case 1:
				waiting[i] = append(waiting[i], step)
				s.enqueueReady(queues[i], int64(step))
			case 2:
				n := max(0, len(running[i])-1-random.IntN(atOnce))
				s.release(running[i][n:]...)
				running[i] = running[i][:n]
			case 3:
				if l := s.acquire(queues[i]); l != nil {
					if len(waiting[i]) > 0 {
						t.Fatalf("seed %d: a woken execution was overtaken", seed)
					}
					running[i] = append(running[i], l)
				}
			}
			check("changed")
			if random.IntN(3) == 0 {
				schedule()
			}
		}
		schedule()
		held := queues[0].share.account.held
		for i, q := range queues {
			if rows[i]+len(waiting[i]) > 0 && held < limit && q.held < q.limit &&
				limits.Allows(q.workflow.held) && limits.AllowsKey(q.key.held) {
				t.Fatalf("seed %d: queue %d waits with %d rows and %d woken, though %d of %d slots are taken",
					seed, i, rows[i], len(waiting[i]), held, limit)
			}
		}
	}
}
