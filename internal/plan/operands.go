package plan

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

// names are the arguments of the language.
var names = [...]string{"context", "input", "output", "secrets", "task", "workflow", "runtime", "authorization"}

// operand compiles `from` and `as`: an expression operand if it is a text, else a value operand (T4).
func (c *compiler) operand(s dsl.Operand, at location) *Operand {
	if !s.Present() {
		return nil
	}
	if _, ok := s.Value.(string); ok {
		return c.expression(s, at)
	}
	c.paths(s.Pointer, s.Value, at)
	return c.value(s, at)
}

// expression compiles an expression operand; nil if it is absent.
func (c *compiler) expression(s dsl.Operand, at location) *Operand {
	if !s.Present() {
		return nil
	}
	operand := &Operand{Path: at.path(s.Pointer), isConstant: true} // null, if it does not compile
	e, err := expr.CompileOperand(s.Text(), c.mode, at.scope())
	if err != nil {
		c.badExpression(s.Pointer, err)
		return operand
	}
	operand.expression, operand.isConstant, operand.source = e, false, sourceOf(s.Text())
	c.check(s, operand, at)
	for _, warning := range e.Warnings() {
		c.warn(s.Pointer, CodeDoubtful, warning, "")
	}
	return operand
}

// condition compiles an expression operand that decides something (T13).
func (c *compiler) condition(s dsl.Operand, at location) *Operand {
	if source, ok := expr.Unwrap(s.Text()); constantCondition.MatchString(strings.TrimSpace(s.Text())) ||
		ok && constantCondition.MatchString(strings.TrimSpace(source)) {
		c.warn(s.Pointer, CodeCondition, "This condition always holds: only false and null count as no.", "Compare it with something, or leave it out.")
	}
	return c.expression(s, at)
}

// constantCondition matches texts, numbers and the like where a condition should stand.
var constantCondition = regexp.MustCompile(`^("[^"\\\\]*"|-?[0-9]+(\.[0-9]+)?|\[[^\]\[]*\]|\{\s*\})$`)

// value compiles a value operand; nil if it is absent.
func (c *compiler) value(s dsl.Operand, at location) *Operand { return c.valueIn(s, at, c.mode) }

// literal compiles a value operand whose texts are expressions only if they say so with ${ }:
// the code of scripts and shell lines, which loose mode would misread.
func (c *compiler) literal(s dsl.Operand, at location) *Operand { return c.valueIn(s, at, expr.Strict) }

func (c *compiler) valueIn(s dsl.Operand, at location, mode expr.Mode) *Operand {
	if !s.Present() {
		return nil
	}
	operand := &Operand{Path: at.path(s.Pointer), isConstant: true} // null, if it does not compile
	t, problems := expr.CompileTemplate(s.Value, mode, at.scope())
	for _, p := range problems {
		if p.Warning {
			c.warn(s.Pointer+p.Pointer, p.Code, p.Detail, p.Hint)
			continue
		}
		c.fail(s.Pointer+p.Pointer, CodeExpression, inner(p.Detail, p.Line, p.Column), p.Hint)
	}
	if t == nil {
		return operand
	}
	if mode == expr.Strict {
		c.literals(s.Pointer, s.Value, at)
	}
	if v, ok := t.Constant(); ok {
		operand.constant = v
		return operand
	}
	operand.template, operand.isConstant = t, false
	c.check(s, operand, at)
	return operand
}

func (c *compiler) badExpression(pointer string, err error) {
	var bad *expr.CompileError
	if errors.As(err, &bad) {
		c.fail(pointer, CodeExpression, inner(bad.Detail, bad.Line, bad.Column), bad.Hint)
		return
	}
	c.fail(pointer, CodeExpression, err.Error(), "")
}

// inner adds the place within an expression to a detail.
func inner(detail string, line, column int) string {
	switch {
	case line > 1:
		return fmt.Sprintf("%s (line %d, column %d of the expression)", detail, line, column)
	case column > 0:
		return fmt.Sprintf("%s (column %d of the expression)", detail, column)
	}
	return detail
}

// check warns of names that are always null in this place, and refuses secrets that the
// definition does not declare (T11, T75).
func (c *compiler) check(d dsl.Operand, s *Operand, at location) {
	for _, name := range blanks[at.position] {
		if s.Uses(name) && !slices.Contains(at.locals, name) {
			c.warn(d.Pointer, CodeOutOfScope, fmt.Sprintf("$%s is always null here.", name), "")
		}
	}
	if s.Uses("secrets") && !slices.Contains(at.locals, "secrets") {
		c.secrets(d.Pointer, d.Value)
	}
}

// secretName finds the names of secrets in the source of an expression.
var secretName = regexp.MustCompile(`\$secrets\s*(?:\.\s*"?([A-Za-z_][A-Za-z0-9_]*)|\[\s*"([^"\\]+)"\s*\])`)

// declared refuses a secret that use.secrets does not list.
func (c *compiler) declared(pointer, name string) {
	switch {
	case slices.Contains(c.doc.Use.Secrets, name), c.shared.broken:
	case c.self != nil: // T37
		c.fail(pointer, CodeUnknownSecret, fmt.Sprintf("A function from outside has no secrets, and so not %q.", name), "")
	default:
		hint := dsl.Suggest(name, c.doc.Use.Secrets)
		if hint == "" {
			hint = "List its name in use.secrets."
		}
		c.fail(pointer, CodeUnknownSecret, fmt.Sprintf("The secret %q is not declared.", name), hint)
	}
}

