package expr

import "strings"

// locateToken finds the first place of a name in the source, in code only.
func locateToken(source, token string) (line, column int) {
	at := 0
	if token != "" {
		at = max(findToken(source, token), 0)
	}
	return position(source, at)
}

// position is the line and column of an offset, both from 1.
func position(source string, at int) (line, column int) {
	before := source[:min(at, len(source))]
	line = strings.Count(before, "\n") + 1
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		before = before[i+1:]
	}
	return line, len([]rune(before)) + 1
}

// findToken returns the offset of a name, or -1. Comments and texts are passed over, but not
// the \(…) in texts.
func findToken(source, token string) int {
	var texts []int // the depth of parentheses at each text that is interrupted by \(
	depth, inText := 0, false
	for at := 0; at < len(source); at++ {
		c := source[at]
		switch {
		case inText && c == '\\':
			if at++; at < len(source) && source[at] == '(' {
				texts, inText = append(texts, depth), false
				depth++
			}
			continue
		case c == '"':
			inText = !inText
			continue
		case inText:
			continue
		case c == '#':
			if end := strings.IndexByte(source[at:], '\n'); end >= 0 {
				at += end
				continue
			}
			return -1
		case c == '(':
			depth++
		case c == ')':
			depth--
			if n := len(texts); n > 0 && texts[n-1] == depth {
				texts, inText = texts[:n-1], true
			}
		}
		if isTokenAt(source, token, at) {
			return at
		}
	}
	return -1
}

func isTokenAt(source, token string, at int) bool {
	if !strings.HasPrefix(source[at:], token) {
		return false
	}
	if at > 0 && (isWordByte(source[at-1]) || source[at-1] == '.' || source[at-1] == '$') {
		return false
	}
	end := at + len(token)
	return end == len(source) || !isWordByte(source[end])
}

// isWordByte reports whether a name of jq may contain c.
func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || '0' <= c && c <= '9'
}
