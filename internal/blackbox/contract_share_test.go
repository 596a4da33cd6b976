package blackbox_test

import (
	"net/http"
	"net/http/httptest"
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
