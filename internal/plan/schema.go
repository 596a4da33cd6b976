package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// MaxSchemaSteps bounds the subschemas that one validation may evaluate, and what its patterns take. A schema that
// refers to itself in several ways would take exponential time otherwise.
const MaxSchemaSteps = 1_000_000

const (
	// maxSchemaProblems bounds the problems of one validation.
	maxSchemaProblems = 100
	// maxPointerBytes bounds their pointers together: a long name may stand above all of them.
	maxPointerBytes = 1 << 20
	// maxErrorBytes bounds what the errors of one validation take, those of alternatives that
	// failed included: with alternatives inside each other their number grows exponentially.
	maxErrorBytes = 48 << 20
	// maxDetail bounds the text of one problem, in bytes.
	maxDetail = 400
)

// SchemaProblem is one thing that a value has wrong.
type SchemaProblem struct {
	Pointer   string // JSON pointer into the value; "" is the whole value
	Keyword   string // of JSON Schema, such as "required"
	Detail    string // a sentence without its point
	Predicate string // Detail without its subject, for who shows it beside what Pointer names
}

// Schema is a compiled JSON Schema of draft 2020-12 (or the draft that its $schema names).
// Formats are asserted. It may be used by many goroutines; they take turns.
type Schema struct {
	Path string // where it stands, relative to its task

	mu       sync.Mutex // guards budget, which counts what the compiled schema takes
	budget   *budget
	compiled *jsonschema.Schema
	cost     *jsonschema.Schema // decides what a check costs; nil: compiled does, or guess
	guess    int                // 0, or how much a check costs per guessBytes of the value
	titles   map[string]string  // what the author calls values, by the location of their schemas
}

// guessBytes is about what a value takes in value.Size.
const guessBytes = 16

// Validate returns what is wrong with a value, sorted by place; nil if nothing is.
func (s *Schema) Validate(v value.Value) []SchemaProblem {
	problems, _ := s.Check(v)
	return problems
}

// wholly is what is wrong with a value that could not be checked to the end.
func wholly(detail string) []SchemaProblem {
	return []SchemaProblem{{Keyword: "$schema", Detail: detail, Predicate: detail}}
}

// Check is Validate, and tells how many steps it took.
func (s *Schema) Check(v value.Value) (problems []SchemaProblem, steps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		steps = s.budget.steps
		s.budget.release()
		switch cause := recover(); cause {
		case nil:
		case errBudget:
			problems = wholly(fmt.Sprintf("the value does not match the schema in so many ways, or at so many places, or the schema has "+
				"so many alternatives or such slow patterns, that its check takes more than %d steps or %d MiB of memory", s.budget.limit, maxErrorBytes>>20))
		default:
			panic(cause)
		}
	}()
	plain := plainNumbers(v)
	s.budget.reset()
	switch {
	case s.guess > 0:
		counted := min(s.guess*(1+value.Size(v)/guessBytes), s.budget.limit)
		defer func() { s.budget.steps = counted }()
	case s.cost != nil:
		_ = s.cost.Validate(plain)
		counted := s.budget.steps
		s.budget.reset()
		s.budget.ignoreErrors = true // the twin made more of them, and in an order that is always the same
		defer func() { s.budget.steps = counted }()
	}
	err := s.compiled.Validate(plain)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, 0
	}
	return s.explain(invalid), 0
}

// plainNumbers turns large integers into the form that the validator knows. Values without
// any are returned as they are.
func plainNumbers(v value.Value) any {
	if !holdsLarge(v) {
		return v
	}
	switch v := v.(type) {
	case *big.Int:
		return json.Number(v.String())
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = plainNumbers(item)
		}
		return items
	default:
		object := make(map[string]any)
		for key, item := range v.(map[string]any) {
			object[key] = plainNumbers(item)
		}
		return object
	}
}

func holdsLarge(v value.Value) bool {
	switch v := v.(type) {
	case *big.Int:
		return true
	case []any:
		return slices.ContainsFunc(v, holdsLarge)
	case map[string]any:
		for _, item := range v {
			if holdsLarge(item) {
				return true
			}
		}
	}
	return false
}

// pointer joins tokens to a JSON pointer (RFC 6901).
func pointer(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteString(pointerTo(token))
	}
	return b.String()
}

// pointerTo is one step of a JSON pointer.
func pointerTo(token string) string {
	return "/" + jsonpointer.Escape(token)
}

// schema compiles a schema; nil if there is none.
func (c *compiler) schema(s *dsl.Schema, at location) *Schema {
	if s == nil {
		return nil
	}
	if s.Format != "" && s.Format != "json" {
		c.notSupported(s.Pointer+"/format", fmt.Sprintf("The schema format %q", s.Format))
		return nil
	}
	document, address := s.Document, schemaRoot
	if s.Resource != nil {
		var ok bool
		if document, address, ok = c.schemaResource(s.Resource, at); !ok {
			return nil
		}
	} else if !s.Document.Present() {
		return nil
	}
	var size schemaSize
	size.add(document.Value, address)
	if what, advice := size.excess(); what != "" {
		c.fail(document.Pointer, CodeSchema, "The schema has "+what+".", advice)
		return nil
	}
	compiled := &Schema{Path: at.path(s.Pointer), budget: &budget{limit: MaxSchemaSteps}}
	others := &schemaLoader{compiler: c, pointer: document.Pointer}
	var err error
	if compiled.compiled, compiled.titles, err = compileSchema(address, document.Value, compiled.budget, others); err != nil {
		c.badSchema(document.Pointer, err)
		return compiled
	}
	if others.size.parts > 0 { // no twin reaches into other documents
		compiled.guess = size.parts + others.size.parts
		return compiled
	}
	if t, differs := twin(document.Value); differs {
		// A schema that refers into what its twin has replaced has none.
		if compiled.cost, _, err = compileSchema(address, t, compiled.budget, others); err != nil {
			compiled.guess = size.parts
		}
	}
	return compiled
}

