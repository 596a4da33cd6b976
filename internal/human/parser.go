package human

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// maxProblems bounds the problems of one request.
const maxProblems = 100

// parser reads parts of a request. A value of null counts as absent, because expressions yield it, but not where that
// lets more people answer (notNull).
type parser struct {
	dynamic  func(text string) bool
	problems []Problem
}

func (p *parser) problem(pointer, code, detail, hint string) {
	if len(p.problems) < maxProblems {
		p.problems = append(p.problems, Problem{pointer, code, detail, hint})
	}
}

// wrong says what is wrong with a property.
func (p *parser) wrong(pointer, detail, hint string) {
	p.problem(pointer, dsl.CodeValue, label(pointer)+" "+detail, hint)
}

func (p *parser) wrongType(pointer, wanted string, got value.Value) {
	p.problem(pointer, dsl.CodeWrongType, fmt.Sprintf("%s must be %s, but is %s.", label(pointer), wanted, typeName(got)), "")
}

// notNull refuses null for properties that say who may answer: an expression that finds nothing must not let more
// people answer.
func (p *parser) notNull(object map[string]any, pointer string, names ...string) {
	for _, name := range names {
		if v, given := object[name]; given && v == nil {
			p.problem(pointer+token(name), dsl.CodeWrongType, label(pointer+token(name))+" is null.",
				"Leave it out if it is to name no person.")
		}
	}
}

// label names the place of a problem for people: with.assignees.users[0].
func label(pointer string) string {
	var b strings.Builder
	b.WriteString("with")
	for _, token := range strings.Split(pointer, "/")[1:] {
		if token != "" && strings.Trim(token, "0123456789") == "" {
			b.WriteString("[" + token + "]")
		} else {
			b.WriteString("." + token)
		}
	}
	return "`" + b.String() + "`"
}

func typeName(v value.Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int, float64, *big.Int:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "a list"
	}
	return "an object"
}

// isDynamic reports whether a value is known only when the task is opened.
func (p *parser) isDynamic(v value.Value) bool {
	text, ok := v.(string)
	return ok && p.dynamic != nil && p.dynamic(text)
}

// object reads an object with no properties but the known ones. ok is false if there is none.
func (p *parser) object(v value.Value, pointer string, known ...string) (object map[string]any, ok bool) {
	if object, ok = v.(map[string]any); !ok {
		if v != nil && !p.isDynamic(v) {
			p.wrongType(pointer, "an object", v)
		}
		return nil, false
	}
	for _, name := range value.SortedKeys(object) {
		if slices.Contains(known, name) {
			continue
		}
		hint := dsl.Suggest(name, known)
		if hint == "" {
			hint = "It may have: " + strings.Join(known, ", ") + "."
		}
		p.problem(pointer+token(name), dsl.CodeUnknown, fmt.Sprintf("%s has the unknown property %q.", label(pointer), name), hint)
	}
	return object, true
}

func (p *parser) text(v value.Value, pointer string) (text string, ok bool) {
	if text, ok = v.(string); ok {
		return text, !p.isDynamic(text)
	}
	if v != nil {
		p.wrongType(pointer, "a text", v)
	}
	return "", false
}

// filled reads a text of one line that is not empty.
func (p *parser) filled(v value.Value, pointer string) (text string, ok bool) {
	if v == nil {
		p.wrongType(pointer, "a text", v)
		return "", false
	}
	if text, ok = p.text(v, pointer); !ok {
		return "", false
	}
	if strings.TrimSpace(text) == "" || strings.ContainsFunc(text, unicode.IsControl) || len(text) > 4*MaxTitle {
		p.wrong(pointer, fmt.Sprintf("must be one line of 1 to %d characters.", MaxTitle), "")
		return "", false
	}
	return text, true
}

// list reads a list of at most so many items.
func (p *parser) list(v value.Value, pointer string, most int) []any {
	items, ok := v.([]any)
	switch {
	case !ok && v != nil && !p.isDynamic(v):
		p.wrongType(pointer, "a list", v)
	case len(items) > most:
		p.wrong(pointer, fmt.Sprintf("has %d entries; at most %d are allowed.", len(items), most), "")
		return nil
	}
	return items
}

func (p *parser) texts(v value.Value, pointer string, most int) (list []string) {
	for i, item := range p.list(v, pointer, most) {
		if text, ok := p.filled(item, fmt.Sprintf("%s/%d", pointer, i)); ok {
			list = append(list, text)
		}
	}
	return list
}

func (p *parser) integer(v value.Value, pointer string, otherwise, least, most int) int {
	switch n := v.(type) {
	case nil:
		return otherwise
	case int:
		if n >= least && n <= most {
			return n
		}
	case string:
		if p.isDynamic(n) {
			return otherwise
		}
	}
	p.wrong(pointer, fmt.Sprintf("must be a whole number from %d to %d.", least, most), "")
	return otherwise
}

func (p *parser) flag(v value.Value, pointer string) bool {
	on, ok := v.(bool)
	if !ok && v != nil && !p.isDynamic(v) {
		p.wrongType(pointer, "a boolean", v)
	}
	return on
}

// units are the properties of a duration that is an object, in milliseconds.
var units = map[string]int64{"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1000, "milliseconds": 1}

// maxUnits bounds each of them: 1,000 years of milliseconds.
const maxUnits = 1000 * 365 * 86_400_000

// duration reads a duration as ISO 8601 text, or as an object of units; nil if there is none.
func (p *parser) duration(v value.Value, pointer string) *dsl.Span {
	const hint = "Write for example PT24H or {hours: 24}."
	switch d := v.(type) {
	case nil:
		return nil
	case string:
		if p.isDynamic(d) {
			return nil
		}
		span, err := dsl.ParseDuration(d)
		if err != nil {
			p.wrong(pointer, fmt.Sprintf("is %q, which is %s.", d, err), hint)
			return nil
		}
		return &span
	case map[string]any:
		return p.durationObject(d, pointer)
	}
	p.problem(pointer, dsl.CodeWrongType, fmt.Sprintf("%s must be a duration (an object or a text), but is %s.", label(pointer), typeName(v)), hint)
	return nil
}

func (p *parser) durationObject(d map[string]any, pointer string) *dsl.Span {
	known := []string{"days", "hours", "minutes", "seconds", "milliseconds"}
	span := &dsl.Span{}
	if _, ok := p.object(d, pointer, known...); len(d) == 0 || !ok {
		p.wrong(pointer, "must have at least one of "+strings.Join(known, ", ")+".", "")
		return nil
	}
	for _, name := range known {
		n := int64(p.integer(d[name], pointer+token(name), 0, 0, maxUnits))
		if n > (maxUnits-span.Milliseconds)/units[name] {
			p.wrong(pointer, "must be at most 1,000 years.", "")
			return nil
		}
		span.Milliseconds += n * units[name]
	}
	return span
}
