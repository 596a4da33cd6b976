package process_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/chargehand/chargehand/internal/peer"

	"golang.org/x/sys/unix"

	"github.com/chargehand/chargehand/internal/activity/process"
)

// attack is what a hostile command tries. It tells of each attempt how it ended.
func attack(args []string) int {
	say := func(what string, err error) {
		word := "done"
		if err != nil {
			word = unix.ErrnoName(err.(unix.Errno))
		}
		fmt.Printf("%s: %s\n", what, word)
	}
	call := func(what string, number uintptr, args ...uintptr) {
		args = append(args, 0, 0, 0, 0, 0)
		_, _, errno := unix.Syscall6(number, args[0], args[1], args[2], args[3], args[4], 0)
		if errno == 0 {
			say(what, nil)
			return
		}
		say(what, errno)
	}
	text := func(s string) uintptr { p, _ := unix.BytePtrFromString(s); return uintptr(unsafe.Pointer(p)) }
	switch args[0] {
	case "sockets":
		say("stream", connectUnix(unix.SOCK_STREAM, args[1]))
		say("abstract", connectUnix(unix.SOCK_STREAM, args[2]))
		say("datagram", connectUnix(unix.SOCK_DGRAM, args[3]))
		say("half a pair", sendFromPair(args[3]))
		_, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
		say("vsock", err)
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			_, err = unix.Write(pair[0], []byte("x"))
		}
		say("stream pair", err)
	case "ipc":
		call("shmget", unix.SYS_SHMGET, 0x43484721, 1<<20, unix.IPC_CREAT|0o600)
		call("semget", unix.SYS_SEMGET, 0x43484721, 1, unix.IPC_CREAT|0o600)
		call("msgget", unix.SYS_MSGGET, 0x43484721, unix.IPC_CREAT|0o600)
	case "memfd":
		call("memfd_create", unix.SYS_MEMFD_CREATE, text("x"), 0)
		call("memfd_secret", unix.SYS_MEMFD_SECRET, 0)
	case "fill-memfd": // with twice what the step may have
		file, err := unix.MemfdCreate("x", 0)
		say("memfd_create", err)
		block := make([]byte, 1<<20)
		for range 2 * process.FilledMiB {
			if err == nil {
				_, err = unix.Write(file, block)
			}
		}
		say("write", err)
	case "kernel":
		var room [256]byte
		at := uintptr(unsafe.Pointer(&room[0]))
		// the user's session keyring
		call("add_key", unix.SYS_ADD_KEY, text("user"), text("chargehand-test"), at, 1, ^uintptr(3))
		call("keyctl", unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(3), 0)
		call("request_key", unix.SYS_REQUEST_KEY, text("user"), text("chargehand-test"), 0, 0)
		call("io_uring_setup", unix.SYS_IO_URING_SETUP, 4, at)
		call("userfaultfd", unix.SYS_USERFAULTFD, 1)
		call("perf_event_open", unix.SYS_PERF_EVENT_OPEN, at, 0, ^uintptr(0), ^uintptr(0), 0)
		call("user namespace", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
		call("mount", unix.SYS_MOUNT, text("x"), text("."), text("tmpfs"), 0, 0)
		call("chroot", unix.SYS_CHROOT, text("."))
	case "supervisor":
		call("ptrace", unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(os.Getppid()))
		call("kill", unix.SYS_KILL, uintptr(os.Getppid()), uintptr(unix.SIGKILL))
	}
	return 0
}

func connectUnix(kind int, path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

func sendFromPair(path string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(pair[0], &unix.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	_, err = unix.Write(pair[0], []byte("hello"))
	return err
}

// needFilter leaves out what only a filter refuses, where the log warns the operator that there is none.
func needFilter(t *testing.T) {
	t.Helper()
	if err := process.Capabilities().Filter; err != nil {
		peer.Skip(t, "this kernel filters no system calls: %v", err)
	}
}

// wantAll compares what an attack said.
func wantAll(t *testing.T, out process.Outcome, want ...string) {
	t.Helper()
	if got := strings.TrimSpace(string(out.Stdout)); got != strings.Join(want, "\n") || out.Code != 0 {
		t.Errorf("code %d, stderr %q, got\n%s\nwant\n%s", out.Code, out.Stderr, got, strings.Join(want, "\n"))
	}
}

// A service of the machine that listens to its user, such as an agent for keys or an engine of
// containers, must not be reached, whether the socket has a path, an abstract name or datagrams.
func TestAttackUnixSockets(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	dir, err := os.MkdirTemp("", "s") // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	abstract := "@chargehand-test-" + mark()
	for _, path := range []string{filepath.Join(dir, "stream"), abstract} {
		listener, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
	}
	needFilter(t)
	datagrams, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(dir, "datagram")})
	if err != nil {
		t.Fatal(err)
	}
	defer datagrams.Close()
	cmd := childCommand(t, c, "attack", "sockets", filepath.Join(dir, "stream"), abstract, filepath.Join(dir, "datagram"))
	cmd.ReadPaths = []string{dir}
	wantAll(t, mustRun(t, c, cmd), "stream: EAFNOSUPPORT", "abstract: EAFNOSUPPORT", "datagram: EAFNOSUPPORT",
		"half a pair: ENOTSUP", "vsock: EAFNOSUPPORT", "stream pair: done")
}

