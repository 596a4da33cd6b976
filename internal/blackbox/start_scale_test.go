package blackbox_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// TestStartScale compares paging, listing, reading and starting at 1,000 and at 1,000,000
// stored executions: nothing may slow down. It takes many minutes.
func TestStartScale(t *testing.T) {
	if !startFull() {
		t.Skip("a million executions take many minutes; set CHARGEHAND_FULL=1")
	}
	options := startOptions(t)
	server := servertest.Start(t, options)
	workflow := server.Apply(t, startTrivial)
	paths := storeMany(t, server, workflow, 1_000)
	few := measureOperations(t, server, workflow, paths)
	paths = append(paths, storeMany(t, server, workflow, 999_000)...)
	bytes := folderBytes(t, options.DataDir)
	many := measureOperations(t, server, workflow, paths)
	resting := restingBytes(t, server.PID(), 5*time.Second)
	_, ready := restart(t, server, options)
	t.Logf("at 1,000,000: %d bytes in the database, %d per execution; %.1f MB resident; ready after a restart in %v",
		bytes, bytes/1_000_000, float64(resting)/1e6, ready.Round(time.Millisecond))
	for _, o := range scaleOperations {
		t.Logf("%-28s p50 %8v at 1,000   %8v at 1,000,000", o.name, few[o.name], many[o.name])
		if many[o.name] > 2*few[o.name]+time.Millisecond {
			t.Errorf("%s slows down from %v to %v", o.name, few[o.name], many[o.name])
		}
	}
}

// scaleOperation is one request; pages are at different depths.
type scaleOperation struct {
	name, method string
	want         int
	path         func(workflow string, stored, cursors []string, r *rand.Rand) string
	body         string
}

var scaleOperations = []scaleOperation{
	{name: "list workflows", method: "GET", want: 200, path: func(string, []string, []string, *rand.Rand) string { return "/workflows?limit=100" }},
	{name: "list executions, first page", method: "GET", want: 200, path: func(w string, _, _ []string, _ *rand.Rand) string {
		return "/workflows/" + w + "/executions?limit=100"
	}},
	{name: "list finished, first page", method: "GET", want: 200, path: func(w string, _, _ []string, _ *rand.Rand) string {
		return "/workflows/" + w + "/executions?limit=100&status=finished"
	}},
	{name: "list errors (there are none)", method: "GET", want: 200, path: func(w string, _, _ []string, _ *rand.Rand) string {
		return "/workflows/" + w + "/executions?limit=100&status=error"
	}},
	{name: "list all executions", method: "GET", want: 200, path: func(string, []string, []string, *rand.Rand) string { return "/executions?limit=100" }},
	{name: "list executions, a later page", method: "GET", want: 200, path: func(w string, _, cursors []string, r *rand.Rand) string {
		return "/workflows/" + w + "/executions?limit=100&cursor=" + url.QueryEscape(cursors[r.Intn(len(cursors))])
	}},
	{name: "list batches", method: "GET", want: 200, path: func(w string, _, _ []string, _ *rand.Rand) string {
		return "/workflows/" + w + "/batch?limit=10&executions=none"
	}},
	{name: "read", method: "GET", want: 200, path: func(_ string, stored, _ []string, r *rand.Rand) string { return stored[r.Intn(len(stored))] }},
	{name: "timeline", method: "GET", want: 200, path: func(_ string, stored, _ []string, r *rand.Rand) string {
		return stored[r.Intn(len(stored))] + "/timeline"
	}},
	{name: "start", method: "POST", want: 201, body: `{"input":{"n":1}}`, path: func(w string, _, _ []string, _ *rand.Rand) string {
		return "/workflows/" + w + "/executions"
	}},
	{name: "start, wait for the end", method: "POST", want: 201, body: `{"input":{"n":1}}`, path: func(w string, _, _ []string, _ *rand.Rand) string {
		return "/workflows/" + w + "/executions?wait=10s"
	}},
}

// measureOperations returns the median time of each operation.
func measureOperations(t *testing.T, s *servertest.Server, workflow string, stored []string) map[string]time.Duration {
	t.Helper()
	r := rand.New(rand.NewSource(1))
	cursors := laterPages(t, s, workflow)
	median := map[string]time.Duration{}
	for _, o := range scaleOperations {
		var times []time.Duration
		for range 300 {
			path := o.path(workflow, stored, cursors, r)
			begin := time.Now()
			a := s.Do(t, o.method, path, o.body)
			times = append(times, time.Since(begin))
			if a.Status != o.want {
				t.Fatalf("%s: %d %.300s", o.name, a.Status, a.Body)
			}
		}
		slices.Sort(times)
		median[o.name] = times[len(times)/2].Round(time.Microsecond)
	}
	return median
}

// laterPages walks through a list, at most 2,000 pages deep, and returns the cursors.
func laterPages(t *testing.T, s *servertest.Server, workflow string) []string {
	t.Helper()
	var cursors []string
	for after := ""; len(cursors) < 2_000; {
		var page struct{ Cursor *string }
		a := s.Do(t, "GET", fmt.Sprintf("/workflows/%s/executions?limit=100%s", workflow, after), "")
		if err := json.Unmarshal(a.Body, &page); err != nil || a.Status != http.StatusOK {
			t.Fatalf("list: %d %.300s", a.Status, a.Body)
		}
		if page.Cursor == nil {
			break
		}
		cursors = append(cursors, *page.Cursor)
		after = "&cursor=" + url.QueryEscape(*page.Cursor)
	}
	return cursors
}
