package embedded

import (
	"math/rand/v2"
	"testing"
)

// feeders collects the sources that were granted slots; the test feeds by hand.
type feeders struct{ waiting []*source }

func newTestSlots(limit int) (*slots, *feeders) {
	f := &feeders{}
	return newSlots(limit, func(src *source) { f.waiting = append(f.waiting, src) }), f
}

func TestSlotsOfAnAccountAreBounded(t *testing.T) {
	s, _ := newTestSlots(3)
	for range 3 {
		if _, ok := s.start(1); !ok {
			t.Fatal("a free slot was refused")
		}
	}
	src, ok := s.start(1)
	if ok {
		t.Fatal("a fourth slot of three was given")
	}
	if _, ok := s.start(2); !ok {
		t.Fatal("another account was refused")
	}
	s.free(src, 1)
	if _, ok := s.start(1); !ok {
		t.Fatal("the slot that was given back was refused")
	}
}

func TestNewSingleGoesBehindQueuedOnes(t *testing.T) {
	s, f := newTestSlots(1)
	src, _ := s.start(1)
	s.queued(src)
	if len(f.waiting) != 0 {
		t.Fatal("fed without a slot")
	}
	s.free(src, 1)
	if len(f.waiting) != 1 {
		t.Fatal("not fed though a slot is free")
	}
	if _, ok := s.start(1); ok {
		t.Fatal("a new execution overtook a queued one")
	}
	got, ok := s.next(src)
	if !ok || got.slots != 1 || len(got.ready) != 0 {
		t.Fatalf("got %+v, %v", got, ok)
	}
	s.exhausted(src, got.added)
	s.free(src, 1) // nobody was there after all
	if _, ok := s.start(1); !ok {
		t.Fatal("refused though nobody waits")
	}
}

func TestNewsOfQueuedRowsAreNotLost(t *testing.T) {
	s, f := newTestSlots(1)
	src := s.singles(1)
	s.queued(src)
	got, _ := s.next(src)
	s.queued(src) // after the rows were read
	s.exhausted(src, got.added)
	s.free(src, got.slots)
	if got, ok := s.next(src); !ok || got.slots != 1 {
		t.Fatalf("the second row is forgotten: %+v %v; %d fed", got, ok, len(f.waiting))
	}
}

func TestWokenGoFirst(t *testing.T) {
	s, f := newTestSlots(1)
	first, _ := s.start(1)
	batch := s.addBatch(1, 7, [16]byte{7}, 5)
	s.queued(batch)
	s.queued(first)
	s.wake(batch, 41)
	s.wake(batch, 42)
	s.free(first, 1)
	got, ok := s.next(batch)
	if !ok || len(got.ready) != 1 || got.ready[0] != 41 || got.slots != 0 {
		t.Fatalf("got %+v, %v; fed %d", got, ok, len(f.waiting))
	}
	s.free(batch, 1)
	if got, ok := s.next(batch); !ok || len(got.ready) != 1 || got.ready[0] != 42 {
		t.Fatalf("got %+v, %v", got, ok)
	}
}

func TestSourcesTakeTurns(t *testing.T) {
	s, _ := newTestSlots(1)
	single, _ := s.start(1)
	batch := s.addBatch(1, 7, [16]byte{7}, 5)
	s.queued(batch)
	s.queued(single)
	last := single
	turns := map[*source]int{}
	for range 10 {
		s.free(last, 1)
		for _, src := range []*source{single, batch} {
			if got, ok := s.next(src); ok {
				last = src
				turns[src] += got.slots
			}
		}
	}
	if turns[single] != 5 || turns[batch] != 5 {
		t.Fatalf("singles had %d turns, the batch %d", turns[single], turns[batch])
	}
}

func TestCancelledBatchStartsNothing(t *testing.T) {
	s, f := newTestSlots(10)
	batch := s.addBatch(1, 7, [16]byte{7}, 5)
	s.close(batch)
	s.queued(batch)
	s.wake(batch, 1)
	if len(f.waiting) != 0 || s.take(batch) {
		t.Fatal("a cancelled batch was given a slot")
	}
}

// TestSlotsUnderRandomUse compares the bounds with what is given out, and checks that
// nobody waits while there is a slot for him.
func TestSlotsUnderRandomUse(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		const limit = 7
		s, f := newTestSlots(limit)
		sources := []*source{s.singles(1)}
		rows := []int{0}     // queued rows of each source
		running := []int{0}  // executions with a slot
		waiting := [][]int{} // woken executions
		waiting = append(waiting, nil)
		for i := range 3 {
			sources = append(sources, s.addBatch(1, int64(i+1), [16]byte{byte(i)}, 1+random.IntN(4)))
			rows, running, waiting = append(rows, 0), append(running, 0), append(waiting, nil)
		}
		check := func(when string) {
			t.Helper()
			total := 0
			for i, src := range sources {
				total += src.held
				if src.held > src.limit || src.held < running[i] {
					t.Fatalf("seed %d, %s: source %d holds %d of %d, %d run", seed, when, i, src.held, src.limit, running[i])
				}
			}
			if total > limit || total != sources[0].account.held {
				t.Fatalf("seed %d, %s: %d held, account says %d of %d", seed, when, total, sources[0].account.held, limit)
			}
		}
		feed := func() {
			for len(f.waiting) > 0 {
				src := f.waiting[0]
				f.waiting = f.waiting[1:]
				i := 0
				for sources[i] != src {
					i++
				}
				for {
					got, ok := s.next(src)
					if !ok {
						break
					}
					for _, no := range got.ready {
						if waiting[i][0] != int(no) {
							t.Fatalf("seed %d: %d woken before %d", seed, no, waiting[i][0])
						}
						waiting[i] = waiting[i][1:]
						running[i]++
					}
					n := min(got.slots, rows[i])
					rows[i] -= n
					running[i] += n
					if n < got.slots {
						s.exhausted(src, got.added)
					}
					s.free(src, got.slots-n)
				}
				check("fed")
			}
		}
		for step := range 300 {
			i := random.IntN(len(sources))
			switch random.IntN(4) {
			case 0:
				rows[i]++
				s.queued(sources[i])
			case 1:
				waiting[i] = append(waiting[i], step)
				s.wake(sources[i], int64(step))
			case 2:
				if running[i] > 0 {
					running[i]--
					s.free(sources[i], 1)
				}
			case 3:
				if s.take(sources[i]) {
					if len(waiting[i]) > 0 {
						t.Fatalf("seed %d: a woken execution was overtaken", seed)
					}
					running[i]++
				}
			}
			check("changed")
			if random.IntN(3) == 0 {
				feed()
			}
		}
		feed()
		held := sources[0].account.held
		for i, src := range sources {
			if rows[i]+len(waiting[i]) > 0 && held < limit && src.held < src.limit {
				t.Fatalf("seed %d: source %d waits with %d rows and %d woken, though %d of %d slots are taken",
					seed, i, rows[i], len(waiting[i]), held, limit)
			}
		}
	}
}
