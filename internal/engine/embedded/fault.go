package embedded

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/machine"
)

// Codes of faults that the engine itself makes.
const (
	// codeReplayMismatch: the journal led to other commands than when it was written.
	codeReplayMismatch = "replay_mismatch"
	// codeRevision: started under semantics that this server does not know.
	codeRevision = "revision_unsupported"
	// codeInternal: something of ours is broken; the log says more.
	codeInternal = "internal"
	// codeOutputTooLarge: an activity's outcome is above the limit.
	codeOutputTooLarge = "output_too_large"
)

// systemFault ends an execution for reasons that its author cannot help.
func systemFault(code, detail string) *machine.Fault {
	return &machine.Fault{
		Type: machine.ErrRuntime, Status: 500, Title: "System error", Detail: detail, Code: code, System: true,
	}
}

func outputFault(size, limit int) *machine.Fault {
	return &machine.Fault{
		Type: machine.ErrRuntime, Status: 500, Title: "Output too large", Code: codeOutputTooLarge,
		Detail: fmt.Sprintf("The outcome takes %d bytes as JSON, more than the limit of %d; pass large contents as files.", size, limit),
	}
}

func panicFault(v any) *machine.Fault {
	return &machine.Fault{
		Type: machine.ErrRuntime, Status: 500, Title: "System error", Code: codeInternal, System: true,
		Detail: fmt.Sprintf("The activity crashed: %v", v),
	}
}

func kindFault(kind string) *machine.Fault {
	return &machine.Fault{
		Type: machine.ErrConfiguration, Status: 400, Title: "Configuration error", Code: "run_not_allowed",
		Detail: fmt.Sprintf("This installation does not run %q.", kind), // T80
	}
}
