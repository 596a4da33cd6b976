package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// Mode is document.evaluate.mode.
type Mode uint8

// The two modes of docs/language/expressions.md.
const (
	Strict Mode = iota
	Loose
)

// Unwrap returns the inner text of "${ … }", if the whole of text has that form apart from
// surrounding white space (T5).
func Unwrap(text string) (source string, ok bool) {
	start, end, ok := unwrap(text)
	if !ok {
		return "", false
	}
	return text[start:end], true
}

// unwrap gives the offsets of the inner text, white space left out. "${a} and ${b}" is no
// expression: the brace that closes the first one is not the last character.
func unwrap(text string) (start, end int, ok bool) {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) < 3 || !strings.HasPrefix(trimmed, "${") || trimmed[len(trimmed)-1] != '}' {
		return 0, 0, false
	}
	offset := strings.Index(text, "${")
	if closing := closingBrace(trimmed[2:]); closing >= 0 && closing != len(trimmed)-3 {
		return 0, 0, false
	}
	inner := trimmed[2 : len(trimmed)-1]
	left := strings.TrimLeft(inner, " \t\r\n")
	start = offset + 2 + len(inner) - len(left)
	return start, start + len(strings.TrimRight(left, " \t\r\n")), true
}

// closingBrace finds the brace that closes the expression at the start of text, or -1 where
// braces, texts and comments do not match.
func closingBrace(text string) int {
	var texts []int // the depth of parentheses at each text that is interrupted by \(
	braces, parens, inText := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			if i++; i < len(text) && text[i] == '(' {
				texts, inText = append(texts, parens), false
				parens++
			}
		case c == '"':
			inText = !inText
		case inText:
		case c == '#':
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return -1
			}
			i += end
		case c == '(':
			parens++
		case c == ')':
			parens--
			if n := len(texts); n > 0 && texts[n-1] == parens {
				texts, inText = texts[:n-1], true
			}
		case c == '{':
			braces++
		case c == '}':
			if braces == 0 {
				return i
			}
			braces--
		}
	}
	return -1
}

// IsEmbedded reports whether text contains a ${ that stays literal (T5).
func IsEmbedded(text string) bool {
	if !strings.Contains(text, "${") {
		return false
	}
	_, _, ok := unwrap(text)
	return !ok
}

// CompileOperand compiles the text of an expression operand, which may be written with or without
// ${ } (T4). Both forms mean the same in both modes; in particular there is no literal
// fallback in the loose one, because a mistyped condition would then always be true. Positions
// in errors count from the start of text. Errors are *CompileError.
func CompileOperand(text string, _ Mode, s *Scope) (*Expression, error) {
	start, end, ok := unwrap(text)
	if !ok {
		return Compile(text, s)
	}
	return compilePart(text, start, end, s)
}

// compilePart compiles text[start:end] and moves the place of an error to that in text.
func compilePart(text string, start, end int, s *Scope) (*Expression, error) {
	e, err := Compile(text[start:end], s)
	if problem, ok := err.(*CompileError); ok {
		line, column := position(text, start)
		if problem.Line == 1 {
			problem.Column += column - 1
		}
		problem.Line += line - 1
	}
	return e, err
}

// The codes of TemplateProblem.
const (
	CodeInvalidExpression  = "invalid_expression"  // a text in ${ } does not compile
	CodeEmbeddedExpression = "embedded_expression" // warning: a ${ inside of a text stays literal
	CodeSeveralResults     = "several_results"     // warning: see Expression.Warnings
	CodeTemplateTooDeep    = "too_deep"            // more than MaxDepth levels of nesting
)

// TemplateProblem is one wrong or suspicious text in a value operand.
type TemplateProblem struct {
	Pointer string // JSON pointer into the value; "" is the whole value
	Warning bool   // the template works nevertheless
	Code    string // stable, snake_case
	Line    int    // from 1, within the text at Pointer
	Column  int    // from 1
	Detail  string
	Hint    string
}

// Template is a compiled value operand.
type Template struct {
	root  part
	value Value // the constant, if there is no expression
	size  int   // of all that is constant
	names []string
}

// part is a part of a template that holds an expression.
type part interface {
	eval(m *mold) (Value, error)
}

// mold is one evaluation of a template.
type mold struct {
	dot  Value
	env  *onceEnv
	size int
}

// onceEnv asks for each variable at most once in a whole template.
type onceEnv struct {
	env    Env
	names  []string
	values []Value
}

func (e *onceEnv) NowMs() int64 { return e.env.NowMs() }

func (e *onceEnv) Spent(steps int) {
	if meter, ok := e.env.(Meter); ok {
		meter.Spent(steps)
	}
}

func (e *onceEnv) Variable(name string) Value {
	for i, known := range e.names {
		if known == name {
			return e.values[i]
		}
	}
	v := e.env.Variable(name)
	e.names, e.values = append(e.names, name), append(e.values, v)
	return v
}

// expressionPart is a text that is an expression. In loose mode a bare text that fails stands
// for itself.
type expressionPart struct {
	expression *Expression
	literal    string
	fallback   bool
	depth      int // of the place in the template
}

type objectPart struct {
	constant map[string]any // the whole object, with null instead of each expression
	keys     []string       // in order
	parts    []part
}

type listPart struct {
	constant []any
	indexes  []int
	parts    []part
}

