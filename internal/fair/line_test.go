package fair

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/chargehand/chargehand"
)

var (
	liveA = Owner{Environment: chargehand.Live, Workflow: 1}
	liveB = Owner{Environment: chargehand.Live, Workflow: 2}
	liveC = Owner{Environment: chargehand.Live, Workflow: 3}
	testA = Owner{Environment: chargehand.Test, Workflow: 1}
)

func TestTestHoldsHalfAtMost(t *testing.T) {
	for permits, want := range map[int]int{1: 1, 2: 1, 3: 1, 8: 4, 256: 128} {
		l := NewLine[int](Limits{Permits: permits})
		held := 0
		for l.Take(testA) {
			held++
		}
		if held != want {
			t.Errorf("test holds %d of %d permits, want %d", held, permits, want)
		}
		for l.Take(liveA) {
			held++
		}
		if held != permits {
			t.Errorf("%d of %d permits are taken", held, permits)
		}
	}
}

// take hands out what may be handed out, and lists the owners.
func take(l *Line[string]) (got []string) {
	for {
		v, _, ok := l.Next()
		if !ok {
			return got
		}
		got = append(got, v)
	}
}

// TestOnePermitIsShared: where there is one permit, live does not keep test from it without end.
func TestOnePermitIsShared(t *testing.T) {
	l := NewLine[string](Limits{Permits: 1})
	l.Take(liveA)
	for i := range 4 {
		l.Push(testA, fmt.Sprint("t", i))
		l.Push(liveA, fmt.Sprint("l", i))
	}
	o := liveA
	var got []string
	for range 8 {
		l.Release(o)
		next, owner, ok := l.Next()
		if !ok {
			t.Fatalf("nothing comes after %v", got)
		}
		got, o = append(got, next), owner
	}
	if want := []string{"t0", "l0", "t1", "l1", "t2", "l2", "t3", "l3"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

func TestWorkflowsAlternate(t *testing.T) {
	l := NewLine[string](Limits{Permits: 1})
	l.Take(liveA)
	for i := range 3 {
		l.Push(liveA, fmt.Sprint("a", i))
	}
	l.Push(liveB, "b0")
	l.Push(liveC, "c0")
	l.Push(liveC, "c1")
	if got, want := serve(t, l, liveA), []string{"a0", "b0", "c0", "a1", "c1", "a2"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

func TestEnvironmentsAlternate(t *testing.T) {
	l := NewLine[string](Limits{Permits: 4})
	for i := range 4 {
		l.Push(testA, fmt.Sprint("test", i))
	}
	for i := range 4 {
		l.Push(liveA, fmt.Sprint("live", i))
	}
	if got, want := take(l), []string{"live0", "test0", "live1", "test1"}; !slices.Equal(got, want) {
		t.Errorf("%v got permits, want %v", got, want)
	}
	l.Release(testA)
	l.Release(liveA)
	if got, want := take(l), []string{"live2", "test2"}; !slices.Equal(got, want) {
		t.Errorf("%v got permits, want %v", got, want)
	}
}

func TestPermitsOfAWorkflow(t *testing.T) {
	l := NewLine[string](Limits{Permits: 4, PerWorkflow: 2})
	for i := range 3 {
		l.Push(liveA, fmt.Sprint("a", i))
	}
	l.Push(liveB, "b0")
	if got, want := take(l), []string{"a0", "b0", "a1"}; !slices.Equal(got, want) {
		t.Errorf("%v got permits, want %v", got, want)
	}
	if l.Take(liveA) || !l.Take(liveB) {
		t.Error("a workflow gets more permits than it may hold, or fewer")
	}
	l.Release(liveB)
	if got := take(l); got != nil {
		t.Errorf("%v got a permit though its workflow holds all it may", got)
	}
	l.Release(liveA)
	if got := take(l); !slices.Equal(got, []string{"a2"}) {
		t.Errorf("%v got a permit", got)
	}
}

// started is the owner of what a key has started in live.
func started(workflow, key int64) Owner { return Owner{chargehand.Live, workflow, key} }

// TestPermitsOfAKey: a key at its bound keeps no other key of the same workflow waiting, and the bound counts what it
// holds in all workflows.
func TestPermitsOfAKey(t *testing.T) {
	l := NewLine[string](Limits{Permits: 8, PerKey: 2})
	for i := range 3 {
		l.Push(started(1, 7), fmt.Sprint("a", i))
	}
	l.Push(started(2, 7), "b0")
	l.Push(started(1, 8), "other")
	if got, want := take(l), []string{"a0", "b0", "other"}; !slices.Equal(got, want) {
		t.Errorf("%v got permits, want %v", got, want)
	}
	if l.Take(started(1, 7)) || l.Take(started(3, 7)) || !l.Take(started(1, 8)) {
		t.Error("a key gets more permits than it may hold, or fewer")
	}
	l.Release(started(1, 8))
	if got := take(l); got != nil {
		t.Errorf("%v got a permit though its key holds all it may", got)
	}
	l.Release(started(2, 7))
	if got := take(l); !slices.Equal(got, []string{"a1"}) {
		t.Errorf("%v got a permit", got)
	}
	if !l.Take(Owner{chargehand.Test, 1, 7}) {
		t.Error("the bound counts what the key holds in the other environment")
	}
}

// TestPermitsOfNoKey: what no key has started is bounded for each workflow.
func TestPermitsOfNoKey(t *testing.T) {
	l := NewLine[string](Limits{Permits: 8, PerKey: 1})
	if !l.Take(liveA) || l.Take(liveA) || !l.Take(liveB) || !l.Take(started(1, 7)) {
		t.Error("what has no key holds more than one permit in a workflow, or fewer")
	}
	l.Push(liveA, "a")
	l.Release(started(1, 7))
	l.Release(liveB)
	if got := take(l); got != nil {
		t.Errorf("%v got a permit", got)
	}
	l.Release(liveA)
	if got := take(l); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%v got a permit", got)
	}
}

// TestKeysAlternate: workflows take turns, however many keys each has, and the keys of a workflow do.
func TestKeysAlternate(t *testing.T) {
	l := NewLine[string](Limits{Permits: 1, PerKey: 5})
	l.Take(liveA)
	for i := range 3 {
		l.Push(started(1, 7), fmt.Sprint("a7 ", i))
	}
	l.Push(started(1, 8), "a8 0")
	l.Push(started(1, 9), "a9 0")
	for i := range 3 {
		l.Push(started(2, 7), fmt.Sprint("b7 ", i))
	}
	if got, want := serve(t, l, liveA), []string{"a7 0", "b7 0", "a8 0", "b7 1", "a9 0", "b7 2", "a7 1", "a7 2"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

// TestWorkflowsOfAKeyAlternate: where a key waits in several workflows for what it may hold, none of them is left out.
func TestWorkflowsOfAKeyAlternate(t *testing.T) {
	l := NewLine[string](Limits{Permits: 8, PerKey: 1})
	l.Take(started(3, 7))
	for i := range 3 {
		l.Push(started(1, 7), fmt.Sprint("a", i))
		l.Push(started(2, 7), fmt.Sprint("b", i))
	}
	if got, want := serve(t, l, started(3, 7)), []string{"a0", "b0", "a1", "b1", "a2", "b2"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

// TestKeyServesWhoWaitsLongest: of the workflows of a key, the one that has waited longest gets the permit that comes
// back, whichever of them got the latest one.
func TestKeyServesWhoWaitsLongest(t *testing.T) {
	l := NewLine[string](Limits{Permits: 8, PerKey: 2})
	l.Take(started(1, 7))
	l.Take(started(2, 7))
	l.Push(started(2, 7), "first")
	l.Push(started(1, 7), "second")
	l.Release(started(2, 7))
	if v, _, ok := l.Next(); !ok || v != "first" {
		t.Errorf("the permit goes to %q", v)
	}
}

// TestKeyWaitsInABusyWorkflow: a key waits for its only permit in two workflows. In one of them many other keys wait,
// too.
func TestKeyWaitsInABusyWorkflow(t *testing.T) {
	for _, oldest := range []bool{true, false} { // the permit that comes back each time: the older one, or the newer one
		l := NewLine[string](Limits{Permits: 2, PerKey: 1})
		held := []Owner{started(2, 7), started(1, 11)}
		for _, o := range held {
			l.Take(o)
		}
		for range 10 {
			l.Push(started(2, 7), "alone")
			for key := range int64(5) {
				l.Push(started(1, 11+key), "other")
			}
		}
		l.Push(started(1, 7), "busy")
		for round := 1; ; round++ {
			at := 0
			if !oldest {
				at = (round - 1) % 2
			}
			l.Release(held[at])
			held = slices.Delete(held, at, at+1)
			v, o, ok := l.Next()
			if !ok || round > 6 {
				t.Errorf("oldest %v: it has no permit after %d rounds", oldest, round)
				break
			}
			held = append(held, o)
			if v == "busy" {
				break
			}
		}
	}
}

// serve lists what gets a permit, one after the other. The only one at first is that of an owner.
func serve(t *testing.T, l *Line[string], o Owner) (got []string) {
	t.Helper()
	for l.Waiting() > 0 {
		l.Release(o)
		v, next, ok := l.Next()
		if !ok {
			t.Fatalf("nothing gets the permit that is free after %v", got)
		}
		got, o = append(got, v), next
	}
	return got
}

func TestRemovedTicketsGetNoPermit(t *testing.T) {
	l := NewLine[string](Limits{Permits: 1})
	l.Take(liveA)
	first, second, third := l.Push(liveA, "1"), l.Push(liveA, "2"), l.Push(liveA, "3")
	if !l.Remove(second) || l.Remove(second) {
		t.Error("a ticket that waits can be removed once")
	}
	l.Release(liveA)
	if got := take(l); !slices.Equal(got, []string{"1"}) || l.Remove(first) {
		t.Errorf("%v got a permit", got)
	}
	if !l.Remove(third) {
		t.Error("the last ticket is gone")
	}
	l.Release(liveA)
	if l.Held() != 0 || l.Waiting() != 0 || l.shares[0].eligible.First() != nil {
		t.Errorf("the line is not empty: %+v", l)
	}
}

// TestRandomUse compares what a line does with the owners of what holds a permit and of what waits.
func TestRandomUse(t *testing.T) {
	for _, limits := range []Limits{
		{Permits: 6}, {Permits: 6, PerWorkflow: 2}, {Permits: 6, PerKey: 2}, {Permits: 6, PerWorkflow: 3, PerKey: 2},
		{Permits: 6, PerWorkflow: 2, PerKey: 4}, {Permits: 3, PerKey: 1},
	} {
		t.Run(fmt.Sprintf("%+v", limits), func(t *testing.T) { randomUse(t, limits) })
	}
}

func randomUse(t *testing.T, limits Limits) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	l := NewLine[int](limits)
	var holding []Owner
	tickets := map[int]*Ticket[int]{}
	for i := range 20_000 {
		o := Owner{chargehand.Environment(1 + random.IntN(2)), int64(random.IntN(4)), int64(random.IntN(4))}
		switch n := random.IntN(10); {
		case n < 4:
			tickets[i] = l.Push(o, i)
		case n < 5 && l.Take(o):
			holding = append(holding, o)
		case n < 6:
			for number, ticket := range tickets {
				if !l.Remove(ticket) {
					t.Fatal("a ticket that waits cannot be removed")
				}
				delete(tickets, number)
				break
			}
		case len(holding) > 0:
			at := random.IntN(len(holding))
			l.Release(holding[at])
			holding = slices.Delete(holding, at, at+1)
		}
		for {
			number, o, ok := l.Next()
			if !ok {
				break
			}
			for other, ticket := range tickets {
				sameLine := ticket.owner.Environment == o.Environment && ticket.owner.Workflow == o.Workflow &&
					(limits.PerKey == 0 || ticket.owner.Key == o.Key)
				if sameLine && other < number {
					t.Fatalf("step %d: %d of %+v got a permit before %d", i, number, o, other)
				}
			}
			delete(tickets, number)
			holding = append(holding, o)
		}
		checkShares(t, i, l, holding, tickets)
	}
	for _, o := range holding {
		l.Release(o)
	}
	for _, ticket := range tickets {
		l.Remove(ticket)
	}
	for _, s := range l.shares {
		if s.held != 0 || s.eligible.First() != nil || len(s.keys) != 0 {
			t.Errorf("at the end there is %+v", s)
		}
		for _, w := range s.workflows {
			if w.held != 0 || w.none.held != 0 || len(w.lanes) != 0 {
				t.Errorf("at the end workflow %d is %+v", w.number, w)
			}
		}
	}
}

// checkShares checks that no bound is exceeded, and that nothing waits that may have a permit.
func checkShares(t *testing.T, step int, l *Line[int], holding []Owner, tickets map[int]*Ticket[int]) {
	t.Helper()
	ofWorkflow, ofKey, test := map[Owner]int{}, map[Owner]int{}, 0
	workflow := func(o Owner) Owner { return Owner{Environment: o.Environment, Workflow: o.Workflow} }
	key := func(o Owner) Owner {
		if o.Key != 0 {
			o.Workflow = 0
		}
		return o
	}
	for _, o := range holding {
		ofWorkflow[workflow(o)]++
		ofKey[key(o)]++
		if o.Environment == chargehand.Test {
			test++
		}
		if ofWorkflow[workflow(o)] > l.limits.OfWorkflow() || ofKey[key(o)] > l.limits.OfKey() {
			t.Fatalf("step %d: the workflow of %+v holds %d permits, its key %d", step, o, ofWorkflow[workflow(o)], ofKey[key(o)])
		}
	}
	if len(holding) > l.limits.Permits || test > l.limits.OfTest() || l.Held() != len(holding) || l.Waiting() != len(tickets) {
		t.Fatalf("step %d: %d permits are taken, %d by test; %d wait, want %d",
			step, len(holding), test, l.Waiting(), len(tickets))
	}
	for _, ticket := range tickets {
		o := ticket.owner
		if len(holding) < l.limits.Permits && l.limits.Allows(ofWorkflow[workflow(o)]) && l.limits.AllowsKey(ofKey[key(o)]) &&
			(o.Environment == chargehand.Live || test < l.limits.OfTest()) {
			t.Fatalf("step %d: %+v waits though a permit is free for it", step, o)
		}
	}
}

func TestGate(t *testing.T) {
	g := NewGate(Limits{Permits: 3})
	var mu sync.Mutex
	var all sync.WaitGroup
	inside, most := 0, 0
	for i := range 300 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%7 == 0 {
				cancel() // may enter all the same, if there is room
			}
			o := Owner{Environment: chargehand.Environment(1 + i%2), Workflow: int64(i % 5)}
			if g.Enter(ctx, o) != nil {
				return
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			mu.Lock()
			inside--
			mu.Unlock()
			g.Leave(o)
		})
	}
	all.Wait()
	if held, waiting := g.Counts(); most > 3 || held != 0 || waiting != 0 {
		t.Errorf("%d were inside at once; at the end %d are, and %d wait", most, held, waiting)
	}
}

// TestLimitsChange: fewer permits take none away, and more are filled, also with those that a bound of their workflow
// held back.
func TestLimitsChange(t *testing.T) {
	l := NewLine[int](Limits{Permits: 4, PerWorkflow: 3})
	fill := func() (n int) {
		for {
			if _, _, ok := l.Next(); !ok {
				return n
			}
			n++
		}
	}
	for i := range 10 {
		l.Push(liveA, i)
	}
	if n := fill(); n != 3 {
		t.Fatalf("%d have a permit, want 3", n)
	}
	l.SetLimits(Limits{Permits: 2, PerWorkflow: 1})
	if l.Held() != 3 || fill() != 0 {
		t.Error("fewer permits changed who has one")
	}
	l.Release(liveA)
	l.Release(liveA)
	if n := fill(); n != 0 {
		t.Errorf("%d more have a permit, although the workflow holds as many as it may", n)
	}
	l.SetLimits(Limits{Permits: 6})
	if n := fill(); n != 5 || l.Held() != 6 {
		t.Errorf("%d more have one of 6 permits, want 5", n)
	}
}
