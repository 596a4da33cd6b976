package expr

import (
	"github.com/chargehand/chargehand/internal/value"
	"maps"
	"math"
	"math/big"
	"strings"
)

// bigOf widens an integer.
func bigOf(v Value) *big.Int {
	if n, ok := v.(int); ok {
		return big.NewInt(int64(n))
	}
	return v.(*big.Int)
}

func isNumber(v Value) bool {
	switch v.(type) {
	case int, float64, *big.Int:
		return true
	}
	return false
}

// toFloat rounds a number to a float.
func toFloat(v Value) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case *big.Int:
		return value.FloatOf(v), true
	}
	return 0, false
}

// toInt cuts a number off to an int; outside of the range it is the nearest end of it.
func toInt(v Value) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case float64:
		return floatToInt(v), true
	case *big.Int:
		if v.Sign() > 0 {
			return math.MaxInt, true
		}
		return math.MinInt, true
	}
	return 0, false
}

func floatToInt(f float64) int {
	if math.MinInt <= f && f < math.MaxInt {
		return int(f)
	}
	if f > 0 {
		return math.MaxInt
	}
	return math.MinInt
}

// bigResult checks the size of a calculated integer.
func (r *evaluation) bigResult(n *big.Int) (Value, error) {
	if n.BitLen() > MaxIntegerBits {
		return nil, limit("An integer of more than %d bits comes up in the expression.", MaxIntegerBits)
	}
	return value.IntegerOf(n), nil
}

// arithmetic is what an operator does with numbers.
type arithmetic struct {
	ints   func(a, b int) (int, bool) // false: does not fit
	floats func(a, b float64) float64
	bigs   func(z, a, b *big.Int) *big.Int
}

// calculate applies an operator to two numbers; ok is false if they are none.
func (r *evaluation) calculate(op *arithmetic, a, b Value) (v Value, ok bool, err error) {
	if x, isInt := a.(int); isInt {
		if y, isInt := b.(int); isInt {
			if z, fits := op.ints(x, y); fits {
				return z, true, nil
			}
		}
	}
	if !isNumber(a) || !isNumber(b) {
		return nil, false, nil
	}
	_, isFloatA := a.(float64)
	_, isFloatB := b.(float64)
	if isFloatA || isFloatB {
		x, _ := toFloat(a)
		y, _ := toFloat(b)
		return r.number(op.floats(x, y)), true, nil
	}
	x, y := bigOf(a), bigOf(b)
	if err := r.work(bigCost(x) + bigCost(y)); err != nil {
		return nil, true, err
	}
	v, err = r.bigResult(op.bigs(new(big.Int), x, y))
	return v, true, err
}

var addition = &arithmetic{
	ints:   func(a, b int) (int, bool) { c := a + b; return c, (c >= a) == (b >= 0) },
	floats: func(a, b float64) float64 { return a + b },
	bigs:   (*big.Int).Add,
}

func opAdd(r *evaluation, a, b Value) (Value, error) {
	switch x := a.(type) {
	case nil:
		return b, nil
	case string:
		if y, ok := b.(string); ok {
			if err := r.text(len(x) + len(y)); err != nil {
				return nil, err
			}
			return x + y, nil
		}
	case []any:
		if y, ok := b.([]any); ok {
			return r.concat(x, y)
		}
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return r.merge(x, y)
		}
	}
	if b == nil {
		return a, nil
	}
	if v, ok, err := r.calculate(addition, a, b); ok {
		return v, err
	}
	return nil, &failure{kind: withTwo, name: "cannot add", v: a, w: b}
}

func (r *evaluation) concat(a, b []any) (Value, error) {
	if len(a) == 0 {
		return b, nil
	}
	if len(b) == 0 {
		return a, nil
	}
	if err := r.list(len(a) + len(b)); err != nil {
		return nil, err
	}
	list := make([]any, 0, len(a)+len(b))
	return append(append(list, a...), b...), nil
}