// CompileTemplate compiles a value whose nested texts may be expressions: those in ${ }, and
// in loose mode every text that can be evaluated. Keys are never expressions. The template is
// nil if one of the problems is more than a warning. The parts of v are kept and must not
// change any more.
func CompileTemplate(v Value, m Mode, s *Scope) (*Template, []TemplateProblem) {
	c := templateCompiler{mode: m, scope: s}
	root := c.compile(v, "", 0)
	for _, p := range c.problems {
		if !p.Warning {
			return nil, c.problems
		}
	}
	t := &Template{root: root, size: value.Size(v), names: c.names}
	if root == nil {
		t.value = v
	}
	return t, c.problems
}

type templateCompiler struct {
	mode     Mode
	scope    *Scope
	names    []string
	problems []TemplateProblem
}

// compile returns nil for a constant.
func (c *templateCompiler) compile(v Value, pointer string, depth int) part {
	if depth > value.MaxDepth {
		c.problems = append(c.problems, TemplateProblem{Pointer: pointer, Code: CodeTemplateTooDeep, Line: 1, Column: 1,
			Detail: fmt.Sprintf("The value is nested more than %d levels deep.", value.MaxDepth)})
		return nil
	}
	switch v := v.(type) {
	case string:
		return c.text(v, pointer, depth)
	case map[string]any:
		o := &objectPart{}
		for _, k := range value.SortedKeys(v) {
			if part := c.compile(v[k], pointer+"/"+jsonpointer.Escape(k), depth+1); part != nil {
				o.keys, o.parts = append(o.keys, k), append(o.parts, part)
			}
		}
		if o.keys == nil {
			return nil
		}
		o.constant = maps.Clone(v)
		for _, k := range o.keys {
			o.constant[k] = nil
		}
		return o
	case []any:
		l := &listPart{}
		for i, w := range v {
			if part := c.compile(w, fmt.Sprintf("%s/%d", pointer, i), depth+1); part != nil {
				l.indexes, l.parts = append(l.indexes, i), append(l.parts, part)
			}
		}
		if l.indexes == nil {
			return nil
		}
		l.constant = slices.Clone(v)
		for _, i := range l.indexes {
			l.constant[i] = nil
		}
		return l
	}
	return nil
}

func (c *templateCompiler) text(text, pointer string, depth int) part {
	if start, end, ok := unwrap(text); ok {
		e, err := compilePart(text, start, end, c.scope)
		if err != nil {
			c.problem(pointer, err.(*CompileError))
			return nil
		}
		return c.part(e, text, pointer, depth, false)
	}
	if IsEmbedded(text) {
		line, column := position(text, strings.Index(text, "${"))
		c.problems = append(c.problems, TemplateProblem{Pointer: pointer, Warning: true, Code: CodeEmbeddedExpression,
			Line: line, Column: column,
			Detail: "A ${ inside of a text is not evaluated: only a text that is ${ } as a whole is an expression.",
			Hint:   `write ${ "… \(.field) …" } to put values into a text`})
	}
	if c.mode == Loose {
		if e, err := Compile(text, c.scope); err == nil {
			return c.part(e, text, pointer, depth, true)
		}
	}
	return nil
}

func (c *templateCompiler) part(e *Expression, text, pointer string, depth int, fallback bool) part {
	for _, name := range e.names {
		if !slices.Contains(c.names, name) {
			c.names = append(c.names, name)
		}
	}
	for _, warning := range e.warnings {
		c.problems = append(c.problems, TemplateProblem{Pointer: pointer, Warning: true, Code: CodeSeveralResults,
			Line: 1, Column: 1, Detail: warning})
	}
	return &expressionPart{e, text, fallback, depth}
}

func (c *templateCompiler) problem(pointer string, err *CompileError) {
	c.problems = append(c.problems, TemplateProblem{Pointer: pointer, Code: CodeInvalidExpression,
		Line: err.Line, Column: err.Column, Detail: err.Detail, Hint: err.Hint})
}

// Eval evaluates every expression in the template, in the order of keys and entries, and returns
// the template with the results instead. Constant parts are shared with the template. The bounds of an
// expression hold for each expression, and for the result as a whole. Errors are *EvalError.
func (t *Template) Eval(dot Value, env Env) (Value, error) {
	if t.root == nil {
		return t.value, nil
	}
	if single, ok := t.root.(*expressionPart); ok && !single.fallback {
		return single.expression.Eval(dot, env)
	}
	m := mold{dot: dot, env: &onceEnv{env: env}, size: t.size}
	return t.root.eval(&m)
}

func (s *expressionPart) eval(m *mold) (Value, error) {
	v, err := s.expression.Eval(m.dot, m.env)
	if err != nil {
		if limit, ok := err.(*EvalError); s.fallback && ok && !limit.Limit && !limit.Denied {
			return s.literal, nil
		}
		return nil, err
	}
	if err := measure(v, s.depth, &m.size); err != nil {
		return nil, evalError(err)
	}
	return v, nil
}

func (s *objectPart) eval(m *mold) (Value, error) {
	object := make(map[string]any, len(s.constant))
	maps.Copy(object, s.constant)
	for i, k := range s.keys {
		v, err := s.parts[i].eval(m)
		if err != nil {
			return nil, err
		}
		object[k] = v
	}
	return object, nil
}

func (s *listPart) eval(m *mold) (Value, error) {
	list := slices.Clone(s.constant)
	for i, location := range s.indexes {
		v, err := s.parts[i].eval(m)
		if err != nil {
			return nil, err
		}
		list[location] = v
	}
	return list, nil
}

// Constant returns the value, if it holds no expression.
func (t *Template) Constant() (Value, bool) { return t.value, t.root == nil }

// Uses reports whether an expression in the template refers to $name.
func (t *Template) Uses(name string) bool { return slices.Contains(t.names, name) }
