package expr

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/value"
	"github.com/itchyny/gojq"
)

// languageNames are the variables that are bound everywhere (docs/language/expressions.md, T11).
var languageNames = []string{"context", "input", "output", "secrets", "task", "workflow", "runtime", "authorization"}

// IsLanguageName reports whether every expression may use $name.
func IsLanguageName(name string) bool { return slices.Contains(languageNames, name) }

// bindingKind says what a name stands for.
type bindingKind uint8

const (
	variableBinding bindingKind = iota // $name
	closureBinding                     // a parameter of a function of the expression
	argumentBinding                    // a parameter of a built-in function
	functionBinding
	labelBinding
)

// binding is a name that is visible at some place of the source; they are a list, innermost
// first.
type binding struct {
	up       *binding
	kind     bindingKind
	name     string
	arity    int
	level    int       // frames outside of its own frame, or of the definition
	function *function // of a functionBinding; of a closureBinding the one whose parameter it is
	index    int       // of the parameter
	argument node      // of an argumentBinding
}

// location is where in the source the compiler is.
type location struct {
	names *binding
	level int  // frames around it
	tail  bool // nothing remains to be done after it in the function around it
}

func (p location) inner() location {
	p.tail = false
	return p
}

func (p location) bind(b binding) location {
	b.up = p.names
	p.names = &b
	return p
}

// bindFrame adds a name that takes a frame.
func (p location) bindFrame(kind bindingKind, name string) location {
	p = p.bind(binding{kind: kind, name: name, level: p.level})
	p.level++
	return p
}

func (p location) find(kinds func(*binding) bool) *binding {
	for b := p.names; b != nil; b = b.up {
		if kinds(b) {
			return b
		}
	}
	return nil
}

// hops is how many frames lie between the place and that of b.
func (p location) hops(b *binding) int { return p.level - 1 - b.level }

// compiler turns the syntax tree into nodes.
type compiler struct {
	source  string
	locals  []string
	names   []string // variables referred to, in the order of run.values
	count   int
	depth   int
	deepest int
	// inPrelude is set within a definition of the prelude, which may use hidden functions.
	inPrelude bool
}

func (c *compiler) fail(token, detail, hint string) error {
	line, column := locateToken(c.source, token)
	return &CompileError{Line: line, Column: column, Detail: detail, Hint: hint}
}

var (
	identity node = identityNode{}
	nothing  node = emptyNode{}
	truth    node = &constantNode{value: true}
	falsity  node = &constantNode{value: false}
	null     node = &constantNode{}
)

// enter counts a part of the source; the caller leaves with c.depth--.
func (c *compiler) enter() error {
	c.count++
	c.depth++
	c.deepest = max(c.deepest, c.depth)
	if c.depth > maxSourceDepth {
		return &CompileError{Line: 1, Column: 1, Detail: fmt.Sprintf("The expression is nested more than %d levels deep.", maxSourceDepth)}
	}
	if c.count > maxSourceNodes {
		return &CompileError{Line: 1, Column: 1, Detail: fmt.Sprintf("The expression has more than %d parts.", maxSourceNodes)}
	}
	return nil
}

// measure compiles something and tells how many levels of evaluation it takes.
func (c *compiler) measure(compile func() (node, error)) (node, int, error) {
	before := c.deepest
	c.deepest = c.depth
	n, err := compile()
	levels := c.deepest - c.depth + 1
	c.deepest = max(before, c.deepest)
	return n, levels, err
}

func (c *compiler) query(q *gojq.Query, p location) (node, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer func() { c.depth-- }()
	if q.Meta != nil || len(q.Imports) > 0 {
		return nil, c.fail("", "Modules are not available in expressions.", "")
	}
	for _, def := range q.FuncDefs {
		var err error
		if p, err = c.define(def, p); err != nil {
			return nil, err
		}
	}
	if q.Term != nil {
		return c.term(q.Term, p)
	}
	switch q.Op {
	case 0:
		return nil, c.fail("", "The expression is empty.", "write . for the input itself")
	case gojq.OpPipe:
		return c.pipe(q, p)
	case gojq.OpComma:
		return c.comma(q, p)
	case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul,
		gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		return c.update(q, p)
	}
	left, err := c.query(q.Left, p.inner())
	if err != nil {
		return nil, err
	}
	rightLocation := p.inner()
	if q.Op == gojq.OpAlt {
		rightLocation = p
	}
	right, err := c.query(q.Right, rightLocation)
	if err != nil {
		return nil, err
	}
	both := sometimes{left.single() && right.single()}
	switch q.Op {
	case gojq.OpAlt:
		return &elseNode{both, left, right}, nil
	case gojq.OpAnd, gojq.OpOr:
		check := &ifNode{sometimes{right.single()}, right, truth, falsity}
		if q.Op == gojq.OpAnd {
			return &ifNode{both, left, check, falsity}, nil
		}
		return &ifNode{both, left, truth, check}, nil
	}
	return &operatorNode{both, operators[q.Op], left, right}, nil
}

var operators = map[gojq.Operator]operator{
	gojq.OpAdd: opAdd, gojq.OpUpdateAdd: opAdd,
	gojq.OpSub: opSubtract, gojq.OpUpdateSub: opSubtract,
	gojq.OpMul: opMultiply, gojq.OpUpdateMul: opMultiply,
	gojq.OpDiv: opDivide, gojq.OpUpdateDiv: opDivide,
	gojq.OpMod: opModulo, gojq.OpUpdateMod: opModulo,
	gojq.OpUpdateAlt: opAlternative,
	gojq.OpEq:        opEqual, gojq.OpNe: opNotEqual,
	gojq.OpLt: opLess, gojq.OpLe: opLessEqual,
	gojq.OpGt: opGreater, gojq.OpGe: opGreaterEqual,
}

