package plan

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// isURI judges by the grammar of RFC 3986, and with characters beyond ASCII by that of RFC 3987. It
// takes the parts from one another as appendix B of RFC 3986 does.
func isURI(text string, international, absolute bool) bool {
	if !utf8.ValidString(text) {
		return false
	}
	judge := uriJudge{international: international}
	text, fragment, _ := strings.Cut(text, "#")
	text, query, _ := strings.Cut(text, "?")
	path, hasScheme := text, false
	if colon := strings.IndexByte(text, ':'); colon >= 0 && !strings.Contains(text[:colon], "/") {
		if !scheme.MatchString(text[:colon]) {
			return false
		}
		path, hasScheme = text[colon+1:], true
	}
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		slash := strings.IndexByte(rest, '/')
		if slash < 0 {
			slash = len(rest)
		}
		if !judge.authority(rest[:slash]) {
			return false
		}
		path = rest[slash:]
	}
	judgeQuery := judge
	judgeQuery.private = international
	return (hasScheme || !absolute) && judge.part(path, ":@/") && judgeQuery.part(query, ":@/?") && judge.part(fragment, ":@/?")
}

var (
	scheme      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
	port        = regexp.MustCompile(`^[0-9]*$`)
	futureLocal = regexp.MustCompile(`^[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+$`)
)

// uriJudge judges the parts of URIs, or of IRIs.
type uriJudge struct {
	international bool
	private       bool // characters of private use are allowed
}

// authority judges what stands between "//" and the path.
func (j uriJudge) authority(text string) bool {
	if user, host, ok := strings.Cut(text, "@"); ok {
		if !j.part(user, ":") {
			return false
		}
		text = host
	}
	if literal, ok := strings.CutPrefix(text, "["); ok {
		address, after, closed := strings.Cut(literal, "]")
		number, hasPort := strings.CutPrefix(after, ":")
		return closed && (hasPort || after == "") && port.MatchString(number) && (isIPv6(address) || futureLocal.MatchString(address))
	}
	name, number, _ := strings.Cut(text, ":")
	return j.part(name, "") && port.MatchString(number)
}

// part judges characters: those that are allowed everywhere, and others.
func (j uriJudge) part(text, others string) bool {
	for i, char := range text {
		switch {
		case char >= utf8.RuneSelf:
			if !j.international || !isUnreserved(char) && (!j.private || !isPrivate(char)) {
				return false
			}
		case char == '%':
			if !isPercentEncoded(text[i:]) {
				return false
			}
		case !isLetterOrDigit(byte(char)) && !strings.ContainsRune("-._~!$&'()*+,;=", char) && !strings.ContainsRune(others, char):
			return false
		}
	}
	return true
}

// isUnreserved is ucschar of RFC 3987, 2.2.
func isUnreserved(char rune) bool {
	switch {
	case char < 0x10000:
		return 0xa0 <= char && char <= 0xd7ff || 0xf900 <= char && char <= 0xfdcf || 0xfdf0 <= char && char <= 0xffef
	case 0xe0000 <= char && char <= 0xe0fff:
		return false
	}
	return char <= 0xefffd && char&0xfffe != 0xfffe
}

// isPrivate is iprivate of RFC 3987, 2.2.
func isPrivate(char rune) bool {
	return 0xe000 <= char && char <= 0xf8ff || char >= 0xf0000 && char&0xfffe != 0xfffe
}
