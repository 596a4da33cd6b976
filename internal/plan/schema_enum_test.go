package plan

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// numbersFrom are n numbers as the items of a list.
func numbersFrom(first, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(", " + strconv.Itoa(first+i))
	}
	return b.String()[2:]
}

// TestLongEnum: a value is looked up in a long enum. To compare it with each takes hours for a long list.
func TestLongEnum(t *testing.T) {
	s := schemaOf(t, `{"items": {"enum": [`+numbersFrom(0, 40_000)+`]}}`)
	list := make([]any, 40_000)
	for i := range list {
		list[i] = 39_999 - i
	}
	done := make(chan []SchemaProblem, 1)
	go func() { done <- s.Validate(list) }()
	select {
	case problems := <-done:
		if problems != nil {
			t.Error(problems)
		}
	case <-time.After(time.Minute):
		t.Error("the check takes more than a minute")
	}
}

// TestEnumsOfAllLengths judge alike.
func TestEnumsOfAllLengths(t *testing.T) {
	const some = `"a", "ü", null, true, 1, 2.5, 3.0, -0.0, 1e20, 100000000000000000001, 1e-7, 0.1, [], {}, [1, [2]], {"a": 1, "b": [true]}, "[]", "1"`
	short := schemaOf(t, `{"enum": [`+some+`]}`)
	long := schemaOf(t, `{"enum": [`+some+", "+numbersFrom(1000, maxComparedEnum)+`]}`)
	for _, text := range []string{
		`"a"`, `"b"`, `"ü"`, `null`, `true`, `false`, `1`, `1.0`, `2.5`, `2.50`, `25e-1`, `3`, `0`, `-0.0`, `100000000000000000000`, `1e20`, `1.0e20`,
		`100000000000000000001`, `100000000000000000002`, `0.0000001`, `0.1`, `0.10000000000000001`, `[]`, `[[]]`, `{}`, `{"": 0}`, `[1, [2]]`, `[1.0, [2.0]]`,
		`[1, 2]`, `[1]`, `[1, [2], 3]`, `{"b": [true], "a": 1.0}`, `{"a": 1}`, `{"a": 1, "b": [true], "c": 1}`, `{"a": 1, "c": [true]}`, `"[]"`, `"1"`, `"{}"`, `""`,
		`["` + strings.Repeat("a", 1000) + `"]`,
	} {
		v := valueOf(t, text)
		want, got := short.Validate(v), long.Validate(v)
		if len(want) != len(got) {
			t.Errorf("%s: %v, and among others %v", text, want, got)
		}
		if len(got) > 0 && (got[0].Keyword != "enum" || !strings.HasPrefix(got[0].Detail, `must be "a", "ü", null, true, 1, `)) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestLongEnumBesideOthers: an enum counts or not by the keywords beside it, whatever its length.
func TestLongEnumBesideOthers(t *testing.T) {
	for _, n := range []int{2, maxComparedEnum + 1} {
		enum := `"enum": [` + numbersFrom(0, n) + `]`
		for schema, valid := range map[string]bool{
			`{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "integer"}}, "$ref": "#/definitions/a", ` + enum + `}`:              true,
			`{"$schema": "http://json-schema.org/draft-04/schema#", "definitions": {"a": {"type": "integer"}}, "$ref": "#/definitions/a", ` + enum + `}`:              true,
			`{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "integer"}}, "allOf": [{"$ref": "#/definitions/a"}], ` + enum + `}`: false,
			`{"$schema": "http://json-schema.org/draft-04/schema#", ` + enum + `}`:                                                                                    false,
			`{"$schema": "https://json-schema.org/draft/2019-09/schema", "$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}, ` + enum + `}`:                     false,
			`{"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}, ` + enum + `}`:                                                                                false,
			`{"not": {` + enum + `}}`:                   true,
			`{"not": {"not": {` + enum + `}}}`:          false,
			`{"unevaluatedItems": false, ` + enum + `}`: false,
			`{"minimum": 0, ` + enum + `}`:              false,
		} {
			problems := schemaOf(t, schema).Validate(1000)
			if (problems == nil) != valid || !strings.HasPrefix(schema, `{"not"`) && !valid && len(problems) != 1 {
				t.Errorf("%d values, %.150s: %.300v", n, schema, problems)
			}
		}
	}
}
