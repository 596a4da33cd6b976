package process

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
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

// A server in a delegated cgroup moves into a leaf, and gives each step a cgroup that goes with
// it. Root can delegate one here, though on some machines without the controllers.
func TestStepsHaveCgroups(t *testing.T) {
	mount, _, err := cgroupMount()
	if err != nil || os.Geteuid() != 0 {
		checkCgroupIsMissed(t)
		return
	}
	dir, err := os.MkdirTemp(mount, "chargehand-test-")
	if err != nil {
		t.Logf("no cgroup can be made here: %v", err)
		checkCgroupIsMissed(t)
		return
	}
	defer os.Remove(dir)
	defer os.Remove(filepath.Join(dir, serverCgroup))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("/bin/sh", "-c", `echo $$ > "$1/cgroup.procs" && exec "$2" child cgroup "$3"`, "sh", dir, self, t.TempDir())
	output, err := server.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], filepath.Base(dir)+"/"+stepCgroups) || lines[1] != serverCgroup {
		t.Errorf("cgroups of the step, and what is left: %q", lines)
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

// CgroupServer is the server of TestStepsHaveCgroups. It runs one step. The tree has no
// controllers, lest the test changes the machine's own settings.
func CgroupServer(scratch string) int {
	own, _, err := ownCgroup()
	if err == nil {
		tree := &cgroupTree{base: own}
		if err = tree.prepare(); err == nil {
			err = runInCgroup(tree, scratch)
		}
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return 1
	}
	return 0
}

func runInCgroup(tree *cgroupTree, scratch string) error {
	c, err := New(Config{Logger: slog.New(slog.DiscardHandler), Scratch: scratch})
	if err != nil {
		return err
	}
	c.cgroups = tree
	dir, err := c.NewDir()
	if err != nil {
		return err
	}
	out, err := c.Run(context.Background(), Command{Path: "/bin/sh", Args: []string{"-c", "sed -n 's/^0:://p' /proc/self/cgroup"}, Dir: dir})
	if err != nil {
		return err
	}
	_, _ = os.Stdout.Write(out.Stdout)
	entries, err := os.ReadDir(tree.base)
	for _, entry := range entries {
		if entry.IsDir() {
			_, _ = os.Stdout.WriteString(entry.Name() + "\n")
		}
	}
	return err
}
