package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
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
	CodeMetadata      = "unknown_setting"     // a warning: metadata without an effect
	CodeCondition     = "constant_condition"  // a warning: a condition that does not depend on anything (T13)
	CodeReadUnclear   = "read_unclear"        // a warning (T61)

	CodeErrorType        = "unmatchable_error_type" // a warning: a type that no standard error has (T93)
	CodeUnusedArguments  = "unused_arguments"       // a warning: a shell line that reads none of its arguments (T48)
	CodeSecretArgument   = "secret_in_arguments"    // a warning: command lines can be seen by other processes (T48)
	CodeEvaluatedCommand = "evaluated_command"      // a warning: data becomes a command (T48)
	CodeSchedule         = "invalid_schedule"       // a schedule that cannot be kept

	CodeResource         = "invalid_resource"   // an external resource that is not what it should be
	CodeResourceMissing  = "resource_missing"   // an external resource that is not at hand (T69)
	CodeTooManyResources = "too_many_resources" // MaxResources
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
	extending bool            // an extension is being compiled

	shared *shared
	self   *remoteFunction // what is compiled if it is not the definition itself

	errors, warnings dsl.Problems
}

// shared is what the compilers of a definition and of the functions that it gets from
// outside have in common.
type shared struct {
	root    *compiler
	refused bool            // the reader found errors
	broken  bool            // the reader could not read all of `use`: what is missing may be in there
	stored  bool            // Options.Resources is all that there is: nothing is wanted
	asked   map[string]bool // by key
	wanted  []Wanted
	pinned  []Pinned
	remote  map[string]*remoteFunction
	queue   []*remoteFunction
}

// Result is the result of Check.
type Result struct {
	Plan     *Plan // nil if there is an error or something is wanted
	Problems dsl.Problems
	// Wanted lists external resources, by Key, that must be put into Options.Resources. There
	// may be more once they are there: functions may call others.
	Wanted []Wanted
}

// Compile compiles a definition that dsl.Parse found no error in. It returns all problems;
// the plan is nil if one of them is an error. A resource that Options.Resources lacks is one.
func Compile(doc *dsl.Document, opt Options) (*Plan, dsl.Problems) {
	result := compileAll(doc, nil, opt, true)
	for _, w := range result.Wanted {
		result.Problems = append(result.Problems, doc.ErrorAt(w.Pointer, CodeResourceMissing,
			fmt.Sprintf("The resource %s is not at hand.", w.URI), ""))
	}
	result.Problems.Sort()
	return result.Plan, result.Problems
}

// Check is Compile for definitions that may have errors already: found is what dsl.Parse
// found. It adds the problems that can be found nevertheless, so that all are reported at once. The
// document is the one that dsl.Parse returned with them; if it is nil, nothing is added.
func Check(doc *dsl.Document, found dsl.Problems, opt Options) Result {
	return compileAll(doc, found, opt, false)
}

func compileAll(doc *dsl.Document, found dsl.Problems, opt Options, stored bool) Result {
	if doc == nil {
		return Result{Problems: found}
	}
	opt.Limits = opt.Limits.withDefaults()
	c := &compiler{
		doc: doc, options: opt, functions: map[string]*function{},
		used: map[string]bool{}, sizes: map[string]int{}, compiled: map[string]any{},
		plan:   &Plan{document: doc, Limits: opt.Limits},
		shared: &shared{stored: stored, asked: map[string]bool{}, remote: map[string]*remoteFunction{}, refused: found.HasErrors(), broken: hidesNames(found)},
	}
	c.shared.root = c
	if doc.Evaluate.Mode == dsl.Loose {
		c.mode = expr.Loose
	}
	c.document()
	s := c.shared
	slices.SortFunc(s.wanted, func(a, b Wanted) int { return strings.Compare(a.Key, b.Key) })
	slices.SortFunc(s.pinned, func(a, b Pinned) int { return strings.Compare(a.Key, b.Key) })
	result := Result{Problems: merge(found, slices.Concat(c.errors, c.warnings)), Wanted: s.wanted}
	if len(c.errors) == 0 && len(s.wanted) == 0 && !s.refused {
		c.plan.Pinned = s.pinned
		c.plan.digest = digest(doc, s.pinned)
		result.Plan = c.plan
	}
	return result
}

// hidesNames reports whether the reader found errors that may have kept it from the names of
// reusable components: in `use`, or in the definition as a whole.
func hidesNames(found dsl.Problems) bool {
	errors := found.Errors()
	return len(errors) >= maxProblems || slices.ContainsFunc(errors, func(p dsl.Problem) bool {
		return p.Pointer == "" || p.Pointer == "/use" || strings.HasPrefix(p.Pointer, "/use/")
	})
}

// merge adds what the compiler found to what the reader found. Where the reader has said
// something, the compiler only sees what came of it.
func merge(found, more dsl.Problems) dsl.Problems {
	all := slices.Clone(found)
	for _, p := range more {
		isReported := func(reported dsl.Problem) bool {
			return reported.Severity == dsl.SeverityError && (reported.Pointer == p.Pointer ||
				strings.HasPrefix(p.Pointer, reported.Pointer+"/") && reported.Pointer != "")
		}
		if !slices.ContainsFunc(found, isReported) {
			all = append(all, p)
		}
	}
	all.Sort()
	return all
}

