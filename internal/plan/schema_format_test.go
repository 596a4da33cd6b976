package plan

import (
	"fmt"
	"strings"
	"testing"
)

// TestSchemaFormats judges texts by the standards that the formats name (T98).
func TestSchemaFormats(t *testing.T) {
	for format, texts := range map[string]struct{ good, bad []string }{
		"uri-template": { // RFC 6570, its examples among them
			[]string{"", "https://example.com/{id}", "{var}", "{+path}/here", "{#x,hello,y}", "X{.var:3}", "{/list*}", "{;x,y,empty}", "{?x,y}",
				"?fixed=yes{&x}", "{var:9999}", "{keys*}", "{a.b_c%20}", "O'Reilly{x}", "%41", "/\u00fc/{x}", "{=x}", "{,a}", "{|a:1,b*}", "a[0]"},
			[]string{"{", "}", "{}", "{id", "a}b", "{a b}", "{a,}", "{a:0}", "{a:10000}", "{a:}", "{a*:3}", "{a:3*}", "{-a}", "{.}", "{a..b}",
				"{a.}", "a b", "a\"b", "<a>", "a\\b", "a^b", "a`b", "a|b", "%4", "%zz", "{%4}", "{{a}}", "\x01", "{ü}"},
		},
		"hostname": {
			[]string{"a", "example.com", "EXAMPLE.com", "a-b.c9", "1.2", strings.Repeat("a", 63) + ".com", "xn--bcher-kva.example", "xn--nxasmm1c"},
			[]string{"", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "a b", "ü.com", strings.Repeat("a", 64), strings.Repeat("a.", 127) + "a", "xn--X", "xn--", "ab--cd",
				"xn--07jt112bpxg"},
		},
		"idn-hostname": {
			[]string{"example.com", "bücher.example", "실례.테스트", "faß.de", "βόλος.com", "l·l", "α͵β", "א׳ב", "ヽ・ァ", "ب٠١", "۰۱", "क्\u200dष", "a。b", "xn--bcher-kva.example"},
			[]string{"", "-ü", "ü-", "Bücher.de", "a·l", "·l", "α͵S", "A׳ב", "def・abc", "・", "٠۰", "ـب", "〮test", "\u0300a", "ü..a", "☃.net", "a★", "u\u0308.de",
				strings.Repeat("ü", 60)},
		},
		"email": {
			[]string{"a@b", "joe.bloggs@example.com", "a+b@c.d", `"joe bloggs"@example.com`, `"a\"b"@c`, "a@[127.0.0.1]", "a@[IPv6:::1]", "!#$%&'*+-/=?^_`{|}~@c"},
			[]string{"", "no", "@b", "a@", ".a@b", "a.@b", "a..b@c", "a b@c", "a@b_c", "a@-b", "ü@b", "a@ü.de", `"a@b`, `"a"b"@c`, "a@[300.0.0.1]", "a@[::1]",
				"a@[IPv6:127.0.0.1]", strings.Repeat("a", 65) + "@b", "a@b.", "Joe <a@b>"},
		},
		"idn-email": {
			[]string{"a@b", "실례@실례.테스트", "ü@bücher.example", `"ü b"@c`},
			[]string{"", "no", "2962", "ü@☃.net", "ü ü@b", "a@-ü"},
		},
		"uri": {
			[]string{"https://example.com/a?b=c#d", "urn:isbn:1", "mailto:a@b", "http://[::1]:80/", "ftp://ftp.is.co.za/rfc/rfc1808.txt", "tel:+1-816-555-1212"},
			[]string{"", "/a", "//a/b", "a", "http:// a", "http://a/ü", "http://a/{b}", "http://a/%zz", "http://a/\\b", ":a", "http://a:x/", "http://a/#b#c"},
		},
		"uri-reference": {[]string{"", "/a", "a?b", "#f", "//h/p", "http://a"}, []string{"\\\\a", "a b", "#ü", "a|b", "%"}},
		"iri":           {[]string{"http://ƒøø.ßår/?∂=π"}, []string{"/ü", "http://a b"}},
		"iri-reference": {[]string{"/ü", "#ƒ"}, []string{"ü b", "#ƒ\\"}},
	} {
		s := schemaOf(t, fmt.Sprintf(`{"format": %q}`, format))
		for _, text := range texts.good {
			if problems := s.Validate(text); problems != nil {
				t.Errorf("%s: %q: %v", format, text, problems)
			}
		}
		for _, text := range texts.bad {
			if problems := s.Validate(text); len(problems) != 1 || problems[0].Keyword != "format" {
				t.Errorf("%s: %q is accepted", format, text)
			}
		}
		if problems := s.Validate(5); problems != nil {
			t.Errorf("%s: a number: %v", format, problems)
		}
	}
}
