package machine

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanFileName keeps of the path of a file what is fit for display: no control characters, no line
// or paragraph separators, no marks that turn the direction of the text, no bytes that are not
// UTF-8. Folders stay, "." and ".." among them do not. What keeps nothing is called "file".
func CleanFileName(path string) string {
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		if part = cleanPart(part); part != "" && part != "." && part != ".." {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "file"
	}
	return strings.Join(parts, "/")
}

func cleanPart(part string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if c == utf8.RuneError || unicode.IsControl(c) || unicode.In(c, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return -1
		}
		return c
	}, part))
}
