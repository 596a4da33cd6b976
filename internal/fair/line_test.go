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
	liveA = Owner{chargehand.Live, 1}
	liveB = Owner{chargehand.Live, 2}
	liveC = Owner{chargehand.Live, 3}
	testA = Owner{chargehand.Test, 1}
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
	var got []string
	owner := liveA
	for l.Waiting() > 0 {
		l.Release(owner)
		v, o, ok := l.Next()
		if !ok {
			t.Fatal("nothing gets a free permit")
		}
		got, owner = append(got, v), o
	}
	if want := []string{"a0", "b0", "c0", "a1", "c1", "a2"}; !slices.Equal(got, want) {
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
	if l.Held() != 0 || l.Waiting() != 0 || l.shares[0].first != nil {
		t.Errorf("the line is not empty: %+v", l)
	}
}

// TestRandomUse compares the line's bounds with what is known of random use.
func TestRandomUse(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	limits := Limits{Permits: 6, PerWorkflow: 2}
	l := NewLine[int](limits)
	var holding []Owner
	tickets := map[int]*Ticket[int]{}
	for i := range 20_000 {
		o := Owner{chargehand.Environment(1 + random.IntN(2)), int64(random.IntN(4))}
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
			delete(tickets, number)
			holding = append(holding, o)
		}
		count := map[Owner]int{}
		test := 0
		for _, o := range holding {
			count[o]++
			if o.Environment == chargehand.Test {
				test++
			}
			if count[o] > limits.PerWorkflow {
				t.Fatalf("step %d: %v holds %d permits", i, o, count[o])
			}
		}
		if len(holding) > limits.Permits || test > limits.OfTest() || l.Held() != len(holding) || l.Waiting() != len(tickets) {
			t.Fatalf("step %d: %d permits are taken, %d by test; %d wait, want %d",
				i, len(holding), test, l.Waiting(), len(tickets))
		}
		for _, ticket := range tickets {
			if len(holding) < limits.Permits && count[ticket.owner] < limits.PerWorkflow &&
				(ticket.owner.Environment == chargehand.Live || test < limits.OfTest()) {
				t.Fatalf("step %d: %v waits though a permit is free for it", i, ticket.owner)
			}
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
			o := Owner{chargehand.Environment(1 + i%2), int64(i % 5)}
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