func (r *evaluation) merge(a, b map[string]any) (Value, error) {
	if len(a) == 0 {
		return b, nil
	}
	if len(b) == 0 {
		return a, nil
	}
	if err := r.object(len(a) + len(b)); err != nil {
		return nil, err
	}
	object := make(map[string]any, len(a)+len(b))
	maps.Copy(object, a)
	maps.Copy(object, b)
	return object, nil
}

var subtraction = &arithmetic{
	ints:   func(a, b int) (int, bool) { c := a - b; return c, (c <= a) == (b >= 0) },
	floats: func(a, b float64) float64 { return a - b },
	bigs:   (*big.Int).Sub,
}

func opSubtract(r *evaluation, a, b Value) (Value, error) {
	if v, ok, err := r.calculate(subtraction, a, b); ok {
		return v, err
	}
	x, ok := a.([]any)
	y, ok2 := b.([]any)
	if !ok || !ok2 {
		return nil, &failure{kind: withTwo, name: "cannot subtract", v: a, w: b}
	}
	if err := r.list(len(x)); err != nil {
		return nil, err
	}
	list := make([]any, 0, len(x))
next:
	for _, v := range x {
		for _, w := range y {
			if err := r.step(); err != nil {
				return nil, err
			}
			if r.equal(v, w) {
				continue next
			}
		}
		list = append(list, v)
	}
	return list, nil
}

var multiplication = &arithmetic{
	ints: func(a, b int) (int, bool) {
		if a == math.MinInt || b == math.MinInt {
			return 0, false
		}
		c := a * b
		return c, b == 0 || c/b == a
	},
	floats: func(a, b float64) float64 { return a * b },
	bigs:   (*big.Int).Mul,
}

func opMultiply(r *evaluation, a, b Value) (Value, error) {
	if x, ok := a.(*big.Int); ok {
		// The product is checked before it is made.
		if y, ok := b.(*big.Int); ok && x.BitLen()+y.BitLen() > MaxIntegerBits+64 {
			return r.bigResult(new(big.Int).Lsh(big.NewInt(1), MaxIntegerBits))
		}
	}
	if v, ok, err := r.calculate(multiplication, a, b); ok {
		return v, err
	}
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			return r.deepMerge(x, y)
		}
	}
	if s, ok := a.(string); ok && isNumber(b) {
		return r.repeat(s, b)
	}
	if s, ok := b.(string); ok && isNumber(a) {
		return r.repeat(s, a)
	}
	return nil, &failure{kind: withTwo, name: "cannot multiply", v: a, w: b}
}

func (r *evaluation) repeat(s string, times Value) (Value, error) {
	n, _ := toFloat(times)
	if n < 0 || n != n {
		return nil, nil
	}
	if s == "" {
		return "", nil
	}
	count := int(min(n, MaxValueBytes+1))
	if err := r.text(len(s) * count); err != nil {
		return nil, err
	}
	return strings.Repeat(s, count), nil
}

func (r *evaluation) deepMerge(a, b map[string]any) (Value, error) {
	if err := r.object(len(a) + len(b)); err != nil {
		return nil, err
	}
	if err := r.push(1); err != nil {
		return nil, err
	}
	defer r.pop(1)
	object := make(map[string]any, len(a)+len(b))
	maps.Copy(object, a)
	for _, k := range value.SortedKeys(b) {
		v := b[k]
		if x, ok := object[k].(map[string]any); ok {
			if y, ok := v.(map[string]any); ok {
				w, err := r.deepMerge(x, y)
				if err != nil {
					return nil, err
				}
				v = w
			}
		}
		object[k] = v
	}
	return object, nil
}

