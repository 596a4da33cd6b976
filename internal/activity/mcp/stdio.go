package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/process/workspace"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// farewell is the time that a server has to end by itself once its standard input has ended;
// then it gets SIGTERM, and SIGKILL after the grace of processes.
const farewell = 500 * time.Millisecond

func (r *Runner) runStdio(ctx context.Context, call activity.Call, req *request) activity.Result {
	if !r.cfg.AllowProcesses {
		return activity.Result{Fault: &machine.Fault{
			Type: machine.ErrConfiguration, Status: 400, Title: "Processes are not allowed",
			Detail: "the stdio transport of an MCP call starts a process, which is not allowed on this server; its operator can allow it (--allow-run shell)",
		}}
	}
	release, err := r.cfg.Confiner.Acquire(ctx)
	if err != nil {
		return activity.Result{Fault: workspace.RunFault(r.cfg.Confiner.Logger(), err, nil)}
	}
	defer release()
	arguments, environment := req.stdio["arguments"], req.stdio["environment"]
	w, fault := workspace.Open(ctx, r.cfg.Confiner, r.cfg.Files, call, workspace.Operands(arguments, environment, nil)...)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	defer w.Close()
	command, fault := r.command(w, req)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	child, err := start(ctx, r.cfg.Confiner, command)
	if err != nil {
		return activity.Result{Fault: w.InternalFault(err)}
	}
	return r.talk(ctx, req, child)
}

// command is the process of the task.
func (r *Runner) command(w *workspace.Workspace, req *request) (process.Command, *machine.Fault) {
	name, _ := req.stdio["command"].(string)
	path, fault := find(name, r.cfg.Confiner.Path())
	if fault != nil {
		return process.Command{}, fault
	}
	argv, fault := w.Arguments(req.stdio["arguments"], nil)
	if fault != nil {
		return process.Command{}, fault
	}
	variables, fault := w.Variables(req.stdio["environment"])
	if fault != nil {
		return process.Command{}, fault
	}
	return process.Command{
		Path: path, Args: argv, Env: w.Environ(variables), Dir: w.Dir,
		Limits: process.Limits{OutputBytes: r.cfg.Bytes, Time: req.timeout + farewell},
	}, nil
}

// find looks a command up in the folders of PATH. A name with a slash must be absolute: the
// working directory is new and holds nothing.
func find(name, path string) (string, *machine.Fault) {
	if fault := workspace.CheckNUL("the command", name); fault != nil {
		return "", fault
	}
	if filepath.IsAbs(name) {
		return name, nil
	}
	if name == "" || strings.Contains(name, "/") {
		return "", failure.Configuration(fmt.Sprintf("the command %q of the MCP server must be a name or an absolute path", excerpt.Clip(name, failure.ClipBytes)))
	}
	for _, dir := range filepath.SplitList(path) {
		candidate := filepath.Join(dir, name)
		if info, err := os.Stat(candidate); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return candidate, nil
		}
	}
	return "", failure.Configuration(fmt.Sprintf("the command %q of the MCP server is not installed on this server", excerpt.Clip(name, failure.ClipBytes)))
}

// talk makes the call and ends the process.
func (r *Runner) talk(ctx context.Context, req *request, child *child) activity.Result {
	callCtx, cancel := context.WithTimeout(ctx, req.timeout)
	defer cancel()
	// A write to a server that does not read ends with its pipe.
	defer context.AfterFunc(callCtx, func() { child.in.Close() })()
	transport := &sdk.IOTransport{Reader: child.out, Writer: child.in, MaxLineLength: int(r.cfg.Bytes)}
	conn, err := transport.Connect(callCtx)
	if err != nil {
		_, _ = child.end(0)
		return activity.Result{Fault: failure.Connection("MCP server", err)}
	}
	value, err := (&session{conn: conn}).exchange(callCtx, req, func(string) {})
	grace := farewell
	if callCtx.Err() != nil {
		grace = 0
	}
	outcome, runErr := child.end(grace)
	conn.Close()
	switch {
	case err == nil:
		return activity.Result{Output: value}
	case callCtx.Err() != nil:
		return activity.Result{Fault: failure.Timeout(fmt.Sprintf("MCP %s: the server process gave no answer within %s", req.method, req.timeout))}
	}
	var limit *process.LimitError
	if errors.As(runErr, &limit) {
		return activity.Result{Fault: workspace.RunFault(r.cfg.Confiner.Logger(), runErr, outcome.Stderr)}
	}
	if fault := answeredFault(req.method, err); fault != nil {
		return activity.Result{Fault: fault}
	}
	if runErr != nil && !errors.Is(runErr, context.Canceled) {
		return activity.Result{Fault: workspace.RunFault(r.cfg.Confiner.Logger(), runErr, outcome.Stderr)}
	}
	detail := fmt.Sprintf("MCP %s: the server process gave no usable answer (%s)", req.method, excerpt.Clip(err.Error(), failure.ClipBytes))
	if runErr == nil {
		detail = fmt.Sprintf("MCP %s: the server process ended with exit code %d before it answered", req.method, outcome.Code)
	}
	if tail := workspace.Tail(outcome.Stderr); tail != "" {
		detail += "; stderr: " + tail
	}
	return activity.Result{Fault: failure.NoAnswer(detail)}
}

// child is a server process.
type child struct {
	in     *os.File       // what it reads
	out    *io.PipeReader // what it writes
	cancel context.CancelFunc
	ended  chan struct{}

	outcome process.Outcome // valid after ended
	err     error
}

func start(ctx context.Context, confiner *process.Confiner, command process.Command) (*child, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe to MCP server: %w", err)
	}
	outR, outW := io.Pipe()
	command.Input, command.Output = inR, outW
	ctx, cancel := context.WithCancel(ctx)
	c := &child{in: inW, out: outR, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.outcome, c.err = confiner.Run(ctx, command)
		inR.Close()
		outW.Close()
	}()
	return c, nil
}

// end lets the process end within grace, then stops it, and returns what it left.
func (c *child) end(grace time.Duration) (process.Outcome, error) {
	c.in.Close()
	c.out.Close() // what it still writes is not read
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
	}
	c.cancel()
	<-c.ended
	return c.outcome, c.err
}
