package machine

import (
	"github.com/chargehand/chargehand/internal/value"
)

// CommandID numbers the commands of one execution, from 1, in the order in which the
// machine issued them. Outcomes name the command that they belong to.
type CommandID uint64

// EventKind says what happened. Numbers are stored in journals: they are never reused.
type EventKind uint8

// The events.
const (
	// Started is the first event of every execution. Output holds the raw workflow input,
	// Detail the version of the server: $runtime.version stays what it was, also after an
	// update. Empty: that of the identity.
	Started EventKind = 1
	// Continued answers a Yield command: the machine continues where it stopped.
	Continued EventKind = 2
	// ActivityEnded is the outcome of a RunActivity command: Output and Files, or Fault. Detail is
	// the digest of the API document that it used, if any (T69).
	ActivityEnded EventKind = 3
	// TimerFired says that the due time of a StartTimer command has come.
	TimerFired EventKind = 4
	// CancelRequested ends the execution as cancelled. Detail holds the reason, if any.
	CancelRequested EventKind = 5
	// Interrupted says that a crash or a stop of the server cut an activity off. The machine
	// answers with the same RunActivity again, or faults the task (T91).
	Interrupted EventKind = 6
	// EventReceived brings a stored event to a Subscribe command: Output is its envelope,
	// Number its place in the stream. Numbers that are not above the last one are ignored.
	EventReceived EventKind = 7
	// Progressed brings what an activity with Stream has handed over: Output, and Number
	// from 1 for each run of the activity.
	Progressed EventKind = 8
	// ChildEnded is the end of a StartChild: Output, or Fault, which also says that the child
	// could not be started.
	ChildEnded EventKind = 9
	// SuspendRequested keeps the execution from starting anything until ResumeRequested. Output lists the RunActivity
	// commands that have not begun (NotBegun): the machine issues them again at the resumption. It may come again, to
	// name more of them. It may come before Started.
	SuspendRequested EventKind = 10
	// ResumeRequested ends a suspension: what has happened meanwhile is delivered now.
	ResumeRequested EventKind = 11
	// Positioned comes before Started: the execution begins with the top-level task with the pointer Detail. Output
	// has its raw `input`, and the `context` (Position).
	Positioned EventKind = 12
	// TaskAnswered is the answer to an OpenTask command: Output is that of the task (human.Answer), Files were uploaded
	// with it.
	TaskAnswered EventKind = 13
)

// Event is what happened to an execution. The engine makes it durable before it carries out
// any command that follows from it.
type Event struct {
	Kind    EventKind
	TimeMs  int64 // milliseconds since 1970; never before the previous event's
	Command CommandID
	Output  value.Value
	Fault   *Fault
	Files   []File
	Detail  string
	Number  int64
	// Lifecycle (Started) says what the execution tells about itself; nil: nothing.
	Lifecycle *Lifecycle
	Runtime   value.Value // Started: $runtime.metadata, which stays what it was too; nil: that of the identity
}

// File describes a stored file that an activity attached to its outcome (docs/language/files.md).
type File struct {
	ID        string // UUID; the reference's uri is /api/v1/files/{ID}
	Name      string
	MediaType string
	Size      int64
	Digest    string // sha256:<hex>
}

// Reference is the file as an object in the data (docs/language/files.md).
func (f File) Reference() map[string]any {
	return map[string]any{
		"uri": "/api/v1/files/" + f.ID, "name": f.Name, "mediaType": f.MediaType,
		"size": int(f.Size), "digest": f.Digest,
	}
}
