package engine

import (
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// TestEventsSince: an execution gets the events since it was accepted, or since the time for which its start was
// delayed, and never later ones alone.
func TestEventsSince(t *testing.T) {
	id := chargehand.ExecutionID{5: 100} // accepted at 100
	for name, c := range map[string]struct{ delayed, started, want int64 }{
		"at once":                       {0, 100, 100},
		"after a queue":                 {0, 170, 100},
		"delayed":                       {150, 150, 150},
		"delayed, and after a queue":    {150, 170, 150},
		"delayed until a time before":   {50, 170, 100},
		"by a clock that has gone back": {0, 90, 90},
	} {
		if got := EventsSinceMs(&store.Execution{ID: id, StartMs: c.delayed}, c.started); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
