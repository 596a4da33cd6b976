package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// supervisorProcess is a supervisor that has been started.
type supervisorProcess struct {
	pid   atomic.Int64 // 0: it has ended, or is not known yet
	ended chan error   // gets one value
}

// errLauncherDied means that it is unknown how the supervisor ended.
var errLauncherDied = errors.New("the launcher of supervisors died")

func (p *supervisorProcess) kill() {
	if pid := int(p.pid.Load()); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// helperFiles are the ends of pipes that a helper is started with: standard input, output and
// error, control and status.
type helperFiles [5]*os.File

func (f *helperFiles) close() {
	for _, file := range f {
		if file != nil {
			file.Close()
		}
	}
}

// supervisorCommand is our binary as a supervisor with these files.
func supervisorCommand(files helperFiles) *exec.Cmd {
	cmd := helperCommand()
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = files[0], files[1], files[2], files[3:]
	return cmd
}

// startDirect starts a supervisor without namespaces.
func startDirect(files helperFiles) (*supervisorProcess, error) {
	cmd := supervisorCommand(files)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &supervisorProcess{ended: make(chan error, 1)}
	p.pid.Store(int64(cmd.Process.Pid))
	go func() {
		err := cmd.Wait()
		p.pid.Store(0)
		p.ended <- err
	}()
	return p, nil
}

// streams are our ends of what a command reads and writes.
type streams struct {
	stdin   *os.File // nil: not ours
	outputs []*os.File
	copies  sync.WaitGroup
}

// stdinOf makes standard input and returns the end of the command.
func (s *streams) stdinOf(cmd Command) (*os.File, error) {
	switch {
	case cmd.Input != nil:
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		fd, err := syscall.Dup(int(cmd.Input.Fd())) // the caller closes his own
		if err != nil {
			return nil, err
		}
		syscall.CloseOnExec(fd)
		return os.NewFile(uintptr(fd), "stdin"), nil
	case len(cmd.Stdin) == 0:
		return os.Open(os.DevNull)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.stdin = w
	s.copies.Go(func() {
		_, _ = io.Copy(w, bytes.NewReader(cmd.Stdin)) // the command need not read it
		w.Close()
	})
	return r, nil
}

// outputPipeBytes is how much a command may write before it waits for the server to take it. A pipe has 64 KiB by
// itself: a command that writes more at a time would wait for each turn of a busy server.
const outputPipeBytes = 256 << 10

// collect makes an output that goes to a writer, and returns the end of the command.
func (s *streams) collect(to io.Writer) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	enlargePipe(r, outputPipeBytes)
	s.outputs = append(s.outputs, r)
	s.copies.Go(func() {
		_, _ = io.Copy(to, r)
		r.Close()
	})
	return w, nil
}

// lastOutput is how long output is waited for after the supervisor: if it was killed, a process
// may be left that holds the pipe open.
const lastOutput = 2 * time.Second

// drain returns when all output has been taken.
func (s *streams) drain() {
	if s.stdin != nil {
		s.stdin.Close()
	}
	done := make(chan struct{})
	go func() { s.copies.Wait(); close(done) }()
	select {
	case <-done:
		return
	case <-time.After(lastOutput):
	}
	for _, output := range s.outputs {
		output.Close()
	}
	<-done
}

// start starts the supervisor and hands it the spec.
func (r *runningCommand) start(s spec, cmd Command) (err error) {
	var files helperFiles
	defer files.close()
	defer func() {
		if err == nil {
			return
		}
		files.close()
		r.streams.drain()
		for _, file := range []*os.File{r.control, r.statusR} {
			if file != nil {
				file.Close()
			}
		}
		err = fmt.Errorf("start supervisor: %w", err)
	}()
	output := io.Writer(&r.stdout)
	if cmd.Output != nil {
		output = cmd.Output
	}
	var errs [5]error
	files[0], errs[0] = r.streams.stdinOf(cmd)
	files[1], errs[1] = r.streams.collect(&sink{runningCommand: r, to: output, copy: cmd.StdoutCopy})
	files[2], errs[2] = r.streams.collect(&sink{runningCommand: r, to: &r.stderr, copy: cmd.StderrCopy})
	files[3], r.control, errs[3] = os.Pipe()
	r.statusR, files[4], errs[4] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	begin := startDirect
	if s.Namespaced {
		begin = startLaunched
	}
	if r.helper, err = begin(files); err != nil {
		return err
	}
	r.finished = make(chan error, 1)
	go r.listen()
	// The supervisor reads the spec before it does anything else. If it died instead, wait
	// tells more than this error. Its end of the pipe must be the only one by then.
	files.close()
	_ = writeJSON(r.control, s)
	return nil
}
