package expr

import "fmt"

// Scope names the local variables that an expression may use beside the eight names of the
// language, innermost last, without the dollar sign.
type Scope struct {
	Locals []string
}

// Env gives the variables and the time to one evaluation.
type Env interface {
	// Variable returns the value of $name. It is called at most once per evaluation and name,
	// and only for names that the expression refers to.
	Variable(name string) Value
	// NowMs is the time of the event that is being handled, in milliseconds since 1970.
	NowMs() int64
}

// Expression is a compiled runtime expression.
type Expression struct{}

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
}

func (e *EvalError) Error() string { return fmt.Sprintf("expression: %s", e.Detail) }

// Compile compiles source, an expression without its ${ }. s may be nil.
func Compile(source string, s *Scope) (*Expression, error) { panic("unfinished") }

// Uses reports whether the expression refers to $name.
func (e *Expression) Uses(name string) bool { panic("unfinished") }

// Eval evaluates the expression with dot as its input. No result gives nil, several the
// first (T12). Errors are *EvalError.
func (e *Expression) Eval(dot Value, env Env) (Value, error) { panic("unfinished") }

// Warnings lists what a linter should tell the author.
func (e *Expression) Warnings() []string { panic("unfinished") }
