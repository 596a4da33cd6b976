package plan

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/net/idna"
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
	"regex":     "a valid regular expression", "json-pointer": "a valid JSON pointer, such as /a/0",
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

const (
	maxHostName  = 253
	maxHostLabel = 63
	maxLocalPart = 64
)

// isHostName judges by RFC 1123, 2.1. A label that says to be encoded must be (RFC 5890, 2.3.2.1).
func isHostName(text string) bool {
	if text == "" || len(text) > maxHostName {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if !isHostLabel(label) {
			return false
		}
	}
	return true
}

func isHostLabel(label string) bool {
	if label == "" || len(label) > maxHostLabel || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for i := range len(label) {
		if label[i] != '-' && !isLetterOrDigit(label[i]) {
			return false
		}
	}
	if len(label) >= 4 && strings.EqualFold(label[:4], "xn--") {
		decoded, err := registration.ToUnicode(strings.ToLower(label))
		return err == nil && isContextual(decoded)
	}
	return len(label) < 4 || label[2:4] != "--"
}

// registration judges labels as IDNA 2008 does (RFC 5891, 4), without mapping anything.
var registration = idna.New(idna.ValidateForRegistration())

// isIDNHostName judges by RFC 5890, 2.3.2.3.
func isIDNHostName(text string) bool {
	if text == "" || !utf8.ValidString(text) {
		return false
	}
	text = dots.Replace(text)
	total := 0
	for label := range strings.SplitSeq(text, ".") {
		encoded := label
		if isASCII(label) {
			if !isHostLabel(label) {
				return false
			}
		} else {
			var err error
			if encoded, err = registration.ToASCII(label); err != nil || len(encoded) > maxHostLabel || !isContextual(label) {
				return false
			}
		}
		total += len(encoded) + 1
	}
	return total-1 <= maxHostName
}

// dots are the characters that separate labels beside the full stop (RFC 3490, 3.1).
var dots = strings.NewReplacer("\u3002", ".", "\uff0e", ".", "\uff61", ".")

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(char rune) bool { return char >= utf8.RuneSelf })
}

// isContextual judges the characters that RFC 5892 forbids because they are no letters, marks or
// digits (2.1) or by name (2.6), or allows only beside others (A.3 to A.9); package idna knows the
// rules for joiners, for the order of writing and for what is not normalised.
func isContextual(label string) bool {
	chars := []rune(label)
	hasKana := strings.ContainsFunc(label, func(char rune) bool {
		return unicode.In(char, unicode.Hiragana, unicode.Katakana, unicode.Han)
	})
	hasArabic, hasExtended := false, false
	for i, char := range chars {
		before, after := rune(0), rune(0)
		if i > 0 {
			before = chars[i-1]
		}
		if i+1 < len(chars) {
			after = chars[i+1]
		}
		ok := true
		switch {
		case char == 0x00b7: // middle dot
			ok = before == 'l' && after == 'l'
		case char == 0x0375: // Greek keraia
			ok = unicode.Is(unicode.Greek, after)
		case char == 0x05f3, char == 0x05f4: // Hebrew geresh, gershayim
			ok = unicode.Is(unicode.Hebrew, before)
		case char == 0x30fb: // Katakana middle dot, which Katakana itself does not count
			ok = hasKana
		case 0x0660 <= char && char <= 0x0669:
			hasArabic = true
		case 0x06f0 <= char && char <= 0x06f9:
			hasExtended = true
		case char == 0x06fd, char == 0x06fe, char == 0x0f0b, char == 0x3007, char == 0x200c, char == 0x200d:
		case char >= utf8.RuneSelf && !unicode.In(char, unicode.L, unicode.Mn, unicode.Mc, unicode.Nd):
			ok = false
		case char == 0x0640, char == 0x07fa, char == 0x302e, char == 0x302f, 0x3031 <= char && char <= 0x3035, char == 0x303b:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return !hasArabic || !hasExtended
}

// isEmail judges a mailbox by RFC 5321, 4.1.2, and with internationalised parts by RFC 6531, 3.3.
func isEmail(text string, international bool) bool {
	at := strings.LastIndexByte(text, '@')
	if at < 1 || at > maxLocalPart || !utf8.ValidString(text) || !isLocalPart(text[:at], international) {
		return false
	}
	domain := text[at+1:]
	if literal, ok := strings.CutPrefix(domain, "["); ok {
		literal, ok = strings.CutSuffix(literal, "]")
		version6, is6 := strings.CutPrefix(literal, "IPv6:")
		address, err := netip.ParseAddr(version6)
		return ok && err == nil && address.Zone() == "" && address.Is4() != is6
	}
	if international {
		return isIDNHostName(domain)
	}
	return isHostName(domain)
}

func isLocalPart(local string, international bool) bool {
	if quoted, ok := strings.CutPrefix(local, `"`); ok {
		quoted, ok = strings.CutSuffix(quoted, `"`)
		return ok && len(local) > 1 && isQuoted(quoted, international)
	}
	for atom := range strings.SplitSeq(local, ".") {
		if atom == "" || strings.ContainsFunc(atom, func(char rune) bool {
			if char >= utf8.RuneSelf {
				return !international
			}
			return !isLetterOrDigit(byte(char)) && !strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", char)
		}) {
			return false
		}
	}
	return true
}

func isQuoted(text string, international bool) bool {
	escaped := false
	for _, char := range text {
		switch {
		case char < ' ' || char == 0x7f || char >= utf8.RuneSelf && !international:
			return false
		case escaped:
			escaped = false
		case char == '\\':
			escaped = true
		case char == '"':
			return false
		}
	}
	return !escaped
}

// isURI judges by RFC 3986, and with characters beyond ASCII by RFC 3987.
func isURI(text string, international, absolute bool) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '%':
			if !isPercentEncoded(text[i:]) {
				return false
			}
		case c <= ' ' || c == 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0, c >= utf8.RuneSelf && !international:
			return false
		}
	}
	u, err := url.Parse(text)
	if err != nil || !utf8.ValidString(text) || strings.Count(text, "#") > 1 {
		return false
	}
	host := u.Hostname()
	if strings.Contains(host, ":") && !strings.HasPrefix(u.Host, "[") || strings.Contains(u.Path, "[") || strings.Contains(u.Path, "]") {
		return false
	}
	return u.IsAbs() || !absolute
}
