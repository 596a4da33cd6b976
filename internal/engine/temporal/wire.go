package temporal

import (
	"encoding/json"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
)

// Names in Temporal. They stand in histories: they never change.
const (
	workflowType    = "chargehand.execution"
	performType     = "chargehand.perform"
	publishType     = "chargehand.publish"
	settleType      = "chargehand.settle"
	chunkType       = "chargehand.chunk"
	finishType      = "chargehand.finish"
	inboxSignal     = "chargehand.inbox"
	timelineQuery   = "chargehand.timeline"
	codeInterrupted = "chargehand.interrupted" // type of the error of an attempt that was cut off
	codeNotBegun    = "chargehand.notBegun"    // type of the error of an attempt that no worker began
)

// argument is what an execution's workflow is started with, and continued as new with. It is
// JSON, so that people can read it in Temporal's own tools; values of the language stand in it as they
// are (expr.Marshal), because encoding/json knows less about numbers than the language does.
type argument struct {
	Execution   chargehand.ExecutionID `json:"execution"`
	No          int64                  `json:"no"` // internal number of the row
	Account     chargehand.AccountID   `json:"account"`
	Environment chargehand.Environment `json:"environment"`
	Revision    int                    `json:"revision"` // machine.Revision it started under
	Runtime     string                 `json:"runtime"`  // $runtime.version
	Digest      string                 `json:"digest"`   // of Definition and Resources (plan.SourceDigest): key of the plan cache, in hex
	Definition  string                 `json:"definition"`
	Resources   json.RawMessage        `json:"resources,omitempty"` // what is pinned with it (plan.EncodePins)
	StartedMs   int64                  `json:"started_ms"`          // time of the first event, and of the row
	Input       json.RawMessage        `json:"input,omitempty"`
	Queue       string                 `json:"queue"` // prefix of the task queues
	Continued   *continued             `json:"continued,omitempty"`
	Lifecycle   *machine.Lifecycle     `json:"lifecycle,omitempty"`
}

// continued is what a run hands to the next one beside the machine's state.
type continued struct {
	State   json.RawMessage `json:"state"` // machine.Checkpoint
	TimeMs  int64           `json:"time_ms"`
	Settled int64           `json:"settled"` // number of the last settle
	Slot    bool            `json:"slot"`
	Asked   bool            `json:"asked"` // settle Settled asks for a slot that has not been granted
	Phase   string          `json:"phase"` // as the row says
	Chunks  int64           `json:"chunks"`
	Sizes   []int           `json:"sizes,omitempty"` // entries of the newest chunks, the newest last
	Seen    []int64         `json:"seen,omitempty"`  // inbox numbers, the newest last
}

// message is an inbox row on its way to a workflow, as a signal.
type message struct {
	No     int64  `json:"no"`   // of the inbox row
	Kind   string `json:"kind"` // "cancel" or "grant"
	Reason string `json:"reason,omitempty"`
	Settle int64  `json:"settle,omitempty"` // grant: the settle that it answers
}

const (
	kindCancel = "cancel"
	kindGrant  = "grant"
)

// call is the argument of the activity perform.
type call struct {
	Account     chargehand.AccountID   `json:"account"`
	Environment chargehand.Environment `json:"environment"`
	Execution   chargehand.ExecutionID `json:"execution"`
	No          int64                  `json:"no"`
	Kind        string                 `json:"kind"`
	Args        json.RawMessage        `json:"args"`
	Input       json.RawMessage        `json:"input"`
	Reference   string                 `json:"reference"`
	Metadata    json.RawMessage        `json:"metadata,omitempty"`
	Key         string                 `json:"key"`
	Attempt     int                    `json:"attempt,omitempty"`
}

// outcome is the result of perform. A fault is a result: it is the workflow's to handle.
type outcome struct {
	Output json.RawMessage `json:"output,omitempty"`
	Files  []machine.File  `json:"files,omitempty"`
	Fault  *machine.Fault  `json:"fault,omitempty"`
}

// settling is the argument of the activity settle: what the row should say.
type settling struct {
	Execution chargehand.ExecutionID `json:"execution"`

	No     int64  `json:"no"`
	Number int64  `json:"number"` // ascending in an execution
	Slot   bool   `json:"slot"`   // asks for a slot; otherwise gives it back
	Phase  string `json:"phase"`
}

// settled is the answer. Granted: the execution has a slot.
type settled struct {
	Granted bool `json:"granted"`
	Final   bool `json:"final"` // the row has ended: cancelled, and the signal is on its way
}

// chunk is the argument of the activity that stores timeline entries (machine.EncodeTimeline).
type chunk struct {
	Execution chargehand.ExecutionID `json:"execution"`

	No     int64  `json:"no"`
	Number int64  `json:"number"` // from 1; a repeated attempt writes the same chunk again
	Keep   int    `json:"keep"`   // older chunks than so many are dropped
	Data   []byte `json:"data"`
	// Last: the row has ended without this workflow, and lacks its last chunk. Number and
	// Keep are 0.
	Last bool `json:"last,omitempty"`
}

// ending is the argument of the activity finish.
type ending struct {
	Execution chargehand.ExecutionID `json:"execution"`

	No         int64           `json:"no"`
	Phase      string          `json:"phase"`
	StartedMs  int64           `json:"started_ms"`
	FinishedMs int64           `json:"finished_ms"`
	Output     json.RawMessage `json:"output,omitempty"`
	Fault      *machine.Fault  `json:"fault,omitempty"`
	Files      []machine.File  `json:"files,omitempty"`
	Timeline   []byte          `json:"timeline,omitempty"` // the last chunk
	Chunks     int64           `json:"chunks"`             // stored before it
}

// finished is the answer. Conflict: the row had ended otherwise, and stays as it is.
type finished struct {
	Conflict bool `json:"conflict,omitempty"`
}

// publishing is the argument of the activity publish: CloudEvents, in order.
type publishing struct {
	No          int64                  `json:"no"`
	Environment chargehand.Environment `json:"environment"`
	Execution   chargehand.ExecutionID `json:"execution"`
	Events      []json.RawMessage      `json:"events"`
}
