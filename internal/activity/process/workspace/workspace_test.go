package workspace

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

func TestSanitise(t *testing.T) {
	for name, want := range map[string]string{
		"report.pdf":         "report.pdf",
		"Übersicht Q3.xlsx":  "Übersicht_Q3.xlsx",
		"/etc/passwd":        "passwd",
		`C:\temp\x.txt`:      "x.txt",
		"..":                 "_.",
		".":                  "_",
		"":                   "file",
		"/":                  "file",
		"-rf":                "_rf",
		".bashrc":            "_bashrc",
		"a\x00b\n$(id)`;'\"": "a_b___id_____",
		"日本.csv":             "日本.csv",
	} {
		if got := sanitise(name); got != want {
			t.Errorf("sanitise(%q) = %q, want %q", name, got, want)
		}
	}
	long := sanitise(strings.Repeat("é", 300) + ".tar.gz")
	if len(long) > maxNameBytes || !strings.HasSuffix(long, "é.gz") || !utf8.ValidString(long) {
		t.Errorf("a long name became %q (%d bytes)", long, len(long))
	}
}

func TestNamesDoNotCollide(t *testing.T) {
	n := newNames("manifest.json")
	var got []string
	for _, name := range []string{"a.txt", "a.txt", "a-2.txt", "a.txt", "x/a.txt", "manifest.json", "b", "b"} {
		got = append(got, n.take(name))
	}
	want := "[a.txt a-2.txt a-2-2.txt a-3.txt a-4.txt manifest-2.json b b-2]"
	if fmt.Sprint(got) != want {
		t.Errorf("names %v, want %s", got, want)
	}
}

func FuzzSanitise(f *testing.F) {
	for _, seed := range []string{"a.txt", "../x", "", "\xff", strings.Repeat("é.", 200), "-", " "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := sanitise(name)
		switch {
		case got == "", got == ".", got == "..", strings.ContainsAny(got, "/\\\x00 \n'\"$`*"), got[0] == '-', got[0] == '.',
			len(got) > maxNameBytes, !utf8.ValidString(got):
			t.Errorf("sanitise(%q) = %q", name, got)
		}
		if again := sanitise(got); again != got {
			t.Errorf("sanitise(%q) = %q, and that becomes %q", name, got, again)
		}
	})
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"a\n": "a", "a\r\n\r\n": "a", "\n": "", "": "", "a\n b ": "a\n b ", "\xff": "\ufffd",
	} {
		if got := Text([]byte(in)); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMediaType(t *testing.T) {
	for name, want := range map[string]string{
		"a.CSV": "text/csv", "dir/b.svg": "image/svg+xml", "noext": "text/plain; charset=utf-8", "x.unknown": "text/plain; charset=utf-8",
	} {
		if got := MediaType(name, []byte("plain words")); got != want {
			t.Errorf("mediaType(%q) = %q, want %q", name, got, want)
		}
	}
	if got := MediaType("noext", []byte("%PDF-1.7")); got != "application/pdf" {
		t.Errorf("by content: %q", got)
	}
}

func TestSetValue(t *testing.T) {
	var o Outcome
	if fault := o.SetValue([]byte(`{"a": 1}`)); fault != nil || !o.HasValue || !value.Equal(o.Value, map[string]any{"a": 1}) {
		t.Errorf("value %v, fault %v", o.Value, fault)
	}
	for _, text := range []string{``, `{`, strings.Repeat("[", 300) + strings.Repeat("]", 300), `"\ud800"`} {
		fault := o.SetValue([]byte(text))
		if fault == nil || fault.Type != machine.ErrRuntime || !strings.Contains(fault.Detail, "cannot be kept") {
			t.Errorf("%.20q: fault %v", text, fault)
		}
	}
}
