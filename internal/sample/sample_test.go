package sample

import (
	"fmt"
	"testing"
)

// TestSamples: a sample has the size that was asked for, and all seeds together take everything.
func TestSamples(t *testing.T) {
	t.Setenv("CHARGEHAND_FULL", "")
	taken := 0
	for i := range 3000 {
		if Takes(t, fmt.Sprint("case ", i), 3) {
			taken++
		}
	}
	if taken < 800 || taken > 1200 {
		t.Errorf("%d of 3000 were taken, want about 1000", taken)
	}
	first, step := Every(t, 4)
	if first < 1 || first > 4 || step != 4 {
		t.Errorf("it begins at %d and steps by %d", first, step)
	}
	begins := map[int]bool{}
	for i := range 100 {
		begins[place(fmt.Sprint("case ", i), 4)] = true
	}
	if len(begins) != 4 {
		t.Errorf("a hundred tests begin at %d of 4 places", len(begins))
	}
	t.Setenv("CHARGEHAND_FULL", "1")
	if first, step := Every(t, 4); first != 1 || step != 1 || !Takes(t, "anything", 1000) {
		t.Errorf("with CHARGEHAND_FULL it begins at %d and steps by %d", first, step)
	}
}
