package blackbox_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/seed"
	"github.com/chargehand/chargehand/internal/servertest"
)

const (
	// promised is how fast the slowest of a hundred reads is with a million executions stored.
	promised = 50 * time.Millisecond
	// slower is how much slower than the one of the promise a machine that tests may be.
	slower = 5
)

// TestManyStored seeds an installation with many executions, and reads in every way that lists, filters, counts, groups
// of failures and the overview offer. The counts by the hour are compared with a recount. How long reads take, it
// prints. What it demands holds on a machine that is some times slower, and busy: the fastest of three equal requests
// counts, and the time that the server computes. Few executions say nothing about time: nothing is demanded then.
func TestManyStored(t *testing.T) {
	n := startNumber(3_000, 1_000_000)
	_, s, opened := startSeeded(t, seed.Options{Executions: n, Seed: 1})
	verifyRollups(t, s, time.Now().Add(-32*24*time.Hour))
	choices := chooseReads(t, s)
	var all []time.Duration
	var lines []readTimes
	for _, read := range reads(choices) {
		times := readTimes{name: read.name}
		for range startNumber(1, 10) {
			path := read.path()
			fastest, computed := time.Hour, time.Hour
			for range startNumber(1, 3) {
				before, begin := computedBy(s.PID()), time.Now()
				a := s.Do(t, "GET", path, "")
				fastest, computed = min(fastest, time.Since(begin)), min(computed, computedBy(s.PID())-before)
				if a.Status != http.StatusOK || !json.Valid(a.Body) {
					t.Fatalf("%s: %s: %d %.300s", read.name, path, a.Status, a.Body)
				}
			}
			times.add(fastest, computed, path)
		}
		all = append(all, times.list...)
		lines = append(lines, times)
	}
	slices.SortFunc(lines, func(a, b readTimes) int { return cmp.Compare(b.slowest, a.slowest) })
	for _, l := range lines[:min(len(lines), startNumber(3, 25))] {
		t.Logf("%-34s p50 %8v slowest %8v computing %8v %s", l.name, l.quantile(0.5), l.slowest, l.computed, l.path)
	}
	slices.Sort(all)
	p50, p99 := all[len(all)/2], all[len(all)*99/100]
	t.Logf("%d executions; ready after a start in %v; %d ways to read, %d reads: p50 %v, p99 %v", n, opened.Round(time.Millisecond), len(lines), len(all), p50, p99)
	if startFull() && p99 > slower*promised {
		t.Errorf("the slowest of a hundred reads takes %v", p99)
	}
	for _, l := range lines {
		if startFull() && l.computed > slower*promised/2 {
			t.Errorf("%s: the server computes for %v at %s", l.name, l.computed, l.path)
		}
	}
	waitingContinue(t, s)
}

// readTimes are the times of one way to read.
type readTimes struct {
	name              string
	list              []time.Duration
	slowest, computed time.Duration
	path              string // of the slowest one
}

func (r *readTimes) add(took, computed time.Duration, path string) {
	if r.list = append(r.list, took); took > r.slowest {
		r.slowest, r.path = took, path
	}
	r.computed = max(r.computed, computed)
}

func (r *readTimes) quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(r.list))
	return sorted[int(q*float64(len(sorted)-1))].Round(time.Microsecond)
}

