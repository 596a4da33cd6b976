package plan

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chargehand/chargehand/internal/jsonpointer"
)

// The validator checks a schema against its metaschema before it compiles it, without any bound:
// each error copies the path to its place, so a schema of 30 KB with many wrong keywords far down
// takes gigabytes. Here the same is checked first, with a budget. Only whether the budget
// was exceeded counts; what is wrong with the schema is left to the validator to say.

const (
	// maxMetaBytes bounds what the errors of one schema take, as the budget counts them. Alternatives that do not hold
	// count too, so a right schema has some: about 60 for each value that is one of two types.
	maxMetaBytes = 32 << 20
	// maxMetaSteps bounds the subschemas of the metaschema that are evaluated for one schema.
	maxMetaSteps = 2_000_000
	// maxUncheckedWeight is the errorWeight of a document below which the validator may take what it
	// wants: about five times as much, for each value has several errors if all are wrong.
	maxUncheckedWeight = 6 << 20
)

// errMeta is one error for both bounds: which of them is hit first depends on the order of maps, which the replay of a
// workflow must not show.
var errMeta = fmt.Errorf("it is wrong in so many ways, or at so many places, or names so many drafts of JSON Schema, "+
	"that checking it takes more than %d MiB of memory or %d steps", maxMetaBytes>>20, maxMetaSteps)

// metaGuard checks the documents of one schema. Small ones, which nearly all are, it does not look into.
type metaGuard struct {
	budget    budget
	documents map[string]*metaDocument // by address, without a fragment
	meta      map[*jsonschema.Draft]*jsonschema.Schema
	current   *metaDocument
}

// metaDocument is a document that is not small.
type metaDocument struct {
	value   any
	drafts  []*jsonschema.Draft // that any schema in it names
	checked map[string]bool     // pointers of what was checked as a schema
	base    string              // pointer of the value that is being checked
}

func newMetaGuard() *metaGuard {
	return &metaGuard{
		budget:    budget{limit: maxMetaSteps, maxBytes: maxMetaBytes},
		documents: map[string]*metaDocument{}, meta: map[*jsonschema.Draft]*jsonschema.Schema{},
	}
}

// start checks the document that a compilation begins with, and what a fragment of its address leads to.
func (g *metaGuard) start(address string, v any) error {
	document, fragment, _ := strings.Cut(address, "#")
	if err := g.add(document, v); err != nil || fragment == "" {
		return err
	}
	return g.refer(address)
}

// add checks a document, as a whole and each schema in it that may be of another draft.
func (g *metaGuard) add(address string, v any) error {
	if errorWeight(v, 0, maxUncheckedWeight) < maxUncheckedWeight {
		return nil
	}
	d := &metaDocument{value: v, checked: map[string]bool{}}
	named := draftsOf(v, true, map[*jsonschema.Draft]bool{})
	for _, draft := range allDrafts {
		if named[draft] {
			d.drafts = append(d.drafts, draft)
		}
	}
	g.documents[address] = d
	if err := g.check(d, "", v); err != nil || len(d.drafts) == 1 {
		return err
	}
	return g.addInner(d, "", v)
}

