package shell

import (
	"context"
	"regexp"
	"strings"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/process/workspace"
	"github.com/chargehand/chargehand/internal/machine"
)

// Config wires a Runner. Confiner and Files are required where Allowed is set.
type Config struct {
	Confiner *process.Confiner
	Files    activity.Files
	// Allowed lets commands run. Without it every one is a configuration error: a workflow may
	// have been applied when it was allowed (T80).
	Allowed bool
}

// Runner runs shell commands. It is safe for concurrent use.
type Runner struct {
	cfg Config
}

// New returns a Runner.
func New(cfg Config) *Runner { return &Runner{cfg: cfg} }

// Run implements activity.Runner for the kind "shell".
func (r *Runner) Run(ctx context.Context, call activity.Call) activity.Result {
	if !r.cfg.Allowed {
		return activity.Result{Fault: &machine.Fault{
			Type: machine.ErrConfiguration, Status: 400, Title: "Processes are not allowed",
			Detail: "run.shell is not allowed on this server; its operator can allow it (--allow-run shell)",
		}}
	}
	args, _ := call.Args.(map[string]any)
	command, _ := args["command"].(string)
	arguments := args["arguments"]
	order, _ := args["argumentOrder"].([]any)
	return workspace.Run(ctx, workspace.Job{
		Confiner: r.cfg.Confiner, Files: r.cfg.Files, Call: call, Arguments: arguments,
		Prepare: func(w *workspace.Workspace) (process.Command, *machine.Fault) {
			argv, fault := w.Arguments(arguments, order)
			if fault != nil {
				return process.Command{}, fault
			}
			if fault := workspace.CheckNUL("the command", command); fault != nil {
				return process.Command{}, fault
			}
			if isPlainWord(command) {
				command = strings.TrimSpace(command) + ` "$@"`
			}
			return process.Command{Path: "/bin/sh", Args: append([]string{"-c", command, "sh"}, argv...)}, nil
		},
	})
}

// plainWord matches what the shell reads as the name of a program or of one of its own commands
// and nothing else: no quotes, operators, expansions or assignments.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./+:@%-]+$`)

// isPlainWord reports whether a command is one plain word (T48).
func isPlainWord(command string) bool { return plainWord.MatchString(strings.TrimSpace(command)) }
