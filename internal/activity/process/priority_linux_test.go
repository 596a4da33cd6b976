package process_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/chargehand/chargehand/internal/activity/process"
)

// niceValue is that of the calling thread.
func niceValue() (int, error) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	return 20 - raw, err // the kernel answers 1 to 40
}

// niceWorker answers the nice values of threads of its own.
func niceWorker() int {
	if _, err := process.ReadFrame(os.Stdin); err != nil {
		return 1
	}
	values := make([]string, 4)
	var ready, done sync.WaitGroup
	ready.Add(len(values))
	for i := range values {
		done.Go(func() {
			runtime.LockOSThread()
			ready.Done()
			ready.Wait() // each has a thread now
			n, err := niceValue()
			values[i] = fmt.Sprint(n, err)
		})
	}
	done.Wait()
	if err := process.WriteFrame(os.Stdout, []byte(strings.Join(values, ", "))); err != nil {
		return 1
	}
	return 0
}

// TestWorkerYields: every thread of a worker leaves the processors to the server, whose own threads stay as they are.
// The kernel gives a thread of the nice value 10 a ninth of what it gives to one of 0 that wants the same processor, so
// what workers compute holds up nothing, however fast the machine is.
func TestWorkerYields(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := niceValue()
	if err != nil {
		t.Fatal(err)
	}
	w, err := process.StartWorker("nice", process.WorkerLimits{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	answer, err := w.Exchange(nil)
	if err != nil {
		t.Fatal(err, w.LastWords())
	}
	for said := range strings.SplitSeq(string(answer), ", ") {
		if want := fmt.Sprint(max(10, own), error(nil)); said != want {
			t.Errorf("a thread of the worker has the nice value %s, want %s", said, want)
		}
	}
	if now, err := niceValue(); err != nil || now != own {
		t.Errorf("the thread that started it has %d, and had %d: %v", now, own, err)
	}
}
