package expr

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/chargehand/chargehand/internal/value"
	"github.com/itchyny/gojq"
)

// Scope names the local variables that an expression may use beside the eight names of the
// language, innermost last, without the dollar sign.
type Scope struct {
	Locals []string
}

// Env gives the variables and the time to one evaluation.
type Env interface {
	// Variable returns the value of $name. It is called at most once per evaluation and name,
	// and only for names that the evaluation really reads.
	Variable(name string) Value
	// NowMs is the time of the event that is being handled, in milliseconds since 1970.
	NowMs() int64
}

// Meter may be implemented by an Env that wants to know what evaluations cost.
type Meter interface {
	// Spent is called after an evaluation with the steps that it took (T76). Plain paths, which
	// take next to none, do not call it.
	Spent(steps int)
}

// Bounded may be implemented by an Env that allows an evaluation fewer steps than MaxSteps.
type Bounded interface {
	// StepLimit is called before an evaluation. Plain paths have no limit.
	StepLimit() int
}

// Expression is a compiled runtime expression.
type Expression struct {
	root     node
	names    []string // of the variables
	warnings []string
	plain    bool // the root is a constant, a variable, or a path of constants into one or into the input
	input    bool // the result may depend on the input
	regexps  *regexpCache
}

// CompileError tells why a text is no valid expression.
type CompileError struct {
	Line   int    // from 1, within the source
	Column int    // from 1, in characters
	Detail string // a sentence
	Hint   string // what the author may have meant; may be empty
}

func (e *CompileError) Error() string {
	if e.Hint != "" {
		return e.Detail + " (" + e.Hint + ")"
	}
	return e.Detail
}

// EvalError tells why an evaluation failed.
type EvalError struct {
	Detail string
	Limit  bool // a bound of T76 was hit
	Denied bool // a secret was asked for that the definition does not declare (T75)
}

func (e *EvalError) Error() string { return e.Detail }

// Compile compiles source, an expression without its ${ }. s may be nil. Errors are
// *CompileError.
func Compile(source string, s *Scope) (*Expression, error) {
	if len(source) > MaxSourceBytes {
		return nil, &CompileError{Line: 1, Column: 1,
			Detail: fmt.Sprintf("The expression has %d bytes; at most %d are allowed.", len(source), MaxSourceBytes)}
	}
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, parseError(source, err)
	}
	c := compiler{source: source}
	if s != nil {
		c.locals = s.Locals
	}
	root, err := c.query(query, location{})
	if err != nil {
		return nil, err
	}
	e := &Expression{root: root, names: c.names, plain: isPlain(root), input: queryUsesInput(query), regexps: &regexpCache{}}
	if many(root) {
		e.warnings = append(e.warnings, "The expression may have more than one result; only the first one counts. "+
			"Put it in [ ] for all of them, or in first( ) to say so.")
	}
	return e, nil
}

// parseError turns an error of the parser into ours.
func parseError(source string, err error) error {
	var problem *gojq.ParseError
	if !errors.As(err, &problem) {
		return &CompileError{Line: 1, Column: 1, Detail: "The expression cannot be read: " + err.Error() + "."}
	}
	at := problem.Offset - len(problem.Token)
	if at < 0 || problem.Token == "" {
		at = problem.Offset
	}
	line, column := position(source, at)
	e := &CompileError{Line: line, Column: column, Detail: "The expression cannot be read: " + problem.Error() + "."}
	if problem.Token == "'" {
		e.Hint = "write texts in double quotes"
	}
	return e
}

func isPlain(n node) bool {
	if fields, ok := n.(*fieldsNode); ok {
		n = fields.base
		for _, key := range fields.keys {
			switch key.(type) {
			case string, int: // others could make a new value
			default:
				return false
			}
		}
	}
	switch n.(type) {
	case identityNode, *constantNode, *globalNode:
		return true
	}
	return false
}

// Uses reports whether the expression refers to $name.
func (e *Expression) Uses(name string) bool { return slices.Contains(e.names, name) }

// Warnings lists what a linter should tell the author.
func (e *Expression) Warnings() []string { return slices.Clone(e.warnings) }

