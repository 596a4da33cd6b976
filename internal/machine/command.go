package machine

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
)

// CommandKind says what the shell is asked to do.
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
	// Publish puts a CloudEvent (Args) on the installation's bus; it has no outcome.
	Publish CommandKind = 5
	// Yield asks for a Continued event, so that no loop hogs a core.
	Yield CommandKind = 6
	// Finish ends the execution. It is the last command of its life.
	Finish CommandKind = 7
)

// Command is what the machine wants done. Which fields are set depends on Kind.
type Command struct {
	Kind CommandKind
	ID   CommandID // the command itself, or for StopActivity and StopTimer the one withdrawn

	// RunActivity and Publish.
	Activity  string         // kind of activity: "http", "openapi", "shell", "script"
	Args      expr.Value     // fully evaluated arguments; the shape belongs to the kind
	Input     expr.Value     // the task's transformed input (file references in it are staged)
	Reference string         // JSON pointer of the task (T2)
	Iteration int            // index in the innermost loop around the task, from 0
	Attempt   int            // attempt of the innermost try around the task, from 1
	Metadata  map[string]any // the task's metadata, nil if none
	// Key is the same for every run of this activity, also after a crash: derived from
	// execution id, task pointer, iteration, attempt and the command's own number, because a
	// jump back may run the same task again.
	Key string

	DueMs int64 // StartTimer

	// Finish.
	Phase  chargehand.Phase // Completed, Faulted or Cancelled
	Output expr.Value       // Completed: the workflow's output
	Fault  *Fault           // Faulted, Cancelled
	Files  []File           // files of the last top-level task that completed and produced any
}
