package graph

// Graph is the control flow of one definition.
type Graph struct {
	// Digest changes with the ids of the nodes and with the edges, and with nothing else: as long as it is the same,
	// a picture keeps its layout. It is the SHA-256 in hexadecimal digits.
	Digest string  `json:"digest"`
	Scopes []Scope `json:"scopes" nullable:"false"`
	Nodes  []Node  `json:"nodes" nullable:"false"`
	Edges  []Edge  `json:"edges" nullable:"false"`
}

// Role says what the list of a scope is for.
type Role string

// The roles of scopes. List is the list of the workflow, of a `do` or a loop, and what a `try` guards.
const (
	List     Role = "list"
	Branch   Role = "branch"   // a branch of a fork: one task
	Catch    Role = "catch"    // what runs after an error was caught
	Before   Role = "before"   // runs before the tasks that an extension extends
	After    Role = "after"    // runs after them
	Function Role = "function" // the body of a function of the definition: one task
)

// Scope is a list of tasks. Control enters it at its first node.
type Scope struct {
	ID    string   `json:"id"`                    // JSON pointer of the list, or of the one task of a function
	Owner *string  `json:"owner" nullable:"true"` // the node that holds it; null: the workflow, an extension or a function
	Role  Role     `json:"role" enum:"list,branch,catch,before,after,function"`
	Label string   `json:"label,omitempty"`        // which errors are caught; the name of an extension or function
	Nodes []string `json:"nodes" nullable:"false"` // ids in the order of the definition
}

// Node is a task.
type Node struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`           // keyword of the task, as dsl.Kind has it
	Type   string `json:"type,omitempty"` // of a call: http, …, function; of a run: container, …, workflow
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"` // one line: an address, the events, the expression of a loop, …
	Scope  string `json:"scope"`            // the list that holds it
	Line   int    `json:"line"`             // in the source of the definition, from 1
	// Container: the node holds scopes of its own.
	Container bool `json:"container"`
	// Human: a person does it.
	Human      bool        `json:"human"`
	If         string      `json:"if,omitempty"` // the task is skipped unless this expression holds
	Timeout    string      `json:"timeout,omitempty"`
	Detached   bool        `json:"detached,omitempty"`   // the task does not wait for what it runs
	Compete    bool        `json:"compete,omitempty"`    // of a fork: the first branch wins
	Extensions []Extension `json:"extensions,omitempty"` // that run around it
	Workflow   *Workflow   `json:"workflow,omitempty"`   // that it runs
	Function   string      `json:"function,omitempty"`   // scope of the body, of a call of a function of the definition
	State      *NodeState  `json:"state,omitempty"`      // in the graph of an execution; left out: the task has not run
}

// Extension names what runs around a node.
type Extension struct {
	Name   string `json:"name"`
	Before string `json:"before,omitempty"` // scope
	After  string `json:"after,omitempty"`  // scope
}

// Workflow names another workflow.
type Workflow struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"version"`
}

// The kinds of edges.
const (
	Next   = "next"   // to the task that follows in the list, or out of the list after its last one
	Then   = "then"   // a directive of the task leads elsewhere
	Case   = "case"   // of a switch
	Skip   = "skip"   // where the task leads when its `if` does not hold, unless that is where it leads anyway
	Caught = "caught" // where a try leads after an error that it caught
)

// Leaves says where an edge without a target leads.
const (
	LeavesList     = "list"     // out of its scope: the task around it continues
	LeavesWorkflow = "workflow" // nowhere: the workflow is completed (T27)
)

// Edge is a way that control may take from one node to another of the same scope, or out of it.
type Edge struct {
	From   string  `json:"from"`
	To     *string `json:"to" nullable:"true"` // null: Leaves says where it leads
	Kind   string  `json:"kind" enum:"next,then,case,skip,caught"`
	Label  string  `json:"label,omitempty"`
	Back   bool    `json:"back,omitempty"` // it leads to the task itself or to one before it
	Leaves string  `json:"leaves,omitempty" enum:"list,workflow"`
	Scope  string  `json:"scope"`
}
