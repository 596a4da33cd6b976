package password

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The length of a password, in characters. The longest bounds what is hashed.
const (
	MinCharacters = 12
	MaxCharacters = 256
)

// common.txt holds the 10,000 commonest passwords, commonest first, and of the 39,233 that follow those that are long
// enough to be chosen here. See LICENSE.common.
//
//go:embed common.txt
var commonText string

var common = sync.OnceValue(func() map[string]struct{} {
	set := make(map[string]struct{}, 10_500)
	for line := range strings.Lines(commonText) {
		set[strings.TrimSuffix(line, "\n")] = struct{}{}
	}
	return set
})

// Weak says why text is no password that a person may choose, in a sentence; empty: it may be chosen. own are texts
// that others know of the person: name and e-mail.
func Weak(text string, own ...string) string {
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "The password is not text."
	case n < MinCharacters:
		return fmt.Sprintf("The password has %d characters; at least %d are needed. Some words in a row are easy to remember.", n, MinCharacters)
	case n > MaxCharacters:
		return fmt.Sprintf("The password has %d characters; at most %d are allowed.", n, MaxCharacters)
	}
	folded := strings.ToLower(text)
	for _, candidate := range []string{folded, unit(folded), strings.TrimFunc(folded, notLetter), unit(strings.TrimFunc(folded, notLetter))} {
		if _, known := common()[candidate]; known {
			return "The password is one of the 10,000 commonest, or one of them with digits or repeated. Choose another."
		}
	}
	if utf8.RuneCountInString(unit(folded)) < 3 {
		return "The password repeats one or two characters. Choose another."
	}
	for _, text := range own {
		if text = strings.ToLower(strings.TrimSpace(text)); text != "" && strings.TrimFunc(folded, notLetter) == strings.TrimFunc(text, notLetter) {
			return "The password is the name or the e-mail. Choose another."
		}
	}
	return ""
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// unit is the shortest text that text is a repetition of: text itself, if it is none.
func unit(text string) string {
	if text == "" {
		return text
	}
	// The second place where text occurs in text+text is its period.
	return text[:1+strings.Index((text + text)[1:], text)]
}
