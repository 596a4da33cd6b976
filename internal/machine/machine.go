package machine

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
)

// Revision numbers the semantics of the machine. Execution rows and checkpoints carry it.
const Revision = 1

// Identity is what an execution knows of itself from the start.
type Identity struct {
	Execution chargehand.ExecutionID
	// RuntimeVersion is $runtime.version; RuntimeMetadata is $runtime.metadata.
	RuntimeVersion  string
	RuntimeMetadata expr.Value
}

// Load says what an execution is doing between two events.
type Load struct {
	Activities int // RunActivity commands without an outcome
	Retries    int // retry delays: they keep the slot
	Waits      int // wait tasks: no slot
	Yielded    bool
}

// HoldsSlot reports whether the execution counts against a concurrency bound
// (architecture.md "Slots").
func (l Load) HoldsSlot() bool { return l.Activities > 0 || l.Retries > 0 || l.Yielded }
