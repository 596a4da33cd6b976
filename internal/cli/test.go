package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/testrun"
)

// testCommand is `chargehand test`.
type testCommand struct {
	console
	paths    []string
	filter   string
	coverage string
	percent  float64 // that the coverage must have
	order    string
	mocks    string
	output   string
	watch    bool
	real     []string
	reports  testReports
	root     string
	config   testrun.Config
	replay   testReplay
}

// newTest runs tests of workflows without a server.
func newTest(con console) *cobra.Command {
	c := &testCommand{console: con, replay: testReplay{connection: connection{console: con}}}
	cmd := &cobra.Command{
		Use: "test [PATH…]", Short: "Run tests of workflows without a server, or replay an execution over a new revision",
		Long: "Run the tests of workflow definitions: NAME.test.yaml beside NAME.yaml. PATH is a test file, a definition or a\n" +
			"folder (default: this one, with all below it). A test plays the world around one execution by mocks, on a virtual\n" +
			"clock: nothing reaches the network and no program is started, unless a mock says real and --real allows it.\n" +
			"The exit code is 1 if a test fails or cannot be run to an end, and 2 if a file is wrong.\n\n" +
			"With --replay, no test is run: what an execution that has ended received is given to the new revision in\n" +
			"--definition, and the first decision that is another one is printed. The exit code is 1 if there is one.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c.paths = args
			if c.replay.asked(cmd) {
				return c.replay.run(cmd, args, c.output)
			}
			return c.run(cmd)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.filter, "run", "", "only the tests whose FILE: NAME matches this regular expression")
	f.BoolVar(&c.watch, "watch", false, "run again what depends on a file that changes, until Ctrl-C; reports for other programs are of one run, and not for it")
	f.BoolVar(&c.config.Update, "update", false, "write snapshots as they are now, and remove those of no test")
	f.StringVar(&c.coverage, "coverage", "", "show what was not run; with a number, fail below that many percent of tasks and branches")
	f.Lookup("coverage").NoOptDefVal = "0"
	f.BoolVar(&c.config.Crash, "crash", false, "run each test again, restored before every event: the same must come out")
	choiceVar(f, &c.order, "order", "first", "what comes first of what happens at the same time", "first", "last")
	choiceVar(f, &c.mocks, "mocks", "given", "what answers tasks: the mocks given, or else an example of what a task declares", "given", "example")
	f.BoolVar(&c.config.Strict, "strict", false, "mocks and steps that are not used are errors")
	choicesVar(f, &c.real, "real", "what mocks with real may do", app.RealKinds...)
	f.StringVar(&c.root, "resource-root", "", "folder below which external resources are read, as of serve")
	c.reports.flags(f)
	c.replay.flags(cmd)
	f.IntVarP(&c.config.Jobs, "jobs", "j", 0, "tests at a time (default: one for each processor)")
	choiceVarP(f, &c.output, "output", "o", formatTable, "how to print", formatTable, formatJSON)
	return cmd
}

func (c *testCommand) run(cmd *cobra.Command) error {
	if err := c.check(cmd); err != nil {
		return err
	}
	if c.watch {
		ticks := time.NewTicker(watchEvery)
		defer ticks.Stop()
		return c.watchFiles(cmd.Context(), ticks.C)
	}
	report, err := c.once(cmd.Context(), nil)
	if err != nil {
		return err
	}
	return c.exit(report)
}

