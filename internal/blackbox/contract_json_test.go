package blackbox_test

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/value"
)

// TestContractJSON holds docs/reference/api.md "JSON": what is read exactly, and what is refused, in the
// input of an execution, in items of a batch, and all the way to output and output.json.
func TestContractJSON(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := deploy(t, s, echo)
	t.Run("exact", func(t *testing.T) { testExactJSON(t, s, flow) })
	t.Run("refused", func(t *testing.T) { testRefusedJSON(t, s, flow) })
	t.Run("depth", func(t *testing.T) { testJSONDepth(t, s, flow) })
	t.Run("place", func(t *testing.T) { testJSONPosition(t, s, flow) })
	t.Run("arithmetic", func(t *testing.T) { testJSONArithmetic(t, s) })
}

func testExactJSON(t *testing.T, s *server, flow string) {
	digits := strings.Repeat("1234567890", 100) // 1,000 digits
	for sent, want := range map[string]string{
		"1": "1", "1.0": "1.0", "-0": "0|-0", "0.1": "0.1", "1e2": "100.0", "1E+2": "100.0", "1e21": "1e+21|1e21", "1.50": "1.5", "-1.0": "-1.0",
		"9007199254740993": "9007199254740993", "18446744073709551616": "18446744073709551616", "-9223372036854775809": "-9223372036854775809",
		digits: digits, "-" + digits: "-" + digits, "0.1e-6": "1e-7|1e-07|0.0000001", "5e-324": "5e-324", "1.7976931348623157e308": "1.7976931348623157e+308|1.7976931348623157e308",
		"0.30000000000000004": "0.30000000000000004", "0.1000000000000000055511151231257827": "0.1",
		`"\u0000"`: `"\u0000"`, `"a\u0000b"`: `"a\u0000b"`, `"\ud83d\ude00"`: `"😀"`, `"😀"`: `"😀"`, `"\u00e9\/\b\f\n\r\t"`: `"é/\b\f\n\r\t"|"é/\u0008\u000c\n\r\t"`,
		`"\u2028"`: "\"\u2028\"|\"\\u2028\"", `"<>&"`: `"<>&"`, `{"":1}`: `{"":1}`, `{"a\u0000":[]}`: `{"a\u0000":[]}`, `"\uffff"`: "\"\uffff\"|\"\\uffff\"",
		`{"b":1,"a":2}`: `{"b":1,"a":2}|{"a":2,"b":1}`, "null": "null", "[]": "[]", `[1,1.0]`: `[1,1.0]`,
	} {
		a := s.Do(t, "POST", executions(flow)+"?wait=60s", `{"input":{"v":`+sent+`}}`)
		wantStatus(t, a, 201)
		if a.Object()["status"] != "finished" {
			t.Fatalf("%.50s: %.500s", sent, a.Body)
		}
		wantText(t, "output of "+sent, string(a.Body), `"output":{"v":`, want)
		file := s.Do(t, "GET", text(fields(list(a.Object()["results"])[0])["url"]), "", "X-Api-Key", "")
		wantStatus(t, file, 200)
		wantText(t, "output.json of "+sent, string(file.Body), `{"v":`, want)
		b := s.Do(t, "POST", batches(flow), `{"items":[{"v":`+sent+`}]}`)
		wantStatus(t, b, 202)
		wantText(t, "inputs of "+sent, string(b.Body), `"inputs":{"v":`, want)
	}
	for _, mark := range []string{"\ufeff", "\ufeff \n"} {
		wantStatus(t, s.Do(t, "POST", executions(flow), mark+`{"input":{}}`), 201) // a byte order mark is skipped
	}
}

// wantText looks for one of the spellings after a text.
func wantText(t *testing.T, what, body, after, spellings string) {
	t.Helper()
	_, rest, found := strings.Cut(body, after)
	for spelling := range strings.SplitSeq(spellings, "|") {
		if found && strings.HasPrefix(rest, spelling) && strings.ContainsAny(rest[len(spelling):][:1], "},") {
			return
		}
	}
	t.Errorf("%.60s: %.100q, want %.100q", what, rest, spellings)
}

