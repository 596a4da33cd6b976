package machine

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// Codes of faults that their type alone does not tell apart.
const (
	CodeCancelled   = "cancelled"   // by a request
	CodeInterrupted = "interrupted" // T91
	CodeStepLimit   = "step_limit"  // too many pure steps between two effects
	CodeStateLimit  = "state_limit" // too much data in the state
	CodeFileLimit   = "file_limit"  // too many files in the output of the workflow
)

var titles = map[string]string{
	ErrConfiguration:  "Configuration error",
	ErrValidation:     "Validation error",
	ErrExpression:     "Expression error",
	ErrAuthentication: "Authentication error",
	ErrAuthorization:  "Authorization error",
	ErrTimeout:        "Timeout",
	ErrCommunication:  "Communication error",
	ErrRuntime:        "Runtime error",
}

func newFault(kind string, status int, detail, instance string) *Fault {
	return &Fault{Type: kind, Status: status, Title: titles[kind], Detail: detail, Instance: instance}
}

func expressionFault(path, detail, instance string) *Fault {
	return newFault(ErrExpression, 400, path+": "+detail, instance)
}

func timeoutFault(what string, instance string) *Fault {
	f := newFault(ErrTimeout, 408, what, instance)
	f.Retryable = true
	return f
}

func secretFault(detail, instance string) *Fault {
	return newFault(ErrAuthorization, 403, detail, instance)
}

func cancelledFault(reason string) *Fault {
	if reason == "" {
		reason = "The execution was cancelled."
	}
	return &Fault{Type: ErrRuntime, Status: 500, Title: "Cancelled", Detail: reason, Code: CodeCancelled}
}

func interruptedFault(detail, instance string) *Fault {
	f := newFault(ErrRuntime, 500, detail, instance)
	f.Title, f.Code, f.System, f.Retryable = "Interrupted", CodeInterrupted, true, true
	return f
}

func stepLimitFault(limit int, instance string) *Fault {
	f := newFault(ErrRuntime, 500, fmt.Sprintf("More than %d steps without a call, a process or a wait in between; "+
		"this looks like an endless loop.", limit), instance)
	f.Code = CodeStepLimit
	return f
}

// stateLimitFault is the fault of the node that was about to continue. For one that gathers
// events or messages its text says how to gather fewer.
func stateLimitFault(size, limit int, n *node) *Fault {
	advice := "keep less in outputs and in the context, or use files."
	if n.consumption != nil && n.task.Foreach == nil {
		advice = "this task keeps all that it takes until it ends. Let `foreach` handle what comes one by one and keep less of it, or end the task earlier."
	}
	f := newFault(ErrRuntime, 500, fmt.Sprintf("The data of the execution takes %d bytes, more than the limit of %d; %s", size, limit, advice), n.reference())
	f.Code = CodeStateLimit
	return f
}

// stepsPerSchemaStep is what the check of one subschema costs, in steps of an expression.
const stepsPerSchemaStep = 4

// checkSchema makes a fault of the first problem that a value has with a schema.
func (m *Machine) checkSchema(s *plan.Schema, v value.Value, instance string) *Fault {
	if s == nil {
		return nil
	}
	problems, steps := s.Check(v)
	m.env.Spent(steps * stepsPerSchemaStep)
	m.sliceSteps += value.Size(v) / bytesPerSliceStep // every keyword may look at all of it
	if len(problems) == 0 {
		return nil
	}
	first := problems[0]
	where := first.Pointer
	if where == "" {
		where = "the value"
	}
	detail := fmt.Sprintf("%s: %s: %s", s.Path, where, first.Detail)
	if more := len(problems) - 1; more > 0 {
		detail = fmt.Sprintf("%s (and %d more)", detail, more)
	}
	return newFault(ErrValidation, 400, detail, instance)
}
