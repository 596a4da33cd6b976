package dsl

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzParse: no text makes Parse panic or hang, problems have positions in the text, and what
// is valid stays valid when it is written as JSON.
func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add(jsonDefinition(`[1, "a\u00e9", {"b": null}]`))
	paths, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, chunk := range strings.Split(string(data), "\n---\n") {
			f.Add(complete([]byte(chunk)))
		}
	}
	for _, seed := range []string{"", "{", "[", "- - -", "a: &a [*a]", "<<: *x", "? a\n: b", "{a: 1}}", "\uFEFF{}", "--- a\n--- b", "a: \"\\x\"", "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		document, problems := Parse(data)
		if took := time.Since(start); took > 10*time.Second {
			t.Fatalf("took %s", took)
		}
		checkPositions(t, data, document, problems)
		if document == nil || problems.HasErrors() {
			if !problems.HasErrors() {
				t.Fatal("no document and no error")
			}
			return
		}
		text, err := json.Marshal(document.Value())
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > MaxBytes {
			return
		}
		if _, problems := Parse(text); problems.HasErrors() {
			t.Fatalf("valid as YAML, but not as JSON: %v\n%s", problems, text)
		}
	})
}
