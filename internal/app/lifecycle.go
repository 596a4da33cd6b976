package app

import (
	"regexp"
	"strings"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/machine"
)

// What executions tell about themselves.
const (
	LifecycleNone     = "none"
	LifecycleWorkflow = "workflow"
	LifecycleTask     = "task"
)

// lifecyclePrefix is what types of events may begin with.
var lifecyclePrefix = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

func (c Config) checkLifecycle() error {
	switch c.LifecycleEvents {
	case LifecycleNone, LifecycleWorkflow, LifecycleTask:
	default:
		return installation.BadSetting("--lifecycle-events: %.80q is not none, workflow or task", c.LifecycleEvents)
	}
	if !lifecyclePrefix.MatchString(c.LifecyclePrefix) {
		return installation.BadSetting("--lifecycle-prefix: %.80q is not like org.example: 1 to 200 letters, digits, '.', '_' and '-'", c.LifecyclePrefix)
	}
	return nil
}

// lifecycle is what the engine is given; nil: nothing is to be published.
func (c Config) lifecycle() *machine.Lifecycle {
	if c.LifecycleEvents == LifecycleNone {
		return nil
	}
	return &machine.Lifecycle{
		Tasks: c.LifecycleEvents == LifecycleTask, Prefix: c.LifecyclePrefix, Base: strings.TrimSuffix(c.PublicURL, "/"),
	}
}