func testRefusedJSON(t *testing.T, s *server, flow string) {
	for name, v := range map[string]string{
		"1,001 digits": strings.Repeat("9", 1001), "minus and 1,001 digits": "-" + strings.Repeat("9", 1001), "above the range": "1e309", "below the range": "-1e309",
		"NaN": "NaN", "Infinity": "Infinity", "-Infinity": "-Infinity", "duplicate key": `{"a":1,"a":1}`, "escaped duplicate key": `{"a":1,"\u0061":2}`,
		"nested duplicate key": `[{"x":{"k":1,"k":2}}]`, "high surrogate": `"\ud800"`, "low surrogate": `"\udc00"`, "swapped surrogates": `"\ude00\ud83d"`,
		"high surrogate and text": `"\ud83dx"`, "surrogate key": `{"\ud800":1}`, "overlong": "\"\xc0\x80\"", "bare byte": "\"\xff\"", "surrogate in UTF-8": "\"\xed\xa0\x80\"",
		"above Unicode": "\"\xf4\x90\x80\x80\"", "bad key": "{\"\xfe\":1}", "leading zero": "01", "plus": "+1", "no digit": "1.", "no whole part": ".5", "bare exponent": "1e",
		"hexadecimal": "0x1", "single quotes": "'a'", "no quotes": "a", "trailing comma": "[1,]", "trailing comma in object": `{"a":1,}`, "comment": "1/**/", "line comment": "1//x\n",
		"control character": "\"a\nb\"", "NUL": "\"a\x00b\"", "bad escape": `"\x41"`, "short escape": `"\u12"`, "unterminated": `"a`, "mark inside": "\ufeff1", "word": "nul", "empty": "",
		"no-break space": "\u00a01", "two values": "1 2", "minus": "-", "minus zeros": "-01", "underscore": "1_000",
	} {
		t.Run(name, func(t *testing.T) {
			for path, body := range map[string]string{executions(flow): `{"input":{"v":` + v + `}}`, batches(flow): `{"items":[{},{"v":` + v + `}]}`} {
				p := wantProblem(t, s, s.Do(t, "POST", path, body), 400, "invalid_json")
				if e := fields(list(p["errors"])[0]); !isCount(e["line"]) || !isCount(e["column"]) {
					t.Errorf("no place: %s", value.Marshal(p))
				}
			}
		})
	}
	for _, body := range []string{`{"input":{}}x`, `{}{}`, `{} null`, "{}\x00", "\x00", " ", "\n", "\ufeff", `{"input":{},"input":{}}`, "{", "}", "[", `"`, "\xff\xfe{\x00}\x00", "tru", "{}\ufeff"} {
		p := wantProblem(t, s, s.Do(t, "POST", executions(flow), body), 400, "invalid_json")
		if len(list(p["errors"])) == 0 {
			t.Errorf("%q: no place", body)
		}
	}
}

// testJSONDepth: "JSON depth 64".
func testJSONDepth(t *testing.T, s *server, flow string) {
	nested := func(levels int) string { // of the whole body: two stand around
		return `{"input":{"v":` + strings.Repeat("[", levels-2) + strings.Repeat("]", levels-2) + `}}`
	}
	wantStatus(t, s.Do(t, "POST", executions(flow), nested(64)), 201)
	for _, levels := range []int{65, 66, 257, 10_000, 250_000} {
		p := wantProblem(t, s, s.Do(t, "POST", executions(flow), nested(levels)), 400, "invalid_json")
		if e := fields(list(p["errors"])[0]); e["code"] != "too_deep" || !strings.Contains(text(e["detail"]), "64") {
			t.Errorf("%d levels: %s", levels, value.Marshal(p["errors"]))
		}
	}
}

func testJSONPosition(t *testing.T, s *server, flow string) {
	p := wantProblem(t, s, s.Do(t, "POST", executions(flow), "{\n  \"input\": {\n    \"é\": [1, 2, oops]\n  }\n}"), 400, "invalid_json")
	e := fields(list(p["errors"])[0])
	if e["line"] != 3 || e["column"] != 17 || e["pointer"] != "/input/é/2" {
		t.Errorf("not line 3, column 17, /input/é/2: %s", value.Marshal(e))
	}
}

// testJSONArithmetic: integers stay exact through jq (T17).
func testJSONArithmetic(t *testing.T, s *server) {
	flow := deploy(t, s, "do:\n- add: {set: {sum: '${ .a + 1 }', product: '${ .a * .a }', half: '${ .b / 2 }'}}\n")
	a := s.Do(t, "POST", executions(flow)+"?wait=60s", `{"input":{"a":100000000000000000000,"b":3.0}}`)
	wantStatus(t, a, 201)
	if got := string(value.Marshal(a.Object()["output"])); got != `{"half":1.5,"product":10000000000000000000000000000000000000000,"sum":100000000000000000001}` {
		t.Errorf("%s", got)
	}
}
