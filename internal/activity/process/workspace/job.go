package workspace

import (
	"context"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Job is one process of an activity. Environment, stdin and return are read from Call.Args.
type Job struct {
	Confiner  *process.Confiner
	Files     activity.Files
	Call      activity.Call
	Arguments value.Value // a list, a map or nil
	// Prepare makes the command once the files are staged. Dir, Env and Stdin are filled in
	// afterwards.
	Prepare func(w *Workspace) (process.Command, *machine.Fault)
	// Finish may add to the outcome before it is shaped; nil: nothing to add.
	Finish func(w *Workspace, o *Outcome) *machine.Fault
}

// Run waits for a slot, runs the job in a workspace of its own and shapes its outcome.
func Run(ctx context.Context, job Job) activity.Result {
	release, err := job.Confiner.Acquire(ctx)
	if err != nil {
		return activity.Result{Fault: RunFault(job.Confiner.Logger(), err, nil)}
	}
	defer release()
	args, _ := job.Call.Args.(map[string]any)
	w, fault := Open(ctx, job.Confiner, job.Files, job.Call, Operands(job.Arguments, args["environment"], args["stdin"])...)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	defer w.Close()
	outcome, fault := w.run(ctx, job, args)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	mode, _ := args["return"].(string)
	return outcome.Result(mode)
}

func (w *Workspace) run(ctx context.Context, job Job, args map[string]any) (Outcome, *machine.Fault) {
	command, fault := job.Prepare(w)
	if fault != nil {
		return Outcome{}, fault
	}
	variables, fault := w.Variables(args["environment"])
	if fault != nil {
		return Outcome{}, fault
	}
	command.Dir, command.Env, command.Stdin = w.Dir, w.Environ(variables), []byte(w.Text(args["stdin"]))
	command.StdoutCopy, command.StderrCopy = job.Call.Writer(chargehand.LogStdout), job.Call.Writer(chargehand.LogStderr)
	done, err := w.confiner.Run(ctx, command)
	if err != nil {
		return Outcome{}, RunFault(w.confiner.Logger(), err, done.Stderr)
	}
	outcome := Outcome{Code: done.Code, Signal: done.Signal, Stdout: done.Stdout, Stderr: done.Stderr}
	if job.Finish != nil {
		if fault := job.Finish(w, &outcome); fault != nil {
			return Outcome{}, fault
		}
	}
	if outcome.Code == 0 { // only a success has files (docs/language/files.md)
		outcome.Files, fault = w.Collect(ctx)
	}
	return outcome, fault
}
