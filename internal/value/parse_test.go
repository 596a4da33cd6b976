package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
)

func parsed(t testing.TB, text string) Value {
	t.Helper()
	v, err := Parse([]byte(text), Limits{})
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return v
}

func TestParseGivesExactValues(t *testing.T) {
	big1 := new(big.Int)
	big1.SetString("9223372036854775808", 10)
	long := strings.Repeat("7", MaxIntegerDigits)
	bigLong, _ := new(big.Int).SetString("-"+long, 10)
	tests := []struct {
		text string
		want Value
	}{
		{"null", nil},
		{" true ", true},
		{"\tfalse\r\n", false},
		{"0", 0},
		{"-0", 0},
		{"-17", -17},
		{"123456789012345678", 123456789012345678},
		{"9223372036854775807", math.MaxInt},
		{"-9223372036854775808", math.MinInt},
		{"9223372036854775808", big1},
		{"-" + long, bigLong},
		{"1.0", 1.0},
		{"-2.5e3", -2500.0},
		{"1E+2", 100.0},
		{"1e-400", 0.0},
		{"5e-324", 5e-324},
		{"1.7976931348623157e308", math.MaxFloat64},
		{`""`, ""},
		{`"a\u0000b"`, "a\x00b"},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		{`"\u00e9\u20AC\ud83d\ude00é€😀"`, "é€😀é€😀"},
		{`[]`, []any{}},
		{`[1,[2,[]],"x"]`, []any{1, []any{2, []any{}}, "x"}},
		{`{}`, map[string]any{}},
		{` { "a" : 1 , "" : { "b" : [ null ] } } `, map[string]any{"a": 1, "": map[string]any{"b": []any{nil}}}},
		{"\ufeff{}", map[string]any{}},
		{`{"\u0061":1}`, map[string]any{"a": 1}},
	}
	for _, tt := range tests {
		got, err := Parse([]byte(tt.text), Limits{})
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.text, err)
			continue
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Parse(%q) = %#v, want %#v", tt.text, got, tt.want)
		}
	}
}

