package machine

import (
	"math"
	"math/big"

	"github.com/chargehand/chargehand/internal/value"
)

// FNV-1a with 64 bits, a word at a time. A sender of data can make values with the same
// hash: that two hashes are equal never means that two values are, see valueTable.
const (
	hashSeed  uint64 = 14695981039346656037
	hashPrime uint64 = 1099511628211
)

func hashWord(h, word uint64) uint64 {
	h = (h ^ word) * hashPrime
	return h ^ h>>29
}

func hashText(h uint64, s string) uint64 {
	h = hashWord(h, uint64(len(s)))
	for len(s) >= 8 {
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h, s = hashWord(h, word), s[8:]
	}
	var word uint64
	for i := 0; i < len(s); i++ {
		word |= uint64(s[i]) << (8 * i)
	}
	return hashWord(h, word)
}

// hashValue hashes a value by its contents. 1 and 1.0 differ; the order of keys does not
// matter, because the hashes of an object's entries are added up.
func hashValue(h uint64, v value.Value) uint64 {
	switch v := v.(type) {
	case nil:
		return hashWord(h, 1)
	case bool:
		if v {
			return hashWord(h, 2)
		}
		return hashWord(h, 3)
	case int:
		return hashWord(hashWord(h, 4), uint64(v))
	case float64:
		return hashWord(hashWord(h, 5), math.Float64bits(v))
	case *big.Int:
		return hashText(hashWord(hashWord(h, 6), uint64(v.Sign())), string(v.Bytes()))
	case string:
		return hashText(hashWord(h, 7), v)
	case []any:
		h = hashWord(hashWord(h, 8), uint64(len(v)))
		for _, item := range v {
			h = hashValue(h, item)
		}
		return h
	case map[string]any:
		var sum uint64
		for key, value := range v {
			sum += hashValue(hashText(hashSeed, key), value)
		}
		return hashWord(hashWord(hashWord(h, 9), uint64(len(v))), sum)
	default:
		return hashWord(h, 10)
	}
}

// maxCandidates is how many values with the same hash are compared with a new one. Honest
// data has one; data that is made to collide must not cost the square of its number.
const maxCandidates = 8

// valueTable keeps values, equal ones once, in the order in which they came. Values that
// collide with maxCandidates others may be kept more than once.
type valueTable struct {
	values []value.Value
	first  map[uint64]int   // the place of the first value with a hash
	more   map[uint64][]int // those of the next ones
}

// add returns the place of the value, and whether it was there already.
func (t *valueTable) add(v value.Value) (at int, known bool) {
	return t.addHashed(hashValue(hashSeed, v), v)
}

func (t *valueTable) addHashed(h uint64, v value.Value) (at int, known bool) {
	first, found := t.first[h]
	if found {
		if identical(t.values[first], v) {
			return first, true
		}
		for _, at := range t.more[h] {
			if identical(t.values[at], v) {
				return at, true
			}
		}
	}
	at = len(t.values)
	if at == 0 {
		t.values, t.first = make([]value.Value, 0, 8), map[uint64]int{}
	}
	t.values = append(t.values, v)
	switch {
	case !found:
		t.first[h] = at
	case len(t.more[h]) < maxCandidates-1:
		if t.more == nil {
			t.more = map[uint64][]int{}
		}
		t.more[h] = append(t.more[h], at)
	}
	return at, false
}

// identical reports whether two values are the same in every respect: unlike value.Equal, 1 and 1.0
// are not. Its cost is that of the smaller one.
func identical(a, b value.Value) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case *big.Int:
		b, ok := b.(*big.Int)
		return ok && a.Cmp(b) == 0
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		if isSame(a, b) {
			return true
		}
		for i := range a {
			if !identical(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		if isSame(a, b) {
			return true
		}
		//workflowcheck:ignore only whether there is a difference matters, not which comes first
		for key, value := range a {
			if other, ok := b[key]; !ok || !identical(value, other) {
				return false
			}
		}
		return true
	default: // nil, bool, int, string
		switch b.(type) {
		case []any, map[string]any:
			return false
		}
		return a == b
	}
}
