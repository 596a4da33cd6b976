package plan

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

// Match is what a value of an event is compared with (T57). Exactly one of the kinds is set:
// Operand; Fields (an object: the value must have what it names); Items (a list, one for one);
// else Value, a text of which may be a Pattern.
type Match struct {
	// Operand is an expression; `.` is the event's attribute, $event the envelope. Its result
	// true matches everything, false and null nothing, all else what is equal to it, or for an
	// object what has its properties.
	Operand *Operand
	Fixed   int // index in Listen.Fixed: the operand depends on no event; -1: it may

	Fields []FieldMatch // by name
	Items  []*Match
	IsList bool

	Value   value.Value
	Pattern *regexp.Regexp // matches whole texts; nil: only Value itself
}

// FieldMatch compares one property of an object.
type FieldMatch struct {
	Name  string
	Match *Match
}

// EventVariable is the name of the envelope in expressions of filters (T57).
const EventVariable = "event"

// attributeOrder puts the attribute that tells most events apart first.
func attributeOrder(attributes map[string]any) []string {
	names := sortedKeys(attributes)
	slices.SortStableFunc(names, func(a, b string) int {
		rank := func(name string) int {
			switch name {
			case "type":
				return 0
			case "data":
				return 2
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	return names
}

// match compiles what a value is compared with. Texts are patterns in both modes: only ${ }
// makes an expression, because most patterns would read as one.
func (l *listenCompiler) match(s dsl.Operand, at location) *Match {
	m := &Match{Fixed: -1}
	switch v := s.Value.(type) {
	case string:
		l.matchText(m, s, v, at)
	case map[string]any:
		m.Fields = make([]FieldMatch, 0, len(v))
		for _, name := range sortedKeys(v) {
			inner := l.match(dsl.Operand{Pointer: s.Pointer + pointerTo(name), Value: v[name]}, at)
			m.Fields = append(m.Fields, FieldMatch{Name: name, Match: inner})
		}
	case []any:
		m.IsList = true
		for i, item := range v {
			m.Items = append(m.Items, l.match(dsl.Operand{Pointer: s.Pointer + "/" + strconv.Itoa(i), Value: item}, at))
		}
	default:
		m.Value = v
	}
	return m
}

func (l *listenCompiler) matchText(m *Match, s dsl.Operand, text string, at location) {
	if _, ok := expr.Unwrap(text); !ok {
		m.Value = text
		if expr.IsEmbedded(text) {
			l.warn(s.Pointer, CodeLiteral, "A ${ } inside of a text is not evaluated.",
				"Build the text in one expression that is the whole value.")
		}
		pattern, err := CompilePattern(text)
		if err != nil {
			l.warn(s.Pointer, CodePattern, "The text is no regular expression; it only matches itself: "+err.Error()+".", "")
		}
		m.Pattern = pattern
		return
	}
	m.Operand = l.expression(s, at.bind(EventVariable))
	l.noteTime(m.Operand)
	e := m.Operand.expression
	if e == nil || e.UsesInput() || e.Uses(EventVariable) {
		if e != nil && (slices.ContainsFunc(names[:], e.Uses) || slices.ContainsFunc(at.locals, e.Uses) || l.timed) {
			l.listen.EnvelopeOnly = false
		}
		return
	}
	l.listen.EnvelopeOnly = false
	m.Fixed = len(l.listen.Fixed)
	l.listen.Fixed = append(l.listen.Fixed, m.Operand)
}

// CompilePattern compiles a text that texts may match as a whole (T57). It is nil if the
// text only matches itself. Filters of the machine's Subscribe commands mean their types so.
func CompilePattern(text string) (*regexp.Regexp, error) {
	if regexp.QuoteMeta(text) == text {
		return nil, nil
	}
	if _, err := syntax.Parse(text, syntax.Perl); err != nil { // alone: what stands around it must not mend it
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return regexp.Compile(`\A(?:` + text + `)\z`)
}
