package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/internal/servertest"
)

// everyCommand runs a test for each command that can be run and is shown.
func everyCommand(t *testing.T, test func(t *testing.T, cmd *cobra.Command)) {
	root := newRoot(console{strings.NewReader(""), io.Discard, io.Discard})
	eachCommand(root, func(cmd *cobra.Command) {
		if cmd == root || cmd.Hidden {
			return
		}
		t.Run(strings.ReplaceAll(cmd.CommandPath(), " ", "_"), func(t *testing.T) { test(t, cmd) })
	})
}

func TestHelpOfEveryCommand(t *testing.T) {
	everyCommand(t, func(t *testing.T, cmd *cobra.Command) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("short help %q", cmd.Short)
		}
		if !cmd.HasSubCommands() && cmd.Example == "" {
			t.Error("no example")
		}
		for _, line := range strings.Split(cmd.Example, "\n") {
			if cmd.Example != "" && !strings.HasPrefix(line, "  ") {
				t.Errorf("the example %q is not indented", line)
			}
		}
		var help bytes.Buffer
		writeHelp(&help, cmd)
		for _, line := range strings.Split(help.String(), "\n") {
			// Examples, and what cobra says about shells, are copied as they are.
			if runewidth.StringWidth(line) > helpWidth && !strings.Contains(cmd.Example, line) && cmd.Parent().Name() != "completion" && !strings.HasPrefix(line, "chargehand ") {
				t.Errorf("%d columns: %q", runewidth.StringWidth(line), line)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			for _, kind := range []string{"string", "int", "int64", "float64", "stringArray", "stringSlice", "strings", "duration"} {
				if f.Value.Type() == kind {
					t.Errorf("--%s has a value of the kind %s", f.Name, kind)
				}
			}
			if strings.Contains(f.Usage, "`") || f.Usage == "" {
				t.Errorf("--%s: %q", f.Name, f.Usage)
			}
		})
	})
}

// TestExamplesNameCommands: each line of an example that begins with the program names a command
// of it, with flags that it has.
func TestExamplesNameCommands(t *testing.T) {
	everyCommand(t, func(t *testing.T, cmd *cobra.Command) {
		for _, line := range strings.Split(cmd.Example, "\n") {
			args, ours := strings.CutPrefix(strings.TrimSpace(line), "chargehand ")
			if !ours {
				continue
			}
			found, rest, err := cmd.Root().Find(strings.Fields(args))
			if err != nil || found.Name() != cmd.Name() {
				t.Errorf("%q is another command: %v", line, err)
				continue
			}
			for _, word := range rest {
				name, isLong := strings.CutPrefix(word, "--")
				if isLong && found.Flags().Lookup(strings.TrimSuffix(name, ")")) == nil {
					t.Errorf("%q: there is no --%s", line, name)
				}
			}
		}
	})
}

func TestExamplesOfCommandsThatExist(t *testing.T) {
	known := map[string]bool{"chargehand help": true}
	root := newRoot(console{strings.NewReader(""), io.Discard, io.Discard})
	eachCommand(root, func(cmd *cobra.Command) { known[cmd.CommandPath()] = true })
	for path := range commandExamples {
		if !known[path] {
			t.Errorf("there is no command %s", path)
		}
	}
}

// TestReference: the page in docs is what the commands say.
func TestReference(t *testing.T) {
	root := newRoot(console{strings.NewReader(""), io.Discard, io.Discard})
	var page bytes.Buffer
	if err := writeReference(&page, root); err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(filepath.Join(servertest.Root(), "docs", "reference", "cli.md"))
	if err != nil || !bytes.Equal(stored, page.Bytes()) {
		t.Errorf("docs/reference/cli.md is not what the commands say: run make generate (%v)", err)
	}
	eachCommand(root, func(cmd *cobra.Command) {
		if cmd.GroupID != "" && !strings.Contains(page.String(), "\n### "+cmd.CommandPath()+"\n") {
			t.Errorf("%s is missing", cmd.CommandPath())
		}
	})
}
