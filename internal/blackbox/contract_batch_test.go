package blackbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// TestContractBatch holds what docs/reference/api.md says of batches.
func TestContractBatch(t *testing.T) {
	t.Parallel()
	s := start(t, egress...)
	flow := deploy(t, s, fallible)
	t.Run("status", func(t *testing.T) { testBatchStatus(t, s, flow) })
	t.Run("counts", func(t *testing.T) { testBatchCounts(t, s) })
	t.Run("concurrency", func(t *testing.T) { testConcurrency(t, s, flow) })
	t.Run("slots", func(t *testing.T) { testSlots(t, s) })
	t.Run("all or nothing", func(t *testing.T) { testBatchRefused(t, s) })
	t.Run("cancel", func(t *testing.T) { testCancelBatch(t, s) })
	t.Run("entries", func(t *testing.T) { testEntries(t, s, flow) })
	t.Run("ten thousand", func(t *testing.T) { testTenThousand(t, s) })
	t.Run("list", func(t *testing.T) { testListBatches(t, s) })
}

// testBatchStatus: completed if at least one succeeded, failed if none did.
func testBatchStatus(t *testing.T, s *server, flow string) {
	for items, want := range map[string]struct {
		status            string
		completed, failed int
	}{
		`[{},{"bad":true},{}]`:         {"completed", 2, 1},
		`[{"bad":true},{}]`:            {"completed", 1, 1},
		`[{"bad":true},{"bad":true}]`:  {"failed", 0, 2},
		`[{"bad":true}]`:               {"failed", 0, 1},
		`[{}]`:                         {"completed", 1, 0},
		`[{"bad":false},{"bad":null}]`: {"completed", 2, 0},
	} {
		a := s.Do(t, "POST", batches(flow)+"?wait=60s", `{"items":`+items+`}`)
		wantStatus(t, a, 202)
		b := a.Object()
		if b["status"] != want.status || b["completed"] != want.completed || b["failed"] != want.failed || b["total"] != want.completed+want.failed {
			t.Errorf("%s: %s", items, a.Body)
		}
		for i, e := range list(b["executions"]) {
			status := map[bool]string{true: "error", false: "finished"}[strings.Contains(strings.Split(strings.Trim(items, "[]"), "},")[i], "true")]
			if e := fields(e); e["index"] != i || e["status"] != status {
				t.Errorf("%s: item %d: %v", items, i, e)
			}
		}
	}
}

// counts are the counts of a batch by status; their sum is always the total.
func counts(t *testing.T, b object) [5]int {
	t.Helper()
	var n [5]int
	sum := 0
	for i, name := range []string{"queued", "running", "waiting", "completed", "failed"} {
		n[i], _ = b[name].(int)
		sum += n[i]
	}
	if sum != b["total"] {
		t.Errorf("queued %d, running %d, waiting %d, completed %d and failed %d are not the total of %v", n[0], n[1], n[2], n[3], n[4], b["total"])
	}
	return n
}

func testBatchCounts(t *testing.T, s *server) {
	calls := newBarrier(t)
	flow := deploy(t, s, "do:\n- choose: {switch: [{sleeps: {when: '.sleep == true', then: nap}}, {fails: {when: '.bad == true', then: fail}}, {calls: {then: call}}]}\n"+
		"- nap: {wait: {minutes: 10}, then: end}\n- fail: {raise: {error: {type: 'https://example.com/bad', status: 400}}}\n"+strings.TrimPrefix(calls.flow(), "do:\n"))
	a := s.Do(t, "POST", batches(flow), `{"items":[{"sleep":true},{"bad":true},{"n":1},{"n":2},{"n":3}],"concurrency":2}`)
	wantStatus(t, a, 202)
	if n := counts(t, a.Object()); a.Object()["status"] != "pending" || n != [5]int{5, 0, 0, 0, 0} {
		t.Errorf("accepted: %s", a.Body)
	}
	if _, has := a.Object()["started_at"]; has {
		t.Error("a batch that is accepted has started_at already")
	}
	path := batches(flow) + "/" + text(a.Object()["batch_id"])
	calls.await(2) // waiting releases its slot, so two calls run beside it
	eventually(t, "one waits, one has failed, two run, one is queued", func() bool {
		b := s.Do(t, "GET", path, "").Object()
		return counts(t, b) == [5]int{1, 2, 1, 0, 1} && b["status"] == "running" && isMoment(b["started_at"]) && b["completed_at"] == nil
	})
	entries := list(s.Do(t, "GET", path, "").Object()["executions"])
	for i, want := range []string{"processing", "error", "processing", "processing", "initial"} {
		e := fields(entries[i])
		if e["status"] != want || (e["duration_ms"] != nil) != (want == "error") {
			t.Errorf("entry %d: %v, want %s", i, e, want)
		}
	}
	calls.release()
	eventually(t, "only the wait is left", func() bool {
		return counts(t, s.Do(t, "GET", path, "").Object()) == [5]int{0, 0, 1, 3, 1}
	})
	wantStatus(t, s.Do(t, "POST", path+"/cancel", ""), 202)
}

