package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
)

// The codes of problems that are found here. They are stable.
const (
	CodeNotSupported  = "not_supported"       // valid, but this server cannot run it yet
	CodeRunNotAllowed = "run_not_allowed"     // a process that the installation does not allow (T80)
	CodeExpression    = "invalid_expression"  // an expression that does not compile
	CodeTemplate      = "invalid_uri"         // a URI template that is none
	CodeSchema        = "invalid_schema"      // a JSON Schema that does not compile
	CodeUnknownName   = "unknown_name"        // a name that `use` does not have (T74)
	CodeUnknownCall   = "unknown_function"    // T36
	CodeRecursion     = "recursive_function"  // a function that calls itself
	CodeForeignTarget = "unknown_target"      // a jump out of the list (T28)
	CodeUnknownSecret = "unknown_secret"      // T75
	CodeTooManyTasks  = "too_many_tasks"      // Limits.Tasks
	CodeTooManyBranch = "too_many_branches"   // Limits.Branches
	CodeTooLarge      = "component_too_large" // a reusable component that is compiled too often
	CodeUnreachable   = "unreachable_task"    // a warning (T28)
	CodeOutOfScope    = "variable_not_set"    // a warning: always null there (T11)
	CodeDoubtful      = "doubtful_expression" // a warning
	CodeLiteral       = "literal_text"        // a warning: looks like an expression but is none
	CodeMetadata      = "unknown_setting"     // a warning: metadata that means nothing here
)

// maxProblems bounds errors and warnings, each.
const maxProblems = 100

// compiler holds what Compile knows while it works.
type compiler struct {
	doc       *dsl.Document
	options   Options
	mode      expr.Mode
	plan      *Plan
	functions map[string]*function
	used      map[string]bool // pointers of the entries of `use` that something refers to
	sizes     map[string]int  // bytes of these entries
	compiled  map[string]any  // what reuse compiled
	reused    int             // bytes that reuse compiled

	errors, warnings dsl.Problems
}

// Compile compiles a definition that dsl.Parse found no error in. It returns all problems;
// the plan is nil if one of them is an error.
func Compile(doc *dsl.Document, opt Options) (*Plan, dsl.Problems) {
	opt.Limits = opt.Limits.withDefaults()
	c := &compiler{
		doc: doc, options: opt, functions: map[string]*function{},
		used: map[string]bool{}, sizes: map[string]int{}, compiled: map[string]any{},
		plan: &Plan{
			document: doc, Limits: opt.Limits,
			digest: sha256.Sum256(expr.Marshal(doc.Value())),
		},
	}
	if doc.Evaluate.Mode == dsl.Loose {
		c.mode = expr.Loose
	}
	c.document()
	all := slices.Concat(c.errors, c.warnings)
	all.Sort()
	if len(c.errors) > 0 {
		return nil, all
	}
	return c.plan, all
}

func (c *compiler) fail(pointer, code, detail, hint string) {
	add(&c.errors, c.doc.ErrorAt, pointer, code, detail, hint)
}

func (c *compiler) warn(pointer, code, detail, hint string) {
	add(&c.warnings, c.doc.WarningAt, pointer, code, detail, hint)
}

// add drops what was said before: a reusable component is compiled wherever it is used.
func add(to *dsl.Problems, at func(pointer, code, detail, hint string) dsl.Problem, pointer, code, detail, hint string) {
	known := func(p dsl.Problem) bool { return p.Pointer == pointer && p.Code == code && p.Detail == detail }
	if len(*to) < maxProblems && !slices.ContainsFunc(*to, known) {
		*to = append(*to, at(pointer, code, detail, hint))
	}
}

func (c *compiler) notSupported(pointer, what string) {
	c.fail(pointer, CodeNotSupported, what+" is not supported by this server yet.", "")
}

// valueAt is the value of an entry of `use`, by its pointer.
func (c *compiler) valueAt(pointer string) expr.Value {
	v := c.doc.Value()
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		object, _ := v.(map[string]any)
		v = object[strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")]
	}
	return v
}

