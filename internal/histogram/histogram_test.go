package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBinsAreWithoutGaps(t *testing.T) {
	var above int64
	for b := range bin(math.MaxInt64) {
		low, next := bounds(b)
		if low != above || bin(low) != b || bin(next-1) != b {
			t.Fatalf("bin %d is from %d to %d, and the one before ends at %d; their bins are %d and %d", b, low, next, above, bin(low), bin(next-1))
		}
		above = next
	}
	if bin(-5) != 0 || bin(math.MaxInt64) >= lastBin {
		t.Errorf("the last bin is %d", bin(math.MaxInt64))
	}
}

func TestQuantilesOfParts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var whole Histogram
		var all []int64
		for range 1 + r.IntN(5) {
			var part Histogram
			for range 1 + r.IntN(300) {
				ms := int64(math.Exp(r.Float64() * 25))
				all = append(all, ms)
				part.Add(ms)
			}
			if err := whole.MergeBytes(part.Bytes()); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(all)
		if whole.Count() != int64(len(all)) {
			t.Fatalf("%d durations are counted as %d", len(all), whole.Count())
		}
		for _, q := range []float64{0, 0.5, 0.95, 0.99, 1} {
			want := all[min(len(all)-1, int(q*float64(len(all))))]
			if got, ok := whole.Quantile(q); !ok || got < want || float64(got-want) > float64(want)/16 {
				t.Fatalf("quantile %v of %d durations is %d, want %d", q, len(all), got, want)
			}
		}
	}
}

func TestRemoveIsTheInverseOfMerge(t *testing.T) {
	var h, part Histogram
	for i := range int64(100) {
		h.Add(i * i * i)
	}
	before := h.Bytes()
	part.Add(7)
	part.Add(1e9)
	h.Merge(part)
	if h.Count() != 102 {
		t.Errorf("the count is %d", h.Count())
	}
	h.Remove(part)
	if !slices.Equal(h.Bytes(), before) {
		t.Error("it is not what it was")
	}
}

func TestEmpty(t *testing.T) {
	var h Histogram
	if _, ok := h.Quantile(0.5); ok || h.Bytes() != nil || h.Count() != 0 {
		t.Error("an empty histogram has durations")
	}
}

func TestDamagedBytes(t *testing.T) {
	for _, b := range [][]byte{{1}, {0xff}, {1, 0x80}, {0xff, 0xff, 0xff, 0xff, 0x0f, 2}, {0xf0, 3, 2, 0xf0, 3, 2}} {
		var h Histogram
		if err := h.MergeBytes(b); err != ErrDamaged {
			t.Errorf("%v: the error is %v", b, err)
		}
	}
}
