package process

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"sync"
)

// Worker is a process of our own binary that does work in our own code which must not share
// the server's memory: it may crash, loop or be killed without harm. It has no file, no socket
// and no child. It ends when the server does, even in the middle of its work.
type Worker struct {
	cmd    *exec.Cmd
	life   *os.File // write end of a pipe that nothing is written to
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
	return StartWorker(name, limits)
}

// StartWorker is the same without a Confiner, of which a worker needs nothing.
func StartWorker(name string, limits WorkerLimits) (*Worker, error) {
	mustNotBeHelper()
	memory := cmp.Or(limits.MemoryBytes, DefaultMemoryBytes)
	stack := cmp.Or(limits.StackBytes, memory/4)
	w := &Worker{cmd: helperCommand(name, strconv.FormatInt(memory, 10), strconv.FormatInt(stack, 10))}
	lifeR, lifeW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("worker's life line: %w", err)
	}
	defer lifeR.Close()
	w.life, w.cmd.ExtraFiles = lifeW, []*os.File{lifeR}
	if err := w.start(); err != nil {
		lifeW.Close()
		return nil, err
	}
	return w, nil
}

func (w *Worker) start() error {
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("worker's input: %w", err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("worker's output: %w", err)
	}
	w.in, w.out, w.cmd.Stderr = in, out, &w.stderr
	if err := w.cmd.Start(); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	return nil
}

// Exchange sends one frame and waits for one. After an error the worker is of no more use.
// One exchange at a time; Close from another goroutine ends it.
func (w *Worker) Exchange(request []byte) ([]byte, error) {
	if err := WriteFrame(w.in, request); err != nil {
		return nil, fmt.Errorf("send to worker: %w", err)
	}
	return w.Next()
}

// Next waits for another frame, of a worker that sends several for a request. After an error the worker is of no more
// use.
func (w *Worker) Next() ([]byte, error) {
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
		w.life.Close()
		_ = w.cmd.Wait() // closes out
	})
}

// LastWords is the end, a few kilobytes, of what the worker wrote to its standard error. It is
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
	go dieWithServer()
	debug.SetMaxStack(int(stack))
	debug.SetTraceback("none")
	return entry.Main()
}

// lifeFD is the read end of the life line.
const lifeFD = 3

// dieWithServer ends this process when the life line ends: the kernel cuts it when the server
// dies, however that comes about.
func dieWithServer() {
	var nothing [1]byte
	_, _ = os.NewFile(lifeFD, "life").Read(nothing[:])
	os.Exit(0)
}
