package blackbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/value"
)

// TestContractLife holds docs/reference/api.md "Status", cancellation in each state, retries, the timeline
// and the error object.
func TestContractLife(t *testing.T) {
	t.Parallel()
	s := start(t, append([]string{"--allow-run", "shell"}, egress...)...)
	t.Run("moves", func(t *testing.T) { testMoves(t, s) })
	t.Run("cancel", func(t *testing.T) { testCancel(t, s) })
	t.Run("cancel queued", testCancelQueued)
	t.Run("suspend", func(t *testing.T) { testSuspend(t, s) })
	t.Run("delete", func(t *testing.T) { testDeleteExecution(t, s) })
	t.Run("retry", func(t *testing.T) { testRetry(t, s) })
	t.Run("retry from a task", func(t *testing.T) { testRetryFrom(t, s) })
	t.Run("timeline", func(t *testing.T) { testTimeline(t, s) })
	t.Run("recording", func(t *testing.T) { testRecording(t, s) })
	t.Run("archive", func(t *testing.T) { testArchive(t, s) })
	t.Run("timeline pages", func(t *testing.T) { testTimelinePages(t, s) })
	t.Run("errors", func(t *testing.T) { testErrorObjects(t, s) })
	t.Run("wrong workflow", func(t *testing.T) { testWrongWorkflow(t, s) })
	t.Run("not yet", func(t *testing.T) { testNotYet(t, s) })
}

// moves are the statuses that may follow each other.
var moves = map[string]string{
	"initial":           "initial processing human_in_the_loop finished error",
	"processing":        "processing human_in_the_loop finished error",
	"human_in_the_loop": "processing human_in_the_loop finished error",
	"finished":          "finished",
	"error":             "error",
}

// testMoves reads an execution as often as possible on its way.
func testMoves(t *testing.T, s *server) {
	calls := newBarrier(t)
	flow := deploy(t, s, "do:\n- pause: {wait: {milliseconds: 30}}\n"+strings.TrimPrefix(calls.flow(), "do:\n")+"- again: {wait: {milliseconds: 30}}\n")
	for range 3 {
		path := begin(t, s, flow, `{"n":1}`)
		status, seen := "initial", map[string]bool{}
		eventually(t, "the end", func() bool {
			e := s.Do(t, "GET", path, "").Object()
			next, phase := text(e["status"]), text(e["phase"])
			if !strings.Contains(moves[status], next) {
				t.Fatalf("%s moved to %s", status, next)
			}
			if (next == "finished") != (e["results"] != nil) || (next == "finished") != (phase == "completed") || (next == "initial") != (phase == "pending") {
				t.Fatalf("fields contradict each other: %s", value.Marshal(e))
			}
			status = next
			seen[phase] = true
			if phase == "running" {
				calls.release()
			}
			return status == "finished"
		})
		if !seen["waiting"] {
			t.Errorf("phases seen: %v", seen)
		}
	}
}

