package app

import (
	"os"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
)

// testDoctorOfCluster checks an installation with a worker, and then with another namespace or name of task queues.
func testDoctorOfCluster(t *testing.T, i *fixture, cluster func(*Config)) {
	t.Helper()
	if err := os.Chmod(i.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	last := func(change func(*installation.Settings)) operate.Finding {
		cfg := Config{Settings: installation.Settings{DataDir: i.Dir}}
		cluster(&cfg)
		change(&cfg.Settings)
		findings := operate.Doctor(t.Context(), cfg.Settings, operate.Checks{})
		for _, f := range findings[:len(findings)-1] {
			if !f.OK {
				t.Errorf("doctor: %+v", f)
			}
		}
		return findings[len(findings)-1]
	}
	if f := last(func(*installation.Settings) {}); !f.OK || f.What != "Temporal" || !strings.Contains(f.Detail, "that of the executions; workers that ask for work: ") {
		t.Errorf("doctor: %+v", f)
	}
	for name, change := range map[string]func(*installation.Settings){
		"another task queue": func(c *installation.Settings) { c.Temporal.Queue = "another" },
		"another namespace":  func(c *installation.Settings) { c.Temporal.Namespace = "temporal-system" },
		"no namespace":       func(c *installation.Settings) { c.Temporal.Namespace = "absent" },
	} {
		if f := last(change); f.OK || f.What != "Temporal" || f.Detail == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
