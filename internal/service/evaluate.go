package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// maxEvaluations is how many expressions of requests are evaluated at once, maxEvaluationsOf of an account in one
	// environment. Each may compute for seconds (T76).
	maxEvaluations   = 2
	maxEvaluationsOf = 1
	// maxEvaluationsWaiting is how many of a person or key wait or compute.
	maxEvaluationsWaiting = 20
)

// evaluations shares the permits to evaluate: first among environments and accounts, then among the persons and keys of
// an account, of which each has one request at a time in the line of the account.
type evaluations struct {
	actors, accounts *fair.Gate
	mu               sync.Mutex
	open             map[int64]int // requests by actor
}

func newEvaluations() *evaluations {
	return &evaluations{
		actors:   fair.NewGate(fair.Limits{Permits: math.MaxInt, PerWorkflow: 1}),
		accounts: fair.NewGate(fair.Limits{Permits: maxEvaluations, PerWorkflow: maxEvaluationsOf}),
		open:     map[int64]int{},
	}
}

// enter waits for a permit, which leave gives back. Codes: rate_limited.
func (e *evaluations) enter(ctx context.Context, p *Principal) (leave func(), err error) {
	actor := p.actor()
	if err := e.count(actor); err != nil {
		return nil, err
	}
	own, share := fair.Owner{Environment: p.Environment, Workflow: actor}, fair.Owner{Environment: p.Environment, Workflow: p.AccountNo}
	if err := e.actors.Enter(ctx, own); err != nil {
		e.discount(actor)
		return nil, err
	}
	back := func() {
		e.actors.Leave(own)
		e.discount(actor)
	}
	if err := e.accounts.Enter(ctx, share); err != nil {
		back()
		return nil, err
	}
	return func() { e.accounts.Leave(share); back() }, nil
}

func (e *evaluations) count(actor int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open[actor] >= maxEvaluationsWaiting {
		return &chargehand.Error{
			Code: chargehand.CodeRateLimited, RetryAfter: 1,
			Detail: fmt.Sprintf("The API key or person waits for the values of %d expressions, which is the limit. Wait for the answers.", maxEvaluationsWaiting),
		}
	}
	e.open[actor]++
	return nil
}

func (e *evaluations) discount(actor int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open[actor]--; e.open[actor] == 0 {
		delete(e.open, actor)
	}
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