// testConcurrency: below 1 or not a whole number: 400; above the maximum it is lowered.
func testConcurrency(t *testing.T, s *server, flow string) {
	for value, want := range map[string][2]int{
		"1": {1, 1}, "10.0": {10, 10}, "1e1": {10, 10}, "100": {100, 100}, "101": {101, 100}, "1000000": {1000000, 100},
	} {
		a := s.Do(t, "POST", batches(flow), `{"items":[{}],"concurrency":`+value+`}`)
		wantStatus(t, a, 202)
		if a.Object()["concurrency"] != want[0] || a.Object()["effective_concurrency"] != want[1] {
			t.Errorf("concurrency %s: %s", value, a.Body)
		}
	}
	a := s.Do(t, "POST", batches(flow), `{"items":[{}],"concurrency":`+strings.Repeat("9", 1000)+`}`)
	wantStatus(t, a, 202)
	if a.Object()["effective_concurrency"] != 100 {
		t.Errorf("a huge concurrency: %.300s", a.Body)
	}
	a = s.Do(t, "POST", batches(flow), `{"items":[{}]}`)
	if a.Object()["concurrency"] != 5 || a.Object()["effective_concurrency"] != 5 {
		t.Errorf("the default is 5: %s", a.Body)
	}
	for _, bad := range []string{"0", "-1", "1.5", `"5"`, "null", "[]", "{}", "true", "0.999", "-0", "1e-1", "-" + strings.Repeat("9", 500)} {
		a := s.Do(t, "POST", batches(flow), `{"items":[{}],"concurrency":`+bad+`}`)
		wantPointer(t, wantProblem(t, s, a, 400, "invalid_body"), "/concurrency")
	}
}

// testSlots: "a bounded number running in parallel"; items start in input order.
func testSlots(t *testing.T, s *server) {
	for _, concurrency := range []int{1, 3, 0} {
		calls := newBarrier(t)
		flow := deploy(t, s, calls.flow())
		body, want := fmt.Sprintf(`,"concurrency":%d}`, concurrency), concurrency
		if concurrency == 0 {
			body, want = "}", 5
		}
		var items, order []string
		for i := range 12 {
			items, order = append(items, fmt.Sprintf(`{"n":%d}`, i)), append(order, fmt.Sprint(i))
		}
		a := s.Do(t, "POST", batches(flow), `{"items":[`+strings.Join(items, ",")+`]`+body)
		wantStatus(t, a, 202)
		calls.await(want)
		path := batches(flow) + "/" + text(a.Object()["batch_id"])
		if n := counts(t, s.Do(t, "GET", path, "").Object()); n != [5]int{12 - want, want, 0, 0, 0} {
			t.Errorf("with concurrency %d: %v", want, n)
		}
		calls.release()
		if b := finish(t, s, path); b["completed"] != 12 {
			t.Errorf("%v", b)
		}
		_, most, arrived := calls.now()
		if most != want {
			t.Errorf("%d calls at once with concurrency %d", most, want)
		}
		if want == 1 && !slices.Equal(arrived, order) {
			t.Errorf("items ran in the order %v", arrived)
		}
	}
}

