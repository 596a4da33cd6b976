//go:build unix

package expr

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that the process has taken. Unlike the wall clock it does not
// depend on what else the machine does.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
