package fingerprint

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormalize(t *testing.T) {
	for detail, want := range map[string]string{
		"":                                     "",
		" \n\t ":                               "",
		"no such":                              "no such",
		"order 17 of 1,000.50 EUR":             "order <number> of <number> EUR",
		"dial tcp 10.0.0.1:8080: refused":      "dial tcp <number>: refused",
		"took 1.5e-7 s, 30s at most, -5 left":  "took <number> s, <number>s at most, -<number> left",
		"step3 of http2":                       "step<number> of http<number>",
		`no customer "Anna \"A\" Miller" here`: `no customer "…" here`,
		"can't read 'a b' of Anna's":           `can't read "…" of Anna's`,
		"`x` is not “y”, «z» or „u“":           `"…" is not "…", "…" or "…"`,
		`an open " remains, 7`:                 `an open " remains, <number>`,
		"id 018f3a52-7c1e-7abc-8def-0123456789ab is gone": "id <uuid> is gone",
		"commit deadbeef01 and 0xFF":                      "commit <hex> and <hex>",
		"defaced effaced facade":                          "defaced effaced facade",
		"x018f3a52-7c1e-7abc-8def-0123456789ab":           "x<number>f<number>a<number>-<number>c<number>e-<number>abc-<number>def-<hex>",
		"two\r\n  lines\x00here":                          "two lines here",
		"\xff\xfe 1":                                      "\uFFFD <number>",
		strings.Repeat("é", 300):                          strings.Repeat("é", 200),
		"“never closed":                                   "“never closed",
	} {
		if got := Normalize(detail); got != want {
			t.Errorf("Normalize(%q)\n is %q\nwant %q", detail, got, want)
		}
	}
}

func TestSum(t *testing.T) {
	if Sum("order 17 failed") != Sum("order  423 failed") {
		t.Error("two details of one kind have two sums")
	}
	if Sum("order 17 failed") == Sum("order 17 succeeded") {
		t.Error("two kinds have one sum")
	}
	// Sums are stored: this one must not change.
	if got := fmt.Sprintf("%x", Sum("order 17 failed")); got != "855dc1d458ddc0412c673617b89419bba55240cb827e117a6ed7fb86b8e68063" {
		t.Errorf("the sum is %s", got)
	}
}

// TestVariablePartsDoNotMatter builds details from a skeleton with other numbers, ids and quotations each time.
func TestVariablePartsDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() string { return strings.TrimLeft(pick(r, "123456789", 1+r.IntN(12)), "0") }
	hex := func(n int) string { return pick(r, "0123456789abcdef", n) }
	uuid := func() string { return hex(8) + "-" + hex(4) + "-" + hex(4) + "-" + hex(4) + "-" + hex(12) }
	text := func() string { return pick(r, "abc DEF-7,.é\n", r.IntN(40)) }
	for range 2000 {
		detail := "item " + number() + " of " + uuid() + ` is "` + text() + `", not 0x` + hex(1+r.IntN(20)) + " after " + number() + " ms"
		if got, want := Normalize(detail), `item <number> of <uuid> is "…", not <hex> after <number> ms`; got != want {
			t.Fatalf("Normalize(%q) is %q", detail, got)
		}
	}
}

func pick(r *rand.Rand, from string, n int) string {
	runes, b := []rune(from), strings.Builder{}
	for range n {
		b.WriteRune(runes[r.IntN(len(runes))])
	}
	return b.String()
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"", "a 1", `"x" '`, "0x", "018f3a52-7c1e-7abc-8def-0123456789ab", "1e", "1,2:3.", "„“”", "\xff", `\"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, detail string) {
		got := Normalize(detail)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > MaxCharacters {
			t.Errorf("Normalize(%q) is %q", detail, got)
		}
		if strings.ContainsAny(got, "0123456789\n\x00") || strings.Contains(got, "  ") || strings.TrimSpace(got) != got && len(got) < MaxCharacters {
			t.Errorf("Normalize(%q) is %q", detail, got)
		}
	})
}
