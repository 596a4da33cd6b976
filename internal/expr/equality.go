package expr

import (
	"strings"

	"github.com/itchyny/gojq"
)

// Equality is a comparison of a part of the input with something.
type Equality struct {
	Path  string // an expression that IsPath
	Value string // a constant, a variable, or a part of a variable
}

// Equalities lists comparisons without which an expression does not give true: those with == that
// are the whole of it, or that `and` joins to the rest. Where it does not give true, it gives false
// or fails. A text that is no expression has none.
func Equalities(source string) (list []Equality) {
	query, err := gojq.Parse(source)
	if err != nil {
		return nil
	}
	return equalities(nil, query, 0)
}

// maxConjuncts bounds the depth of the search.
const maxConjuncts = 20

func equalities(list []Equality, q *gojq.Query, depth int) []Equality {
	if q == nil || len(q.FuncDefs) > 0 || len(q.Patterns) > 0 || depth > maxConjuncts {
		return list
	}
	if q.Term != nil && q.Term.Type == gojq.TermTypeQuery && len(q.Term.SuffixList) == 0 {
		return equalities(list, q.Term.Query, depth+1)
	}
	switch q.Op {
	case gojq.OpAnd:
		return equalities(equalities(list, q.Left, depth+1), q.Right, depth+1)
	case gojq.OpEq:
		for _, sides := range [2][2]*gojq.Query{{q.Left, q.Right}, {q.Right, q.Left}} {
			path, err := Compile(sides[0].String(), nil)
			if err == nil && path.IsPath() && isSimple(sides[1]) {
				return append(list, Equality{sides[0].String(), sides[1].String()})
			}
		}
	}
	return list
}

// isSimple reports whether an expression is a constant, a variable, or selects a part of a variable by names.
func isSimple(q *gojq.Query) bool {
	if q.Term == nil || len(q.FuncDefs) > 0 || len(q.Patterns) > 0 {
		return false
	}
	t := q.Term
	for _, s := range t.SuffixList {
		if s.Index == nil || s.Index.Name == "" {
			return false
		}
	}
	switch t.Type {
	case gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber:
		return len(t.SuffixList) == 0
	case gojq.TermTypeString:
		return len(t.SuffixList) == 0 && len(t.Str.Queries) == 0
	case gojq.TermTypeFunc:
		return strings.HasPrefix(t.Func.Name, "$") && len(t.Func.Args) == 0
	}
	return false
}
