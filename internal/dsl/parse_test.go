package dsl

import (
	"os"
	"path/filepath"
	"testing"
)

// sharedFolder is the folder of the specification's examples and conformance kit.
func sharedFolder(t testing.TB) string {
	folder := os.Getenv("CHARGEHAND_SHARED")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the specification's examples are not here: set CHARGEHAND_SHARED (%v)", err)
	}
	return folder
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
