package dsl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sharedPath is where the specification's examples and conformance kit lie.
func sharedPath() string {
	if folder := os.Getenv("CHARGEHAND_SHARED"); folder != "" {
		return folder
	}
	return filepath.Join("..", "..", "..", "shared")
}

// sharedFolder is sharedPath, if it exists.
func sharedFolder(t testing.TB) string {
	if _, err := os.Stat(sharedPath()); err != nil {
		t.Skipf("the specification's examples are not here; CHARGEHAND_SHARED may name their folder (%v)", err)
	}
	return sharedPath()
}

func TestSpecificationExamples(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(sharedFolder(t), "openworkflow", "examples", "*.yaml"))
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
func TestConformanceDefinitions(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(sharedFolder(t), "openworkflow", "ctk", "*.feature"))
	if err != nil || len(paths) != 11 {
		t.Fatalf("found %d features, want 11 (%v)", len(paths), err)
	}
	count := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// Doc strings stand between lines of three quotes; definitions name their DSL.
		parts := strings.Split(string(data), `"""`)
		for i := 1; i < len(parts); i += 2 {
			text := strings.TrimPrefix(parts[i], "yaml")
			if !strings.Contains(text, "dsl:") {
				continue
			}
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
