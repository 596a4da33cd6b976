package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// Worker is a process of our own binary that does work in our own code which must not share
// the server's memory: it may crash, loop or be killed without harm. It has no file, no TCP
// connection and no child. It ends when the server does, because its input ends then.
type Worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	stderr tail
	end    sync.Once
}

// WorkerLimits bounds a worker.
type WorkerLimits struct {
	MemoryBytes int64 // data segment; 0: DefaultMemoryBytes
	StackBytes  int64 // of one goroutine; a deeper one ends the worker; 0: a quarter of MemoryBytes
}

// StartWorker starts our binary as the worker of that name. MaybeHelper must know it.
func (c *Confiner) StartWorker(name string, limits WorkerLimits) (*Worker, error) {
	memory := orElse(limits.MemoryBytes, DefaultMemoryBytes)
	stack := orElse(limits.StackBytes, memory/4)
	w := &Worker{cmd: helperCommand(name, strconv.FormatInt(memory, 10), strconv.FormatInt(stack, 10))}
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("worker's input: %w", err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("worker's output: %w", err)
	}
	w.in, w.out, w.cmd.Stderr = in, out, &w.stderr
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	return w, nil
}

// Exchange sends one frame and waits for one. After an error the worker is of no more use.
// One exchange at a time; Close from another goroutine ends it.
func (w *Worker) Exchange(request []byte) ([]byte, error) {
	if err := WriteFrame(w.in, request); err != nil {
		return nil, fmt.Errorf("send to worker: %w", err)
	}
	answer, err := ReadFrame(w.out)
	if err != nil {
		return nil, fmt.Errorf("worker died: %w", err)
	}
	return answer, nil
}

// Close kills the worker. It may be called more than once and from any goroutine.
func (w *Worker) Close() {
	w.end.Do(func() {
		_ = w.cmd.Process.Kill()
		w.in.Close()
		_ = w.cmd.Wait() // closes out
	})
}

// LastWords is what the worker wrote to its standard error, the last kilobytes of it. It is
// complete after Close.
func (w *Worker) LastWords() string { return w.stderr.String() }

// tail keeps the first and last bytes written: a crash report begins with its reason.
type tail struct {
	mu   sync.Mutex
	head bytes.Buffer
}

const tailBytes = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := tailBytes - t.head.Len(); room > 0 {
		t.head.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.head.String()
}

// workerMain confines all threads of this process and runs the entry.
func workerMain(entry Entry) int {
	memory, stack := int64(DefaultMemoryBytes), int64(DefaultMemoryBytes/4)
	if len(os.Args) > 4 {
		memory, _ = strconv.ParseInt(os.Args[3], 10, 64)
		stack, _ = strconv.ParseInt(os.Args[4], 10, 64)
	}
	if err := confineWorker(memory); err != nil {
		fmt.Fprintln(os.Stderr, "confine worker:", err)
		return helperFailed
	}
	debug.SetMaxStack(int(stack))
	debug.SetTraceback("none")
	return entry.Main()
}

func confineWorker(memory int64) error {
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		closeOnExec()
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0)
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, commandNice)
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
	return nil
}