// schemaResource reads a schema from its external resource (T69).
func (c *compiler) schemaResource(r *dsl.Resource, at location) (document dsl.Operand, address string, ok bool) {
	if r.Endpoint == nil {
		return dsl.Operand{}, "", false
	}
	content, state := c.fetched(r.Endpoint, ResourceSchema, at)
	switch state {
	case inconstant:
		c.notSupported(r.Pointer, "A schema whose address depends on the data")
		return dsl.Operand{}, "", false
	case unauthorized:
		c.notSupported(r.Pointer, "A schema whose authentication depends on the data or on secrets")
		return dsl.Operand{}, "", false
	case missing:
		return dsl.Operand{}, "", false
	}
	v, err := dsl.ParseValue(content)
	if err != nil {
		c.fail(r.Pointer, CodeResource, "The external schema cannot be read: "+err.Error()+".", "")
		return dsl.Operand{}, "", false
	}
	return dsl.Operand{Pointer: r.Pointer, Value: v}, schemaAddress(r.Endpoint.URI.Text()), true
}

// schemaRoot stands for the folder of the operator in the addresses of schemas, so that
// relative references lead to addresses below it. It is never shown.
const schemaRoot = "resource:///"

// schemaAddress is the address against which the references of a schema are resolved. Without
// a scheme the validator would put it into the working directory of the server.
func schemaAddress(uri string) string {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return uri
	case u.Scheme == "file" && u.Opaque != "":
		return schemaRoot + strings.TrimPrefix(uri, "file:")
	case u.Scheme == "":
		return schemaRoot + uri
	}
	return uri
}

// schemaLoader gives a schema the documents that it refers to. They are external resources
// like the schema itself may be one.
type schemaLoader struct {
	compiler *compiler
	pointer  string
	size     schemaSize // of all that were loaded
	guard    *metaGuard // of the schema that is being compiled
}

// errWanted says that a document is not there yet; it is listed as wanted.
var errWanted = errors.New("the document is not at hand")

// Load implements jsonschema.URLLoader.
func (l *schemaLoader) Load(address string) (any, error) {
	url, relative := strings.CutPrefix(address, schemaRoot)
	scheme, _, _ := strings.Cut(url, ":")
	if l.compiler.shared == nil || !relative && scheme != "https" && scheme != "http" && scheme != "file" {
		return nil, fmt.Errorf("references to other documents of this kind are not supported: %s", url)
	}
	content, state := l.compiler.fetchedURI(url, ResourceSchema, l.pointer, nil)
	if state != available {
		return nil, errWanted
	}
	v, err := dsl.ParseValue(content)
	if err != nil {
		return nil, err
	}
	l.size.add(v, address)
	if what, _ := l.size.excess(); what != "" {
		return nil, errors.New("the documents that it refers to have " + what)
	}
	plain := plainNumbers(v)
	return plain, l.guard.add(address, plain)
}

// compileSchema makes budget a part of every subschema. It also gives the titles of subschemas.
func compileSchema(
	address string, schema value.Value, b *budget, others *schemaLoader,
) (*jsonschema.Schema, map[string]string, error) {
	plain, guard := plainNumbers(schema), newMetaGuard()
	if err := guard.start(address, plain); err != nil {
		return nil, nil, err
	}
	others.guard = guard
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(others)
	compiler.UseRegexpEngine(b.readPattern)
	compiler.AssertFormat()
	compiler.AssertVocabs()
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: budgetVocabulary,
		Compile: func(ctx *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
			return b, guard.follow(ctx, schema)
		},
	})
	for _, format := range schemaFormats {
		compiler.RegisterFormat(format)
	}
	if err := compiler.AddResource(address, plain); err != nil {
		return nil, nil, err
	}
	compiled, err := compiler.Compile(address)
	if err != nil {
		return nil, nil, err
	}
	return compiled, b.watch(compiled), nil
}

// badSchema reports why a schema does not compile, at the place in it if that is known.
func (c *compiler) badSchema(at string, err error) {
	var invalid *jsonschema.SchemaValidationError
	var details *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &details) {
		for _, p := range (&Schema{}).explain(details) {
			c.fail(at+p.Pointer, CodeSchema, "The schema is not valid: "+p.Detail+".", "")
		}
		return
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		if !errors.Is(load.Err, errWanted) {
			c.fail(at, CodeSchema, fmt.Sprintf("The schema refers to a document that cannot be used, %s: %s.",
				strings.TrimPrefix(load.URL, schemaRoot), load.Err), "")
		}
		return
	}
	c.fail(at, CodeSchema, "The schema is not valid: "+strings.ReplaceAll(err.Error(), schemaRoot, "")+".", "")
}
