package blackbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// TestContractWaiting holds docs/reference/api.md to what it says of wait, Prefer, ETag and Retry-After.
func TestContractWaiting(t *testing.T) {
	t.Parallel()
	s := start(t, egress...)
	quick, slow := deploy(t, s, echo), deploy(t, s, sleep)
	t.Run("until the end", func(t *testing.T) { testWaitEnd(t, s, quick) })
	t.Run("until the limit", func(t *testing.T) { testWaitLimit(t, s, slow) })
	t.Run("an end in between", func(t *testing.T) { testWaitWoken(t, s) })
	t.Run("values", func(t *testing.T) { testWaitValues(t, s, quick) })
	t.Run("tags", func(t *testing.T) { testTags(t, s, quick, slow) })
	t.Run("stop of the server", testWaitStop)
}

// testWaitEnd: on create, batch and both reads, by query and by header.
func testWaitEnd(t *testing.T, s *server, flow string) {
	for _, ask := range [][]string{{"?wait=30s", ""}, {"?wait=30", ""}, {"", "wait=30"}, {"", "respond-async, wait=30"}, {"", `Wait="30"; x=y`}, {"?wait=30s", "wait=0"}} {
		query, prefer := ask[0], ask[1]
		created := s.Do(t, "POST", executions(flow)+query, "{}", "Prefer", prefer)
		wantStatus(t, created, 201)
		batch := s.Do(t, "POST", batches(flow)+query, `{"items":[{},{}]}`, "Prefer", prefer)
		wantStatus(t, batch, 202)
		path := executions(flow) + "/" + text(created.Object()["execution_id"])
		began := time.Now()
		read := s.Do(t, "GET", path+query, "", "Prefer", prefer)
		readBatch := s.Do(t, "GET", batches(flow)+"/"+text(batch.Object()["batch_id"])+query, "", "Prefer", prefer)
		if took := time.Since(began); took > 25*time.Second {
			t.Errorf("%q: waited %s although all has ended", ask, took)
		}
		for _, a := range []answer{created, read} {
			if a.Object()["status"] != "finished" || len(list(a.Object()["results"])) != 1 {
				t.Errorf("%q: %s", ask, a.Body)
			}
		}
		for _, a := range []answer{batch, readBatch} {
			if a.Object()["status"] != "completed" || a.Object()["completed"] != 2 {
				t.Errorf("%q: %s", ask, a.Body)
			}
		}
	}
}

// testWaitLimit: "at the limit answers the resource as it is. Never an empty answer."
func testWaitLimit(t *testing.T, s *server, flow string) {
	path := begin(t, s, flow, "{}")
	batch := batches(flow) + "/" + text(s.Do(t, "POST", batches(flow), `{"items":[{}]}`).Object()["batch_id"])
	for _, r := range []struct{ method, path, body string }{
		{"POST", executions(flow), "{}"}, {"POST", batches(flow), `{"items":[{}]}`}, {"GET", path, ""}, {"GET", batch, ""},
	} {
		began := time.Now()
		a := s.Do(t, r.method, r.path+"?wait=300ms", r.body)
		if took := time.Since(began); took < 300*time.Millisecond || took > 30*time.Second {
			t.Errorf("%s %s answered after %s", r.method, r.path, took)
		}
		// On a busy machine an engine may not have begun.
		if status := text(a.Object()["status"]); a.Status >= 300 || !oneOf("initial", "pending", "processing", "running")(status) {
			t.Errorf("%s %s: %d %s", r.method, r.path, a.Status, a.Body)
		}
	}
}

// testWaitWoken: the answer comes as soon as the execution ends, not at the next poll.
func testWaitWoken(t *testing.T, s *server) {
	calls := newBarrier(t)
	flow := deploy(t, s, calls.flow())
	path := begin(t, s, flow, `{"n":1}`)
	calls.await(1)
	answers := make(chan answer, 8)
	for range cap(answers) {
		go func() {
			a, err := s.Try("GET", path+"?wait=60s", "")
			if err != nil {
				t.Error(err)
			}
			answers <- a
		}()
	}
	calls.release()
	for range cap(answers) {
		a := <-answers
		if a.Status != 200 || a.Object()["status"] != "finished" {
			t.Errorf("%d %s", a.Status, a.Body)
		} else if took := between(t, a.Object()["finished_at"], time.Now().UTC().Format(time.RFC3339Nano)); took > 20_000 {
			t.Errorf("a waiting request was answered %d ms after the end", took)
		}
	}
}

