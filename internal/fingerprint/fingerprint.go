package fingerprint

import (
	"crypto/sha256"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxCharacters is the length of what Normalize returns.
	MaxCharacters = 200
	// maxBytes is how much of a detail is looked at. What is behind it tells no kinds of errors apart.
	maxBytes = 16 << 10
	// minHex is the number of digits from which a word is a hexadecimal number, unless it begins with 0x.
	minHex = 8
)

// What stands for the parts that change.
const (
	number = "<number>"
	hexed  = "<hex>"
	uuid   = "<uuid>"
	quoted = `"…"`
)

// Normalize replaces numbers, UUIDs, hexadecimal numbers and quoted text in the detail of an error, makes one space of
// each run of white space and control characters, and returns the first MaxCharacters characters.
func Normalize(detail string) string {
	if len(detail) > maxBytes {
		detail = detail[:maxBytes]
	}
	s := scanner{text: strings.ToValidUTF8(detail, "\uFFFD")}
	s.scan()
	return cut(strings.TrimRight(s.out.String(), " "))
}

// Sum is the SHA-256 of the normalised detail.
func Sum(detail string) [sha256.Size]byte { return sha256.Sum256([]byte(Normalize(detail))) }

func cut(text string) string {
	n := 0
	for i := range text {
		if n == MaxCharacters {
			return text[:i]
		}
		n++
	}
	return text
}

type scanner struct {
	text     string
	at       int
	out      strings.Builder
	unclosed [utf8.RuneSelf]bool // quotation marks that nothing closes any more
}

func (s *scanner) scan() {
	// Each step writes at least one character for each it reads, or a placeholder: a longer text is cut off anyway.
	for s.at < len(s.text) && s.out.Len() < MaxCharacters*utf8.UTFMax {
		rest := s.text[s.at:]
		c, size := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.IsSpace(c) || unicode.IsControl(c):
			s.space()
			s.at += size
		case c == '"' || c == '`' || c == '\'' && !wordBefore(s.text, s.at):
			s.quote(byte(c))
		case c == '“', c == '‘', c == '«', c == '„':
			s.quotePair(c, size)
		case hexDigit(c) && !wordBefore(s.text, s.at):
			s.word()
		case digit(c):
			s.replace(numberLength(rest), number)
		default:
			s.keep(size)
		}
	}
}

func (s *scanner) keep(n int) {
	s.out.WriteString(s.text[s.at : s.at+n])
	s.at += n
}

func (s *scanner) replace(n int, by string) {
	s.out.WriteString(by)
	s.at += n
}

func (s *scanner) space() {
	if text := s.out.String(); text != "" && !strings.HasSuffix(text, " ") {
		s.out.WriteByte(' ')
	}
}

// quote replaces a text between two equal quotation marks. An apostrophe closes nothing.
func (s *scanner) quote(mark byte) {
	if !s.unclosed[mark] {
		for i := s.at + 1; i < len(s.text); i++ {
			if s.text[i] == '\\' {
				i++
			} else if s.text[i] == mark && (mark != '\'' || !wordAfter(s.text, i+1)) {
				s.replace(i+1-s.at, quoted)
				return
			}
		}
		s.unclosed[mark] = true
	}
	s.keep(1)
}

// quotePair replaces a text between two quotation marks that differ.
func (s *scanner) quotePair(open rune, size int) {
	end := map[rune]string{'“': "”", '‘': "’", '«': "»", '„': "“"}[open]
	if length := strings.Index(s.text[s.at+size:], end); length >= 0 {
		s.replace(size+length+len(end), quoted)
		return
	}
	s.keep(size)
}

// word reads what begins with a hexadecimal digit at the beginning of a word.
func (s *scanner) word() {
	rest := s.text[s.at:]
	if isUUID(rest) && !wordAfter(rest, 36) {
		s.replace(36, uuid)
		return
	}
	if len(rest) > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X') {
		if n := hexLength(rest[2:]); n > 0 && !wordAfter(rest, 2+n) {
			s.replace(2+n, hexed)
			return
		}
	}
	n := hexLength(rest)
	if n >= minHex && !wordAfter(rest, n) && strings.ContainsAny(rest[:n], "0123456789") && strings.ContainsAny(rest[:n], "abcdefABCDEF") {
		s.replace(n, hexed)
		return
	}
	if digit(rune(rest[0])) {
		s.replace(numberLength(rest), number)
		return
	}
	s.keep(1)
}

// numberLength is the length of a number at the beginning of a text. Points, commas and colons between digits belong to
// it, as in 1,000.5, 10.0.0.1 and 12:30.
func numberLength(text string) int {
	n := digits(text)
	for n+1 < len(text) && strings.IndexByte(".,:", text[n]) >= 0 && digits(text[n+1:]) > 0 {
		n += 1 + digits(text[n+1:])
	}
	if n+1 < len(text) && (text[n] == 'e' || text[n] == 'E') {
		sign := n + 1
		if text[sign] == '+' || text[sign] == '-' {
			sign++
		}
		if exponent := digits(text[sign:]); exponent > 0 && !wordAfter(text, sign+exponent) {
			n = sign + exponent
		}
	}
	return n
}

func digits(text string) (n int) {
	for n < len(text) && digit(rune(text[n])) {
		n++
	}
	return n
}

func hexLength(text string) (n int) {
	for n < len(text) && hexDigit(rune(text[n])) {
		n++
	}
	return n
}

func isUUID(text string) bool {
	if len(text) < 36 {
		return false
	}
	for i := range 36 {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if text[i] != '-' {
				return false
			}
		} else if !hexDigit(rune(text[i])) {
			return false
		}
	}
	return true
}

func digit(c rune) bool    { return c >= '0' && c <= '9' }
func hexDigit(c rune) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// wordBefore tells whether a letter or digit ends at a position, wordAfter whether one begins there.
func wordBefore(text string, at int) bool {
	c, _ := utf8.DecodeLastRuneInString(text[:at])
	return unicode.IsLetter(c) || unicode.IsDigit(c)
}

func wordAfter(text string, at int) bool {
	c, _ := utf8.DecodeRuneInString(text[at:])
	return unicode.IsLetter(c) || unicode.IsDigit(c)
}
