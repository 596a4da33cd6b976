package operate

import (
	"testing"

	"github.com/chargehand/chargehand/internal/store"
)

func TestNameStandbys(t *testing.T) {
	for want, list := range map[string][]store.Standby{
		"none waits to take over":          nil,
		"one, since 2026-11-28T18:00:00Z":  {{Name: "one", SinceMs: 1795888800000}},
		"hidden":                           {{Name: "hidden"}}, // its session is another user's
		"a; b, since 2026-11-28T18:00:00Z": {{Name: "a"}, {Name: "b", SinceMs: 1795888800123}},
	} {
		if got := nameStandbys(list); got != want {
			t.Errorf("%v: %q, want %q", list, got, want)
		}
	}
}
