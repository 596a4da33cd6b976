package conformance

import (
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

// flags are what every host is started with beside those of the stand-in.
var flags = []string{"--allow-run", "shell,python"}

func startBinary(t *testing.T, world *standIn) host {
	t.Helper()
	return binary{servertest.Start(t, servertest.Options{Args: append(world.flags(), flags...)})}
}
