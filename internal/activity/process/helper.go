package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// helperArgument is the first argument of our own binary in helper mode.
const helperArgument = "__confine"

// helperFailed is the exit code of a helper that could not do its work.
const helperFailed = 70

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
	switch os.Args[2] {
	case trialMode:
		os.Exit(trialMain())
	case launcherMode:
		os.Exit(launcherMain())
	}
	for _, entry := range entries {
		if entry.Name == os.Args[2] {
			os.Exit(workerMain(entry))
		}
	}
	fmt.Fprintf(os.Stderr, "this binary has no helper mode %q\n", os.Args[2])
	os.Exit(helperFailed)
}

// mustNotBeHelper ends a process that was started as a helper and continued as something else:
// it would start helpers of its own, and they in turn.
func mustNotBeHelper() {
	if len(os.Args) > 1 && os.Args[1] == helperArgument {
		fmt.Fprintln(os.Stderr, "process.MaybeHelper must be the first call of main, and of TestMain in tests that run processes or scripts")
		os.Exit(helperFailed)
	}
}

// helperCommand is our own binary in helper mode, without the server's environment.
func helperCommand(arguments ...string) *exec.Cmd {
	return &exec.Cmd{
		Path: selfPath(),
		Args: append([]string{"chargehand", helperArgument}, arguments...),
		// A session of its own keeps the terminal's Ctrl-C away.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
		// The second spares builds with the race detector its pause at exit.
		Env: []string{"GOMAXPROCS=2", "GORACE=atexit_sleep_ms=0"},
	}
}
