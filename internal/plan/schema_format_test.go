package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
			[]string{"example.com", "bücher.example", "실례.테스트", "faß.de", "βόλος.com", "l·l", "α͵β", "א׳ב", "ヽ・ァ", "ب٠١", "۰۱", "क्\u200dष", "a。b", "xn--bcher-kva.example", "a0.א", "א.א1"},
			[]string{"", "-ü", "ü-", "Bücher.de", "a·l", "·l", "α͵S", "A׳ב", "def・abc", "・", "٠۰", "ـب", "〮test", "\u0300a", "ü..a", "☃.net", "a★", "u\u0308.de",
				strings.Repeat("ü", 60), "0a.א", "א.0a", "0a.xn--4db", "a1.ü.0.ب"},
		},
		"email": {
			[]string{"a@b", "joe.bloggs@example.com", "a+b@c.d", `"joe bloggs"@example.com`, `"a\"b"@c`, "a@[127.0.0.1]", "a@[IPv6:::1]", "a@[ipv6:::1]", "!#$%&'*+-/=?^_`{|}~@c"},
			[]string{"", "no", "@b", "a@", ".a@b", "a.@b", "a..b@c", "a b@c", "a@b_c", "a@-b", "ü@b", "a@ü.de", `"a@b`, `"a"b"@c`, "a@[300.0.0.1]", "a@[::1]",
				"a@[IPv6:127.0.0.1]", "a@[IPv5:::1]", "a@[IPv6:::1%1]", strings.Repeat("a", 65) + "@b", "a@b.", "Joe <a@b>"},
		},
		"idn-email": {
			[]string{"a@b", "실례@실례.테스트", "ü@bücher.example", `"ü b"@c`},
			[]string{"", "no", "2962", "ü@☃.net", "ü ü@b", "a@-ü"},
		},
		"uri": {
			[]string{"https://example.com/a?b=c#d", "urn:isbn:1", "mailto:a@b", "http://[::1]:80/", "ftp://ftp.is.co.za/rfc/rfc1808.txt", "tel:+1-816-555-1212",
				"http://%41/", "http://a:b@c:80/", "http://[v1F.a:b]", "http://a:/", "file:///a", "x:", "a+b-c.d:e", "http:///a//b", "http://a?b?c/d", "http://a#b?c/d",
				"ldap://[2001:db8::7]/c=GB?objectClass?one"},
			[]string{"", "/a", "//a/b", "a", "http:// a", "http://a/ü", "http://a/{b}", "http://a/%zz", "http://a/\\b", ":a", "http://a:x/", "http://a/#b#c",
				"http://u@h@x/", "http://a?[x]", "http://a#[x]", "urn:[a]", "mailto:a[b]", "1a:b", "a_b:c", "http://[a]/", "http://[::1", "http://[::1]x/", "http://[v.a]",
				"http://[vx.a]", "http://[127.0.0.1]/", "http://[::1%25eth0]/", "http://a:1:2/", "http://a\u007f", "http://[v1.%41]"},
		},
		"uri-reference": {
			[]string{"", "/a", "a?b", "#f", "//h/p", "http://a", "//", "?a:b", "./a:b", "a/b:c", "//a:/"},
			[]string{"\\\\a", "a b", "#ü", "a|b", "%", "//a@b@example.com/", "a_b:c", "//[", "[a]"},
		},
		"iri": {
			[]string{"http://ƒøø.ßår/?∂=π", "http://[V1.fe]", "http://a/?\ue000", "urn:\U00010000"},
			[]string{"/ü", "http://a b", "http://a/\ue000", "http://[v1.ü]", "http://a/\u0080", "http://a/\ufdd0", "http://a/\U0001fffe", "http://ü:ü/", "ü:a"},
		},
		"iri-reference": {[]string{"/ü", "#ƒ"}, []string{"ü b", "#ƒ\\", "ü:a"}},
		"ipv4": {
			[]string{"0.0.0.0", "127.0.0.1", "255.255.255.255"},
			[]string{"", "+1.2.3.4", "-0.0.0.0", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", "0x1.2.3.4", "::1", "::ffff:1.2.3.4", "१.2.3.4"},
		},
		"time": {
			[]string{"01:02:03Z", "01:02:03z", "23:59:60Z", "00:29:60+00:30", "22:59:60-01:00", "01:02:03.5-23:59", "00:00:00+00:00"},
			[]string{"", "+1:02:03Z", "10:+2:03Z", "10:02:-3Z", "01:02:03+-0:00", "01:02:03+00:+0", "01:02:03", "1:02:03Z", "24:00:00Z", "00:60:00Z", "00:00:61Z", "22:59:60Z",
				"23:59:60+01:00", "01:02:03.Z", "01:02:03,5Z", "01:02:03+24:00", "01:02:03+00:60", "01:02:03+0000", "01:02:03+00:00x", "01:02:03Zx", "01-02-03Z", "०1:02:03Z"},
		},
		"date-time": {
			[]string{"2020-01-01T01:02:03Z", "2020-02-29t01:02:03.123+01:00", "1998-12-31T15:59:60.1-08:00"},
			[]string{"", "2020-01-01", "2020-01-01T+1:02:03Z", "2021-02-29T01:02:03Z", "2020-01-01 01:02:03Z", "+020-01-01T01:02:03Z", "2020-1-01T01:02:03Z", "2020-01-01T"},
		},
		"duration": { // RFC 3339, appendix A
			[]string{"P1Y", "P1Y2M", "P1Y2M3D", "P1M2D", "P10D", "P3W", "PT1H", "PT1H2M3S", "PT2M3S", "PT36S", "P1DT2H", "P1Y2M3DT4H5M6S", "P0D"},
			[]string{"", "P", "PT", "P1", "P1Y2D", "PT1H2S", "P1DT", "P1D2H", "P2M1Y", "PT2S1M", "P1Y2W", "P1W2D", "P-1D", "P1.5D", "PT0.5S", "1D", "p1d", "P1S", "P१D", "P1D\n"},
		},
		"period": {
			[]string{"2020-01-01T01:02:03Z/2020-01-02T01:02:03Z", "2020-01-01T01:02:03Z/P1D", "P1D/2020-01-01T01:02:03Z"},
			[]string{"", "P1D", "P1D/P1D", "2020-01-01T+1:02:03Z/P1D", "P1Y2D/2020-01-01T01:02:03Z", "P1D/2020-01-01T01:02:03Z/P1D"},
		},
		"relative-json-pointer": { // draft-bhutton-relative-json-pointer-00
			[]string{"0", "1/a", "0#", "10/a/0", "1+2/a", "0-1#", "0+10", "2/~0~1", "0/"},
			[]string{"", "/a", "#", "-1/a", "+1/a", "01/a", "00", "0##", "0+0", "0+01", "0+/a", "1+-1", "1+2+3", "0a", "0/~", "0/~2", "0#/a", "१/a"},
		},
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

// TestLongHostNames: a name that is far too long is refused for its length. To encode it takes time that grows with the
// square of its length: hours for a text of a megabyte.
func TestLongHostNames(t *testing.T) {
	var long strings.Builder
	for i := range 300_000 {
		long.WriteRune(rune(0x4e00 + i%20_000))
	}
	for format, text := range map[string]string{"idn-hostname": long.String(), "idn-email": "a@" + long.String()} {
		s, done := schemaOf(t, fmt.Sprintf(`{"format": %q}`, format)), make(chan []SchemaProblem, 1)
		go func() { done <- s.Validate(text) }()
		select {
		case problems := <-done:
			if len(problems) != 1 {
				t.Errorf("%s: problems %v", format, problems)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: the check takes more than a minute", format)
		}
	}
}

// TestPatterns says of a pattern that is refused what RE2 does not have (T98).
func TestPatterns(t *testing.T) {
	for _, schema := range []string{`{pattern: '^(?=a)'}`, `{pattern: '(a)\1'}`, `{patternProperties: {'(?<!a)b': true}}`} {
		_, problems := compile(t, "input: {schema: {document: "+schema+"}}\ndo: [{a: {set: {x: 1}}}]")
		if len(problems) != 1 || problems[0].Code != CodeSchema || !strings.Contains(problems[0].Detail, "no look-around and no back references") {
			t.Errorf("%s: %+v", schema, problems)
		}
	}
}
