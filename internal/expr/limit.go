package expr

import (
	"fmt"
	"github.com/chargehand/chargehand/internal/value"
	"math"
	"math/bits"
	"sync"
)

// Bounds of an expression (T76). They count steps and bytes, never wall time, so that every
// evaluation of the same expression on the same values ends the same way.
const (
	MaxSteps         = 10_000_000 // evaluations of a part of the expression, and elements or chunks of functions
	MaxValueBytes    = 16 << 20   // bytes of the result, and of any text in between
	MaxEntries       = 1_000_000  // entries of an array or an object
	MaxIntegerBits   = 4096       // bits of an integer
	MaxSourceBytes   = 64 << 10   // bytes of the source of an expression
	maxAllocated     = 128 << 20  // bytes that one evaluation allocates in all, garbage included
	maxStack         = 100_000    // levels of nested evaluation
	maxSourceDepth   = 1000       // levels of nesting in the source
	maxSourceNodes   = 50_000     // parts of a compiled expression
	maxRegexpBytes   = 2000       // bytes of the source of a regular expression
	maxRegexpProgram = 20_000     // instructions of a compiled regular expression
)

// evaluation is the state of one evaluation.
type evaluation struct {
	env       Env
	names     []string // of the variables that the expression refers to
	values    []Value  // of these variables, as far as they are loaded
	loaded    []bool
	steps     int // left
	bytes     int // left
	depth     int
	labels    int  // given out so far
	size      int  // of the result
	nonFinite bool // an infinity or NaN came up, so the result may hold one
	tail      tailCall
	regexp    *regexpProgram // the first one that was used
	regexps   map[regexpKey]*regexpProgram
	cache     *regexpCache
}

// evaluations keeps the state of finished evaluations, to save allocations.
var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

func newEvaluation(names []string, cache *regexpCache, env Env) *evaluation {
	r := evaluations.Get().(*evaluation)
	r.env, r.names, r.cache = env, names, cache
	r.steps, r.bytes = MaxSteps, maxAllocated
	if cap(r.values) < len(names) {
		r.values, r.loaded = make([]Value, len(names)), make([]bool, len(names))
	}
	r.values, r.loaded = r.values[:len(names)], r.loaded[:len(names)]
	return r
}

func (r *evaluation) release() {
	clear(r.values)
	clear(r.loaded)
	*r = evaluation{values: r.values, loaded: r.loaded}
	evaluations.Put(r)
}

// variable loads a variable at its first use.
func (r *evaluation) variable(i int) Value {
	if !r.loaded[i] {
		r.values[i], r.loaded[i] = r.env.Variable(r.names[i]), true
	}
	return r.values[i]
}

// limit is a bound that was hit. No try catches it.
func limit(format string, args ...any) *EvalError {
	return &EvalError{Detail: fmt.Sprintf(format, args...), Limit: true}
}

var errSteps = limit("The expression takes more than %d steps. Make its input or its loops smaller.", MaxSteps)

// step accounts for one step.
func (r *evaluation) step() error {
	if r.steps--; r.steps < 0 {
		return errSteps
	}
	return nil
}

// charge accounts for n steps without reporting at once whether there were as many left. A loop
// checks exhausted now and then, and the next step fails.
func (r *evaluation) charge(n int) { r.steps -= n }

func (r *evaluation) exhausted() bool { return r.steps < 0 }

// work accounts for n steps.
func (r *evaluation) work(n int) error {
	if r.steps -= n; r.steps < 0 {
		r.steps = -1
		return errSteps
	}
	return nil
}

// bytesPerStep is how many bytes are copied or looked at in about the time of a step.
const bytesPerStep = 32

// scan accounts for looking at n bytes.
func (r *evaluation) scan(n int) error { return r.work(n / bytesPerStep) }

var errBytes = limit("The expression needs more than %d MiB of memory in all. Make its input or its loops smaller.", maxAllocated>>20)

// alloc accounts for n bytes before they are allocated.
func (r *evaluation) alloc(n int) error {
	if r.bytes -= n; r.bytes < 0 {
		r.bytes = -1
		return errBytes
	}
	return r.work(n / bytesPerStep)
}

var errText = limit("A text of more than %d MiB comes up in the expression.", MaxValueBytes>>20)

// text accounts for a text of n bytes before it is made.
func (r *evaluation) text(n int) error {
	if n > MaxValueBytes {
		return errText
	}
	return r.alloc(n)
}

var errEntries = limit("An array or object of more than %d entries comes up in the expression.", MaxEntries)

// list accounts for an array of n entries before it is made.
func (r *evaluation) list(n int) error {
	if n > MaxEntries {
		return errEntries
	}
	return r.alloc(24 + 16*n)
}

// object accounts for an object of at most n keys before it is made.
func (r *evaluation) object(n int) error {
	if n > MaxEntries {
		return errEntries
	}
	if err := r.work(n); err != nil {
		return err
	}
	if n <= 8 {
		return r.alloc(320)
	}
	return r.alloc(64 + 64*n)
}

// growObject accounts for a further key of an object of n keys. A map that grows moves all that
// it holds several times, so that a key costs more than in a map that is made at its size.
func (r *evaluation) growObject(n int) error {
	const bytesPerKey, stepsPerKey = 128, 20
	if n >= MaxEntries {
		return errEntries
	}
	if err := r.alloc(bytesPerKey); err != nil {
		return err
	}
	return r.work(stepsPerKey)
}

// keys accounts for listing and sorting n keys.
func (r *evaluation) keys(n int) error {
	if err := r.work(n + sortCost(n)); err != nil {
		return err
	}
	return r.alloc(16 * n)
}

// sortCost is the price of the order of n entries, without that of comparing long ones.
func sortCost(n int) int { return n * bits.Len(uint(n)) / 4 }

var errStack = limit("The expression calls itself too deeply.")

// push accounts for levels of nested evaluation; the caller gives them back with pop.
func (r *evaluation) push(levels int) error {
	if r.depth += levels; r.depth > maxStack {
		r.depth -= levels
		return errStack
	}
	return nil
}

func (r *evaluation) pop(levels int) { r.depth -= levels }

var errDepth = limit("A value nested more than %d levels deep comes up in the expression.", value.MaxDepth)

// number is the value of the result of a floating-point operation. Whole numbers that
// floats hold exactly become integers, so that 7/2*2 is written 7 as jq writes it, while
// the 1.0 of an input stays 1.0.
func (r *evaluation) number(f float64) Value {
	const exact = 1 << 53
	if f == math.Trunc(f) && -exact < f && f < exact && (f != 0 || !math.Signbit(f)) {
		return int(f)
	}
	if f-f != 0 { // an infinity or NaN
		r.nonFinite = true
	}
	return f
}
