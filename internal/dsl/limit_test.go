package dsl

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// only parses data and wants exactly one error, of one code.
func only(t *testing.T, data, code string) Problem {
	t.Helper()
	document, problems := Parse([]byte(data))
	if len(problems) != 1 || problems[0].Code != code {
		t.Fatalf("got %d problems, want one %s: %.300v", len(problems), code, problems)
	}
	checkPositions(t, []byte(data), document, problems)
	return problems[0]
}

func TestSizeLimit(t *testing.T) {
	start := header + "do: []\nmetadata: "
	fill := func(bytes int) string { return start + strings.Repeat("x", bytes-len(start)) }
	document, problems := Parse([]byte(fill(MaxBytes)))
	if document == nil || problems.HasErrors() {
		t.Fatal("a definition of 1 MiB is refused", problems)
	}
	problem := only(t, fill(MaxBytes+1), CodeTooLarge)
	if !strings.Contains(problem.Detail, "1,048,577 bytes; at most 1,048,576") {
		t.Error(problem)
	}
}

// nested is a value of some levels, in flow style or in block style.
var nested = map[string]func(levels int) string{
	"lists": func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) },
	"objects": func(levels int) string {
		return strings.Repeat("{a: ", levels-1) + "{}" + strings.Repeat("}", levels-1)
	},
	"json": func(levels int) string {
		return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
	},
	"dashes": func(levels int) string { return "\n" + strings.Repeat("- ", levels) + "x" },
	"indented": func(levels int) string {
		var text strings.Builder
		for level := range levels {
			text.WriteString("\n" + strings.Repeat(" ", level+1) + "a:")
		}
		return text.String()
	},
}

// Values have at most 256 levels, wherever they stand.
func TestDepthLimit(t *testing.T) {
	for name, value := range nested {
		t.Run(name, func(t *testing.T) {
			for location, start := range map[string]string{
				"/extra/":          header + "do: []\nextra: ",
				"/do/0/a/set/x/":   header + "do: [{a: {set: {x: ",
				"/do/0/a/metadata": header + "do: [{a: {set: {x: 1}, metadata: {x: ",
				"/document/tags/x": header[:len(header)-2] + ", tags: {x: ",
			} {
				end, outside := "", 0
				switch {
				case location == "/extra/":
				case name == "dashes" || name == "indented":
					continue // no block style inside of flow style
				case strings.HasPrefix(location, "/document"):
					end, outside = "}}\ndo: []", 1
				default:
					end, outside = "}}}]", 1 // set and metadata are part of the value
				}
				if _, problems := Parse([]byte(start + value(MaxDepth-outside) + end)); problems.HasErrors() {
					t.Error("256 levels are refused:", problems.Err())
				}
				document, problems := Parse([]byte(start + value(MaxDepth-outside+1) + end))
				checkPositions(t, []byte(start+value(MaxDepth-outside+1)+end), document, problems)
				if problems = problems.Errors(); len(problems) != 1 || problems[0].Code != CodeTooDeep ||
					!strings.Contains(problems[0].Detail, "more than 256 levels") || !strings.HasPrefix(problems[0].Pointer, location) {
					t.Errorf("257 levels at %s: %.300v", location, problems)
				}
			}
		})
	}
	if _, err := ParseValue([]byte(nested["json"](MaxDepth))); err != nil {
		t.Error("a document of 256 levels is refused:", err)
	}
	if _, err := ParseValue([]byte(nested["json"](MaxDepth + 1))); err == nil {
		t.Error("a document of 257 levels is read")
	}
}

// Keys of values may be long; the position of what is too deep is given without them.
func TestDepthBelowLongKeys(t *testing.T) {
	value := strings.Repeat(`{"`+strings.Repeat("k", 1000)+`": `, 300) + "1" + strings.Repeat("}", 300)
	problem := only(t, header+"do: [{a: {set: {x: "+value+"}}}]", CodeTooDeep)
	if problem.Pointer != "/do/0/a/set/x" {
		t.Error(problem.Pointer)
	}
}

