package plan

import (
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
