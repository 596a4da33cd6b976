package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The settings of a step's cgroup are files; a plain folder shows them as well.
func TestCgroupOfAStepIsBounded(t *testing.T) {
	tree := &cgroupTree{base: t.TempDir(), controllers: []string{"memory", "pids"}}
	dir, err := tree.newStep(Limits{MemoryBytes: 1 << 30, Processes: 256})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"memory.max": "1073741824", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "1280",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, want %q", file, got, err, want)
		}
	}
	if exists(filepath.Join(dir, "cpu.weight")) {
		t.Error("a controller that was not delegated is set")
	}
	for text, want := range map[string]bool{"low 0\noom 2\noom_kill 0\n": false, "oom 1\noom_kill 3\noom_group_kill 1\n": true, "": false} {
		if err := os.WriteFile(filepath.Join(dir, "memory.events"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := outOfMemory(dir); got != want {
			t.Errorf("%q: out of memory %t", text, got)
		}
	}
	if _, err := (&cgroupTree{base: filepath.Join(tree.base, "gone")}).newStep(Limits{}); err == nil {
		t.Error("a step without its cgroup would run without bounds")
	}
}

// makeCgroup makes a cgroup below the root of the tree, which root may do. Its error tells why there can be none.
func makeCgroup(t *testing.T) (string, error) {
	t.Helper()
	mount, _, err := cgroupMount()
	if err != nil {
		return "", err
	}
	if os.Geteuid() != 0 {
		return "", errors.New("only root may make one")
	}
	dir, err := os.MkdirTemp(mount, "chargehand-test-")
	if err != nil {
		return "", err
	}
	t.Cleanup(func() {
		_ = os.Remove(filepath.Join(dir, serverCgroup))
		_ = os.Remove(dir)
	})
	return dir, nil
}

// serveIn runs CgroupServer in a cgroup, and returns the lines that it wrote.
func serveIn(t *testing.T, dir string, command ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := `echo $$ > "$0/cgroup.procs" && exec "$@"`
	server := exec.Command("/bin/sh", append([]string{"-c", script, dir, self, "child", "cgroup", t.TempDir()}, command...)...)
	output, err := server.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return strings.Split(strings.TrimSpace(string(output)), "\n")
}

// A server in a delegated cgroup moves into a leaf, and gives each step a cgroup that goes with
// it. Root can delegate one here, though on some machines without the controllers.
func TestStepsHaveCgroups(t *testing.T) {
	dir, err := makeCgroup(t)
	if err != nil {
		t.Logf("no cgroup can be made here: %v", err)
		checkCgroupIsMissed(t)
		return
	}
	lines := serveIn(t, dir)
	if len(lines) != 2 || !strings.Contains(lines[0], filepath.Base(dir)+"/"+stepCgroups) || lines[1] != serverCgroup {
		t.Errorf("cgroups of the step, and what is left: %q", lines)
	}
}

// Memory that is written to and never mapped counts in the cgroup of a step. So a step that has one may make
// such files, and is stopped when they are larger than its limit. Where the machine gives new cgroups no
// controllers, nothing bounds it: the test leaves such settings alone.
func TestMemoryFilesFillTheCgroup(t *testing.T) {
	dir, err := makeCgroup(t)
	if err != nil {
		t.Skipf("no cgroup can be made here: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range neededControllers {
		if !slices.Contains(strings.Fields(string(text)), name) {
			t.Skipf("a cgroup here has not got the controller %q, only %q", name, text)
		}
	}
	lines := serveIn(t, dir, "attack", "fill-memfd")
	want := []string{"memfd_create: done", fmt.Sprintf("stopped at %d MiB: memory", FilledMiB), serverCgroup}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}

// checkCgroupIsMissed looks that a machine without delegation says so.
func checkCgroupIsMissed(t *testing.T) {
	t.Helper()
	if _, err := findCgroup(); err == nil {
		return // it is delegated after all
	}
	for _, fact := range Capabilities().Facts() {
		if strings.Contains(fact.Detail, "no cgroups of their own") && !fact.OK {
			return
		}
	}
	t.Error("the log does not say that there are no cgroups")
}

// FilledMiB is the limit of memory of the step of TestMemoryFilesFillTheCgroup.
const FilledMiB = 256

// CgroupServer is the server of the tests above. It runs one step: in a tree without controllers one that tells its
// cgroup, or else a child of the tests, with FilledMiB of memory.
func CgroupServer(scratch string, child []string) int {
	own, _, err := ownCgroup()
	if err == nil {
		tree := &cgroupTree{base: own}
		cmd := Command{Path: "/bin/sh", Args: []string{"-c", "sed -n 's/^0:://p' /proc/self/cgroup"}}
		if len(child) > 0 {
			self, _ := os.Executable()
			tree.controllers = neededControllers
			cmd = Command{Path: self, Args: append([]string{"child"}, child...), ReadPaths: []string{self}, Limits: Limits{MemoryBytes: FilledMiB << 20}}
		}
		if err = tree.prepare(); err == nil {
			err = runInCgroup(tree, scratch, cmd)
		}
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return 1
	}
	return 0
}

func runInCgroup(tree *cgroupTree, scratch string, cmd Command) error {
	c, err := New(Config{Logger: slog.New(slog.DiscardHandler), Scratch: scratch})
	if err != nil {
		return err
	}
	c.cgroups = tree
	if cmd.Dir, err = c.NewDir(); err != nil {
		return err
	}
	out, err := c.Run(context.Background(), cmd)
	_, _ = os.Stdout.Write(append(out.Stdout, out.Stderr...))
	var limit *LimitError
	if errors.As(err, &limit) {
		fmt.Printf("stopped at %d MiB: %s\n", limit.Limits.MemoryBytes>>20, limit.Limit)
	} else if err != nil {
		return err
	}
	entries, err := os.ReadDir(tree.base)
	for _, entry := range entries {
		if entry.IsDir() {
			_, _ = os.Stdout.WriteString(entry.Name() + "\n")
		}
	}
	return err
}
