package process

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// commandNice is the priority of commands: they yield to the server.
const commandNice = 10

// supervisorNice lets the supervisor of a root server win against a fork bomb.
const supervisorNice = -10

// prepareSupervisor makes this process the reaper of all that comes below it, and sets what
// the command inherits from the process as a whole.
func prepareSupervisor(s spec) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	// Not dumpable: no process of the same user reads the supervisor's memory.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect memory: %w", err)
	}
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, supervisorNice) // only root may
	cpuSeconds := uint64(math.Ceil(s.Limits.Time.Seconds()+s.Limits.Grace.Seconds()))*uint64(runtime.NumCPU()) + 10
	for _, limit := range []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, uint64(s.Limits.FileBytes)},
		{unix.RLIMIT_CPU, cpuSeconds},
		{unix.RLIMIT_MSGQUEUE, 0}, // message queues outlive processes
		{unix.RLIMIT_NOFILE, uint64(s.Limits.OpenFiles)},
	} {
		if err := lowerLimit(limit.resource, limit.value); err != nil {
			return err
		}
	}
	return nil
}

// lowerLimit sets soft and hard limit to value, or to the hard limit if that is lower.
func lowerLimit(resource int, value uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return fmt.Errorf("read resource limit %d: %w", resource, err)
	}
	value = min(value, now.Max)
	// syscall, not unix: it tells the runtime not to restore its own limit of open files.
	if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
		return fmt.Errorf("set resource limit %d: %w", resource, err)
	}
	return nil
}

// startCommand forks the command from a thread that is confined first. What a confined
// process may signal is its own Landlock domain, and that thread is in it: killing it would
// kill the supervisor. So the command waits at a gate until the thread has ended, and all
// that is left of the supervisor is outside.
func startCommand(s spec) (pid int, err error) {
	if err := checkExecutable(s.Path); err != nil {
		return 0, err
	}
	gateR, gateW, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("gate: %w", err)
	}
	defer gateW.Close()
	limits := map[int]uint64{unix.RLIMIT_NPROC: uint64(s.Threads)}
	if !raceDetector {
		limits[unix.RLIMIT_DATA] = uint64(s.Limits.MemoryBytes)
	}
	restore := limitForFork(limits)
	thread := make(chan int)
	onThreadOfItsOwn(func() {
		if err = confineThread(s); err == nil {
			pid, err = forkExec(s, gateR)
		}
		thread <- unix.Gettid()
	})
	tid := <-thread
	gateR.Close()
	restore(pid)
	if err != nil {
		return 0, err
	}
	// The OOM killer takes commands first. Best effort: the file is the kernel's.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("500"), 0)
	if s.Cgroup != "" {
		if err := joinCgroup(s.Cgroup, pid); err != nil {
			return pid, err // the gate stays shut, and its end ends the command
		}
	}
	if err := waitThread(tid); err != nil {
		return pid, err
	}
	_, err = gateW.WriteString("\n")
	return pid, err
}

// onThreadOfItsOwn runs work on a thread that ends with it. The main thread is never taken: it
// stands for the process when signals are checked, and the runtime does not let it end.
func onThreadOfItsOwn(work func()) {
	begun := make(chan struct{})
	go func() {
		runtime.LockOSThread() // not unlocked: so the thread ends with the goroutine
		if unix.Gettid() != unix.Getpid() {
			close(begun)
			work()
			return
		}
		onThreadOfItsOwn(work) // while this goroutine holds the main thread
		close(begun)
		runtime.UnlockOSThread()
	}()
	<-begun
}

// startBarrier is the script that a command waits in: for a line on descriptor 3, which only the
// supervisor writes. The end of the pipe instead of a line ends it.
const startBarrier = `read -r go <&3 && exec "$@" 3<&-`

