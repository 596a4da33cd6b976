package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/activity/process"
)

// waitGone waits until a process has ended, by whichever process it is reaped.
func waitGone(t *testing.T, pid int, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	for alive(pid) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d is still alive after %s", pid, within)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	text := string(stat)
	state := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])[0]
	return state != "Z" && state != "X"
}

// mark is an argument by which a test knows its processes: numbers that they see of themselves
// may be those of a namespace.
func mark() string { return fmt.Sprintf("60.%09d", rand.IntN(1e9)) }

// marked lists the processes with that argument.
func marked(t *testing.T, mark string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || !alive(pid) {
			continue
		}
		if line, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline"); err == nil && slices.Contains(strings.Split(string(line), "\x00"), mark) {
			found = append(found, pid)
		}
	}
	return found
}

func TestDaemonsDieWithTheCommand(t *testing.T) {
	c, mark := newConfiner(t, process.Limits{}), mark()
	if out := mustRun(t, c, childCommand(t, c, "daemon", "end", mark)); string(out.Stdout) != "ready\n" {
		t.Errorf("stdout %q stderr %q", out.Stdout, out.Stderr)
	}
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("processes %d outlived their command", left)
	}
}

func TestBackgroundChildrenDoNotDelayTheEnd(t *testing.T) {
	c, mark := newConfiner(t, process.Limits{}), mark()
	begin := time.Now()
	mustRun(t, c, shell(t, c, `sleep "$1" &`, mark))
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("processes %d outlived their command", left)
	}
}

// serve is the server of TestNothingSurvivesTheServer, in a process of its own.
func serve(scratch, mark string) int {
	c, err := process.New(process.Config{Scratch: scratch})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := c.NewDir()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// What the command says cannot come by stdout, which Run collects until the end.
	fmt.Println("dir", dir)
	_, _ = c.Run(context.Background(), process.Command{
		Path: "/bin/sh", Args: []string{"-c", `"$1" child daemon stay "$2" > said`, "sh", selfPath(), mark}, Dir: dir,
	})
	return 0
}

func TestNothingSurvivesTheServer(t *testing.T) {
	mark := mark()
	server := exec.Command(selfPath(), "child", "serve", filepath.Join(t.TempDir(), "scratch"), mark)
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill() }()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	dir, ok := strings.CutPrefix(strings.TrimSpace(line), "dir ")
	if err != nil || !ok {
		t.Fatalf("the server said %q, %v", line, err)
	}
	waitForText(t, filepath.Join(dir, "said"), "ready")
	var tree []int // the daemon's maker and the daemon
	for deadline := time.Now().Add(time.Minute); len(tree) < 2; <-time.After(2 * time.Millisecond) {
		tree = slices.DeleteFunc(marked(t, mark), func(pid int) bool { return pid == server.Process.Pid })
		if time.Now().After(deadline) {
			t.Fatalf("processes %d are not all there to begin with", tree)
		}
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	for _, pid := range tree {
		waitGone(t, pid, time.Minute)
	}
}

// waitForText waits until a file holds text.
func waitForText(t *testing.T, path, text string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
		if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), text) {
			return string(content)
		}
	}
	t.Fatalf("%s never held %q", filepath.Base(path), text)
	return ""
}

// The launcher is one process for all steps: its death is the end of those that run, not of
// those that come.
func TestLauncherIsReplaced(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	mustRun(t, c, shell(t, c, `true`))
	if process.Capabilities().Namespaces != nil {
		if found := launchers(t); len(found) > 0 {
			t.Errorf("launchers %d, though there are no namespaces", found)
		}
		return
	}
	cmd, mark := shell(t, c, `echo on > up; sleep "$1"`), mark()
	cmd.Args = append(cmd.Args, mark)
	done := make(chan error, 1)
	go func() {
		_, err := c.Run(t.Context(), cmd)
		done <- err
	}()
	waitForText(t, filepath.Join(cmd.Dir, "up"), "on")
	found := launchers(t)
	if len(found) != 1 {
		t.Fatalf("launchers %d, want one", found)
	}
	if err := syscall.Kill(found[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, process.ErrSupervisor) {
		t.Errorf("a step whose launcher died: %v", err)
	}
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("processes %d outlived their command", left)
	}
	if out := mustRun(t, c, shell(t, c, `echo again`)); string(out.Stdout) != "again\n" {
		t.Errorf("stdout %q", out.Stdout)
	}
}