func TestParseNamesThePosition(t *testing.T) {
	tests := []struct {
		text    string
		code    string
		offset  int
		line    int
		column  int
		pointer string
	}{
		{"", CodeEmptyText, 0, 1, 1, ""},
		{" \n ", CodeEmptyText, 3, 2, 2, ""},
		{"\ufeff", CodeEmptyText, 3, 1, 1, ""},
		{"\ufeff !", CodeUnexpectedChar, 4, 1, 2, ""},
		{"{\n  \"é\": [1, }", CodeUnexpectedChar, 14, 2, 12, "/é/1"},
		{`{"a":{"b/c~":[0,NaN]}}`, CodeInvalidLiteral, 16, 1, 17, "/a/b~1c~0/1"},
		{`[Infinity]`, CodeInvalidLiteral, 1, 1, 2, "/0"},
		{`[-Infinity]`, CodeInvalidNumber, 1, 1, 2, "/0"},
		{`[True]`, CodeInvalidLiteral, 1, 1, 2, "/0"},
		{`[nulll]`, CodeInvalidLiteral, 1, 1, 2, "/0"},
		{`tru`, CodeUnexpectedEnd, 3, 1, 4, ""},
		{`{"a":1} x`, CodeTextAfterValue, 8, 1, 9, ""},
		{`1 2`, CodeTextAfterValue, 2, 1, 3, ""},
		{`{"a":1,"b":{"k":1,"k":2}}`, CodeDuplicateKey, 18, 1, 19, "/b/k"},
		{`{"a":1,"\u0061":2}`, CodeDuplicateKey, 7, 1, 8, "/a"},
		{`{"a" 1}`, CodeUnexpectedChar, 5, 1, 6, "/a"},
		{`{"a":1 "b":2}`, CodeUnexpectedChar, 7, 1, 8, ""},
		{`{a:1}`, CodeUnexpectedChar, 1, 1, 2, ""},
		{`{"a":1,}`, CodeUnexpectedChar, 7, 1, 8, ""},
		{`[1,]`, CodeUnexpectedChar, 3, 1, 4, ""},
		{`[1 2]`, CodeUnexpectedChar, 3, 1, 4, ""},
		{`['a']`, CodeUnexpectedChar, 1, 1, 2, "/0"},
		{"[// x\n]", CodeUnexpectedChar, 1, 1, 2, "/0"},
		{`[1`, CodeUnexpectedEnd, 2, 1, 3, ""},
		{`{"a`, CodeUnexpectedEnd, 3, 1, 4, ""},
		{`{"a":`, CodeUnexpectedEnd, 5, 1, 6, "/a"},
		{`"abc\`, CodeUnexpectedEnd, 5, 1, 6, ""},
		{`"abc\u00`, CodeUnexpectedEnd, 8, 1, 9, ""},
		{`"abc\n`, CodeUnexpectedEnd, 6, 1, 7, ""},
		{`["\ud800"]`, CodeLoneSurrogate, 2, 1, 3, "/0"},
		{`["\udc00\ud800"]`, CodeLoneSurrogate, 2, 1, 3, "/0"},
		{`["\ud800\u0041"]`, CodeLoneSurrogate, 2, 1, 3, "/0"},
		{`["x\ud800\uZZZZ"]`, CodeInvalidEscape, 9, 1, 10, "/0"},
		{`["\x41"]`, CodeInvalidEscape, 2, 1, 3, "/0"},
		{`["\u12g4"]`, CodeInvalidEscape, 2, 1, 3, "/0"},
		{"[\"é\xff\"]", CodeInvalidUTF8, 4, 1, 4, "/0"},
		{"[\"\\n\xc3\"]", CodeInvalidUTF8, 4, 1, 5, "/0"},
		{"[\"\xed\xa0\x80\"]", CodeInvalidUTF8, 2, 1, 3, "/0"},
		{"\xff", CodeUnexpectedChar, 0, 1, 1, ""},
		{"{\"a\xff\":1}", CodeInvalidUTF8, 3, 1, 4, ""},
		{"[\"a\tb\"]", CodeControlCharacter, 3, 1, 4, "/0"},
		{"[\"\\na\x00b\"]", CodeControlCharacter, 5, 1, 6, "/0"},
		{`[01]`, CodeInvalidNumber, 1, 1, 2, "/0"},
		{`[-]`, CodeInvalidNumber, 1, 1, 2, "/0"},
		{`-`, CodeUnexpectedEnd, 1, 1, 2, ""},
		{`[1.]`, CodeInvalidNumber, 1, 1, 2, "/0"},
		{`[1.5e]`, CodeInvalidNumber, 1, 1, 2, "/0"},
		{`[1e+]`, CodeInvalidNumber, 1, 1, 2, "/0"},
		{`[1x]`, CodeInvalidNumber, 1, 1, 2, "/0"},
		{`[0x10]`, CodeInvalidNumber, 1, 1, 2, "/0"},
		{`[1.5.2]`, CodeInvalidNumber, 1, 1, 2, "/0"},
		{`[.5]`, CodeUnexpectedChar, 1, 1, 2, "/0"},
		{`[+1]`, CodeUnexpectedChar, 1, 1, 2, "/0"},
		{`[1e400]`, CodeNumberRange, 1, 1, 2, "/0"},
		{`{"n":-1e999}`, CodeNumberRange, 5, 1, 6, "/n"},
		{"[" + strings.Repeat("1", MaxIntegerDigits+1) + "]", CodeIntegerTooLong, 1, 1, 2, "/0"},
		{strings.Repeat("[", 65), CodeTooDeep, 64, 1, 65, strings.Repeat("/0", 64)},
		{strings.Repeat(`{"a":`, 65), CodeTooDeep, 320, 1, 321, strings.Repeat("/a", 64)},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(tt.text), Limits{})
		var got *SyntaxError
		if !errors.As(err, &got) {
			t.Errorf("Parse(%q): error %v, want code %s", tt.text, err, tt.code)
			continue
		}
		if got.Code != tt.code || got.Offset != tt.offset || got.Line != tt.line || got.Column != tt.column || got.Pointer != tt.pointer {
			t.Errorf("Parse(%q)\n got %s at %d (%d:%d) %q\nwant %s at %d (%d:%d) %q", tt.text,
				got.Code, got.Offset, got.Line, got.Column, got.Pointer,
				tt.code, tt.offset, tt.line, tt.column, tt.pointer)
		}
		if !strings.HasSuffix(got.Detail, ".") || !strings.Contains(got.Error(), fmt.Sprint("line ", tt.line)) {
			t.Errorf("Parse(%q): %q is no sentence with its place", tt.text, got.Error())
		}
	}
}

