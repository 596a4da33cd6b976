package plan

import (
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

// Operand is a compiled property of the definition: a constant, an expression or a template.
type Operand struct {
	Path string // where it stands, relative to its task, such as "output.as"

	source     string // of the expression of an expression operand, without its ${ }
	constant   value.Value
	expression *expr.Expression
	template   *expr.Template
	isConstant bool
}

// Eval gives the operand's value. Errors are *expr.EvalError.
func (s *Operand) Eval(dot value.Value, env expr.Env) (value.Value, error) {
	switch {
	case s.expression != nil:
		return s.expression.Eval(dot, env)
	case s.isConstant:
		return s.constant, nil
	default:
		return s.template.Eval(dot, env)
	}
}

// Constant returns the value of an operand that holds no expression.
func (s *Operand) Constant() (value.Value, bool) { return s.constant, s.isConstant }

// Uses reports whether an expression in the operand refers to $name.
func (s *Operand) Uses(name string) bool {
	switch {
	case s == nil || s.isConstant:
		return false
	case s.expression != nil:
		return s.expression.Uses(name)
	default:
		return s.template.Uses(name)
	}
}
