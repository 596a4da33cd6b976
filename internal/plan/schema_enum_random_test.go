package plan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// spellings are how a random test writes numbers: those of a group are equal.
var spellings = [][]string{
	{"0", "-0", "0.0", "-0.0", "0e5", "0e-400"},
	{"1", "1.0", "1e0", "10e-1", "0.1e1", "1.000000000000000000000"},
	{"-1", "-1.0", "-10e-1"},
	{"100", "1e2", "1E+2", "100.0", "1000e-1"},
	{"0.1", "1e-1", "0.10", "100e-3"},
	{"0.30000000000000004", "30000000000000004e-17"},
	{"9007199254740991", "9007199254740991.0"},
	{"9007199254740992", "9007199254740992.0"},
	{"9007199254740993"},
	{"9223372036854775807"}, {"9223372036854775808"}, {"-9223372036854775808"}, {"-9223372036854775809"},
	{"1e20", "100000000000000000000", "1.0e20"}, {"100000000000000000001"},
	{"18446744073709551616", "18446744073709551616.0"}, {"18446744073709551615"},
	{"1e21", "1000000000000000000000"}, {"1e22", "10000000000000000000000"}, {"1e23", "100000000000000000000000"}, {"99999999999999991611392"},
	{"1e300"}, {"1e-300"}, {"5e-324"}, {"1.7976931348623157e308"},
}

// anyJSON writes a random value, of few that may be equal in other spellings.
func anyJSON(r *rand.Rand, depth int) string {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0:
		return []string{"null", "true", "false"}[r.IntN(3)]
	case 1:
		return []string{`""`, `"a"`, `"1"`, `"1.0"`, `"null"`, `"[]"`, `"ü"`, `"\u00fc"`, `"u\u0308"`, `"a,b"`, `"\"a\":1"`, `"😀"`, `"\u0000"`, `"\u2028"`, `"<"`, `"\u003c"`}[r.IntN(16)]
	case 2, 3, 4:
		group := spellings[r.IntN(len(spellings))]
		return group[r.IntN(len(group))]
	case 5:
		items := make([]string, r.IntN(4))
		for i := range items {
			items[i] = anyJSON(r, depth-1)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	members := []string{}
	for _, i := range r.Perm(5)[:r.IntN(4)] {
		members = append(members, []string{`"a"`, `"b"`, `""`, `"ü"`, `"a:1"`}[i]+": "+anyJSON(r, depth-1))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// respelled writes an equal value in another way: other spellings of its numbers, another order of its names.
func respelled(r *rand.Rand, text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return text
	}
	var write func(v any) string
	write = func(v any) string {
		switch v := v.(type) {
		case json.Number:
			for _, group := range spellings {
				for _, one := range group {
					if one == v.String() {
						return group[r.IntN(len(group))]
					}
				}
			}
		case []any:
			items := make([]string, len(v))
			for i, item := range v {
				items[i] = write(item)
			}
			return "[" + strings.Join(items, ",") + "]"
		case map[string]any: // in the order of maps, which is random
			members := []string{}
			for name, item := range v {
				quoted, _ := json.Marshal(name)
				members = append(members, string(quoted)+":"+write(item))
			}
			return "{" + strings.Join(members, ",") + "}"
		}
		quoted, _ := json.Marshal(v)
		return string(quoted)
	}
	return write(v)
}

// TestRandomEnums compares long enums, in which values are looked up, with what the library does. Some values are in an
// enum several times.
func TestRandomEnums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for round := range 20 {
		texts := []string{}
		for range maxComparedEnum + 1 + r.IntN(40) {
			texts = append(texts, anyJSON(r, 2))
			if r.IntN(4) == 0 {
				texts = append(texts, respelled(r, texts[r.IntN(len(texts))]))
			}
		}
		own := schemaOf(t, `{"enum": [`+strings.Join(texts, ", ")+`]}`)
		if own.compiled.Enum != nil {
			t.Fatal("the enum is not looked up in")
		}
		compiler := jsonschema.NewCompiler()
		document := map[string]any{"enum": plainNumbers(valueOf(t, "["+strings.Join(texts, ", ")+"]"))}
		if err := compiler.AddResource("test:enum", document); err != nil {
			t.Fatal(err)
		}
		library, err := compiler.Compile("test:enum")
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			text := anyJSON(r, 2)
			if r.IntN(2) == 0 {
				text = respelled(r, texts[r.IntN(len(texts))])
			}
			v := valueOf(t, text)
			want, got := library.Validate(plainNumbers(v)) == nil, own.Validate(v) == nil
			if want {
				found++
			}
			if want != got {
				t.Errorf("round %d: %s is in the enum: %v, for the library %v; as Go %s", round, text, got, want, fmt.Sprintf("%#v", v))
			}
		}
	}
	if found < 500 {
		t.Errorf("only %d values were in their enums", found)
	}
}
