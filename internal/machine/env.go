package machine

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// position says in which row of the table of arguments (docs/language/expressions.md) an expression stands.
type position uint8

const (
	inWorkflowInput  position = iota // workflow `input.from`, `timeout`
	inTaskInput                      // task `if`, `input.from`, `timeout`
	inBody                           // inside the task
	inOutput                         // task `output.as`
	inExport                         // task `export.as`
	inWorkflowOutput                 // workflow `output.as`
)

// env answers an expression's questions about its arguments. The machine has one and reuses
// it. Values that cost something to make are made only if they are asked for.
type env struct {
	machine  *Machine
	node     *node
	position position
	locals   *binding
	raw      value.Value // raw output, in inOutput and inExport
	output   value.Value // transformed output, in inExport
	denied   bool        // $secrets was asked for
	defined  bool        // a definition was
}

// NowMs is the time of the event that is being handled (T14).
func (e *env) NowMs() int64 { return e.machine.nowMs }

// The cost of expressions in pure steps: how many of their own steps count as one towards
// the next yield, and towards the limit between two effects. A slice takes some 0.2 s at most then.
const (
	stepsPerSliceStep = 2_000
	stepsPerPureStep  = 10_000
)

// Spent makes expensive expressions count as several steps, so that no loop of them hogs a
// core.
func (e *env) Spent(steps int) {
	e.machine.everSpent += steps
	e.machine.sliceSteps += steps / stepsPerSliceStep
	e.machine.pureSteps += steps / stepsPerPureStep
	e.machine.spent += steps
}

// Spent returns how many steps of expressions the machine has taken since it was made or
// restored, also in Wants. It is no part of the state, and the same in every replay from the
// same point.
func (m *Machine) Spent() int { return m.everSpent }

// SliceSpent is the maximum of expression steps that a slice takes before its last expression.
const SliceSpent = yieldSteps * stepsPerSliceStep

// Variable gives the eight names of the language, null where the table leaves a blank (T11),
// and the local variables, the innermost first.
func (e *env) Variable(name string) value.Value {
	for b := e.locals; b != nil; b = b.up {
		if b.name == name {
			return b.value
		}
	}
	switch name {
	case "context":
		if e.position != inWorkflowInput {
			return e.node.scope.context
		}
	case "input":
		if e.position >= inBody && e.position <= inExport {
			return e.node.input
		}
	case "output":
		if e.position == inExport {
			return e.output
		}
	case "task":
		if e.position >= inTaskInput && e.position <= inExport {
			e.defined = true
			return e.task()
		}
	case "workflow":
		e.defined = true
		return e.machine.workflow()
	case "runtime":
		return e.machine.runtime()
	case "authorization":
		if e.position >= inBody && e.position <= inExport {
			return e.node.authorization
		}
	case "secrets":
		return e.secrets()
	}
	return nil
}

func (e *env) task() value.Value {
	n := e.node
	if n.extended != nil { // in an extension it is the extended task (T35)
		n = n.extended
	}
	task := map[string]any{
		"name":       n.task.Name,
		"reference":  n.reference(),
		"definition": n.task.Definition,
		"input":      n.raw,
		"startedAt":  dateTime(n.startedMs),
	}
	if n.task.Function != "" && n.task.Leaf() { // inlined: it stands for its caller
		task["name"] = n.parent.task.Name
	}
	switch {
	case n != e.node && n.around.after:
		task["output"] = n.around.raw
	case n == e.node && e.position >= inOutput:
		task["output"] = e.raw
	}
	return task
}

func (m *Machine) workflow() value.Value {
	if m.workflowValue == nil {
		m.workflowValue = map[string]any{
			"id":         m.id.Execution.String(),
			"definition": m.plan.Definition(),
			"input":      m.input,
			"startedAt":  dateTime(m.startedMs),
		}
	}
	return m.workflowValue
}

func (m *Machine) runtime() value.Value {
	if m.runtimeValue == nil {
		m.runtimeValue = map[string]any{
			"name":     "chargehand",
			"version":  m.id.RuntimeVersion,
			"metadata": m.id.RuntimeMetadata,
		}
	}
	return m.runtimeValue
}

// dateTime is a moment as the language shows it to expressions.
func dateTime(ms int64) value.Value {
	return map[string]any{
		"iso8601": formatTime(ms),
		"epoch":   map[string]any{"seconds": int(ms / 1000), "milliseconds": int(ms)},
	}
}

// eval evaluates an operand of the node's task. The fault names the task.
func (m *Machine) eval(n *node, s *plan.Operand, where position, dot value.Value) (value.Value, *Fault) {
	return m.evalWith(n, s, where, dot, n.locals)
}

// evalWith is eval with other local variables: a loop's or catch's own conditions see what
// their body sees (T11, T73).
func (m *Machine) evalWith(n *node, s *plan.Operand, where position, dot value.Value, locals *binding) (value.Value, *Fault) {
	if v, ok := s.Constant(); ok {
		return v, nil
	}
	v, err := m.evaluate(n, s, where, dot, locals)
	if err != nil {
		return nil, m.evalFault(err, s.Path, n.reference())
	}
	return v, nil
}

// evalAt is eval for operands of the workflow itself: the fault names the operand (T71).
func (m *Machine) evalAt(n *node, s *plan.Operand, where position, dot value.Value, instance string) (value.Value, *Fault) {
	v, err := m.evaluate(n, s, where, dot, nil)
	if err != nil {
		return nil, m.evalFault(err, s.Path, instance)
	}
	return v, nil
}

var errDeep = fmt.Errorf("the value has more than %d levels of lists and objects: take a part of the definition", value.MaxDepth)

var errDenied = errors.New("the secret is not available")

func (m *Machine) evaluate(n *node, s *plan.Operand, where position, dot value.Value, locals *binding) (value.Value, error) {
	e := &m.env
	e.node, e.position, e.locals, e.denied, e.defined = n, where, locals, false, false
	v, err := s.Eval(dot, e)
	if e.denied {
		return nil, errDenied
	}
	if err != nil {
		return nil, err
	}
	// Tasks may stand deeper inside each other than data may be nested (T90).
	if e.defined && deeper(v, value.MaxDepth) {
		return nil, errDeep
	}
	m.grow(v) // also if it is only passed on: identity may not decide anything
	return v, nil
}

func (m *Machine) evalFault(err error, path, instance string) *Fault {
	if errors.Is(err, errDenied) {
		return secretFault(path+": no secret is available to this execution", instance)
	}
	var failure *expr.EvalError
	if errors.As(err, &failure) && failure.Denied {
		return secretFault(path+": "+failure.Detail, instance)
	}
	if failure != nil {
		return expressionFault(path, failure.Detail, instance)
	}
	return expressionFault(path, err.Error(), instance)
}
