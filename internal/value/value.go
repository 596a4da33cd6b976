package value

import (
	"math"
	"math/big"
	"strconv"
)

// Value is one of nil, bool, int, *big.Int (only outside the range of int), float64
// (always finite), string (valid UTF-8), []any, map[string]any. It is immutable once shared.
type Value = any

// Truthy is jq's rule: everything but false and null counts as true (T13).
func Truthy(v Value) bool { return v != nil && v != false }

// Equal reports whether a and b are the same by value: 1 equals 1.0, and the order of
// keys means nothing. Numbers are compared exactly, without rounding.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !Equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !Equal(v, w) {
				return false
			}
		}
		return true
	case int:
		if b, ok := b.(int); ok {
			return a == b
		}
		return equalNumbers(a, b)
	case float64:
		if b, ok := b.(float64); ok {
			return a == b
		}
		return equalNumbers(a, b)
	case *big.Int:
		return equalNumbers(a, b)
	default: // nil, bool, string
		switch b.(type) {
		case []any, map[string]any:
			return false
		}
		return a == b
	}
}

// equalNumbers compares numbers of different kinds, and big integers.
func equalNumbers(a, b Value) bool {
	x, ok := exactInteger(a)
	if !ok {
		return false
	}
	y, ok := exactInteger(b)
	return ok && x.Cmp(y) == 0
}

// exactInteger returns the whole number that v is.
func exactInteger(v Value) (*big.Int, bool) {
	switch v := v.(type) {
	case int:
		return big.NewInt(int64(v)), true
	case *big.Int:
		return v, true
	case float64:
		if v != math.Trunc(v) || math.IsInf(v, 0) {
			return nil, false
		}
		n, _ := big.NewFloat(v).Int(nil)
		return n, true
	}
	return nil, false
}

// Size estimates the bytes that v takes as JSON text. Escapes are not counted, so it may be
// too small for unusual strings; it is never more than a few bytes too large per value.
func Size(v Value) int {
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case []any:
		n := 2 + len(v)
		for _, w := range v {
			n += Size(w)
		}
		return n
	case map[string]any:
		n := 2
		for k, w := range v {
			n += len(k) + 4 + Size(w)
		}
		return n
	default:
		return scalarSize(v)
	}
}

// scalarSize is Size for null, booleans and numbers.
func scalarSize(v Value) int {
	switch v := v.(type) {
	case int:
		n := 1
		for ; v >= 10 || v <= -10; v /= 10 {
			n++
		}
		return n
	case float64:
		return 8
	case *big.Int:
		return v.BitLen()*3/10 + 2
	}
	return 5
}

// FloatOf rounds to the nearest float; out of range it gives an infinity.
func FloatOf(n *big.Int) float64 {
	if n.IsInt64() {
		return float64(n.Int64())
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return math.Inf(n.Sign())
	}
	return f
}

// IntegerOf returns n as an int where it fits, so that equal integers have one form.
func IntegerOf(n *big.Int) Value {
	if n.IsInt64() {
		return int(n.Int64())
	}
	return n
}

// KindOf names the JSON type of v, in words for a sentence: "a string".
func KindOf(v Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
