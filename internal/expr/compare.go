package expr

import (
	"cmp"
	"github.com/chargehand/chargehand/internal/value"
	"math/big"
	"slices"
	"strings"
)

// compare orders values as jq does: null, false, true, numbers, texts, arrays, objects. It
// charges what it looks at and gives up, with any result, when the steps are exhausted.
func (r *evaluation) compare(a, b Value) int {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			r.charge(min(len(a), len(b)) / bytesPerStep)
			return strings.Compare(a, b)
		}
	case int:
		switch b := b.(type) {
		case int:
			return cmp.Compare(a, b)
		case float64:
			return compareFloats(float64(a), b)
		case *big.Int:
			return big.NewInt(int64(a)).Cmp(b)
		}
	case float64:
		switch b := b.(type) {
		case int:
			return compareFloats(a, float64(b))
		case float64:
			return compareFloats(a, b)
		case *big.Int:
			r.charge(bigTextCost(b))
			return compareFloats(a, value.FloatOf(b))
		}
	case *big.Int:
		switch b := b.(type) {
		case int:
			return a.Cmp(big.NewInt(int64(b)))
		case float64:
			r.charge(bigTextCost(a))
			return compareFloats(value.FloatOf(a), b)
		case *big.Int:
			r.charge(bigCost(a))
			return a.Cmp(b)
		}
	case []any:
		if b, ok := b.([]any); ok {
			return r.compareArrays(a, b)
		}
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return r.compareObjects(a, b)
		}
	}
	return cmp.Compare(typeOrder(a), typeOrder(b))
}

// bigCost is the price of a calculation with a big integer, bigTextCost that of making its
// decimal text, through which it also becomes a float.
func bigCost(n *big.Int) int     { return 1 + n.BitLen()/64 }
func bigTextCost(n *big.Int) int { return 1 + n.BitLen()/8 }

// compareFloats puts NaN below every number, itself included.
func compareFloats(a, b float64) int {
	switch {
	case a < b || a != a:
		return -1
	case a == b:
		return 0
	default:
		return 1
	}
}

func typeOrder(v Value) int {
	switch v := v.(type) {
	case nil:
		return 0
	case bool:
		if !v {
			return 1
		}
		return 2
	case string:
		return 4
	case []any:
		return 5
	case map[string]any:
		return 6
	default:
		return 3
	}
}

func (r *evaluation) compareArrays(a, b []any) int {
	if r.push(1) != nil {
		r.charge(MaxSteps)
		return 0
	}
	defer r.pop(1)
	for i := range min(len(a), len(b)) {
		if r.charge(1); r.exhausted() {
			return 0
		}
		if c := r.compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func (r *evaluation) compareObjects(a, b map[string]any) int {
	if r.push(1) != nil || r.keys(len(a)+len(b)) != nil {
		r.charge(MaxSteps)
		return 0
	}
	defer r.pop(1)
	keys, others := value.SortedKeys(a), value.SortedKeys(b)
	if c := slices.Compare(keys, others); c != 0 {
		return c
	}
	for _, k := range keys {
		if r.charge(2); r.exhausted() {
			return 0
		}
		if c := r.compare(a[k], b[k]); c != 0 {
			return c
		}
	}
	return 0
}

// equal is compare(a, b) == 0, without the order.
func (r *evaluation) equal(a, b Value) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		if !ok || len(a) != len(b) {
			return false
		}
		r.charge(len(a) / bytesPerStep)
		return a == b
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		return r.equalObjects(a, b)
	case []any:
		if b, ok := b.([]any); ok && len(a) != len(b) {
			return false
		}
	}
	return r.compare(a, b) == 0
}

// equalObjects goes through the keys in order, because what it charges before it finds a
// difference must not depend on the order of a map.
func (r *evaluation) equalObjects(a, b map[string]any) bool {
	if r.push(1) != nil || r.keys(len(a)) != nil {
		r.charge(MaxSteps)
		return false
	}
	defer r.pop(1)
	for _, k := range value.SortedKeys(a) {
		if r.charge(2); r.exhausted() {
			return false
		}
		if w, ok := b[k]; !ok || !r.equal(a[k], w) {
			return false
		}
	}
	return true
}
