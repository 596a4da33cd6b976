package conformance

import (
	"os"
	"testing"

	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/servertest"
)

// TestMain lets this program be what the built one is for its own processes: the installation
// inside the test runs scripts in it.
func TestMain(m *testing.M) {
	process.MaybeHelper(script.Worker())
	os.Exit(servertest.Main(m))
}
