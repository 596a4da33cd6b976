package testfile

import (
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

// The bounds of a test file.
const (
	MaxTests   = 10_000
	MaxEntries = 10_000 // of one list: answers of a mock, steps, expected calls
)

// DefaultAt is the time of the virtual clock at the start of a test that names none: 2026-01-31T12:00:00Z, in
// milliseconds.
const DefaultAt = 1769860800000

// Position is a position in the text of a test file.
type Position struct {
	Pointer string // JSON pointer
	Line    int    // from 1
	Column  int    // from 1, in characters
}

// File is a test file.
type File struct {
	Workflow string // path of the definition, relative to the file; empty: the name of the file without .test
	Defaults Case   // what all tests have; Name and Expect are not set
	Tests    []*Case

	doc *dsl.Document
}

// Position is where a JSON pointer of the file stands.
func (f *File) Position(pointer string) Position {
	line, column := f.doc.Position(pointer)
	return Position{Pointer: pointer, Line: line, Column: column}
}

// Case is one test. The zero value of a field says that the test does not have it, unless Has says more.
type Case struct {
	At     Position
	Name   string
	Skip   *Skip
	Only   bool
	Strict *bool // unused mocks are errors

	Input    value.Value // an object, or the list of the events that start the workflow
	HasInput bool
	StartMs  int64 // of the virtual clock; HasStart
	HasStart bool

	Secrets  map[string]value.Value
	People   map[string]Person // by e-mail address or id
	Children map[string]Child  // by namespace/name
	Mocks    []*Mock           // by Address
	Before   []*Event
	Script   []*Step
	Expect   *Expect
}

// Skip says that a test is not run.
type Skip struct {
	Reason string // may be empty
}

// Person may answer human tasks.
type Person struct {
	At     Position
	Groups []string
}

// Child is a workflow that runs for real when the tested one starts it.
type Child struct {
	At   Position
	File string // path of the definition, relative to the test file
}

// Mock says what comes of the runs of a task.
type Mock struct {
	At      Position
	Address string // of the task: a name, a path of names or a reference
	List    bool   // each entry answers once, in order; else there is one that answers every time
	Entries []*Entry
}

// Kind is what an entry answers with.
type Kind string

// The kinds.
const (
	Returns  Kind = "returns"
	Respond  Kind = "response"
	Process  Kind = "process"
	Raises   Kind = "raises"
	Answers  Kind = "answers"
	Messages Kind = "messages"
	Hangs    Kind = "hangs"
	Real     Kind = "real"
)

// Kinds are all kinds, in the order of the documentation.
var Kinds = []Kind{Returns, Respond, Process, Raises, Answers, Messages, Hangs, Real}

// Always is Entry.Times of an entry that is never used up.
const Always = -1

// Entry is one answer of a mock. Of the fields of kinds, that of Kind is set.
type Entry struct {
	At          Position
	Kind        Kind
	After       dsl.Span // virtual time until it answers
	Interrupted int      // so often a crash cuts the run off before
	When        *Condition
	Times       int // how often it answers; Always: without end

	Returns  value.Value
	Response *Response
	Process  *ProcessEnd
	Raises   *Fault
	Answers  *Answer
	Messages []value.Value
	Files    []*FileRef // of the outcome
}

// Condition is a compiled expression in jq.
type Condition struct {
	At         Position
	Source     string
	Expression *expr.Expression
}

// Response is the answer of an HTTP server.
type Response struct {
	Status  int // default 200
	Headers map[string]string
	Body    value.Value // text, or what becomes JSON
	HasBody bool
}

// ProcessEnd is how a process ended.
type ProcessEnd struct {
	Code           int
	Stdout, Stderr string
}

// Fault is an error of the language that a task ends with.
type Fault struct {
	Type   string // an address: short names are written out
	Status int
	Title  string // empty: that of a standard type
	Detail string
}

// Answer is what a person answers.
type Answer struct {
	Outcome string // empty: the only one
	Data    value.Value
	Comment string
	By      string // e-mail address or id; empty: the first person that may
	Files   []*FileRef
}

// FileRef is a file that a mock has made.
type FileRef struct {
	At        Position
	Name      string
	From      string // path of the content, relative to the test file
	Text      string // or the content itself
	HasText   bool
	MediaType string // empty: by the name
}

// Event is an event of the world outside. What is missing of specversion, id and source is filled in.
type Event struct {
	At         Position
	Attributes map[string]any
}

// Step is something that happens to the execution.
type Step struct {
	At      Position
	After   dsl.Span // since the start of the test
	Waiting string   // instead: as soon as this task waits
	// Exactly one of these is set.
	Event  *Event
	Cancel *string // the reason
	Flag   StepFlag
}

// StepFlag is a step without data.
type StepFlag string

// The steps without data.
const (
	Suspend StepFlag = "suspend"
	Resume  StepFlag = "resume"
)

// Phases are those that a test may expect. Waiting ends a test while its execution waits.
var Phases = []string{"completed", "faulted", "cancelled", "waiting"}

// Expect is what must come out. What is nil is not looked at.
type Expect struct {
	At           Position
	Phase        string // empty: completed, or faulted where an error is expected
	PhaseAt      Position
	Output       *Value
	OutputEquals *Value
	Error        *ErrorExpect
	Files        *Files
	Elapsed      *Elapsed
	Tasks        []*Task // by Address
	Order        *Order
	Calls        []*Call
	Events       *Values
	Human        []*HumanTask
	Warnings     *Texts
	Check        []*Condition
	Snapshot     bool
	SnapshotAt   Position
}

// Value is an expected value.
type Value struct {
	At    Position
	Value value.Value
}

// Values are expected values, in their order.
type Values struct {
	At   Position
	List []Value
}

// Texts is an expected list of texts.
type Texts struct {
	At   Position
	List []string
}

// Elapsed is an expected virtual time from start to end.
type Elapsed struct {
	At   Position
	Span dsl.Span
	Text string
}

// ErrorExpect is an expected error: the given fields are compared. None says that there must be no error.
type ErrorExpect struct {
	At     Position
	None   bool
	Fields []ErrorField // in the order of type, status, title, detail, instance
}

// ErrorField is one field of an expected error, with the value that it has as data ($error). A short type is written
// out.
type ErrorField struct {
	At    Position
	Name  string
	Value value.Value
}

// Files are the expected result files, in their order.
type Files struct {
	At   Position
	List []Value // of each: an object of name, media_type, size; the given ones are compared
}

// Order is in which order tasks start.
type Order struct {
	At        Position
	Addresses []Address
}

// Address names a task.
type Address struct {
	At   Position
	Text string
}

// Task is what is expected of a task.
type Task struct {
	Address  Address
	Times    *Count // how often it starts
	Phase    string // of its last run
	PhaseAt  Position
	Input    *Value // of its last run, transformed
	Output   *Value // of its last run, transformed
	Error    *ErrorExpect
	Attempts *Count // of the innermost try around it, at its last run
}

// Count is an expected number.
type Count struct {
	At     Position
	Number int
}

// Call is an expected call of an activity: the n-th one of a task is the n-th one of that task here.
type Call struct {
	At    Position
	Task  Address
	Args  *Value
	Input *Value
}

// HumanTask is an expected human task: the n-th one of a task is the n-th one of that task here.
type HumanTask struct {
	At      Position
	Task    Address
	Request *Value // of what the task asks for, the given properties
}
