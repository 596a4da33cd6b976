package excerpt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"},
		{"aäb", 2, "a…"}, // not half of a character
		{"a\xffb", 9, "a\uFFFDb"}, {"a\xffbcd", 4, "a\uFFFDbc…"},
	} {
		if got := Clip(test.text, test.n); got != test.want || !utf8.ValidString(got) {
			t.Errorf("Clip(%q, %d) = %q, want %q", test.text, test.n, got, test.want)
		}
	}
}

func TestLineHasNoControlCharacters(t *testing.T) {
	if got := Line("a\r\nb\x1b[31m\u0085c\xff", 100); got != "a  b [31m c\uFFFD" {
		t.Errorf("Line gives %q", got)
	}
}

func TestQuoteShowsTheBeginning(t *testing.T) {
	if got := Quote(`a"b`); got != `"a\"b"` {
		t.Errorf("Quote gives %s", got)
	}
	if got, want := Quote(strings.Repeat("ä", 100)), `"`+strings.Repeat("ä", 50)+`…"`; got != want {
		t.Errorf("Quote gives %s, want %s", got, want)
	}
	if got, want := Quote("x"+strings.Repeat("ä", 100)), `"x`+strings.Repeat("ä", 49)+`…"`; got != want {
		t.Errorf("Quote gives %s, want %s", got, want)
	}
}
