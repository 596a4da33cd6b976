package plan

import (
	"regexp/syntax"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLongPatternsAreOfTheFormat: to judge that texts are regular expressions takes as long as to read them, and not as
// long as to compile what they repeat, which has 30 MB each.
func TestLongPatternsAreOfTheFormat(t *testing.T) {
	s := schemaOf(t, `{"items": {"format": "regex"}}`)
	list := append(many(500, `(?:`+strings.Repeat("ab", 400)+`){1000}`), `(?:a`, `a{1001}`)
	done := make(chan []SchemaProblem, 1)
	go func() { done <- s.Validate(list) }()
	select {
	case problems := <-done:
		if len(problems) != 2 || problems[0].Pointer != "/500" || problems[1].Pointer != "/501" || problems[0].Keyword != "format" {
			t.Error(problems)
		}
	case <-time.After(time.Minute):
		t.Error("the check takes more than a minute")
	}
}

// TestSlowPatternsAreBounded: a match that takes long counts as many steps. The time is that of a machine that is busy.
func TestSlowPatternsAreBounded(t *testing.T) {
	slow := `"(?:[a-z]?){450}Y"`
	text := strings.Repeat("x", 1<<20)
	for name, tt := range map[string]struct {
		schema string
		value  any
	}{
		"a text":                       {`{"pattern": ` + slow + `}`, text},
		"inside of not":                {`{"not": {"pattern": ` + slow + `}}`, text},
		"a name":                       {`{"patternProperties": {` + slow + `: true}}`, map[string]any{text: 1}},
		"a name alone":                 {`{"propertyNames": {"pattern": ` + slow + `}}`, map[string]any{text: 1}},
		"many":                         {`{"items": {"pattern": ` + slow + `}}`, many(1000, text[:1000])},
		"many small ones":              {`{"patternProperties": {` + patternsOf(1000) + `}}`, wide(10_000)},
		"a text of the format":         {`{"format": "regex"}`, strings.Repeat("(?i:x)", 200_000)},
		"classes in one of the format": {`{"items": {"format": "regex"}}`, many(100, strings.Repeat(`\pL`, 1000))},
	} {
		t.Run(name, func(t *testing.T) {
			s := schemaOf(t, tt.schema)
			s.budget.limit = MaxSchemaSteps / 10
			began := time.Now()
			problems, steps := s.Check(tt.value)
			if taken := time.Since(began); taken > 20*time.Second {
				t.Errorf("it takes %v", taken)
			}
			if len(problems) != 1 || problems[0].Keyword != "$schema" || !strings.Contains(problems[0].Detail, "100000 steps") ||
				steps != s.budget.limit+1 {
				t.Error(problems, steps)
			}
			if problems, steps := s.Check(1); problems != nil && name != "inside of not" || steps > 10 {
				t.Error("then", problems, steps)
			}
		})
	}
}

func patternsOf(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`, "` + strconv.Itoa(i) + `x$": true`)
	}
	return b.String()[2:]
}

func wide(n int) any {
	object := map[string]any{}
	for i := range n {
		object["property"+strconv.Itoa(i)] = i
	}
	return object
}

// TestOrdinaryPatterns cost next to nothing.
func TestOrdinaryPatterns(t *testing.T) {
	for name, tt := range map[string]struct {
		pattern string
		value   any
		most    int // steps for each
	}{
		"words":            {`^[a-z0-9-]+$`, many(10_000, "a-word-2"), 3},
		"identifiers":      {`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`, many(10_000, "0b9dbd3d-52ab-4d9f-9c25-2d0ae6a8a0f4"), 5},
		"names":            {`^[A-Za-z .]{1,255}$`, many(10_000, "Ada Lovelace of London"), 6},
		"e-mail addresses": {`^[^@\\s]+@[^@\\s]+\\.[a-z]{2,63}$`, many(10_000, "ada.lovelace@example.com"), 25},
		"dates":            {`\\d{4}-\\d{2}-\\d{2}`, many(10_000, "2026-01-31"), 5},
		"base64":           {`^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`, []any{strings.Repeat("QUJD", 1<<18)}, 250_000},
		"a long text":      {`^[^\\x00]*$`, []any{strings.Repeat("word ", 1<<18)}, 250_000},
	} {
		t.Run(name, func(t *testing.T) {
			s := schemaOf(t, `{"items": {"pattern": "`+tt.pattern+`"}}`)
			list := tt.value.([]any)
			problems, steps := s.Check(list)
			t.Log(steps/len(list), "steps for each")
			if steps > tt.most*len(list) || problems != nil {
				t.Error(steps, problems[:min(len(problems), 1)])
			}
		})
	}
}

// TestCostOfPatternsIsTheSame in any order of properties, also where the validator stops at the first that is wrong.
func TestCostOfPatternsIsTheSame(t *testing.T) {
	const inner = `{"patternProperties": {"1$": {"pattern": "^a"}, "2$": {"pattern": "b{1,9}c"}, "^property": {"type": "integer"}}}`
	for _, schema := range []string{inner, `{"not": ` + inner + `}`, `{"if": ` + inner + `, "else": ` + inner + `}`} {
		s, v := schemaOf(t, schema), wide(30)
		v.(map[string]any)["property1"] = "text"
		_, first := s.Check(v)
		for _, limit := range []int{MaxSchemaSteps, first - 1, first / 2} {
			s.budget.limit = limit
			problems, steps := s.Check(v)
			for range 40 {
				again, stepsAgain := s.Check(v)
				if stepsAgain != steps || len(again) != len(problems) || len(again) > 0 && again[0] != problems[0] {
					t.Fatalf("%s: %v after %d steps, then %v after %d", schema, problems, steps, again, stepsAgain)
				}
			}
			if limit < first && steps != limit+1 {
				t.Errorf("%s: %v after %d steps of %d", schema, problems, steps, limit)
			}
		}
	}
}

// TestCostOfMatches compares costs with the number of ways, counted for each character.
func TestCostOfMatches(t *testing.T) {
	for text, atMost := range map[string]int{ // instructions for each character, 0: all of them
		"": 3, "a": 3, "^a$": 4, "^": 3, "a*": 4, "^a*$": 6, "^[a-z]{1,255}$": 6, "^(?:abc)*$": 6, "^(?:(?:ab)*|(?:abc)*|(?:abcde)*)$": 0,
		"a{2,64}": 0, "(?:a?){60}b": 0, "(?m)^a+$": 8, "(?i)straße|^x": 9, `^(?:.{7})*(?:.{11})*$`: 0, `^(?:(?:.{97})*|(?:.{101})*|(?:.{103})*)$`: 0,
		`[^\x00-\x{10FFFF}]`: 4,
	} {
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, _ := syntax.Compile(parsed.Simplify())
		w := &ways{program: program, seenAt: make([]int, len(program.Inst))}
		cost, counted := costOf(text), 0
		if len(cost.upTo) > 8*len(program.Inst)+3 {
			t.Errorf("%q: %d numbers for %d instructions", text, len(cost.upTo), len(program.Inst))
		}
		for n := range 3000 {
			w.next()
			counted += len(w.now)
			got := cost.of(n)
			if got < counted || got > (n+1)*len(program.Inst) || atMost > 0 && (got != counted || got > (n+1)*atMost) {
				t.Errorf("%q: %d for %d bytes, %d ways, %d instructions", text, got, n, counted, len(program.Inst))
				break
			}
		}
	}
}
