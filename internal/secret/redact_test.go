package secret

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/value"
)

func TestRedactText(t *testing.T) {
	const token = `p4ss/w+rd "qüote"` + "\n"
	trimmed := strings.TrimSpace(token)
	basic := base64.StdEncoding.EncodeToString([]byte("someone:" + token + ":tail"))
	pem := "-----BEGIN KEY-----\n" + strings.Repeat("0123456789abcdef", 40) + "\n-----END KEY-----\n"
	asJSON := string(value.Append(nil, token))
	r := NewRedactor(map[string]any{"token": token, "short": "abc", "list": []any{"four", 12345, nil, true}}, pem, `{"inner":"of a file"}`)
	const gone = "<" + Redacted + ">"
	cases := map[string][2]string{
		"none":             {"nothing to see", "nothing to see"},
		"empty":            {"", ""},
		"as it is":         {"<" + token + ">", gone},
		"trimmed":          {"<" + trimmed + ">", gone},
		"twice":            {token + "-" + token, Redacted + "-" + Redacted},
		"side by side":     {"<" + token + token + ">", gone},
		"short":            {"abc ab", "abc ab"},
		"of a list":        {"<four> five", gone + " five"},
		"numbers are not":  {"12345", "12345"},
		"keys are not":     {"token list inner", "token list inner"},
		"in a text":        {"<of a file>", gone},
		"base64":           {"<" + base64.StdEncoding.EncodeToString([]byte(token)) + ">", gone},
		"base64, url":      {"<" + base64.URLEncoding.EncodeToString([]byte(token)) + ">", gone},
		"base64, bare":     {"<" + base64.RawStdEncoding.EncodeToString([]byte("four")) + ">", gone},
		"percent":          {"?q=" + url.QueryEscape(token) + "&x=1", "?q=" + Redacted + "&x=1"},
		"percent, lower":   {"<" + strings.ToLower(url.PathEscape(token)) + ">", gone},
		"percent, all":     {"<%66%6f%75%72>", gone},
		"percent, some":    {"<f%6Fur>", gone},
		"JSON in a text":   {`{"a":` + asJSON + `}`, `{"a":"` + Redacted + `"}`},
		"JSON, unicode":    {`<\u0066\u006f\u0075r>`, gone},
		"whole PEM":        {"<" + pem + ">", gone},
		"begin of PEM":     {"<" + pem[:100] + ">", gone},
		"other PEM":        {"-----BEGIN KEY-----\nfedc", "-----BEGIN KEY-----\nfedc"},
		"cut":              {`cannot index: string ("` + token[:8] + ` ...")`, `cannot index: string ("` + Redacted + ` ...")`},
		"cut otherwise":    {"<" + token[:7] + "…", "<" + Redacted + "…"},
		"not cut":          {"p4ss/w", "p4ss/w"},
		"half of the text": {"fou", "fou"},
		"half a percent":   {"100% %f %zz four%", "100% %f %zz " + Redacted + "%"},
		"half an escape":   {`\ \u00 \u00zz four\`, `\ \u00 \u00zz ` + Redacted + `\`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if name == "percent, lower" { // upper-case letters would be other ones
				c[0] = "<" + strings.ReplaceAll(url.PathEscape(token), "%C3%BC", "%c3%bc") + ">"
			}
			if got := r.Text(c[0]); got != c[1] {
				t.Errorf("%q became %q, want %q", c[0], got, c[1])
			}
		})
	}
	got := r.Text("Authorization: Basic " + basic)
	decoded, _ := base64.RawStdEncoding.DecodeString(strings.ReplaceAll(strings.TrimPrefix(got, "Authorization: Basic "), Redacted, "AAAA"))
	if !strings.Contains(got, Redacted) || strings.Contains(string(decoded), "w+rd") {
		t.Errorf("inside of base64 it became %q", got)
	}
}

func TestRedactValue(t *testing.T) {
	r := NewRedactor("secret-one", "secret-two")
	in := map[string]any{
		"a": []any{1, "x secret-one", map[string]any{"deep": "secret-two"}}, "b": "fine", "c": 1.5,
		"secret-one": 1, "secret-two": 2, Redacted: 0,
	}
	want := map[string]any{
		"a": []any{1, "x " + Redacted, map[string]any{"deep": Redacted}}, "b": "fine", "c": 1.5,
		Redacted: 0, Redacted + " (2)": 1, Redacted + " (3)": 2,
	}
	before := string(value.Append(nil, in))
	if got := r.Value(in); !reflect.DeepEqual(got, want) {
		t.Errorf("became %v, want %v", got, want)
	}
	if after := string(value.Append(nil, in)); after != before {
		t.Errorf("the value was changed in place: %s", after)
	}
	clean := map[string]any{"a": []any{"b", nil}}
	if got := r.Value(clean); reflect.ValueOf(got).Pointer() != reflect.ValueOf(clean).Pointer() {
		t.Error("a value without secrets was copied")
	}
	var none *Redactor
	if NewRedactor("abc", 1, nil, []any{}) != none || none.Text("abc") != "abc" || none.Value("abc") != "abc" {
		t.Error("without texts something is redacted")
	}
}

// TestRedactBounds: neither many nor large nor repetitive texts make it slow. The bound is a
// hundred times what it takes.
func TestRedactBounds(t *testing.T) {
	text := strings.Repeat("a", 4<<20)
	var lengths, many []value.Value
	for n := MinTextBytes; n < anchorBytes; n++ {
		lengths = append(lengths, strings.Repeat("a", n)+"b")
	}
	for n := range 2000 {
		many = append(many, fmt.Sprintf("aaaaaa%d", n))
	}
	cases := map[string]struct {
		secrets []value.Value
		want    string
	}{
		"never found":      {[]value.Value{strings.Repeat("a", anchorBytes-2) + "b"}, text},
		"of all lengths":   {lengths, text},
		"many":             {many, text},
		"to the last byte": {[]value.Value{strings.Repeat("a", 65_535) + "b"}, Redacted},
		"everywhere":       {[]value.Value{strings.Repeat("a", 65_536), "aaaa"}, Redacted},
	}
	for name, c := range cases {
		began := time.Now()
		got := NewRedactor(c.secrets...).Text(text)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		if got != c.want {
			t.Errorf("%s: became %d bytes, want %d", name, len(got), len(c.want))
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("hunter2", "GET /?q=", "&x=1")
	f.Add(`q"uo\te ü`, "\xe2", "%")
	f.Add(strings.Repeat("ab", 40), "aba", strings.Repeat("ab", 20))
	f.Add("aaaa", "a", "\\u0061aaa")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		secret, before, after = strings.ToValidUTF8(secret, "?"), strings.ToValidUTF8(before, "?"), strings.ToValidUTF8(after, "?")
		r := NewRedactor(secret)
		if (r == nil) != (len(secret) < MinTextBytes) {
			t.Fatalf("%q has a redactor: %t", secret, r != nil)
		}
		if r == nil {
			return
		}
		quoted := string(value.Append(nil, secret))
		plain := []string{
			secret, base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawStdEncoding.EncodeToString([]byte(secret)),
			base64.URLEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
			url.QueryEscape(secret), url.PathEscape(secret), quoted[1 : len(quoted)-1],
		}
		for _, form := range plain {
			text := r.Text(before + form + after)
			if !utf8.ValidString(text) {
				t.Errorf("%q is not valid any more", text)
			}
			holds(t, text, plain)
			v := map[string]any{"k" + form: []any{before + form + after, 1}}
			for key, member := range r.Value(v).(map[string]any) {
				holds(t, key, plain)
				holds(t, member.([]any)[0].(string), plain)
			}
		}
	})
}

