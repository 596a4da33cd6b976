package temporal

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
)

// errGone says that Temporal knows no open workflow of that id.
var errGone = errors.New("no such open workflow")

// remote is what dispatcher, relay and reconciler ask of Temporal. Client implements it.
type remote interface {
	// start starts the workflow of an execution; one that exists already, open or closed, is
	// no error.
	start(ctx context.Context, s started) error
	// signal delivers a message. Errors: errGone.
	signal(ctx context.Context, id chargehand.ExecutionID, m message) error
	// closed lists workflows that ended other than by completing, or continuing, since a
	// time; next is the time to ask for the next time. It may name some again.
	closed(ctx context.Context, sinceMs int64, each func(closedWorkflow) error) (nextMs int64, err error)
	// ended says how the workflow of an execution ended; empty if it is open, goneStatus if Temporal
	// does not know it.
	ended(ctx context.Context, id chargehand.ExecutionID) (how string, err error)
}

const goneStatus = "gone"

// started is what a workflow is started with: its argument, and what people can search for.
type started struct {
	argument   argument
	attributes attributes
}

// attributes are the search attributes of a workflow.
type attributes struct {
	Account     string
	Environment string
	Workflow    string // id
	Batch       string // id; empty if none
	Phase       string
}

// closedWorkflow is a workflow that did not end by itself.
type closedWorkflow struct {
	ID       chargehand.ExecutionID
	Status   string // "terminated", "failed", "timed out", "canceled"
	Reason   string
	ClosedMs int64
}
