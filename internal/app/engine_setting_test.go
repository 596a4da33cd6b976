package app

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/installation"
)

// TestBoundsOfOneNeedTheEmbeddedEngine: what a worker of Temporal cannot bound is refused, and the refusal names it.
func TestBoundsOfOneNeedTheEmbeddedEngine(t *testing.T) {
	for name, set := range map[string]func(*Config){
		"--max-running-per-workflow":   func(c *Config) { c.RunningPerWorkflow = 1 },
		"--max-calls-per-workflow":     func(c *Config) { c.CallsPerWorkflow = 1 },
		"--max-processes-per-workflow": func(c *Config) { c.ProcessesPerWorkflow = 1 },
		"--max-running-per-key":        func(c *Config) { c.RunningPerKey = 1 },
		"--max-calls-per-key":          func(c *Config) { c.CallsPerKey = 1 },
		"--max-processes-per-key":      func(c *Config) { c.ProcessesPerKey = 1 },
	} {
		var c Config
		set(&c)
		c.Engine = installation.EngineTemporal
		if err := c.checkEngine(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		c.Engine = installation.EngineEmbedded
		if err := c.checkEngine(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