// waitThread waits until a thread of this process has ended.
func waitThread(tid int) error {
	pause := 20 * time.Microsecond
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); pause = min(2*pause, 10*time.Millisecond) {
		if err := unix.Tgkill(os.Getpid(), tid, 0); errors.Is(err, unix.ESRCH) {
			return nil
		}
		time.Sleep(pause)
	}
	return errors.New("the thread that started the command does not end")
}

// checkExecutable tells what the gate could only tell by an exit code.
func checkExecutable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case err != nil:
		return fmt.Errorf("%s cannot be looked at", filepath.Base(path))
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s may not be executed", filepath.Base(path))
	}
	return nil
}

func confineThread(s spec) error {
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), commandNice)
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if !s.Unconfined {
		writePaths := []string{s.Dir}
		if s.Namespaced {
			writePaths = append(writePaths, sharedFolder)
		}
		if err := restrictThread(s.ReadPaths, writePaths); err != nil {
			return err
		}
	}
	if !s.Filtered {
		return nil
	}
	return filter{sockets: true, exec: true, memfd: s.Cgroup != ""}.install(0)
}

// forkExec starts the command at its gate. The errors tell the author what to mend.
func forkExec(s spec, gateR *os.File) (int, error) {
	const sh = "/bin/sh"
	args := append([]string{sh, "-c", startBarrier, sh}, s.Args...)
	pid, err := syscall.ForkExec(sh, args, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: []uintptr{0, 1, 2, gateR.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if errors.Is(err, syscall.E2BIG) {
		return 0, fmt.Errorf("a text among command, arguments and environment is over 128 KiB, or all together are over %s: pass large data by stdin or a file", argumentSpace())
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", sh, err)
	}
	return pid, nil
}

// argumentSpace is what the kernel grants argv and environment: a quarter of the stack.
func argumentSpace() string {
	var stack syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_STACK, &stack); err != nil || stack.Cur > 24<<20 {
		return "6 MiB"
	}
	return byteSize(int64(stack.Cur / 4))
}

// limitForFork sets soft limits that the command inherits but the supervisor cannot live
// with. It returns what gives the supervisor its own back and makes the command's hard. A
// limit of 0 is left alone.
func limitForFork(limits map[int]uint64) (restore func(pid int)) {
	own := map[int]unix.Rlimit{}
	for resource, value := range limits {
		var now unix.Rlimit
		if value == 0 || unix.Getrlimit(resource, &now) != nil {
			continue
		}
		own[resource] = now
		_ = unix.Setrlimit(resource, &unix.Rlimit{Cur: min(value, now.Cur), Max: now.Max})
	}
	return func(pid int) {
		for resource, was := range own {
			_ = unix.Setrlimit(resource, &was)
			if value := min(limits[resource], was.Max); pid > 0 {
				_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
			}
		}
	}
}

// keptCapabilities let a root server's commands handle files as root is used to.
const keptCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID

// dropCapabilities takes every other capability from the calling thread and from what it
// executes. Without privileges there is little to drop.
func dropCapabilities() error {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	for capability := range uintptr(64) {
		if keptCapabilities&(1<<capability) != 0 {
			continue
		}
		// Fails without CAP_SETPCAP, and past the last capability that this kernel knows.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
			break
		}
	}
	keep := [2]unix.CapUserData{{
		Effective: have[0].Effective & keptCapabilities, Permitted: have[0].Permitted & keptCapabilities,
	}}
	if err := unix.Capset(&header, &keep[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// threadHeadroom is how many threads commands may add to those that the user has.
const threadHeadroom = 1024

// threadLimit is RLIMIT_NPROC for a command. The limit counts every thread of the user, so
// it is set above what the user had at most a minute ago. Root is exempt from it.
func (c *Confiner) threadLimit() int {
	if os.Geteuid() == 0 {
		return 0
	}
	c.threadsMu.Lock()
	defer c.threadsMu.Unlock()
	if time.Since(c.threadsAt) > time.Minute {
		c.threads, c.threadsAt = userThreads(os.Getuid()), time.Now()
	}
	return c.threads + threadHeadroom
}
