package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Run runs cmd and returns once nothing of it is left. A command that ends by itself gives a
// nil error, whatever its exit code. Otherwise the error is a *LimitError (the Outcome then
// holds what was written so far), a *StartError, ctx's error when ctx was done first, or
// something of the operator's (ErrSupervisor among others).
//
// When ctx is done, the command gets SIGTERM and, after Limits.Grace, SIGKILL.
func (c *Confiner) Run(ctx context.Context, cmd Command) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	limits := cmd.Limits.or(c.limits)
	r := &runningCommand{limits: limits, kill: make(chan struct{})}
	todo := c.spec(cmd, limits)
	if c.cgroups != nil {
		dir, err := c.cgroups.newStep(limits)
		if err != nil {
			return Outcome{}, err
		}
		defer c.removeCgroup(dir)
		todo.Cgroup = dir
	}
	if err := r.start(todo, cmd); err != nil {
		return Outcome{}, err
	}
	ended := make(chan struct{})
	go r.govern(ctx, ended)
	err := r.wait()
	close(ended)
	return r.outcome(ctx, cmd.Path, err)
}

func (c *Confiner) removeCgroup(dir string) {
	if err := c.cgroups.removeStep(dir); err != nil {
		c.log.Warn("cgroup of a step stays until the next start", "error", err)
	}
}

func (c *Confiner) spec(cmd Command, limits Limits) spec {
	return spec{
		Path: cmd.Path, Args: append([]string{cmd.Path}, cmd.Args...), Env: cmd.Env, Dir: cmd.Dir,
		ReadPaths: append(append([]string{}, c.readPaths...), cmd.ReadPaths...),
		Limits:    limits, Threads: c.threadLimit(), Unconfined: c.landlock == 0,
		Namespaced: namespaceSupport() == nil, Filtered: filterSupport() == nil,
	}
}

// runningCommand is one command as the server sees it.
type runningCommand struct {
	limits  Limits
	helper  *supervisorProcess
	streams streams
	control *os.File // write end
	statusR *os.File

	output sync.Mutex // guards spent
	spent  int64
	stdout bytes.Buffer
	stderr bytes.Buffer

	kill     chan struct{} // closed when the output limit is hit
	killOnce sync.Once

	pid      atomic.Int64
	state    status // the last status; valid after wait
	finished chan error
}

// listen reads the statuses until the supervisor has none to tell any more.
func (r *runningCommand) listen() {
	for {
		var s status
		if err := readJSON(r.statusR, &s); err != nil {
			r.finished <- err
			return
		}
		r.state = s
		if s.Pid != 0 {
			r.pid.Store(int64(s.Pid))
		}
	}
}

// govern stops the command when ctx is done, and kills it when its output is too much.
func (r *runningCommand) govern(ctx context.Context, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-r.kill:
	case <-ctx.Done():
		_, _ = r.control.Write([]byte{stopByte})
		select {
		case <-ended:
			return
		case <-r.kill:
		case <-time.After(r.limits.Grace + 3*time.Second):
		}
	}
	// The end of the control pipe kills. A supervisor that does not even do that is killed.
	r.control.Close()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		r.killAll()
	}
}

// killAll is the last resort: supervisor and command's process group.
func (r *runningCommand) killAll() {
	r.helper.kill()
	if pid := int(r.pid.Load()); pid > 0 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// wait waits for the supervisor and its pipes.
func (r *runningCommand) wait() error {
	err := <-r.helper.ended
	r.control.Close()
	finished := <-r.finished
	r.streams.drain()
	r.statusR.Close()
	if !r.state.Ended && r.state.StartError == "" || errors.Is(err, errLauncherDied) {
		if pid := int(r.pid.Load()); pid > 0 {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
		return fmt.Errorf("%w: %w (stderr begins %.300q)", ErrSupervisor, errors.Join(err, ignoreEOF(finished)), r.stderr.Bytes())
	}
	return nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (r *runningCommand) outcome(ctx context.Context, path string, err error) (Outcome, error) {
	o := Outcome{
		Code: r.state.Code, Signal: r.state.Signal, CPU: r.state.CPU, MaxBytes: r.state.MaxBytes,
		Stdout: r.stdout.Bytes(), Stderr: r.stderr.Bytes(),
	}
	r.output.Lock()
	spent := r.spent
	r.output.Unlock()
	switch {
	case spent > r.limits.OutputBytes:
		return o, &LimitError{Limit: LimitOutput, Limits: r.limits}
	case err != nil && ctx.Err() != nil:
		return o, ctx.Err()
	case err != nil:
		return o, err
	case r.state.StartError != "":
		return o, &StartError{Path: path, Detail: r.state.StartError}
	case r.state.Limit != "":
		return o, &LimitError{Limit: r.state.Limit, Limits: r.limits}
	case r.state.Stopped:
		return o, ctx.Err()
	}
	return o, nil
}

// sink collects one stream. Both streams of a command share one budget.
type sink struct {
	runningCommand *runningCommand
	to             io.Writer
	copy           io.Writer // nil: none
}

// Write takes everything that fits. Past the limit it drops, so that the command does not
// stay blocked on a full pipe while it is being killed; the result is an error then anyway.
func (s *sink) Write(p []byte) (int, error) {
	s.runningCommand.output.Lock()
	s.runningCommand.spent += int64(len(p))
	over := s.runningCommand.spent > s.runningCommand.limits.OutputBytes
	s.runningCommand.output.Unlock()
	if over {
		s.runningCommand.killOnce.Do(func() { close(s.runningCommand.kill) })
		return len(p), nil
	}
	if s.copy != nil {
		_, _ = s.copy.Write(p)
	}
	return s.to.Write(p)
}
