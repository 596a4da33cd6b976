package value

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/jsonpointer"
)

// Limits bounds what Parse accepts. A zero field stands for the default.
type Limits struct {
	Depth         int // levels of nesting; default DefaultDepth
	Bytes         int // bytes of text; default DefaultBytes
	Values        int // values of all kinds; default DefaultValues
	IntegerDigits int // digits of an integer; default MaxIntegerDigits
}

// The limits of JSON texts, and what Limits has by default.
const (
	DefaultDepth     = 64       // levels of nesting of a request body
	DefaultBytes     = 16 << 20 // bytes of text
	DefaultValues    = 2 << 20  // values in one text, which take up to 30 times the memory of their text
	MaxDepth         = 256      // levels of nesting of any value (T76)
	MaxIntegerDigits = 1000     // digits of an integer in a text from outside
)

// The codes of SyntaxError.
const (
	CodeTooLarge         = "too_large"
	CodeTooDeep          = "too_deep"
	CodeTooManyValues    = "too_many_values"
	CodeEmptyText        = "empty_text"
	CodeUnexpectedEnd    = "unexpected_end"
	CodeUnexpectedChar   = "unexpected_character"
	CodeTextAfterValue   = "text_after_value"
	CodeDuplicateKey     = "duplicate_key"
	CodeInvalidUTF8      = "invalid_utf8"
	CodeInvalidEscape    = "invalid_escape"
	CodeLoneSurrogate    = "lone_surrogate"
	CodeControlCharacter = "control_character"
	CodeInvalidLiteral   = "invalid_literal"
	CodeInvalidNumber    = "invalid_number"
	CodeIntegerTooLong   = "integer_too_long"
	CodeNumberRange      = "number_out_of_range"
)

// SyntaxError tells what is wrong with a JSON text and where.
type SyntaxError struct {
	Offset  int    // bytes from the start of the text
	Line    int    // from 1
	Column  int    // from 1, in characters; a byte order mark is not one
	Pointer string // JSON pointer (RFC 6901) of the innermost value that is affected
	Code    string // one of the codes above
	Detail  string // a sentence
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Detail)
}

// Parse reads one JSON text as docs/reference/api.md demands: a byte order mark is skipped, integers are
// exact, other numbers become 64-bit floats, and everything doubtful is refused. The error
// is a *SyntaxError. Nothing of data is kept.
func Parse(data []byte, lim Limits) (Value, error) {
	if lim.Depth == 0 {
		lim.Depth = DefaultDepth
	}
	if lim.Bytes == 0 {
		lim.Bytes = DefaultBytes
	}
	if lim.Values == 0 {
		lim.Values = DefaultValues
	}
	if lim.IntegerDigits == 0 {
		lim.IntegerDigits = MaxIntegerDigits
	}
	if len(data) > lim.Bytes {
		return nil, &SyntaxError{Line: 1, Column: 1, Code: CodeTooLarge,
			Detail: fmt.Sprintf("The text has %d bytes; at most %d are allowed.", len(data), lim.Bytes)}
	}
	p := parsers.Get().(*parser)
	p.src, p.maxDepth, p.left, p.maxDigits = data, lim.Depth, lim.Values, lim.IntegerDigits
	if strings.HasPrefix(string(data[:min(3, len(data))]), "\ufeff") {
		p.pos = 3
	}
	v, err := p.document()
	if err != nil {
		err.locate(data)
	}
	p.release()
	if err != nil {
		return nil, err
	}
	return v, nil
}

// locate fills in line and column from the offset.
func (e *SyntaxError) locate(data []byte) {
	before := data[:e.Offset]
	if len(before) >= 3 && string(before[:3]) == "\ufeff" {
		before = before[3:]
	}
	e.Line, e.Column = 1, 1
	for len(before) > 0 {
		if before[0] == '\n' {
			e.Line, e.Column, before = e.Line+1, 1, before[1:]
			continue
		}
		_, size := utf8.DecodeRune(before)
		e.Column, before = e.Column+1, before[size:]
	}
}

// parsers keeps the scratch space of finished calls.
var parsers = sync.Pool{New: func() any { return new(parser) }}

