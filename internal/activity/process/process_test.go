package process_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"

	"github.com/chargehand/chargehand/internal/activity/process"
)

// TestMain is three programs: a helper, a child that a test runs as its command, the tests.
func TestMain(m *testing.M) {
	if os.Getenv(refuseVariable) != "" {
		if err := process.RefuseNamespaces(); err != nil {
			panic(err)
		}
	}
	process.MaybeHelper(process.Entry{Name: "echo", Main: echoWorker}, process.Entry{Name: "nosy", Main: nosyWorker},
		process.Entry{Name: "nice", Main: niceWorker})
	if len(os.Args) > 2 && os.Args[1] == "child" {
		os.Exit(child(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

func newConfiner(t *testing.T, limits process.Limits) *process.Confiner {
	t.Helper()
	c, err := process.New(process.Config{
		Logger: slog.New(slog.DiscardHandler), Scratch: filepath.Join(t.TempDir(), "scratch"), Limits: limits,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newDir(t *testing.T, c *process.Confiner) string {
	t.Helper()
	dir, err := c.NewDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.RemoveDir(dir) })
	return dir
}

// shell is a command for /bin/sh with the usual environment.
func shell(t *testing.T, c *process.Confiner, line string, args ...string) process.Command {
	t.Helper()
	dir := newDir(t, c)
	return process.Command{
		Path: "/bin/sh", Args: append([]string{"-c", line, "sh"}, args...), Dir: dir,
		Env: []string{"PATH=" + c.Path(), "HOME=" + dir, "TMPDIR=" + dir},
	}
}

// childCommand runs this test binary as the child of that name.
func childCommand(t *testing.T, c *process.Confiner, name string, args ...string) process.Command {
	t.Helper()
	dir := newDir(t, c)
	return process.Command{Path: selfPath(), Args: append([]string{"child", name}, args...), Dir: dir, Env: []string{"HOME=" + dir}}
}

func mustRun(t *testing.T, c *process.Confiner, cmd process.Command) process.Outcome {
	t.Helper()
	out, err := c.Run(t.Context(), cmd)
	if err != nil {
		t.Fatalf("run: %v\nstdout %q\nstderr %q", err, out.Stdout, out.Stderr)
	}
	return out
}

func TestRunGivesWhatTheCommandLeft(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	cmd := shell(t, c, `cat; echo "[$1][$2]"; echo oops >&2; pwd; exit 3`, "a b", `$(id); "x"`)
	cmd.Stdin = []byte("from stdin\n")
	out := mustRun(t, c, cmd)
	if want := "from stdin\n[a b][$(id); \"x\"]\n" + cmd.Dir + "\n"; string(out.Stdout) != want {
		t.Errorf("stdout %q, want %q", out.Stdout, want)
	}
	if string(out.Stderr) != "oops\n" {
		t.Errorf("stderr %q", out.Stderr)
	}
	if out.Code != 3 || out.Signal != "" {
		t.Errorf("code %d signal %q, want 3 and none", out.Code, out.Signal)
	}
	if out.MaxBytes <= 0 {
		t.Errorf("no memory was measured")
	}
}

func TestRunTellsTheSignal(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	out := mustRun(t, c, shell(t, c, `kill -SEGV $$`))
	if out.Code != 139 || out.Signal != "SIGSEGV" {
		t.Errorf("code %d signal %q, want 139 and SIGSEGV", out.Code, out.Signal)
	}
}

func TestRunWithoutStdinSeesItsEnd(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	if out := mustRun(t, c, shell(t, c, `cat; echo end`)); string(out.Stdout) != "end\n" {
		t.Errorf("stdout %q", out.Stdout)
	}
}

func TestRunIgnoresStdinThatNobodyReads(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	cmd := shell(t, c, `echo done`)
	cmd.Stdin = make([]byte, 4<<20)
	if out := mustRun(t, c, cmd); string(out.Stdout) != "done\n" {
		t.Errorf("stdout %q", out.Stdout)
	}
}

func TestRunTellsWhyItCouldNotStart(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	for name, tc := range map[string]struct {
		change func(*process.Command)
		want   string
	}{
		"missing":        {func(cmd *process.Command) { cmd.Path = "/usr/bin/no-such-command" }, "no such file"},
		"not executable": {func(cmd *process.Command) { cmd.Path = "/etc/passwd" }, "may not be executed"},
		"long argument":  {func(cmd *process.Command) { cmd.Args = []string{strings.Repeat("x", 1<<18)} }, "128 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := shell(t, c, "true")
			tc.change(&cmd)
			_, err := c.Run(t.Context(), cmd)
			var start *process.StartError
			if !errors.As(err, &start) || !strings.Contains(start.Detail, tc.want) {
				t.Errorf("error %v, want a StartError about %q", err, tc.want)
			}
		})
	}
}

func TestEnvironmentIsTheCommandsOwn(t *testing.T) {
	t.Setenv("CHARGEHAND_SECRET", "do-not-tell")
	c := newConfiner(t, process.Limits{})
	cmd := shell(t, c, `env; cat /proc/$PPID/environ`)
	cmd.Env = []string{"PATH=" + c.Path(), "GREETING=hello world"}
	out, err := c.Run(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(out.Stdout)) {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains([]string{"PWD", "SHLVL", "_", "OLDPWD"}, name) { // set by the shell
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"GREETING", "PATH"}) {
		t.Errorf("environment has %q", names)
	}
	if strings.Contains(string(out.Stdout)+string(out.Stderr), "do-not-tell") {
		t.Error("the server's environment leaked")
	}
}

func TestDescriptorsDoNotLeak(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	// A descriptor without close-on-exec, as a careless library would leave it.
	careless, err := syscall.Open("/etc/passwd", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(careless)
	out := mustRun(t, c, shell(t, c, `ls /proc/$$/fd`))
	if string(out.Stdout) != "0\n1\n2\n" {
		t.Errorf("open descriptors %q, want 0, 1 and 2", out.Stdout)
	}
}

func TestWritesOutsideTheDirectoryFail(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	if c.Landlock() == 0 {
		peer.Skip(t, "this kernel has no Landlock")
	}
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("do-not-tell"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := newDir(t, c) // another command's directory
	for name, line := range map[string]string{
		"create":          `echo x > "$1/new"`,
		"overwrite":       `echo x > "$1/secret"`,
		"truncate":        `: > "$1/secret"`,
		"append":          `echo x >> "$1/secret"`,
		"remove":          `rm -f "$1/secret" && ! test -e "$1/secret"`,
		"read":            `cat "$1/secret"`,
		"list":            `ls "$1"`,
		"mkdir":           `mkdir "$1/dir"`,
		"rename out":      `echo x > f && mv f "$1/f"`,
		"hard link in":    `ln "$1/secret" here`,
		"symbolic link":   `ln -s "$1/secret" link && cat link`,
		"tmp":             `echo x > /tmp/chargehand-test-file`,
		"other directory": `echo x > "$2/new"`,
		"device":          `mknod null c 1 3`,
		"etc":             `echo x >> /etc/passwd`,
		"system":          `echo x > /usr/bin/chargehand-test-file`,
		"server signal":   `kill -0 $3`,
		"supervisor":      `kill -9 $PPID`,
		"server memory":   `cat /proc/$3/environ`,
		"supervisor task": `for t in /proc/$PPID/task/*; do kill -9 ${t##*/} && exit 0; done; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			out := mustRun(t, c, shell(t, c, line, outside, other, strconv.Itoa(os.Getpid())))
			if out.Code == 0 {
				t.Errorf("it worked: stdout %q", out.Stdout)
			}
			if strings.Contains(string(out.Stdout), "do-not-tell") {
				t.Error("the secret was read")
			}
		})
	}
	if content, err := os.ReadFile(secret); err != nil || string(content) != "do-not-tell" {
		t.Errorf("the file outside is %q, %v", content, err)
	}
}

// TestSupervisorIsOutside looks at the mark that confinement leaves on a thread. A thread of
// the supervisor that had it would be in the command's domain, and could be killed by it.
func TestSupervisorIsOutside(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	for range 20 {
		out := mustRun(t, c, shell(t, c, `grep -h NoNewPrivs /proc/$PPID/task/*/status /proc/self/status | sort | uniq -c`))
		lines := strings.Split(strings.TrimSpace(string(out.Stdout)), "\n")
		if len(lines) != 2 || !strings.HasSuffix(lines[0], "\t0") || strings.Join(strings.Fields(lines[1]), " ") != "1 NoNewPrivs: 1" {
			t.Fatalf("threads of the supervisor, and the command: %q", lines)
		}
	}
}

func TestInsideTheDirectoryEverythingWorks(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	out := mustRun(t, c, shell(t, c, `set -e
mkdir -p a/b; echo one > a/b/f; mv a/b/f g; ln g h; ln -s h i; cat i
printf '#!/bin/sh\necho executed\n' > tool; chmod +x tool; ./tool
mkfifo pipe; echo two > pipe & cat pipe; wait
echo three > /dev/stderr; echo four > /dev/null; echo five > /dev/stdout
head -c 4 /dev/urandom > r; : > g; rm -r a; cat /etc/passwd > p; test -s p`))
	if want := "one\nexecuted\ntwo\nfive\n"; out.Code != 0 || string(out.Stdout) != want || string(out.Stderr) != "three\n" {
		t.Errorf("code %d stdout %q stderr %q, want %q", out.Code, out.Stdout, out.Stderr, want)
	}
}

func TestHiddenPathsStayHidden(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"data/db", "tools/t", "data2/x"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := process.New(process.Config{
		Logger: slog.New(slog.DiscardHandler), Scratch: filepath.Join(root, "data", "scratch"),
		ReadPaths: []string{root}, HiddenPaths: []string{filepath.Join(root, "data")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Landlock() == 0 {
		peer.Skip(t, "this kernel has no Landlock")
	}
	out := mustRun(t, c, shell(t, c, `cd "$1"; cat tools/t data2/x data/db; echo " $(ls data 2>&1 | wc -l)" >/dev/null`, root))
	if string(out.Stdout) != "tools/tdata2/x" {
		t.Errorf("read %q", out.Stdout)
	}
}

// Hidden are files behind links, files that take the place of a link, and files that come later.
func TestHiddenFilesStayHidden(t *testing.T) {
	for name, test := range map[string]struct{ hidden, make, change, read string }{
		"file":               {"conf/key", `mkdir conf; echo secret > conf/key`, `:`, "conf/key"},
		"link":               {"key", `mkdir v1; echo secret > v1/key; ln -s v1/key key`, `:`, "v1/key"},
		"through a link":     {"alias/key", `mkdir conf; ln -s conf alias; echo secret > conf/key`, `:`, "conf/key"},
		"in place of a link": {"conf/key", `mkdir conf; ln -s /nowhere conf/key`, `rm conf/key; echo secret > conf/key`, "conf/key"},
		"renewed":            {"conf/key", `mkdir conf; echo old > conf/key`, `echo secret > conf/new; mv conf/new conf/key`, "conf/key"},
		"later":              {"alias/key", `mkdir conf; ln -s conf alias`, `echo secret > conf/key`, "conf/key"},
		"folder later":       {"conf/deep/key", `:`, `mkdir -p conf/deep; echo secret > conf/deep/key`, "conf/deep/key"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			prepare := func(script string) {
				t.Helper()
				line := exec.Command("/bin/sh", "-ec", script)
				line.Dir = root
				if output, err := line.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v %s", script, err, output)
				}
			}
			prepare(`echo open > open; ` + test.make)
			c, err := process.New(process.Config{
				Logger: slog.New(slog.DiscardHandler), Scratch: filepath.Join(t.TempDir(), "scratch"), Path: root + ":/usr/bin:/bin",
				HiddenPaths: []string{filepath.Join(root, test.hidden)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if c.Landlock() == 0 {
				peer.Skip(t, "this kernel has no Landlock")
			}
			prepare(test.change + `; grep -q secret ` + test.read)
			out := mustRun(t, c, shell(t, c, `cd "$1" && cat open; cat "$2" "$3"`, root, test.hidden, test.read))
			if string(out.Stdout) != "open\n" {
				t.Errorf("read %q, want only the open file", out.Stdout)
			}
		})
	}
}

func TestLeftoversAreSwept(t *testing.T) {
	scratch := filepath.Join(t.TempDir(), "scratch")
	locked := filepath.Join(scratch, "p1", "locked", "deeper")
	if err := os.MkdirAll(locked, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(locked), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := process.New(process.Config{Logger: slog.New(slog.DiscardHandler), Scratch: scratch}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(scratch)
	if err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestSlotsBound(t *testing.T) {
	c, err := process.New(process.Config{Logger: slog.New(slog.DiscardHandler), Scratch: t.TempDir(), Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	release, err := c.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := c.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second slot: %v", err)
	}
	release()
	release() // giving back twice gives back once
	again, err := c.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer again()
	if _, err := c.Acquire(ctx); err == nil {
		t.Error("releasing twice made two slots")
	}
}

func TestWorkerExchanges(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	w, err := c.StartWorker("echo", process.WorkerLimits{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range 3 {
		request := fmt.Sprintf("hello %d", i)
		if answer, err := w.Exchange([]byte(request)); err != nil || string(answer) != request {
			t.Fatalf("answer %q, %v", answer, err)
		}
	}
}

func TestWorkerIsConfined(t *testing.T) {
	t.Setenv("CHARGEHAND_SECRET", "do-not-tell")
	c := newConfiner(t, process.Limits{})
	w, err := c.StartWorker("nosy", process.WorkerLimits{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	answer, err := w.Exchange(nil)
	if err != nil {
		t.Fatal(err, w.LastWords())
	}
	if c.Landlock() == 0 {
		peer.Skip(t, "this kernel has no Landlock")
	}
	if string(answer) != `read: denied, write: denied, listen: denied, execute: denied, secret: ""` {
		t.Errorf("a worker got: %s", answer)
	}
}

func TestUnknownWorkerSaysSo(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	w, err := c.StartWorker("unknown", process.WorkerLimits{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Exchange(nil)
	w.Close()
	if err == nil || !strings.Contains(w.LastWords(), `no helper mode "unknown"`) {
		t.Errorf("error %v, last words %q", err, w.LastWords())
	}
}

func TestForgottenHelperStops(t *testing.T) {
	cmd := exec.Command(selfPath(), "child", "helperless", t.TempDir())
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 70 || !strings.Contains(string(output), "MaybeHelper must be the first call") {
		t.Errorf("exit code %d, %v, output %q", cmd.ProcessState.ExitCode(), err, output)
	}
}

func BenchmarkRun(b *testing.B) {
	c, err := process.New(process.Config{Logger: slog.New(slog.DiscardHandler), Scratch: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	dir, err := c.NewDir()
	if err != nil {
		b.Fatal(err)
	}
	defer c.RemoveDir(dir)
	cmd := process.Command{Path: "/bin/sh", Args: []string{"-c", "exit 0"}, Dir: dir}
	for b.Loop() {
		if _, err := c.Run(b.Context(), cmd); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWorkerStart(b *testing.B) {
	c, err := process.New(process.Config{Logger: slog.New(slog.DiscardHandler), Scratch: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		w, err := c.StartWorker("echo", process.WorkerLimits{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.Exchange([]byte("x")); err != nil {
			b.Fatal(err)
		}
		w.Close()
	}
}