func TestAttackSystemV(t *testing.T) {
	needFilter(t)
	c := newConfiner(t, process.Limits{})
	wantAll(t, mustRun(t, c, childCommand(t, c, "attack", "ipc")), "shmget: ENOSYS", "semget: ENOSYS", "msgget: ENOSYS")
}

// Memory that is written to and never mapped is counted by a cgroup alone.
func TestAttackMemoryFiles(t *testing.T) {
	needFilter(t)
	c := newConfiner(t, process.Limits{})
	wantAll(t, mustRun(t, c, childCommand(t, c, "attack", "memfd")), "memfd_create: ENOSYS", "memfd_secret: ENOSYS")
}

func TestAttackKernel(t *testing.T) {
	needFilter(t)
	c := newConfiner(t, process.Limits{})
	wantAll(t, mustRun(t, c, childCommand(t, c, "attack", "kernel")),
		"add_key: ENOSYS", "keyctl: ENOSYS", "request_key: ENOSYS", "io_uring_setup: ENOSYS", "userfaultfd: ENOSYS",
		"perf_event_open: ENOSYS", "user namespace: EPERM", "mount: EPERM", "chroot: EPERM")
}

func TestAttackSupervisor(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	out := mustRun(t, c, childCommand(t, c, "attack", "supervisor"))
	if c.Landlock() < 6 { // only namespaces keep it from the supervisor then: the signal is ignored
		wantAll(t, out, "ptrace: EPERM", "kill: done")
		return
	}
	wantAll(t, out, "ptrace: EPERM", "kill: EPERM")
}

// Arguments may hold secrets. They are on the command lines of other steps and of the machine.
func TestAttackCommandLines(t *testing.T) {
	c, secret := newConfiner(t, process.Limits{}), mark()
	outside := exec.Command("sleep", secret)
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outside.Process.Kill(); _ = outside.Wait() }()
	other := shell(t, c, `echo on > up; sleep "$1"`, secret)
	go func() { _, _ = c.Run(t.Context(), other) }()
	waitForText(t, filepath.Join(other.Dir, "up"), "on")

	cmd := shell(t, c, `cat /proc/[0-9]*/cmdline | tr '\0' '\n' > lines; grep -c -x -F "$MARK" lines; ls -d /proc/[0-9]* | wc -l; ls -d /proc/$SERVER 2>/dev/null`)
	cmd.Env = append(cmd.Env, "MARK="+secret, "SERVER="+strconv.Itoa(os.Getpid()))
	seen := strings.Fields(string(mustRun(t, c, cmd).Stdout))
	if err := process.Capabilities().Namespaces; err != nil {
		t.Logf("no namespaces here: %v", err)
		if seen[0] == "0" {
			t.Errorf("the command saw %v: the log says something else", seen)
		}
		return
	}
	if processes, _ := strconv.Atoi(seen[1]); seen[0] != "0" || processes > 6 || len(seen) > 2 {
		t.Errorf("the secret was seen %s times, processes %s, %v", seen[0], seen[1], seen)
	}
}

// Shared memory is there, is bounded, and is of this step alone.
func TestAttackSharedMemory(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	name := "/dev/shm/chargehand-test-" + mark()
	out := mustRun(t, c, shell(t, c, `echo x > "$1" && cat "$1"; head -c 100000000 /dev/zero > "$1" || echo full`, name))
	if _, err := os.Stat(name); err == nil {
		t.Errorf("%s is there after the command", name)
	}
	want := "x\nfull\n"
	if process.Capabilities().Namespaces != nil {
		want = "full\n" // nothing can be written
	}
	if string(out.Stdout) != want {
		t.Errorf("stdout %q stderr %q, want %q", out.Stdout, out.Stderr, want)
	}
}