const (
	keyCacheSize   = 128  // places for recent keys
	keyCacheLength = 32   // bytes of a key that is worth remembering
	sharedText     = 2048 // bytes of a text whose strings share one copy of it
	scratchKept    = 4096 // entries of scratch space that are kept for the next call
)

// parser reads by recursive descent. Members are gathered on a stack of their own, so that
// each array and object is allocated once, in its final size.
type parser struct {
	src       []byte
	text      string // a copy of src for short texts, made at the first string
	pos       int
	depth     int
	maxDepth  int
	left      int // values that may still come
	maxDigits int
	values    []Value
	members   []member
	buffer    []byte // for strings with escapes
	keys      [keyCacheSize]string
}

type member struct {
	key   string
	at    int // offset of the key
	value Value
}

// release hands the parser back without keeping large or foreign memory alive.
func (p *parser) release() {
	clear(p.values)
	clear(p.members)
	p.values, p.members, p.buffer = p.values[:0], p.members[:0], p.buffer[:0]
	if cap(p.values) > scratchKept {
		p.values = nil
	}
	if cap(p.members) > scratchKept {
		p.members = nil
	}
	if cap(p.buffer) > scratchKept {
		p.buffer = nil
	}
	p.src, p.text, p.pos, p.depth = nil, "", 0, 0
	parsers.Put(p)
}

func (p *parser) fail(at int, code, detail string) *SyntaxError {
	return &SyntaxError{Offset: at, Code: code, Detail: detail}
}

func (p *parser) document() (Value, *SyntaxError) {
	p.space()
	if p.pos == len(p.src) {
		return nil, p.fail(p.pos, CodeEmptyText, "The text is empty; a JSON value is expected.")
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(p.src) {
		return nil, p.fail(p.pos, CodeTextAfterValue, "The JSON value ends before "+p.here()+".")
	}
	return v, nil
}

func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\n', '\t', '\r':
			p.pos++
		default:
			return
		}
	}
}

// here names the character at the current position, for messages.
func (p *parser) here() string {
	if p.pos == len(p.src) {
		return "the end of the text"
	}
	r, size := utf8.DecodeRune(p.src[p.pos:])
	if r == utf8.RuneError && size == 1 {
		return fmt.Sprintf("the byte 0x%02x", p.src[p.pos])
	}
	return fmt.Sprintf("%q", r)
}

func (p *parser) unexpected(expected string) *SyntaxError {
	code := CodeUnexpectedChar
	if p.pos == len(p.src) {
		code = CodeUnexpectedEnd
	} else if p.src[p.pos] >= utf8.RuneSelf && !utf8.FullRune(p.src[p.pos:]) {
		code = CodeInvalidUTF8
	}
	return p.fail(p.pos, code, "Expected "+expected+", but found "+p.here()+".")
}

func (p *parser) value() (Value, *SyntaxError) {
	if p.pos == len(p.src) {
		return nil, p.unexpected("a value")
	}
	if p.left--; p.left < 0 {
		return nil, p.fail(p.pos, CodeTooManyValues, "The text holds too many values.")
	}
	switch c := p.src[p.pos]; c {
	case '"':
		return p.stringValue()
	case '{':
		return p.object()
	case '[':
		return p.array()
	case 't':
		return true, p.literal("true")
	case 'f':
		return false, p.literal("false")
	case 'n':
		return nil, p.literal("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return p.number()
	case '\'':
		return nil, p.fail(p.pos, CodeUnexpectedChar, "Write strings in double quotes.")
	case '/', '#':
		return nil, p.fail(p.pos, CodeUnexpectedChar, "JSON has no comments.")
	default:
		if isLetterOrDigit(c) {
			return nil, p.badLiteral()
		}
		return nil, p.unexpected("a value")
	}
}

func isLetterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || '0' <= c && c <= '9'
}

func (p *parser) literal(word string) *SyntaxError {
	end := p.pos + len(word)
	if end > len(p.src) || string(p.src[p.pos:end]) != word || end < len(p.src) && isLetterOrDigit(p.src[end]) {
		return p.badLiteral()
	}
	p.pos = end
	return nil
}

