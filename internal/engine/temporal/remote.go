package temporal

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
)

// errGone says that Temporal knows no open workflow of that id.
var errGone = errors.New("no such open workflow")

// remote is the part of Temporal that relay and reconciler need. cluster implements it.
type remote interface {
	// start starts the workflow of an execution. A workflow that exists already, open or closed, is no error.
	start(ctx context.Context, s started) error
	// signal delivers a message. Errors: errGone.
	signal(ctx context.Context, id chargehand.ExecutionID, m message) error
	// queued reports whether a task of a workflow waits in a task queue: no worker has taken it yet. A workflow that has
	// ended, or that Temporal does not know, waits for nothing.
	queued(ctx context.Context, id chargehand.ExecutionID) (bool, error)
	// closed lists workflows that have ended since a time other than by completing or continuing as new. The next call
	// begins at nextMs. It may list a workflow again.
	closed(ctx context.Context, sinceMs int64, each func(closedWorkflow) error) (nextMs int64, err error)
	// ended says how the workflow of an execution ended; empty if it is open, goneStatus if Temporal
	// does not know it.
	ended(ctx context.Context, id chargehand.ExecutionID) (how string, err error)
}

const goneStatus = "gone"

// started is the argument of a workflow, and the attributes by which people can search for it.
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

// closedWorkflow is a workflow that has not ended by completing.
type closedWorkflow struct {
	ID       chargehand.ExecutionID
	Status   string // "terminated", "failed", "timed out", "canceled"
	Reason   string
	ClosedMs int64
}
