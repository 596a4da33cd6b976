package process

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A process id is only a number, and numbers come round again: on a busy machine within
// seconds. Nothing here is signalled by a number that was read a moment ago. The walk opens a
// descriptor of each process, and only then makes sure that it is a child of a parent whose
// own descriptor still answers; by induction from this process down it is a descendant.

// found is one descendant during a walk. It must not be kept.
type found struct {
	pid   int
	fd    int  // pidfd; -1 on kernels before 5.3
	state byte // as in /proc/<pid>/stat; 'T': stopped, 'Z': zombie
}

func (f found) signal(s syscall.Signal) {
	if f.fd < 0 {
		_ = unix.Kill(f.pid, s)
		return
	}
	_ = unix.PidfdSendSignal(f.fd, s, nil, 0)
}

// maxWalkDepth bounds recursion and open descriptors. What is deeper comes up as the
// processes above it die.
const maxWalkDepth = 512

// visitor is called before and after the children of each descendant. Either may be nil.
// The walk ends when before returns false.
type visitor struct {
	before func(found) bool
	after  func(found)
}

// walkTree visits all descendants of this process. Processes that come or go meanwhile may be
// missed: callers ask again.
func walkTree(v visitor) {
	w := walk{visitor: v, children: childrenOf}
	if self := strconv.Itoa(os.Getpid()); !exists("/proc/" + self + "/task/" + self + "/children") {
		w.children = childrenByScan()
	}
	w.below(found{pid: os.Getpid(), fd: -1}, 0)
}

type walk struct {
	visitor
	children func(pid int) []int
}

func (w *walk) below(parent found, depth int) bool {
	for _, pid := range w.children(parent.pid) {
		if !w.one(parent, pid, depth) {
			return false
		}
	}
	return true
}

func (w *walk) one(parent found, pid, depth int) bool {
	child := found{pid: pid, fd: -1}
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case err == nil:
		child.fd = fd
		defer func() { _ = unix.Close(fd) }()
	case !errors.Is(err, unix.ENOSYS):
		return true // it has ended, or there are too many: the next walk sees it
	}
	var ppid int
	if child.state, ppid = stateOf(pid); ppid != parent.pid {
		return true
	}
	if parent.fd >= 0 && unix.PidfdSendSignal(parent.fd, 0, nil, 0) != nil {
		return true // the parent's number may be another process's by now
	}
	if w.before != nil && !w.before(child) {
		return false
	}
	if depth < maxWalkDepth && !w.below(child, depth+1) {
		return false
	}
	if w.after != nil {
		w.after(child)
	}
	return true
}

// descendants lists the processes below this one, at most limit of them unless that is 0.
func descendants(limit int) []int {
	var pids []int
	walkTree(visitor{before: func(f found) bool {
		pids = append(pids, f.pid)
		return limit == 0 || len(pids) < limit
	}})
	return pids
}

// signalTree signals all descendants.
func signalTree(s syscall.Signal) {
	walkTree(visitor{before: func(f found) bool { f.signal(s); return true }})
}

// freezeTree stops all descendants, parents first so that they fork no more, and reports
// whether one was still running.
func freezeTree() (fresh bool) {
	walkTree(visitor{before: func(f found) bool {
		if f.state != 'T' && f.state != 'Z' && f.state != 'X' {
			f.signal(unix.SIGSTOP)
			fresh = true
		}
		return true
	}})
	return fresh
}

// killTree kills all descendants, children first: those of a dead parent move.
func killTree() {
	walkTree(visitor{after: func(f found) { f.signal(unix.SIGKILL) }})
}

// childrenOf lists the children of all threads of a process.
func childrenOf(pid int) []int {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return nil // it has ended
	}
	var children []int
	for _, thread := range threads {
		text, err := os.ReadFile(tasks + "/" + thread.Name() + "/children")
		if err != nil {
			continue
		}
		for _, field := range bytes.Fields(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// childrenByScan finds children by the parents of all processes of the machine, for kernels
// without CONFIG_PROC_CHILDREN.
func childrenByScan() func(pid int) []int {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return func(int) []int { return nil }
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if _, parent := stateOf(pid); parent > 0 {
				children[parent] = append(children[parent], pid)
			}
		}
	}
	return func(pid int) []int { return children[pid] }
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// stateOf reads the third and fourth field of /proc/<pid>/stat. The second is a name in
// brackets, which may hold anything.
func stateOf(pid int) (state byte, parent int) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, 0
	}
	if parent, err = strconv.Atoi(string(fields[1])); err != nil {
		return 0, 0
	}
	return fields[0][0], parent
}

// residentBytes adds up the resident memory of processes, shared pages once for each.
func residentBytes(pids []int) int64 {
	page := int64(os.Getpagesize())
	var total int64
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
		if err != nil {
			continue
		}
		if fields := bytes.Fields(text); len(fields) > 1 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			total += pages * page
		}
	}
	return total
}

// proportionalBytes adds up the memory of processes, shared pages divided among the sharers.
// It costs the kernel a walk over the page tables.
func proportionalBytes(pids []int) int64 {
	var total int64
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err != nil {
			total += residentBytes([]int{pid})
			continue
		}
		if _, after, ok := bytes.Cut(text, []byte("\nPss:")); ok {
			if fields := bytes.Fields(after); len(fields) > 0 {
				kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
				total += kib << 10
			}
		}
	}
	return total
}

// diskBytes adds up the blocks of the files below dir and stops as soon as limit is passed.
func diskBytes(dir string, limit int64) int64 {
	var total int64
	// What went away meanwhile, or cannot be listed, does not end the walk.
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		var stat unix.Stat_t
		if unix.Lstat(path, &stat) == nil {
			total += stat.Blocks * 512
		}
		if total > limit {
			return filepath.SkipAll
		}
		return nil
	})
	return total
}

// userThreads counts the threads of a user on this machine.
func userThreads(uid int) int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	total := 0
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		var stat unix.Stat_t
		if unix.Stat("/proc/"+entry.Name(), &stat) != nil || int(stat.Uid) != uid {
			continue
		}
		if threads, err := os.ReadDir("/proc/" + entry.Name() + "/task"); err == nil {
			total += len(threads)
		}
	}
	return total
}
