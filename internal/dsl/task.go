package dsl

// Kind is the kind of a task.
type Kind uint8

// The task kinds.
const (
	KindNone Kind = iota // only in tasks of documents with errors
	KindCall
	KindDo
	KindEmit
	KindFor
	KindFork
	KindListen
	KindRaise
	KindRun
	KindSet
	KindSwitch
	KindTry
	KindWait
	kindCount // stays last
)

// kindNames are the keywords of the kinds. Definitions are read by this list.
var kindNames = [kindCount]string{
	KindCall:   "call",
	KindDo:     "do",
	KindEmit:   "emit",
	KindFor:    "for",
	KindFork:   "fork",
	KindListen: "listen",
	KindRaise:  "raise",
	KindRun:    "run",
	KindSet:    "set",
	KindSwitch: "switch",
	KindTry:    "try",
	KindWait:   "wait",
}

// String is the keyword of the kind.
func (k Kind) String() string { return kindNames[k] }

// Task is one task. Exactly the payload that Kind names is set.
type Task struct {
	Name    string
	Pointer string         // JSON pointer, at most 8,192 bytes (T2)
	Value   map[string]any // the task as written, for $task.definition
	Kind    Kind

	If       Operand // expression operand
	Input    *Input
	Output   *Output
	Export   *Output
	Timeout  *Timeout
	Then     Directive
	Metadata map[string]any

	Call   *Call
	Do     []*Task
	Emit   *Emit
	For    *For
	Fork   *Fork
	Listen *Listen
	Raise  *Raise
	Run    *Run
	Set    Operand // value operand: an object or one text
	Switch []*Case
	Try    *Try
	Wait   *Duration
}

// Case is one case of a switch, in declaration order. When is absent in the default case,
// of which there is at most one.
type Case struct {
	Name    string
	Pointer string
	When    Operand // expression operand
	Then    Directive
}

// For is a loop.
type For struct {
	Pointer string
	Each    string  // default "item"
	At      string  // default "index"
	In      Operand // a text (expression operand) or an inline array (value operand, T32)
	While   Operand // expression operand
	Do      []*Task
}

// Fork holds concurrent branches.
type Fork struct {
	Pointer  string
	Branches []*Task
	Compete  bool
}

// Try is a guarded list.
type Try struct {
	Do    []*Task
	Catch *Catch
}

// Catch is the `catch` of a try.
type Catch struct {
	Pointer    string
	Errors     *ErrorFilter // nil: every error
	As         string       // default "error"
	When       Operand      // expression operand
	ExceptWhen Operand      // expression operand
	Retry      *Retry
	Do         []*Task
	HasDo      bool // tells `do: []` from no `do`
	Then       Directive
}

// ErrorFilter compares errors with static values: all present ones must be equal.
type ErrorFilter struct {
	Pointer  string
	Type     Operand
	Status   Operand // integer
	Instance Operand
	Title    Operand
	Detail   Operand
}

// Raise raises Error or, if that is nil, the entry Name of use.errors.
type Raise struct {
	Pointer string // of raise.error
	Error   *Error
	Name    string
}

// Emit holds the attributes of the event to emit: a map (value operand) with at least `type`.
type Emit struct {
	Pointer string
	With    Operand
}

// Read says in which form events are delivered.
const (
	ReadData     = "data"
	ReadEnvelope = "envelope"
	ReadRaw      = "raw"
)

// Listen waits for events.
type Listen struct {
	Pointer string
	To      *Strategy
	Read    string // default "data"
	Foreach *Iterator
}

// StrategyMode says how many filters of a strategy must match.
type StrategyMode uint8

// The consumption strategies.
const (
	StrategyOne StrategyMode = iota
	StrategyAll
	StrategyAny
)

// Strategy is an event consumption strategy. Only StrategyAny has an Until or UntilEvents,
// at most one of them; a strategy that is itself an `until` has neither.
type Strategy struct {
	Pointer     string
	Mode        StrategyMode
	Filters     []*EventFilter // exactly one with StrategyOne; none with `any: []`: every event (T83)
	Until       Operand        // expression operand
	UntilEvents *Strategy
}

// EventFilter selects events (T57).
type EventFilter struct {
	Pointer   string
	With      Operand // a map with at least one attribute
	Correlate Table[Correlation]
}

// Correlation is one correlation key of a filter (T58, T70).
type Correlation struct {
	From   Operand // expression operand
	Expect Operand // expression operand; absent: the first extracted value
}

// Iterator is a `foreach`.
type Iterator struct {
	Pointer string
	Item    string // default "item"
	At      string // default "index"
	Do      []*Task
	Output  *Output
	Export  *Output
}

// The forms of a process result.
const (
	ReturnStdout = "stdout"
	ReturnStderr = "stderr"
	ReturnCode   = "code"
	ReturnAll    = "all"
	ReturnNone   = "none"
)

// Run runs a process or a workflow. Exactly one of the four kinds is set.
type Run struct {
	Pointer   string
	Await     bool   // default true
	Return    string // default "stdout"
	Container *Container
	Script    *Script
	Shell     *Shell
	Workflow  *Subflow
}