// document compiles everything in the order of the definition's meaning, so that numbers of
// tasks are stable.
func (c *compiler) document() {
	doc, p := c.doc, c.plan
	top := place{}
	if doc.Evaluate.Language != "" && doc.Evaluate.Language != "jq" {
		c.notSupported(doc.Evaluate.Pointer+"/language", fmt.Sprintf("The expression language %q", doc.Evaluate.Language))
	}
	if doc.Schedule != nil {
		c.notSupported(doc.Schedule.Pointer, "`schedule`")
	}
	if doc.Input != nil {
		p.InputSchema = c.schema(doc.Input.Schema, top)
		p.InputFrom = c.slot(doc.Input.From, top.with(inWorkflowInput))
	}
	p.Timeout = c.timeout(doc.Timeout, top.with(inWorkflowInput))
	p.Body = c.list(doc.Do, top)
	for i := range doc.Use.Functions.Entries {
		c.functionBody(&doc.Use.Functions.Entries[i])
	}
	if doc.Output != nil {
		p.OutputSchema = c.schema(doc.Output.Schema, top)
		p.OutputAs = c.slot(doc.Output.As, top.with(inWorkflowOutput))
	}
	c.useTables()
	c.retention()
	c.checkCalls()
	if limit := c.options.Limits.Tasks; len(p.Tasks) > limit {
		c.fail("/do", CodeTooManyTasks, fmt.Sprintf("The definition has %d tasks; at most %d are allowed.", len(p.Tasks), limit), "")
	}
}

// useTables compiles the reusable components that nothing refers to, so that what is wrong
// in them is found too. Who might use them is unknown, so they see every usual variable.
func (c *compiler) useTables() {
	use := &c.doc.Use
	for _, e := range use.Catalogs.Entries {
		c.notSupported(e.Pointer, "`use.catalogs`")
	}
	for _, e := range use.Extensions {
		c.notSupported(e.Pointer, "`use.extensions`")
	}
	for _, e := range use.Authentications.Entries {
		c.authentication(e.Value, place{})
	}
	usual := place{}.bind("item", "index", "error")
	for _, e := range use.Timeouts.Entries {
		if !c.used[e.Pointer] {
			c.duration(e.Value.After, usual)
		}
	}
	for _, e := range use.Retries.Entries {
		if !c.used[e.Pointer] {
			c.retry(e.Value, usual)
		}
	}
	for _, e := range use.Errors.Entries {
		if !c.used[e.Pointer] {
			c.errorTemplate(e.Value, usual)
		}
	}
}

// retention reads document.metadata.retention, an ISO 8601 duration (language.md 5.2, 6).
func (c *compiler) retention() {
	given, ok := c.doc.Metadata["retention"]
	if !ok {
		return
	}
	text, _ := given.(string)
	span, err := dsl.ParseDuration(text)
	if err != nil {
		c.warn("/document/metadata/retention", CodeMetadata,
			"`retention` is no ISO 8601 duration; it is ignored.", "Write for example P30D.")
		return
	}
	const monthMs = 30 * 24 * 60 * 60 * 1000
	c.plan.retentionMs = span.Months*monthMs + span.Milliseconds
	c.warn("/document/metadata/retention", CodeMetadata,
		"`retention` is not honoured yet: executions are kept as long as the installation keeps all others.",
		"An operator sets --retention-live and --retention-test.")
}

// place is where a slot stands: which arguments it has (language.md 1.6) and which local
// variables.
type place struct {
	base   string // pointer of the task, for paths
	locals []string
	row    row
}

// row is a row of the table of arguments.
type row uint8

const (
	inBody row = iota
	inWorkflowInput
	inTaskInput
	inOutput
	inExport
	inWorkflowOutput
)

// blanks lists the names that are always null in a row (T11).
var blanks = [...][]string{
	inBody:           {"output"},
	inWorkflowInput:  {"context", "input", "output", "task", "authorization"},
	inTaskInput:      {"input", "output", "authorization"},
	inOutput:         {"output"},
	inExport:         {},
	inWorkflowOutput: {"input", "output", "task", "authorization"},
}

func (p place) with(r row) place {
	p.row = r
	return p
}

func (p place) bind(names ...string) place {
	p.locals = append(slices.Clip(p.locals), names...)
	return p
}

func (p place) scope() *expr.Scope { return &expr.Scope{Locals: p.locals} }

// path turns the pointer of a slot into text for people: relative to the task, with dots.
func (p place) path(pointer string) string {
	if p.base != "" && strings.HasPrefix(pointer, p.base+"/") {
		pointer = pointer[len(p.base):]
	}
	return strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
}