func testCancel(t *testing.T, s *server) {
	calls := newBarrier(t)
	running, waiting, quick, bad := deploy(t, s, calls.flow()), deploy(t, s, sleep), deploy(t, s, echo), deploy(t, s, failed)
	shell := deploy(t, s, "do:\n- a: {run: {shell: {command: 'exec sleep 600'}}}\n")
	paths := map[string]string{"running": begin(t, s, running, `{"n":1}`), "waiting": begin(t, s, waiting, "{}"), "process": begin(t, s, shell, "{}")}
	calls.await(1)
	await(t, s, paths["waiting"], "processing")
	await(t, s, paths["process"], "processing")
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			a := s.Do(t, "POST", path+"/cancel", `{"reason":"changed our minds"}`)
			wantStatus(t, a, 202)
			for _, e := range []object{a.Object(), s.Do(t, "GET", path, "").Object()} {
				executionShape.but(shape{
					"status": oneOf("error"), "phase": oneOf("cancelled"), "results": isNull, "error": isObject, "finished_at": isMoment, "output": nil,
				}).verify(t, "cancelled execution", e)
				errorShape.verify(t, "its error", e["error"])
				if fault := fields(e["error"]); fault["code"] != "cancelled" || !strings.Contains(text(fault["detail"]), "changed our minds") {
					t.Errorf("error %v", fault)
				}
			}
			wantProblem(t, s, s.Do(t, "POST", path+"/cancel", ""), 409, "state_conflict")
		})
	}
	eventually(t, "the call is withdrawn", func() bool { inside, _, _ := calls.now(); return inside == 0 })
	for name, flow := range map[string]string{"finished": quick, "error": bad} {
		path := begin(t, s, flow, "{}")
		before := finish(t, s, path)
		wantProblem(t, s, s.Do(t, "POST", path+"/cancel", ""), 409, "state_conflict")
		if after := s.Do(t, "GET", path, "").Object(); after["status"] != name || after["finished_at"] != before["finished_at"] {
			t.Errorf("%s changed to %v", name, after)
		}
	}
	path := begin(t, s, waiting, "{}")
	for body, pointer := range map[string]string{`{"reason":5}`: "/reason", `[]`: "", `{"reason":"` + strings.Repeat("x", 10_000) + `"}`: "/reason"} {
		wantPointer(t, wantProblem(t, s, s.Do(t, "POST", path+"/cancel", body), 400, "invalid_body"), pointer)
	}
	wantProblem(t, s, s.Do(t, "POST", path+"/cancel", `{"why":"x"}`), 400, "unknown_field")
	if e := s.Do(t, "GET", path, "").Object(); e["status"] == "error" {
		t.Error("a refused cancellation cancelled")
	}
	wantStatus(t, s.Do(t, "POST", path+"/cancel", ""), 202)
	wantProblem(t, s, s.Do(t, "POST", executions(waiting)+"/"+nobody+"/cancel", ""), 404, "execution_not_found")
}

// testCancelQueued cancels what has not got a slot yet; it stays initial until then.
func testCancelQueued(t *testing.T) {
	s := start(t, append([]string{"--max-running", "1"}, egress...)...)
	calls := newBarrier(t)
	flow := deploy(t, s, calls.flow())
	first := begin(t, s, flow, `{"n":1}`)
	calls.await(1)
	second, third := begin(t, s, flow, `{"n":2}`), begin(t, s, flow, `{"n":3}`)
	for _, path := range []string{second, third} {
		if e := s.Do(t, "GET", path, "").Object(); e["status"] != "initial" || e["started_at"] != nil || e["phase"] != "pending" {
			t.Errorf("queued: %v", e)
		}
	}
	a := s.Do(t, "POST", second+"/cancel", "")
	wantStatus(t, a, 202)
	if e := a.Object(); e["status"] != "error" || e["phase"] != "cancelled" {
		t.Errorf("%s", a.Body)
	}
	calls.release()
	for path, want := range map[string]string{first: "finished", second: "error", third: "finished"} {
		if e := finish(t, s, path); e["status"] != want {
			t.Errorf("%v, want %s", e, want)
		}
	}
	if _, _, order := calls.now(); fmt.Sprint(order) != "[1 3]" {
		t.Errorf("ran: %v", order)
	}
}

