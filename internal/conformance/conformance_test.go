package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/sample"
	"github.com/chargehand/chargehand/internal/servertest"
)

// kitScenarios is how many the kit holds; fewer means that some were not run.
const kitScenarios = 21

// TestKitScenarios runs the kit on the built binary, one scenario after another: they share
// names of workflows.
func TestKitScenarios(t *testing.T) {
	kit := readFeatures(t, filepath.Join(servertest.Kit(t), "ctk"))
	outside := newStandIn(t)
	h := startBinary(t, outside, settings{})
	passed := tally{}
	for _, f := range kit {
		t.Run(f.title(), func(t *testing.T) { perform(t, f, h, outside, passed) })
	}
	passed.verify(t, "The conformance kit", kit)
	if len(kit) != kitScenarios {
		t.Errorf("the kit has %d scenarios, %d are expected", len(kit), kitScenarios)
	}
	if outside.requests.Load() == 0 {
		t.Error("no scenario reached the stand-in")
	}
}

// scenariosApart is how far the scenarios are apart that a sample takes on PostgreSQL and on Temporal, after SQLite has
// shown all: what a scenario says does not depend on the set-up.
const scenariosApart = 4

// TestConformanceFeatures runs the scenarios of our own on the built binary, each on a server
// that is set as its tags say.
func TestConformanceFeatures(t *testing.T) {
	outside := newStandIn(t)
	outside.join(t, newPeers(t))
	hosts := map[settings]host{{}: startBinary(t, outside, settings{})}
	for _, settings := range operators {
		hosts[settings] = startBinary(t, outside, settings)
	}
	passed, own := tally{}, ownFeatures(t)
	first, step := 1, 1
	if servertest.Setup(t) != servertest.SQLite {
		first, step = sample.Every(t, scenariosApart)
	}
	t.Run("scenarios", func(t *testing.T) {
		for k := first; k <= len(own); k += step {
			f := own[k-1]
			t.Run(f.title(), func(t *testing.T) {
				t.Parallel()
				perform(t, f, hosts[f.settings()], outside, passed)
			})
		}
	})
	if step == 1 {
		passed.verify(t, "Our own scenarios", own)
	}
}

func ownFeatures(t testing.TB) []*feature { return readFeatures(t, "features") }

func perform(t *testing.T, f *feature, h host, outside *standIn, passed tally) {
	t.Helper()
	s := newScenario(t, h, outside)
	if err := errors.Join(f.run(s), s.unschedule()); err != nil {
		t.Error(err)
		return
	}
	passed.add(f.file)
}

// TestConformanceCoverage checks that what can be observed of the language is named by a
// scenario (features/coverage.txt lists it).
func TestConformanceCoverage(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("features", "coverage.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, f := range ownFeatures(t) {
		named = append(named, f.tags...)
	}
	var wanted []string
	for line := range strings.Lines(string(list)) {
		tag, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if tag == "" || strings.HasPrefix(tag, "#") {
			continue
		}
		wanted = append(wanted, tag)
		if !slices.Contains(named, "@"+tag) {
			t.Errorf("no scenario names @%s: %s", tag, strings.TrimSpace(line))
		}
	}
	for _, tag := range named {
		_, isSetting := operators[tag]
		if bare := tag[1:]; bare != "slow" && bare != "binary" && !isSetting && !slices.Contains(wanted, bare) {
			t.Errorf("a scenario names %s, which features/coverage.txt does not list", tag)
		}
	}
}