// digest tells compiled definitions apart. External resources count by their content.
func digest(doc *dsl.Document, pinned []Pinned) [sha256.Size]byte {
	text := value.Marshal(doc.Value())
	for _, p := range pinned {
		text = append(append(append(text, 0), p.Key...), p.Digest[:]...)
	}
	return sha256.Sum256(text)
}

func (c *compiler) fail(pointer, code, detail, hint string) {
	if c.self != nil {
		line, _ := c.doc.Position(pointer)
		c.tell(line, code, detail, hint)
		return
	}
	add(&c.errors, c.doc.ErrorAt, pointer, code, detail, hint)
}

// warn reports what is suspicious in the definition itself: in functions from outside, the
// author can change nothing.
func (c *compiler) warn(pointer, code, detail, hint string) {
	if c.self == nil {
		add(&c.warnings, c.doc.WarningAt, pointer, code, detail, hint)
	}
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
func (c *compiler) valueAt(pointer string) value.Value {
	v := c.doc.Value()
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		object, _ := v.(map[string]any)
		v = object[jsonpointer.Unescape(token)]
	}
	return v
}

// document compiles everything in the order of the definition's meaning, so that numbers of
// tasks are stable.
func (c *compiler) document() {
	doc, p := c.doc, c.plan
	top := location{}
	if doc.Evaluate.Language != "" && doc.Evaluate.Language != "jq" {
		c.notSupported(doc.Evaluate.Pointer+"/language", fmt.Sprintf("The expression language %q", doc.Evaluate.Language))
	}
	p.Schedule = c.schedule(doc.Schedule)
	c.checkRead(doc.Schedule)
	if doc.Input != nil {
		p.InputSchema = c.schema(doc.Input.Schema, top)
		p.InputFrom = c.operand(doc.Input.From, top.with(inWorkflowInput))
	}
	p.Timeout = c.timeout(doc.Timeout, top.with(inWorkflowInput))
	p.Body = c.list(doc.Do, top)
	for i := range doc.Use.Functions.Entries {
		c.functionBody(&doc.Use.Functions.Entries[i])
	}
	if doc.Output != nil {
		p.OutputSchema = c.schema(doc.Output.Schema, top)
		p.OutputAs = c.operand(doc.Output.As, top.with(inWorkflowOutput))
	}
	c.extensions()
	c.useTables()
	c.retention()
	c.checkCalls()
	c.remoteFunctions()
	c.linkExtensions()
	if limit := c.options.Limits.Tasks; len(p.Tasks) > limit {
		c.fail("/do", CodeTooManyTasks, fmt.Sprintf("The definition has %d tasks; at most %d are allowed.", len(p.Tasks), limit), "")
	}
}

// useTables compiles the reusable components that nothing refers to, so that what is wrong
// in them is found too. Who might use them is unknown, so they see every usual variable.
func (c *compiler) useTables() {
	use := &c.doc.Use
	c.checkCatalogs()
	for _, e := range use.Authentications.Entries {
		c.authentication(e.Value, location{})
	}
	usual := location{}.bind("item", "index", "error")
	for _, e := range use.Timeouts.Entries {
		if !c.used[e.Pointer] && e.Value != nil {
			c.duration(e.Value.After, usual)
		}
	}
	for _, e := range use.Retries.Entries {
		if !c.used[e.Pointer] {
			c.retry(e.Value, usual)
		}
	}
	for _, e := range use.Errors.Entries {
		if !c.used[e.Pointer] && e.Value != nil {
			c.errorTemplate(e.Value, usual)
		}
	}
}

// retention warns of document.metadata.retention, which an author may take for a setting.
func (c *compiler) retention() {
	if _, ok := c.doc.Metadata["retention"]; !ok {
		return
	}
	c.warn("/document/metadata/retention", CodeMetadata,
		"`retention` has no effect: the executions of all workflows are kept equally long.",
		"An operator sets --retention-live and --retention-test.")
}

// location is where an operand stands: which arguments it has (docs/language/expressions.md) and which local
// variables.
type location struct {
	base     string // pointer of the task, for paths
	locals   []string
	position position
}

// position is a row of the table of arguments.
type position uint8

const (
	inBody position = iota
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

func (p location) with(r position) location {
	p.position = r
	return p
}

func (p location) bind(names ...string) location {
	p.locals = append(slices.Clip(p.locals), names...)
	return p
}

func (p location) scope() *expr.Scope { return &expr.Scope{Locals: p.locals} }

// path turns the pointer of an operand into text for people: relative to the task, with dots.
func (p location) path(pointer string) string {
	if p.base != "" && strings.HasPrefix(pointer, p.base+"/") {
		pointer = pointer[len(p.base):]
	}
	return strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
}
