package store

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestCountKeys: the count of lists that are known to their ends is exact, and that of others counts what is certain.
func TestCountKeys(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	exact, bounded := 0, 0
	for range 2_000 {
		lists := make([][]TaskKey, 1+r.IntN(4)) // whole
		for i := range lists {
			for range r.IntN(40) {
				no := int64(1 + r.IntN(60))
				lists[i] = append(lists[i], TaskKey{no % 3, no})
			}
			slices.SortFunc(lists[i], TaskKey.compare)
			lists[i] = slices.Compact(lists[i])
		}
		out := r.IntN(len(lists))
		left := map[TaskKey]bool{}
		for i, list := range lists {
			for _, key := range list {
				left[key] = i >= out && !slices.ContainsFunc(lists[:out], func(l []TaskKey) bool { return slices.Contains(l, key) })
			}
		}
		want := int64(0)
		for _, is := range left {
			if is {
				want++
			}
		}
		most := 1 + r.IntN(45)
		known, cut := make([][]TaskKey, len(lists)), false
		for i, list := range lists {
			known[i] = list[:min(most, len(list))]
			cut = cut || len(list) > most
		}
		n, more := countKeys(known[out:], known[:out], most)
		switch {
		case n > want || cut && !more || n < want && !more:
			t.Fatalf("%d (more: %v) of %d, lists cut: %v", n, more, want, cut)
		case more:
			bounded++
		default:
			exact++
		}
	}
	if exact == 0 || bounded == 0 {
		t.Errorf("%d counts were exact, %d bounded", exact, bounded)
	}
}
