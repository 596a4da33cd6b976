// Package cli is the command line (docs/cli.md): the server and its operations, and a client of
// the API like any other. Data goes to standard output, messages for people to standard error.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/internal/app"
)

// Exit codes (docs/cli.md).
const (
	ExitDone        = 0
	ExitFailed      = 1 // the execution or some item ended in error; or the command itself failed
	ExitUsage       = 2
	ExitPerson      = 3
	ExitUnreachable = 4 // server not reachable, or not authorised
)

// exitError carries the exit code of a command that has said what is wrong, or says it.
type exitError struct {
	code int
	err  error // nil: already told
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{ExitUsage, fmt.Errorf(format, args...)}
}

// console is where a command reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// Run runs the command line and returns its exit code. SIGINT and SIGTERM cancel the
// command's context.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(console{stdin, stdout, stderr})
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitDone
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{ExitFailed, err}
		if setting := (*app.SettingError)(nil); errors.As(err, &setting) {
			exit.code = ExitUsage
		}
	}
	if exit.err != nil {
		fmt.Fprintln(stderr, "chargehand: "+exit.err.Error())
	}
	return exit.code
}

func newRoot(c console) *cobra.Command {
	root := &cobra.Command{
		Use:           "chargehand",
		Short:         "A self-hosted workflow execution service",
		Long:          "Chargehand runs workflows over HTTP: one execution or a batch of thousands, each durable to its end.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          unknownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%s: %w (see %s --help)", cmd.CommandPath(), err, cmd.CommandPath())
	})
	root.AddCommand(
		newServe(c), newWorker(c), newTemporal(c), newKeys(c), newWorkflows(c), newRun(c), newBatch(c), newExecutions(c), newBatches(c), newFiles(c), newSecrets(c), newEvents(c),
		newLogin(c), newReady(c), newLimits(c), newBench(c), newExamples(c), newBackup(c), newRestore(c), newDoctor(c), newStore(c), newOpenAPI(c), newVersion(c),
	)
	return root
}
