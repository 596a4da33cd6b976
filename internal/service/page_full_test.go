//go:build !race && unix

package service

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// longestPage is what a page of a list may take, but for one of a hundred.
const longestPage = 20 * time.Millisecond

// pageTimes collects how long pages take. Judged is the time of the processor, which other work on the machine does not
// change; what a page waits for, the database file, is in memory after the first ones.
type pageTimes struct{ took, worked []time.Duration }

// page measures one page.
func (p *pageTimes) page(t *testing.T, read func() error) {
	t.Helper()
	before, began := processorTime(t), time.Now()
	err := read()
	p.took, p.worked = append(p.took, time.Since(began)), append(p.worked, processorTime(t)-before)
	if err != nil {
		t.Fatal(err)
	}
}

// judge reports the times of a list.
func (p *pageTimes) judge(t *testing.T, name string) {
	t.Helper()
	slices.Sort(p.took)
	slices.Sort(p.worked)
	n := len(p.took)
	t.Logf("%s: median %v, p99 %v; of the processor: median %v, p99 %v", name, p.took[n/2], p.took[n*99/100], p.worked[n/2], p.worked[n*99/100])
	if p99 := p.worked[n*99/100]; p99 > longestPage {
		t.Errorf("%s: p99 is %v of the processor, want at most %v", name, p99, longestPage)
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
