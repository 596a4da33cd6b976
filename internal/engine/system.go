package engine

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Codes of faults that engines themselves make.
const (
	// CodeReplayMismatch: the journal led to other commands than when it was written.
	CodeReplayMismatch = "replay_mismatch"
	// CodeRevision: started under semantics that this server does not know.
	CodeRevision = "revision_unsupported"
	// CodeInternal: something of ours is broken; the log says more.
	CodeInternal = "internal"
	// CodeOutputTooLarge: an activity's outcome is above the limit.
	CodeOutputTooLarge = "output_too_large"
	// CodeTerminated: Temporal ended the execution's workflow before the workflow could.
	CodeTerminated = "terminated"
)

// SystemFault ends an execution for reasons that its author cannot help.
func SystemFault(code, detail string) *machine.Fault {
	return &machine.Fault{
		Type: machine.ErrRuntime, Status: 500, Title: "System error", Detail: detail, Code: code, System: true,
	}
}

// outputFault is the outcome of an activity whose own outcome takes size bytes, more than limit.
func outputFault(size, limit int) *machine.Fault {
	return &machine.Fault{
		Type: machine.ErrRuntime, Status: 500, Title: "Output too large", Code: CodeOutputTooLarge,
		Detail: fmt.Sprintf("The outcome takes %d bytes as JSON, more than the limit of %d; pass large contents as files.",
			size, limit),
	}
}

// kindFault is the outcome of an activity of a kind that has no runner here (T80).
func kindFault(kind string) *machine.Fault {
	return &machine.Fault{
		Type: machine.ErrConfiguration, Status: 400, Title: "Configuration error", Code: "run_not_allowed",
		Detail: fmt.Sprintf("This installation does not run %q.", kind),
	}
}

// Unrecoverable says that an execution can never continue. Fault is what it ends with.
type Unrecoverable struct{ Fault *machine.Fault }

func (u *Unrecoverable) Error() string { return u.Fault.Error() }

// NewUnrecoverable is Unrecoverable with an error of the system.
func NewUnrecoverable(code, detail string) *Unrecoverable {
	return &Unrecoverable{SystemFault(code, detail)}
}

// Unreadable says that a part of an execution, such as its input, is missing or damaged.
func Unreadable(what string, err error) *Unrecoverable {
	return NewUnrecoverable(CodeInternal, fmt.Sprintf("The stored %s cannot be read: %v", what, err))
}

// CheckRevision refuses executions of semantics that this build does not have; nil: it has them.
func CheckRevision(revision int) *Unrecoverable {
	if machine.Knows(revision) {
		return nil
	}
	return NewUnrecoverable(CodeRevision, fmt.Sprintf(
		"The execution was started under revision %d of the language's semantics, which this server does not know; "+
			"it knows %d.", revision, machine.Revision))
}

// StartedEvent is the first event of an execution.
func StartedEvent(id machine.Identity, nowMs int64, input value.Value, lifecycle *machine.Lifecycle) machine.Event {
	return machine.Event{
		Kind: machine.Started, TimeMs: nowMs, Output: input, Detail: id.RuntimeVersion, Runtime: id.RuntimeMetadata,
		Lifecycle: lifecycle,
	}
}

// CancelledFault is the fault that the machine gives to a cancelled execution, as JSON: for
// one that is ended without its machine.
func CancelledFault(reason string) []byte {
	m := machine.New(nil, machine.Identity{})
	for _, c := range m.Apply(machine.Event{Kind: machine.CancelRequested, Detail: reason}) {
		if c.Kind == machine.Finish {
			return EncodeFault(c.Fault)
		}
	}
	panic("a machine that has not started did not end when it was cancelled")
}
