package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/servertest"
)

const (
	// exampleCount is how many examples the specification has; fewer means that some were
	// not tried.
	exampleCount = 68
	// catalogHost has the catalog of the specification, of which an example names a function.
	catalogHost = "raw.githubusercontent.com"
	catalogLog  = "/serverlessworkflow/catalog/main/functions/log/1.0.0/function.yaml"
	// resourceRoot has the files that examples name.
	resourceRoot = "testdata/files"
)

// logFunction stands for the function of the catalog: ours of the same contract.
func logFunction() []byte {
	content, _ := plan.CatalogFunction("log", "1.0.0")
	return content
}

// eachExample runs a test for every example of the specification.
func eachExample(t *testing.T, try func(t *testing.T, definition []byte)) {
	dir := filepath.Join(servertest.Kit(t), "examples")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != exampleCount {
		t.Errorf("there are %d examples, %d are expected", len(files), exampleCount)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file.Name(), ".yaml"), func(t *testing.T) {
			definition, err := os.ReadFile(filepath.Join(dir, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			try(t, definition)
		})
	}
}

// TestKitExamples deploys the examples of the specification to the built binary
// (docs/language/conformance.md): they are valid, also those that do not do what they seem to (T6).
func TestKitExamples(t *testing.T) {
	servertest.Kit(t)
	outside := newStandIn(t)
	h := startBinary(t, outside, settings{})
	eachExample(t, func(t *testing.T, definition []byte) {
		if err := newScenario(t, h, outside).deploy(string(definition)); err != nil {
			t.Error(err)
		}
	})
	if outside.requests.Load() == 0 {
		t.Error("no resource was fetched")
	}
}

// TestKitExamplesCompile compiles the examples in the process, so that one that fails is seen
// at once.
func TestKitExamplesCompile(t *testing.T) {
	proto, err := os.ReadFile(filepath.Join(resourceRoot, "app", "greet.proto"))
	if err != nil {
		t.Fatal(err)
	}
	outside := map[string][]byte{"https://" + catalogHost + catalogLog: logFunction(), "file://app/greet.proto": proto}
	used := map[string]bool{}
	eachExample(t, func(t *testing.T, definition []byte) {
		document, found := dsl.Parse(definition)
		r := plan.Check(document, found, plan.Options{Run: plan.AnyRun(), Resources: outside})
		for _, p := range r.Problems.Errors() {
			t.Errorf("%s [%s]", p, p.Code)
		}
		for _, w := range r.Wanted {
			t.Errorf("it wants the %s %s, which does not exist", w.Kind, w.URI)
		}
		if r.Plan == nil {
			return
		}
		for _, p := range r.Plan.Pinned {
			used[p.Key] = true
		}
	})
	if len(used) != len(outside) {
		t.Errorf("of %d resources, %v were used", len(outside), used)
	}
}
