//go:build linux && (amd64 || arm64)

package blackbox_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/chargehand/chargehand/internal/peer"

	"golang.org/x/sys/unix"

	"github.com/chargehand/chargehand/internal/servertest"
)

// TestAnswersLeaveAfterTheFlush traces the system calls of a server: the answer to a request that starts something, or
// ends it, is written to its connection only when what it tells of was written to the log of the database and
// flushed.
func TestAnswersLeaveAfterTheFlush(t *testing.T) {
	servertest.Only(t, servertest.SQLite)
	server := servertest.Start(t, servertest.Options{Args: []string{"--rate-limit", "0"}})
	const head = "document: {dsl: '1.0.3', namespace: flush, version: '1.0.0', name: "
	at := "/workflows/" + server.Apply(t, head+"once}\ndo:\n- a: {set: {x: 1}}\n") + "/executions"
	waiting := "/workflows/" + server.Apply(t, head+"waiting}\ndo:\n- a: {wait: {hours: 1}}\n") + "/executions"
	trace := traceCalls(t, server.PID())
	answered := 0
	post := func(path, body string, status int) map[string]any {
		t.Helper()
		a := server.Do(t, http.MethodPost, path, body)
		if a.Status != status {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		answered++
		return a.Object()
	}
	for range 5 {
		post(at, `{"input":{}}`, http.StatusCreated)
		post(at+"?wait=30s", `{"input":{}}`, http.StatusCreated)
		id := post(waiting, `{"input":{}}`, http.StatusCreated)["execution_id"].(string)
		post(waiting+"/"+id+"/suspend", ``, http.StatusAccepted)
		post(waiting+"/"+id+"/cancel", `{}`, http.StatusAccepted)
	}
	calls := trace()
	answers, early := answersOf(calls)
	for _, call := range early {
		t.Errorf("an answer left before the flush: call %d of\n%s", call, callsText(calls, call))
	}
	if answers < answered {
		t.Errorf("%d answers were seen, want %d", answers, answered)
	}
}

func TestAnswersOf(t *testing.T) {
	const socket, log = "socket:[1]", "data.db-wal"
	request := tracedCall{thread: 1, nr: unix.SYS_READ, file: socket, result: 100}
	write := tracedCall{thread: 2, nr: unix.SYS_PWRITE64, file: log}
	flush := tracedCall{thread: 2, nr: unix.SYS_FDATASYNC, file: log}
	answer := tracedCall{thread: 1, nr: unix.SYS_WRITE, file: socket, entry: true}
	begun := func(c tracedCall) tracedCall { c.entry = true; return c }
	failed := func(c tracedCall) tracedCall { c.result = -5; return c }
	for name, c := range map[string]struct {
		calls []tracedCall
		early int
	}{
		"another commit has begun":      {[]tracedCall{request, begun(write), write, begun(flush), flush, begun(write), write, answer}, 0},
		"in order":                      {[]tracedCall{request, begun(write), write, begun(flush), flush, answer}, 0},
		"nothing is written":            {[]tracedCall{request, answer}, 1},
		"no flush":                      {[]tracedCall{request, begun(write), write, answer}, 1},
		"the flush has not ended":       {[]tracedCall{request, begun(write), write, begun(flush), answer, flush}, 1},
		"the flush has failed":          {[]tracedCall{request, begun(write), write, begun(flush), failed(flush), answer}, 1},
		"written after the flush":       {[]tracedCall{request, begun(flush), flush, begun(write), write, answer}, 1},
		"written while it was flushed":  {[]tracedCall{request, begun(flush), begun(write), write, flush, answer}, 1},
		"flushed before the request":    {[]tracedCall{begun(write), write, begun(flush), flush, request, answer}, 1},
		"the second answer comes early": {[]tracedCall{request, begun(write), write, begun(flush), flush, answer, request, answer}, 1},
	} {
		if _, early := answersOf(c.calls); len(early) != c.early {
			t.Errorf("%s: %d answers are early, want %d", name, len(early), c.early)
		}
	}
}

// tracedCall is the beginning or the end of a system call.
type tracedCall struct {
	thread int
	nr     uint64
	entry  bool
	file   string // that its first argument names
	result int64  // of the end
}

// answersOf counts the answers that were written to connections, and returns those that were written before anything
// that was written to the log after their request was flushed. What the server writes by itself between that flush and
// the answer changes nothing: the answer may wait for its turn.
func answersOf(calls []tracedCall) (answers int, early []int) {
	type request struct{ written, flushed bool }
	open := map[string]*request{} // by connection
	clean := map[int]bool{}       // threads that flush, and whether nothing was written since they began
	each := func(do func(*request)) {
		for _, r := range open {
			do(r)
		}
	}
	for i, c := range calls {
		socket, log := strings.HasPrefix(c.file, "socket:"), strings.HasSuffix(c.file, "-wal")
		switch c.nr {
		case unix.SYS_READ:
			if socket && !c.entry && c.result > 0 {
				open[c.file] = &request{}
			}
		case unix.SYS_WRITE:
			if r := open[c.file]; socket && c.entry && r != nil {
				if answers++; !r.flushed {
					early = append(early, i)
				}
				delete(open, c.file)
			}
		case unix.SYS_PWRITE64:
			if log {
				clear(clean)
				each(func(r *request) { r.written = true })
			}
		case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
			if log && c.entry {
				clean[c.thread] = true
			} else if log && clean[c.thread] && c.result == 0 {
				each(func(r *request) { r.flushed = r.flushed || r.written })
			}
		}
	}
	return answers, early
}

func callsText(calls []tracedCall, upTo int) string {
	var b strings.Builder
	for i := max(0, upTo-40); i <= upTo; i++ {
		fmt.Fprintf(&b, "%d %+v\n", i, calls[i])
	}
	return b.String()
}

type tracer struct {
	pid   int
	calls []tracedCall
	begun map[int]tracedCall // that have not ended, by thread
}

// traceCalls records the system calls of a process that this one has started, until the function is called that it
// returns. It takes hold of each thread by ptrace(2).
func traceCalls(t *testing.T, pid int) (stop func() []tracedCall) {
	t.Helper()
	trace := tracer{pid: pid, begun: map[int]tracedCall{}}
	var ended atomic.Bool
	attached, done := make(chan error, 1), make(chan error, 1)
	onEndingThread(func() { // with its thread, the tracing ends
		err := seizeThreads(pid)
		attached <- err
		for err == nil && !ended.Load() {
			err = trace.next()
		}
		done <- err
	})
	if err := <-attached; errors.Is(err, unix.EPERM) {
		peer.Skip(t, "this process may not trace others: %v", err)
	} else if err != nil {
		t.Fatalf("trace the server: %v", err)
	}
	finish := sync.OnceValue(func() []tracedCall {
		ended.Store(true)
		if err := <-done; err != nil {
			t.Errorf("trace the server: %v", err)
		}
		return trace.calls
	})
	t.Cleanup(func() { finish() })
	return finish
}

// onEndingThread runs do beside the caller, on a thread of its own that ends with it. The first thread of a process
// never ends before the process: do gets another one, and the first is held until then, so that it is not taken again.
func onEndingThread(do func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			do()
			return
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			runtime.LockOSThread()
			do()
		}()
		<-ended
		runtime.UnlockOSThread()
	}()
}