// check reads the flags.
func (c *testCommand) check(cmd *cobra.Command) (err error) {
	if c.filter != "" {
		if c.config.Filter, err = regexp.Compile(c.filter); err != nil {
			return usage("--run: %w", err)
		}
	}
	if cmd.Flags().Changed("coverage") {
		c.percent, err = strconv.ParseFloat(strings.TrimSuffix(c.coverage, "%"), 64)
		if err != nil || c.percent < 0 || c.percent > 100 {
			return usage("--coverage: %q is no percentage from 0 to 100", c.coverage)
		}
	}
	if c.watch {
		if err := c.reports.refuseWatch(); err != nil {
			return err
		}
		if c.percent > 0 {
			return usage("--coverage=%s and --watch: only a run that ends can fail; --coverage alone shows what was not run", c.coverage)
		}
	}
	if c.config.Jobs < 0 {
		return usage("--jobs: must be at least 1")
	}
	c.config.Last = c.order == "last"
	c.config.Examples = c.mocks == "example"
	c.config.CI = isTrue(os.Getenv("CI"))
	if len(c.paths) == 0 {
		c.paths = []string{"."}
	}
	return nil
}

// isTrue reads a variable of the environment.
func isTrue(text string) bool {
	on, err := strconv.ParseBool(text)
	return on || err != nil && text != ""
}

// once runs the tests: all, or the given files.
func (c *testCommand) once(ctx context.Context, files []string) (*testrun.Report, error) {
	if files == nil {
		var err error
		if files, err = testrun.Find(c.paths); err != nil {
			return nil, c.nothingFound(err)
		}
	}
	machine := &app.Test{Real: c.real, ResourceRoot: c.root}
	defer machine.Close()
	runner, err := machine.Runner(c.config)
	if err != nil {
		return nil, err
	}
	report, err := runner.Run(ctx, files)
	if err != nil {
		return nil, err
	}
	if n := report.Counts; c.filter != "" && !c.watch && n.Tests+n.WrongFiles == 0 {
		return nil, usage("--run: no test matches %q", c.filter)
	}
	if err := writeSnapshots(report); err != nil {
		return nil, err
	}
	if !c.watch {
		if err := c.reports.write(c.console, c.output, report); err != nil {
			return nil, err
		}
	}
	if c.output == formatJSON {
		return report, printJSON(c.out, reportView(report))
	}
	return report, c.print(report)
}

// nothingFound says why there is nothing to run, and what to do.
func (c *testCommand) nothingFound(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) && c.coverage != "" {
		if _, notNumber := strconv.ParseFloat(strings.TrimSuffix(failed.Path, "%"), 64); notNumber == nil {
			return usage("there is no file %s: a percentage stands behind an equals sign, --coverage=%s", failed.Path, failed.Path)
		}
	}
	if errors.Is(err, testrun.ErrNoTests) {
		return usage("%w in %s: write some beside the definition NAME.yaml (chargehand test --help)", err, strings.Join(c.paths, " and "))
	}
	return usage("%w", unreadable(err))
}

// writeSnapshots writes the files of snapshots that have changed.
func writeSnapshots(report *testrun.Report) error {
	for _, f := range report.Files {
		s := f.Snapshots
		if s == nil {
			continue
		}
		if len(s.Content) == 0 {
			if err := os.Remove(s.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := replaceFile(s.Path, s.Content); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile writes a file at once. It goes through a new file of an unknown name: one that exists
// already, or a symbolic link, is never written to.
func replaceFile(path string, content []byte) error {
	beside, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	_, err = beside.Write(content)
	err = errors.Join(err, beside.Chmod(0o644), beside.Close())
	if err == nil {
		err = os.Rename(beside.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(beside.Name()))
	}
	return nil
}

// exit is the exit code of a run.
func (c *testCommand) exit(report *testrun.Report) error {
	n := report.Counts
	switch {
	case n.WrongFiles > 0:
		return &exitError{code: ExitUsage}
	case n.Failed+n.Broken > 0:
		return &exitError{code: ExitFailed}
	case report.Only && c.config.CI:
		return &exitError{ExitFailed, errors.New("a test says `only`: others were not run, which fails in continuous integration")}
	case testrun.Percent(report.Coverage) < c.percent:
		return &exitError{ExitFailed, fmt.Errorf("the coverage is %.1f %%, and --coverage asks for %g %%", testrun.Percent(report.Coverage), c.percent)}
	}
	return nil
}
