package expr

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// UsesInput reports whether the result may depend on the input, or on anything else but
// variables. It says so in case of doubt.
func (e *Expression) UsesInput() bool { return e.input }

// IsPath reports whether the expression only selects a part of its input, by names and
// places that are written in it: such as .data.id or .items[0].
func (e *Expression) IsPath() bool {
	root := e.root
	if fields, ok := root.(*fieldsNode); ok {
		root = fields.base
	}
	_, ok := root.(identityNode)
	return ok && e.plain
}

func queryUsesInput(q *gojq.Query) bool {
	switch {
	case q == nil:
		return false
	case len(q.FuncDefs) > 0 || len(q.Patterns) > 0:
		return true
	case q.Term != nil:
		return termUsesInput(q.Term)
	case q.Op == gojq.OpPipe: // the right side gets what the left one gives
		return queryUsesInput(q.Left)
	case q.Left != nil && q.Right != nil:
		return queryUsesInput(q.Left) || queryUsesInput(q.Right)
	}
	return true
}

func termUsesInput(t *gojq.Term) bool {
	if slices.ContainsFunc(t.SuffixList, suffixUsesInput) {
		return true
	}
	switch t.Type {
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber:
		return false
	case gojq.TermTypeString:
		return stringUsesInput(t.Str)
	case gojq.TermTypeFunc:
		return !strings.HasPrefix(t.Func.Name, "$")
	case gojq.TermTypeArray:
		return queryUsesInput(t.Array.Query)
	case gojq.TermTypeQuery:
		return queryUsesInput(t.Query)
	case gojq.TermTypeObject:
		return slices.ContainsFunc(t.Object.KeyVals, entryUsesInput)
	}
	return true
}

func suffixUsesInput(s *gojq.Suffix) bool {
	if s.Index == nil {
		return !s.Iter && !s.Optional
	}
	return stringUsesInput(s.Index.Str) || queryUsesInput(s.Index.Start) || queryUsesInput(s.Index.End)
}

func entryUsesInput(kv *gojq.ObjectKeyVal) bool {
	if kv.Val == nil && !strings.HasPrefix(kv.Key, "$") {
		return true // {name} stands for {name: .name}
	}
	return stringUsesInput(kv.KeyString) || queryUsesInput(kv.KeyQuery) || queryUsesInput(kv.Val)
}

func stringUsesInput(s *gojq.String) bool {
	return s != nil && slices.ContainsFunc(s.Queries, queryUsesInput)
}
