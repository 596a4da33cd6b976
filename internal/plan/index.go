package plan

import (
	"slices"

	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

// FilterIndex is the part of a filter that can be decided from an event alone. It may leave out
// only what the filter does not match, for an index of subscriptions.
type FilterIndex struct {
	// Equals are values that the data of every event has that the filter matches.
	Equals []DataEquality
	// Constant is the canonical JSON of those attributes of the filter, but for its type, that depend on nothing
	// but the event; CompileFilter reads it. "" if there are none.
	Constant string
}

// DataEquality is a part of the data of an event, and what it has to be.
type DataEquality struct {
	Path string // an expression on the data that only selects a part of it
	// Value is not nil, and does not change while the task listens. It is read in the task's scope.
	Value *Operand
}

// fixedNames are the names of the language whose values do not change while a task listens. ($context does: another
// branch may export.)
var fixedNames = []string{"workflow", "input"}

// indexOf finds what an index can know of a filter with these attributes.
func (l *listenCompiler) indexOf(attributes map[string]any, at location) (index FilterIndex) {
	constant := make(map[string]any)
	for name, v := range attributes {
		if name != "type" && l.isConstant(v, at) {
			constant[name] = v
		}
	}
	if len(constant) > 0 {
		index.Constant = string(value.Marshal(constant))
	}
	index.Equals = l.equalities(index.Equals, "", attributes["data"], at)
	return index
}

// isConstant reports whether a match with the value of an attribute depends on nothing but the event.
func (l *listenCompiler) isConstant(v any, at location) bool {
	switch v := v.(type) {
	case string:
		source, ok := expr.Unwrap(v)
		if !ok {
			return true
		}
		e, err := expr.Compile(source, &expr.Scope{Locals: append(slices.Clone(at.locals), EventVariable)})
		return err == nil && !clock.MatchString(source) && !slices.ContainsFunc(names[:], e.Uses) && !slices.ContainsFunc(at.locals, e.Uses)
	case map[string]any:
		for _, item := range v {
			if !l.isConstant(item, at) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !l.isConstant(item, at) })
	}
	return true
}

// equalities lists what the data, or the part of it at path, has to be equal to.
func (l *listenCompiler) equalities(list []DataEquality, path string, v any, at location) []DataEquality {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			list = l.equalities(list, path+".["+string(value.Marshal(name))+"]", v[name], at)
		}
	case string:
		source, ok := expr.Unwrap(v)
		if !ok || path != "" {
			return list // a pattern; or an expression on a part, whose path would have to be put together
		}
		for _, one := range expr.Equalities(source) {
			if value := fixedOperand(one.Value, at); value != nil {
				list = append(list, DataEquality{one.Path, value})
			}
		}
	case nil, []any:
	default:
		list = append(list, DataEquality{pathOr(path), &Operand{constant: v, isConstant: true}})
	}
	return list
}

func pathOr(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// fixedOperand compiles an expression, if what it reads does not change while the task listens.
func fixedOperand(source string, at location) *Operand {
	e, err := expr.Compile(source, &expr.Scope{Locals: at.locals})
	if err != nil || e.UsesInput() {
		return nil
	}
	for _, name := range names {
		if e.Uses(name) && (!slices.Contains(fixedNames, name) || slices.Contains(at.locals, name)) {
			return nil
		}
	}
	if slices.Contains(at.locals, EventVariable) && e.Uses(EventVariable) {
		return nil
	}
	return &Operand{source: source, expression: e}
}

// CompileFilter compiles a FilterIndex.Constant. Errors: it is none.
func CompileFilter(text string) (*EventFilter, error) {
	v, err := value.Parse([]byte(text), value.Limits{Depth: value.MaxDepth})
	if err != nil {
		return nil, err
	}
	attributes, _ := v.(map[string]any)
	f := &EventFilter{}
	for _, name := range attributeOrder(attributes) {
		m, err := constantMatch(attributes[name])
		if err != nil {
			return nil, err
		}
		f.Attributes = append(f.Attributes, AttributeFilter{Name: name, Match: m})
	}
	return f, nil
}

// constantMatch is listenCompiler.match for what depends on nothing but the event.
func constantMatch(v any) (m *Match, err error) {
	m = &Match{Fixed: -1}
	switch v := v.(type) {
	case string:
		source, ok := expr.Unwrap(v)
		if !ok {
			m.Value = v
			m.Pattern, _ = CompilePattern(v)
			return m, nil
		}
		e, err := expr.Compile(source, &expr.Scope{Locals: []string{EventVariable}})
		if err != nil {
			return nil, err
		}
		m.Operand = &Operand{source: source, expression: e}
	case map[string]any:
		m.Fields = make([]FieldMatch, 0, len(v))
		for _, name := range sortedKeys(v) {
			inner, err := constantMatch(v[name])
			if err != nil {
				return nil, err
			}
			m.Fields = append(m.Fields, FieldMatch{Name: name, Match: inner})
		}
	case []any:
		m.IsList = true
		for _, item := range v {
			inner, err := constantMatch(item)
			if err != nil {
				return nil, err
			}
			m.Items = append(m.Items, inner)
		}
	default:
		m.Value = v
	}
	return m, nil
}
