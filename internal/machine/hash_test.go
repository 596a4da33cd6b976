package machine

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/value"
)

// Two texts with the same hash: a sender of data can make as many as it likes.
const (
	collidingA = "zzzzzzzzaAaAaaAa"
	collidingB = "dahaaaca;0e2DM9/"
)

func TestCollidingValuesAreDistinguished(t *testing.T) {
	if hashValue(hashSeed, collidingA) != hashValue(hashSeed, collidingB) {
		t.Fatal("the texts have different hashes")
	}
	p := compilePlan(t, testHeader+`do:
  - keep: {set: '${ . }', export: {as: $input.a}, output: {as: .b}}
  - rest: {wait: PT1S}
  - tell: {set: {checked: '${ $context }', now: '${ . }'}}
`)
	m := New(p, testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{"a": collidingA, "b": collidingB}})
	restored, err := Restore(p, testIdentity(t), m.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	commands := restored.Apply(Event{Kind: TimerFired, TimeMs: scriptEpoch + 1000, Command: 1})
	got := string(value.Marshal(commands[len(commands)-1].Output))
	if want := `{"checked":"` + collidingA + `","now":"` + collidingB + `"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Large values with the same hash count one by one towards the limit of the state.
func TestCollidingValuesCount(t *testing.T) {
	// The number makes up for whatever stands before it.
	colliding := func(text string) value.Value {
		h := hashWord(hashWord(hashSeed, 8), 2)
		return []any{text, int(hashWord(hashValue(h, text), 4))}
	}
	a, b := colliding(strings.Repeat("a", 1<<20)), colliding(strings.Repeat("b", 1<<20))
	if hashValue(hashSeed, a) != hashValue(hashSeed, b) {
		t.Fatal("the lists have different hashes")
	}
	var s sizer
	for _, v := range []value.Value{a, b, copyOf(a), copyOf(b)} {
		s.value(v)
	}
	if s.total < 2<<20 || s.total > 2<<20+1000 {
		t.Errorf("two lists of 1 MiB, each of them twice, count %d bytes", s.total)
	}
}

// Only what a restored machine could not tell apart is one value.
func TestIdentical(t *testing.T) {
	big1, big2 := new(big.Int).Lsh(big.NewInt(1), 70), new(big.Int).Lsh(big.NewInt(1), 71)
	distinct := []value.Value{
		nil, false, true, 0, 1, 1.0, 0.0, math.Copysign(0, -1), big1, new(big.Int).Neg(big1), big2, "", "1", "null",
		[]any{}, []any{nil}, []any{1}, []any{1.0}, []any{1, 1}, []any{big1}, []any{[]any{}}, map[string]any{},
		map[string]any{"a": nil}, map[string]any{"b": nil}, map[string]any{"a": 1}, map[string]any{"a": 1.0},
		map[string]any{"a": 1, "b": nil}, map[string]any{"a": 1, "c": nil}, map[string]any{"a": map[string]any{"a": 1}},
	}
	for i, a := range distinct {
		for j, b := range distinct {
			if got := identical(a, copyOf(b)); got != (i == j) {
				t.Errorf("%s and %s are the same: %v", value.Marshal(a), value.Marshal(b), got)
			}
		}
	}
}

func copyOf(v value.Value) value.Value {
	switch v := v.(type) {
	case []any:
		items := make([]any, 0, len(v))
		for _, item := range v {
			items = append(items, copyOf(item))
		}
		return items
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, value := range v {
			object[key] = copyOf(value)
		}
		return object
	case *big.Int:
		return new(big.Int).Set(v)
	}
	return v
}

// However many values share a hash, a few are compared with a new one: the others are kept
// twice, in the same way by every process, and nothing gets lost.
func TestManyCollidingValues(t *testing.T) {
	const count = 20_000
	table := valueTable{}
	var values []value.Value
	for i := range count {
		values = append(values, fmt.Sprint("value ", i%(count/2)))
	}
	compared := 0
	for _, v := range values {
		at, known := table.addHashed(1, v)
		if !identical(table.values[at], v) {
			t.Fatalf("%v is taken for %v", v, table.values[at])
		}
		if known {
			compared++
		}
	}
	if got := len(table.values); compared != maxCandidates || got != count-compared {
		t.Errorf("%d of %d values were found again, %d are kept", compared, count, got)
	}
}
