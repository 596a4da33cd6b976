package plan

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Formats are judged by the standards that name them (T98). The validator's own judgement is
// replaced where it differs from those.
var schemaFormats = []*jsonschema.Format{
	textFormat("uri-template", isURITemplate),
	textFormat("hostname", isHostName),
	textFormat("idn-hostname", isIDNHostName),
	textFormat("email", func(text string) bool { return isEmail(text, false) }),
	textFormat("idn-email", func(text string) bool { return isEmail(text, true) }),
	textFormat("uri", func(text string) bool { return isURI(text, false, true) }),
	textFormat("uri-reference", func(text string) bool { return isURI(text, false, false) }),
	textFormat("iri", func(text string) bool { return isURI(text, true, true) }),
	textFormat("iri-reference", func(text string) bool { return isURI(text, true, false) }),
	textFormat("ipv4", isIPv4),
	textFormat("time", isTime),
	textFormat("date-time", isDateTime),
	textFormat("duration", duration.MatchString),
	textFormat("period", isPeriod),
	textFormat("relative-json-pointer", relativePointer.MatchString),
}

var errFormat = errors.New("not of this format")

// textFormat is a format of texts; other values are of every format.
func textFormat(name string, matches func(string) bool) *jsonschema.Format {
	return &jsonschema.Format{Name: name, Validate: func(v any) error {
		if text, ok := v.(string); ok && !matches(text) {
			return errFormat
		}
		return nil
	}}
}

// formatName is a format as a sentence names it.
func formatName(format string) string {
	if name, ok := formatNames[format]; ok {
		return name
	}
	return "a valid " + format
}

var formatNames = map[string]string{
	"email": "a valid e-mail address", "idn-email": "a valid e-mail address",
	"hostname": "a valid host name", "idn-hostname": "a valid host name",
	"uri": "a valid URI, such as https://example.com/a", "uri-reference": "a valid URI or relative reference",
	"iri": "a valid IRI, such as https://example.com/a", "iri-reference": "a valid IRI or relative reference",
	"uri-template": "a valid URI template, such as https://example.com/{id}",
	"uuid":         "a valid UUID", "ipv4": "a valid IPv4 address", "ipv6": "a valid IPv6 address",
	"date": "a valid date, such as 2026-01-31", "time": "a valid time with its zone, such as 12:30:00Z",
	"date-time": "a valid date and time, such as 2026-01-31T12:30:00Z",
	"duration":  "a valid ISO 8601 duration, such as PT30S",
	"regex":     "a valid regular expression in RE2, which has no look-around and no back references", "json-pointer": "a valid JSON pointer, such as /a/0",
	"relative-json-pointer": "a valid relative JSON pointer", "semver": "a valid semantic version, such as 1.0.0",
}

// isURITemplate judges by the grammar of RFC 6570, section 2, all levels.
func isURITemplate(text string) bool {
	for text != "" {
		if text[0] == '{' {
			end := strings.IndexByte(text, '}')
			if end < 0 || !isTemplateExpression(text[1:end]) {
				return false
			}
			text = text[end+1:]
			continue
		}
		size := literalLength(text)
		if size == 0 {
			return false
		}
		text = text[size:]
	}
	return true
}

// literalLength is the length of the first character of literals, 0 if it is none. The single
// quote is one (erratum 6937).
func literalLength(text string) int {
	switch c := text[0]; {
	case c == '%':
		if isPercentEncoded(text) {
			return 3
		}
		return 0
	case c <= ' ' || c == 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0:
		return 0
	case c < utf8.RuneSelf:
		return 1
	}
	char, size := utf8.DecodeRuneInString(text)
	if char == utf8.RuneError && size == 1 || unicode.IsControl(char) || unicode.Is(unicode.Cs, char) || char&0xfffe == 0xfffe {
		return 0
	}
	return size
}

func isPercentEncoded(text string) bool {
	return len(text) >= 3 && text[0] == '%' && isHexDigit(text[1]) && isHexDigit(text[2])
}

func isHexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// isTemplateExpression judges what stands between braces: an operator and variables.
func isTemplateExpression(text string) bool {
	if text != "" && strings.IndexByte("+#./;?&=,!@|", text[0]) >= 0 {
		text = text[1:]
	}
	for spec := range strings.SplitSeq(text, ",") {
		name, prefix, hasPrefix := strings.Cut(spec, ":")
		if hasPrefix && (prefix == "" || len(prefix) > 4 || prefix[0] == '0' || strings.Trim(prefix, "0123456789") != "") {
			return false
		}
		if !hasPrefix {
			name = strings.TrimSuffix(name, "*")
		}
		if !isTemplateName(name) {
			return false
		}
	}
	return true
}

func isTemplateName(name string) bool {
	if name == "" || name[0] == '.' || name[len(name)-1] == '.' || strings.Contains(name, "..") {
		return false
	}
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '%' && isPercentEncoded(name[i:]):
			i += 2
		case c == '.' || c == '_' || isLetterOrDigit(c):
		default:
			return false
		}
	}
	return true
}

func isLetterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// relativePointer is the grammar of draft-bhutton-relative-json-pointer-00, to which draft 2020-12 of
// JSON Schema refers. Its examples have `+1#`, which its grammar forgot and a later draft has.
var relativePointer = regexp.MustCompile(`^(?:0|[1-9][0-9]*)(?:[+-][1-9][0-9]*)?(?:#|(?:/(?:[^/~]|~[01])*)*)$`)
