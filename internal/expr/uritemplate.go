package expr

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/value"
)

// URITemplate is a compiled URI template of RFC 6570 level 1 (docs/language/resources.md, T42).
type URITemplate struct {
	parts []uriPart
}

type uriPart struct {
	text string // literal, if there is no name
	name string
}

// CompileURITemplate compiles text. A {name} is the name of a property, taken as it stands;
// the operators and modifiers of the higher levels are refused. Errors are *CompileError.
func CompileURITemplate(text string) (*URITemplate, error) {
	t := &URITemplate{}
	for at := 0; at < len(text); {
		i := strings.IndexAny(text[at:], "{}")
		if i < 0 {
			t.literal(text[at:])
			break
		}
		t.literal(text[at : at+i])
		at += i
		end := strings.IndexAny(text[at+1:], "{}")
		if text[at] == '}' || end < 0 || text[at+1+end] == '{' {
			return nil, uriError(text, at, "A brace in the address has no partner.", "write %7B or %7D for a brace itself")
		}
		name := text[at+1 : at+1+end]
		if problem := checkURIName(name); problem != "" {
			return nil, uriError(text, at+1, problem, "only {name} is known here, with the name of a property of the input")
		}
		t.parts = append(t.parts, uriPart{name: name})
		at += len(name) + 2
	}
	return t, nil
}

func uriError(text string, at int, detail, hint string) error {
	line, column := position(text, at)
	return &CompileError{Line: line, Column: column, Detail: detail, Hint: hint}
}

func checkURIName(name string) string {
	switch {
	case name == "":
		return "The braces in the address are empty."
	case strings.ContainsRune("+#./;?&=,!@|", rune(name[0])):
		return "The operator " + name[:1] + " is not available in an address."
	case strings.ContainsAny(name, ",*:"):
		return "Lists and modifiers are not available in the braces of an address."
	case strings.ContainsAny(name, " \t\r\n\"'<>\\^`|"):
		return "The braces in the address hold no name."
	}
	return ""
}

func (t *URITemplate) literal(text string) {
	if text == "" {
		return
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		isEscape := c == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2])
		if isEscape || isUnreserved(c) || strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0 {
			b.WriteByte(c)
		} else {
			percentEncode(&b, c)
		}
	}
	t.parts = append(t.parts, uriPart{text: b.String()})
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isUnreserved(c byte) bool {
	return c < utf8.RuneSelf && isWordByte(c) || c == '-' || c == '.' || c == '~'
}

func percentEncode(b *strings.Builder, c byte) {
	const upperHex = "0123456789ABCDEF"
	b.WriteByte('%')
	b.WriteByte(upperHex[c>>4])
	b.WriteByte(upperHex[c&15])
}

// maxAddressBytes bounds what an address expands to.
const maxAddressBytes = 64 << 10

// Expand replaces each {name} by that property of dot, percent-encoded. A property that is
// missing or null, and any name where dot is no object, gives the empty text. Arrays and
// objects are refused, and so is a value that makes a whole segment of the path "." or "..":
// that would lead to another path than the author wrote. Errors are *EvalError.
func (t *URITemplate) Expand(dot Value) (string, error) {
	object, _ := dot.(map[string]any)
	var b strings.Builder
	var values []uriValueAt
	for _, part := range t.parts {
		text, start := part.text, b.Len()
		if part.name != "" {
			var err error
			if text, err = uriValue(part.name, object[part.name]); err != nil {
				return "", err
			}
		}
		for i := 0; i < len(text) && b.Len() <= maxAddressBytes; i++ {
			if part.name == "" || isUnreserved(text[i]) {
				b.WriteByte(text[i])
			} else {
				percentEncode(&b, text[i])
			}
		}
		if b.Len() > maxAddressBytes {
			return "", limit("The address has more than %d bytes.", maxAddressBytes)
		}
		if part.name != "" && b.Len() > start {
			values = append(values, uriValueAt{part.name, start})
		}
	}
	return b.String(), checkSegments(b.String(), values)
}

// uriValueAt is where the value of a name begins in an address.
type uriValueAt struct {
	name  string
	start int
}

// checkSegments refuses values that make a segment of the path a step up, or none.
func checkSegments(address string, values []uriValueAt) error {
	path := address
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		path = path[:end]
	}
	for _, part := range values {
		if part.start >= len(path) {
			return nil
		}
		segment := path[strings.LastIndexByte(path[:part.start], '/')+1:]
		segment, _, _ = strings.Cut(segment, "/")
		if plain, err := url.PathUnescape(segment); err == nil && (plain == "." || plain == "..") {
			return &EvalError{Detail: "The property " + excerpt.Quote(part.name) + " would lead the address to another path: it makes the segment \"" +
				plain + "\" of it."}
		}
	}
	return nil
}

// uriValue is the text of a property; numbers are written as tostring writes them.
func uriValue(name string, v Value) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case float64:
		return string(appendNumberText(nil, v)), nil
	case []any, map[string]any:
		return "", &EvalError{Detail: "The property " + excerpt.Quote(name) + " is an " + typeName(v) +
			"; an address takes texts, numbers and booleans only."}
	}
	return string(value.Marshal(v)), nil
}
