package process

import (
	"fmt"
	"os"
	"runtime"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// selfPath names our binary by its inode, so that an upgrade on disk does not mix versions.
func selfPath() string { return "/proc/self/exe" }

// superviseMain runs one command as the spec on the control pipe says.
func superviseMain() int {
	control, reports := os.NewFile(controlFD, "control"), os.NewFile(statusFD, "status")
	if control == nil || reports == nil {
		return helperFailed
	}
	// Only stdin, stdout and stderr are passed to the command, whichever code opened other files.
	if err := unix.CloseRange(controlFD, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		closeOnExec()
	}
	var s spec
	if err := readJSON(control, &s); err != nil {
		fmt.Fprintln(os.Stderr, "chargehand's helper mode is started by the server only")
		return helperFailed
	}
	if s.Namespaced {
		if err := arrangeNamespaces(); err != nil {
			fmt.Fprintln(os.Stderr, "arrange namespaces:", err)
			return helperFailed
		}
	}
	if err := prepareSupervisor(s); err != nil {
		_ = writeJSON(reports, status{StartError: "prepare the supervisor: " + err.Error()})
		return 0
	}
	pid, err := startCommand(s)
	if err != nil {
		_ = writeJSON(reports, status{StartError: err.Error()})
		return 0
	}
	releaseStdio()
	begun := status{Pid: pid}
	if s.Namespaced {
		begun.Pid = 0
	}
	_ = writeJSON(reports, begun)
	end := newSupervisor(s, pid).run(control)
	_ = writeJSON(reports, end)
	return 0
}

// closeOnExec is close_range for kernels before 5.11.
func closeOnExec() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		unix.CloseOnExec(controlFD)
		unix.CloseOnExec(statusFD)
		return
	}
	for _, entry := range entries {
		var fd int
		if _, err := fmt.Sscan(entry.Name(), &fd); err == nil && fd >= controlFD {
			unix.CloseOnExec(fd)
		}
	}
}

// releaseStdio leaves the ends of the pipes to the command alone, so that the server sees
// their end when the command's side closes.
func releaseStdio() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		_ = unix.Dup3(null, fd, unix.O_CLOEXEC)
	}
}

// yieldToServer gives all threads of this process the priority of commands, unless theirs, which is that of the
// server, is lower already.
func yieldToServer() {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil && 20-raw >= commandNice { // the kernel answers 1 to 40
		return
	}
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, commandNice)
}

// confineWorker confines all threads of this process.
func confineWorker(memory int64) error {
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		closeOnExec()
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0)
	yieldToServer()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if err := lowerLimit(unix.RLIMIT_CORE, 0); err != nil {
		return err
	}
	if !raceDetector {
		if err := lowerLimit(unix.RLIMIT_DATA, uint64(memory)); err != nil {
			return err
		}
	}
	// No path and no port is opened: nothing of them is allowed.
	if err := landlock.V9.BestEffort().Restrict(); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if filterSupport() != nil {
		return nil // it was logged for the operator
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	return filter{}.install(unix.SECCOMP_FILTER_FLAG_TSYNC)
}
