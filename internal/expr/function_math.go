package expr

import (
	"math"
	"math/big"
)

// mathFunctions work on floats; whole results become integers again (see run.number).
var mathFunctions = map[string]func(float64) float64{
	"sin": math.Sin, "cos": math.Cos, "tan": math.Tan,
	"asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
	"asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh,
	"floor": math.Floor, "round": math.Round, "nearbyint": math.RoundToEven, "rint": math.RoundToEven,
	"ceil": math.Ceil, "trunc": math.Trunc, "fabs": math.Abs,
	"sqrt": math.Sqrt, "cbrt": math.Cbrt,
	"exp": math.Exp, "exp2": math.Exp2, "expm1": math.Expm1,
	"exp10": func(x float64) float64 { return math.Pow(10, x) },
	"log":   math.Log, "log10": math.Log10, "log1p": math.Log1p, "log2": math.Log2, "logb": math.Logb,
	"gamma": math.Gamma, "tgamma": math.Gamma,
	"lgamma": func(x float64) float64 { y, _ := math.Lgamma(x); return y },
	"erf":    math.Erf, "erfc": math.Erfc,
	"j0": math.J0, "j1": math.J1, "y0": math.Y0, "y1": math.Y1,
	"significand": func(x float64) float64 { y, _ := math.Frexp(x); return 2 * y },
}

// roundings leave integers alone, which floats might not hold exactly.
var roundings = map[string]bool{"floor": true, "round": true, "nearbyint": true, "rint": true, "ceil": true, "trunc": true}

var mathFunctions2 = map[string]func(x, y float64) float64{
	"atan2": math.Atan2, "copysign": math.Copysign, "fdim": math.Dim, "fmod": math.Mod,
	"hypot": math.Hypot, "nextafter": math.Nextafter, "nexttoward": math.Nextafter,
	"remainder": math.Remainder, "pow": math.Pow,
	"ldexp": scale, "scalb": scale, "scalbln": scale,
	"fmax": func(x, y float64) float64 {
		if x != x {
			return y
		} else if y != y {
			return x
		}
		return max(x, y)
	},
	"fmin": func(x, y float64) float64 {
		if x != x {
			return y
		} else if y != y {
			return x
		}
		return min(x, y)
	},
	"drem": func(x, y float64) float64 {
		z := math.Remainder(x, y)
		if z == 0 {
			return math.Copysign(z, x)
		}
		return z
	},
}

func scale(x, y float64) float64 { return math.Ldexp(x, floatToInt(y)) }

func mathNative(name string, f func(float64) float64) native {
	return func(r *evaluation, v Value, _ []Value) (Value, error) {
		switch v.(type) {
		case int, *big.Int:
			if roundings[name] {
				return v, nil
			}
		}
		x, ok := toFloat(v)
		if !ok {
			return nil, cannotApply0(name, v)
		}
		return r.number(f(x)), nil
	}
}

func mathNative2(name string, f func(x, y float64) float64) native {
	return func(r *evaluation, _ Value, args []Value) (Value, error) {
		x, ok := toFloat(args[0])
		if !ok {
			return nil, cannotApply0(name, args[0])
		}
		y, ok := toFloat(args[1])
		if !ok {
			return nil, cannotApply0(name, args[1])
		}
		return r.number(f(x, y)), nil
	}
}

// bessel is jn or yn, whose time grows with the order.
func bessel(name string, f func(int, float64) float64) native {
	return func(r *evaluation, v Value, args []Value) (Value, error) {
		call := mathNative2(name, func(n, x float64) float64 { return f(floatToInt(n), x) })
		if n, ok := toFloat(args[0]); ok {
			if err := r.work(int(min(math.Abs(math.Trunc(n)), 2*MaxSteps))); err != nil {
				return nil, err
			}
		}
		return call(r, v, args)
	}
}

func fnFMA(r *evaluation, _ Value, args []Value) (Value, error) {
	var x [3]float64
	for i, v := range args {
		var ok bool
		if x[i], ok = toFloat(v); !ok {
			return nil, cannotApply0("fma", v)
		}
	}
	return r.number(math.FMA(x[0], x[1], x[2])), nil
}

func fnFrexp(r *evaluation, v Value, _ []Value) (Value, error) {
	x, ok := toFloat(v)
	if !ok {
		return nil, cannotApply0("frexp", v)
	}
	fraction, exponent := math.Frexp(x)
	return []any{r.number(fraction), exponent}, r.list(2)
}

func fnModf(r *evaluation, v Value, _ []Value) (Value, error) {
	x, ok := toFloat(v)
	if !ok {
		return nil, cannotApply0("modf", v)
	}
	if math.IsInf(x, 0) {
		return []any{r.number(math.Copysign(0, x)), r.number(x)}, r.list(2)
	}
	whole, fraction := math.Modf(x)
	return []any{r.number(fraction), r.number(whole)}, r.list(2)
}

// numberTest is one of isfinite, isinfinite, isnan, isnormal.
func numberTest(test func(float64) bool) native {
	return func(_ *evaluation, v Value, _ []Value) (Value, error) {
		x, ok := toFloat(v)
		return ok && test(x), nil
	}
}

func isNormal(x float64) bool {
	exponent := math.Float64bits(x) >> 52 & 0x7ff
	return 0 < exponent && exponent < 0x7ff
}

// mathFunction finds a function of numbers by its name and number of arguments.
func mathFunction(name string, arity int) native {
	switch {
	case arity == 0 && mathFunctions[name] != nil:
		return mathNative(name, mathFunctions[name])
	case arity == 2 && mathFunctions2[name] != nil:
		return mathNative2(name, mathFunctions2[name])
	}
	if arity == 0 {
		switch name {
		case "frexp":
			return fnFrexp
		case "modf":
			return fnModf
		case "infinite":
			return func(r *evaluation, _ Value, _ []Value) (Value, error) { return r.number(math.Inf(1)), nil }
		case "nan":
			return func(r *evaluation, _ Value, _ []Value) (Value, error) { return r.number(math.NaN()), nil }
		case "isfinite":
			return numberTest(func(x float64) bool { return !math.IsInf(x, 0) })
		case "isinfinite":
			return numberTest(func(x float64) bool { return math.IsInf(x, 0) })
		case "isnan":
			return numberTest(func(x float64) bool { return x != x })
		case "isnormal":
			return numberTest(isNormal)
		}
	}
	if arity == 2 && name == "jn" {
		return bessel(name, math.Jn)
	}
	if arity == 2 && name == "yn" {
		return bessel(name, math.Yn)
	}
	if arity == 3 && name == "fma" {
		return fnFMA
	}
	return nil
}

// mathSignatures lists the functions of numbers.
func mathSignatures() []string {
	var list []string
	for _, name := range keysOf(mathFunctions) {
		list = append(list, signature(name, 0))
	}
	for _, name := range keysOf(mathFunctions2) {
		list = append(list, signature(name, 2))
	}
	return append(list, "frexp/0", "modf/0", "infinite/0", "nan/0", "isfinite/0", "isinfinite/0", "isnan/0", "isnormal/0",
		"jn/2", "yn/2", "fma/3")
}
