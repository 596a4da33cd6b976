package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Plain files of cgroup2 are all that is needed here: a folder, four numbers in it, one process
// put into it. A library for cgroups brings clients of D-Bus and eBPF along.

// The names below the delegated cgroup. Processes may only be in leaves, so the server moves
// into one of its own.
const (
	serverCgroup = "chargehand"
	stepCgroups  = "step-"
)

// neededControllers must be delegated, wantedControllers may be.
var (
	neededControllers = []string{"memory", "pids"}
	wantedControllers = []string{"cpu"}
)

// commandWeight is the share of CPU of a step against 100 for the server: as commandNice.
const commandWeight = 10

// cgroupTree is a part of the machine's tree that was delegated to the server.
type cgroupTree struct {
	base        string
	controllers []string // those that are on for the folders below
}

// findCgroup finds the part of the tree that this process may shape. An error tells why there is none.
func findCgroup() (*cgroupTree, error) {
	own, atRoot, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	if filepath.Base(own) == serverCgroup {
		own = filepath.Dir(own) // an earlier Confiner moved this process
	}
	if !exists(filepath.Join(own, "cgroup.type")) {
		return nil, errors.New("the server is in the root of the tree")
	}
	if err := checkDelegated(own, atRoot); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(own, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	there := strings.Fields(string(text))
	tree := &cgroupTree{base: own}
	for _, name := range neededControllers {
		if !slices.Contains(there, name) {
			return nil, fmt.Errorf("the controller %q is not there", name)
		}
		tree.controllers = append(tree.controllers, name)
	}
	for _, name := range wantedControllers {
		if slices.Contains(there, name) {
			tree.controllers = append(tree.controllers, name)
		}
	}
	return tree, nil
}

// ownCgroup is the folder of this process's cgroup, and whether it is the root of what can be
// seen of the tree from here.
func ownCgroup() (dir string, atRoot bool, err error) {
	mount, root, err := cgroupMount()
	if err != nil {
		return "", false, err
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false, err
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			if root != "/" {
				path = strings.TrimPrefix(path, root)
			}
			return filepath.Join(mount, path), path == "/" || path == "", nil
		}
	}
	return "", false, errors.New("this process has no cgroup of version 2")
}

// cgroupMount is where the tree is mounted, and which of its folders is.
func cgroupMount() (mount, root string, err error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		if fields := strings.Fields(before); len(fields) > 4 && strings.HasPrefix(after, "cgroup2 ") {
			return fields[4], fields[3], nil
		}
	}
	return "", "", errors.New("cgroups of version 2 are not mounted")
}

// checkDelegated looks whether the cgroup was given to this server. What root may write is no
// sign of that: systemd marks what it delegates, and the root of a container is its own.
func checkDelegated(dir string, atRoot bool) error {
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if err := unix.Faccessat(unix.AT_FDCWD, filepath.Join(dir, name), unix.W_OK, unix.AT_EACCESS); err != nil {
			return errors.New("it is not delegated to the server")
		}
	}
	if os.Geteuid() != 0 || atRoot {
		return nil
	}
	for _, mark := range []string{"user.delegate", "trusted.delegate"} {
		var value [1]byte
		if n, err := unix.Getxattr(dir, mark, value[:]); err == nil && n == 1 && value[0] == '1' {
			return nil
		}
	}
	return errors.New("it is not delegated to the server")
}

// prepare moves this process into a leaf and turns the controllers on.
func (t *cgroupTree) prepare() error {
	leaf := filepath.Join(t.base, serverCgroup)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := joinCgroup(leaf, os.Getpid()); err != nil {
		return err
	}
	var on strings.Builder
	for _, name := range t.controllers {
		fmt.Fprintf(&on, "+%s ", name)
	}
	if err := setCgroup(t.base, "cgroup.subtree_control", on.String()); err != nil {
		back := joinCgroup(t.base, os.Getpid())
		_ = os.Remove(leaf)
		if errors.Is(err, unix.EBUSY) {
			err = errors.New("there are other processes in it")
		}
		return errors.Join(err, back)
	}
	leftovers, _ := filepath.Glob(filepath.Join(t.base, stepCgroups+"*")) // the pattern is well formed
	for _, leftover := range leftovers {
		_ = os.Remove(leftover) // fails while a process is in it
	}
	return nil
}

// newStep makes a cgroup for one command. The caller removes it with remove.
func (t *cgroupTree) newStep(limits Limits) (string, error) {
	dir, err := os.MkdirTemp(t.base, stepCgroups)
	if err != nil {
		return "", fmt.Errorf("cgroup of the step: %w", err)
	}
	for _, s := range []struct {
		controller, file, value string
		optional                bool // older kernels, or kernels without swap, do not have it
	}{
		{"memory", "memory.max", strconv.FormatInt(limits.MemoryBytes, 10), false},
		{"memory", "memory.swap.max", "0", true},
		{"memory", "memory.oom.group", "1", true},
		{"pids", "pids.max", strconv.Itoa(limits.Processes + threadHeadroom), false},
		{"cpu", "cpu.weight", strconv.Itoa(commandWeight), true},
	} {
		if !slices.Contains(t.controllers, s.controller) {
			continue
		}
		if err := setCgroup(dir, s.file, s.value); err != nil && !s.optional {
			return "", errors.Join(err, os.Remove(dir))
		}
	}
	return dir, nil
}

// removeStep removes the cgroup of a step whose processes have all been waited for. The kernel
// may take a moment to see that.
func (t *cgroupTree) removeStep(dir string) error {
	var err error
	for pause := time.Millisecond; pause < time.Second; pause *= 2 {
		if err = unix.Rmdir(dir); err == nil || !errors.Is(err, syscall.EBUSY) {
			break
		}
		time.Sleep(pause)
	}
	if err != nil {
		return fmt.Errorf("remove cgroup %s: %w", dir, err)
	}
	return nil
}

func joinCgroup(dir string, pid int) error {
	return setCgroup(dir, "cgroup.procs", strconv.Itoa(pid))
}

func setCgroup(dir, file, value string) error {
	if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644); err != nil {
		return fmt.Errorf("cgroup: %w", err)
	}
	return nil
}

// outOfMemory reports whether the kernel killed a process because the cgroup was full.
func outOfMemory(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "memory.events"))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if count, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("oom_kill ")); ok {
			return string(count) != "0"
		}
	}
	return false
}
