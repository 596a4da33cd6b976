package conformance

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// host is what scenarios run on: an installation that answers HTTP.
type host interface {
	// Try sends a request with the host's key; path is relative to /api/v1. While the host
	// comes back from a crash, Try waits, and sends again what may be sent again.
	Try(method, path, body string, headers ...string) (servertest.Answer, error)
	// Arm tells the host that the part of the scenario begins that must survive crashes.
	Arm()
}

// binary is the built program.
type binary struct{ *servertest.Server }

func (binary) Arm() {}

// allowed are the processes that every host may start.
var allowed = []string{"shell", "python", "container"}

// files is the folder of the files that definitions name.
func files(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs(resourceRoot)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// settings is what an operator must have chosen for a scenario beyond what all hosts have.
type settings struct{ lifecycle, prefix string }

// operators are the settings by the tag that asks for them.
var operators = map[string]settings{
	"@lifecycle":        {lifecycle: "task", prefix: "io.serverlessworkflow"},
	"@lifecycle-prefix": {lifecycle: "workflow", prefix: "org.example.life"},
}

// settings are those that the scenario's tags ask for; otherwise those that hold by default.
func (f *feature) settings() settings {
	for tag, chosen := range operators {
		if f.has(tag) {
			return chosen
		}
	}
	return settings{}
}

func startBinary(t *testing.T, outside *standIn, chosen settings) host {
	t.Helper()
	args := append(outside.flags(), "--allow-run", strings.Join(allowed, ","), "--resource-root", files(t))
	if chosen != (settings{}) {
		args = append(args, "--lifecycle-events", chosen.lifecycle, "--lifecycle-prefix", chosen.prefix)
	}
	return binary{servertest.Start(t, servertest.Options{Args: args})}
}
