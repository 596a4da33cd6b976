package plan

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/chargehand/chargehand/internal/value"
)

// explain flattens the tree of errors to its leaves: the causes, not the keywords around them.
// The validator walks maps, so they are brought into an order of their own.
func (s *Schema) explain(e *jsonschema.ValidationError) []SchemaProblem {
	var leaves []*jsonschema.ValidationError
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		if len(e.Causes) > 0 && !isAlternative(e.ErrorKind) {
			for _, cause := range e.Causes {
				visit(cause)
			}
			return
		}
		leaves = append(leaves, e)
	}
	visit(e)
	// Only the pointers of what is shown are made: with a long name above very many errors, all would take gigabytes.
	slices.SortFunc(leaves, func(a, b *jsonschema.ValidationError) int {
		return comparePositions(a.InstanceLocation, b.InstanceLocation)
	})
	problems := make([]SchemaProblem, 0, min(len(leaves), maxSchemaProblems))
	at, size := "", 0
	for i, leaf := range leaves {
		if i == 0 || comparePositions(leaf.InstanceLocation, leaves[i-1].InstanceLocation) != 0 {
			if len(problems) >= maxSchemaProblems || size > maxPointerBytes {
				break // whatever comes later will not be among the first
			}
			at = pointer(leaf.InstanceLocation)
		}
		found := s.problemsOf(leaf, at)
		problems, size = append(problems, found...), size+len(found)*len(at)
	}
	slices.SortFunc(problems, func(a, b SchemaProblem) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Detail, b.Detail))
	})
	problems = slices.Compact(problems)
	problems = problems[:min(len(problems), maxSchemaProblems)]
	size = 0
	for i := range problems {
		if size += len(problems[i].Pointer); size > maxPointerBytes && i > 0 {
			return problems[:i]
		}
	}
	return problems
}

// comparePositions compares the JSON pointers of two positions, without making them.
func comparePositions(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		same := 0
		for same < min(len(a[i]), len(b[i])) && a[i][same] == b[i][same] {
			same++
		}
		return cmp.Compare(rank(a, i, same), rank(b, i, same))
	}
	return cmp.Compare(len(a), len(b))
}

// rank orders what follows the first bytes of a token in a pointer.
func rank(path []string, token, first int) int {
	switch text := path[token]; {
	case first == len(text) && token == len(path)-1:
		return -1
	case first == len(text):
		return 2 * '/'
	case text[first] == '/': // ~1 in a pointer, as ~ is ~0
		return 2*'~' + 1
	default:
		return 2 * int(text[first])
	}
}

// isAlternative tells keywords whose causes are ways that all failed: which of them was
// meant is unknown.
func isAlternative(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Contains, *kind.MinContains:
		return true
	}
	return false
}

// problemsOf words one error. Of properties that are missing or not allowed each is a problem of
// its own, at the place where it should be or is, so that a form can show it there.
func (s *Schema) problemsOf(e *jsonschema.ValidationError, at string) []SchemaProblem {
	keyword := ""
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		keyword = path[0]
	}
	var names []string
	var word string
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		names, word = k.Properties, " is not allowed"
	case *kind.Required:
		names, word = k.Missing, " is missing"
	case *kind.DependentRequired:
		names, word = k.Missing, " is missing, because "+quotedName(k.Prop)+" is there"
	case *kind.Dependency:
		names, word = k.Missing, " is missing, because "+quotedName(k.Prop)+" is there"
	default:
		predicate := s.detail(e)
		detail := predicate
		if what := s.titled(e); what != "" {
			detail = what + " " + predicate
		}
		return []SchemaProblem{{
			Pointer: at, Keyword: keywordOf(e.ErrorKind, keyword), Detail: shown(detail, maxDetail), Predicate: shown(predicate, maxDetail),
		}}
	}
	slices.Sort(names)
	problems := make([]SchemaProblem, 0, min(len(names), maxSchemaProblems))
	for _, name := range names[:min(len(names), maxSchemaProblems)] {
		what := theProperty + quotedName(name)
		if title := s.title(e.SchemaURL + "/properties" + pointerTo(name)); title != "" {
			what += " (" + shown(title, maxShown) + ")"
		}
		problems = append(problems, SchemaProblem{Pointer: at + pointerTo(name), Keyword: keyword, Detail: what + word, Predicate: word[1:]})
	}
	return problems
}

func keywordOf(k jsonschema.ErrorKind, keyword string) string {
	switch k.(type) {
	case *kind.Not:
		return "not"
	case *kind.FalseSchema:
		return "false"
	}
	return keyword
}

// title is what the author calls the value that the schema at a location describes.
func (s *Schema) title(location string) string { return s.titles[location] }

// theProperty begins a detail that names a property.
const theProperty = "the property "

// titled names a value that has a title: by its place, because a title alone reads as if it were the value. Empty: it
// has no title, or is the whole input.
func (s *Schema) titled(e *jsonschema.ValidationError) string {
	title, at := s.title(e.SchemaURL), e.InstanceLocation
	if title == "" || len(at) == 0 {
		return ""
	}
	what := theProperty + quotedName(at[len(at)-1])
	if _, err := strconv.ParseUint(at[len(at)-1], 10, 64); err == nil { // of a list, as good as always
		what = "item " + at[len(at)-1]
	}
	return what + " (" + shown(title, maxShown) + ")"
}

