package plan

import (
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// Limits bounds what a definition may hold and what its executions may use. A zero field
// stands for the default.
type Limits struct {
	Tasks      int // tasks of a definition
	Branches   int // branches of one fork
	PureSteps  int // task starts between two effects
	StateBytes int // bytes of the state of an execution
}

// The default limits.
const (
	DefaultTasks      = 10_000
	DefaultBranches   = 1_000
	DefaultPureSteps  = 100_000
	DefaultStateBytes = 16 << 20
)

func (l Limits) withDefaults() Limits {
	fill := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&l.Tasks, DefaultTasks)
	fill(&l.Branches, DefaultBranches)
	fill(&l.PureSteps, DefaultPureSteps)
	fill(&l.StateBytes, DefaultStateBytes)
	return l
}

// Options says what the installation allows.
type Options struct {
	// Run lists the kinds of `run` that are allowed: "shell", "script" (in any language), or
	// one language of script such as "js", "container", or "mcp" (servers of tools over stdio,
	// which "shell" allows too). What is not listed is refused (T80).
	Run    []string
	Limits Limits
	// Resources is the content of external resources by Wanted.Key (T69).
	Resources map[string][]byte
	// CheckProto, if set, tells what is wrong with a call of a method by a proto file.
	CheckProto func(proto []byte, service, method string) error
}

// AnyRun is Options.Run for a definition that was accepted once and is compiled again: the
// activities refuse to run what is not allowed any more (T80).
func AnyRun() []string { return []string{"shell", "script", "container", "mcp"} }

// Plan is a compiled definition.
type Plan struct {
	Tasks  []*Task // by Number
	Body   *List
	Limits Limits

	InputSchema  *Schema
	InputFrom    *Operand
	OutputAs     *Operand
	OutputSchema *Schema
	Timeout      *Duration

	Extensions []*Extension // in the order of their nesting (T35)
	Schedule   *Schedule    // nil if there is none
	Pinned     []Pinned     // external resources, by Key
	People     []Assignee   // whom human tasks of the definition name as constants, at most maxPeople

	digest   [32]byte
	document *dsl.Document
}

// Digest tells definitions apart: SHA-256 of the canonical JSON of the definition and of the
// external resources that it was compiled with.
func (p *Plan) Digest() [32]byte { return p.digest }

// Document is the definition from which the plan was compiled.
func (p *Plan) Document() *dsl.Document { return p.document }

// Definition is the definition as a value ($workflow.definition).
func (p *Plan) Definition() value.Value { return p.document.Value() }

// Secrets lists the declared names of secrets.
func (p *Plan) Secrets() []string { return p.document.Use.Secrets }

// UsesSecrets reports whether executions can see secrets.
func (p *Plan) UsesSecrets() bool { return len(p.document.Use.Secrets) > 0 }