// A command is its user, inside as outside, and has no capability that root's files do not need.
func TestAttackCapabilities(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	out := mustRun(t, c, shell(t, c, `id -u; grep -h -E '^(CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status`))
	kept := "0000000000000000"
	if os.Getuid() == 0 {
		kept = "000000000000001b" // CHOWN, DAC_OVERRIDE, FOWNER, FSETID
	}
	want := fmt.Sprintf("%d\nCapInh:\t0000000000000000\nCapPrm:\t%s\nCapEff:\t%s\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n",
		os.Getuid(), kept, kept)
	if string(out.Stdout) != want {
		t.Errorf("got\n%swant\n%s", out.Stdout, want)
	}
}

// A process that loses its parent is waited for, or the step would run out of processes. Each of them keeps a pipe open
// until it ends, so that they are not many at one time on a slow machine.
func TestOrphansAreReaped(t *testing.T) {
	c := newConfiner(t, process.Limits{Processes: 64})
	out := mustRun(t, c, shell(t, c, `i=0; while [ $i -lt 200 ]; do (sleep 0 &) | cat; i=$((i+1)); done
n=1; while [ $n -gt 0 ]; do n=$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z 1 '); done; echo none`))
	if string(out.Stdout) != "none\n" {
		t.Errorf("stdout %q", out.Stdout)
	}
}

// What the machine does not give is logged, once, with a remedy.
func TestMissingConfinementIsLogged(t *testing.T) {
	var log strings.Builder
	if _, err := process.New(process.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Scratch: t.TempDir(), Commands: true}); err != nil {
		t.Fatal(err)
	}
	refused := os.Getenv(refuseVariable) != ""
	support := process.Capabilities()
	if refused && support.Namespaces == nil {
		t.Error("namespaces are refused, but not seen as such")
	}
	if warnings := strings.Count(log.String(), "cannot have namespaces of their own"); warnings != 0 != (support.Namespaces != nil) || warnings > 1 {
		t.Errorf("namespaces: %v, but the log says\n%s", support.Namespaces, log.String())
	}
	if refused && !strings.Contains(log.String(), "operation not permitted") {
		t.Errorf("the log does not say why:\n%s", log.String())
	}
	for _, fact := range support.Facts() {
		if fact.OK != (fact.Remedy == "") || fact.Detail == "" || fact.What == "" {
			t.Errorf("fact %+v", fact)
		}
	}
}

// refuseVariable makes the tests run without namespaces.
const refuseVariable = "CHARGEHAND_TEST_REFUSE"

// hostileTests are the tests that are worth repeating as another user.
const hostileTests = "^TestAttack|^TestWhatIsMissing|^TestOrphans|^TestRunTells|^TestDaemons|^TestNothingSurvives|^TestInside|^TestStopAsks|^TestLauncher"

// again runs some tests of this binary in another process.
func again(t *testing.T, user uint32, environment ...string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "again")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// The folder of the binary may be closed to that user.
	binary := filepath.Join(dir, "process.test")
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile(binary, selfPath()), os.Mkdir(dir+"/tmp", 0o700), os.Chown(dir+"/tmp", int(user), int(user))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run", hostileTests, "-test.v")
	cmd.Dir = dir + "/tmp"
	cmd.Env = append(append(os.Environ(), "TMPDIR="+dir+"/tmp", "HOME="+dir+"/tmp"), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if user == uint32(os.Getuid()) {
		cmd.SysProcAttr = nil
	}
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: TestAttackKernel") {
		t.Errorf("%v\n%s", err, output)
	}
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// ordinaryUser is the server's user as the docs advise: root's tests run as that one too.
func ordinaryUser() uint32 {
	if os.Getuid() == 0 {
		return 12345
	}
	return uint32(os.Getuid())
}

func TestAsOrdinaryUser(t *testing.T) { again(t, ordinaryUser()) }

func TestWithoutNamespaces(t *testing.T) {
	for name, user := range map[string]uint32{"same user": uint32(os.Getuid()), "ordinary user": ordinaryUser()} {
		t.Run(name, func(t *testing.T) { again(t, user, refuseVariable+"=1") })
	}
}
