package plan

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/secure/bidirule"
	"golang.org/x/text/unicode/bidi"
)

const (
	maxHostName  = 253
	maxHostLabel = 63
	maxLocalPart = 64
)

// isHostName judges by RFC 1123, 2.1. A label that says to be encoded must be (RFC 5890, 2.3.2.1), and no other has
// `--` as its third and fourth characters (RFC 5891, 4.2.3.1).
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
	labels := strings.Split(dots.Replace(text), ".")
	total := 0
	for i, label := range labels {
		encoded := label
		if isASCII(label) {
			if !isHostLabel(label) {
				return false
			}
			labels[i], _ = registration.ToUnicode(strings.ToLower(label)) // isHostLabel has judged it
		} else {
			// Encoded, it has at least as many characters. To encode one that is too long takes time that grows with the
			// square of its length.
			if utf8.RuneCountInString(label) > maxHostLabel {
				return false
			}
			var err error
			if encoded, err = registration.ToASCII(label); err != nil || len(encoded) > maxHostLabel || !isContextual(label) {
				return false
			}
		}
		total += len(encoded) + 1
	}
	return total-1 <= maxHostName && isOrdered(labels)
}

// isOrdered judges the order in which labels are written. As soon as one of them is written from
// right to left, the rule holds for all (RFC 5893, 2).
func isOrdered(labels []string) bool {
	toTheLeft := func(label string) bool { return bidirule.DirectionString(label) != bidi.LeftToRight }
	return !slices.ContainsFunc(labels, toTheLeft) ||
		!slices.ContainsFunc(labels, func(label string) bool { return !bidirule.ValidString(label) })
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
		const tag = "IPv6:" // in any case (RFC 5234, 2.3)
		if len(literal) > len(tag) && strings.EqualFold(literal[:len(tag)], tag) {
			return ok && isIPv6(literal[len(tag):])
		}
		return ok && isIPv4(literal)
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

func isIPv4(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is4()
}

func isIPv6(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is6() && address.Zone() == ""
}
