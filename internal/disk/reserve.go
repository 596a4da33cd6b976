package disk

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// reserveBytes and reservePercent bound the reserve: the smaller of both.
	reserveBytes   = 512 << 20
	reservePercent = 5
	// checkEvery is how often the disks are looked at.
	checkEvery = time.Second
)

// Probe tells how much space is left for this process where a path is, and the size of that disk.
type Probe func(path string) (free, total uint64, err error)

// Reserve watches the disks of some folders. A nil Reserve is never low. Its methods are safe for concurrent use.
type Reserve struct {
	paths []string
	probe Probe
	log   *slog.Logger
	low   atomic.Bool
}

// NewReserve returns the reserve of the disks of some folders, which it looks at once. probe is Free but in tests.
func NewReserve(log *slog.Logger, probe Probe, paths ...string) *Reserve {
	r := &Reserve{paths: paths, probe: probe, log: log}
	r.Check()
	return r
}

// Low reports whether a disk had less free space than its reserve when it was last looked at.
func (r *Reserve) Low() bool { return r != nil && r.low.Load() }

// Check looks at the disks now. One that cannot be asked counts as one with room: what is written to it says more.
func (r *Reserve) Check() (low bool) {
	if r == nil {
		return false
	}
	for _, path := range r.paths {
		free, total, err := r.probe(path)
		if err == nil && free < min(reserveBytes, total/100*reservePercent) {
			low = true
		}
	}
	if was := r.low.Swap(low); low && !was {
		r.log.Warn("the disk has less free space than its reserve: new executions and uploads are refused", "folders", r.paths)
	} else if was && !low {
		r.log.Info("the disk has its reserve again: new executions and uploads are accepted")
	}
	return low
}

// Run looks at the disks every second until ctx ends.
func (r *Reserve) Run(ctx context.Context) {
	if r == nil {
		return
	}
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.Check()
		case <-ctx.Done():
			return
		}
	}
}