// launchers lists those of this process.
func launchers(t *testing.T) []int {
	t.Helper()
	return slices.DeleteFunc(marked(t, "launch"), func(pid int) bool {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		return !strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid()))
	})
}

func TestStopAsksFirst(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	cmd := shell(t, c, `trap 'echo stopping; exit 0' TERM; echo on > up; while :; do sleep 0.01; done`)
	done := make(chan error, 1)
	var out process.Outcome
	go func() {
		var err error
		out, err = c.Run(ctx, cmd)
		done <- err
	}()
	waitForText(t, filepath.Join(cmd.Dir, "up"), "on")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if string(out.Stdout) != "stopping\n" {
		t.Errorf("stdout %q: the command was not asked to stop", out.Stdout)
	}
}

func TestStopKillsTheStubborn(t *testing.T) {
	c := newConfiner(t, process.Limits{Grace: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	cmd := shell(t, c, `echo on > up; exec "$1" child stubborn > ready`, selfPath())
	done := make(chan error, 1)
	go func() {
		_, err := c.Run(ctx, cmd)
		done <- err
	}()
	waitForText(t, filepath.Join(cmd.Dir, "ready"), "ready")
	begin := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

func TestRunWithAnEndedContextStartsNothing(t *testing.T) {
	c := newConfiner(t, process.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := shell(t, c, `echo on > up`)
	if _, err := c.Run(ctx, cmd); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "up")); err == nil {
		t.Error("the command ran")
	}
}

func wantLimit(t *testing.T, err error, want process.Limit) {
	t.Helper()
	var limit *process.LimitError
	if !errors.As(err, &limit) || limit.Limit != want {
		t.Errorf("error %v, want the limit %q", err, want)
	}
}

func TestTimeLimit(t *testing.T) {
	c := newConfiner(t, process.Limits{Time: 2 * time.Second, Grace: 50 * time.Millisecond})
	out, err := c.Run(t.Context(), shell(t, c, `echo before; while :; do :; done`))
	wantLimit(t, err, process.LimitTime)
	if string(out.Stdout) != "before\n" {
		t.Errorf("stdout %q: what was written before the limit is lost", out.Stdout)
	}
}

func TestMemoryLimits(t *testing.T) {
	limits := process.Limits{MemoryBytes: 256 << 20}
	t.Run("data segment", func(t *testing.T) {
		c := newConfiner(t, limits)
		out, err := c.Run(t.Context(), childCommand(t, c, "hog"))
		var limit *process.LimitError
		if err == nil && out.Code == 0 || err != nil && !errors.As(err, &limit) {
			t.Errorf("code %d, error %v: the hog got what it wanted", out.Code, err)
		}
		if out.MaxBytes > limits.MemoryBytes+64<<20 {
			t.Errorf("it had %d bytes", out.MaxBytes)
		}
	})
	t.Run("shared memory", func(t *testing.T) {
		c := newConfiner(t, limits)
		_, err := c.Run(t.Context(), childCommand(t, c, "shared-hog"))
		wantLimit(t, err, process.LimitMemory)
	})
	t.Run("tree", func(t *testing.T) {
		c := newConfiner(t, limits)
		_, err := c.Run(t.Context(), shell(t, c, `for i in 1 2 3; do "$1" child hold & done; wait`, selfPath()))
		wantLimit(t, err, process.LimitMemory)
	})
}

func TestOutputLimit(t *testing.T) {
	c := newConfiner(t, process.Limits{OutputBytes: 1 << 20})
	begin := time.Now()
	out, err := c.Run(t.Context(), shell(t, c, `cat /dev/zero & cat /dev/zero >&2`))
	wantLimit(t, err, process.LimitOutput)
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	if size := len(out.Stdout) + len(out.Stderr); size > 1<<20 {
		t.Errorf("%d bytes were kept", size)
	}
	exact, err := c.Run(t.Context(), shell(t, c, `head -c 1048576 /dev/zero`))
	if err != nil || len(exact.Stdout) != 1<<20 {
		t.Errorf("exactly the limit: %d bytes, %v", len(exact.Stdout), err)
	}
}

func TestDiskLimits(t *testing.T) {
	c := newConfiner(t, process.Limits{DiskBytes: 8 << 20, FileBytes: 1 << 20})
	out := mustRun(t, c, shell(t, c, `head -c 2000000 /dev/zero > big; echo $?; wc -c < big`))
	if fields := strings.Fields(string(out.Stdout)); len(fields) != 2 || fields[0] == "0" || fields[1] != "1048576" {
		t.Errorf("a file over the limit: %q", out.Stdout)
	}
	_, err := c.Run(t.Context(), shell(t, c, `i=0; while [ $i -lt 40 ]; do head -c 1000000 /dev/zero > f$i; i=$((i+1)); done; sleep 60`))
	wantLimit(t, err, process.LimitDisk)
}

// Files count for as long as a process holds them open, whether or not they have a name, and once however many do.
func TestDiskLimitOfFilesWithoutNames(t *testing.T) {
	c := newConfiner(t, process.Limits{DiskBytes: 8 << 20, FileBytes: 4 << 20})
	_, err := c.Run(t.Context(), shell(t, c, `for i in 3 4 5 6; do eval "exec $i>f"; rm f; head -c 3000000 /dev/zero >&$i; done; sleep 60`))
	wantLimit(t, err, process.LimitDisk)
	_, err = c.Run(t.Context(), shell(t, c, `hold() { exec 3>$1; rm $1; head -c 3000000 /dev/zero >&3; sleep 60; }
		hold a & hold b & head -c 3500000 /dev/zero > f1; sleep 60`))
	wantLimit(t, err, process.LimitDisk)
	mustRun(t, c, shell(t, c, `exec 3>f; rm f; head -c 3000000 /dev/zero >&3; exec 4>&3 5>&3 6>&3; sleep 2.5 & sleep 2.5`))
}

// The bombs of this test are finite, some thousand processes, lest a mistake harms more than
// the test. The limit must end them long before they are complete.
func TestForkBombIsBounded(t *testing.T) {
	c := newConfiner(t, process.Limits{Processes: 64, Time: 30 * time.Second})
	for name, script := range map[string]string{
		"tree":     `[ $1 -gt 0 ] && { /bin/sh $0 $(($1-1)) & /bin/sh $0 $(($1-1)) & }; sleep 30`,
		"daemons":  `[ $1 -gt 0 ] && { setsid -f /bin/sh $0 $(($1-1)); setsid -f /bin/sh $0 $(($1-1)); }; sleep 30`,
		"sleepers": `i=0; while [ $i -lt 2000 ]; do sleep 30 & i=$((i+1)); done; wait`,
		"chain":    `[ $1 -gt -300 ] && /bin/sh $0 $(($1-1)); sleep 30`,
	} {
		t.Run(name, func(t *testing.T) {
			cmd := shell(t, c, "")
			path := filepath.Join(cmd.Dir, "bomb")
			if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd.Args = []string{path, "10"}
			begin := time.Now()
			_, err := c.Run(t.Context(), cmd)
			wantLimit(t, err, process.LimitProcesses)
			t.Logf("ended after %s", time.Since(begin))
		})
	}
}