// holds reports a form of a secret that is left. What the mark itself makes up is none.
func holds(t *testing.T, text string, forms []string) {
	t.Helper()
	for _, part := range strings.Split(text, Redacted) {
		for _, form := range forms {
			if strings.Contains(part, form) {
				t.Errorf("%q still holds %q", text, form)
			}
		}
	}
}

func BenchmarkRedact(b *testing.B) {
	token := "tok_Zm9vYmFyYmF6cXV4cXV1eA1234567890"
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			NewRedactor(token)
		}
	})
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 25_000)
	b.Run("1 MB", func(b *testing.B) {
		r := NewRedactor(token)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			r.Text(text)
		}
	})
}

// Errors name pieces of an address: the host alone, quoted and perhaps in lower case.
func TestErrorRedactorFindsPieces(t *testing.T) {
	r := NewErrorRedactor(`S3cr3t-Value-"q"/path-of-secret?k=v`, "https://user-name-1:pass-word-2@host-3.example")
	for text, want := range map[string]string{
		`lookup S3cr3t-Value-"q": no such host`:         "lookup [redacted]\"q\": no such host",
		`lookup s3cr3t-value-\"q\": no such host`:       "lookup [redacted]\\\"q\\\": no such host",
		"dial host-3.example: refused":                  "dial [redacted]: refused",
		"GET /path-of-secret: pass-word-2 is wrong":     "GET /[redacted]: [redacted] is wrong",
		"k=v and https are in no piece that is so long": "k=v and https are in no piece that is so long",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
	if got := NewErrorRedactor().Text("x"); got != "x" {
		t.Errorf("without secrets: %s", got)
	}
}