func testWaitValues(t *testing.T, s *server, flow string) {
	path := begin(t, s, flow, "{}")
	finish(t, s, path)
	for _, good := range []string{"0", "0s", "60", "60s", "1m", "59.5s", "500ms"} {
		wantStatus(t, s.Do(t, "GET", path+"?wait="+good, ""), 200)
	}
	for _, bad := range []string{"", "61", "61s", "2m", "-1s", "soon", "1h", "NaN", "1e3", "30 s", "30s30", "%00", "٣٠", strings.Repeat("0", 10_000)} {
		a := s.Do(t, "GET", path+"?wait="+strings.ReplaceAll(bad, " ", "%20"), "")
		wantParameter(t, wantProblem(t, s, a, 400, "invalid_parameter"), "wait")
	}
	wantStatus(t, s.Do(t, "GET", path, "", "Prefer", "return=minimal"), 200)
	wantStatus(t, s.Do(t, "GET", path, "", "Prefer", ",;=,"), 200)
}

func testTags(t *testing.T, s *server, quick, slow string) {
	running, done := begin(t, s, slow, "{}"), begin(t, s, quick, "{}")
	await(t, s, running, "processing")
	finish(t, s, done)
	batch := batches(quick) + "/" + text(s.Do(t, "POST", batches(quick)+"?wait=60s", `{"items":[{}]}`).Object()["batch_id"])
	slowBatch := batches(slow) + "/" + text(s.Do(t, "POST", batches(slow), `{"items":[{}]}`).Object()["batch_id"])
	eventually(t, "the item waits", func() bool { return s.Do(t, "GET", slowBatch, "").Object()["waiting"] == 1 })
	for path, final := range map[string]bool{running: false, done: true, batch: true, slowBatch: false} {
		a := s.Do(t, "GET", path, "")
		wantStatus(t, a, 200)
		tag := a.Header.Get("ETag")
		if len(tag) < 3 || tag[0] != '"' {
			t.Fatalf("%s has the ETag %q", path, tag)
		}
		if hint := a.Header.Get("Retry-After"); final != (hint == "") || !final && (hint < "1" || hint > "9") {
			t.Errorf("%s: Retry-After %q, final %v", path, hint, final)
		}
		for _, match := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			b := s.Do(t, "GET", path, "", "If-None-Match", match)
			if b.Status != 304 || len(b.Body) != 0 || b.Header.Get("ETag") != tag {
				t.Errorf("%s with If-None-Match %s: %d %v %s", path, match, b.Status, b.Header, b.Body)
			}
		}
		for _, other := range []string{`"other"`, strings.Trim(tag, `"`), `W/"x"`, ""} {
			wantStatus(t, s.Do(t, "GET", path, "", "If-None-Match", other), 200)
		}
	}
	before := s.Do(t, "GET", running, "").Header.Get("ETag")
	wantStatus(t, s.Do(t, "POST", running+"/cancel", ""), 202)
	if a := s.Do(t, "GET", running, "", "If-None-Match", before); a.Status != 200 || a.Header.Get("ETag") == before {
		t.Errorf("after a change: %d %v", a.Status, a.Header)
	}
	before = s.Do(t, "GET", slowBatch, "").Header.Get("ETag")
	wantStatus(t, s.Do(t, "POST", slowBatch+"/cancel", ""), 202)
	if a := s.Do(t, "GET", slowBatch, "", "If-None-Match", before); a.Status != 200 {
		t.Errorf("the batch after a change: %d", a.Status)
	}
}

// testWaitStop: a server that stops answers those who wait with the resource as it is.
func testWaitStop(t *testing.T) {
	s := servertest.Start(t, servertest.Options{})
	flow := deploy(t, s, sleep)
	waiting := make(chan answer)
	go func() {
		a, err := s.Try("POST", executions(flow)+"?wait=60s", "{}")
		if err != nil {
			t.Errorf("the connection was cut off: %v", err)
		}
		waiting <- a
	}()
	eventually(t, "the execution waits, and the request with it", func() bool {
		page := list(s.Do(t, "GET", executions(flow), "").Object()["data"])
		return len(page) == 1 && fields(page[0])["phase"] == "waiting"
	})
	began := time.Now()
	if code := s.Stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if a := <-waiting; a.Status != 201 || a.Object()["status"] != "processing" {
		t.Errorf("the waiting request: %d %s", a.Status, a.Body)
	}
}
