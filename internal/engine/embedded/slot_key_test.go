package embedded

import (
	"slices"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

var (
	firstKey    = fair.Owner{Environment: chargehand.Live, Workflow: 1, Key: 7}
	otherKey    = fair.Owner{Environment: chargehand.Live, Workflow: 1, Key: 8}
	firstKeyToo = fair.Owner{Environment: chargehand.Live, Workflow: 2, Key: 7}
)

// newKeySlots are slots of which each key may have so many.
func newKeySlots(limit, ofKey int) *slots {
	return newSlots(fair.Limits{Permits: limit, PerKey: ofKey}, func(*queue) {})
}

// granted takes what was granted to a queue for queued executions.
func granted(s *slots, q *queue) []*lease {
	got, _ := s.next(q)
	s.next(q) // its scheduler ends
	return got.leases
}

// TestSlotsOfAKeyAreBounded: what a key has started holds as many slots as it may, in all workflows and batches, and
// keeps nothing waiting that others have started.
func TestSlotsOfAKeyAreBounded(t *testing.T) {
	s := newKeySlots(100, 2)
	mine, first := s.acquireNew(1, firstKey)
	_, second := s.acquireNew(1, firstKeyToo)
	if _, l := s.acquireNew(1, firstKey); first == nil || second == nil || l != nil {
		t.Fatal("a key holds fewer slots than it may, or more")
	}
	batch := s.addBatch(&store.Batch{Account: 1, Workflow: 3, No: 7, Environment: chargehand.Live, Concurrency: 5, StartedBy: 7})
	s.notifyQueued(mine)
	s.notifyQueued(batch)
	if len(granted(s, mine))+len(granted(s, batch)) > 0 {
		t.Fatal("a key got a slot that it may not have")
	}
	if _, l := s.acquireNew(1, otherKey); l == nil {
		t.Fatal("another key of the workflow was refused")
	}
	if _, l := s.acquireNew(1, ownLive); l == nil {
		t.Fatal("what no key has started was refused")
	}
	if _, l := s.acquireNew(1, fair.Owner{Environment: chargehand.Test, Workflow: 1, Key: 7}); l == nil {
		t.Fatal("the bound counts the slots of the other environment")
	}
	s.release(first)
	s.release(second)
	if a, b := granted(s, mine), granted(s, batch); len(a) != 1 || len(b) != 1 {
		t.Fatalf("%d and %d slots, want one each for the singles and the batch", len(a), len(b))
	}
}

// TestSlotsOfNoKeyAreBounded: what no key has started holds, in each workflow, as many slots as a key may.
func TestSlotsOfNoKeyAreBounded(t *testing.T) {
	s := newKeySlots(100, 1)
	_, first := s.acquireNew(1, ownLive)
	_, more := s.acquireNew(1, ownLive)
	_, other := s.acquireNew(1, otherLive)
	if first == nil || more != nil || other == nil {
		t.Fatalf("got %v, %v in the first workflow, %v in another", first, more, other)
	}
}

// TestKeysOfAWorkflowAlternate: workflows take turns, however many keys each has.
func TestKeysOfAWorkflowAlternate(t *testing.T) {
	s := newKeySlots(1, 5)
	_, held := s.acquireNew(1, ownTest)
	names := map[*queue]string{
		s.singles(1, firstKey): "a7", s.singles(1, otherKey): "a8", s.singles(1, ownLive): "a", s.singles(1, firstKeyToo): "b7",
	}
	for _, owner := range []fair.Owner{firstKey, otherKey, ownLive, firstKeyToo} {
		s.notifyQueued(s.singles(1, owner))
	}
	var got []string
	for range 8 {
		s.release(held)
		for q, name := range names {
			if l := granted(s, q); len(l) == 1 {
				held, got = l[0], append(got, name)
			}
		}
	}
	if want := []string{"a7", "b7", "a8", "b7", "a", "b7", "a7", "b7"}; !slices.Equal(got, want) {
		t.Fatalf("the order is %v, want %v", got, want)
	}
}

// TestWorkflowsOfAKeyAlternate: where a key waits for its only slot in two workflows, it runs in both.
func TestWorkflowsOfAKeyAlternate(t *testing.T) {
	s := newKeySlots(5, 1)
	two := s.singles(1, firstKeyToo)
	one, held := s.acquireNew(1, firstKey)
	s.notifyQueued(two)
	s.notifyQueued(one)
	for round := range 4 {
		s.release(held)
		next := []*queue{two, one}[round%2]
		l := granted(s, next)
		if len(l) != 1 {
			t.Fatalf("round %d: the other workflow got the slot again", round)
		}
		held = l[0]
	}
}

// TestQueuesOfAWorkflowAlternate: where singles and a batch wait for the only slot of their workflow, both run, also
// where the batch may have no second slot.
func TestQueuesOfAWorkflowAlternate(t *testing.T) {
	for _, concurrency := range []int{1, 5} {
		s := newSlots(fair.Limits{Permits: 5, PerWorkflow: 1}, func(*queue) {})
		singles, held := s.acquireNew(1, ownLive)
		batch := s.addBatch(&store.Batch{Account: 1, Workflow: 1, No: 7, Environment: chargehand.Live, Concurrency: concurrency})
		s.notifyQueued(singles)
		s.notifyQueued(batch)
		for round := range 6 {
			s.release(held)
			l := granted(s, []*queue{singles, batch}[round%2])
			if len(l) != 1 {
				t.Fatalf("concurrency %d, round %d: the same queue got the slot again", concurrency, round)
			}
			held = l[0]
		}
	}
}

// TestBatchOfAKeyLeavesSlots: a batch holds all slots of its key, which are all of its workflow. Singles of another key
// get the next ones that come back.
func TestBatchOfAKeyLeavesSlots(t *testing.T) {
	s := newSlots(fair.Limits{Permits: 10, PerWorkflow: 2, PerKey: 2}, func(*queue) {})
	batch := s.addBatch(&store.Batch{Account: 1, Workflow: 1, No: 7, Environment: chargehand.Live, Concurrency: 5, StartedBy: 7})
	s.notifyQueued(batch)
	held := granted(s, batch)
	singles := s.singles(1, fair.Owner{Environment: chargehand.Live, Workflow: 1, Key: 8})
	s.notifyQueued(singles)
	for range 2 {
		s.release(held[0])
		held = append(held[1:], granted(s, batch)...)
		held = append(held, granted(s, singles)...)
	}
	if len(held) != 2 || singles.held == 0 {
		t.Errorf("%d slots are held, %d of them by the singles", len(held), singles.held)
	}
}

// TestKeyWaitsInABusyWorkflow: a key waits for its only slot in two workflows. In one of them many other keys wait,
// too.
func TestKeyWaitsInABusyWorkflow(t *testing.T) {
	for _, oldest := range []bool{true, false} { // the slot that comes back each time: the older one, or the newer one
		s := newKeySlots(2, 1)
		alone, first := s.acquireNew(1, firstKeyToo)
		other, second := s.acquireNew(1, fair.Owner{Environment: chargehand.Live, Workflow: 1, Key: 11})
		busy := s.singles(1, firstKey)
		queues := []*queue{alone, other}
		for key := range int64(4) {
			queues = append(queues, s.singles(1, fair.Owner{Environment: chargehand.Live, Workflow: 1, Key: 12 + key}))
		}
		queues = append(queues, busy)
		for _, q := range queues {
			s.notifyQueued(q)
		}
		held, round := []*lease{first, second}, 0
		for busy.held == 0 && round < 12 {
			at := 0
			if !oldest {
				at = round % 2
			}
			s.release(held[at])
			held = slices.Delete(held, at, at+1)
			for _, q := range queues {
				held = append(held, granted(s, q)...)
			}
			round++
		}
		if busy.held != 1 || round > 6 {
			t.Errorf("oldest %v: it holds %d slots after %d rounds", oldest, busy.held, round)
		}
	}
}

// TestAdoptedLeasesCount: an execution that turns out to run takes what others of its workflow and key wait for.
func TestAdoptedLeasesCount(t *testing.T) {
	for _, limits := range []fair.Limits{{Permits: 1, PerKey: 1}, {Permits: 1, PerWorkflow: 1}} {
		s := newSlots(limits, func(*queue) {})
		_, held := s.acquireNew(1, otherLive)
		q := s.singles(1, firstKey)
		s.notifyQueued(q)
		adopted := s.adopt(q)
		s.release(held)
		if l := granted(s, q); len(l) > 0 {
			t.Errorf("%+v: a slot beyond the bound was given", limits)
		}
		s.release(adopted)
		if l := granted(s, q); len(l) != 1 {
			t.Errorf("%+v: no slot after that", limits)
		}
	}
}

// TestForgottenBatchGetsNoSlot: a batch ends, whose rows were not found to be exhausted, while its key waits for the
// only slot that it may hold.
func TestForgottenBatchGetsNoSlot(t *testing.T) {
	s := newKeySlots(2, 1)
	_, first := s.acquireNew(1, ownLive)
	_, second := s.acquireNew(1, otherKey)
	mine := s.singles(1, firstKey)
	batch := s.addBatch(&store.Batch{Account: 1, Workflow: 2, No: 7, Environment: chargehand.Live, Concurrency: 5, StartedBy: 7})
	s.notifyQueued(mine)
	s.notifyQueued(batch)
	s.forget(7)
	s.release(first)
	s.release(second)
	if batch.held != 0 || mine.held != 1 || mine.key.held != 1 {
		t.Errorf("the batch holds %d slots, the singles %d, their key %d", batch.held, mine.held, mine.key.held)
	}
}

// TestKeyKnowsWhatWaits: a key at its bound, and a workflow at its own, look at the queues that want a slot, and not at
// those that are only open.
func TestKeyKnowsWhatWaits(t *testing.T) {
	s := newSlots(fair.Limits{Permits: 100, PerWorkflow: 2, PerKey: 1}, func(*queue) {})
	var open []*queue
	for i := range 10 {
		open = append(open, s.singles(1, fair.Owner{Environment: chargehand.Live, Workflow: int64(10 + i), Key: 7}), s.addBatch(&store.Batch{
			Account: 1, Workflow: 1, No: int64(1 + i), Environment: chargehand.Live, Concurrency: 5, StartedBy: 7,
		}))
	}
	_, held := s.acquireNew(1, firstKey)
	waits := func() (ofKey, ofWorkflow int) {
		for n := open[0].key.waiting.First(); n != nil; n = n.Next() {
			ofKey++
		}
		for n := open[1].workflow.waiting.First(); n != nil; n = n.Next() {
			ofWorkflow++
		}
		return ofKey, ofWorkflow
	}
	if ofKey, ofWorkflow := waits(); ofKey != 0 || ofWorkflow != 0 {
		t.Errorf("%d and %d wait, want none", ofKey, ofWorkflow)
	}
	for _, q := range open[:6] {
		s.notifyQueued(q)
	}
	if ofKey, ofWorkflow := waits(); ofKey != 6 || ofWorkflow != 3 {
		t.Errorf("%d and %d wait, want 6 and 3", ofKey, ofWorkflow)
	}
	s.release(held)
	for _, q := range open[:6] {
		for _, l := range granted(s, q) {
			s.exhausted(q, q.arrivals)
			s.release(l)
		}
	}
	if ofKey, ofWorkflow := waits(); ofKey != 0 || ofWorkflow != 0 {
		t.Errorf("%d and %d wait in the end, want none", ofKey, ofWorkflow)
	}
}