// testSuspend suspends an execution while a call of it runs, and looks at it from outside.
func testSuspend(t *testing.T, s *server) {
	calls := newBarrier(t)
	flow := deploy(t, s, calls.flow()+"- after: {set: {done: true}}\n")
	path := begin(t, s, flow, `{"n":1}`)
	calls.await(1)
	wantProblem(t, s, s.Do(t, "POST", path+"/resume", ""), 409, "state_conflict")
	a := s.Do(t, "POST", path+"/suspend", "")
	wantStatus(t, a, 202)
	for _, e := range []object{a.Object(), s.Do(t, "GET", path, "").Object()} {
		if e["status"] != "processing" || e["phase"] != "suspended" || e["results"] != nil {
			t.Fatalf("suspended: %s", value.Marshal(e))
		}
	}
	wantProblem(t, s, s.Do(t, "POST", path+"/suspend", ""), 409, "state_conflict")
	wantProblem(t, s, s.Do(t, "DELETE", path, ""), 409, "state_conflict")
	wantProblem(t, s, s.Do(t, "POST", path+"/retry", ""), 409, "state_conflict")
	calls.release()
	eventually(t, "a suspended execution in the list", func() bool {
		list, _ := s.Do(t, "GET", "/executions?phase=suspended", "").Object()["data"].([]any)
		return len(list) == 1
	})
	if e := s.Do(t, "GET", path+"?wait=1s", "").Object(); e["phase"] != "suspended" {
		t.Fatalf("it did not stay suspended: %s", value.Marshal(e))
	}
	wantStatus(t, s.Do(t, "POST", path+"/resume", "{}"), 202)
	if e := s.Do(t, "GET", path+"?wait=60s", "").Object(); e["status"] != "finished" {
		t.Fatalf("resumed: %s", value.Marshal(e))
	}
	wantProblem(t, s, s.Do(t, "POST", path+"/suspend", ""), 409, "state_conflict")
}

// testDeleteExecution deletes what has ended, and what belongs to it.
func testDeleteExecution(t *testing.T, s *server) {
	flow := deploy(t, s, echo)
	path := begin(t, s, flow, `{"n":1}`)
	e := s.Do(t, "GET", path+"?wait=60s", "").Object()
	results, _ := e["results"].([]any)
	if len(results) != 1 {
		t.Fatalf("no result: %s", value.Marshal(e))
	}
	a := s.Do(t, "DELETE", path, "")
	if a.Status != 204 || len(a.Body) != 0 {
		t.Fatalf("delete: %d %s", a.Status, a.Body)
	}
	for _, one := range []string{path, path + "/timeline", "/executions/" + text(e["id"])} {
		wantProblem(t, s, s.Do(t, "GET", one, ""), 404, "execution_not_found")
	}
	for _, method := range []string{"DELETE", "POST"} {
		gone := path
		if method == "POST" {
			gone += "/retry"
		}
		wantProblem(t, s, s.Do(t, method, gone, ""), 404, "execution_not_found")
	}
}

// testRetry: a new execution with the same input, retry_of, and 409 where there is no use.
func testRetry(t *testing.T, s *server) {
	flow := deploy(t, s, fallible)
	path := begin(t, s, flow, `{"bad":true,"n":5}`)
	before := finish(t, s, path)
	a := s.Do(t, "POST", path+"/retry", "")
	wantStatus(t, a, 201)
	executionShape.but(shape{"execution_id?": isUUID, "retry_of": isUUID, "status": oneOf("initial"), "results": isNull}).verify(t, "retry", a.JSON)
	if a.Object()["id"] == before["id"] || a.Object()["retry_of"] != before["id"] {
		t.Errorf("%s", a.Body)
	}
	if got := a.Header.Get("Location"); got != s.URL+"/api/v1"+executions(flow)+"/"+text(a.Object()["id"]) {
		t.Errorf("Location %s", got)
	}
	e := finish(t, s, executions(flow)+"/"+text(a.Object()["id"]))
	if e["retry_of"] != before["id"] || e["status"] != "error" {
		t.Errorf("the retry ran with another input: %v", e)
	}
	if after := s.Do(t, "GET", path, "").Object(); !equal(after, before) {
		t.Errorf("the original changed:\n%s\n%s", value.Marshal(before), value.Marshal(after))
	}
	running := begin(t, s, deploy(t, s, sleep), "{}")
	wantProblem(t, s, s.Do(t, "POST", running+"/retry", ""), 409, "state_conflict")
	wantStatus(t, s.Do(t, "POST", running+"/cancel", ""), 202)
	wantStatus(t, s.Do(t, "POST", running+"/retry", ""), 201)
	edited := s.Do(t, "POST", path+"/retry", `{"input":{"n":2},"version":"published"}`)
	wantStatus(t, edited, 201)
	if e := edited.Object(); e["retry_of"] != before["id"] || e["workflow_version"] != before["workflow_version"] {
		t.Errorf("with another input: %s", value.Marshal(e))
	}
	wantProblem(t, s, s.Do(t, "POST", path+"/retry", `{"inputs":{}}`), 400, "unknown_field")
	wantProblem(t, s, s.Do(t, "POST", path+"/retry", `{"input":[]}`), 400, "invalid_body")
	wantProblem(t, s, s.Do(t, "POST", path+"/retry", `{"version":"7.0.0"}`), 404, "version_not_found")
	// The query forms are gone, and nothing of them is ignored.
	for _, query := range []string{"version=published", "from=/do/1/fail"} {
		wantProblem(t, s, s.Do(t, "POST", path+"/retry?"+query, ""), 400, "unknown_parameter")
	}
}

