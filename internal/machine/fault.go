package machine

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/value"
)

// ErrorBase is the prefix of the language's standard error types (docs/language/errors.md, T1).
const ErrorBase = "https://open-workflow-specification.org/spec/1.0.0/errors/"

// The standard error types.
const (
	ErrConfiguration  = ErrorBase + "configuration"
	ErrValidation     = ErrorBase + "validation"
	ErrExpression     = ErrorBase + "expression"
	ErrAuthentication = ErrorBase + "authentication"
	ErrAuthorization  = ErrorBase + "authorization"
	ErrTimeout        = ErrorBase + "timeout"
	ErrCommunication  = ErrorBase + "communication"
	ErrRuntime        = ErrorBase + "runtime"
)

// Fault is the language's error object: what a workflow author sees and can catch.
type Fault struct {
	Type     string
	Status   int
	Title    string
	Detail   string
	Instance string // JSON pointer of the component at fault (T2, T71); set by the machine

	// Code is the API's stable code beside the language's fields, e.g. "cancelled",
	// "interrupted", "timeout"; empty: derived from Type.
	Code string
	// System marks faults whose origin is the installation rather than the workflow.
	System bool
	// Retryable is a hint for people and the API: the same again may succeed.
	Retryable bool
	// NoResponse says that a call got no complete answer, or was never sent: the machine makes
	// its next attempt with the same idempotency key.
	NoResponse bool
}

// size is how many bytes the texts of f have; 0 without one.
func (f *Fault) size() int {
	if f == nil {
		return 0
	}
	return len(f.Type) + len(f.Title) + len(f.Detail) + len(f.Instance) + len(f.Code)
}

func (f *Fault) Error() string { return f.Title + ": " + f.Detail }

// Value is the fault as data ($error): type, status, instance and, if set, title and detail.
func (f *Fault) Value() value.Value {
	v := map[string]any{"type": f.Type, "status": f.Status, "instance": f.Instance}
	if f.Title != "" {
		v["title"] = f.Title
	}
	if f.Detail != "" {
		v["detail"] = f.Detail
	}
	return v
}

// MaxChildDepth is the maximum of levels of executions that start each other.
const MaxChildDepth = 32

// CodeChildDepth is the code of the fault of ChildTooDeep.
const CodeChildDepth = "child_depth"

// ChildTooDeep is the fault of a child that is not started because it would be beyond MaxChildDepth. depth is that of
// its parent; the first execution has 0.
func ChildTooDeep(c *Child, depth int) *Fault {
	return &Fault{Type: ErrConfiguration, Status: 400, Title: "Configuration error", Code: CodeChildDepth, Detail: fmt.Sprintf(
		"The workflow %s/%s would be the %dth of workflows that start each other; at most %d are allowed.", c.Namespace, c.Name, depth+1, MaxChildDepth)}
}
