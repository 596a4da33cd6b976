package person_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/person"
)

func TestEmailsAccepted(t *testing.T) {
	for text, want := range map[string][2]string{
		" Ada.Lovelace@Example.ORG ":   {"Ada.Lovelace@Example.ORG", "ada.lovelace@example.org"},
		"o'neil+news@mail.example":     {"o'neil+news@mail.example", "o'neil+news@mail.example"},
		"root@localhost":               {"root@localhost", "root@localhost"},
		"straße@example.org":           {"straße@example.org", "strasse@example.org"},
		"i@b\u00fccher.example":        {"i@bücher.example", "i@xn--bcher-kva.example"},
		"i@bu\u0308cher.example":       {"i@bücher.example", "i@xn--bcher-kva.example"},
		"i@XN--BCHER-KVA.example":      {"i@XN--BCHER-KVA.example", "i@xn--bcher-kva.example"},
		"\uff21da@example.org":         {"\uff21da@example.org", "ada@example.org"},
		"用户@例子.example":                {"用户@例子.example", "用户@xn--fsqu00a.example"},
		strings.Repeat("a", 64) + "@b": {strings.Repeat("a", 64) + "@b", strings.Repeat("a", 64) + "@b"},
	} {
		shown, key, complaint := person.Email(text)
		if shown != want[0] || key != want[1] || complaint != "" {
			t.Errorf("%q: shown %q, compared %q, %q; want %q", text, shown, key, complaint, want)
		}
	}
}

func TestEmailsRefused(t *testing.T) {
	for _, text := range []string{
		"", "ada", "@example.org", "ada@", "ada@@example.org", "a b@example.org", `"ada"@example.org`, "ada@example..org", "ada@-x.org",
		"ada@example.org>", "Ada <ada@example.org>", "ada@[127.0.0.1]", ".ada@example.org", "a..b@example.org", "ada@exa mple.org",
		"ada\u202egro.elpmaxe@example.org", "ada\u0000@example.org", "ada\r\nBcc: x@example.org", "ada\u200b@example.org",
		"ada\xff@example.org", "a@" + strings.Repeat("a", 64) + ".org", strings.Repeat("a", 65) + "@example.org", strings.Repeat("a", 10_000),
		"a\u0300\u0300\u0300\u0300\u0300\u0300\u0300\u0300\u0300@example.org", "ada@example.org\u2028", "ada@\U000E0041.org", "a,b@example.org",
	} {
		if shown, key, complaint := person.Email(text); complaint == "" || shown != "" || key != "" {
			t.Errorf("%.40q is accepted as %q, compared as %q", text, shown, key)
		} else if len(complaint) > 200 || !utf8.ValidString(complaint) {
			t.Errorf("%.40q: complaint %q", text, complaint)
		}
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		"  Ada   Lovelace ": "Ada Lovelace", "Zoe\u0308": "Zoë", "محمد": "محمد", "می\u200cخواهم": "می\u200cخواهم", "李小龙": "李小龙", "O’Neil, Jr.": "O’Neil, Jr.",
		"राम": "राम", "Team 🚀": "Team 🚀", strings.Repeat("ä", 200): strings.Repeat("ä", 200),
	} {
		if shown, complaint := person.Name(text); shown != want || complaint != "" {
			t.Errorf("%q: %q, %q; want %q", text, shown, complaint, want)
		}
	}
	for _, text := range []string{
		"", "   ", "\u200d", "Ada\nLovelace\x00", "Ada\u202e", "\u2066Ada\u2069", "Ada\u200b", "Ada\ufeff", "Ada\x7f", "Ada\u0085x", "Ada\xc3",
		"Ada\u2028", "\ue000", strings.Repeat("x", 201), strings.Repeat("x", 10_000), "Ada\u00adLovelace", "a" + strings.Repeat("\u0301", 9),
	} {
		if shown, complaint := person.Name(text); complaint == "" || shown != "" {
			t.Errorf("%.40q is accepted as %q", text, shown)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, same := range [][2]string{
		{"Finance Leads", "finance leads"}, {"STRASSE", "straße"}, {"Zoë", "zoe\u0308"}, {"ﬁnance", "Finance"}, {"می\u200cخواهم", "میخواهم"}, {"ΣΟΦΟΣ", "σοφος"},
	} {
		if person.Key(same[0]) != person.Key(same[1]) {
			t.Errorf("%q is compared as %q, %q as %q", same[0], person.Key(same[0]), same[1], person.Key(same[1]))
		}
	}
	if person.Key("Zoe") == person.Key("Zoë") {
		t.Error("accents make no difference")
	}
}
