package plan

import (
	"cmp"
	"errors"
	"reflect"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// budget bounds one validation: the subschemas that are evaluated and what patterns take, and the memory of the errors
// that the validator collects. It is attached to each subschema and each pattern.
type budget struct {
	steps, limit int
	instructions int // of patterns, less than a step
	bytes        int // of errors so far
	maxBytes     int // 0 is maxErrorBytes
	isLarge      bool
	ignoreErrors bool
	isValidating bool
}

// errBudget is how a validation is stopped from within. It is one error for both bounds, and the validation has taken
// all steps then: which bound is hit first, and when, depends on the order of maps, which the replay of a workflow must
// not show.
var errBudget = errors.New("the check takes too many steps or too much memory")

// large is held by the one validation whose errors take more than smallErrorBytes: several of
// them at once would take as many times maxErrorBytes.
var large sync.Mutex

const smallErrorBytes = 2 << 20

// What one error is taken to be in memory: itself, and the path to its place.
const bytesPerError, bytesPerLevel = 320, 32

// budgetVocabulary is the name under which a budget becomes a part of every subschema.
const budgetVocabulary = "urn:chargehand:steps"

// reset begins a validation.
func (b *budget) reset() {
	b.steps, b.instructions, b.bytes, b.ignoreErrors, b.isValidating = 0, 0, 0, false, true
}

// release ends a validation.
func (b *budget) release() {
	b.isValidating = false
	if b.isLarge {
		b.isLarge = false
		large.Unlock()
	}
}

func (b *budget) spend(steps int) {
	b.steps += steps
	if b.steps > b.limit {
		b.stop()
	}
}

// match accounts for a match of a pattern. The steps of all together do not depend on their order.
func (b *budget) match(instructions int) {
	b.instructions += instructions
	steps := b.instructions / instructionsPerStep
	b.instructions %= instructionsPerStep
	b.spend(steps)
}

func (b *budget) stop() {
	b.steps = b.limit + 1
	panic(errBudget)
}

// Validate is called for every subschema when all else of it has been checked.
func (b *budget) Validate(ctx *jsonschema.ValidatorContext, _ any) {
	b.spend(1)
	b.charge(ctx)
}

// charge accounts for the errors of the subschema that is being evaluated.
func (b *budget) charge(ctx *jsonschema.ValidatorContext) {
	if b.ignoreErrors {
		return
	}
	count := errorCount(ctx)
	if count == 0 {
		return
	}
	b.bytes += count * (bytesPerError + bytesPerLevel*len(ctx.ValueLocation()))
	if b.bytes > cmp.Or(b.maxBytes, maxErrorBytes) {
		b.stop()
	}
	if b.bytes > smallErrorBytes && !b.isLarge {
		large.Lock()
		b.isLarge = true
	}
}

// errorFields is where a context of the validator keeps the errors of a subschema. The library
// has no way to ask for them. TestSchemaErrorsAreBounded fails if it moves them.
var errorFields = func() [2]int {
	context := reflect.TypeFor[jsonschema.ValidatorContext]()
	validator, ok := context.FieldByName("vd")
	if !ok {
		return [2]int{-1}
	}
	collected, ok := validator.Type.Elem().FieldByName("errors")
	if !ok {
		return [2]int{-1}
	}
	return [2]int{validator.Index[0], collected.Index[0]}
}()

// errorCount is how many errors the subschema has so far. In doubt it has one.
func errorCount(ctx *jsonschema.ValidatorContext) int {
	if errorFields[0] < 0 {
		return 1
	}
	return reflect.ValueOf(ctx).Elem().Field(errorFields[0]).Elem().Field(errorFields[1]).Len()
}

// weigher charges for errors without counting a step.
type weigher struct{ budget *budget }

// Validate implements jsonschema.SchemaExt.
func (w weigher) Validate(ctx *jsonschema.ValidatorContext, _ any) { w.budget.charge(ctx) }

// watch puts a schema around those that every entry of a list or an object is checked with. The
// validator leaves a subschema early when the type is wrong, before it asks the budget; a list of
// a million wrong entries would not be noticed until all their errors are there. Long enums
// are looked up in. It returns the titles of all subschemas, by location.
func (b *budget) watch(root *jsonschema.Schema) map[string]string {
	titles := map[string]string{}
	seen := map[*jsonschema.Schema]bool{}
	pending := []*jsonschema.Schema{root}
	for len(pending) > 0 {
		s := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		if s.Title != "" {
			titles[s.Location] = s.Title
		}
		pending = append(pending, subschemas(s)...)
		indexEnum(s)
		s.Items2020, s.Contains = b.around(s.Items2020), b.around(s.Contains)
		s.UnevaluatedItems, s.UnevaluatedProperties = b.around(s.UnevaluatedItems), b.around(s.UnevaluatedProperties)
		s.Items, s.AdditionalItems = b.aroundAny(s.Items), b.aroundAny(s.AdditionalItems)
		s.AdditionalProperties = b.aroundAny(s.AdditionalProperties)
		for key, child := range s.PatternProperties {
			s.PatternProperties[key] = b.around(child)
		}
	}
	return titles
}

func (b *budget) aroundAny(v any) any {
	if s, ok := v.(*jsonschema.Schema); ok {
		return b.around(s)
	}
	return v
}

// around is a schema that has nothing but the given one, with the same place and unexported parts.
func (b *budget) around(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil || s.Types == nil && s.Const == nil && s.Enum == nil && s.Format == nil && s.Bool == nil {
		return s
	}
	outer := new(jsonschema.Schema)
	*outer = *s
	fields := reflect.ValueOf(outer).Elem()
	for i := range fields.NumField() {
		if field := fields.Type().Field(i); field.IsExported() && field.Name != "DraftVersion" && field.Name != "Location" {
			fields.Field(i).SetZero()
		}
	}
	outer.AllOf = []*jsonschema.Schema{s}
	outer.Extensions = []jsonschema.SchemaExt{weigher{b}}
	return outer
}

// subschemas lists what a schema consists of.
func subschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
		s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema}
	if s.DynamicRef != nil {
		list = append(list, s.DynamicRef.Ref)
	}
	for _, several := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		list = append(list, several...)
	}
	for _, one := range s.Properties {
		list = append(list, one)
	}
	for _, one := range s.PatternProperties {
		list = append(list, one)
	}
	for _, one := range s.DependentSchemas {
		list = append(list, one)
	}
	for _, one := range s.Dependencies {
		if one, ok := one.(*jsonschema.Schema); ok {
			list = append(list, one)
		}
	}
	for _, other := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch other := other.(type) {
		case *jsonschema.Schema:
			list = append(list, other)
		case []*jsonschema.Schema:
			list = append(list, other...)
		}
	}
	return list
}