// Shell is a shell line (T48). Arguments is a list (argv) or a map (T46).
type Shell struct {
	Pointer       string
	Command       Operand
	Stdin         Operand
	Arguments     Operand
	ArgumentOrder []string // the keys of a map as they are written, which its value does not know
	Environment   Operand  // a map or ${ }
}

// Script holds exactly one of Code and Source. Arguments is a list (argv) or a map (T46).
type Script struct {
	Pointer     string
	Language    string // as written, for example "js" or "python"
	Code        Operand
	Source      *Resource
	Stdin       Operand
	Arguments   Operand
	Environment Operand // a map or ${ }
}

// Container is a container to run.
type Container struct {
	Pointer      string
	Image        Operand
	Name         Operand // expression operand
	Command      Operand
	Ports        Operand // a map
	Volumes      Operand // a map
	Environment  Operand // a map
	Stdin        Operand
	Arguments    Operand // a list
	PullPolicy   string  // default "ifNotPresent"
	Cleanup      string  // default "never"
	CleanupAfter *Duration
}

// Subflow is another workflow to run (T51).
type Subflow struct {
	Pointer   string
	Namespace string
	Name      string
	Version   string  // default "latest"
	Input     Operand // any value (T53); absent: the transformed input
}

// The names of the built-in calls.
const (
	CallHTTP     = "http"
	CallOpenAPI  = "openapi"
	CallGRPC     = "grpc"
	CallAsyncAPI = "asyncapi"
	CallA2A      = "a2a"
	CallMCP      = "mcp"
)

// Call calls a function. For a built-in name its payload is set; for any other text none is,
// and the function is custom (T36).
type Call struct {
	Pointer  string // of the name
	Function string
	With     Operand // a map; absent: a custom function gets the transformed input (T37)
	HTTP     *HTTPCall
	OpenAPI  *OpenAPICall
	GRPC     *GRPCCall
	AsyncAPI *AsyncAPICall
	A2A      *A2ACall
	MCP      *MCPCall
}

// Custom reports whether the call is not built in.
func (c *Call) Custom() bool {
	switch c.Function {
	case CallHTTP, CallOpenAPI, CallGRPC, CallAsyncAPI, CallA2A, CallMCP:
		return false
	}
	return true
}

// The forms of an HTTP result.
const (
	OutputContent  = "content"
	OutputRaw      = "raw"
	OutputResponse = "response"
)

// HTTPCall is the `with` of `call: http`.
type HTTPCall struct {
	Pointer  string
	Method   Operand
	Endpoint *Endpoint
	Headers  Operand // a map or ${ }
	Query    Operand // a map or ${ }
	Body     Operand // any value
	Output   string  // default "content"
	Redirect bool
}

// OpenAPICall is the `with` of `call: openapi`.
type OpenAPICall struct {
	Pointer        string
	Document       *Resource
	OperationID    Operand
	Parameters     Operand // a map or ${ }
	Authentication *Authentication
	Output         string // default "content"
	Redirect       bool
}

// GRPCCall is the `with` of `call: grpc`.
type GRPCCall struct {
	Pointer        string
	Proto          *Resource
	Service        string
	Host           Operand
	Port           int // 0: not given
	Authentication *Authentication
	Method         string
	Arguments      Operand // a map or ${ } (T38)
}

// AsyncAPICall is the `with` of `call: asyncapi`: one of Channel and Operation, one of Message
// and Subscription.
type AsyncAPICall struct {
	Pointer         string
	Document        *Resource
	Channel         string
	Operation       string
	ServerName      string  // "" without `server`
	ServerVariables Operand // a map
	Protocol        string
	Message         *Message
	Subscription    *Subscription
	Authentication  *Authentication
}

// Message is a message to publish.
type Message struct {
	Pointer string
	Payload Operand // a map or ${ }
	Headers Operand // a map or ${ }
}

// Subscription says which messages are consumed. Exactly one of Amount, While and Until is set.
type Subscription struct {
	Pointer string
	Filter  Operand // expression operand
	Amount  *int
	While   Operand // expression operand, after each message
	Until   Operand // expression operand, before each message
	For     *Duration
	Foreach *Iterator
}

// A2ACall is the `with` of `call: a2a`: at least one of AgentCard and Server.
type A2ACall struct {
	Pointer    string
	Method     string
	AgentCard  *Resource
	Server     *Endpoint
	Parameters Operand // a map or ${ }
}

// MCPCall is the `with` of `call: mcp`: exactly one of HTTP and Stdio.
type MCPCall struct {
	Pointer         string
	ProtocolVersion string // default "2025-06-18" (T53)
	Method          string
	Parameters      Operand // a map or ${ }
	Timeout         *Duration
	HTTP            *MCPHTTP
	Stdio           *MCPStdio
	Options         Operand // a map
	ClientName      string
	ClientVersion   string
}

// MCPHTTP is the HTTP transport of an MCP call.
type MCPHTTP struct {
	Pointer  string
	Endpoint *Endpoint
	Headers  Operand // a map
}

// MCPStdio is the process transport of an MCP call.
type MCPStdio struct {
	Pointer     string
	Command     Operand
	Arguments   Operand // a list
	Environment Operand // a map
}
