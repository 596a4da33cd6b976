package secret

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decoded is a text with its escapes resolved, and where each of its bytes comes from.
type decoded struct {
	text  string
	steps []step // two for each escape: its begin and its end
	// open is where an escape begins in the original that the end of the text cuts off, and openAt the same in the decoded
	// text; their lengths: nowhere.
	open, openAt int
}

// step says that the bytes from at on come from source on, one by one, until the next step.
type step struct{ at, source int }

// source is where the byte at a position of the decoded text begins in the original.
func (d *decoded) source(at int) int {
	i := sort.Search(len(d.steps), func(i int) bool { return d.steps[i].at > at }) - 1
	if i < 0 {
		return at
	}
	return d.steps[i].source + at - d.steps[i].at
}

// within is where the escape begins that a position of the original is inside of; the position itself if it is in none.
func (d *decoded) within(source int) int {
	i := sort.Search(len(d.steps), func(i int) bool { return d.steps[i].source >= source }) - 1
	if i >= 0 && i%2 == 0 && d.steps[i+1].source > source {
		return d.steps[i].source
	}
	return source
}

// wholeEscapes moves a position of the original back until it is inside of no escape of any view.
func wholeEscapes(views []decoded, at int) int {
	for {
		before := at
		for i := range views {
			at = views[i].within(at)
		}
		if at == before {
			return at
		}
	}
}

// longestEscape is the length of a pair of surrogates.
const longestEscape = 12

// cutOff reports whether rest may be the begin of an escape that continues.
func cutOff(rest string) bool {
	if len(rest) >= longestEscape {
		return false
	}
	pattern := "%xx"
	if rest[0] == '\\' {
		if pattern = `\uxxxx\uxxxx`; len(rest) > 1 && rest[1] != 'u' {
			return false
		}
	}
	if rest[0] == '+' || len(rest) >= len(pattern) {
		return false
	}
	for i := range len(rest) {
		isHex := rest[i] >= '0' && rest[i] <= '9' || rest[i]|0x20 >= 'a' && rest[i]|0x20 <= 'f'
		if pattern[i] == 'x' && !isHex || pattern[i] != 'x' && pattern[i] != rest[i] {
			return false
		}
	}
	return true
}

// decode replaces what read recognises. read is given the rest of the text from a byte that
// may begin an escape on, and returns what it stands for and its length, or 0.
func decode(text, marks string, read func(rest string) (is string, length int)) (d decoded, changed bool) {
	var b strings.Builder
	d.open = len(text)
	for i := 0; i < len(text); {
		next := strings.IndexAny(text[i:], marks)
		if next < 0 {
			b.WriteString(text[i:])
			break
		}
		b.WriteString(text[i : i+next])
		i += next
		is, length := read(text[i:])
		if d.open == len(text) && cutOff(text[i:]) {
			d.open, d.openAt = i, b.Len()
		}
		if length == 0 {
			b.WriteByte(text[i])
			i++
			continue
		}
		changed = true
		d.steps = append(d.steps, step{b.Len(), i})
		b.WriteString(is)
		i += length
		d.steps = append(d.steps, step{b.Len(), i})
	}
	d.text = b.String()
	if d.open == len(text) {
		d.openAt = len(d.text)
	}
	return d, changed
}

// percent resolves %XX.
func percent(text string) (decoded, bool) { return decode(text, "%", readPercent) }

func readPercent(rest string) (is string, length int) {
	if len(rest) < 3 {
		return "", 0
	}
	b, err := strconv.ParseUint(rest[1:3], 16, 8)
	if err != nil {
		return "", 0
	}
	return string([]byte{byte(b)}), 3
}

// form resolves %XX, and plus signs that stand for spaces.
func form(text string) (decoded, bool) {
	return decode(text, "%+", func(rest string) (string, int) {
		if rest[0] == '+' {
			return " ", 1
		}
		return readPercent(rest)
	})
}

// escaped resolves the escapes of a JSON text inside of a text.
func escaped(text string) (decoded, bool) { return decode(text, `\`, readEscape) }

var shortEscapes = map[byte]string{'"': `"`, '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t"}

func readEscape(rest string) (is string, length int) {
	if len(rest) < 2 {
		return "", 0
	}
	if is, ok := shortEscapes[rest[1]]; ok {
		return is, 2
	}
	r, ok := readUnicode(rest)
	if !ok {
		return "", 0
	}
	if low, ok := readUnicode(rest[6:]); ok && utf16.IsSurrogate(r) {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return string(pair), 12
		}
	}
	return string(r), 6
}

func readUnicode(rest string) (rune, bool) {
	if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(rest[2:6], 16, 16)
	return rune(n), err == nil
}
