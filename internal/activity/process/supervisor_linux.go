package process

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The intervals of the watch.
const (
	watchInterval = 25 * time.Millisecond
	diskInterval  = time.Second
	firstPause    = 2 * time.Millisecond // between two rounds of killing
	lastPause     = 100 * time.Millisecond
)

// maxFreezes bounds the rounds of stopping before a round of killing.
const maxFreezes = 8

// supervisor watches one command and all that comes of it.
type supervisor struct {
	spec spec
	main int
	end  status
	open unlinked

	mainEnded chan syscall.WaitStatus // the command itself; buffered
	allEnded  chan struct{}           // closed when no descendant is left
	usage     chan syscall.Rusage     // of the command; buffered
}

func newSupervisor(s spec, pid int) *supervisor {
	return &supervisor{
		spec: s, main: pid,
		mainEnded: make(chan syscall.WaitStatus, 1),
		usage:     make(chan syscall.Rusage, 1),
		allEnded:  make(chan struct{}),
	}
}

// run returns once nothing of the command is left.
func (s *supervisor) run(control *os.File) status {
	go s.reap()
	orders := make(chan byte)
	go listenControl(control, orders)
	watch := time.NewTicker(watchInterval)
	defer watch.Stop()
	disk := time.NewTicker(diskInterval)
	defer disk.Stop()
	limit := time.NewTimer(s.spec.Limits.Time)
	defer limit.Stop()
	var grace <-chan time.Time
	stop := func() {
		if grace == nil {
			signalTree(unix.SIGTERM)
			grace = time.After(s.spec.Limits.Grace)
		}
	}
	for {
		select {
		case wait := <-s.mainEnded:
			s.describe(wait)
			return s.finish()
		case _, open := <-orders:
			if !open { // the server is gone, or wants an end at once
				return s.finish()
			}
			s.end.Stopped = true
			stop()
		case <-limit.C:
			s.hit(LimitTime)
			stop()
		case <-grace:
			return s.finish()
		case <-watch.C:
			if s.overTree() {
				return s.finish()
			}
		case <-disk.C:
			if s.overDisk() {
				s.hit(LimitDisk)
				return s.finish()
			}
		}
	}
}

// hit records the first limit.
func (s *supervisor) hit(l Limit) {
	if s.end.Limit == "" {
		s.end.Limit = l
	}
}

// listenControl passes on what the server orders; its end is the end of the pipe.
func listenControl(control *os.File, orders chan<- byte) {
	defer close(orders)
	var order [1]byte
	for {
		if n, err := control.Read(order[:]); n == 0 || err != nil {
			return
		}
		orders <- order[0]
	}
}

// reap waits for every descendant: those of dead parents become our children.
func (s *supervisor) reap() {
	defer close(s.allEnded)
	for {
		var wait syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &wait, unix.WALL, &usage)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD: no child is left
			return
		case pid == s.main && (wait.Exited() || wait.Signaled()):
			s.usage <- usage
			s.mainEnded <- wait
		}
	}
}

func (s *supervisor) describe(wait syscall.WaitStatus) {
	s.end.Code = wait.ExitStatus()
	if wait.Signaled() {
		s.end.Code = 128 + int(wait.Signal())
		s.end.Signal = unix.SignalName(wait.Signal())
	}
	if s.spec.Cgroup != "" && outOfMemory(s.spec.Cgroup) {
		s.hit(LimitMemory)
	}
	usage := <-s.usage
	s.end.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	s.end.MaxBytes = usage.Maxrss << 10
}

// finish kills what is left and returns when it is gone.
func (s *supervisor) finish() status {
	// Mostly nothing is left, and the reaper is about to say so.
	select {
	case <-s.allEnded:
	case <-time.After(firstPause / 4):
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		select {
		case <-s.allEnded:
			s.end.Ended = true
			return s.end
		default:
		}
		s.killAll()
		select {
		case <-s.allEnded:
		case <-time.After(pause):
		}
	}
}

// killAll kills all descendants. In a PID namespace one call reaches all. Else they are stopped
// first, so that one that forks faster than it is found does not win, and this process runs before them.
func (s *supervisor) killAll() {
	if s.spec.Namespaced {
		_ = unix.Kill(-1, unix.SIGKILL)
		return
	}
	takePrecedence()
	for range maxFreezes {
		if !freezeTree() {
			break
		}
	}
	killTree()
}

// takePrecedence gives this process real-time priority. Only root may; without, the limit of
// threads bounds what it has to win against.
func takePrecedence() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	for _, thread := range threads {
		if tid, err := strconv.Atoi(thread.Name()); err == nil {
			_ = unix.SchedSetAttr(tid, attr, 0)
		}
	}
}

// overDisk reports whether the files of the private folder take too much, those without a name included.
func (s *supervisor) overDisk() bool {
	limit := s.spec.Limits.DiskBytes
	nameless := s.open.scan(s.spec.Dir, func() []int { return descendants(0) })
	return nameless > limit || diskBytes(s.spec.Dir, limit-nameless) > limit-nameless
}

// overTree reports whether the tree has too many processes or too much memory.
func (s *supervisor) overTree() bool {
	limits := s.spec.Limits
	pids := descendants(limits.Processes + 1)
	if len(pids) > limits.Processes {
		s.hit(LimitProcesses)
		return true
	}
	var shared int64
	if s.spec.Namespaced {
		shared = sharedBytes()
	}
	if residentBytes(pids)+shared <= limits.MemoryBytes {
		return false
	}
	// Pages that processes share were counted once for each; count properly before a verdict.
	if proportionalBytes(pids)+shared > limits.MemoryBytes {
		s.hit(LimitMemory)
		return true
	}
	return false
}
