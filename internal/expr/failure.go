package expr

import (
	"github.com/chargehand/chargehand/internal/value"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"
)

// failure is an error that the expression itself can catch. Its text is made only when
// it is read, because `.a?` never reads it.
type failure struct {
	kind    failureKind
	name    string
	v, w, x Value
	cause   error
}

type failureKind uint8

const (
	raisedValue      failureKind = iota // error(v)
	plainText                           // name
	withValue                           // name: type (v)
	withTwo                             // name: type (v) and type (w)
	divisionBy                          // name type (v) by: type (w)
	applied0                            // name cannot be applied to: type (v)
	applied1                            // name(w) cannot be applied to: type (v)
	applied2                            // name(w; x) cannot be applied to: type (v)
	applied0Because                     // name cannot be applied to v: cause
	applied1Because                     // name(w) cannot be applied to v: cause
	applied2Because                     // name(w; x) cannot be applied to v: cause
	withPlainPreview                    // name: v
	repeatedTooOften                    // name: v * w
)

// The failures that several functions share.
func notObject(v Value) error {
	return &failure{kind: withValue, name: "expected an object but got", v: v}
}
func notArray(v Value) error {
	return &failure{kind: withValue, name: "expected an array but got", v: v}
}
func notIterable(v Value) error { return &failure{kind: withValue, name: "cannot iterate over", v: v} }
func notKey(v Value) error {
	return &failure{kind: withValue, name: "expected a string for object key but got", v: v}
}
func notArrayIndex(v Value) error {
	return &failure{kind: withValue, name: "expected a number for indexing an array but got", v: v}
}
func notStringIndex(v Value) error {
	return &failure{kind: withValue, name: "expected a number for indexing a string but got", v: v}
}
func notSlice(v Value) error {
	return &failure{kind: withValue, name: `expected "start" and "end" for slicing but got`, v: v}
}
func notPath(v Value) error { return &failure{kind: withValue, name: "invalid path against", v: v} }
func notIterablePath(v Value) error {
	return &failure{kind: withValue, name: "invalid path on iterating against", v: v}
}
func cannotApply0(name string, v Value) error { return &failure{kind: applied0, name: name, v: v} }
func cannotApply1(name string, v, w Value) error {
	return &failure{kind: applied1, name: name, v: v, w: w}
}
func cannotApply2(name string, v, w, x Value) error {
	return &failure{kind: applied2, name: name, v: v, w: w, x: x}
}
func because0(name string, v Value, cause error) error {
	return &failure{kind: applied0Because, name: name, v: v, cause: cause}
}
func because1(name string, v, w Value, cause error) error {
	return &failure{kind: applied1Because, name: name, v: v, w: w, cause: cause}
}

// because2 adds what was done to what went wrong; bounds pass through.
func because2(name string, v, w, x Value, cause error) error {
	if _, ok := cause.(*failure); !ok {
		return cause
	}
	return &failure{kind: applied2Because, name: name, v: v, w: w, x: x, cause: cause}
}
func failText(text string) error { return &failure{kind: plainText, name: text} }

func (f *failure) Error() string {
	switch f.kind {
	case raisedValue:
		if s, ok := f.v.(string); ok {
			return "error: " + s
		}
		return "error: " + string(boundedText(f.v, 4096))
	case withValue:
		return f.name + ": " + typePreview(f.v)
	case withTwo:
		return f.name + ": " + typePreview(f.v) + " and " + typePreview(f.w)
	case divisionBy:
		return f.name + " " + typePreview(f.v) + " by: " + typePreview(f.w)
	case applied0:
		return f.name + " cannot be applied to: " + typePreview(f.v)
	case applied1:
		return f.name + "(" + preview(f.w) + ") cannot be applied to: " + typePreview(f.v)
	case applied2:
		return f.name + "(" + preview(f.w) + "; " + preview(f.x) + ") cannot be applied to: " + typePreview(f.v)
	case applied0Because:
		return f.name + " cannot be applied to " + preview(f.v) + ": " + f.cause.Error()
	case applied1Because:
		return f.name + "(" + preview(f.w) + ") cannot be applied to " + preview(f.v) + ": " + f.cause.Error()
	case applied2Because:
		return f.name + "(" + preview(f.w) + "; " + preview(f.x) + ") cannot be applied to " + preview(f.v) + ": " + f.cause.Error()
	case withPlainPreview:
		return f.name + ": " + preview(f.v)
	case repeatedTooOften:
		return f.name + ": " + preview(f.v) + " * " + preview(f.w)
	}
	return f.name
}

