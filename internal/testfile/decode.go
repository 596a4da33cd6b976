package testfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// Read reads a test file. The file is nil if the text could not be read at all; otherwise it holds what could be
// decoded, and is complete if there are no errors.
func Read(data []byte) (*File, dsl.Problems) {
	if len(data) > dsl.MaxBytes {
		return nil, dsl.Problems{{Line: 1, Column: 1, Code: dsl.CodeTooLarge,
			Detail: fmt.Sprintf("The file has %d bytes; at most %d are allowed.", len(data), dsl.MaxBytes), Hint: "Make several files of it."}}
	}
	doc, problems := dsl.ReadText(data)
	if doc == nil {
		return nil, problems
	}
	d := &decoder{doc: doc, problems: problems, strange: map[string]bool{}}
	f := d.file(location{value: doc.Value()})
	d.problems.Sort()
	return f, d.problems
}

// maxProblems bounds the problems of a file.
const maxProblems = 100

// decoder walks the value of a file. After a problem it continues with the next property.
type decoder struct {
	doc      *dsl.Document
	problems dsl.Problems
	errors   int
	strange  map[string]bool // pointers of objects with an unknown property: what they lack is said by its hint
}

// location is a value, and where it stands.
type location struct {
	value   value.Value
	pointer string
}

func (p location) property(name string) location {
	object, _ := p.value.(map[string]any)
	return location{object[name], p.pointer + "/" + jsonpointer.Escape(name)}
}

func (p location) has(name string) bool {
	object, _ := p.value.(map[string]any)
	_, has := object[name]
	return has
}

func (p location) item(i int) location {
	list, _ := p.value.([]any)
	return location{list[i], p.pointer + "/" + strconv.Itoa(i)}
}

// label names a location by the end of its pointer.
func (p location) label() string {
	if p.pointer == "" {
		return "The file"
	}
	tokens := strings.Split(p.pointer[1:], "/")
	last := jsonpointer.Unescape(tokens[len(tokens)-1])
	if index, err := strconv.Atoi(last); err == nil && len(tokens) > 1 {
		return fmt.Sprintf("Item %d of %q", index+1, jsonpointer.Unescape(tokens[len(tokens)-2]))
	}
	return strconv.Quote(last)
}

func (d *decoder) at(p location) Position {
	line, column := d.doc.Position(p.pointer)
	return Position{Pointer: p.pointer, Line: line, Column: column}
}

func (d *decoder) problem(p location, code, detail, hint string) {
	if d.errors++; d.errors <= maxProblems {
		d.problems = append(d.problems, d.doc.ErrorAt(p.pointer, code, detail, hint))
	}
}

func (d *decoder) invalid(p location, detail, hint string) {
	d.problem(p, dsl.CodeValue, p.label()+" "+detail, hint)
}

func (d *decoder) wrongType(p location, wanted, hint string) {
	d.problem(p, dsl.CodeWrongType, fmt.Sprintf("%s must be %s, but is %s.", p.label(), wanted, kindOf(p.value)), hint)
}

// kindOf names the type of a value as package dsl does.
func kindOf(v value.Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// property is a property of a closed object, and what reads its value.
type property struct {
	name string
	read func(location)
}

// object reads the properties of a closed object in the order of the names, and reports whatever is wrong with the
// object as such. It reports false if the value is no object.
func (d *decoder) object(p location, required []string, hints map[string]string, properties ...property) bool {
	object, ok := p.value.(map[string]any)
	if !ok {
		d.wrongType(p, "an object", short(p, required, properties))
		return false
	}
	known := make([]string, len(properties))
	for i, one := range properties {
		known[i] = one.name
	}
	var meant []string // the hints of unknown properties
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if i := slices.Index(known, name); i >= 0 {
			properties[i].read(p.property(name))
			continue
		}
		hint := hints[name]
		if hint == "" {
			hint = dsl.Suggest(name, known)
		}
		if hint == "" {
			hint = "Known here: " + strings.Join(known, ", ") + "."
		}
		d.problem(p.property(name), dsl.CodeUnknown, fmt.Sprintf("%s has an unknown property %q.", p.label(), name), hint)
		d.strange[p.pointer] = true
		meant = append(meant, hint)
	}
	for _, name := range required {
		if !p.has(name) && !slices.ContainsFunc(meant, func(hint string) bool { return strings.Contains(hint, strconv.Quote(name)) }) {
			d.problem(p, dsl.CodeRequired, fmt.Sprintf("%s lacks the required property %q.", p.label(), name), "")
		}
	}
	return true
}

