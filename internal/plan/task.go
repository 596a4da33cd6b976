package plan

import (
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

// List is a task list: the scope of `exit` and of jumps (T26, T28).
type List struct {
	Tasks []*Task
}

// Task is one compiled task. Exactly the payload that Kind names is set.
type Task struct {
	Number     int // index in Plan.Tasks
	Name       string
	Reference  string // JSON pointer into the definition (T2)
	Kind       dsl.Kind
	Definition map[string]any // the task as written
	Metadata   map[string]any // nil if none

	// Function is set in the body of a function: the body has no entry of its own in the
	// timeline, and if it is a leaf, faults and commands name the calling task (T71).
	Function string

	If           *Operand
	InputSchema  *Schema
	InputFrom    *Operand
	OutputAs     *Operand
	OutputSchema *Schema
	ExportAs     *Operand
	ExportSchema *Schema
	Timeout      *Duration
	Then         Flow

	Body          *List // do, for, try: the guarded list, foreach
	Set           *Operand
	Cases         []Case
	For           *For
	Fork          *Fork
	Catch         *Catch
	Raise         *Operand // an object: type, status and, if given, title and detail
	Emit          *Operand // the attributes of the event
	DefaultSource string
	Wait          *Duration
	Activity      *Activity
	Call          *FunctionCall
	Child         *Child // run.workflow
	Human         *Human // call: human:1.0.0@default
	Listen        *Listen
	Stream        *Stream  // of an Activity that is a subscription
	Foreach       *Foreach // of a Listen or a Stream; Body is its list; nil if none

	// Detached: the task does not wait for the process or the other workflow; the output is the
	// transformed input (T67).
	Detached bool

	// Remote is set in functions from catalogs and URLs: they have a context of their own and
	// no secrets, and what happens in them is recorded at the calling task (T2, T37).
	Remote bool

	// Extensions are those that apply to tasks of this kind, in the order of their nesting (T35).
	Extensions []*Extension
	extending  bool // the task belongs to an extension

	// UsesAuthorization: an operand of the task reads $authorization.
	UsesAuthorization bool
}

// Leaf reports whether the task holds no other task.
func (t *Task) Leaf() bool {
	switch t.Kind {
	case dsl.KindDo, dsl.KindFor, dsl.KindFork, dsl.KindTry:
		return false
	}
	return t.Call == nil && t.Foreach == nil
}

// Flow is a linked flow directive.
type Flow struct {
	Kind   dsl.Flow
	Target int // FlowJump: index in the task's own list
}

// Case is one case of a switch. When is nil in the default case, which stands last here,
// wherever the definition has it.
type Case struct {
	When *Operand
	Then Flow
}

// For is the head of a loop (T32, T73).
type For struct {
	Each, At string
	In       *Operand
	While    *Operand // nil if none
}

// Fork holds concurrent branches, each a list of one task.
type Fork struct {
	Branches []*List
	Compete  bool
}

// Catch says what a try does with errors (docs/language/try.md).
type Catch struct {
	Filter     *Filter // nil: every error
	As         string
	When       *Operand
	ExceptWhen *Operand
	Retry      *Retry
	Do         *List // nil if there is no `do`
	Then       Flow  // FlowNone: the task's own `then`
}

// Filter compares errors with static values; nil fields are not compared. Type is
// normalised (T1).
type Filter struct {
	Type     *string
	Status   *int
	Instance *string
	Title    *string
	Detail   *string
}

// Retry is a resolved retry policy (T19, T20).
type Retry struct {
	When            *Operand
	ExceptWhen      *Operand
	Delay           *Duration // nil: 0
	Backoff         dsl.Backoff
	JitterFrom      *Duration
	JitterTo        *Duration
	AttemptCount    int // retries after the first run; -1: unlimited
	AttemptDuration *Duration
	Duration        *Duration
}

// FunctionCall calls a function as if it were inlined (T37).
type FunctionCall struct {
	With *Operand // nil: the caller's transformed input
	Body *List    // one task; shared by all callers
}

// Activity is a call or a process: an effect of the outside world. The machine evaluates
// its arguments; the activity gives them their meaning.
type Activity struct {
	Kind string // "http", "openapi", "grpc", "asyncapi", "mcp", "a2a", "shell", "script" or "container"

	Endpoint       *Endpoint  // http: the address
	Resources      []Resource // arguments that are read from elsewhere
	Authentication *Authentication
	Fields         []Field // evaluated in this order
	Durations      []DurationField
	Constants      map[string]value.Value // as they are
}

// Type says what an evaluated field must be.
type Type uint8

// The types of fields.
const (
	Any       Type = iota
	Text           // a text
	Object         // an object; null counts as an empty one
	ListOrMap      // a list or an object; null is left out
	Optional       // anything; null is left out
	TextList       // a list of texts
)

// Field is one evaluated argument of an activity.
type Field struct {
	In      string // the argument, an object, that holds the field; "": the field is an argument
	Name    string
	Operand *Operand
	Type    Type
}

// DurationField is an argument that is a number of milliseconds.
type DurationField struct {
	Name     string
	Duration *Duration
}

// Endpoint is the address of a call: a URI template or an expression (T42).
type Endpoint struct {
	Path           string
	Template       *expr.URITemplate // nil: Expression
	Expression     *Operand
	Authentication *Authentication // nil if none

	text string // of Template
}

// Constant is the address if it does not depend on the data.
func (e *Endpoint) Constant() (string, bool) {
	return e.text, e.Template != nil && !strings.Contains(e.text, "{")
}

// Duration is a length of time, constant or by expression (T52).
type Duration struct {
	Path    string // for details of faults
	Span    dsl.Span
	Operand *Operand // nil: Span
}
