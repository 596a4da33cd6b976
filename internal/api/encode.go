package api

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
)

// writer appends the fields of one JSON object. Field names are literals of this package and
// need no escaping.
type writer struct {
	dst   []byte
	begun bool
}

// object starts an object at the end of dst.
func object(dst []byte) writer { return writer{dst: append(dst, '{')} }

// end closes the object and returns everything appended.
func (o *writer) end() []byte { return append(o.dst, '}') }

// key appends the name of the next field; its value must follow.
func (o *writer) key(name string) {
	if o.begun {
		o.dst = append(o.dst, ',')
	}
	o.begun = true
	o.dst = append(o.dst, '"')
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, '"', ':')
}

func (o *writer) text(name, value string) {
	o.key(name)
	o.dst = appendText(o.dst, value)
}

func (o *writer) number(name string, value int64) {
	o.key(name)
	o.dst = strconv.AppendInt(o.dst, value, 10)
}

func (o *writer) boolean(name string, value bool) {
	o.key(name)
	o.dst = strconv.AppendBool(o.dst, value)
}

func (o *writer) time(name string, ms int64) {
	o.key(name)
	o.dst = appendTime(o.dst, ms)
}

// raw appends a value that is JSON text already.
func (o *writer) raw(name string, value []byte) {
	o.key(name)
	o.dst = append(o.dst, value...)
}

func (o *writer) null(name string) {
	o.key(name)
	o.dst = append(o.dst, "null"...)
}

// appendID appends a field that holds an id.
func appendID[K any](o *writer, name string, id chargehand.ID[K]) {
	o.key(name)
	o.dst = append(o.dst, '"')
	o.dst = append(id.Append(o.dst), '"')
}

// appendTime appends ms since 1970 as a quoted RFC 3339 time in UTC with three fraction
// digits.
func appendTime(dst []byte, ms int64) []byte {
	const layout = `"2006-01-02T15:04:05.000Z"`
	return time.UnixMilli(ms).UTC().AppendFormat(dst, layout)
}

const hexDigits = "0123456789abcdef"

// appendText appends s as a JSON string. What is no valid UTF-8 becomes U+FFFD.
func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

func (o *writer) optionalText(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *writer) optionalTime(name string, t time.Time) {
	if !t.IsZero() {
		o.time(name, t.UnixMilli())
	}
}

// list writes a page: {"data":[…],"cursor":…}.
type list struct {
	writer
	items int
}

// openList starts a page; size is a guess at its length.
func openList(size int) list {
	l := list{writer: object(make([]byte, 0, size+64))}
	l.open()
	return l
}

func (l *list) open() {
	l.key("data")
	l.dst = append(l.dst, '[')
}

// next returns the text so far, to which the next item is appended; add takes it back.
func (l *list) next() []byte {
	if l.items > 0 {
		l.dst = append(l.dst, ',')
	}
	return l.dst
}

func (l *list) add(dst []byte) {
	l.dst = dst
	l.items++
}

// close ends the items and writes the cursor; nil stands for the end of the list.
func (l *list) close(cursor *string) {
	l.dst = append(l.dst, ']')
	if cursor == nil {
		l.null("cursor")
		return
	}
	l.text("cursor", *cursor)
}

// end closes the page and returns its text.
func (l *list) end(cursor *string) []byte {
	l.close(cursor)
	return l.writer.end()
}
