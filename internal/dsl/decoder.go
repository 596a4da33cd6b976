package dsl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/jsonpointer"
)

// decoder walks the nodes of one definition and fills the syntax tree. After a problem it
// continues with the next property, so that all problems are found at once.
type decoder struct {
	report       *report
	root         *node
	loose        bool // evaluate.mode: loose
	tasks        int
	depth        int // tasks around the one that is read
	pointerBytes int // of all tasks
}

// location is a node, where it stands. Line and column are those of the key it is the value of.
type location struct {
	*node
	pointer string
	line    int32
	column  int32
}

func (d *decoder) problem(at location, code, detail, hint string) {
	d.report.add(Problem{Pointer: at.pointer, Line: int(at.line), Column: int(at.column),
		Code: code, Detail: detail, Hint: hint})
}

func (d *decoder) warning(at location, code, detail, hint string) {
	d.report.add(Problem{Pointer: at.pointer, Line: int(at.line), Column: int(at.column),
		Code: code, Detail: detail, Hint: hint, Severity: SeverityWarning})
}

// wrongType says that the value at a place should be what `wanted` describes.
func (d *decoder) wrongType(at location, wanted, hint string) {
	if d.report.full() {
		return
	}
	d.problem(at, CodeWrongType,
		fmt.Sprintf("%s must be %s, but is %s.", label(at.pointer), wanted, at.shape), hint)
}

func (d *decoder) invalid(at location, detail, hint string) {
	d.problem(at, CodeValue, label(at.pointer)+" "+detail, hint)
}

// object is what a closed object has beside its properties.
type object struct {
	required []string
	hints    map[string]string // for well-known mistakes: key → hint
	hint     string            // for a value that is no object
}

// property is a property of a closed object, and what reads its value.
type property struct {
	name string
	read func(location)
}

// field is a property whose value becomes a field of the syntax tree.
func field[T any](name string, to *T, read func(location) T) property {
	return property{name, func(at location) { *to = read(at) }}
}

// table is a property whose value is an object of named components.
func table[T any](d *decoder, name string, to *Table[T], read func(location) T) property {
	return property{name, func(at location) { readTable(d, at, to, read) }}
}

// namesOf copies the names: what the compiler sees kept of a property must be allocated, its function too.
func namesOf(properties []property) []string {
	names := make([]string, len(properties))
	for i := range properties {
		names[i] = strings.Clone(properties[i].name)
	}
	return names
}

// object reads the properties of the object at a place, in the order of the text, and reports whatever is wrong with
// the object as such.
func (d *decoder) object(at location, o *object, properties ...property) {
	if at.shape != shapeObject {
		d.wrongType(at, "an object", o.hint)
		return
	}
	for i := range at.members {
		m := &at.members[i]
		known := slices.IndexFunc(properties, func(p property) bool { return p.name == m.key })
		if known >= 0 {
			properties[known].read(at.property(m))
		} else if !d.report.full() {
			d.unknown(at, m, namesOf(properties), o.hints)
		}
	}
	for _, name := range o.required {
		d.require(at, name)
	}
}

func (p location) property(m *member) location {
	return location{node: m.value, pointer: p.pointer + "/" + jsonpointer.Escape(m.key), line: m.line, column: m.column}
}

func (p location) item(index int) location {
	item := p.items[index]
	return location{node: item, pointer: p.pointer + "/" + strconv.Itoa(index), line: item.line, column: item.column}
}

// deep is the first part that has at least the given levels itself and no overlong name.
func (p location) deep(levels int32) (location, bool) {
	for i := range p.members {
		if m := &p.members[i]; m.value.height >= levels && len(m.key) <= maxNameBytes {
			return p.property(m), true
		}
	}
	for i, item := range p.items {
		if item.height >= levels {
			return p.item(i), true
		}
	}
	return location{}, false
}

// get finds a property of an object.
func (p location) get(key string) (location, bool) {
	for i := range p.members {
		if m := &p.members[i]; m.key == key {
			return p.property(m), true
		}
	}
	return location{}, false
}

