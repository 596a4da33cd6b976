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
	steps []step
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

// decode replaces what read recognises. read is given the rest of the text from a byte that
// may begin an escape on, and returns what it stands for and its length, or 0.
func decode(text, marks string, read func(rest string) (is string, length int)) (d decoded, changed bool) {
	var b strings.Builder
	for i := 0; i < len(text); {
		next := strings.IndexAny(text[i:], marks)
		if next < 0 {
			b.WriteString(text[i:])
			break
		}
		b.WriteString(text[i : i+next])
		i += next
		is, length := read(text[i:])
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
