package service

import (
	"context"
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

// The bounds of evaluations. Each may compute for seconds (T76).
var evaluationBounds = computationBounds{
	waiting: 20,
	tooMany: "The API key or person waits for the values of %d expressions, which is the limit. Wait for the answers.",
}

// Evaluate evaluates the expression of a request: an object with `expression`, with or without ${ }, and `input`,
// `context` and `variables`, if it has them. $secrets holds nothing but what `variables` gives.
// Codes: invalid_body, unknown_field, expression_invalid, expression_failed, rate_limited.
func (s *Service) Evaluate(ctx context.Context, p *Principal, body value.Value) (value.Value, error) {
	leave, err := s.evaluations.enter(ctx, p)
	if err != nil {
		return nil, err
	}
	defer leave()
	return EvaluateBody(body, s.nowMs())
}

// EvaluateBody is Evaluate without a service.
func EvaluateBody(body value.Value, nowMs int64) (value.Value, error) {
	f, err := openBody(body, "expression", "input", "context", "variables")
	if err != nil {
		return nil, err
	}
	source := f.text("expression", expr.MaxSourceBytes)
	if _, given := f.values["expression"]; !given {
		f.fail("expression", "required", "The field \"expression\" is needed.")
	}
	given := f.object("variables")
	if err := f.err(); err != nil {
		return nil, err
	}
	env := &evaluationEnv{nowMs: nowMs, values: map[string]value.Value{"input": f.values["input"], "context": f.values["context"]}}
	scope := &expr.Scope{}
	for name, v := range given {
		if env.values[name] = v; !expr.IsLanguageName(name) {
			scope.Locals = append(scope.Locals, name)
		}
	}
	slices.Sort(scope.Locals)
	e, err := expr.CompileOperand(source, expr.Strict, scope)
	var wrong *expr.CompileError
	if errors.As(err, &wrong) {
		return nil, chargehand.NewError(chargehand.CodeExpressionInvalid, wrong.Error(), chargehand.FieldError{
			Pointer: "/expression", Code: "invalid_expression", Detail: wrong.Error(), Line: wrong.Line, Column: wrong.Column,
		})
	}
	if err != nil {
		return nil, err
	}
	v, err := e.Eval(f.values["input"], env)
	var failed *expr.EvalError
	if errors.As(err, &failed) {
		code := "failed"
		if failed.Limit {
			code = "limit"
		}
		return nil, chargehand.NewError(chargehand.CodeExpressionFailed, failed.Detail, chargehand.FieldError{
			Pointer: "/expression", Code: code, Detail: failed.Detail,
		})
	}
	return v, err
}

// evaluationEnv gives an expression what the request gives.
type evaluationEnv struct {
	nowMs  int64
	values map[string]value.Value
}

func (e *evaluationEnv) Variable(name string) value.Value { return e.values[name] }
func (e *evaluationEnv) NowMs() int64                     { return e.nowMs }