// comma compiles a, b, c. The parser nests such lists to the left.
func (c *compiler) comma(q *gojq.Query, p location) (node, error) {
	queries := []*gojq.Query{q.Right}
	for q = q.Left; q.Op == gojq.OpComma && q.Term == nil && len(q.FuncDefs) == 0; q = q.Left {
		queries = append(queries, q.Right)
	}
	queries = append(queries, q)
	n := &commaNode{parts: make([]node, len(queries))}
	for i := range n.parts {
		at := p.inner()
		if i == len(n.parts)-1 {
			at = p
		}
		var err error
		if n.parts[i], err = c.query(queries[len(queries)-1-i], at); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (c *compiler) pipe(q *gojq.Query, p location) (node, error) {
	left, err := c.query(q.Left, p.inner())
	if err != nil {
		return nil, err
	}
	if len(q.Patterns) > 0 {
		return c.bind(left, q.Patterns, q.Right, p)
	}
	p.tail = p.tail && left.single()
	right, err := c.query(q.Right, p)
	if err != nil {
		return nil, err
	}
	return join(left, right), nil
}

// join is left | right.
func join(left, right node) node {
	if _, ok := left.(identityNode); ok {
		return right
	}
	if _, ok := right.(identityNode); ok {
		return left
	}
	if fields, ok := right.(*fieldsNode); ok {
		if _, ok := fields.base.(identityNode); ok {
			return fieldsOf(left, fields.keys...)
		}
	}
	return &pipeNode{sometimes{left.single() && right.single()}, left, right}
}

// fieldsOf is base indexed by constants.
func fieldsOf(base node, keys ...Value) node {
	if inner, ok := base.(*fieldsNode); ok {
		return &fieldsNode{inner.sometimes, inner.base, slices.Concat(inner.keys, keys)}
	}
	return &fieldsNode{sometimes{base.single()}, base, keys}
}

func (c *compiler) bind(source node, patterns []*gojq.Pattern, body *gojq.Query, p location) (node, error) {
	m, inside, err := c.patterns(patterns, p)
	if err != nil {
		return nil, err
	}
	simple := len(patterns) == 1 && patterns[0].Name != ""
	inside.tail = p.tail && simple && source.single()
	n, err := c.query(body, inside)
	if err != nil {
		return nil, err
	}
	return &bindNode{sometimes{simple && source.single() && n.single()}, source, m, n}, nil
}

// update compiles an assignment.
func (c *compiler) update(q *gojq.Query, p location) (node, error) {
	p.tail = false
	paths, err := c.query(q.Left, p)
	if err != nil {
		return nil, err
	}
	right, err := c.query(q.Right, p)
	if err != nil {
		return nil, err
	}
	switch q.Op {
	case gojq.OpAssign:
		if fields, ok := paths.(*fieldsNode); ok && isPath(q.Left) {
			return &assignNode{sometimes{right.single()}, nil, fields.keys, right}, nil
		}
		return &assignNode{paths: paths, value: right}, nil
	case gojq.OpModify:
		return &modifyNode{sometimes: sometimes{true}, paths: paths, change: right}, nil
	default:
		return &modifyNode{sometimes{right.single()}, paths, nil, operators[q.Op], right}, nil
	}
}

// isPath reports whether q is written as one path like .a.b[0], if its indices are constant.
func isPath(q *gojq.Query) bool {
	t := q.Term
	if t == nil || t.Type != gojq.TermTypeIndex && (t.Type != gojq.TermTypeQuery || !isPath(t.Query)) {
		return false
	}
	for _, suffix := range t.SuffixList {
		if suffix.Index == nil {
			return false
		}
	}
	return true
}

// constantOf is the value of a number or text that stands for itself as an index.
func (c *compiler) constantOf(q *gojq.Query) (Value, bool, error) {
	if q == nil || q.Term == nil || len(q.Term.SuffixList) > 0 {
		return nil, false, nil
	}
	t := q.Term
	switch t.Type {
	case gojq.TermTypeString:
		return t.Str.Str, t.Str.Queries == nil, nil
	case gojq.TermTypeNumber:
		v, err := c.number(t.Number)
		return v, true, err
	case gojq.TermTypeUnary:
		inner := t.Unary.Term
		if inner.Type == gojq.TermTypeNumber && len(inner.SuffixList) == 0 {
			v, err := c.number(inner.Number)
			if err == nil && t.Unary.Op == gojq.OpSub {
				v, err = opNegate(nil, v, nil)
			}
			return v, true, err
		}
	}
	return nil, false, nil
}

// number reads a number of the source.
func (c *compiler) number(text string) (Value, error) {
	if len(text) > value.MaxIntegerDigits && !strings.ContainsAny(text, ".eE") {
		return nil, c.fail(text[:value.MaxIntegerDigits], fmt.Sprintf("An integer has at most %d digits.", value.MaxIntegerDigits), "")
	}
	r := evaluation{steps: MaxSteps, bytes: maxAllocated}
	v, ok, err := r.parseNumber(text)
	if err != nil || !ok {
		return nil, c.fail(text, "The number cannot be read.", "")
	}
	if f, ok := v.(float64); ok && math.IsInf(f, 0) {
		return math.MaxFloat64, nil
	}
	return v, nil
}
