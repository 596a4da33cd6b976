package token

import (
	"strings"
	"testing"
)

func TestNewTokensAreWellFormedAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		text, hash := New()
		if !WellFormed(text) || len(text) != Length || Hash(text) != hash || seen[text] {
			t.Fatalf("token %q", text)
		}
		seen[text] = true
	}
	for _, text := range []string{"", "a", strings.Repeat("a", 44), strings.Repeat("+", 43), strings.Repeat("=", 43), strings.Repeat("B", 43)} {
		if WellFormed(text) {
			t.Errorf("%q counts as a token", text)
		}
	}
}

func TestCodesAreReadAsPeopleTypeThem(t *testing.T) {
	used := map[rune]int{}
	for range 2000 {
		code := NewCode()
		for _, typed := range []string{code, strings.ToLower(code), strings.ReplaceAll(code, "-", ""), " " + strings.ReplaceAll(code, "-", " ") + " "} {
			if got, ok := ReadCode(typed); !ok || got != code {
				t.Fatalf("%q is read as %q, %v; want %q", typed, got, ok, code)
			}
		}
		for _, r := range code {
			used[r]++
		}
	}
	if len(used) != len(letters)+1 {
		t.Errorf("codes use %d characters, want %d", len(used), len(letters)+1)
	}
	for _, typed := range []string{"", "BCDF", "BCDF-GHJKL", "ABCD-EFGH", "BCDF/GHJK", "BCDF-GHJ\u0000", strings.Repeat("B", 10_000)} {
		if got, ok := ReadCode(typed); ok {
			t.Errorf("%.20q is read as %q", typed, got)
		}
	}
}