// secrets refuses undeclared names where they can be seen (T75).
func (c *compiler) secrets(pointer string, v value.Value) {
	switch v := v.(type) {
	case string:
		for _, found := range secretName.FindAllStringSubmatch(v, -1) {
			c.declared(pointer, found[1]+found[2])
		}
	case []any:
		for i, item := range v {
			c.secrets(fmt.Sprintf("%s/%d", pointer, i), item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.secrets(pointer+pointerTo(key), v[key])
		}
	}
}

// literals warns of texts in value operands that look like an expression without its ${ } (T4).
func (c *compiler) literals(pointer string, v value.Value, at location) {
	switch v := v.(type) {
	case string:
		name, ok := strings.CutPrefix(v, "$")
		if end := strings.IndexFunc(name, func(char rune) bool {
			return char != '_' && (char >= utf8.RuneSelf || !isLetterOrDigit(byte(char)))
		}); end >= 0 {
			name = name[:end]
		}
		if ok && (slices.Contains(names[:], name) || slices.Contains(at.locals, name)) {
			c.warn(pointer, CodeLiteral, fmt.Sprintf("%q stays a text, because it is not in ${ }.", shortened(v)),
				"Write '${ "+shortened(v)+" }' for its value.")
		}
	case []any:
		for i, item := range v {
			c.literals(fmt.Sprintf("%s/%d", pointer, i), item, at)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.literals(pointer+pointerTo(key), v[key], at)
		}
	}
}

// path matches texts that look like jq: a path, alone or before an operator. "..." and "./x" do not.
var path = regexp.MustCompile(
	`^\.\??((\.?("[^"]*"|[A-Za-z_][A-Za-z0-9_]*)|\[[^\]]*\])\??)*\s*(([|+*/,<>-]|==|!=|//|and\b|or\b|as\b)\s*\S.*)?$`)

// paths warns of texts in the object form of `from`, `as` and `set` that look like jq, but stay
// texts without ${ } (T92). Variables are the business of literals.
func (c *compiler) paths(pointer string, v value.Value, at location) {
	if c.mode != expr.Strict {
		return
	}
	switch v := v.(type) {
	case string:
		if text := strings.TrimSpace(v); !path.MatchString(text) {
			return
		} else if _, err := expr.Compile(text, at.scope()); err != nil {
			return
		}
		c.warn(pointer, CodeLiteral, fmt.Sprintf("%q stays a text, because it is not in ${ }.", shortened(v)),
			"Write '${ "+shortened(v)+" }' for its value.")
	case []any:
		for i, item := range v {
			c.paths(fmt.Sprintf("%s/%d", pointer, i), item, at)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.paths(pointer+pointerTo(key), v[key], at)
		}
	}
}

// shortened is a text of the definition as it may be quoted in a problem.
func shortened(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// uses reports whether one of the operands refers to $name.
func uses(name string, operands ...*Operand) bool {
	return slices.ContainsFunc(operands, func(s *Operand) bool { return s.Uses(name) })
}

// duration compiles a duration; nil if it is absent.
func (c *compiler) duration(d *dsl.Duration, at location) *Duration {
	if d == nil {
		return nil
	}
	compiled := &Duration{Path: at.path(d.Pointer), Span: d.Span}
	if !d.Constant() {
		compiled.Operand = c.expression(d.Expression, at)
	}
	return compiled
}

// timeout resolves a timeout by name (T74); nil if there is none.
func (c *compiler) timeout(t *dsl.Timeout, at location) *Duration {
	if t == nil {
		return nil
	}
	if t.Name == "" {
		return c.duration(t.After, at)
	}
	named, ok := lookUp(c, &c.doc.Use.Timeouts, t.Name, t.Pointer, "timeout", "use.timeouts")
	if !ok {
		return nil
	}
	if named == nil {
		return nil
	}
	return reuse(c, named.Pointer, at, func() *Duration { return c.duration(named.After, at) })
}

// lookUp finds a reusable component. A reference that leads nowhere is refused, with what
// may have been meant (T74).
func lookUp[T any](c *compiler, in *dsl.Table[T], name, pointer, what, table string) (T, bool) {
	var known []string
	for i := range in.Entries {
		e := &in.Entries[i]
		if e.Name == name {
			if !c.used[e.Pointer] {
				c.used[e.Pointer] = true
				c.sizes[e.Pointer] = value.Size(c.valueAt(e.Pointer))
			}
			return e.Value, true
		}
		known = append(known, e.Name)
	}
	var none T
	if c.shared.broken {
		return none, false // it may be what could not be read
	}
	hint := table + " is empty."
	if c.self != nil {
		hint = "A function from outside sees nothing of the definition that calls it."
	} else if suggested := dsl.Suggest(name, known); suggested != "" {
		hint = suggested
	} else if len(known) > 0 {
		hint = fmt.Sprintf("%s has: %s.", table, listed(known))
	}
	c.fail(pointer, CodeUnknownName, fmt.Sprintf("There is no %s named %q in %s.", what, name, table), hint)
	return none, false
}

// maxReusedBytes bounds the size of reusable components that are compiled for places with
// different variables. It is a multiple of what a definition may hold.
const maxReusedBytes = 8 << 20

// reuse compiles a reusable component once for all places that have the same arguments and
// variables.
func reuse[T any](c *compiler, pointer string, at location, compile func() T) T {
	key := fmt.Sprintf("%s %d %q", pointer, at.position, at.locals)
	if known, ok := c.compiled[key]; ok {
		return known.(T)
	}
	c.reused += c.sizes[pointer]
	if c.reused > maxReusedBytes {
		c.fail(pointer, CodeTooLarge, "This component is used in too many places with different variables.", "")
		var none T
		return none
	}
	result := compile()
	c.compiled[key] = result
	return result
}