// caught is what catch sees: the value of error(v), else the text.
func (f *failure) caught(r *evaluation) (Value, error) {
	if f.kind == raisedValue {
		return f.v, nil
	}
	// To name the smallest keys, a preview looks at every key of an object.
	cost := 8
	for _, v := range []Value{f.v, f.w, f.x} {
		if m, ok := v.(map[string]any); ok {
			cost += len(m)
		}
	}
	if err := r.work(cost); err != nil {
		return nil, err
	}
	return f.Error(), nil
}

// typeName is the name of v's type in the language.
func typeName(v Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int, float64, *big.Int:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

func typePreview(v Value) string {
	if v == nil {
		return "null"
	}
	return typeName(v) + " (" + preview(v) + ")"
}

// preview is the JSON text of v, shortened to 30 bytes.
func preview(v Value) string {
	const most = 30
	text := boundedText(v, most+2)
	if len(text) <= most {
		return string(text)
	}
	rest := " ..."
	switch v.(type) {
	case string:
		rest = ` ..."`
	case []any:
		rest = " ...]"
	case map[string]any:
		rest = " ...}"
	}
	for len(text) > most-len(rest) {
		_, size := utf8.DecodeLastRune(text)
		text = text[:len(text)-size]
	}
	return string(text) + rest
}

// boundedText is the start of the JSON text of v, at most n bytes of it.
func boundedText(v Value, n int) []byte {
	text := appendBounded(make([]byte, 0, n+8), v, n)
	return text[:min(len(text), n)]
}

// appendBounded appends the JSON text of v and stops soon after dst has n bytes.
func appendBounded(dst []byte, v Value, n int) []byte {
	switch v := v.(type) {
	case string:
		if len(v) > n {
			v = v[:n]
		}
		return value.AppendString(dst, v)
	case float64:
		return appendNumberText(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, w := range v {
			if len(dst) >= n {
				return dst
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendBounded(dst, w, n)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, k := range smallestKeys(v, n/4+1) {
			if len(dst) >= n {
				return dst
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendBounded(dst, k, n), ':')
			dst = appendBounded(dst, v[k], n)
		}
		return append(dst, '}')
	default:
		return value.Append(dst, v)
	}
}

// smallestKeys returns the first n keys of m in order, without sorting all of them. An
// entry takes at least 4 bytes of text, so that n of them are enough for a preview.
func smallestKeys(m map[string]any, n int) []string {
	keys := make([]string, 0, min(n, len(m))+1)
	for k := range m {
		at, _ := slices.BinarySearch(keys, k)
		if at < n {
			keys = slices.Insert(keys, at, k)
			keys = keys[:min(n, len(keys))]
		}
	}
	return keys
}

// appendNumberText writes a float as jq does: without a point if it is whole, null for NaN.
func appendNumberText(dst []byte, f float64) []byte {
	if f != f {
		return append(dst, "null"...)
	}
	return value.AppendNumber(dst, min(max(f, -maxFloat), maxFloat))
}

const maxFloat = 0x1p1023 * (1 + (1 - 0x1p-52))

// breakSignal unwinds to the label with this number.
type breakSignal struct{ label int }

func (b *breakSignal) Error() string { return "break " + strconv.Itoa(b.label) }
