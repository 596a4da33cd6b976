package app

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chargehand/chargehand/internal/pause"
)

// idlePeriod is the pause between two looks whether the server has work.
const idlePeriod = 5 * time.Second

// releaseWhenIdle gives memory back whenever the server has had work and has none any more, until ctx ends: pages of
// the program, and what the heap had at its peak, which Go's runtime would keep for minutes.
func releaseWhenIdle(ctx context.Context) {
	var w workload
	for used := processorTime(); pause.For(ctx, idlePeriod) == nil; used = processorTime() {
		if w.ended(processorTime()-used, idlePeriod) {
			debug.FreeOSMemory()
			releasePages()
		}
	}
}

// workload tells when work has ended.
type workload struct{ worked bool }

// ended takes the processor time of a period. It reports whether there was work before it, and none in it.
func (w *workload) ended(spent, period time.Duration) bool {
	switch {
	case spent > period/20:
		w.worked = true
	case w.worked && spent < period/100:
		w.worked = false
		return true
	}
	return false
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// releasePages gives back pages of the program that only the start or some work needed: some 30 MB of code and tables.
// They are clean copies of the file, which the kernel maps again where something reads them.
//
// Not all that is read-only is a copy of the file: a program that is linked dynamically has tables that the loader
// fills before it protects them. Those pages are anonymous memory, and would come back without what was filled in.
func releasePages() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	for _, m := range programMaps(maps, program) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED) // a hint
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// programMaps are the ranges of a list of maps, in the form of /proc/PID/smaps (proc(5)), that map the program, cannot
// be written, and have no page that differs from the file.
func programMaps(list io.Reader, program string) []mapping {
	var found []mapping
	var m mapping // of the lines that follow
	for lines := bufio.NewScanner(list); lines.Scan(); {
		fields := bytes.Fields(lines.Bytes())
		switch {
		case len(fields) == 3 && string(fields[0]) == "Anonymous:":
			if m.from != 0 && m.from < m.to && string(fields[1]) == "0" {
				found = append(found, m)
			}
		case len(fields) >= 5 && !bytes.HasSuffix(fields[0], []byte(":")):
			m = mapping{}
			if len(fields) == 6 && string(fields[5]) == program && bytes.IndexByte(fields[1], 'w') < 0 {
				from, to, _ := bytes.Cut(fields[0], []byte("-"))
				m = mapping{address(from), address(to)}
			}
		}
	}
	return found
}

// address reads a hexadecimal number; 0 if it is none.
func address(text []byte) (n uintptr) {
	if len(text) > 16 {
		return 0
	}
	for _, c := range text {
		d := bytes.IndexByte([]byte("0123456789abcdef"), c)
		if d < 0 {
			return 0
		}
		n = n<<4 | uintptr(d)
	}
	return n
}