// detail says what is wrong with a value, as the predicate of a sentence.
func (s *Schema) detail(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return "matches none of the alternatives: " + s.alternatives(e.Causes)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return fmt.Sprintf("matches more than one of the alternatives (%d and %d)", k.Subschemas[0]+1, k.Subschemas[1]+1)
		}
		return "matches none of the alternatives: " + s.alternatives(e.Causes)
	case *kind.Not:
		return "matches what it must not match"
	case *kind.FalseSchema:
		return "is not allowed here"
	case *kind.Contains, *kind.MinContains:
		return "has too few items of the wanted form"
	case *kind.MaxContains:
		return "has too many items of the form that is bounded"
	case *kind.Type:
		return "must be " + typeList(k.Want) + ", but is " + withArticle(k.Got)
	case *kind.Enum:
		return "must be " + valueList(k.Want) + ", but is " + shownValue(k.Got)
	case *kind.Const:
		return "must be " + shownValue(k.Want) + ", but is " + shownValue(k.Got)
	case *kind.Format:
		return "is not " + formatName(k.Want)
	case *kind.Pattern:
		return "must match the pattern " + quotedName(k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("has the same item twice, at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.PropertyNames:
		return "has a property " + quotedName(k.Property) + ", whose name is not allowed"
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items more than are allowed", k.Count)
	}
	if text := numberDetail(e.ErrorKind); text != "" {
		return text
	}
	return e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
}

func numberDetail(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "must be at least " + number(k.Want) + ", but is " + number(k.Got)
	case *kind.Maximum:
		return "must be at most " + number(k.Want) + ", but is " + number(k.Got)
	case *kind.ExclusiveMinimum:
		return "must be more than " + number(k.Want) + ", but is " + number(k.Got)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want) + ", but is " + number(k.Got)
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want) + ", but is " + number(k.Got)
	case *kind.MinLength:
		return counted("at least", k.Want, "character", k.Got)
	case *kind.MaxLength:
		return counted("at most", k.Want, "character", k.Got)
	case *kind.MinItems:
		return counted("at least", k.Want, "item", k.Got)
	case *kind.MaxItems:
		return counted("at most", k.Want, "item", k.Got)
	case *kind.MinProperties:
		return counted("at least", k.Want, "property", k.Got)
	case *kind.MaxProperties:
		return counted("at most", k.Want, "property", k.Got)
	}
	return ""
}

func counted(bound string, want int, what string, got int) string {
	if want != 1 {
		if what == "property" {
			what = "propertie"
		}
		what += "s"
	}
	return fmt.Sprintf("must have %s %d %s, but has %d", bound, want, what, got)
}

func (s *Schema) alternatives(causes []*jsonschema.ValidationError) string {
	var details []string
	for _, cause := range causes {
		for _, p := range s.explain(cause) {
			if strings.HasPrefix(p.Detail, theProperty) {
				p.Pointer = p.Pointer[:strings.LastIndexByte(p.Pointer, '/')]
			}
			if p.Pointer != "" {
				p.Detail = p.Pointer + " " + p.Detail
			}
			details = append(details, p.Detail)
		}
		if len(details) >= 4 {
			break
		}
	}
	slices.Sort(details)
	return strings.Join(slices.Compact(details), "; ")
}

const (
	// maxShown bounds a name or value in a detail, in bytes.
	maxShown = 80
	// maxListed bounds the values that a detail lists.
	maxListed = 8
	// maxNumberDigits bounds a number in a detail.
	maxNumberDigits = 40
)

func shown(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// quotedName is a name between double quotes, which every message here uses.
func quotedName(name string) string { return string(value.Marshal(shown(name, maxShown))) }

// shownValue is a value as JSON. Large ones are only named by their type.
func shownValue(v any) string {
	switch v := v.(type) {
	case string:
		return quotedName(v)
	case map[string]any:
		if len(v) > 0 {
			return "an object"
		}
	case []any:
		if len(v) > 0 {
			return "an array"
		}
	}
	if text, ok := v.(fmt.Stringer); ok { // a large number
		return shown(text.String(), maxNumberDigits)
	}
	return shown(string(value.Marshal(v)), maxShown)
}

func valueList(values []any) string {
	var b strings.Builder
	for i, v := range values {
		switch {
		case i == maxListed:
			fmt.Fprintf(&b, " or one of %d more", len(values)-maxListed)
			return b.String()
		case i > 0 && i == len(values)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(shownValue(v))
	}
	return b.String()
}

func typeList(types []string) string {
	named := make([]string, len(types))
	for i, t := range types {
		named[i] = withArticle(t)
	}
	if last := len(named) - 1; last > 0 {
		return strings.Join(named[:last], ", ") + " or " + named[last]
	}
	return strings.Join(named, "")
}

// withArticle is a type of JSON as a sentence names it.
func withArticle(t string) string {
	switch t {
	case "null":
		return "null"
	case "integer":
		return "a whole number"
	case "array", "object":
		return "an " + t
	}
	return "a " + t
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return shown(r.Num().String(), maxNumberDigits)
	}
	if f, exact := r.Float64(); exact {
		return fmt.Sprint(f)
	}
	return strings.TrimRight(r.FloatString(10), "0")
}
