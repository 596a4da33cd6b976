package blackbox_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestContractLarge: what is large is kept whole, or bounded as the pages say.
func TestContractLarge(t *testing.T) {
	t.Parallel()
	s := start(t, egress...)
	t.Run("timeline", func(t *testing.T) { testLongTimeline(t, s) })
	t.Run("input", func(t *testing.T) { testLargeInput(t, s) })
	t.Run("responses", func(t *testing.T) { testLargeResponses(t, s) })
	t.Run("definition", func(t *testing.T) { testLargeDefinition(t, s) })
}

// testLongTimeline: "newest 10,000 kept, truncated: true" (docs/explanation/architecture.md).
func testLongTimeline(t *testing.T, s *server) {
	flow := deploy(t, s, "do:\n- each: {for: {in: '[range(12000)]'}, do: [{body: {set: {i: '${ $item }'}}}]}\n")
	path := begin(t, s, flow, "{}")
	if e := finish(t, s, path); e["status"] != "finished" {
		t.Fatalf("%v", e)
	}
	first := s.Do(t, "GET", path+"/timeline", "").Object()
	if first["truncated"] != true {
		t.Errorf("12,001 entries are not truncated: %v", first["truncated"])
	}
	progress := list(s.Do(t, "GET", path+"/progress", "").Object()["data"])
	if len(progress) != 2 || fields(fields(progress[1])["counts"])["completed"] != 12_000 || fields(progress[1])["last_seq"] != 12_001 {
		t.Errorf("the tasks are counted as %v", progress)
	}
	entries := walk(t, s, path+"/timeline", 100)
	if entries[0]["name"] != "each" || entries[0]["seq"] != 1 {
		t.Errorf("the loop is not in the timeline: it begins with %v", entries[0])
	}
	last := entries[len(entries)-1]
	if len(entries) > 10_100 || len(entries) < 9_900 || last["iteration"] != 11_999 {
		t.Errorf("%d entries, the last of iteration %v", len(entries), last["iteration"])
	}
	for i := 1; i < len(entries); i++ {
		if entries[i]["seq"].(int) <= entries[i-1]["seq"].(int) {
			t.Fatalf("seq %v after %v", entries[i]["seq"], entries[i-1]["seq"])
		}
	}
}

// testLargeInput: an input of almost 1 MiB comes back byte for byte.
func testLargeInput(t *testing.T, s *server) {
	flow := deploy(t, s, "do:\n- wait: {wait: {milliseconds: 1}}\n- echo: {set: '${ . }'}\n")
	input := `{"text":"` + strings.Repeat("äöü\\n", 130_000) + `"}`
	e := finish(t, s, begin(t, s, flow, input))
	if !equal(e["output"], parse(t, input)) {
		t.Errorf("an input of %d bytes came back as another", len(input))
	}
	a := s.Do(t, "POST", batches(flow)+"?wait=60s", `{"items":[`+input+`,{},`+input+`]}`)
	wantStatus(t, a, 202)
	for i, entry := range list(a.Object()["executions"]) {
		if want := map[bool]string{true: "{}", false: input}[i == 1]; !equal(fields(entry)["inputs"], parse(t, want)) {
			t.Errorf("item %d came back as another", i)
		}
	}
}

// testLargeResponses: content of a response above the limit becomes a reference (T40).
func testLargeResponses(t *testing.T, s *server) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscanf(r.URL.Query().Get("n"), "%d", &n)
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, strings.Repeat("x", n))
	}))
	t.Cleanup(receiver.Close)
	flow := deploy(t, s, "do:\n- get: {call: http, with: {method: get, endpoint: '"+receiver.URL+"/?n={n}'}}\n")
	for _, n := range []int{0, 1000, 200_000, 80 << 20} {
		e := finish(t, s, begin(t, s, flow, fmt.Sprintf(`{"n":%d}`, n)))
		switch out := e["output"].(type) {
		case nil:
			if n != 0 || e["status"] != "finished" {
				t.Errorf("%d bytes became null (%v)", n, e["error"])
			}
		case string:
			if len(out) != n {
				t.Errorf("%d bytes became %d", n, len(out))
			}
		case object:
			if out["size"] != n || len(list(e["results"])) != 1 || fields(list(e["results"])[0])["size"] != n {
				t.Errorf("%d bytes became %v", n, out)
			}
		}
	}
}

// testLargeDefinition: 10,000 tasks and 1,000 branches are allowed, and run.
func testLargeDefinition(t *testing.T, s *server) {
	flow := s.Apply(t, definition(unique("large"), "1.0.0", "do:\n"+manyTasks(10_000)))
	if e := finish(t, s, begin(t, s, flow, "{}")); e["status"] != "finished" {
		t.Errorf("10,000 tasks: %v", e["error"])
	}
	flow = s.Apply(t, definition(unique("large"), "1.0.0", "do:\n- f: {fork: {branches: ["+strings.TrimSuffix(manyBranches(1_000), ",")+"]}}\n"))
	e := finish(t, s, begin(t, s, flow, "{}"))
	if n := len(list(e["output"])); n != 1_000 {
		t.Errorf("1,000 branches: %d outputs, %v", n, e["error"])
	}
	name := strings.Repeat("n", 63)
	s.Apply(t, definition(name, "1.0.0", echo))
	a := post(t, s, "/workflows", definition(name+"n", "1.0.0", echo))
	if e := fields(list(a.Object()["errors"])[0]); a.Status != 422 || e["pointer"] != "/document/name" {
		t.Errorf("a name of 64 characters: %d %s", a.Status, a.Body)
	}
}