func TestParseLimits(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	if _, err := Parse([]byte(deep), Limits{Depth: 300}); err != nil {
		t.Errorf("300 levels with a limit of 300: %v", err)
	}
	if _, err := Parse([]byte(strings.Repeat("[", 64)+strings.Repeat("]", 64)), Limits{}); err != nil {
		t.Errorf("64 levels with the default limit: %v", err)
	}
	var got *SyntaxError
	if _, err := Parse([]byte(`"12345"`), Limits{Bytes: 6}); !errors.As(err, &got) || got.Code != CodeTooLarge {
		t.Errorf("7 bytes with a limit of 6: %v", err)
	}
	if _, err := Parse([]byte(`"1234"`), Limits{Bytes: 6}); err != nil {
		t.Errorf("6 bytes with a limit of 6: %v", err)
	}
	if _, err := Parse([]byte(`[1,{"a":2}]`), Limits{Values: 3}); !errors.As(err, &got) || got.Code != CodeTooManyValues || got.Pointer != "/1/a" {
		t.Errorf("4 values with a limit of 3: %v", err)
	}
	if _, err := Parse([]byte(`[1,{"a":2}]`), Limits{Values: 4}); err != nil {
		t.Errorf("4 values with a limit of 4: %v", err)
	}
	// An error leaves nothing behind for the next text.
	for _, text := range []string{`[1,2,{"a":[3`, `{"a":1,"b":[`} {
		if _, err := Parse([]byte(text), Limits{}); err == nil {
			t.Errorf("%s is accepted", text)
		}
		if got := string(Marshal(parsed(t, `[{"c":1}]`))); got != `[{"c":1}]` {
			t.Errorf("after an error: %s", got)
		}
	}
}

func TestParseKeepsNothingOfItsInput(t *testing.T) {
	data := []byte(`{"key":"value","list":["x","\u0041"]}`)
	v, err := Parse(data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = '!'
	}
	if got := string(Marshal(v)); got != `{"key":"value","list":["x","A"]}` {
		t.Errorf("after the input was overwritten: %s", got)
	}
}

func TestAppendIsCanonical(t *testing.T) {
	big1, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	many := map[string]any{}
	for i := range 40 {
		many[fmt.Sprintf("k%02d", 39-i)] = i
	}
	tests := []struct {
		value Value
		want  string
	}{
		{nil, `null`},
		{true, `true`},
		{-5, `-5`},
		{big1, `-123456789012345678901234567890`},
		{1.0, `1.0`},
		{math.Copysign(0, -1), `-0.0`},
		{0.1, `0.1`},
		{1e20, `100000000000000000000.0`},
		{1e21, `1e+21`},
		{1e-7, `1e-7`},
		{1.5e-10, `1.5e-10`},
		{5e-324, `5e-324`},
		{math.NaN(), `null`},
		{math.Inf(-1), `-1.7976931348623157e+308`},
		{"\x00\b\f\n\r\t\"\\/\x7fé\u2028😀<&>", `"\u0000\b\f\n\r\t\"\\/` + "\\u007fé\u2028😀<&>\""},
		{"a\xffb", "\"a\ufffdb\""},
		{[]any{}, `[]`},
		{map[string]any{}, `{}`},
		{map[string]any{"b": []any{1, "x"}, "a": map[string]any{"": nil}, "B": 0}, `{"B":0,"a":{"":null},"b":[1,"x"]}`},
	}
	for _, tt := range tests {
		if got := string(Marshal(tt.value)); got != tt.want {
			t.Errorf("Marshal(%#v) = %s, want %s", tt.value, got, tt.want)
		}
	}
	text := string(Append([]byte("x"), many))
	if !strings.HasPrefix(text, `x{"k00":39,"k01":38,`) || !strings.HasSuffix(text, `,"k39":0}`) {
		t.Errorf("many keys: %s", text)
	}
	defer func() {
		if recover() == nil {
			t.Error("a value of a foreign type is written")
		}
	}()
	Marshal(int64(1))
}

