package service

import (
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// maxFields is the number of wrong places that one error names.
const maxFields = 100

// fields reads the top-level fields of a request body and collects what is wrong with them.
type fields struct {
	values map[string]any
	wrong  []chargehand.FieldError
}

// openBody takes a body, in which nil stands for an empty one, and refuses fields that are
// not known. Codes: invalid_body, unknown_field.
func openBody(body value.Value, known ...string) (*fields, error) {
	if body == nil {
		return &fields{}, nil
	}
	values, ok := body.(map[string]any)
	if !ok {
		return nil, badBody(chargehand.FieldError{
			Code: "not_an_object", Detail: "The body must be a JSON object, not " + value.KindOf(body) + ".",
		})
	}
	var unknown []chargehand.FieldError
	for name := range values {
		if !contains(known, name) {
			unknown = append(unknown, unknownField(name, known))
		}
	}
	if len(unknown) == 0 {
		return &fields{values: values}, nil
	}
	sort.Slice(unknown, func(i, j int) bool { return unknown[i].Pointer < unknown[j].Pointer })
	return nil, chargehand.NewError(chargehand.CodeUnknownField, unknown[0].Detail, unknown[:min(len(unknown), maxFields)]...)
}

// badBody is the error for fields that are missing or of the wrong type.
func badBody(wrong ...chargehand.FieldError) error {
	return chargehand.NewError(chargehand.CodeInvalidBody, wrong[0].Detail, wrong[:min(len(wrong), maxFields)]...)
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

func unknownField(name string, known []string) chargehand.FieldError {
	detail := "The field " + excerpt.Quote(name) + " is not known here."
	if meant := Suggest(name, known); meant != "" {
		detail += " Did you mean " + excerpt.Quote(meant) + "?"
	} else if len(known) == 0 {
		detail += " The body has no fields."
	} else {
		detail += " Known fields: " + strings.Join(known, ", ") + "."
	}
	at := pointer(name)
	if len(name) > maxFieldText {
		at = "" // the answer does not repeat it: the body as a whole is wrong
	}
	return chargehand.FieldError{Pointer: at, Code: string(chargehand.CodeUnknownField), Detail: detail}
}

// Suggest finds the known name that was probably meant; empty: none is near.
func Suggest(name string, known []string) string {
	switch strings.ToLower(name) {
	case "input", "inputs", "item", "items", "data", "payload":
		for _, candidate := range known {
			if candidate == "input" || candidate == "items" {
				return candidate
			}
		}
	}
	if len(name) > 64 {
		return ""
	}
	best, bestDistance := "", 3
	for _, candidate := range known {
		if d := distance(strings.ToLower(name), candidate); d < bestDistance && d < len(candidate) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance is the number of bytes to insert, delete or replace to make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// pointer is the JSON pointer (RFC 6901) of the path.
func pointer(path ...string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(jsonpointer.Escape(name))
	}
	return b.String()
}

func (f *fields) fail(name, code, detail string) { f.failAt([]string{name}, code, detail) }

func (f *fields) failAt(path []string, code, detail string) {
	f.wrong = append(f.wrong, chargehand.FieldError{Pointer: pointer(path...), Code: code, Detail: detail})
}

// wrongType notes that a field is not what it must be.
func (f *fields) wrongType(name, want string) {
	f.fail(name, "wrong_type", "The field "+excerpt.Quote(name)+" must be "+want+", not "+value.KindOf(f.values[name])+".")
}

// err is what is wrong with the fields that were read. Codes: invalid_body.
func (f *fields) err() error {
	if len(f.wrong) == 0 {
		return nil
	}
	return badBody(f.wrong...)
}

func (f *fields) has(name string) bool {
	_, ok := f.values[name]
	return ok
}

// object reads an object; one that is absent is empty.
func (f *fields) object(name string) map[string]any {
	v, ok := f.values[name]
	if !ok {
		return map[string]any{}
	}
	object, ok := v.(map[string]any)
	if !ok {
		f.wrongType(name, "an object")
	}
	return object
}

// text reads a string of at most maxBytes bytes; "" if absent.
func (f *fields) text(name string, maxBytes int) string {
	v, ok := f.values[name]
	if !ok {
		return ""
	}
	text, ok := v.(string)
	switch {
	case !ok:
		f.wrongType(name, "a string")
	case len(text) > maxBytes:
		f.fail(name, "too_long", "The field "+excerpt.Quote(name)+" must not be longer than "+strconv.Itoa(maxBytes)+" bytes.")
	}
	return text
}

// flag reads a boolean; false if absent.
func (f *fields) flag(name string) bool {
	v, ok := f.values[name]
	on, isBool := v.(bool)
	if ok && !isBool {
		f.wrongType(name, "a boolean")
	}
	return on
}

// texts reads an array of strings; nil if absent.
func (f *fields) texts(name string, maxItems int) []string {
	v, ok := f.values[name]
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		f.wrongType(name, "an array of strings")
		return nil
	}
	if len(list) > maxItems {
		f.fail(name, "too_long", "The field "+excerpt.Quote(name)+" must not have more than "+strconv.Itoa(maxItems)+" entries.")
		return nil
	}
	texts := make([]string, len(list))
	for i, v := range list {
		if texts[i], ok = v.(string); !ok {
			f.failAt([]string{name, strconv.Itoa(i)}, "wrong_type",
				"The entries of "+excerpt.Quote(name)+" must be strings, not "+value.KindOf(v)+".")
		}
	}
	return texts
}

// shortTexts reads an array of strings of at most maxFieldText bytes each; nil if absent.
func (f *fields) shortTexts(name string, maxItems int) []string {
	texts := f.texts(name, maxItems)
	for i, text := range texts {
		if len(text) > maxFieldText {
			f.failAt([]string{name, strconv.Itoa(i)}, "too_long",
				"The entries of "+excerpt.Quote(name)+" must not be longer than "+strconv.Itoa(maxFieldText)+" bytes.")
		}
	}
	return texts
}

// positive reads a whole number of 1 or more; numbers beyond int64 count as the largest one.
func (f *fields) positive(name string, absent int64) int64 {
	v, ok := f.values[name]
	if !ok {
		return absent
	}
	n, ok := whole(v)
	switch {
	case !ok:
		f.fail(name, "wrong_type", "The field "+excerpt.Quote(name)+" must be a whole number.")
	case n < 1:
		f.fail(name, "too_small", "The field "+excerpt.Quote(name)+" must be 1 or more.")
	}
	return n
}

// whole reads a whole number, also one that is written like 10.0.
func whole(v value.Value) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case *big.Int:
		if n.Sign() < 0 {
			return math.MinInt64, true
		}
		return math.MaxInt64, true
	case float64:
		switch {
		case n != math.Trunc(n):
			return 0, false
		case n >= math.MaxInt64:
			return math.MaxInt64, true
		case n <= math.MinInt64:
			return math.MinInt64, true
		}
		return int64(n), true
	}
	return 0, false
}

// instant reads a time (RFC 3339); null and an absent field are the zero time.
func (f *fields) instant(name string) time.Time {
	v := f.values[name]
	if v == nil {
		return time.Time{}
	}
	text, ok := v.(string)
	if !ok {
		f.wrongType(name, "a time as text, like 2030-01-31T12:00:00Z, or null")
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UnixMilli() <= 0 || at.Year() > 9999 {
		f.fail(name, "bad_time", "The field "+excerpt.Quote(name)+" must be a time like 2030-01-31T12:00:00Z.")
		return time.Time{}
	}
	return at.UTC().Truncate(time.Millisecond)
}
