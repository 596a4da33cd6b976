package machine

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/plan"
)

// Types with dots are compared without a regular expression, and mean what it means (T57).
func TestDottedTypes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(pieces ...string) string {
		var b strings.Builder
		for range random.IntN(5) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	matched := 0
	for range 20_000 {
		pattern, name := text("a", ".", ".", "é", "\uFFFD", "\xc3", "\n"), text("a", ".", "é", "\n", "\xc3", "\xff", "\U0010FFFF")
		compiled, err := plan.CompilePattern(pattern)
		want := pattern == "" || pattern == name || err == nil && compiled != nil && compiled.MatchString(name)
		f := CompileType(pattern)
		if f.Costly() {
			t.Errorf("%q is a regular expression", pattern)
		}
		if f.Lets(name) != want {
			t.Errorf("%q lets %q through: %v, want %v", pattern, name, !want, want)
		}
		if prefix, is := f.Pattern(); want && pattern != "" && utf8.ValidString(name) && (!is && pattern != name || !strings.HasPrefix(name, prefix) && pattern != name) {
			t.Errorf("%q begins with %q, and lets %q through", pattern, prefix, name)
		}
		if want {
			matched++
		}
	}
	if matched < 1_000 {
		t.Errorf("%d match: that tells little", matched)
	}
}