func TestEqualIsByValue(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true},
		{`1`, `1.5`, false},
		{`1.5`, `1.5`, true},
		{`0`, `-0.0`, true},
		{`9007199254740993`, `9007199254740992.0`, false},
		{`9007199254740992`, `9007199254740992.0`, true},
		{`100000000000000000000`, `1e20`, true},
		{`100000000000000000001`, `1e20`, false},
		{`100000000000000000000`, `100000000000000000000`, true},
		{`100000000000000000000`, `1`, false},
		{`1`, `"1"`, false},
		{`1.5`, `null`, false},
		{`null`, `false`, false},
		{`null`, `null`, true},
		{`true`, `true`, true},
		{`"a"`, `"a"`, true},
		{`"a"`, `[]`, false},
		{`[]`, `{}`, false},
		{`{}`, `[]`, false},
		{`[1,[2]]`, `[1.0,[2]]`, true},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,2]`, false},
		{`{"a":1,"b":[{"c":2.0}]}`, `{"b":[{"c":2}],"a":1}`, true},
		{`{"a":null}`, `{"b":null}`, false},
		{`{"a":1}`, `{"a":1,"b":1}`, false},
		{`{"a":1}`, `{"a":2}`, false},
	}
	for _, tt := range tests {
		a, b := parsed(t, tt.a), parsed(t, tt.b)
		if got := Equal(a, b); got != tt.want {
			t.Errorf("Equal(%s, %s) = %v", tt.a, tt.b, got)
		}
		if got := Equal(b, a); got != tt.want {
			t.Errorf("Equal(%s, %s) = %v", tt.b, tt.a, got)
		}
	}
}

func TestSizeIsCloseToTheText(t *testing.T) {
	for _, text := range []string{`null`, `true`, `0`, `-12345`, `1.5`, `"hello"`, `[]`, `{}`,
		`[1,2,3,"four",null]`, `{"a":{"b":[1,2,{"c":"dddddd"}]},"e":false}`, strings.Repeat("9", 500)} {
		v := parsed(t, text)
		if got, length := Size(v), len(text); got < length-4 || got > 2*length+12 {
			t.Errorf("Size(%s) = %d, the text has %d bytes", text, got, length)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,"\u00e9\ud83d\ude00",null,true,{}]}`, `[1e400]`, `"\ud800"`, `{"a":1,"a":2}`,
		"\ufeff 0", `12345678901234567890123`, "[\"\xff\"]", `[NaN]`, `-0`, `1.0`, `[[[[]]]]`, `{"":{"":[""]}}`, `1 1`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data, Limits{})
		valid := json.Valid(bytes.TrimPrefix(data, []byte("\ufeff")))
		if err != nil {
			var at *SyntaxError
			if !errors.As(err, &at) || at.Offset < 0 || at.Offset > len(data) || at.Line < 1 || at.Column < 1 || at.Code == "" {
				t.Fatalf("%q: bad error %#v", data, err)
			}
			switch at.Code {
			case CodeDuplicateKey, CodeInvalidUTF8, CodeLoneSurrogate, CodeNumberRange, CodeIntegerTooLong, CodeTooDeep:
			default: // all other codes say that it is no JSON
				if valid {
					t.Fatalf("%q: %v, but it is valid", data, err)
				}
			}
			return
		}
		if !valid {
			t.Fatalf("%q is accepted", data)
		}
		text := Marshal(v)
		again, err := Parse(text, Limits{})
		if err != nil || !Equal(v, again) || !reflect.DeepEqual(v, again) {
			t.Fatalf("%q becomes %s becomes %#v, %v", data, text, again, err)
		}
		if !json.Valid(text) {
			t.Fatalf("%q is written as %s", data, text)
		}
		if second := Marshal(again); !bytes.Equal(text, second) {
			t.Fatalf("%s and %s", text, second)
		}
	})
}

var benchDocument = []byte(`{"id":"0195a0c2-7f6e-7a44-9a53-7d1d3f1f5a11","customer":{"name":"Ada Lovelace","email":"ada@example.com","vip":true},` +
	`"lines":[{"sku":"A-1","qty":3,"price":19.99},{"sku":"B-2","qty":1,"price":5.0},{"sku":"C-3","qty":12,"price":0.75}],"note":null,"total":73.97}`)

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(benchDocument)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(benchDocument, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseStandardLibrary(b *testing.B) {
	b.SetBytes(int64(len(benchDocument)))
	b.ReportAllocs()
	for b.Loop() {
		var v any
		if err := json.Unmarshal(benchDocument, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	v := parsed(b, string(benchDocument))
	b.SetBytes(int64(len(benchDocument)))
	b.ReportAllocs()
	buf := make([]byte, 0, 1024)
	for b.Loop() {
		buf = Append(buf[:0], v)
	}
}
