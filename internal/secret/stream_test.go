package secret

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/value"
)

// streamed sends a text through a Stream in pieces of random lengths.
func streamed(r *Redactor, random *rand.Rand, text string, longest int) string {
	s := r.NewStream()
	var b strings.Builder
	for text != "" {
		n := min(len(text), 1+random.IntN(longest))
		b.WriteString(s.Next(text[:n]))
		text = text[n:]
	}
	b.WriteString(s.Rest())
	return b.String()
}

// written are the forms in which a program may write a secret.
func written(text string) []string {
	all := ""
	for _, b := range []byte(text) {
		all += fmt.Sprintf("%%%02x", b)
	}
	unicode := ""
	for _, c := range text {
		if c < 0x10000 {
			unicode += fmt.Sprintf(`\u%04x`, c)
		}
	}
	quoted := string(value.Append(nil, text))
	return []string{
		text, text + text, all, unicode, url.QueryEscape(text), url.PathEscape(text), quoted, base64.StdEncoding.EncodeToString([]byte(text)),
		base64.StdEncoding.EncodeToString([]byte("x" + text + "yz")), base64.RawURLEncoding.EncodeToString([]byte(text)), text[:len(text)/2] + "…",
	}
}

// oneOfEach makes one of several secrets that follow each other.
func oneOfEach(text string) string {
	for strings.Contains(text, Redacted+Redacted) {
		text = strings.ReplaceAll(text, Redacted+Redacted, Redacted)
	}
	return text
}

// TestStreamIsTheWholeText cuts texts anywhere: what is shown is what the whole text would show.
func TestStreamIsTheWholeText(t *testing.T) {
	secrets := []string{
		`p4ss/w+rd "qüote"`, "hunter2222", `\\back\slash`, "%41percent%", "multi\nline\nsecret\n", ".dots... of a secret",
		"-----BEGIN KEY-----\n" + strings.Repeat("0123456789abcdef", 4) + "\n-----END KEY-----\n", "aaaaaaaa",
	}
	values := make([]value.Value, len(secrets))
	for i, text := range secrets {
		values[i] = text
	}
	r := NewRedactor(values...)
	between := []string{" ", "\n", "plain text ", "%", `\`, `\\`, `\n`, "+", "...", " ...", "…", "aaaa", "hunter", "%20", `\u00e9`, "é", "\xff", "QUJD"}
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(between[random.IntN(len(between))])
			if random.IntN(3) == 0 {
				forms := written(secrets[random.IntN(len(secrets))])
				b.WriteString(forms[random.IntN(len(forms))])
			}
		}
		text := b.String() + " end\n"
		want := oneOfEach(r.Text(text))
		if got := oneOfEach(streamed(r, random, text, 1+random.IntN(40))); got != want {
			t.Fatalf("seed %d: %q\n got %q\nwant %q", seed, text, got, want)
		}
	}
}

// TestStreamCutShort ends a text, and loses a part of it, at every byte: no four bytes of the secret are shown.
func TestStreamCutShort(t *testing.T) {
	const token = "abcdefghijklmnopqrstuvwxyz0123456789"
	r := NewRedactor(token)
	leaks := func(shown string) bool {
		for i := range len(token) - MinTextBytes + 1 {
			if strings.Contains(shown, token[i:i+MinTextBytes]) {
				return true
			}
		}
		return false
	}
	for _, text := range written(token)[:5] {
		for cut := range text {
			s := r.NewStream()
			if shown := s.Next("<"+text[:cut]) + s.Rest(); leaks(shown) {
				t.Fatalf("a text that ends after %q shows %q", text[:cut], shown)
			}
			s = r.NewStream()
			shown := s.Next("<"+text[:cut/2]) + s.Gap() + s.Next(text[cut:]+">") + s.Rest()
			if leaks(shown) {
				t.Fatalf("a text with a gap between %q and %q shows %q", text[:cut/2], text[cut:], shown)
			}
		}
	}
	s := r.NewStream()
	s.Gap()
	if after := s.Next(strings.Repeat("x", r.Reach()) + "and on"); after != "and on" {
		t.Errorf("after a gap: %q", after)
	}
}

// TestStreamHoldsLittle: what is certainly no secret is shown at once, and what is held back has a bound.
func TestStreamHoldsLittle(t *testing.T) {
	r := NewRedactor("hunter2222")
	s := r.NewStream()
	for _, line := range []string{"a line\n", "ends with a dot.\n", "the hunt\n", "50 %\n", `C:\temp` + "\n"} {
		if shown := s.Next(line); shown != line {
			t.Errorf("of %q: %q is shown, %d bytes are held", line, shown, s.Held())
		}
	}
	if shown := s.Next("x hunter"); shown != "x " || s.Held() != 6 {
		t.Errorf("%q is shown, %d bytes are held", shown, s.Held())
	}
	if shown := s.Next("2222\n"); shown != Redacted+"\n" || s.Held() != 0 {
		t.Errorf("%q is shown, %d bytes are held", shown, s.Held())
	}
	for range 1000 {
		s.Next(strings.Repeat("hunter2222", 10))
		if s.Held() > r.Reach()+anchorBytes {
			t.Fatalf("%d bytes are held", s.Held())
		}
	}
	var none *Redactor
	if shown := none.NewStream().Next("hunter"); shown != "hunter" {
		t.Errorf("without secrets: %q", shown)
	}
}

func BenchmarkStream(b *testing.B) {
	r := NewRedactor("hunter2222", strings.Repeat("0123456789abcdef", 40))
	piece := strings.Repeat("2026-01-01T00:00:00Z GET /api/v1/things 200 12ms \\ 100% ok\n", 32<<10/60)
	s := r.NewStream()
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		s.Next(piece)
	}
}