// testRetryFrom: a retry that begins with a task runs nothing before it, and has the task's input and the context.
func testRetryFrom(t *testing.T, s *server) {
	reserved := newBarrier(t)
	reserved.release()
	paid := newBarrier(t)
	paid.release()
	flow := deploy(t, s, `do:
- reserve: {call: http, with: {method: post, endpoint: '`+reserved.url+`', body: '${ .n }'}, output: {as: '{n: $input.n, reserved: .passed}'}, export: {as: '{first: $output.n}'}}
- pay: {do: [{ask: {call: http, with: {method: post, endpoint: '`+paid.url+`', body: '${ . }'}}}, {fail: {raise: {error: {type: 'https://example.com/paid', status: 402}}}}]}
- never: {set: {x: 1}}
`)
	path := begin(t, s, flow, `{"n":5}`)
	before := finish(t, s, path)
	if before["status"] != "error" {
		t.Fatalf("%s", value.Marshal(before))
	}
	a := s.Do(t, "POST", path+"/retry", `{"from":"/do/1/pay"}`)
	wantStatus(t, a, 201)
	if e := a.Object(); e["retry_of"] != before["id"] || e["workflow_version"] != before["workflow_version"] || e["revision"] != before["revision"] {
		t.Errorf("%s", a.Body)
	}
	again := executions(flow) + "/" + text(a.Object()["id"])
	e := finish(t, s, again)
	if fault := fields(e["error"]); e["status"] != "error" || fault["instance"] != "/do/1/pay/do/1/fail" || !equal(e["input"], parse(t, `{"n":5}`)) {
		t.Errorf("%s", value.Marshal(e))
	}
	var ran []string
	for _, entry := range walk(t, s, again+"/timeline", 100) {
		entryOfTimeline.verify(t, "entry", entry)
		ran = append(ran, fmt.Sprint(entry["seq"], " ", entry["reference"], " ", string(value.Marshal(entry["input"]))))
	}
	input := `{"n":5,"reserved":true}`
	if want := []string{"1 /do/1/pay " + input, "2 /do/1/pay/do/0/ask " + input, `3 /do/1/pay/do/1/fail {"passed":true}`}; !slices.Equal(ran, want) {
		t.Errorf("ran\n%s\nwant\n%s", strings.Join(ran, "\n"), strings.Join(want, "\n"))
	}
	_, _, first := reserved.now()
	_, _, second := paid.now()
	if !slices.Equal(first, []string{"5"}) || !slices.Equal(second, []string{input, input}) {
		t.Errorf("received: %q, %q", first, second)
	}
	for from, code := range map[string]string{
		"/do/9/pay": "unknown_task", "/do/1/pay/do/0/ask": "nested_task", "/do/2/never": "not_begun",
	} {
		p := wantProblem(t, s, s.Do(t, "POST", path+"/retry", `{"from":"`+from+`"}`), 422, "task_not_retryable")
		if e := wantPointer(t, p, "/from"); e["code"] != code {
			t.Errorf("from %s: %v, want %s", from, e, code)
		}
	}
	p := wantProblem(t, s, s.Do(t, "POST", path+"/retry", `{"from":"/do/1/pay","input":{}}`), 422, "task_not_retryable")
	wantPointer(t, p, "/input")

	// Data that hold a secret are kept nowhere.
	wantStatus(t, s.Do(t, "PUT", "/secrets/retried", `{"value":"a-secret-of-a-retry"}`), 201)
	flow = deploy(t, s, "use: {secrets: [retried]}\ndo:\n- take: {set: {token: '${ $secrets.retried }'}}\n"+
		"- fail: {raise: {error: {type: 'https://example.com/down', status: 503}}}\n")
	path = begin(t, s, flow, "{}")
	if e := finish(t, s, path); e["status"] != "error" {
		t.Fatalf("%s", value.Marshal(e))
	}
	p = wantProblem(t, s, s.Do(t, "POST", path+"/retry", `{"from":"/do/1/fail"}`), 422, "task_not_retryable")
	if e := wantPointer(t, p, "/from"); e["code"] != "not_kept" {
		t.Errorf("%v", e)
	}
}

