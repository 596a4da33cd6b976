package value

import (
	"bytes"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Append appends the canonical JSON text of v to dst: keys sorted by bytes, no white space,
// integers exact, floats as short as possible and recognisable as floats (1.0 stays 1.0).
// A value that is none of the listed types is a broken invariant and panics.
func Append(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case string:
		return AppendString(dst, v)
	case map[string]any:
		return appendObject(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, w := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, w)
		}
		return append(dst, ']')
	case float64:
		return appendFloat(dst, v)
	case *big.Int:
		return v.Append(dst, 10)
	default:
		panic("value: not a JSON value")
	}
}

// Marshal is Append to a new slice.
func Marshal(v Value) []byte {
	return Append(make([]byte, 0, 64), v)
}

// smallObject is the number of keys up to which an object is written without allocation.
const smallObject = 16

func appendObject(dst []byte, m map[string]any) []byte {
	if len(m) == 0 {
		return append(dst, "{}"...)
	}
	var small [smallObject]string
	keys := small[:0]
	if len(m) > smallObject {
		keys = make([]string, 0, len(m))
	}
	for k := range m {
		keys = append(keys, k)
	}
	if len(keys) > smallObject {
		slices.Sort(keys)
	} else {
		insertionSort(keys)
	}
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, k)
		dst = append(dst, ':')
		dst = Append(dst, m[k])
	}
	return append(dst, '}')
}

// insertionSort keeps the keys of small objects on the stack.
func insertionSort(keys []string) {
	for i := 1; i < len(keys); i++ {
		for j := i; j > 0 && keys[j] < keys[j-1]; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
}

// SortedKeys returns the keys of m in order.
func SortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	if len(keys) <= smallObject {
		insertionSort(keys)
	} else {
		slices.Sort(keys)
	}
	return keys
}

// appendFloat writes a float so that it is read back as a float. An infinity or NaN, which
// no Value holds, is written as jq writes it.
func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) {
		return append(dst, "null"...)
	}
	f = min(max(f, -math.MaxFloat64), math.MaxFloat64)
	start := len(dst)
	dst = AppendNumber(dst, f)
	if bytes.ContainsAny(dst[start:], ".e") {
		return dst
	}
	return append(dst, ".0"...)
}

// AppendNumber appends the text of a finite float as JavaScript does: 1 for 1.0, an exponent only
// below 1e-6 and from 1e21.
func AppendNumber(dst []byte, f float64) []byte {
	format := byte('f')
	if a := math.Abs(f); a != 0 && a < 1e-6 || a >= 1e21 {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 becomes e-9
		dst = dst[:n-1]
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// plainByte marks the ASCII bytes that stand for themselves in a JSON string.
var plainByte = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// AppendString writes a JSON string. Bytes that are no UTF-8, which no Value holds, become
// the replacement character.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plainByte[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
}

// Escapes counts the bytes of s that AppendString writes as escapes.
func Escapes(s string) int {
	n := 0
	for i := range len(s) {
		if c := s[i]; c < utf8.RuneSelf && !plainByte[c] {
			n++
		}
	}
	return n
}