// short is the hint for a value that stands where an object belongs: perhaps it is meant as its main property.
func short(p location, required []string, properties []property) string {
	main := properties[0].name
	if len(required) > 0 {
		main = required[0]
	}
	switch v := p.value.(type) {
	case nil:
		return hintEmpty
	case string, int, float64, bool:
		if text := string(value.Marshal(v)); p.pointer != "" && len(text) <= maxShown {
			return fmt.Sprintf("Write {%s: %s}.", main, strings.Trim(text, `"`))
		}
	}
	return ""
}

// hintEmpty is for a property with nothing behind it.
const hintEmpty = "It is empty: is what belongs to it indented?"

// maxShown bounds a value in a hint, in bytes.
const maxShown = 60

// named reads an object with any names. example is what one of its properties looks like.
func (d *decoder) named(p location, example string, read func(name string, p location)) {
	object, ok := p.value.(map[string]any)
	if !ok {
		hint := "Write {" + example + "}."
		if p.value == nil {
			hint = hintEmpty
		}
		d.wrongType(p, "an object", hint)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if strings.TrimSpace(name) == "" {
			d.problem(p.property(name), dsl.CodeName, "A name must not be empty.", "")
			continue
		}
		read(name, p.property(name))
	}
}

// list reads the items of a list.
func (d *decoder) list(p location, read func(location)) {
	list, ok := p.value.([]any)
	if !ok {
		hint := ""
		switch v := p.value.(type) {
		case nil:
			hint = hintEmpty
		case map[string]any:
			hint = "Begin each item with a hyphen."
		case string:
			if len(v) <= maxShown {
				hint = "Write [" + v + "]."
			}
		}
		d.wrongType(p, "a list", hint)
		return
	}
	if len(list) > MaxEntries {
		d.invalid(p, fmt.Sprintf("has %d items; at most %d are allowed.", len(list), MaxEntries), "")
		return
	}
	for i := range list {
		read(p.item(i))
	}
}

// exactlyOne reports a problem unless an object has exactly one of the properties, and returns the first that it has.
func (d *decoder) exactlyOne(p location, names ...string) (first string) {
	if _, ok := p.value.(map[string]any); !ok {
		return ""
	}
	for _, name := range names {
		switch {
		case !p.has(name):
		case first == "":
			first = name
		default:
			d.problem(p.property(name), dsl.CodeConflict, fmt.Sprintf("%s has both %q and %q; only one is allowed.", p.label(), first, name), "")
		}
	}
	if first == "" && !d.strange[p.pointer] {
		d.problem(p, dsl.CodeRequired, fmt.Sprintf("%s needs one of %s.", p.label(), either(names)), "")
	}
	return first
}

// either lists alternatives: `"a", "b" or "c"`.
func either(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}

func text(d *decoder, to *string) func(location) {
	return func(p location) { *to = d.text(p) }
}

func filled(d *decoder, to *string) func(location) {
	return func(p location) {
		if *to = d.text(p); strings.TrimSpace(*to) == "" && isText(p.value) {
			d.invalid(p, "must not be empty.", "")
		}
	}
}

func isText(v value.Value) bool { _, ok := v.(string); return ok }

