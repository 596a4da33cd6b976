package excerpt

import (
	"strconv"
	"strings"
	"unicode"
)

// quoted is the number of bytes of a text that Quote shows.
const quoted = 100

// Clip returns at most n bytes of a text as valid UTF-8, with "…" where something was cut off.
func Clip(s string, n int) string {
	if len(s) > n { // perhaps in the middle of a character
		return strings.ToValidUTF8(strings.TrimRightFunc(s[:n], invalid), "\uFFFD") + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Line is Clip for a text that must stay on one line: control characters become spaces.
func Line(s string, n int) string {
	return Clip(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s), n)
}

// Quote quotes a text for a message. Of a long one it shows the beginning.
func Quote(s string) string {
	if len(s) > quoted {
		return strconv.Quote(strings.TrimRightFunc(s[:quoted], invalid) + "…")
	}
	return strconv.Quote(s)
}

func invalid(r rune) bool { return r == unicode.ReplacementChar }