// badLiteral reports NaN, Infinity, undefined, True and the like.
func (p *parser) badLiteral() *SyntaxError {
	end := p.pos
	for end < len(p.src) && isLetterOrDigit(p.src[end]) && end-p.pos < 32 {
		end++
	}
	word := string(p.src[p.pos:end])
	if end == len(p.src) && (strings.HasPrefix("true", word) || strings.HasPrefix("false", word) || strings.HasPrefix("null", word)) {
		return p.fail(end, CodeUnexpectedEnd, "The text ends within a word.")
	}
	return p.fail(p.pos, CodeInvalidLiteral, fmt.Sprintf("%s is no JSON value; the words are true, false and null.", word))
}

// enter checks the depth; the caller leaves with p.depth--.
func (p *parser) enter() *SyntaxError {
	if p.depth++; p.depth > p.maxDepth {
		return p.fail(p.pos, CodeTooDeep, fmt.Sprintf("Arrays and objects are nested more than %d levels deep.", p.maxDepth))
	}
	return nil
}

func (p *parser) array() (Value, *SyntaxError) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	p.pos++
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == ']' {
		p.pos++
		p.depth--
		return []any{}, nil
	}
	base := len(p.values)
	for {
		v, err := p.value()
		if err != nil {
			err.Pointer = fmt.Sprintf("/%d%s", len(p.values)-base, err.Pointer)
			return nil, err
		}
		p.values = append(p.values, v)
		p.space()
		if p.pos == len(p.src) || p.src[p.pos] != ',' {
			break
		}
		p.pos++
		p.space()
		if p.pos < len(p.src) && p.src[p.pos] == ']' {
			return nil, p.fail(p.pos, CodeUnexpectedChar, "A comma stands before the closing bracket.")
		}
	}
	if p.pos == len(p.src) || p.src[p.pos] != ']' {
		return nil, p.unexpected("a comma or a closing bracket")
	}
	p.pos++
	p.depth--
	list := make([]any, len(p.values)-base)
	copy(list, p.values[base:])
	p.values = p.values[:base]
	return list, nil
}

func (p *parser) object() (Value, *SyntaxError) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	p.pos++
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == '}' {
		p.pos++
		p.depth--
		return map[string]any{}, nil
	}
	base := len(p.members)
	for {
		m, err := p.member()
		if err != nil {
			return nil, err
		}
		p.members = append(p.members, m)
		p.space()
		if p.pos == len(p.src) || p.src[p.pos] != ',' {
			break
		}
		p.pos++
		p.space()
		if p.pos < len(p.src) && p.src[p.pos] == '}' {
			return nil, p.fail(p.pos, CodeUnexpectedChar, "A comma stands before the closing brace.")
		}
	}
	if p.pos == len(p.src) || p.src[p.pos] != '}' {
		return nil, p.unexpected("a comma or a closing brace")
	}
	p.pos++
	p.depth--
	members := p.members[base:]
	object := make(map[string]any, len(members))
	for i, m := range members {
		object[m.key] = m.value
		if len(object) != i+1 {
			err := p.fail(m.at, CodeDuplicateKey, "The key "+excerpt.Quote(m.key)+" occurs twice in one object.")
			err.Pointer = "/" + jsonpointer.Escape(m.key)
			return nil, err
		}
	}
	p.members = p.members[:base]
	return object, nil
}

func (p *parser) member() (member, *SyntaxError) {
	if p.pos == len(p.src) || p.src[p.pos] != '"' {
		return member{}, p.unexpected("a key in double quotes")
	}
	m := member{at: p.pos}
	raw, err := p.stringBytes()
	if err != nil {
		return member{}, err
	}
	m.key = p.intern(raw)
	p.space()
	if p.pos == len(p.src) || p.src[p.pos] != ':' {
		err = p.unexpected("a colon")
	} else {
		p.pos++
		p.space()
		m.value, err = p.value()
	}
	if err != nil {
		err.Pointer = "/" + jsonpointer.Escape(m.key) + err.Pointer
	}
	return m, err
}

// intern makes a key of bytes; keys that were seen lately are not allocated again.
func (p *parser) intern(raw []byte) string {
	if len(raw) == 0 || len(raw) > keyCacheLength {
		return string(raw)
	}
	cached := &p.keys[(uint(raw[0])*31+uint(raw[len(raw)-1])*7+uint(raw[len(raw)/2])+uint(len(raw)))%keyCacheSize]
	if *cached != string(raw) {
		*cached = string(raw)
	}
	return *cached
}
