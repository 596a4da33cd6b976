package expr

// Value is one of nil, bool, int, *big.Int (only outside the range of int), float64
// (always finite), string (valid UTF-8), []any, map[string]any. It is immutable once shared.
type Value = any

// Equal reports whether a and b are the same by value: 1 equals 1.0, and the order of
// keys means nothing.
func Equal(a, b Value) bool { panic("unfinished") }

// Size estimates the bytes that v takes as JSON text.
func Size(v Value) int { panic("unfinished") }

// Truthy is jq's rule: everything but false and null counts as true (T13).
func Truthy(v Value) bool { return v != nil && v != false }
