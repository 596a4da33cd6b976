package conformance

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/testserve"
)

// TestMain lets this program be what the built one is for its own processes: the installation
// inside the test runs scripts in it. It is an MCP server over stdio, too.
func TestMain(m *testing.M) {
	process.MaybeHelper(script.Worker(), testserve.Worker())
	if filepath.Base(os.Args[0]) == toolServer {
		os.Exit(serveTools())
	}
	remove, err := prepareTools()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the official agent of A2A logs there
	code := servertest.Main(m)
	remove()
	os.Exit(code)
}