// The text has at most 2,048 levels, and a bomb is only an error, in time that is linear in its
// size: it is read up to that level.
func TestLevelLimit(t *testing.T) {
	for name, value := range nested {
		t.Run(name, func(t *testing.T) {
			for _, levels := range []int{MaxLevels, 10_000, 100_000, 150_000} {
				if name == "indented" && levels > 1000 {
					levels = 1400
				}
				document, problems := Parse([]byte(header + "do: []\nextra: " + value(levels)))
				if problems = problems.Errors(); len(problems) != 1 || problems[0].Code != CodeTooDeep ||
					name != "indented" && (document != nil || !strings.Contains(problems[0].Detail, "more than 2,048 levels")) {
					t.Errorf("%d levels: %.300v", levels, problems)
				}
			}
		})
	}
	if problem := only(t, strings.Repeat(`{"a":`, 100_000), CodeTooDeep); problem.Line != 1 || problem.Column != MaxLevels*5+1 {
		t.Error("JSON:", problem)
	}
	for _, bomb := range []string{"[", "{", "- ", "? ", "{a: ", "&a [", "!a [", "!!seq ["} {
		data := strings.Repeat(bomb, MaxBytes/len(bomb))
		if document, problems := Parse([]byte(data)); document != nil || !problems.HasErrors() {
			t.Errorf("a bomb of %q was read", bomb)
		}
	}
}

// An alias must not lead deeper than the limits either.
func TestDepthOfAliases(t *testing.T) {
	around := func(levels int) string { return strings.Repeat("[", levels) + "*a" + strings.Repeat("]", levels) }
	data := header + "do: []\ndocument2: {a: &a " + nested["lists"](200) + ", b: " + around(100) + "}"
	_, problems := Parse([]byte(data))
	if problems = problems.Errors(); len(problems) != 1 || problems[0].Code != CodeTooDeep || !strings.HasPrefix(problems[0].Pointer, "/document2/b/0") {
		t.Errorf("%.300v", problems)
	}
	only(t, header+"do: []\na: &a "+nested["lists"](1500)+"\nb: "+around(600), CodeTooDeep)
}

func TestAliasExpansion(t *testing.T) {
	var data strings.Builder
	data.WriteString(header + "do: []\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&data, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	problem := only(t, data.String(), CodeAlias)
	if !strings.Contains(problem.Detail, "1,048,576 bytes") {
		t.Error(problem)
	}
	merges := header + "do: []\nbase: &base {" + strings.Repeat("x", 1000) + ": 1}\nuses:\n" + strings.Repeat("- {<<: *base}\n", 2000)
	only(t, merges, CodeAlias)
	few := header + "do: []\nbase: &base {" + strings.Repeat("x", 1000) + ": 1}\nuses:\n" + strings.Repeat("- {<<: *base}\n", 1000)
	if _, problems := Parse([]byte(few)); problems.HasErrors() {
		t.Error("a million bytes of aliases are refused:", problems.Err())
	}
}

func manyTasks(count int) string {
	var data strings.Builder
	data.WriteString(header + "do:\n")
	for i := range count {
		fmt.Fprintf(&data, "- task%d: {set: {number: %d, value: '${ .value + 1 }'}}\n", i, i)
	}
	return data.String()
}

func TestTaskLimit(t *testing.T) {
	document, problems := Parse([]byte(manyTasks(MaxTasks)))
	if len(problems) > 0 || len(document.Do) != MaxTasks {
		t.Fatal("10,000 tasks are refused:", problems)
	}
	problem := only(t, manyTasks(MaxTasks+50), CodeTooManyTasks)
	if problem.Pointer != "/do/10000/task10000" || problem.Line != 10003 {
		t.Error(problem.Pointer, problem)
	}
}

func TestBranchLimit(t *testing.T) {
	branches := func(count int) string {
		var data strings.Builder
		data.WriteString(header + "do: [{f: {fork: {branches: [")
		for i := range count {
			fmt.Fprintf(&data, "{b%d: {set: {a: 1}}},", i)
		}
		return data.String() + "]}}}]\n"
	}
	if _, problems := Parse([]byte(branches(MaxBranches))); len(problems) > 0 {
		t.Error("1,000 branches are refused:", problems)
	}
	if problem := only(t, branches(MaxBranches+1), CodeTooManyBranches); problem.Pointer != "/do/0/f/fork/branches" {
		t.Error(problem.Pointer, problem)
	}
}

func TestNameLimit(t *testing.T) {
	item := "do: [{" + strings.Repeat("n", 255) + ": {set: {a: 1}}}]\n"
	if _, problems := Parse([]byte(header + item)); len(problems) > 0 {
		t.Error("a name of 255 bytes is refused:", problems)
	}
	problem := only(t, header+"do:\n- ? "+strings.Repeat("n", 10_000)+"\n  : {set: {a: 1}}\n", CodeName)
	if problem.Pointer != "/do/0" || problem.Line != 3 || problem.Column != 5 || len(problem.Detail) > 200 {
		t.Error(problem.Pointer, problem)
	}
	problem = only(t, header+"do: [{a: {set: {a: 1}, ? "+strings.Repeat("ü", 10_000)+" : 1}}]\n", CodeUnknown)
	if problem.Pointer != "/do/0/a" || !strings.Contains(problem.Detail, strings.Repeat("ü", maxQuoted)+"…") || len(problem.Detail) > 200 {
		t.Error(problem.Pointer, problem)
	}
	problem = only(t, header+"do: [{a: {set: {? "+strings.Repeat("k", 10_000)+" : {b: 1, b: 2}}}}]\n", CodeDuplicateKey)
	if problem.Pointer != "/do/0/a/set" {
		t.Error(problem.Pointer, problem)
	}
}

// Names may be long and nesting deep, but not both: every task keeps its pointer.
func TestPointerLimit(t *testing.T) {
	deep := func(levels, length int) string {
		name := strings.Repeat("n", length)
		return header + "do: " + strings.Repeat("[{"+name+": {do: ", levels) + "[]" + strings.Repeat("}}]", levels)
	}
	if _, problems := Parse([]byte(deep(80, 30))); len(problems) > 0 {
		t.Error("80 levels of names with 30 bytes are refused:", problems)
	}
	problem := only(t, deep(80, 200), CodeName)
	if len(problem.Pointer) < maxPointerBytes || len(problem.Pointer) > maxPointerBytes+300 {
		t.Error(len(problem.Pointer), problem)
	}
	// 4,000 tasks with pointers of about 4,000 bytes.
	name := strings.Repeat("n", 250)
	var wide strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&wide, "{t%d: {set: {a: 1}}},", i)
	}
	data := header + "do: " + strings.Repeat("[{"+name+": {do: ", 15) + "[" + wide.String() + "]" + strings.Repeat("}}]", 15)
	_, problems := Parse([]byte(data))
	if len(problems) != maxProblems || problems[0].Code != CodeName || !strings.Contains(problems[0].Detail, "8 MiB") {
		t.Errorf("got %d problems: %.300v", len(problems), problems)
	}
}

