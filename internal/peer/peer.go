package peer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Root is the top folder of the repository, in tests of packages of it: they run in the folder of
// their package. Where the sources were when they were compiled is not known, because binaries do
// not hold it (-trimpath).
func Root() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "internal", "peer", "peer.go")); missing == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return "."
}

// Program finds a program that scripts/setup has built into .cache/bin.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(Root(), ".cache", "bin", name)
	if _, err := os.Stat(path); err != nil {
		Skip(tb, "%s is not built (make setup)", name)
	}
	return path
}

// Skip skips a test that this machine cannot run, and fails it in continuous integration.
func Skip(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatalf(format, args...)
	}
	tb.Skipf(format, args...)
}

// FreePort is a port of 127.0.0.1 that was free a moment ago. It is below those that a system
// gives to outgoing connections: one of these would otherwise take it while the server is
// down, most likely that of a client which waits for just this server.
func FreePort(tb testing.TB) int {
	tb.Helper()
	var err error
	for range 100 {
		port := 15000 + rand.IntN(15000)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			l.Close()
			return port
		}
	}
	tb.Fatal(err)
	return 0
}

// Process is a server that can be killed and started again with the same command.
type Process struct {
	TB      testing.TB
	Command func() *exec.Cmd
	Ready   func() error // nil when the server answers

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	log    bytes.Buffer
}

// Start runs the command and waits until the server is ready.
func (p *Process) Start() {
	p.TB.Helper()
	cmd := p.Command()
	cmd.Stdout, cmd.Stderr = (*logWriter)(p), (*logWriter)(p)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL // a test that panics leaves no server behind
	exited := make(chan struct{})
	started := make(chan error)
	go func() {
		// The death signal is tied to the thread that started the process.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
	}()
	if err := <-started; err != nil {
		p.TB.Fatalf("start %s: %v", cmd.Path, err)
	}
	p.cmd, p.exited = cmd, exited
	deadline := time.Now().Add(60 * time.Second)
	for {
		err := p.Ready()
		if err == nil {
			return
		}
		select {
		case <-exited:
			p.TB.Fatalf("%s ended at once:\n%s", cmd.Path, p.Text())
		case <-time.After(10 * time.Millisecond): // readiness has no other signal from outside
		}
		if time.Now().After(deadline) {
			p.TB.Fatalf("%s is not Ready: %v\n%s", cmd.Path, err, p.Text())
		}
	}
}

// Signal sends a signal to the server and its children and waits until it is gone.
func (p *Process) Signal(sig syscall.Signal) {
	if p.cmd == nil {
		return
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, sig)
	<-p.exited
	p.cmd = nil
}

// Pause stops and continues the server, as an operator does with SIGSTOP and SIGCONT.
func (p *Process) Pause(paused bool) {
	sig := syscall.SIGCONT
	if paused {
		sig = syscall.SIGSTOP
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, sig)
}

// PID is the process id of the running server, for measurements.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Text is what the server has said.
func (p *Process) Text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// logWriter keeps what a server says, for the report of a failed test.
type logWriter Process

func (w *logWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.log.Len() > 4<<20 {
		w.log.Reset()
	}
	return w.log.Write(data)
}

// Listens reports whether something listens at a port of 127.0.0.1.
func Listens(port int) error {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err == nil {
		conn.Close()
	}
	return err
}