func (p location) has(key string) bool {
	return slices.ContainsFunc(p.members, func(m member) bool { return m.key == key })
}

func (d *decoder) require(at location, name string) {
	if !at.has(name) && !d.report.full() {
		d.problem(at, CodeRequired, fmt.Sprintf("%s lacks the required property %q.", label(at.pointer), name), "")
	}
}

// keyLocation is the place of a key that has no meaning: the property, unless its name is overlong.
func keyLocation(at location, m *member) location {
	if len(m.key) > maxNameBytes {
		return location{node: m.value, pointer: at.pointer, line: m.line, column: m.column}
	}
	return at.property(m)
}

func (d *decoder) unknown(at location, m *member, known []string, hints map[string]string) {
	if d.report.full() {
		return
	}
	hint := hints[m.key]
	if hint == "" {
		hint = suggest(m.key, known)
	}
	if hint == "" && len(known) > 0 {
		hint = "Known here: " + strings.Join(known, ", ") + "."
	}
	d.problem(keyLocation(at, m), CodeUnknown,
		fmt.Sprintf("%s has an unknown property %s.", label(at.pointer), quote(m.key)), hint)
}

// exactlyOne reports a problem unless the object has exactly one of the properties.
func (d *decoder) exactlyOne(at location, names ...string) {
	if at.shape != shapeObject {
		return
	}
	first := ""
	for i := range at.members {
		m := &at.members[i]
		switch {
		case !slices.Contains(names, m.key):
		case first == "":
			first = m.key
		default:
			d.problem(at.property(m), CodeConflict,
				fmt.Sprintf("%s has both %q and %q; only one is allowed.", label(at.pointer), first, m.key), "")
		}
	}
	if first == "" {
		d.problem(at, CodeRequired, fmt.Sprintf("%s needs one of %s.", label(at.pointer), either(names)), "")
	}
}

// text reads a text that is no expression.
func (d *decoder) text(at location) string {
	if at.shape != shapeText {
		d.wrongType(at, "a text", quoteHint(at))
		return ""
	}
	return at.value.(string)
}

// filled reads a text that is not empty.
func (d *decoder) filled(at location) string {
	text := d.text(at)
	if at.shape == shapeText && strings.TrimSpace(text) == "" {
		d.invalid(at, "must not be empty.", "")
	}
	return text
}

// quoteHint tells how to make a text of a number, a boolean or null.
func quoteHint(at location) string {
	if at.raw == "" || len(at.raw) > maxQuoted {
		return ""
	}
	if strings.HasPrefix(at.pointer, "/document/") && at.shape == shapeNumber && strings.HasSuffix(at.pointer, "version") {
		return "Quote it and give all three parts, for example '1.0.0'."
	}
	return "Quote it if it is meant as text: '" + at.raw + "'."
}

// oneOf reads a text that must be one of the names.
func (d *decoder) oneOf(names ...string) func(location) string {
	return func(at location) string {
		text := d.text(at)
		if at.shape == shapeText && !slices.Contains(names, text) {
			d.invalid(at, fmt.Sprintf("must be %s, but is %s.", either(names), quote(text)), suggest(text, names))
		}
		return text
	}
}

// boolean reads true or false; whatever else is there counts as `otherwise`.
func (d *decoder) boolean(otherwise bool) func(location) bool {
	return func(at location) bool {
		value, ok := at.value.(bool)
		if ok {
			return value
		}
		hint := ""
		if text, isText := at.value.(string); isText {
			switch strings.ToLower(text) {
			case "yes", "on", "y", "true":
				hint = "Write true."
			case "no", "off", "n", "false":
				hint = "Write false."
			}
		}
		d.wrongType(at, "true or false", hint)
		return otherwise
	}
}