// testBatchRefused: "A bad item rejects the whole batch before anything starts, with pointers".
func testBatchRefused(t *testing.T, s *server) {
	flow := deploy(t, s, "input: {schema: {document: {type: object, required: [amount], properties: {amount: {type: number}}}}}\n"+echo)
	p := wantProblem(t, s, s.Do(t, "POST", batches(flow), `{"items":[{"amount":1},{"amount":"x"},{},{"amount":[]}]}`), 422, "input_invalid")
	wantPointer(t, p, "/items/1/amount")
	wantPointer(t, p, "/items/3/amount")
	if !strings.Contains(fmt.Sprint(p["errors"]), "/items/2") {
		t.Errorf("the third item is not named: %v", p["errors"])
	}
	for body, pointer := range map[string]string{
		`{"items":[{},5,{},"x",null,[]]}`: "/items/5", `{"items":{}}`: "/items", `{"items":"x"}`: "/items", `{"items":null}`: "/items", `{}`: "/items",
		`[]`: "", `5`: "", `"items"`: "", `null`: "", `{"items":[{}],"concurrency":0}`: "/concurrency",
	} {
		wantPointer(t, wantProblem(t, s, s.Do(t, "POST", batches(flow), body), 400, "invalid_body"), pointer)
	}
	if a := s.Do(t, "POST", batches(flow), ""); a.Status != 400 {
		t.Errorf("a batch without a body: %d %s", a.Status, a.Body)
	}
	wantPointer(t, wantProblem(t, s, s.Do(t, "POST", batches(flow), `{"items":[]}`), 422, "items_empty"), "/items")
	many := `{"items":[{"amount":1}` + strings.Repeat(`,{"amount":1}`, 10_000) + `]}`
	wantPointer(t, wantProblem(t, s, s.Do(t, "POST", batches(flow), many), 422, "too_many_items"), "/items")
	bad := `{"items":[{}` + strings.Repeat(`,{}`, 500) + `]}`
	if p := wantProblem(t, s, s.Do(t, "POST", batches(flow), bad), 422, "input_invalid"); len(list(p["errors"])) != 100 {
		t.Errorf("%d entries in errors, at most 100", len(list(p["errors"])))
	}
	// An input has at most 1 MiB, in a batch as alone.
	item := func(size int) string {
		return `{"amount":1,"x":"` + strings.Repeat("x", size-len(`{"amount":1,"x":""}`)) + `"}`
	}
	for _, size := range []int{1<<20 + 1, 5 << 20, 20 << 20} {
		p = wantProblem(t, s, s.Do(t, "POST", batches(flow), `{"items":[{"amount":1},`+item(size)+`,{"amount":1}]}`), 422, "input_invalid")
		wantPointer(t, p, "/items/1")
	}
	for _, p := range []string{executions(flow), batches(flow)} {
		if n := len(list(s.Do(t, "GET", p, "").Object()["data"])); n != 0 {
			t.Errorf("%d at %s although every request was refused", n, p)
		}
	}
	a := s.Do(t, "POST", batches(flow)+"?wait=60s", `{"items":[`+item(1<<20)+`]}`)
	if a.Status != 202 || a.Object()["completed"] != 1 {
		t.Errorf("an item of exactly 1 MiB: %d %.300s", a.Status, a.Body)
	}
}

func testCancelBatch(t *testing.T, s *server) {
	calls := newBarrier(t)
	flow := deploy(t, s, calls.flow())
	a := s.Do(t, "POST", batches(flow), `{"items":[{"n":1},{"n":2},{"n":3},{"n":4}],"concurrency":2}`)
	path := batches(flow) + "/" + text(a.Object()["batch_id"])
	calls.await(2)
	c := s.Do(t, "POST", path+"/cancel", `{"reason":"no longer wanted"}`)
	wantStatus(t, c, 202)
	batchShape.but(shape{"executions?": isList}).verify(t, "cancelled batch", c.JSON)
	b := finish(t, s, path)
	if b["status"] != "failed" || counts(t, b) != [5]int{0, 0, 0, 0, 4} {
		t.Errorf("a cancelled batch: %v", b)
	}
	for _, e := range list(b["executions"]) {
		read := s.Do(t, "GET", executions(flow)+"/"+text(fields(e)["execution_id"]), "").Object()
		if read["status"] != "error" || read["phase"] != "cancelled" || fields(read["error"])["code"] != "cancelled" {
			t.Errorf("a cancelled item: %v", read)
		}
		if (read["started_at"] == nil) != (fields(e)["duration_ms"] == nil) {
			t.Errorf("duration_ms is finish - start: %v of %v", e, read)
		}
	}
	wantProblem(t, s, s.Do(t, "POST", path+"/cancel", ""), 409, "state_conflict")
	eventually(t, "the calls of cancelled items are withdrawn", func() bool {
		inside, _, _ := calls.now()
		return inside == 0
	})
	if _, _, order := calls.now(); len(order) != 2 {
		t.Errorf("%d items ran, two had a slot before the cancellation", len(order))
	}
	// Cancelled after one has finished: still failed ("or the batch was cancelled").
	mixed := deploy(t, s, "do:\n- choose: {switch: [{sleeps: {when: '.sleep == true', then: nap}}, {ends: {then: end}}]}\n- nap: {wait: {minutes: 10}}\n")
	a = s.Do(t, "POST", batches(mixed), `{"items":[{},{"sleep":true}]}`)
	path = batches(mixed) + "/" + text(a.Object()["batch_id"])
	eventually(t, "one has finished and one waits", func() bool {
		return counts(t, s.Do(t, "GET", path, "").Object()) == [5]int{0, 0, 1, 1, 0}
	})
	wantStatus(t, s.Do(t, "POST", path+"/cancel", ""), 202)
	if b := finish(t, s, path); b["status"] != "failed" || b["completed"] != 1 || b["failed"] != 1 {
		t.Errorf("cancelled after one had finished: %v", b)
	}
}

