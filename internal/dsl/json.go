package dsl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads JSON (RFC 8259) into nodes. The YAML reader would do for most of it, but
// not for surrogate pairs, long keys and tabs.
type jsonReader struct {
	builder
	data []byte
	at   int // offset of the next byte

	// The position of offset marked; marks only move forward.
	marked int
	line   int32
	column int32

	failed  *Problem // the text is not JSON
	tooDeep bool
}

// readJSON reads data as JSON. If it is not JSON, problem says where and why; the text may
// still be YAML then. A nil node without a problem means that the report tells why.
func readJSON(data []byte, found *report) (root *node, problem *Problem) {
	r := &jsonReader{builder: builder{report: found}, data: data, line: 1, column: 1}
	r.space()
	root = r.value(0)
	if r.failed == nil && !r.tooDeep {
		r.space()
		if r.at < len(data) {
			r.fail("text after the end of the value")
		}
	}
	if r.failed != nil || r.tooDeep {
		return nil, r.failed
	}
	return root, nil
}

// mark moves the position to the next byte.
func (r *jsonReader) mark() (line, column int32) {
	for ; r.marked < r.at; r.marked++ {
		switch c := r.data[r.marked]; {
		case c == '\n':
			r.line++
			r.column = 1
		case utf8.RuneStart(c):
			r.column++
		}
	}
	return r.line, r.column
}

func (r *jsonReader) fail(detail string) {
	if r.failed != nil || r.tooDeep {
		return
	}
	line, column := r.mark()
	r.failed = &Problem{Line: int(line), Column: int(column), Code: CodeSyntax,
		Detail: fmt.Sprintf("The text is not valid JSON: %s.", detail)}
}

func (r *jsonReader) stopped() bool { return r.failed != nil || r.tooDeep }

