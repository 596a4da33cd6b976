package testrun_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/internal/testrun"
)

// fault is one that is put into a definition.
type fault struct {
	File     string `yaml:"file"`
	Fault    string `yaml:"fault"`
	From, To string
}

// The bar of the tests of the examples.
const (
	leastFaults = 40
	leastCaught = 90 // percent
)

// The tests of the examples find faults in their definitions: what they cover, they also look at.
func TestFaults(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "faults.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var faults []fault
	if err := yaml.Unmarshal(text, &faults); err != nil {
		t.Fatal(err)
	}
	caught, seen := 0, map[fault]bool{}
	for _, f := range faults {
		if seen[f] {
			t.Errorf("%s: %s is in the list twice", f.File, f.Fault)
		}
		seen[f] = true
		switch found, err := finds(t, f); {
		case err != "":
			t.Errorf("%s: %s: %s", f.File, f.Fault, err)
		case found:
			caught++
		default:
			t.Logf("%s: the tests do not see it: %s", f.File, f.Fault)
		}
	}
	t.Logf("%d of %d faults are found", caught, len(faults))
	if len(faults) < leastFaults || caught*100 < leastCaught*len(faults) {
		t.Errorf("%d of %d faults are found", caught, len(faults))
	}
}

// finds reports whether the tests of an example do not pass with a fault. problem says what is wrong with the fault.
func finds(t *testing.T, f fault) (found bool, problem string) {
	t.Helper()
	path := filepath.Join("..", "..", "examples", f.File)
	right, err := testrun.ReadFile(path)
	if err != nil {
		return false, err.Error()
	}
	if n := strings.Count(string(right), f.From); n != 1 || f.From == f.To {
		return false, "its text is not there once"
	}
	wrong := strings.Replace(string(right), f.From, f.To, 1)
	tests := strings.TrimSuffix(path, ".yaml") + testrun.Suffix
	report, err := testrun.New(testrun.Config{Version: "1", ReadFile: func(name string) ([]byte, error) {
		if name == path {
			return []byte(wrong), nil
		}
		return testrun.ReadFile(name)
	}}).Run(t.Context(), []string{tests})
	if err != nil {
		return false, err.Error()
	}
	n := report.Counts
	if n.WrongFiles > 0 {
		return false, "the definition is not valid with it: " + text(report)
	}
	return n.Failed+n.Broken > 0, ""
}