// seizeThreads begins to trace all threads of a process. Those that begin later are traced like their parents.
func seizeThreads(pid int) error {
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE
	known := map[int]bool{}
	for found := true; found; {
		found = false
		tasks, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
		if err != nil {
			return err
		}
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil || known[tid] {
				continue
			}
			known[tid], found = true, true
			if err := ptrace(unix.PTRACE_SEIZE, tid, 0, options); errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EPERM) && traced(tid) {
				continue // it has ended, or its parent was traced already
			} else if err != nil {
				return err
			}
			if err := unix.PtraceInterrupt(tid); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return nil
}

// traced reports whether a thread is traced.
func traced(tid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	return err == nil && !strings.Contains(string(status), "TracerPid:\t0\n")
}

// next waits for a moment for a thread to stop, notes the call that it is in, and lets it continue.
func (r *tracer) next() error {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WSTOPPED|unix.WNOHANG|unix.WALL, nil); err != nil {
		if errors.Is(err, unix.EINTR) {
			return nil
		}
		return err
	}
	raw := (*[unsafe.Sizeof(info)]byte)(unsafe.Pointer(&info))
	tid, status := int(binary.NativeEndian.Uint32(raw[16:])), int(binary.NativeEndian.Uint32(raw[24:]))
	if tid == 0 {
		time.Sleep(20 * time.Microsecond) // no thread has stopped, and nothing tells when one does
		return nil
	}
	signal := 0
	switch {
	case status == int(unix.SIGTRAP)|0x80:
		if c, ok := r.call(tid); ok {
			r.calls = append(r.calls, c)
		}
	case status>>8 == 0:
		signal = status // it is to be delivered
	}
	if err := unix.PtraceSyscall(tid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// call reads what call a thread has stopped in, if that is one of those that are looked at.
func (r *tracer) call(tid int) (c tracedCall, ok bool) {
	// struct ptrace_syscall_info: op, 3 padding, arch, instruction pointer, stack pointer; then the number and the
	// arguments of an entry, or the result of an exit.
	const sizeOf, entry, exit = 88, 1, 2
	var info [sizeOf / 8]uint64
	raw := (*[sizeOf]byte)(unsafe.Pointer(&info))
	if err := ptrace(unix.PTRACE_GET_SYSCALL_INFO, tid, sizeOf, uintptr(unsafe.Pointer(&info))); err != nil {
		return c, false
	}
	c.thread = tid
	switch raw[0] {
	case entry:
		c.entry, c.nr = true, info[3]
		if !recorded(c.nr) {
			delete(r.begun, tid)
			return c, false
		}
		c.file, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", r.pid, info[4]))
		r.begun[tid] = c
		return c, true
	case exit:
		c, ok = r.begun[tid]
		c.entry, c.result = false, int64(info[3])
		delete(r.begun, tid)
		return c, ok
	}
	return c, false
}

func recorded(nr uint64) bool {
	switch nr {
	case unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		return true
	}
	return false
}

func ptrace(request, tid int, address, data uintptr) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), address, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
