package blackbox_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// TestContractShares: calls that hang and scripts without end of the environment test fill no more than its share, so
// that calls and scripts of live have places at once (docs/how-to/share-capacity.md).
func TestContractShares(t *testing.T) {
	t.Parallel()
	s := start(t, append([]string{"--max-calls", "8", "--max-scripts", "2"}, egress...)...)
	test := servertest.CreateKey(t, s.DataDir, "--environment", "test", "--preset", "all")
	calls := newBarrier(t)
	quick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(quick.Close)
	called := deploy(t, s, "do:\n- a: {call: http, with: {method: get, endpoint: '"+quick.URL+"'}}\n")
	script := deploy(t, s, "do:\n- a: {run: {script: {language: js, code: 'console.log(1)'}}}\n")
	hanging := deploy(t, s, calls.flow())
	endless := deploy(t, s, "do:\n- a: {run: {script: {language: js, code: 'while (true) {}'}}}\n")

	// took is how long an execution takes: the slowest of some, and of the quickest ones of each workflow the slower one.
	took := func() (slowest, quickest time.Duration) {
		for _, flow := range []string{called, script} {
			least := time.Hour
			for range 3 {
				begun := time.Now()
				if e := finish(t, s, begin(t, s, flow, "{}")); text(e["status"]) != "finished" {
					t.Fatalf("it ended as %v", e)
				}
				took := time.Since(begun)
				slowest, least = max(slowest, took), min(least, took)
			}
			quickest = max(quickest, least)
		}
		return slowest, quickest
	}
	alone, _ := took()

	batch := func(flow string, items int) string {
		a := s.Do(t, "POST", batches(flow), `{"items":[{"n":1}`+strings.Repeat(`,{"n":1}`, items-1)+`]}`, "X-Api-Key", test)
		wantStatus(t, a, 202)
		return batches(flow) + "/" + text(a.Object()["batch_id"])
	}
	stuck := []string{batch(hanging, 60), batch(endless, 6)}
	calls.await(4) // the share of test
	eventually(t, "a script without end runs", func() bool {
		a := s.Do(t, "GET", executions(endless)+"?phase=running&limit=1", "", "X-Api-Key", test)
		return len(list(a.Object()["data"])) > 0
	})

	// A machine that others use, too, may stand still for seconds: the quickest counts.
	_, beside := took()
	t.Logf("alone one takes %v at most, beside what hangs %v at least", alone, beside)
	if atMost := time.Second + 10*alone; beside > atMost {
		t.Errorf("beside what hangs in test an execution of live takes %v at least, which may be %v", beside, atMost)
	}
	if inside, _, _ := calls.now(); inside > 4 {
		t.Errorf("test has %d calls, and its share of 8 is 4", inside)
	}
	for _, path := range stuck {
		wantStatus(t, s.Do(t, "POST", path+"/cancel", "", "X-Api-Key", test), 202)
	}
}

// TestContractKeyShares: a key that runs and calls as much as it may keeps no other key waiting, in the same workflow
// either, and the rest of what it has started follows (docs/how-to/share-capacity.md). With Temporal the bounds are
// refused.
func TestContractKeyShares(t *testing.T) {
	t.Parallel()
	bounds := []string{"--max-running-per-key", "3", "--max-calls-per-key", "2"}
	if servertest.Setup(t) == servertest.Temporal {
		dir := t.TempDir()
		refused := slices.Concat([]string{"serve", "--data-dir", dir}, servertest.Location(t, dir), servertest.Engine(t, dir), bounds)
		out, err := servertest.Command(t, refused...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "need --engine embedded") {
			t.Errorf("with Temporal the server ends with %v, and says %s", err, out)
		}
		return
	}
	s := start(t, append(bounds, egress...)...)
	greedy := servertest.CreateKey(t, s.DataDir, "--preset", "all")
	calls := newBarrier(t)
	quick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(quick.Close)
	flow := deploy(t, s, "do:\n- a: {call: http, with: {method: post, endpoint: '${ .url }', body: x}}\n")
	other := deploy(t, s, calls.flow())

	var held []string
	hold := func(path, body string) {
		a := s.Do(t, "POST", path, body, "X-Api-Key", greedy)
		wantStatus(t, a, 201)
		held = append(held, path+"/"+text(a.Object()["execution_id"]))
	}
	for range 5 {
		hold(executions(flow), `{"input":{"url":"`+calls.url+`"}}`)
		hold(executions(other), `{"input":{"n":1}}`)
	}
	a := s.Do(t, "POST", batches(other), `{"items":[{"n":1},{"n":1},{"n":1}]}`, "X-Api-Key", greedy)
	wantStatus(t, a, 202)
	batch := batches(other) + "/" + text(a.Object()["batch_id"])
	calls.await(2)

	for range 3 {
		if e := finish(t, s, begin(t, s, flow, `{"url":"`+quick.URL+`"}`)); text(e["status"]) != "finished" {
			t.Fatalf("that of another key ended as %v", e)
		}
	}
	running := 0
	for _, path := range held {
		if text(s.Do(t, "GET", path, "").Object()["phase"]) == "running" {
			running++
		}
	}
	if inside, most, _ := calls.now(); inside != 2 || most != 2 || running != 3 {
		t.Errorf("%d executions of the key run, and %d calls, at most %d; its bounds are 3 and 2", running, inside, most)
	}
	limits := map[string]any{}
	for _, l := range list(s.Do(t, "GET", "/limits", "").Object()["data"]) {
		limits[text(fields(l)["name"])] = fields(l)["value"]
	}
	for name, want := range map[string]int{"running_executions_of_key": 3, "outgoing_calls_of_key": 2, "processes_of_key": 8} {
		if limits[name] != want {
			t.Errorf("limit %s is %v, want %d", name, limits[name], want)
		}
	}

	calls.release()
	for _, path := range held {
		if e := finish(t, s, path); text(e["status"]) != "finished" {
			t.Errorf("one that has waited for its key ended as %v", e)
		}
	}
	if b := finish(t, s, batch); b["status"] != "completed" || b["completed"] != 3 {
		t.Errorf("the batch of the key ended as %v", b)
	}
	if _, most, _ := calls.now(); most != 2 {
		t.Errorf("%d calls of the key were made at once", most)
	}
}
