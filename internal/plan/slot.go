package plan

import (
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

// Slot is a compiled place of the definition: a constant, an expression or a template.
type Slot struct {
	Path string // where it stands, relative to its task, such as "output.as"

	source     string // of the expression of an expression slot, without its ${ }
	constant   value.Value
	expression *expr.Expression
	template   *expr.Template
	isConstant bool
}

// Eval gives the slot's value. Errors are *expr.EvalError.
func (s *Slot) Eval(dot value.Value, env expr.Env) (value.Value, error) {
	switch {
	case s.expression != nil:
		return s.expression.Eval(dot, env)
	case s.isConstant:
		return s.constant, nil
	default:
		return s.template.Eval(dot, env)
	}
}

// Constant returns the value of a slot that holds no expression.
func (s *Slot) Constant() (value.Value, bool) { return s.constant, s.isConstant }

// Uses reports whether an expression in the slot refers to $name.
func (s *Slot) Uses(name string) bool {
	switch {
	case s == nil || s.isConstant:
		return false
	case s.expression != nil:
		return s.expression.Uses(name)
	default:
		return s.template.Uses(name)
	}
}