func (r *jsonReader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// next is the next byte, or 0 at the end.
func (r *jsonReader) next() byte {
	if r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0
}

func (r *jsonReader) value(depth int) *node {
	n := &node{}
	n.line, n.column = r.mark()
	switch c := r.next(); {
	case c == '{' || c == '[':
		if depth == MaxLevels {
			r.builder.tooDeep(n.line, n.column)
			r.tooDeep = true
			return n
		}
		if c == '{' {
			r.object(n, depth+1)
		} else {
			r.list(n, depth+1)
		}
	case c == '"':
		n.shape = shapeText
		n.value = r.text()
	case c == '-' || c >= '0' && c <= '9':
		r.number(n)
	default:
		r.word(n)
	}
	return n
}

func (r *jsonReader) word(n *node) {
	for _, w := range [...]struct {
		text  string
		shape shape
		value any
	}{{"null", shapeNull, nil}, {"true", shapeBoolean, true}, {"false", shapeBoolean, false}} {
		if strings.HasPrefix(string(r.data[r.at:min(r.at+5, len(r.data))]), w.text) {
			n.shape, n.value, n.raw = w.shape, w.value, w.text
			r.at += len(w.text)
			return
		}
	}
	r.fail("a value is missing")
}

func (r *jsonReader) list(n *node, depth int) {
	n.shape = shapeList
	values := []any{}
	r.at++
	for r.space(); r.next() != ']'; r.space() {
		if len(values) > 0 && !r.comma("]") {
			return
		}
		r.enterIndex(len(values))
		item := r.value(depth)
		if r.stopped() {
			return
		}
		r.leave()
		n.include(item)
		n.items = append(n.items, item)
		values = append(values, item.value)
	}
	r.at++
	n.height++
	n.value = values
}

func (r *jsonReader) object(n *node, depth int) {
	n.shape = shapeObject
	values := map[string]any{}
	r.at++
	for first := true; ; first = false {
		if r.space(); r.next() == '}' {
			break
		}
		if !first && !r.comma("}") {
			return
		}
		m := member{}
		m.line, m.column = r.mark()
		if r.next() != '"' {
			r.fail("a key in double quotes is missing")
			return
		}
		m.key = r.text()
		r.space()
		if !r.stopped() && r.next() != ':' {
			r.fail("a colon is missing after the key " + quote(m.key))
		}
		if r.stopped() {
			return
		}
		r.at++
		r.space()
		r.enterKey(&m.key)
		m.value = r.value(depth)
		if r.stopped() {
			return
		}
		if _, exists := values[m.key]; exists {
			r.duplicateKey(n, &m)
		} else {
			n.put(values, m)
		}
		r.leave()
	}
	r.at++
	n.height++
	n.value = values
}

// comma skips the comma between two values.
func (r *jsonReader) comma(end string) bool {
	if r.next() != ',' {
		r.fail("a comma or " + end + " is missing")
		return false
	}
	r.at++
	r.space()
	if c := r.next(); c == '}' || c == ']' {
		r.fail("a value is missing after the comma")
		return false
	}
	return true
}

func (r *jsonReader) number(n *node) {
	start := r.at
	if r.next() == '-' {
		r.at++
	}
	whole := r.digits()
	isZeroPadded := whole > 1 && r.data[r.at-whole] == '0'
	fraction, exponent := 1, 1
	isInteger := true
	if r.next() == '.' {
		isInteger = false
		r.at++
		fraction = r.digits()
	}
	if c := r.next(); c == 'e' || c == 'E' {
		isInteger = false
		r.at++
		if c := r.next(); c == '+' || c == '-' {
			r.at++
		}
		exponent = r.digits()
	}
	if whole == 0 || isZeroPadded || fraction == 0 || exponent == 0 {
		r.fail("a number is malformed")
		return
	}
	n.shape, n.raw = shapeNumber, string(r.data[start:r.at])
	if isInteger {
		n.value = parseInteger(n.raw)
	} else if value, err := strconv.ParseFloat(n.raw, 64); err == nil {
		n.value = value
	}
	if n.value == nil {
		r.badNumber(n.raw, n.line, n.column)
	}
}

func (r *jsonReader) digits() int {
	start := r.at
	for c := r.next(); c >= '0' && c <= '9'; c = r.next() {
		r.at++
	}
	return r.at - start
}

// text reads a string; r.at is at its opening quote.
func (r *jsonReader) text() string {
	r.at++
	start := r.at
	for r.at < len(r.data) {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			return string(r.data[start : r.at-1])
		case c == '\\':
			return r.escapedText(start)
		case c < ' ':
			r.fail("a text holds a control character")
			return ""
		}
		r.at++
	}
	r.fail("the closing quote of a text is missing")
	return ""
}

// escapedText continues where text met the first backslash.
func (r *jsonReader) escapedText(start int) string {
	text := append([]byte(nil), r.data[start:r.at]...)
	for r.at < len(r.data) {
		c := r.data[r.at]
		switch {
		case c == '"':
			r.at++
			return string(text)
		case c < ' ':
			r.fail("a text holds a control character")
			return ""
		case c != '\\':
			text = append(text, c)
			r.at++
			continue
		}
		char, size := r.escape()
		if size == 0 {
			r.fail("a text contains an invalid escape")
			return ""
		}
		text = utf8.AppendRune(text, char)
		r.at += size
	}
	r.fail("the closing quote of a text is missing")
	return ""
}

// escape decodes the escape at the next byte; size is 0 if it is invalid.
func (r *jsonReader) escape() (char rune, size int) {
	if r.at+1 >= len(r.data) {
		return 0, 0
	}
	switch c := r.data[r.at+1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		char, ok := r.hex(r.at)
		switch {
		case !ok:
			return 0, 0
		case !utf16.IsSurrogate(char):
			return char, 6
		}
		low, _ := r.hex(r.at + 6)
		if pair := utf16.DecodeRune(char, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return 0, 0
}

// hex decodes the \uXXXX at an offset.
func (r *jsonReader) hex(at int) (rune, bool) {
	if at+6 > len(r.data) || r.data[at] != '\\' || r.data[at+1] != 'u' {
		return 0, false
	}
	code, err := strconv.ParseUint(string(r.data[at+2:at+6]), 16, 16)
	return rune(code), err == nil
}
