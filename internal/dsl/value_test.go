package dsl

import (
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"
)

// valueOf reads text as the value of a free property of a definition.
func valueOf(t *testing.T, text string) any {
	t.Helper()
	document, problems := Parse([]byte(header + "do: []\nextra: " + text + "\n"))
	if problems.HasErrors() {
		t.Fatalf("%s: %v", text, problems.Err())
	}
	return document.Value().(map[string]any)["extra"]
}

func large(text string) *big.Int {
	number, _ := new(big.Int).SetString(text, 10)
	return number
}

// T17: only JSON types; what other YAML readers make booleans or dates stays text.
func TestYAMLValues(t *testing.T) {
	for text, want := range map[string]any{
		"":                             nil,
		"~":                            nil,
		"null":                         nil,
		"Null":                         nil,
		"nULL":                         "nULL",
		"true":                         true,
		"TRUE":                         true,
		"False":                        false,
		"tRue":                         "tRue",
		"fALSE":                        "fALSE",
		"on":                           "on",
		"Off":                          "Off",
		"yes":                          "yes",
		"n":                            "n",
		"2024-01-01":                   "2024-01-01",
		"2024-01-01T10:00:00Z":         "2024-01-01T10:00:00Z",
		"12:30:45":                     "12:30:45",
		"0":                            0,
		"-0":                           0,
		"+5":                           5,
		"-42":                          -42,
		"9223372036854775807":          9223372036854775807,
		"9223372036854775808":          large("9223372036854775808"),
		"-99999999999999999999999":     large("-99999999999999999999999"),
		"0x1F":                         31,
		"0xFFFFFFFFFFFFFFFFFF":         large("4722366482869645213695"),
		"0x":                           "0x",
		"0x-1":                         "0x-1",
		"0xZZ":                         "0xZZ",
		"0o17":                         15,
		"0o8":                          "0o8",
		"0b11":                         "0b11",
		"1_000":                        "1_000",
		"1.0":                          1.0,
		"1.":                           1.0,
		".5":                           0.5,
		"-1.5e3":                       -1500.0,
		"1e3":                          1000.0,
		"1E+2":                         100.0,
		"1e":                           "1e",
		"1e+":                          "1e+",
		"1.2.3":                        "1.2.3",
		"1 2":                          "1 2",
		".":                            ".",
		"+":                            "+",
		"'5'":                          "5",
		`"\u00e9\n"`:                   "é\n",
		"|\n  a\n  b":                  "a\nb\n",
		">-\n  a\n  b":                 "a b",
		"!!str 5":                      "5",
		"!!float 5":                    5.0,
		"!!int '5'":                    5,
		"!!timestamp 2024-01-01":       "2024-01-01",
		"[1, [], {}]":                  []any{1, []any{}, map[string]any{}},
		"{1: a, true: b, ~: c, on: d}": map[string]any{"1": "a", "true": "b", "~": "c", "on": "d"},
		"&a {x: &b 1, y: *b}":          map[string]any{"x": 1, "y": 1},
		"[&a [1], *a]":                 []any{[]any{1}, []any{1}},
		"{&k key: 1, other: *k }":      map[string]any{"key": 1, "other": "key"},
	} {
		if got := valueOf(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %#v, want %#v", text, got, want)
		}
	}
}

