package engine

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/machine"
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
		Detail: fmt.Sprintf("The outcome takes %d bytes as JSON, more than the limit of %d; pass large contents as files.", size, limit),
	}
}

// kindFault is the outcome of an activity of a kind that has no runner here (T80).
func kindFault(kind string) *machine.Fault {
	return &machine.Fault{
		Type: machine.ErrConfiguration, Status: 400, Title: "Configuration error", Code: "run_not_allowed",
		Detail: fmt.Sprintf("This installation does not run %q.", kind),
	}
}

// RevisionFault ends an execution of semantics that this build does not have.
func RevisionFault(revision int) *machine.Fault {
	return SystemFault(CodeRevision, fmt.Sprintf(
		"The execution was started under revision %d of the language's semantics, which this server does not know; it knows %d.",
		revision, machine.Revision))
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