func (g *metaGuard) addInner(d *metaDocument, at string, v any) error {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if err := g.addInner(d, at+"/"+strconv.Itoa(i), item); err != nil {
				return err
			}
		}
	case map[string]any:
		if _, ok := v["$schema"].(string); ok && at != "" {
			if err := g.check(d, at, v); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := g.addInner(d, at+pointerTo(name), v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow checks what the references of a schema lead to. The validator takes any value for a
// schema then, also one below an unknown keyword.
func (g *metaGuard) follow(ctx *jsonschema.CompilerContext, schema map[string]any) error {
	if len(g.documents) == 0 {
		return nil
	}
	for _, keyword := range []string{"$ref", "$recursiveRef", "$dynamicRef"} {
		reference, ok := schema[keyword].(string)
		if !ok || !refers(ctx, keyword) {
			continue
		}
		target, err := ctx.EnqueueRef(reference)
		if err != nil {
			continue // the validator has reported it, or ignores the keyword
		}
		if err := g.refer(target.Location); err != nil {
			return err
		}
	}
	return nil
}

// refers reports whether a keyword is a reference in the draft of the schema that is being compiled. In the others it
// is data, and may lead nowhere.
func refers(ctx *jsonschema.CompilerContext, keyword string) bool {
	switch keyword {
	case "$recursiveRef":
		return isOfDraft(ctx, jsonschema.Draft2019) || isOfDraft(ctx, jsonschema.Draft2020)
	case "$dynamicRef":
		return isOfDraft(ctx, jsonschema.Draft2020)
	}
	return true
}

// isOfDraft looks where the library keeps the draft of the schema that is being compiled. It has no way to ask for it.
// TestReferencesOfDrafts fails if it moves it.
func isOfDraft(ctx *jsonschema.CompilerContext, draft *jsonschema.Draft) bool {
	of := reflect.ValueOf(ctx).Elem().FieldByName("c").Elem().FieldByName("res").Elem().FieldByName("dialect").FieldByName("draft")
	return of.UnsafePointer() == unsafe.Pointer(draft)
}

func (g *metaGuard) refer(location string) error {
	address, fragment, _ := strings.Cut(location, "#")
	d := g.documents[address]
	if d == nil {
		return nil
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil || d.checked[pointer] {
		return nil // the validator says what is wrong with it
	}
	v := d.value
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		switch in := v.(type) {
		case map[string]any:
			v = in[jsonpointer.Unescape(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return g.check(d, pointer, v)
}

// check evaluates the metaschemas of all drafts that a document names on a value in it.
func (g *metaGuard) check(d *metaDocument, at string, v any) (err error) {
	before := g.budget.bytes
	defer func() {
		g.budget.release() // of what may be large at a time; compiling needs nothing of it
		switch cause := recover(); cause {
		case nil:
		case errBudget:
			err = errMeta
		default:
			panic(cause)
		}
	}()
	g.current, d.base = d, at
	for _, draft := range d.drafts {
		meta, err := g.metaschema(draft)
		if err != nil {
			return err
		}
		if meta.Validate(v) == nil {
			g.budget.bytes = before // all of it was of alternatives
		}
	}
	d.checked[at] = true
	return nil
}

// metaschema compiles the metaschema of a draft with the budget in it.
func (g *metaGuard) metaschema(draft *jsonschema.Draft) (*jsonschema.Schema, error) {
	if meta := g.meta[draft]; meta != nil {
		return meta, nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.AssertVocabs()
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: budgetVocabulary,
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			return &g.budget, nil
		},
	})
	meta, err := compiler.Compile(draft.String())
	if err != nil {
		return nil, err
	}
	g.budget.watch(meta)
	meta.Extensions = append(meta.Extensions, visited{g})
	g.meta[draft] = meta
	return meta, nil
}

// visited notes what is checked as a schema, for that need not be checked again.
type visited struct{ guard *metaGuard }

// Validate implements jsonschema.SchemaExt.
func (n visited) Validate(ctx *jsonschema.ValidatorContext, _ any) {
	d := n.guard.current
	if len(d.drafts) == 1 { // with several it would need to be known of each
		d.checked[d.base+pointer(ctx.ValueLocation())] = true
	}
}

// errorWeight is what the errors of a value take if each value inside of it has one. It stops
// where that is known to be too much.
func errorWeight(v any, depth, most int) int {
	weight := bytesPerError + bytesPerLevel*depth
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if weight >= most {
				break
			}
			weight += errorWeight(item, depth+1, most-weight)
		}
	case map[string]any:
		for _, item := range v {
			if weight >= most {
				break
			}
			weight += errorWeight(item, depth+1, most-weight)
		}
	}
	return weight
}