var entryOfTimeline = shape{
	"seq": isCount, "name": isText, "reference": isText, "iteration": isCount, "attempt": isCount, "phase": executionPhase,
	"started_at": isMoment, "finished_at?": isMoment, "input?": isAny, "output?": isAny, "error?": isObject, "files?": isList,
	"parent_seq?": isCount, "kind": isText, "iterations": isList, "waiting_for?": isObject, "child_execution_id?": isText, "log_bytes?": isCount,
}

// testTimeline: one entry per task that started, composite ones too, by seq.
func testTimeline(t *testing.T, s *server) {
	flow := deploy(t, s, `do:
- outer:
    do:
    - inner: {set: {a: '${ .n }'}}
- skipped: {if: 'false', set: {x: 1}}
- each: {for: {in: '[1,2]', each: i}, do: [{body: {set: {i: '${ $i }'}}}]}
- attempt:
    try: [{risky: {raise: {error: {type: 'https://example.com/r', status: 500}}}}]
    catch: {retry: {delay: {milliseconds: 1}, limit: {attempt: {count: 2}}}, do: [{handler: {set: {handled: true}}}]}
- last: {wait: {minutes: 10}}
`)
	path := begin(t, s, flow, `{"n":7}`)
	var entries []object
	eventually(t, "the last task waits", func() bool {
		entries = walk(t, s, path+"/timeline", 100)
		return len(entries) > 0 && entries[len(entries)-1]["name"] == "last"
	})
	var got, nesting []string
	for i, e := range entries {
		entryOfTimeline.verify(t, "entry", e)
		if i > 0 && fmt.Sprintf("%09d", e["seq"]) <= fmt.Sprintf("%09d", entries[i-1]["seq"]) {
			t.Errorf("seq %v after %v", e["seq"], entries[i-1]["seq"])
		}
		got = append(got, fmt.Sprintf("%s %d %d %s", e["reference"], e["iteration"], e["attempt"], e["phase"]))
		nesting = append(nesting, fmt.Sprint(e["kind"], " ", e["parent_seq"], " ", e["iterations"]))
	}
	nestings := []string{
		"do <nil> []", "set 1 []", "for <nil> []", "set 3 [0]", "set 3 [1]", "try <nil> []", "raise 6 []", "raise 6 []", "raise 6 []", "set 6 []", "wait <nil> []",
	}
	if !slices.Equal(nesting, nestings) {
		t.Errorf("kinds, parents and iterations are\n%s\nwant\n%s", strings.Join(nesting, "\n"), strings.Join(nestings, "\n"))
	}
	want := []string{
		"/do/0/outer 0 0 completed", "/do/0/outer/do/0/inner 0 0 completed", "/do/2/each 0 0 completed", "/do/2/each/do/0/body 0 0 completed",
		"/do/2/each/do/0/body 1 0 completed", "/do/3/attempt 0 0 completed", "/do/3/attempt/try/0/risky 0 0 faulted", "/do/3/attempt/try/0/risky 0 1 faulted",
		"/do/3/attempt/try/0/risky 0 2 faulted", "/do/3/attempt/catch/do/0/handler 0 0 completed", "/do/4/last 0 0 waiting",
	}
	if first := entries[0]["attempt"]; first == 1 { // counted from 1: as good
		for i := range want {
			want[i] = strings.NewReplacer(" 0 2 ", " 0 3 ", " 0 1 ", " 0 2 ", " 0 0 ", " 0 1 ", " 1 0 ", " 1 1 ").Replace(want[i])
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("timeline\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	inner := entries[1]
	if !equal(inner["input"], parse(t, `{"n":7}`)) || !equal(inner["output"], parse(t, `{"a":7}`)) || inner["finished_at"] == nil {
		t.Errorf("inner: %s", value.Marshal(inner))
	}
	if last := entries[len(entries)-1]; last["finished_at"] != nil || last["output"] != nil {
		t.Errorf("a task that has not ended: %v", last)
	}
	if risky := entries[6]; text(fields(risky["error"])["type"]) != "https://example.com/r" || fields(risky["error"])["instance"] != risky["reference"] {
		t.Errorf("the error of a task: %v", risky["error"])
	}
	if wait := fields(entries[len(entries)-1]["waiting_for"]); wait["kind"] != "timer" || !isMoment(wait["until"]) {
		t.Errorf("the last task waits for %v", wait)
	}
	testTimelineFilters(t, s, path)
	wantStatus(t, s.Do(t, "POST", path+"/cancel", ""), 202)
	ended := walk(t, s, path+"/timeline", 100)
	if last := ended[len(ended)-1]; len(ended) != len(entries) || last["phase"] != "cancelled" || last["finished_at"] == nil {
		t.Errorf("after the cancellation: %v", ended[len(ended)-1])
	}
}

// testTimelineFilters: the parameters of a timeline, the counts of its tasks, and its graph, while it runs.
func testTimelineFilters(t *testing.T, s *server, path string) {
	for query, want := range map[string]string{
		"?reference=/do/3/attempt/try/0/risky":        "7 8 9",
		"?reference=/do/2/each&reference=/do/4/last":  "3 11",
		"?under=/do/2/each":                           "3 4 5",
		"?under=/do/3":                                "6 7 8 9 10",
		"?phase=waiting":                              "11",
		"?phase=faulted&after_seq=7":                  "8 9",
		"?order=desc&limit=2":                         "11 10",
		"?order=desc&limit=2&cursor=10":               "9 8",
		"?under=/do/2/each&order=desc&fields=summary": "5 4 3",
		"?reference=/do/9&phase=completed":            "",
	} {
		a := s.Do(t, "GET", path+"/timeline"+query, "")
		wantStatus(t, a, 200)
		var seqs []string
		for _, e := range list(a.Object()["data"]) {
			seqs = append(seqs, fmt.Sprint(fields(e)["seq"]))
			if _, has := fields(e)["input"]; has == strings.Contains(query, "summary") {
				t.Errorf("%s: %v", query, e)
			}
		}
		if got := strings.Join(seqs, " "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	a := s.Do(t, "GET", path+"/progress", "")
	wantStatus(t, a, 200)
	var rows []string
	for _, row := range list(a.Object()["data"]) {
		p := fields(row)
		n := fields(p["counts"])
		rows = append(rows, fmt.Sprint(p["reference"], " ", p["kind"], " ", p["phase"], " ", n["completed"], n["faulted"], n["waiting"], n["running"], n["cancelled"],
			" first ", p["first_failed_seq"], " last ", p["last_seq"], " attempts ", p["attempts"]))
	}
	want := []string{
		"/do/0/outer do completed 1 0 0 0 0 first <nil> last 1 attempts 1",
		"/do/0/outer/do/0/inner set completed 1 0 0 0 0 first <nil> last 2 attempts 1",
		"/do/2/each for completed 1 0 0 0 0 first <nil> last 3 attempts 1",
		"/do/2/each/do/0/body set completed 2 0 0 0 0 first <nil> last 5 attempts 1",
		"/do/3/attempt try completed 1 0 0 0 0 first <nil> last 6 attempts 1",
		"/do/3/attempt/try/0/risky raise faulted 0 3 0 0 0 first 7 last 9 attempts 3",
		"/do/3/attempt/catch/do/0/handler set completed 1 0 0 0 0 first <nil> last 10 attempts 1",
		"/do/4/last wait waiting 0 0 1 0 0 first <nil> last 11 attempts 1",
	}
	slices.Sort(rows)
	slices.Sort(want)
	if !slices.Equal(rows, want) {
		t.Errorf("progress\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	for format, part := range map[string]string{"json": `"first_failed_seq":7`, "mermaid": "3 faulted, attempt 3", "dot": "fillcolor"} {
		if a := s.Do(t, "GET", path+"/graph?format="+format, ""); a.Status != 200 || !strings.Contains(string(a.Body), part) {
			t.Errorf("the graph as %s: %d %s", format, a.Status, a.Body)
		}
	}
	for _, query := range []string{"?reference=do", "?under=/~", "?phase=done", "?after_seq=-1", "?order=up", "?fields=input", "?iteration=1"} {
		if a := s.Do(t, "GET", path+"/timeline"+query, ""); a.Status != 400 {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
}

func testTimelinePages(t *testing.T, s *server) {
	flow := deploy(t, s, "do:\n- each: {for: {in: '[range(120)]'}, do: [{body: {set: {i: '${ $item }'}}}]}\n")
	path := begin(t, s, flow, "{}")
	finish(t, s, path)
	whole := walk(t, s, path+"/timeline", 100)
	if len(whole) != 121 || whole[0]["name"] != "each" || whole[120]["iteration"] != 119 {
		t.Fatalf("%d entries, the last %v", len(whole), whole[len(whole)-1])
	}
	for _, limit := range []int{1, 11, 99} {
		pages := walk(t, s, path+"/timeline", limit)
		if len(pages) != len(whole) {
			t.Fatalf("%d entries with limit %d", len(pages), limit)
		}
		for i, e := range pages {
			if e["seq"] != whole[i]["seq"] {
				t.Fatalf("entry %d with limit %d is %v", i, limit, e)
			}
		}
	}
}

// testErrorObjects: the language's error object; type as full address.
func testErrorObjects(t *testing.T, s *server) {
	const standard = "https://open-workflow-specification.org/spec/1.0.0/errors/"
	for name, x := range map[string]struct {
		rest, kind string
		status     int
		instance   string
	}{
		"expression": {"do:\n- a: {set: {x: '${ .n | error }'}}\n", standard + "expression", 400, "/do/0/a"},
		"timeout":    {"do:\n- a: {wait: {minutes: 10}, timeout: {after: {milliseconds: 20}}}\n", standard + "timeout", 408, "/do/0/a"},
		"whole":      {"timeout: {after: {milliseconds: 20}}\ndo:\n- a: {wait: {minutes: 10}}\n", standard + "timeout", 408, "/timeout"},
		"validation": {"do:\n- a: {set: {x: 1}, output: {schema: {document: {required: [y]}}}}\n", standard + "validation", 400, "/do/0/a"},
		"output":     {"output: {schema: {document: {required: [y]}}}\ndo:\n- a: {set: {x: 1}}\n", standard + "validation", 400, "/output/schema"},
		"process":    {"do:\n- a: {run: {shell: {command: 'echo oops >&2; exit 7'}}}\n", standard + "runtime", 500, "/do/0/a"},
		"nested":     {"do:\n- a: {do: [{b: {raise: {error: {type: '" + standard + "authorization', status: 403}}}}]}\n", standard + "authorization", 403, "/do/0/a/do/0/b"},
		"refused":    {"do:\n- a: {call: http, with: {method: get, endpoint: 'http://169.254.169.254/latest'}}\n", "", 0, "/do/0/a"},
		"secret":     {"use: {secrets: [token]}\ndo:\n- w: {wait: {minutes: 10}}\n- a: {set: {x: '${ $secrets.token }'}}\n", standard + "authorization", 403, ""},
		"no port":    {"do:\n- a: {call: http, with: {method: get, endpoint: 'http://127.0.0.1:1/'}}\n", standard + "communication", 0, "/do/0/a"},
	} {
		t.Run(name, func(t *testing.T) {
			e := finish(t, s, begin(t, s, deploy(t, s, x.rest), "{}"))
			fault := fields(e["error"])
			errorShape.verify(t, "error", fault)
			if e["status"] != "error" || x.kind != "" && fault["type"] != x.kind || x.status != 0 && fault["status"] != x.status || x.instance != "" && fault["instance"] != x.instance {
				t.Errorf("%s\nwant %s %d %s", value.Marshal(fault), x.kind, x.status, x.instance)
			}
			if !strings.HasPrefix(text(fault["type"]), "https://") || text(fault["code"]) == "" {
				t.Errorf("type is no full address: %v", fault)
			}
			if name == "process" && !strings.Contains(text(fault["detail"]), "oops") {
				t.Errorf("the tail of stderr is missing (T49): %v", fault["detail"])
			}
		})
	}
}

// testWrongWorkflow: an execution under the wrong workflow, and a malformed id, are 404.
func testWrongWorkflow(t *testing.T, s *server) {
	flow, other := deploy(t, s, echo), deploy(t, s, echo)
	path := begin(t, s, flow, "{}")
	id := path[strings.LastIndex(path, "/")+1:]
	for _, p := range []string{executions(other) + "/" + id, executions(flow) + "/" + nobody, executions(nobody) + "/" + id, executions(flow) + "/x", executions(flow) + "/" + id + "x"} {
		for _, sub := range []struct{ method, path string }{{"GET", ""}, {"GET", "/timeline"}, {"POST", "/cancel"}, {"POST", "/retry"}} {
			wantProblem(t, s, s.Do(t, sub.method, p+sub.path, ""), 404, "execution_not_found")
		}
	}
	for _, p := range []string{executions("x"), batches("x"), executions(nobody), batches(nobody)} {
		wantProblem(t, s, s.Do(t, "POST", p, `{}`), 404, "workflow_not_found")
	}
	wantStatus(t, s.Do(t, "GET", strings.ToUpper(path[:len("/workflows/")])+path[len("/workflows/"):], ""), 404)
	wantStatus(t, s.Do(t, "GET", executions(flow)+"/"+strings.ToUpper(id), ""), 200) // UUIDs have no case
}

// testNotYet: what the plan leaves for later is refused by name, never ignored.
func testNotYet(t *testing.T, s *server) {
	for word, rest := range map[string]string{
		"human": "do:\n- a: {call: 'human:2.0.0@default', with: {title: x}}\n",
		"ruby":  "do:\n- a: {run: {script: {language: ruby, code: 'puts 1'}}}\n",
		"kafka": "do:\n- a: {call: asyncapi, with: {document: {endpoint: 'http://x/y'}, operation: o, protocol: kafka, message: {payload: {}}}}\n",
	} {
		t.Run(word, func(t *testing.T) {
			a := s.Do(t, "POST", "/workflows", definition(unique("later"), "1.0.0", rest), "Content-Type", "application/yaml")
			p := wantProblem(t, s, a, 422, "definition_invalid")
			if !strings.Contains(strings.ToLower(fmt.Sprint(p["errors"])), word) {
				t.Errorf("%s is not named: %v", word, p["errors"])
			}
		})
	}
	flow := deploy(t, s, sleep)
	path := begin(t, s, flow, "{}")
	for _, verb := range []string{"/pause", "/events"} {
		if a := s.Do(t, "POST", path+verb, ""); a.Status != 404 && a.Status != 405 {
			t.Errorf("%s: %d %s", verb, a.Status, a.Body)
		}
	}
}
