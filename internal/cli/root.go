package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes (docs/reference/cli.md).
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
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		allowRepetition(root)
	}
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
		if setting := (*installation.SettingError)(nil); errors.As(err, &setting) {
			exit.code = ExitUsage
		}
	}
	if exit.err != nil {
		fmt.Fprintln(stderr, "chargehand: "+printableLines(exit.err.Error()))
	}
	return exit.code
}

func newRoot(c console) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "chargehand",
		Short: "A self-hosted workflow execution service",
		Long: "Chargehand runs workflows over HTTP: one execution or a batch of thousands, each durable to its end.\n" +
			"Commands that talk to a server read its address from CHARGEHAND_URL and a key from CHARGEHAND_API_KEY,\n" +
			"or take both from the context that `chargehand login` saved.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          unknownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return printVersion(c)
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(&cobra.Group{ID: groupWork, Title: "Work"}, &cobra.Group{ID: groupAuthor, Title: "Author"}, &cobra.Group{ID: groupPeople, Title: "People"}, &cobra.Group{ID: groupOperate, Title: "Operate"})
	addTo(root, groupWork, newRun(c), newBatch(c), newExecutions(c), newOverview(c), newBatches(c), newTasks(c), newOperations(c), newFiles(c), newEvents(c), newLogin(c), newContext(c))
	addTo(root, groupAuthor, newWorkflows(c), newTest(c), newEvaluate(c), newSecrets(c), newExamples(c), newOpenAPI(c))
	addTo(root, groupPeople, newUsers(c), newGroups(c), newGrants(c), newAccounts(c), newPersons(c), newSetupToken(c))
	addTo(root, groupOperate, newServe(c), newWorker(c), newKeys(c), newAudit(c), newReady(c), newLimits(c), newDoctor(c), newBackup(c), newRestore(c), newStore(c), newTemporal(c), newBench(c), newLicences(c), newVersion(c))
	root.AddCommand(newReference(c))
	describe(root)
	return root
}

func addTo(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = group
	}
	root.AddCommand(commands...)
}

// flagError says what is wrong with a flag without the words of Go.
func flagError(cmd *cobra.Command, err error) error {
	if f, reason := badValue(err); f != nil {
		err = fmt.Errorf("--%s: %w", f.Name, reason)
	}
	return usage("%w (see %s --help)", err, cmd.CommandPath())
}

// badValue says what is wrong with the value of a flag; nil: err is about something else.
func badValue(err error) (*pflag.Flag, error) {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return nil, err
	}
	f, reason := value.GetFlag(), errors.Unwrap(err)
	switch {
	case errors.Is(reason, strconv.ErrSyntax) && f.Value.Type() == "N":
		reason = errors.New("is not a number")
	case errors.Is(reason, strconv.ErrSyntax):
		reason = errors.New("is not true or false")
	case errors.Is(reason, strconv.ErrRange):
		reason = errors.New("is out of range")
	case f.Value.Type() == "DURATION":
		reason = errors.New("is not a duration such as 10s, 5m or 12h")
	}
	return f, fmt.Errorf("%.80q %w", value.GetValue(), reason)
}
