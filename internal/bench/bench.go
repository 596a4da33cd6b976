package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config of a run. API and Key are required.
type Config struct {
	API         string // address of the server
	Key         string // with the scopes of the preset all
	Duration    time.Duration
	Connections int
	Batches     []int  // sizes
	DataDir     string // to measure bytes on disk; empty: not measured
	PID         int    // of the server, to measure its memory; 0: not measured
	Only        string // comma-separated names of measurements; empty: all
	Progress    io.Writer
}

// Figure is one measured value.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Ratio is Value over the same measurement of the empty handler or bare client; 0: none.
	Ratio float64 `json:"ratio,omitempty"`
}

type runner struct {
	Config
	api     *api
	figures []Figure
	// emptyRate is the requests per second of the empty handler in this run.
	emptyRate float64
}

// Run measures and returns the figures in the order in which they were taken.
func Run(ctx context.Context, cfg Config) ([]Figure, error) {
	if cfg.Duration <= 0 {
		cfg.Duration = 5 * time.Second
	}
	if cfg.Connections <= 0 {
		cfg.Connections = 64
	}
	r := &runner{Config: cfg, api: newAPI(cfg.API, cfg.Key, cfg.Connections)}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"empty", r.empty},
		{"trivial", r.trivial},
		{"ten-set", r.tenSet},
		{"wait", r.wait},
		{"finish", r.finish},
		{"ten-http", r.tenHTTP},
		{"batch", r.batches},
		{"memory", r.memory},
	} {
		if r.Only != "" && step.name != "empty" && !listed(r.Only, step.name) {
			continue
		}
		fmt.Fprintf(r.Progress, "measuring %s …\n", step.name)
		if err := step.run(ctx); err != nil {
			return r.figures, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return r.figures, nil
}

func listed(list, name string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == name {
			return true
		}
	}
	return false
}

func (r *runner) add(name string, value float64, unit string, ratio float64) {
	r.figures = append(r.figures, Figure{name, value, unit, ratio})
}

// load calls do from n goroutines until the time is up and returns calls per second.
func load(ctx context.Context, n int, d time.Duration, do func(context.Context) error) (rate float64, calls int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var done atomic.Int64
	var failed error
	var once sync.Once
	var all sync.WaitGroup
	start := time.Now()
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := do(ctx); err != nil {
					if !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
						once.Do(func() { failed = err; cancel() })
					}
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / time.Since(start).Seconds(), done.Load(), failed
}

// percentile of sorted durations, in milliseconds.
func percentile(sorted []time.Duration, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(p*float64(len(sorted)-1))].Microseconds()) / 1000
}

func sortDurations(d []time.Duration) {
	sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
}
