package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/testserve"
)

func TestMain(m *testing.M) {
	process.MaybeHelper(script.Worker(), testserve.Worker())
	testscript.Main(m, map[string]func(){
		"chargehand": func() { os.Exit(Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs testdata/*.txtar, each against a server of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			server := servertest.Start(t, servertest.Options{
				DataDir: filepath.Join(env.WorkDir, "data"),
				Args:    []string{"--allow-run", "shell", "--allow-egress", "127.0.0.1"},
			})
			env.Setenv("CHARGEHAND_URL", server.URL)
			env.Setenv("CHARGEHAND_API_KEY", server.Key)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			return nil
		},
	})
}
