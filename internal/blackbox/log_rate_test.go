package blackbox_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/servertest"
)

const (
	// logRated writes about 14 MB within 1.4 s, when nothing holds it up.
	logRated = `document: {dsl: '1.0.3', namespace: logs, name: rated, version: '1.0.0'}
do:
- write:
    run:
      shell:
        command: |
          chunk=$(head -c 120000 /dev/zero | tr '\0' x | fold -w 999)
          i=0
          while [ $i -lt 120 ]; do i=$((i+1)); printf '%s\n' "$chunk"; sleep 0.01; done
      return: none
`
	ratedLines = 120 * 121

	// A step that writes 10 MB/s may take so many times as long as one whose output is not kept. Of the others, what
	// is looked for is a server that stands still for them.
	logSlower, besideSlower = 1.15, 1.5

	// Others begin so often: as fast as they can, they would take the processors, and a step that writes 4 MB/s
	// would be measured.
	besideEvery = 5 * time.Millisecond
)

// ratedRun is what was measured while a step wrote.
type ratedRun struct {
	step, beside []time.Duration // beside: other executions, from request to end
	computed     []time.Duration // by the server
}

// TestLogRate compares a step that writes 10 MB/s on a server that keeps logs, and on one that keeps none, in turns. It
// prints how long the step takes on each, and other executions beside it.
func TestLogRate(t *testing.T) {
	servers := map[bool]*servertest.Server{}
	workflows := map[bool][2]string{}
	for _, kept := range []bool{false, true} {
		size := "0"
		if kept {
			size = "64MiB"
		}
		options := startOptions(t)
		options.Args = append(options.Args, "--allow-run", "shell", "--execution-log-size", size)
		s := servertest.Start(t, options)
		servers[kept], workflows[kept] = s, [2]string{s.Apply(t, logRated), s.Apply(t, startTrivial)}
	}
	runs := map[bool]*ratedRun{false: {}, true: {}}
	for pair := range startNumber(1, 10) {
		for turn := range 2 {
			kept := (pair+turn)%2 == 1
			runs[kept].measure(t, servers[kept], workflows[kept][0], workflows[kept][1], kept)
		}
	}
	ratio := func(name string, of func(*ratedRun) []time.Duration) float64 {
		without, with := median(of(runs[false])), median(of(runs[true]))
		ratio := float64(with) / float64(without)
		t.Logf("%s: %v without a log, %v with one: %.3f", name, without.Round(time.Microsecond), with.Round(time.Microsecond), ratio)
		return ratio
	}
	step := ratio("the step", func(r *ratedRun) []time.Duration { return r.step })
	beside := ratio("others, start to finish", func(r *ratedRun) []time.Duration { return r.beside })
	ratio("processor time of the server", func(r *ratedRun) []time.Duration { return r.computed })
	if startFull() && (step > logSlower || beside > besideSlower) {
		t.Errorf("a log of 10 MB/s slows its step by %.3f, want at most %.2f, and others by %.3f, want at most %.1f", step, logSlower, beside, besideSlower)
	}
}

func median(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// measure runs the step once, and other executions one after another beside it.
func (r *ratedRun) measure(t *testing.T, s *servertest.Server, rated, trivial string, kept bool) {
	t.Helper()
	stop := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() {
		ticks := time.NewTicker(besideEvery)
		defer ticks.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticks.C:
			}
			begin := time.Now()
			a, err := s.Try("POST", "/workflows/"+trivial+"/executions?wait=30s", `{"input":{"n":1}}`)
			if err != nil || a.Status != http.StatusCreated {
				t.Errorf("an execution beside a step that writes: %d %v", a.Status, err)
				return
			}
			r.beside = append(r.beside, time.Since(begin))
		}
	})
	before, begin := computedBy(s.PID()), time.Now()
	a := s.Do(t, "POST", "/workflows/"+rated+"/executions?wait=60s", `{"input":{}}`)
	r.step = append(r.step, time.Since(begin))
	close(stop)
	beside.Wait()
	if a.Object()["status"] != "finished" {
		t.Fatalf("a step that writes: %d %.300s", a.Status, a.Body)
	}
	r.computed = append(r.computed, computedBy(s.PID())-before)
	if !kept {
		return
	}
	if lines := wholeLog(t, s, rated, a.Object()["execution_id"].(string)); lines != ratedLines {
		t.Logf("of %d lines, the log has %d: the machine was too busy to take them all", ratedLines, lines)
		if lines == 0 || startFull() && lines < ratedLines/2 {
			t.Errorf("the log lacks most of what the step has written")
		}
	}
}

// wholeLog reads the log of an execution that has ended, and returns how many lines of the step it has.
func wholeLog(t *testing.T, s *servertest.Server, workflow, execution string) (lines int) {
	t.Helper()
	api := client.New(s.URL, s.Key)
	for after := int64(0); ; {
		page, err := api.Log(t.Context(), workflow, execution, client.LogFilter{After: after, Wait: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if page.Complete && len(page.Lines) == 0 {
			return lines
		}
		for _, l := range page.Lines {
			if after = l.Line; l.Stream == "stdout" {
				lines++
			}
		}
	}
}
