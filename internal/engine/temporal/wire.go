package temporal

import (
	"encoding/json"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// Names in Temporal. They are in histories: they never change.
const (
	workflowType    = "chargehand.execution"
	performType     = "chargehand.perform"
	publishType     = "chargehand.publish"
	reportType      = "chargehand.reportState"
	chunkType       = "chargehand.chunk"
	finishType      = "chargehand.finish"
	messageSignal   = "chargehand.message"
	timelineQuery   = "chargehand.timeline"
	listenType      = "chargehand.listen"
	eventsType      = "chargehand.events"
	childType       = "chargehand.child"
	outcomeType     = "chargehand.outcome"
	taskType        = "chargehand.task"
	streamSignal    = "chargehand.stream"
	streamQuery     = "chargehand.streams"
	codeInterrupted = "chargehand.interrupted" // type of the error of an attempt that was cut off
	codeNotBegun    = "chargehand.notBegun"    // type of the error of an attempt that no worker began
)

// argument is the argument of an execution's workflow, at its start and when it continues as new. It is JSON, so that
// people can read it in Temporal's own tools. Values of the language are in it as value.Marshal writes them, because
// encoding/json knows less about numbers than the language does.
type argument struct {
	Execution   chargehand.ExecutionID `json:"execution"`
	No          int64                  `json:"no"` // internal number of the row
	Account     chargehand.AccountID   `json:"account"`
	Environment chargehand.Environment `json:"environment"`
	Revision    int                    `json:"revision"` // machine.Revision it started under
	Runtime     string                 `json:"runtime"`  // $runtime.version
	// of Definition and Resources (plan.SourceDigest): key of the plan cache, in hex
	Digest     string             `json:"digest"`
	Definition string             `json:"definition"`
	Resources  json.RawMessage    `json:"resources,omitempty"` // what is pinned with it (plan.EncodePins)
	StartedMs  int64              `json:"started_ms"`          // time of the first event, and of the row
	Input      json.RawMessage    `json:"input,omitempty"`
	Queue      string             `json:"queue"` // prefix of the task queues
	Continued  *continued         `json:"continued,omitempty"`
	Metadata   json.RawMessage    `json:"metadata,omitempty"` // $runtime.metadata
	Lifecycle  *machine.Lifecycle `json:"lifecycle,omitempty"`
	// Confidential: the definition declares secrets. Then this argument, and every payload that may hold their values,
	// is sealed in Temporal.
	Confidential bool            `json:"confidential,omitempty"`
	Secrets      json.RawMessage `json:"secrets,omitempty"`   // by name, as pinned at the start
	Suspended    bool            `json:"suspended,omitempty"` // at its start
	Position     *position       `json:"position,omitempty"`  // that it begins at; nil: the first task
	// TellsWaits: it reports what it waits for whenever that changes. Older executions do so only with their slot.
	TellsWaits bool `json:"tells_waits,omitempty"`
	// TellsEnd: the lifecycle event about its end is stored together with its end. Older executions store it before.
	TellsEnd bool `json:"tells_end,omitempty"`
}

// position is a machine.Position.
type position struct {
	Task    string          `json:"task"`
	Input   json.RawMessage `json:"input"`
	Context json.RawMessage `json:"context"`
}

func (a argument) sealing() (chargehand.ExecutionID, bool) { return a.Execution, a.Confidential }

// continued is what a run hands to the next one: the machine's state and that of the adapter.
type continued struct {
	State    json.RawMessage `json:"state"` // machine.Checkpoint
	TimeMs   int64           `json:"time_ms"`
	Reported int64           `json:"reported"` // number of the last state report
	Slot     bool            `json:"slot"`
	Asked    bool            `json:"asked"`               // the last state report asked for a slot, which was not granted
	Phase    string          `json:"phase"`               // as the row says
	WaitKind store.WaitKind  `json:"wait_kind,omitempty"` // as the row says, with Waits
	Waits    store.Waits     `json:"waits,omitzero"`
	Chunks   int64           `json:"chunks"`
	Sizes    []int           `json:"sizes,omitempty"` // entries of the newest chunks, the newest last
	Seen     []int64         `json:"seen,omitempty"`  // message numbers, the newest last
	// Switched is the number of the last message that suspended or resumed it.
	Switched int64 `json:"switched,omitempty"`
	Person   bool  `json:"person,omitempty"` // the last state report said that it needs a person

	Listens      []readPosition    `json:"listens,omitempty"`      // of subscriptions that have a row
	Unsubscribed []uint64          `json:"unsubscribed,omitempty"` // commands whose rows are to go
	Delivered    []int64           `json:"delivered,omitempty"`    // children whose ends the machine knows
	Waiting      []waitingMessages `json:"waiting,omitempty"`
}

// readPosition is how far an execution has read the events of a subscription.
type readPosition struct {
	Command uint64 `json:"command"`
	Through int64  `json:"through"`
	Woken   bool   `json:"woken,omitempty"` // there may be more
}

// waitingMessages are messages of a stream that the machine had no room for yet.
type waitingMessages struct {
	Command  uint64            `json:"command"`
	Messages []json.RawMessage `json:"messages"`
}

// message is an outbox message on its way to a workflow, as a signal.
type message struct {
	No     int64  `json:"no"`   // of the outbox message
	Kind   string `json:"kind"` // "cancel", "grant", "events", "child", "suspend", "resume" or "answer"
	Reason string `json:"reason,omitempty"`
	Report int64  `json:"report,omitempty"` // grant: the state report that it answers
	Task   uint64 `json:"task,omitempty"`   // answer: the command of the human task
}

const (
	kindCancel = "cancel"
	kindGrant  = "grant"
	kindEvents = "events" // there may be events for it
	kindChild  = "child"  // an execution that it awaits has ended

	kindSuspend = "suspend"
	kindResume  = "resume"
	kindAnswer  = "answer" // a human task has been answered
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
	Seq         int                    `json:"seq,omitempty"` // of the timeline entry
	Detached    bool                   `json:"detached,omitempty"`
	Stream      int64                  `json:"stream,omitempty"` // number of the stream in its run; 0: none

	Confidential bool `json:"confidential,omitempty"`
}

func (c call) sealing() (chargehand.ExecutionID, bool) { return c.Execution, c.Confidential }

// outcome is the result of perform. A fault is a result, which the workflow handles.
type outcome struct {
	Output json.RawMessage `json:"output,omitempty"`
	Files  []machine.File  `json:"files,omitempty"`
	Fault  *machine.Fault  `json:"fault,omitempty"`
	// Document is the digest of the API document that was used, if any.
	Document string `json:"document,omitempty"`

	of *chargehand.ExecutionID // if it is confidential
}

func (o outcome) sealing() (id chargehand.ExecutionID, confidential bool) {
	if o.of != nil {
		return *o.of, true
	}
	return id, false
}

// progress is a message of a stream on its way to its workflow, as a signal.
type progress struct {
	Execution chargehand.ExecutionID `json:"execution"`
	Stream    int64                  `json:"stream"` // call.Stream
	Number    int64                  `json:"number"` // from 1 in each stream
	Output    json.RawMessage        `json:"output"`

	Confidential bool `json:"confidential,omitempty"`
}

func (p progress) sealing() (chargehand.ExecutionID, bool) { return p.Execution, p.Confidential }

// stateReport is the argument of the activity reportState: what the row should say.
type stateReport struct {
	Execution chargehand.ExecutionID `json:"execution"`

	No     int64  `json:"no"`
	Number int64  `json:"number"`         // ascending in an execution
	Slot   bool   `json:"slot"`           // asks for a slot; otherwise gives it back
	Keep   bool   `json:"keep,omitempty"` // neither: only the phase and Waits are new
	Phase  string `json:"phase"`
	Person bool   `json:"person,omitempty"` // it needs a person, and nothing else of it can continue
	// Waits is what the execution waits for, as store.Waits is encoded; Waiting is its kind.
	Waiting store.WaitKind `json:"waiting,omitempty"`
	Waits   store.Waits    `json:"waits,omitzero"`
}

// stateAnswer is the result of reportState. Granted: the execution has a slot.
type stateAnswer struct {
	Granted bool `json:"granted"`
	Final   bool `json:"final"` // the row has ended: cancelled, and the signal is on its way
}

// liveTimeline is the answer to the query for the timeline.
type liveTimeline struct {
	Entries []byte `json:"entries"` // that no chunk holds, as a chunk
	Moving  bool   `json:"moving"`  // a chunk is on its way to the database: neither may have its entries now
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
	// Confidential: it is stored sealed, unless it is the last one.
	Confidential bool `json:"confidential,omitempty"`
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
	Event      json.RawMessage `json:"event,omitempty"`    // the lifecycle event about it, a CloudEvent
	Command    uint64          `json:"command,omitempty"`  // of Event
	// UnlessSuspended: not if the row says that the execution is suspended.
	UnlessSuspended bool `json:"unless_suspended,omitempty"`
}

// finished is the result of finish. Conflict: another process had ended the row, which stays as it is. Suspended: the
// row says so, and was not ended.
type finished struct {
	Conflict  bool `json:"conflict,omitempty"`
	Suspended bool `json:"suspended,omitempty"`
}

// publishing is the argument of the activity publish: CloudEvents, in order.
type publishing struct {
	No          int64                  `json:"no"`
	Environment chargehand.Environment `json:"environment"`
	Execution   chargehand.ExecutionID `json:"execution"`
	Events      []json.RawMessage      `json:"events"`
	Commands    []uint64               `json:"commands"` // of the events, in the same order
}

// readRequest is the argument of the activities listen and events.
type readRequest struct {
	Execution chargehand.ExecutionID `json:"execution"`

	No           int64    `json:"no"`
	Asked        []asked  `json:"asked,omitempty"`
	Unsubscribed []uint64 `json:"unsubscribed,omitempty"` // commands whose rows are to go

	Confidential bool `json:"confidential,omitempty"` // filters may be made of secrets
}

func (l readRequest) sealing() (chargehand.ExecutionID, bool) { return l.Execution, l.Confidential }

// asked is a subscription of a readRequest, and the number behind which it reads events.
type asked struct {
	Command uint64   `json:"command"`
	SinceMs int64    `json:"since_ms"`
	After   int64    `json:"after"`
	Filters []filter `json:"filters"`
}

type filter struct {
	Type  string `json:"type,omitempty"`
	Exact bool   `json:"exact,omitempty"`
	Path  string `json:"path,omitempty"`
	Key   []byte `json:"key,omitempty"`
}

// eventPages is the result of listen and events: a page for each subscription of the request, in order.
type eventPages struct {
	Pages []eventPage `json:"pages,omitempty"`
	Final bool        `json:"final,omitempty"` // the row has ended
}

// eventPage holds the events of a subscription up to number Through. CaughtUp: there are no more; a message comes when
// there are.
type eventPage struct {
	Through  int64      `json:"through"`
	CaughtUp bool       `json:"caught_up,omitempty"`
	Events   []received `json:"events,omitempty"`
}

type received struct {
	Number int64           `json:"number"`
	Event  json.RawMessage `json:"event"`
}

// childSteps is the argument of the activity child: the steps to be made, in order.
type childSteps struct {
	Execution chargehand.ExecutionID `json:"execution"`

	No    int64       `json:"no"`
	Steps []childStep `json:"steps"`
}

// childStep starts a child, or withdraws one.
type childStep struct {
	Command uint64     `json:"command"`
	Start   *childWire `json:"start,omitempty"` // nil: withdraw
}

type childWire struct {
	ID        chargehand.ExecutionID `json:"id"`
	Namespace string                 `json:"namespace"`
	Name      string                 `json:"name"`
	Version   string                 `json:"version"`
	Input     json.RawMessage        `json:"input"`
	Await     bool                   `json:"await,omitempty"`
}

// childStepsDone is the result of child. Refused are awaited children that cannot be started.
type childStepsDone struct {
	Refused []childEnd `json:"refused,omitempty"`
	Final   bool       `json:"final,omitempty"`
}

// childEnd is the end of a child.
type childEnd struct {
	No      int64           `json:"no,omitempty"` // of its row
	Command uint64          `json:"command"`
	Output  json.RawMessage `json:"output,omitempty"`
	Fault   *machine.Fault  `json:"fault,omitempty"`
}

// taskSteps is the argument of the activity task: the steps to be made for human tasks, in order.
type taskSteps struct {
	Execution chargehand.ExecutionID `json:"execution"`

	No           int64      `json:"no"`
	Steps        []taskStep `json:"steps"`
	Confidential bool       `json:"confidential,omitempty"`
}

func (k taskSteps) sealing() (chargehand.ExecutionID, bool) { return k.Execution, k.Confidential }

// taskStep opens a human task, withdraws one, or reads its answer. Timer: the task is withdrawn because that timer has
// fired, which was due at DueMs; if it was answered before, the answer is read.
type taskStep struct {
	Command  uint64             `json:"command"`
	Open     *taskWire          `json:"open,omitempty"`
	Withdraw machine.Withdrawal `json:"withdraw,omitempty"`
	Read     bool               `json:"read,omitempty"`
	Timer    uint64             `json:"timer,omitempty"`
	DueMs    int64              `json:"due_ms,omitempty"`
}

type taskWire struct {
	ID         chargehand.HumanTaskID `json:"id"`
	Request    json.RawMessage        `json:"request"`
	Reference  string                 `json:"reference"`
	Iterations []int                  `json:"iterations,omitempty"`
	Seq        int                    `json:"seq,omitempty"`
	OpenedMs   int64                  `json:"opened_ms"`
}

// taskStepsDone is the result of task. Made is how many of the steps it has made, from the first one. Final: the row of
// the execution has ended.
type taskStepsDone struct {
	Made    int          `json:"made,omitempty"`
	Answers []taskAnswer `json:"answers,omitempty"`
	Final   bool         `json:"final,omitempty"`

	of           chargehand.ExecutionID
	confidential bool
}

func (d taskStepsDone) sealing() (chargehand.ExecutionID, bool) { return d.of, d.confidential }

// taskAnswer is an answer that was read.
type taskAnswer struct {
	Command uint64          `json:"command"`
	Output  json.RawMessage `json:"output"`
}

// asking is the argument of the activity outcome, which reads the ends of children.
type asking struct {
	Execution chargehand.ExecutionID `json:"execution"`

	No        int64   `json:"no"`
	Delivered []int64 `json:"delivered,omitempty"` // children whose ends the machine has
}

// ends is the result of outcome. More: there are more ends to ask for.
type ends struct {
	Ends []childEnd `json:"ends,omitempty"`
	More bool       `json:"more,omitempty"`
}
