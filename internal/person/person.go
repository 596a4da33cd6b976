package person

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// The bounds of what is accepted.
const (
	MaxEmailBytes     = 254 // RFC 5321
	maxLocalBytes     = 64
	MaxNameCharacters = 200
	maxMarks          = 8 // one after the other
)

// Email reads an e-mail address. shown is how it is stored, key how it is compared. complaint says in a sentence
// without its subject what is wrong; empty: nothing.
func Email(text string) (shown, key, complaint string) {
	if len(text) > MaxEmailBytes {
		return "", "", "must not be longer than " + strconv.Itoa(MaxEmailBytes) + " bytes."
	}
	if complaint = refused(text); complaint != "" {
		return "", "", complaint
	}
	shown = norm.NFC.String(strings.Trim(text, " "))
	at := strings.LastIndexByte(shown, '@')
	if at < 1 || at == len(shown)-1 {
		return "", "", "must be an e-mail address, such as ada@example.org."
	}
	local, domain := shown[:at], shown[at+1:]
	if len(local) > maxLocalBytes || strings.ContainsFunc(local, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`@"(),:;<>[\]`, r) }) ||
		strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return "", "", "has a part before the @ that cannot be used: at most 64 bytes, without spaces, quotes, brackets, commas or doubled dots."
	}
	ascii, err := idna.Lookup.ToASCII(domain)
	if err != nil || !isDomain(ascii) {
		return "", "", "has a part behind the @ that is no name of a domain."
	}
	return shown, Key(local) + "@" + ascii, ""
}

// isDomain reports whether text is a name of labels with letters, digits and dashes.
func isDomain(text string) bool {
	if len(text) > 253 {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') {
				return false
			}
		}
	}
	return true
}

// Name reads the name of a person, a group or a passkey. shown is how it is stored, complaint as of Email.
func Name(text string) (shown, complaint string) {
	// What is far too long is not looked at.
	if len(text) <= 8*MaxNameCharacters {
		if complaint = refused(text); complaint != "" {
			return "", complaint
		}
		text = norm.NFC.String(strings.Join(strings.Fields(text), " "))
	}
	switch n := utf8.RuneCountInString(text); {
	case n > MaxNameCharacters:
		return "", "must not have more than " + strconv.Itoa(MaxNameCharacters) + " characters."
	case strings.Trim(text, string(joiners[:])+" ") == "":
		return "", "must not be empty."
	}
	return text, ""
}

// Key is the form in which names are compared.
func Key(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == joiners[0] || r == joiners[1] {
			return -1
		}
		return r
	}, name)
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
}

// joiners are invisible, but some languages cannot be written without them.
var joiners = [2]rune{0x200c, 0x200d}

// refused says which character of text is not accepted.
func refused(text string) string {
	if !utf8.ValidString(text) {
		return "must be text in UTF-8."
	}
	marks := 0
	for _, r := range text {
		if !unicode.Is(unicode.M, r) {
			marks = 0
		} else if marks++; marks > maxMarks {
			return "has too many accents on one letter."
		}
		switch {
		case r == joiners[0], r == joiners[1], r == ' ':
		case unicode.Is(unicode.Bidi_Control, r):
			return "must not have characters that change the direction of writing (" + codePoint(r) + ")."
		case !unicode.IsGraphic(r) || unicode.Is(unicode.Co, r) || r == utf8.RuneError || unicode.Is(unicode.Variation_Selector, r):
			return "must not have control characters or invisible ones (" + codePoint(r) + ")."
		}
	}
	return ""
}

func codePoint(r rune) string {
	text := strings.ToUpper(strconv.FormatInt(int64(r), 16))
	return "U+" + strings.Repeat("0", max(0, 4-len(text))) + text
}
