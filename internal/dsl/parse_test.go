package dsl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kitFolder is where the specification's examples and its conformance kit lie: where
// CHARGEHAND_SHARED says, or in a folder beside the repository. The tests that read it (TestKit…)
// are a step of their own (scripts/test), because a clone alone does not have it.
func kitFolder(t testing.TB) string {
	folder := os.Getenv("CHARGEHAND_SHARED")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "shared")
		if _, err := os.Stat(filepath.Join(folder, "openworkflow")); err != nil {
			t.Skip("the specification's examples are not here; CHARGEHAND_SHARED names their folder")
		}
	}
	return filepath.Join(folder, "openworkflow")
}

func TestKitExamples(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(kitFolder(t), "examples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != 68 {
		t.Fatalf("found %d examples, want 68", len(paths))
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		document, problems := Parse(data)
		for _, problem := range problems {
			t.Errorf("%s:%s", filepath.Base(path), problem)
		}
		if len(document.Do) == 0 || document.DSL == "" {
			t.Errorf("%s: nothing was decoded", filepath.Base(path))
		}
	}
}

// The definitions of the conformance kit are valid, too.
func TestKitDefinitions(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(kitFolder(t), "ctk", "*.feature"))
	if err != nil || len(paths) != 11 {
		t.Fatalf("found %d features, want 11 (%v)", len(paths), err)
	}
	count := 0
	for _, path := range paths {
		for _, text := range scenarioDefinitions(t, path) {
			count++
			if _, problems := Parse([]byte(text)); len(problems) > 0 {
				t.Errorf("%s: %v", filepath.Base(path), problems)
			}
		}
	}
	if count != 21 {
		t.Errorf("found %d definitions, want 21", count)
	}
}

// scenarioDefinitions are the definitions in a file of scenarios: doc strings stand between lines of
// three quotes, and definitions name their DSL.
func scenarioDefinitions(t testing.TB, path string) (definitions []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(data), `"""`)
	for i := 1; i < len(parts); i += 2 {
		if text := strings.TrimPrefix(parts[i], "yaml"); strings.Contains(text, "dsl:") {
			definitions = append(definitions, text)
		}
	}
	return definitions
}