func TestAliasAsKey(t *testing.T) {
	got := valueOf(t, "\n  a: &x name\n  *x : 5\n  &y 01: *y\n  01.5: *x")
	if want := map[string]any{"a": "name", "name": 5, "01": "01", "01.5": "name"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMergeKeys(t *testing.T) {
	got := valueOf(t, `
  base: &base {a: 1, b: 2}
  more: &more {b: 3, c: 4}
  own: {<<: [*base, *more], a: 0}
  one: {<<: *more, '<<': text}
  inline: {<<: {x: 1}}`)
	want := map[string]any{
		"base":   map[string]any{"a": 1, "b": 2},
		"more":   map[string]any{"b": 3, "c": 4},
		"own":    map[string]any{"a": 0, "b": 2, "c": 4},
		"one":    map[string]any{"<<": "text", "b": 3, "c": 4},
		"inline": map[string]any{"x": 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAmbiguousNumber(t *testing.T) {
	_, problems := Parse([]byte(header + "do: [{a: {set: {zip: 01234, text: '01234', zero: 0, real: 01.5}}}]\n"))
	if len(problems) != 1 || problems[0].Code != CodeAmbiguousNumber || problems[0].Pointer != "/do/0/a/set/zip" ||
		problems[0].Severity != SeverityWarning || !strings.Contains(problems[0].Detail, "1234") {
		t.Errorf("got %v", problems)
	}
}

// jsonDefinition puts text where any value may stand.
func jsonDefinition(text string) []byte {
	return []byte(`{"document": {"dsl": "1.0.3", "namespace": "test", "name": "test", "version": "1.0.0"},
	"do": [{"a": {"set": {"value": ` + text + `}}}]}`)
}

// JSON is read as JSON, also where YAML would read it differently or not at all.
func TestJSONValues(t *testing.T) {
	for text, want := range map[string]any{
		"null": nil, "true": true, "false": false, "0": 0, "-0": 0, "12": 12, "-7": -7, "1.0": 1.0, "1e2": 100.0, "1.5E-1": 0.15,
		"12345678901234567890123":     large("12345678901234567890123"),
		`""`:                          "",
		`"a\"\\\/\b\f\n\r\tz"`:        "a\"\\/\b\f\n\r\tz",
		`"\u00e9\ud83d\ude00\u0000"`:  "é😀\x00",
		"\"tab\\tDEL\x7f\"":           "tab\tDEL\x7f",
		"[\t1,\n\t2 ]":                []any{1, 2},
		"[ ]":                         []any{},
		"{ }":                         map[string]any{},
		`{"<<": {"a": 1}, "x": [{}]}`: map[string]any{"<<": map[string]any{"a": 1}, "x": []any{map[string]any{}}},
		`{"` + strings.Repeat("k", 2000) + `": 1}`: map[string]any{strings.Repeat("k", 2000): 1},
	} {
		document, problems := Parse(jsonDefinition(text))
		if len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		if got := document.Do[0].Set.Value.(map[string]any)["value"]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v, want %#v", text, got, want)
		}
	}
}

// What is neither JSON nor YAML but begins with a brace is reported as JSON, at its place.
func TestJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		`"a`:                  "the closing quote of a text is missing",
		`"\x", "a": "\ud800"`: "invalid escape",
		`"\ud800\u0041"`:      "invalid escape",
		`"\u00g0"`:            "invalid escape",
		"\"\x01\"":            "a text holds a control character",
		"\"\\n\x01\"":         "a text holds a control character",
		`[1 "a"}`:             "a comma or ] is missing",
		`[1, `:                "a value is missing",
		`{"a" 1}, @`:          "a colon is missing after the key",
		`{"a": 1 "b": 2}`:     "a comma or } is missing",
		`"a"]`:                "a comma or } is missing",
	} {
		document, problems := Parse(jsonDefinition(text))
		if document != nil || len(problems) != 1 || problems[0].Code != CodeSyntax || problems[0].Line != 2 ||
			!strings.Contains(problems[0].Detail, want) || problems[0].Column < 33 {
			t.Errorf("%s: got %v, want %q in line 2", text, problems, want)
		}
		if err := problems.Err(); !errors.Is(err, ErrSyntax) || errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v is not ErrSyntax", text, err)
		}
	}
}

func TestJSONEnd(t *testing.T) {
	for text, want := range map[string]string{
		"{":                 "1:2: The text is not valid JSON: a key in double quotes is missing.",
		"{\"a\": \"b\\":     "1:9: The text is not valid JSON: a text contains an invalid escape.",
		"{\"a\": \"\\n":     "1:10: The text is not valid JSON: the closing quote of a text is missing.",
		"{\"a\": 1,\n\n} @": "3:1: The text is not valid JSON: a value is missing after the comma.",
		"{\"é\": 01, @}":    "1:9: The text is not valid JSON: a number is malformed.",
		"{} @":              "1:4: The text is not valid JSON: text after the end of the value.",
	} {
		if _, problems := Parse([]byte(text)); len(problems) != 1 || problems[0].String() != want {
			t.Errorf("%q: got %v, want %s", text, problems, want)
		}
	}
}

// What is no JSON may still be YAML in braces.
func TestBracesOfYAML(t *testing.T) {
	document, problems := Parse([]byte(`{document: {dsl: 1.0.3, namespace: test, name: test, version: 1.0.0}, # comment
  do: [{a: {set: {x: 01.5, 'y': [1,],},},},],}`))
	if len(problems) > 0 || document.Do[0].Name != "a" {
		t.Errorf("got %v", problems)
	}
}

func TestJSONDuplicateKey(t *testing.T) {
	_, problems := Parse(jsonDefinition("{\"a\": 1,\n\"a\": 2}"))
	want := Problem{Pointer: "/do/0/a/set/value/a", Line: 3, Column: 1, Code: CodeDuplicateKey,
		Detail: `The key "a" occurs twice; the first is in line 2.`, Hint: "Remove or rename one of them."}
	if len(problems) != 1 || problems[0] != want {
		t.Errorf("got %+v", problems)
	}
}

// The value of a definition is the same whether it was written in YAML or in JSON.
func TestYAMLEqualsJSON(t *testing.T) {
	document, problems := Parse([]byte(everything))
	if len(problems) != unused {
		t.Fatal(problems)
	}
	text, err := json.Marshal(document.Value())
	if err != nil {
		t.Fatal(err)
	}
	same, problems := Parse(text)
	if len(problems) != unused {
		t.Fatal(problems)
	}
	if !reflect.DeepEqual(document.Value(), same.Value()) {
		t.Error("the values differ")
	}
	document.root, same.root = nil, nil
	left, _ := json.Marshal(document)
	right, _ := json.Marshal(same)
	if string(left) != string(right) {
		t.Errorf("the trees differ:\n%s\n%s", left, right)
	}
}