func TestNumberLimit(t *testing.T) {
	digits := strings.Repeat("9", maxIntegerDigits)
	yaml := func(number string) string { return header + "do: [{a: {set: {value: " + number + "}}}]\n" }
	json := func(number string) string { return string(jsonDefinition(number)) }
	for _, definition := range []func(string) string{yaml, json} {
		for _, number := range []string{digits, "-" + digits, "1e300"} {
			if _, problems := Parse([]byte(definition(number))); len(problems) > 0 {
				t.Errorf("%.20s is refused: %v", number, problems)
			}
		}
		for _, number := range []string{digits + "9", "-" + digits + "9", "1e400", "-1e400", strings.Repeat("9", 100_000)} {
			problem := only(t, definition(number), CodeNumber)
			if problem.Pointer != "/do/0/a/set/value" || len(problem.Detail) > 300 {
				t.Error(problem.Pointer, problem)
			}
		}
	}
	only(t, yaml("0x1"+strings.Repeat("0", 1024)), CodeNumber)
}

func TestProblemLimit(t *testing.T) {
	var data strings.Builder
	data.WriteString(header)
	for i := range 300 {
		fmt.Fprintf(&data, "unknown%d: 1\n", i)
	}
	data.WriteString("do:\n")
	for i := range 300 {
		fmt.Fprintf(&data, "- task%d: {wait: 5}\n", i)
	}
	_, problems := Parse([]byte(data.String()))
	if len(problems.Errors()) != 100 || len(problems.Warnings()) != 100 || len(problems) != 200 {
		t.Errorf("got %d errors and %d warnings", len(problems.Errors()), len(problems.Warnings()))
	}
	if err := problems.Err(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "(and 99 more)") {
		t.Error(err)
	}
	if problems.Warnings().HasErrors() || problems.Warnings().Err() != nil {
		t.Error("warnings refuse a definition")
	}
}