// Eval evaluates the expression with dot as its input. No result gives nil, several the
// first (T12). Errors are *EvalError.
func (e *Expression) Eval(dot Value, env Env) (Value, error) {
	if e.plain {
		return e.evalPlain(dot, env)
	}
	r := newEvaluation(e.names, e.regexps, env)
	limit := MaxSteps
	if bounded, ok := env.(Bounded); ok {
		limit = min(limit, bounded.StepLimit())
		r.steps = limit
	}
	v, _, err := firstOf(e.root, r, nil, dot)
	if err == nil {
		v, err = r.finish(v)
	}
	if meter, ok := env.(Meter); ok {
		meter.Spent(limit - r.steps)
	}
	r.release()
	if err != nil {
		return nil, evalError(err)
	}
	return v, nil
}

// evalPlain is the short way for the most frequent expressions. Their results are parts of
// values that are within the bounds already.
func (e *Expression) evalPlain(dot Value, env Env) (Value, error) {
	n, fields := e.root, []Value(nil)
	if path, ok := n.(*fieldsNode); ok {
		n, fields = path.base, path.keys
	}
	v := dot
	switch n := n.(type) {
	case *constantNode:
		v = n.value
	case *globalNode:
		v = env.Variable(e.names[n.index])
	}
	for i, key := range fields {
		if name, ok := key.(string); ok {
			if object, ok := v.(map[string]any); ok {
				v = object[name]
				continue
			}
		}
		return e.evalRest(v, fields[i:])
	}
	return v, nil
}

// evalRest continues with a path where an object ends.
func (e *Expression) evalRest(v Value, fields []Value) (Value, error) {
	r := evaluation{steps: MaxSteps, bytes: maxAllocated}
	for _, key := range fields {
		var err error
		if v, err = r.index(v, key); err != nil {
			return nil, evalError(err)
		}
	}
	return v, nil
}

// evalError turns what ended an evaluation into the error of the package.
func evalError(err error) error {
	if limit, ok := err.(*EvalError); ok {
		return limit
	}
	return &EvalError{Detail: err.Error()}
}

// finish checks the bounds of a result and makes its numbers finite, as jq does when it
// writes them.
func (r *evaluation) finish(v Value) (Value, error) {
	if r.exhausted() {
		return nil, errSteps
	}
	if err := measure(v, 0, &r.size); err != nil {
		return nil, err
	}
	if r.nonFinite {
		return r.finite(v)
	}
	return v, nil
}

var errResult = limit("The result of the expression has more than %d MiB.", MaxValueBytes>>20)

// measure adds the size of v to size and checks the bounds of a result.
func measure(v Value, depth int, size *int) error {
	switch v := v.(type) {
	case string:
		*size += len(v) + 2
	case []any:
		if err := checkContainer(len(v), depth); err != nil {
			return err
		}
		*size += len(v) + 2
		for _, w := range v {
			if err := measure(w, depth+1, size); err != nil {
				return err
			}
		}
	case map[string]any:
		return measureObject(v, depth, size)
	default:
		*size += value.Size(v)
	}
	if *size > MaxValueBytes {
		return errResult
	}
	return nil
}

func checkContainer(entries, depth int) error {
	if depth >= value.MaxDepth {
		return errDepth
	}
	if entries > MaxEntries {
		return errEntries
	}
	return nil
}

// measureObject does not care in which order the entries come: all of them are counted, and
// what is too large, too deep or too long is so in any order.
func measureObject(v map[string]any, depth int, size *int) error {
	if err := checkContainer(len(v), depth); err != nil {
		return err
	}
	*size += 2
	var problem error
	for k, w := range v {
		*size += len(k) + 4
		err := measure(w, depth+1, size)
		if err == errResult {
			return err
		}
		if problem == nil || err == errDepth {
			problem = err
		}
	}
	if *size > MaxValueBytes {
		return errResult
	}
	return problem
}

// finite replaces NaN by null and infinities by the largest numbers.
func (r *evaluation) finite(v Value) (Value, error) {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) {
			return nil, nil
		}
		return min(max(v, -math.MaxFloat64), math.MaxFloat64), nil
	case []any:
		if err := r.list(len(v)); err != nil {
			return nil, err
		}
		list := make([]any, len(v))
		for i, w := range v {
			var err error
			if list[i], err = r.finite(w); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		if err := r.object(len(v)); err != nil {
			return nil, err
		}
		object := make(map[string]any, len(v))
		for _, k := range value.SortedKeys(v) {
			var err error
			if object[k], err = r.finite(v[k]); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return v, nil
}
