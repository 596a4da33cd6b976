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

func startBinary(t *testing.T, world *standIn) host {
	t.Helper()
	args := append(world.flags(), "--allow-run", strings.Join(allowed, ","), "--resource-root", files(t))
	return binary{servertest.Start(t, servertest.Options{Args: args})}
}
