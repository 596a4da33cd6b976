package drill_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// node is one process of the installation: an API node or a worker.
type node struct {
	t      *testing.T
	name   string
	args   []string
	env    []string
	folder string // its data directory
	url    string // of its own address; the same after every start

	cmd       *exec.Cmd
	exited    chan struct{}
	processes map[string]bool // its processes before it was killed (remember)

	mu  sync.Mutex
	log bytes.Buffer
}

// newNode prepares a node that listens on a port of its own; start starts it.
func newNode(t *testing.T, name, folder string, env []string, args ...string) *node {
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	return &node{
		t: t, name: name, env: env, folder: folder, url: "http://" + address,
		args: append(args, "--data-dir", folder, "--listen", address),
	}
}

// freePort is below the ports that a system gives to outgoing connections, so that none of
// these has it while the node is down.
func freePort(t *testing.T) int {
	for range 100 {
		port := 15000 + rand.IntN(15000)
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// start runs the node. It is ready some time later (awaitReady).
func (n *node) start() {
	n.t.Helper()
	cmd := servertest.Command(n.t, n.args...)
	cmd.Env = append(servertest.Environment(), n.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // a test that panics leaves no node behind
	stderr, err := cmd.StderrPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	exited, started := make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread() // the death signal is tied to the thread that started the process
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			n.mu.Lock()
			fmt.Fprintln(&n.log, lines.Text())
			n.mu.Unlock()
		}
		_ = cmd.Wait()
		close(exited)
	}()
	if err := <-started; err != nil {
		n.t.Fatalf("start %s: %v", n.name, err)
	}
	n.cmd, n.exited = cmd, exited
}

// register has the node end with the test, and its log told if the test fails: all of it in the
// folder CHARGEHAND_DRILL_LOGS, if there is one.
func (n *node) register() {
	n.t.Cleanup(func() {
		n.kill()
		if folder := os.Getenv("CHARGEHAND_DRILL_LOGS"); folder != "" {
			_ = os.WriteFile(filepath.Join(folder, strings.ReplaceAll(n.t.Name(), "/", "-")+"-"+n.name+".log"), []byte(n.text()), 0o600)
		}
		if n.t.Failed() {
			n.t.Logf("log of %s:\n%s", n.name, tail(n.text(), 4000))
		}
	})
}

func tail(text string, most int) string {
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

func (n *node) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.String()
}

// awaitReady waits until /readyz says 200.
func (n *node) awaitReady() {
	n.t.Helper()
	client := http.Client{Timeout: time.Second}
	tick := time.NewTicker(10 * time.Millisecond) // readiness has no other signal from outside
	defer tick.Stop()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); {
		if resp, err := client.Get(n.url + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-n.exited:
			n.t.Fatalf("%s ended before it was ready:\n%s", n.name, n.text())
		case <-tick.C:
		}
	}
	n.t.Fatalf("%s is not ready:\n%s", n.name, n.text())
}

// remember takes down what the node has started, for verifyGone. It takes some time.
func (n *node) remember() { n.processes = processTree(n.cmd.Process.Pid) }

// kill ends the node as kill -9 does, and waits until it is gone.
func (n *node) kill() {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Kill()
	<-n.exited
	n.cmd = nil
}

// stop ends the node with SIGTERM and returns its exit code.
func (n *node) stop() int {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	<-n.exited
	code := n.cmd.ProcessState.ExitCode()
	n.cmd = nil
	return code
}

// verifyGone checks that soon nothing is left of what a killed or stopped node
// had started: neither one of its children nor anything that works in its directory.
func (n *node) verifyGone() {
	n.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); ; <-tick.C {
		var left []string
		for _, p := range processes() {
			if p.pid != os.Getpid() && (n.processes[p.id()] || strings.Contains(p.what, n.folder+"/") || strings.Contains(p.what, n.folder+" ")) {
				left = append(left, fmt.Sprintf("%d %.150q", p.pid, p.what))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Since(begin) > 30*time.Second {
			n.t.Errorf("%d processes outlive %s:\n%s", len(left), n.name, strings.Join(left, "\n"))
			return
		}
	}
}

// process is one that /proc shows; the start time tells apart two with one number.
type process struct {
	pid, parent int
	started     string
	what        string // command line, working directory and environment
}

func (p process) id() string { return fmt.Sprint(p.pid, "@", p.started) }

func processes() []process {
	var list []process
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		stat, err := os.ReadFile(folder + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if fields[0] == "Z" || fields[0] == "X" {
			continue // dead, but not yet collected
		}
		pid, _ := strconv.Atoi(filepath.Base(folder))
		parent, _ := strconv.Atoi(fields[1])
		command, _ := os.ReadFile(folder + "/cmdline")
		environment, _ := os.ReadFile(folder + "/environ")
		cwd, _ := os.Readlink(folder + "/cwd")
		list = append(list, process{pid: pid, parent: parent, started: fields[19], what: string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})) +
			"|" + cwd + "/|" + string(environment)})
	}
	return list
}

// processTree is what a process started, with the children of its children.
func processTree(top int) map[string]bool {
	members, ids := map[int]bool{top: true}, map[string]bool{}
	list := processes()
	for grown := true; grown; {
		grown = false
		for _, p := range list {
			if members[p.parent] && !members[p.pid] {
				members[p.pid], ids[p.id()], grown = true, true, true
			}
		}
	}
	return ids
}
