package app

import (
	"os"
	"strings"
	"testing"
)

// testDoctorOfCluster checks an installation with a worker, and then with another namespace or name of task queues.
func testDoctorOfCluster(t *testing.T, i *installation, cluster func(*Config)) {
	t.Helper()
	if err := os.Chmod(i.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	last := func(change func(*Config)) Finding {
		cfg := Config{DataDir: i.dir}
		cluster(&cfg)
		change(&cfg)
		findings := Doctor(t.Context(), cfg, false)
		for _, f := range findings[:len(findings)-1] {
			if !f.OK {
				t.Errorf("doctor: %+v", f)
			}
		}
		return findings[len(findings)-1]
	}
	if f := last(func(*Config) {}); !f.OK || f.What != "Temporal" || !strings.Contains(f.Detail, "that of the executions; workers that ask for work: ") {
		t.Errorf("doctor: %+v", f)
	}
	for name, change := range map[string]func(*Config){
		"another task queue": func(c *Config) { c.Temporal.Queue = "another" },
		"another namespace":  func(c *Config) { c.Temporal.Namespace = "temporal-system" },
		"no namespace":       func(c *Config) { c.Temporal.Namespace = "absent" },
	} {
		if f := last(change); f.OK || f.What != "Temporal" || f.Detail == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