// startSeeded starts a server on an installation that was filled before, and returns how long its start took.
func startSeeded(t *testing.T, o seed.Options) (servertest.Options, *servertest.Server, time.Duration) {
	t.Helper()
	options := startOptions(t)
	first := servertest.Start(t, options)
	if code := first.Stop(); code != 0 {
		t.Fatalf("the server ended with exit code %d", code)
	}
	location := servertest.Location(t, options.DataDir)
	_, database := servertest.Stored(t, options.DataDir)
	st, err := seed.Open(t.Context(), options.DataDir, database)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := seed.Fill(t.Context(), st, o); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d executions are stored after %v", o.Executions, time.Since(begin).Round(time.Millisecond))
	out, err := servertest.Command(t, append([]string{"doctor", "--data-dir", options.DataDir}, location...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("doctor: %v\n%s", err, out)
	}
	begin = time.Now()
	s := servertest.Launch(t, options)
	s.Key = first.Key
	return options, s, time.Since(begin)
}

// computedBy is for how long the threads of a process have run; 0 where that is not known.
func computedBy(pid int) (sum time.Duration) {
	folder := fmt.Sprintf("/proc/%d/task", pid)
	threads, _ := os.ReadDir(folder)
	for _, thread := range threads {
		text, _ := os.ReadFile(folder + "/" + thread.Name() + "/schedstat")
		first, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(first, 10, 64)
		sum += time.Duration(ns)
	}
	return sum
}

// waitingContinue: executions that the seed has left waiting are alive.
func waitingContinue(t *testing.T, s *servertest.Server) {
	t.Helper()
	var page struct {
		Data []struct {
			ID       string
			Workflow string `json:"workflow_id"`
		}
	}
	readJSON(t, s, "/executions?waiting_for=timer&workflow=billing/remind&limit=2", &page)
	for _, e := range page.Data {
		var timeline struct{ Data []struct{ Phase string } }
		readJSON(t, s, "/executions/"+e.ID+"/timeline", &timeline)
		if len(timeline.Data) != 1 || timeline.Data[0].Phase != "waiting" {
			t.Errorf("the timeline of a waiting execution is %+v", timeline)
		}
		if a := s.Do(t, "POST", "/workflows/"+e.Workflow+"/executions/"+e.ID+"/cancel", `{"reason":"x"}`); a.Status != http.StatusAccepted && a.Status != http.StatusOK {
			t.Errorf("cancel: %d %.300s", a.Status, a.Body)
		}
		var after struct{ Phase string }
		readJSON(t, s, "/executions/"+e.ID+"?wait=30s", &after)
		if after.Phase != "cancelled" {
			t.Errorf("after its cancellation it is %s", after.Phase)
		}
	}
	if len(page.Data) != 2 {
		t.Errorf("%d wait for a timer", len(page.Data))
	}
}

// choices are what reads are about.
type choices struct {
	*rand.Rand
	workflows, executions, roots, batches, cursors []string
}

func (c *choices) of(list ...string) string { return list[c.IntN(len(list))] }

// day is a time between two numbers of days ago.
func (c *choices) day(from, to float64) string {
	ago := time.Duration((from + (to-from)*c.Float64()) * float64(24*time.Hour))
	return url.QueryEscape(time.Now().Add(-ago).UTC().Format(time.RFC3339))
}

func chooseReads(t *testing.T, s *servertest.Server) *choices {
	t.Helper()
	c := &choices{Rand: rand.New(rand.NewPCG(1, 1))}
	type resource struct {
		ID   string
		Root string `json:"root_id"`
	}
	var page struct {
		Data   []resource
		Cursor string
	}
	list := func(path string, each func(resource)) {
		page.Data, page.Cursor = nil, ""
		readJSON(t, s, path, &page)
		for _, one := range page.Data {
			each(one)
		}
	}
	list("/workflows?limit=100", func(r resource) { c.workflows = append(c.workflows, r.ID) })
	list("/batches?limit=50", func(r resource) { c.batches = append(c.batches, r.ID) })
	list("/executions?cause=parent&limit=100", func(r resource) { c.roots = append(c.roots, r.Root) })
	for range startNumber(2, 40) {
		list("/executions?limit=50&created_before="+c.day(0, 30), func(r resource) { c.executions = append(c.executions, r.ID) })
		if page.Cursor != "" {
			c.cursors = append(c.cursors, url.QueryEscape(page.Cursor))
		}
	}
	if len(c.workflows) == 0 || len(c.batches) == 0 || len(c.roots) == 0 || len(c.executions) == 0 || len(c.cursors) == 0 {
		t.Fatalf("there is not something of everything: %d workflows, %d batches, %d trees, %d executions, %d pages",
			len(c.workflows), len(c.batches), len(c.roots), len(c.executions), len(c.cursors))
	}
	return c
}
