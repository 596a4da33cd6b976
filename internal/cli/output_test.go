package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestRelativeTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s ago", -5 * time.Second: "5s ago", -119 * time.Second: "119s ago", -3 * time.Minute: "3m ago", -5 * time.Hour: "5h ago",
		-72 * time.Hour: "3d ago", 90 * 24 * time.Hour: "in 90d", time.Minute: "in 60s",
	} {
		if got := relative(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"", 3, ""}, {"\x1b[31mabcdef\x1b[0m", 4, "\x1b[31mabc…\x1b[0m"}, {"äöü", 3, "äöü"}, {"日本語", 5, "日本…"},
	} {
		if got := truncate(test.text, test.width); got != test.want {
			t.Errorf("%q within %d is %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// TestYAMLIsTheJSON: numbers keep their notation, texts that look like something else are quoted,
// fields keep their order.
func TestYAMLIsTheJSON(t *testing.T) {
	var out bytes.Buffer
	text := `{"z":1,"a":"1","big":100000000000000000000001,"one":1.0,"list":[{"b":null},[]],"empty":{},"yes":"yes","lines":"a\nb","emoji":"\ud83d\ude00"}`
	if err := printYAML(&out, json.RawMessage(text)); err != nil {
		t.Fatal(err)
	}
	want := "z: 1\na: \"1\"\nbig: 100000000000000000000001\none: 1.0\nlist:\n  - b: null\n  - []\nempty: {}\n\"yes\": \"yes\"\nlines: |-\n  a\n  b\nemoji: \"\\U0001F600\"\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

func TestPartsOfIDs(t *testing.T) {
	const id = "01a202f3-b4d2-7180-9d6d-8ec5065ba04e"
	for text, want := range map[string]bool{
		id: true, "065ba04e": true, "01a202f3": true, "01a202f3-b4d2": true, "01a2": true, "01a": false, "65ba04e": false, "5065ba04e": false, "ffff": false,
	} {
		if matchesID(id, text) != want {
			t.Errorf("%q names it: %v", text, !want)
		}
	}
	made := time.UnixMilli(0x01a202f3b4d2)
	for _, text := range []string{id, "01a202f3", "01a202f3-b4", "01a202f3-b4d2-7180"} {
		from, to, ok := prefixTimes(text)
		if !ok || !from.Before(made) || !to.After(made) || to.Sub(from) > 2*time.Minute {
			t.Errorf("%q is from %v to %v, %v", text, from, to, ok)
		}
	}
	for _, text := range []string{"01a202", "ffffffff", "nothex00"} {
		if _, _, ok := prefixTimes(text); ok {
			t.Errorf("%q has a time", text)
		}
	}
}

func TestWrap(t *testing.T) {
	got := strings.Join(wrap("one two three\nfour\n\n  kept as it is, however long\nfive", 9), "|")
	if want := "one two|three|four||  kept as it is, however long|five"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