// What is no UTF-8 or holds control characters is reported with its position.
func TestEncoding(t *testing.T) {
	for text, want := range map[string]string{
		"do: []\nä: \xff\n":           "2:4: The text is not UTF-8.",
		"a: \x00":                     "1:4: The control character U+0000 is not allowed in YAML.",
		"a: b\nü: \u0080":             "2:4: The control character U+0080",
		"a: \uFEFFb":                  "1:4: The control character U+FEFF",
		"a: \uFFFE":                   "1:4: The control character U+FFFE",
		"\xfe\xff\x00a\x00:\x00 \x00": "1:1: The text is not UTF-8.",
		`{"a": "` + "\x00" + `"}`:     "1:8: The text is not valid JSON: a text holds a control character.",
	} {
		document, problems := Parse([]byte(text))
		if document != nil || len(problems) != 1 || problems[0].Code != CodeSyntax || !strings.HasPrefix(problems[0].String(), want) {
			t.Errorf("%q: got %v, want %s", text, problems, want)
		}
	}
	if _, problems := Parse([]byte("\uFEFF" + header + "do: []\nextra: \"\u0085\U0001F600\ttab\"\n")); problems.HasErrors() {
		t.Error("a byte order mark or an unusual character is refused:", problems.Err())
	}
	if _, problems := Parse([]byte("\uFEFF " + string(jsonDefinition("1")))); len(problems) > 0 {
		t.Error("a byte order mark before JSON is refused:", problems)
	}
}

// The absent value at the end of a text has a position in the text.
func TestEnd(t *testing.T) {
	for text, want := range map[string][2]int{
		"---":              {1, 1},
		"":                 {1, 1},
		"# only\n":         {1, 1},
		"---\n\n":          {3, 1},
		"--- ~":            {1, 5},
		"\n\n  5":          {3, 3},
		"a: 1\r\ndo:\r\n-": {3, 2},
	} {
		_, problems := Parse([]byte(text))
		last := problems.Errors()[len(problems.Errors())-1]
		if last.Line != want[0] || last.Column != want[1] {
			t.Errorf("%q: %s, want %v", text, last, want)
		}
	}
}

func TestDocuments(t *testing.T) {
	problem := only(t, "---\n"+header+"do: []\n---\na: 1\n", CodeDocuments)
	if problem.Line != 4 {
		t.Error(problem)
	}
	only(t, header+"do: []\n---\na: [\n", CodeSyntax)
	if _, problems := Parse([]byte("%YAML 1.2\n---\n" + header + "do: []\n...\n")); len(problems) > 0 {
		t.Error(problems)
	}
}

// Texts that are slow for some readers: all of them must cost time linear in their size.
func TestHostileTexts(t *testing.T) {
	const size = MaxBytes / 4
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	var keys, jumps strings.Builder
	for i := 0; keys.Len() < size; i++ {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
		fmt.Fprintf(&jumps, "- a_rather_long_name_%d: {then: a_rather_long_nome_%d}\n", i, i)
	}
	lastKey := keys.String()[strings.LastIndex(strings.TrimSpace(keys.String()), "\n")+1:]
	for name, data := range map[string]string{
		"at signs":        fill("@"),
		"documents":       fill("---\n"),
		"tabs":            `a: "` + fill("\t") + `"`,
		"long key":        fill("a") + ": 1",
		"colons":          fill(":\n"),
		"comments":        fill("#\n"),
		"anchors":         fill("&a "),
		"tags":            fill("!a "),
		"flow list":       "[" + fill("a,") + "]",
		"flow map":        "{" + fill("a: 1, ") + "}",
		"same keys":       keys.String() + fill(lastKey),
		"keys":            keys.String(),
		"empty questions": fill("?\n"),
		"plain lines":     "a: b\n" + fill("  x\n"),
		"literal":         "a: |\n" + fill("  x\n"),
		"item comments":   fill("- a #x\n"),
		"json list":       "[" + fill("{},") + "{}]",
		"json text":       `{"a": "` + fill(`\u00e9`) + `"}`,
		"broken json":     `{"a": [` + fill(`1,`) + `@`,
		"unknown tasks":   "do:\n" + fill("- a: {x: 1}\n"),
		"long jumps":      "do:\n" + jumps.String(),
		"jumps":           "do:\n" + fill("- a: {set: {a: 1}, then: b}\n"),
		"lists of lists":  "do:\n" + fill("- - - - a\n"),
		"durations":       "do: [{a: {wait: P" + fill("9") + "Y}}]",
		"names":           "do: [{" + fill("é") + ": 1}]",
		"aliases":         "a: &a {x: [1, 2, 3, 4, 5, 6, 7, 8]}\ndo:\n" + fill("- *a\n"),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			document, problems := Parse([]byte(data))
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
			if !problems.HasErrors() {
				t.Error("it was accepted")
			}
			checkPositions(t, []byte(data), document, problems)
		})
	}
}