// integer reads a whole number between two bounds. 5.0 counts as whole, as in JSON Schema.
func (d *decoder) integer(at location, low, high int) (int, bool) {
	number, ok := at.value.(int)
	if float, isFloat := at.value.(float64); isFloat && float == float64(int(float)) {
		number, ok = int(float), true
	}
	switch {
	case !ok && at.shape == shapeNumber:
		d.invalid(at, fmt.Sprintf("must be a whole number from %s to %s.", thousands(low), thousands(high)), "")
		return 0, false
	case !ok:
		d.wrongType(at, "a whole number", "")
		return 0, false
	case number < low || number > high:
		d.invalid(at, fmt.Sprintf("must be from %s to %s, but is %d.", thousands(low), thousands(high), number), "")
		return 0, false
	}
	return number, true
}

// operand takes any value.
func (d *decoder) operand(at location) Operand {
	d.checkDepth(at)
	return Operand{Pointer: at.pointer, Value: at.value}
}

// checkDepth refuses a value with more levels than data may have, at a list or object that is
// too deep, or at the last place on the way to it that a pointer can name.
func (d *decoder) checkDepth(at location) {
	if at.height <= MaxDepth || d.report.full() {
		return
	}
	for levels := int32(MaxDepth); levels > 0 && len(at.pointer) < maxPointerBytes; levels-- {
		inside, ok := at.deep(levels)
		if !ok {
			break
		}
		at = inside
	}
	d.problem(at, CodeTooDeep,
		fmt.Sprintf("The value is nested more than %d levels deep here.", MaxDepth), "Make it flatter.")
}

// textOperand takes a text, which may be an expression.
func (d *decoder) textOperand(at location) Operand {
	if at.shape != shapeText {
		d.wrongType(at, "a text", quoteHint(at))
		return Operand{}
	}
	return d.operand(at)
}

// filledOperand takes a text that is not empty.
func (d *decoder) filledOperand(at location) Operand {
	d.filled(at)
	return Operand{Pointer: at.pointer, Value: at.value}
}

// expressionOperand takes an expression, with or without ${ } (T4).
func (d *decoder) expressionOperand(at location) Operand {
	if at.shape != shapeText {
		hint := ""
		if at.raw != "" && len(at.raw) <= maxQuoted {
			hint = "Write it as a text: '${ " + at.raw + " }'."
		}
		d.wrongType(at, "an expression (a text)", hint)
		return Operand{}
	}
	return d.filledOperand(at)
}

// isExpression reports whether a text in a value operand is evaluated (T4, T5).
func (d *decoder) isExpression(text string) bool {
	if d.loose {
		return true
	}
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "${") && strings.HasSuffix(text, "}") && len(text) > 3
}

// mapOperand takes an object, or an expression that yields one.
func (d *decoder) mapOperand(at location) Operand {
	switch {
	case at.shape == shapeObject:
	case at.shape != shapeText:
		d.wrongType(at, "an object or an expression", "")
		return Operand{}
	case !d.isExpression(at.value.(string)):
		d.wrongType(at, "an object or an expression", "Write an expression as '${ … }'.")
		return Operand{}
	}
	return d.operand(at)
}

// plainMapOperand takes an object.
func (d *decoder) plainMapOperand(at location) Operand {
	if at.shape != shapeObject {
		d.wrongType(at, "an object", "")
		return Operand{}
	}
	return d.operand(at)
}

// scalarMapOperand takes an object of texts, numbers and booleans, or an expression.
func (d *decoder) scalarMapOperand(at location) Operand {
	if at.shape == shapeObject {
		for i := range at.members {
			d.scalar(at.property(&at.members[i]))
		}
	}
	return d.mapOperand(at)
}

// scalar checks that a value is a text, a number or a boolean.
func (d *decoder) scalar(at location) {
	switch at.shape {
	case shapeText, shapeNumber, shapeBoolean:
	default:
		d.wrongType(at, "a text, a number or a boolean", "")
	}
}

// metadata reads an object that means nothing to us.
func (d *decoder) metadata(at location) map[string]any {
	values, ok := at.value.(map[string]any)
	if !ok {
		d.wrongType(at, "an object", "")
	}
	d.checkDepth(at)
	return values
}