func testEntries(t *testing.T, s *server, flow string) {
	a := s.Do(t, "POST", batches(flow)+"?wait=60s", `{"items":[{"bad":true}`+strings.Repeat(`,{}`, 129)+`]}`)
	wantStatus(t, a, 202)
	path := batches(flow) + "/" + text(a.Object()["batch_id"])
	for query, want := range map[string]int{"": 130, "?executions=full": 130, "?executions=page": 100, "?executions=none": 0} {
		b := s.Do(t, "GET", path+query, "")
		wantStatus(t, b, 200)
		entries, has := b.Object()["executions"]
		if len(list(entries)) != want || has != (want > 0) {
			t.Errorf("GET %s: %d entries", query, len(list(entries)))
		}
	}
	wantParameter(t, wantProblem(t, s, s.Do(t, "GET", path+"?executions=some", ""), 400, "invalid_parameter"), "executions")
	items := s.Do(t, "GET", path+"/items?status=error", "").Object()
	if data := list(items["data"]); len(data) != 1 || items["cursor"] != nil {
		t.Errorf("items with status error: %v", items)
	} else {
		entryShape.verify(t, "item", data[0])
	}
	other := deploy(t, s, echo)
	id := text(a.Object()["batch_id"])
	for _, p := range []string{batches(other) + "/" + id, batches(flow) + "/" + nobody, batches(flow) + "/x", batches(nobody) + "/" + id} {
		for _, sub := range []string{"", "/items"} {
			if a := s.Do(t, "GET", p+sub, ""); a.Status != 404 {
				t.Errorf("GET %s: %d", p+sub, a.Status)
			}
		}
	}
	wantProblem(t, s, s.Do(t, "GET", batches(other)+"/"+id, ""), 404, "batch_not_found")
}

func testTenThousand(t *testing.T, s *server) {
	flow := deploy(t, s, echo)
	var body strings.Builder
	body.WriteString(`{"items":[{"i":0}`)
	for i := 1; i < 10_000; i++ {
		fmt.Fprintf(&body, `,{"i":%d}`, i)
	}
	body.WriteString(`],"concurrency":50}`)
	a := s.Do(t, "POST", batches(flow), body.String())
	wantStatus(t, a, 202)
	entries := list(a.Object()["executions"])
	if len(entries) != 10_000 || fields(fields(entries[9_999])["inputs"])["i"] != 9_999 {
		t.Errorf("%d entries in the answer", len(entries))
	}
	path := batches(flow) + "/" + text(a.Object()["batch_id"])
	if servertest.Setup(t) == servertest.Temporal {
		// A Temporal server of the size of a test would take minutes.
		wantStatus(t, s.Do(t, "POST", path+"/cancel", ""), 202)
		if b := finish(t, s, path); b["completed"].(int)+b["failed"].(int) != 10_000 {
			t.Errorf("completed %v, failed %v", b["completed"], b["failed"])
		}
		return
	}
	if b := finish(t, s, path); b["completed"] != 10_000 || b["status"] != "completed" {
		t.Errorf("completed %v, failed %v", b["completed"], b["failed"])
	}
	last := s.Do(t, "GET", path+"/items?cursor=9990", "").Object()
	if n := len(list(last["data"])); n == 0 || n > 10 {
		t.Errorf("%d items at the end", n)
	}
}

func testListBatches(t *testing.T, s *server) {
	flow := deploy(t, s, echo)
	var want []string
	for range 5 {
		a := s.Do(t, "POST", batches(flow)+"?wait=60s", `{"items":[{}]}`)
		want = append([]string{text(a.Object()["batch_id"])}, want...)
	}
	for _, limit := range []int{1, 2, 5, 100} {
		got := walk(t, s, batches(flow), limit)
		for i, b := range got {
			batchShape.verify(t, "batch of a list", b)
			if i < len(want) && b["batch_id"] != want[i] {
				t.Errorf("place %d holds %v", i, b["batch_id"])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d batches, want %d", len(got), len(want))
		}
	}
}
