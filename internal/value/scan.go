package value

import (
	"fmt"
	"math/big"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

func (p *parser) stringValue() (Value, *SyntaxError) {
	start := p.pos + 1
	raw, err := p.stringBytes()
	if err != nil {
		return nil, err
	}
	if len(raw) == p.pos-1-start && len(p.src) <= sharedText {
		// No escapes: the bytes are part of the text itself.
		if p.text == "" {
			p.text = string(p.src)
		}
		return p.text[start : p.pos-1], nil
	}
	return string(raw), nil
}

// stringBytes reads a string and returns its bytes, which are valid until the next call.
func (p *parser) stringBytes() ([]byte, *SyntaxError) {
	start := p.pos + 1
	i := start
	for ascii := true; i < len(p.src); i++ {
		c := p.src[i]
		if c == '"' {
			raw := p.src[start:i]
			if !ascii && !utf8.Valid(raw) {
				return nil, p.badUTF8(start)
			}
			p.pos = i + 1
			return raw, nil
		}
		if c == '\\' {
			return p.escapedString(start, i)
		}
		if c < ' ' {
			return nil, p.controlCharacter(i)
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return nil, p.fail(len(p.src), CodeUnexpectedEnd, "The text ends within a string.")
}

func (p *parser) controlCharacter(at int) *SyntaxError {
	return p.fail(at, CodeControlCharacter, fmt.Sprintf("The control character 0x%02x must be escaped in a string.", p.src[at]))
}

// badUTF8 finds the first byte from start on that is no UTF-8.
func (p *parser) badUTF8(start int) *SyntaxError {
	for i := start; i < len(p.src); {
		r, size := utf8.DecodeRune(p.src[i:])
		if r == utf8.RuneError && size == 1 {
			start = i
			break
		}
		i += size
	}
	return p.fail(start, CodeInvalidUTF8, fmt.Sprintf("The byte 0x%02x is no valid UTF-8.", p.src[start]))
}

// escapedString reads a string from its first escape on.
func (p *parser) escapedString(start, i int) ([]byte, *SyntaxError) {
	buf := append(p.buffer[:0], p.src[start:i]...)
	for i < len(p.src) {
		switch c := p.src[i]; {
		case c == '"':
			p.buffer = buf
			if !utf8.Valid(buf) {
				return nil, p.badUTF8(start)
			}
			p.pos = i + 1
			return buf, nil
		case c < ' ':
			return nil, p.controlCharacter(i)
		case c != '\\':
			buf = append(buf, c)
			i++
		default:
			r, size, err := p.escape(i)
			if err != nil {
				return nil, err
			}
			buf = utf8.AppendRune(buf, r)
			i += size
		}
	}
	return nil, p.fail(len(p.src), CodeUnexpectedEnd, "The text ends within a string.")
}

// escape decodes the escape sequence at offset i and returns how many bytes it takes.
func (p *parser) escape(i int) (rune, int, *SyntaxError) {
	if i+1 == len(p.src) {
		return 0, 0, p.fail(len(p.src), CodeUnexpectedEnd, "The text ends within a string.")
	}
	switch c := p.src[i+1]; c {
	case '"', '\\', '/':
		return rune(c), 2, nil
	case 'b':
		return '\b', 2, nil
	case 'f':
		return '\f', 2, nil
	case 'n':
		return '\n', 2, nil
	case 'r':
		return '\r', 2, nil
	case 't':
		return '\t', 2, nil
	case 'u':
		r, err := p.hexEscape(i)
		if err != nil || !utf16.IsSurrogate(r) {
			return r, 6, err
		}
		if i+7 < len(p.src) && p.src[i+6] == '\\' && p.src[i+7] == 'u' {
			low, err := p.hexEscape(i + 6)
			if err != nil {
				return 0, 0, err
			}
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full, 12, nil
			}
		}
		return 0, 0, p.fail(i, CodeLoneSurrogate, fmt.Sprintf("The escape %s is half of a surrogate pair.", p.src[i:i+6]))
	default:
		return 0, 0, p.fail(i, CodeInvalidEscape, "A backslash stands before one of \" \\ / b f n r t u only.")
	}
}

func (p *parser) hexEscape(i int) (rune, *SyntaxError) {
	var r rune
	for j := i + 2; j < i+6; j++ {
		if j >= len(p.src) {
			return 0, p.fail(len(p.src), CodeUnexpectedEnd, "The text ends within a string.")
		}
		c := p.src[j]
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, p.fail(i, CodeInvalidEscape, "\\u is followed by four hexadecimal digits.")
		}
	}
	return r, nil
}

// exactDigits is the number of decimal digits that always fit an int.
const exactDigits = 18

func (p *parser) number() (Value, *SyntaxError) {
	start := p.pos
	i := start
	if p.src[i] == '-' {
		i++
	}
	first, n := i, 0
	for i < len(p.src) && isDigit(p.src[i]) {
		if i-first < exactDigits {
			n = n*10 + int(p.src[i]-'0')
		}
		i++
	}
	if i == first {
		p.pos = i
		return nil, p.badNumber(start, "a digit")
	}
	if p.src[first] == '0' && i > first+1 {
		return nil, p.fail(start, CodeInvalidNumber, "A number does not start with a needless zero.")
	}
	if i < len(p.src) && (p.src[i] == '.' || p.src[i] == 'e' || p.src[i] == 'E') {
		return p.float(start, i)
	}
	if i < len(p.src) && isLetterOrDigit(p.src[i]) {
		p.pos = i
		return nil, p.badNumber(start, "a digit")
	}
	p.pos = i
	if i-first > exactDigits {
		return p.longInteger(start, i)
	}
	if p.src[start] == '-' {
		n = -n
	}
	return n, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (p *parser) badNumber(start int, expected string) *SyntaxError {
	if p.pos == len(p.src) {
		return p.unexpected(expected)
	}
	return p.fail(start, CodeInvalidNumber, "In a number, expected "+expected+", but found "+p.here()+".")
}

func (p *parser) longInteger(start, end int) (Value, *SyntaxError) {
	text := string(p.src[start:end])
	if n, err := strconv.Atoi(text); err == nil {
		return n, nil
	}
	digits := end - start
	if text[0] == '-' {
		digits--
	}
	if digits > p.maxDigits {
		return nil, p.fail(start, CodeIntegerTooLong,
			fmt.Sprintf("The integer has %d digits; at most %d are allowed.", digits, p.maxDigits))
	}
	n, _ := new(big.Int).SetString(text, 10)
	return n, nil
}

// float reads a number whose integer part ends at i, before a point or an exponent.
func (p *parser) float(start, i int) (Value, *SyntaxError) {
	digits := func() bool {
		from := i
		for i < len(p.src) && isDigit(p.src[i]) {
			i++
		}
		p.pos = i
		return i > from
	}
	if p.src[i] == '.' {
		i++
		if !digits() {
			return nil, p.badNumber(start, "a digit after the point")
		}
	}
	if i < len(p.src) && (p.src[i] == 'e' || p.src[i] == 'E') {
		i++
		if i < len(p.src) && (p.src[i] == '+' || p.src[i] == '-') {
			i++
		}
		if !digits() {
			return nil, p.badNumber(start, "a digit in the exponent")
		}
	}
	if i < len(p.src) && (isLetterOrDigit(p.src[i]) || p.src[i] == '.') {
		return nil, p.badNumber(start, "a digit")
	}
	f, err := strconv.ParseFloat(string(p.src[start:i]), 64)
	if err != nil {
		return nil, p.fail(start, CodeNumberRange, "The number is outside the range of 64-bit floats.")
	}
	return f, nil
}
