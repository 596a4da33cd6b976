package process

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Entry is a further helper mode of our binary: a worker, which runs Main in a process that
// may touch no file and open no TCP connection (Confiner.StartWorker).
type Entry struct {
	Name string
	// Main reads frames from standard input and writes frames to standard output. Its result
	// is the exit code. It must return when standard input ends.
	Main func() int
}

// MaybeHelper turns this process into a helper if it was started as one, and does not return
// then. It must be the first call of main, and of TestMain where tests run commands: the same
// entries everywhere.
func MaybeHelper(entries ...Entry) {
	if len(os.Args) < 2 || os.Args[1] != helperArgument {
		return
	}
	if len(os.Args) == 2 {
		os.Exit(superviseMain())
	}
	for _, entry := range entries {
		if entry.Name == os.Args[2] {
			os.Exit(workerMain(entry))
		}
	}
	fmt.Fprintf(os.Stderr, "this binary has no helper mode %q\n", os.Args[2])
	os.Exit(helperFailed)
}

// helperFailed is the exit code of a helper that could not do its work.
const helperFailed = 70

// superviseMain runs one command as the spec on the control pipe says.
func superviseMain() int {
	control, reports := os.NewFile(controlFD, "control"), os.NewFile(statusFD, "status")
	if control == nil || reports == nil {
		return helperFailed
	}
	// Nothing beyond stdin, stdout and stderr goes on to the command, whoever opened it.
	if err := unix.CloseRange(controlFD, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		closeOnExec()
	}
	var s spec
	if err := readJSON(control, &s); err != nil {
		fmt.Fprintln(os.Stderr, "chargehand's helper mode is started by the server only")
		return helperFailed
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
	_ = writeJSON(reports, status{Pid: pid})
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
