package sample

import (
	"fmt"
	"testing"
)

// TestSamples: a sample begins anywhere, and CHARGEHAND_FULL takes everything.
func TestSamples(t *testing.T) {
	t.Setenv("CHARGEHAND_FULL", "")
	first, step := Every(t, 4)
	if first < 1 || first > 4 || step != 4 {
		t.Errorf("it begins at %d and steps by %d", first, step)
	}
	begins := map[int]bool{}
	for i := range 100 {
		begins[position(fmt.Sprint("case ", i), 4)] = true
	}
	if len(begins) != 4 {
		t.Errorf("a hundred tests begin at %d of 4 places", len(begins))
	}
	t.Setenv("CHARGEHAND_FULL", "1")
	if first, step := Every(t, 4); first != 1 || step != 1 {
		t.Errorf("with CHARGEHAND_FULL it begins at %d and steps by %d", first, step)
	}
}