func opDivide(r *evaluation, a, b Value) (Value, error) {
	if s, ok := a.(string); ok {
		if t, ok := b.(string); ok {
			return r.split(s, t)
		}
	}
	if !isNumber(a) || !isNumber(b) {
		return nil, &failure{kind: withTwo, name: "cannot divide", v: a, w: b}
	}
	x, _ := toFloat(a)
	y, _ := toFloat(b)
	_, isFloatA := a.(float64)
	_, isFloatB := b.(float64)
	if isFloatA || isFloatB {
		if y == 0 {
			return nil, &failure{kind: divisionBy, name: "cannot divide", v: x, w: y}
		}
		return r.number(x / y), nil
	}
	if y == 0 {
		return nil, &failure{kind: divisionBy, name: "cannot divide", v: a, w: b}
	}
	if m, ok := a.(int); ok {
		if n, ok := b.(int); ok && n != -1 {
			if m%n == 0 {
				return m / n, nil
			}
			return r.number(x / y), nil
		}
	}
	m, n := bigOf(a), bigOf(b)
	if err := r.work(bigCost(m) + bigCost(n)); err != nil {
		return nil, err
	}
	if quotient, rest := new(big.Int).QuoRem(m, n, new(big.Int)); rest.Sign() == 0 {
		return value.IntegerOf(quotient), nil
	}
	return r.number(x / y), nil
}

func opModulo(r *evaluation, a, b Value) (Value, error) {
	if !isNumber(a) || !isNumber(b) {
		return nil, &failure{kind: withTwo, name: "cannot modulo", v: a, w: b}
	}
	_, isFloatA := a.(float64)
	_, isFloatB := b.(float64)
	if isFloatA || isFloatB {
		x, _ := toFloat(a)
		y, _ := toFloat(b)
		if x != x || y != y {
			return r.number(math.NaN()), nil
		}
		n := floatToInt(y)
		if n == 0 {
			return nil, &failure{kind: divisionBy, name: "cannot modulo", v: x, w: y}
		}
		return floatToInt(x) % n, nil
	}
	if n, ok := b.(int); ok {
		if n == 0 {
			return nil, &failure{kind: divisionBy, name: "cannot modulo", v: a, w: b}
		}
		if m, ok := a.(int); ok {
			return m % n, nil
		}
	}
	m, n := bigOf(a), bigOf(b)
	if err := r.work(bigCost(m) + bigCost(n)); err != nil {
		return nil, err
	}
	return value.IntegerOf(new(big.Int).Rem(m, n)), nil
}

func opAlternative(_ *evaluation, a, b Value) (Value, error) {
	if value.Truthy(a) {
		return a, nil
	}
	return b, nil
}

func opEqual(r *evaluation, a, b Value) (Value, error)    { return r.equal(a, b), nil }
func opNotEqual(r *evaluation, a, b Value) (Value, error) { return !r.equal(a, b), nil }
func opLess(r *evaluation, a, b Value) (Value, error)     { return r.compare(a, b) < 0, nil }
func opLessEqual(r *evaluation, a, b Value) (Value, error) {
	return r.compare(a, b) <= 0, nil
}
func opGreater(r *evaluation, a, b Value) (Value, error) { return r.compare(a, b) > 0, nil }
func opGreaterEqual(r *evaluation, a, b Value) (Value, error) {
	return r.compare(a, b) >= 0, nil
}

func opNegate(r *evaluation, v Value, _ []Value) (Value, error) {
	switch v := v.(type) {
	case int:
		if v == math.MinInt {
			return new(big.Int).Neg(big.NewInt(int64(v))), nil
		}
		return -v, nil
	case float64:
		return -v, nil
	case *big.Int:
		return value.IntegerOf(new(big.Int).Neg(v)), nil
	}
	return nil, &failure{kind: withValue, name: "cannot negate", v: v}
}

func opPlus(_ *evaluation, v Value, _ []Value) (Value, error) {
	if isNumber(v) {
		return v, nil
	}
	return nil, &failure{kind: withValue, name: "cannot plus", v: v}
}