func (d *decoder) text(p location) string {
	s, ok := p.value.(string)
	if !ok {
		hint := ""
		switch p.value.(type) {
		case nil, []any, map[string]any:
		default:
			hint = "Quote it: '" + string(value.Marshal(p.value)) + "'."
		}
		d.wrongType(p, "a text", hint)
	}
	return s
}

func (d *decoder) boolean(p location) bool {
	b, ok := p.value.(bool)
	if !ok {
		d.wrongType(p, "true or false", truth(p.value))
	}
	return b
}

// truth is the hint for a text that is meant as true or false.
func truth(v value.Value) string {
	s, _ := v.(string)
	switch strings.ToLower(s) {
	case "yes", "on", "y", "true":
		return "Write true."
	case "no", "off", "n", "false":
		return "Write false."
	}
	return ""
}

// yes reads what can only be true.
func (d *decoder) yes(p location) {
	if b, ok := p.value.(bool); !ok || !b {
		d.wrongTypeOf(p, "true")
	}
}

func (d *decoder) wrongTypeOf(p location, wanted string) {
	if p.value == false {
		d.invalid(p, "must be "+wanted+".", "Leave it out instead.")
		return
	}
	d.wrongType(p, wanted, truth(p.value))
}

// whole reads a whole number between two bounds.
func (d *decoder) whole(p location, low, high int) (int, bool) {
	number, ok := p.value.(int)
	switch {
	case !ok && kindOf(p.value) == "a number":
		d.invalid(p, fmt.Sprintf("must be a whole number from %d to %d, but is %s.", low, high, value.Marshal(p.value)), "")
		return 0, false
	case !ok:
		hint := ""
		if s, _ := p.value.(string); s != "" {
			if _, err := strconv.Atoi(s); err == nil {
				hint = "Remove the quotes: " + s + "."
			}
		}
		d.wrongType(p, "a whole number", hint)
		return 0, false
	case number < low || number > high:
		d.invalid(p, fmt.Sprintf("must be from %d to %d, but is %d.", low, high, number), "")
		return 0, false
	}
	return number, true
}

func (d *decoder) count(p location) *Count {
	if n, ok := d.whole(p, 0, MaxEntries); ok {
		return &Count{At: d.at(p), Number: n}
	}
	return nil
}

func (d *decoder) oneOf(p location, names ...string) string {
	s := d.text(p)
	if isText(p.value) && !slices.Contains(names, s) {
		d.invalid(p, fmt.Sprintf("must be %s, but is %q.", either(names), s), dsl.Suggest(s, names))
	}
	return s
}

func (d *decoder) duration(p location) dsl.Span {
	const hint = "Write for example PT30S, PT1H or P2D."
	s, ok := p.value.(string)
	if !ok {
		d.wrongType(p, "a duration (a text)", hint)
		return dsl.Span{}
	}
	span, err := dsl.ParseDuration(s)
	if err != nil {
		d.invalid(p, fmt.Sprintf("is %q, which is no duration.", s), hint)
	}
	return span
}

// valueAt keeps an expected value.
func (d *decoder) valueAt(p location) *Value { return &Value{At: d.at(p), Value: p.value} }

func (d *decoder) values(p location) *Values {
	v := &Values{At: d.at(p), List: []Value{}}
	d.list(p, func(p location) { v.List = append(v.List, *d.valueAt(p)) })
	return v
}

func (d *decoder) texts(p location) *Texts {
	v := &Texts{At: d.at(p), List: []string{}}
	d.list(p, func(p location) { v.List = append(v.List, d.text(p)) })
	return v
}

func (d *decoder) address(p location) Address {
	a := Address{At: d.at(p)}
	d.addressText(&a.Text)(p)
	return a
}

func (d *decoder) addressText(to *string) func(location) {
	return func(p location) {
		if !isText(p.value) {
			d.wrongType(p, "the name of a task", "")
			return
		}
		filled(d, to)(p)
	}
}
