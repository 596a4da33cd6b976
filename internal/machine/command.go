package machine

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

// CommandKind says what the engine is asked to do.
type CommandKind uint8

// The commands.
const (
	// RunActivity asks for an effect; its outcome comes back as ActivityEnded.
	RunActivity CommandKind = 1
	// StopActivity withdraws a RunActivity; a late outcome is dropped by its ID.
	StopActivity CommandKind = 2
	// StartTimer asks for TimerFired at DueMs. Timers survive restarts.
	StartTimer CommandKind = 3
	// StopTimer withdraws a StartTimer.
	StopTimer CommandKind = 4
	// Publish puts a CloudEvent (Args) into the stream of the environment; it has no outcome.
	Publish CommandKind = 5
	// Yield asks for a Continued event, so that no loop hogs a core.
	Yield CommandKind = 6
	// Finish ends the execution. It is the last command of its life.
	Finish CommandKind = 7
	// Subscribe starts to listen: stored events come as EventReceived, in the order of their
	// numbers, the first one being of SinceMs or later (T60).
	Subscribe CommandKind = 8
	// Unsubscribe withdraws a Subscribe.
	Unsubscribe CommandKind = 9
	// StartChild starts an execution of another workflow (T51); if it is awaited, its end
	// comes back as ChildEnded. The id of the child is derived, so starting is idempotent.
	StartChild CommandKind = 10
	// StopChild withdraws a StartChild: the child is cancelled.
	StopChild CommandKind = 11
	// OpenTask asks a person; the answer comes back as TaskAnswered. The task is a row from the commit on that makes
	// its event durable, so InFlight leaves it out: it is never opened again.
	OpenTask CommandKind = 12
	// WithdrawTask withdraws an OpenTask, for a Withdrawal. An answer that was given nevertheless is not used.
	WithdrawTask CommandKind = 13
)

// Withdrawal is why a human task is withdrawn. Numbers are stored.
type Withdrawal uint8

// The reasons. WithdrawnEnded: the execution has ended without it.
const (
	WithdrawnTimeout    Withdrawal = 1
	WithdrawnCancelled  Withdrawal = 2
	WithdrawnLostBranch Withdrawal = 3 // another branch has won, or failed
	WithdrawnJump       Withdrawal = 4 // an error was caught, and the execution continues elsewhere in the list
	WithdrawnEnded      Withdrawal = 5
)

var withdrawalNames = [...]string{"", "timeout", "cancelled", "lost_branch", "jump", "ended"}

// String is the name of the reason in the API; empty: there is none.
func (w Withdrawal) String() string {
	if int(w) >= len(withdrawalNames) {
		return ""
	}
	return withdrawalNames[w]
}

// Command is what the machine wants done. Which fields are set depends on Kind.
type Command struct {
	Kind CommandKind
	ID   CommandID // the command itself, or for the Stop commands and Unsubscribe the one withdrawn

	// RunActivity, Publish and OpenTask.
	Activity  string         // kind of activity, such as "http" or "shell" (plan.Activity)
	Args      value.Value    // fully evaluated arguments; the shape belongs to the kind
	Input     value.Value    // the task's transformed input (file references in it are staged)
	Reference string         // JSON pointer of the task (T2)
	Iteration int            // index in the innermost loop around the task, from 0
	Attempt   int            // attempt of the innermost try around the task, from 1
	Seq       int            // of the timeline entry of the task, or of the task that called the function; in no digest
	Metadata  map[string]any // the task's metadata, nil if none
	// Key is the same for every run of this activity, also after a crash: derived from
	// execution id, task pointer, iteration, attempt and the command's own number, because a
	// jump back may run the same task again.
	Key string
	// Detached (`await: false`): the task has ended already. The engine drops the outcome and
	// need not keep a slot for it. The activity still belongs to the execution (T67): a fault or
	// a cancellation stops it by StopActivity. If it still runs when Finish comes with Completed,
	// the engine lets it run to its own end, on this server only, ignores its outcome, and stops
	// it when the execution is deleted. After a crash before Finish it is interrupted like any
	// other activity; after Finish it is not started again.
	Detached bool
	// Stream: each message that the activity hands over before its end comes as Progressed.
	Stream bool

	DueMs int64 // StartTimer

	// Subscribe.
	Filters []Filter
	SinceMs int64

	Child *Child // StartChild

	// OpenTask, beside Args (the request, see package human), Reference, Seq and Iterations; WithdrawTask has Why.
	Task       chargehand.HumanTaskID
	Iterations []int // index in each loop around the task, the outermost first; in no digest
	Why        Withdrawal

	// Finish.
	Phase  chargehand.Phase // Completed, Faulted or Cancelled
	Output value.Value      // Completed: the workflow's output
	Fault  *Fault           // Faulted, Cancelled
	Files  []File           // files of the last top-level task that completed and produced any
}

// Filter is an entry of the index that finds subscriptions for an event. It lets through all
// that may match; the machine decides.
type Filter struct {
	// Type is equal to the event's `type` or, as RE2, matches all of it; "" lets every event through.
	Type string
	// Exact: an expression has made Type, so it is data and no pattern (T57). Every execution may
	// have another one, while patterns are as many as definitions say. It follows from the plan, so it is in no digest.
	Exact bool
	// Path is an expression without variables, and Key the SHA-256 of the canonical JSON of
	// the value that it must have, with the envelope as `.`; "" lets every event through.
	Path string
	Key  [32]byte
}

// Child is an execution to be started by another one (T51).
type Child struct {
	ID        chargehand.ExecutionID
	Namespace string
	Name      string
	Version   string // "latest": the published one (T85)
	Input     value.Value
	Await     bool
}
