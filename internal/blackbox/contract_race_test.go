package blackbox_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

// TestContractRaces makes clients disagree: each gets a clear answer, and what is stored adds up.
func TestContractRaces(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("apply", func(t *testing.T) { testApplyRace(t, s) })
	t.Run("revisions", func(t *testing.T) { testRevisionRace(t, s) })
	t.Run("cancel", func(t *testing.T) { testCancelRace(t, s) })
	t.Run("cancel batch", func(t *testing.T) { testCancelBatchRace(t, s) })
	t.Run("delete", func(t *testing.T) { testDeleteRace(t, s) })
	t.Run("read", func(t *testing.T) { testReadRace(t, s) })
}

// together runs n clients at once; try must not end the test.
func together(n int, try func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { try(i) })
	}
	group.Wait()
}

// testApplyRace: the same new workflow from many clients is one workflow.
func testApplyRace(t *testing.T, s *server) {
	text1 := definition(unique("race"), "1.0.0", echo)
	var mu sync.Mutex
	statuses, ids := map[int]int{}, map[any]int{}
	together(16, func(int) {
		a, err := s.Try("POST", "/workflows", text1, "Content-Type", "application/yaml")
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		statuses[a.Status]++
		ids[a.Object()["id"]]++
		if a.Object()["revision"] != 1 {
			t.Errorf("%s", a.Body)
		}
	})
	if statuses[201] != 1 || statuses[200] != 15 || len(ids) != 1 {
		t.Errorf("answers %v, ids %v", statuses, ids)
	}
}

// testRevisionRace: different contents under one version are revisions 1 to n.
func testRevisionRace(t *testing.T, s *server) {
	name := unique("race")
	var mu sync.Mutex
	revisions := map[any]bool{}
	together(12, func(i int) {
		a, err := s.Try("POST", "/workflows", definition(name, "1.0.0", fmt.Sprintf("do:\n- a: {set: {x: %d}}\n", i)), "Content-Type", "application/yaml")
		if err != nil || a.Status > 201 {
			t.Errorf("%v %d %s", err, a.Status, a.Body)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		revisions[a.Object()["revision"]] = true
	})
	for i := 1; i <= 12; i++ {
		if !revisions[i] {
			t.Errorf("no revision %d: %v", i, revisions)
		}
	}
}

// testCancelRace: an execution that ends while it is cancelled is one or the other.
func testCancelRace(t *testing.T, s *server) {
	flow := deploy(t, s, "do:\n- a: {wait: {milliseconds: 3}}\n- b: {wait: {milliseconds: 3}}\n")
	var mu sync.Mutex
	ends := map[string]int{}
	together(60, func(i int) {
		made, err := s.Try("POST", executions(flow), "{}")
		if err != nil || made.Status != 201 {
			t.Errorf("%v %d", err, made.Status)
			return
		}
		path := executions(flow) + "/" + text(made.Object()["id"])
		for range i % 4 {
			_, _ = s.Try("GET", path, "") // some time passes
		}
		cancelled, err := s.Try("POST", path+"/cancel", "")
		read, err2 := s.Try("GET", path+"?wait=60s", "")
		if err != nil || err2 != nil {
			t.Error(err, err2)
			return
		}
		status := text(read.Object()["status"])
		if (cancelled.Status == 202) != (status == "error") || (cancelled.Status == 409) != (status == "finished") {
			t.Errorf("the cancellation was answered with %d, the execution ended %s", cancelled.Status, read.Body)
		}
		again, _ := s.Try("GET", path, "")
		if again.Object()["status"] != status || again.Object()["finished_at"] != read.Object()["finished_at"] {
			t.Errorf("the end changed: %s, then %s", read.Body, again.Body)
		}
		mu.Lock()
		defer mu.Unlock()
		ends[status]++
	})
	t.Logf("ends: %v", ends)
}

func testCancelBatchRace(t *testing.T, s *server) {
	flow := deploy(t, s, "do:\n- a: {wait: {milliseconds: 2}}\n")
	for round := range 4 {
		a := s.Do(t, "POST", batches(flow), `{"items":[{}`+strings.Repeat(",{}", 199)+`],"concurrency":50}`)
		wantStatus(t, a, 202)
		path := batches(flow) + "/" + text(a.Object()["batch_id"])
		for range round * 3 {
			s.Do(t, "GET", path+"?executions=none", "")
		}
		var mu sync.Mutex
		statuses := map[int]int{}
		together(3, func(int) {
			a, err := s.Try("POST", path+"/cancel", "")
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[a.Status]++
		})
		b := finish(t, s, path)
		n := counts(t, b)
		finished, failed := 0, 0
		for _, e := range list(b["executions"]) {
			switch fields(e)["status"] {
			case "finished":
				finished++
			case "error":
				failed++
			}
		}
		if n != [5]int{0, 0, 0, finished, failed} || statuses[202]+statuses[409] != 3 {
			t.Errorf("answers %v, counts %v, entries %d and %d", statuses, n, finished, failed)
		}
		if statuses[202] > 0 && b["status"] != "failed" || statuses[202] == 0 && b["status"] != "completed" {
			t.Errorf("answers %v, status %v", statuses, b["status"])
		}
	}
}

// testDeleteRace: a start beside a deletion is 201 and runs, or 404.
func testDeleteRace(t *testing.T, s *server) {
	flow := deploy(t, s, echo)
	var mu sync.Mutex
	var made []string
	together(20, func(i int) {
		if i == 10 {
			if a, err := s.Try("DELETE", "/workflows/"+flow, ""); err != nil || a.Status != 204 {
				t.Errorf("%v %d", err, a.Status)
			}
			return
		}
		a, err := s.Try("POST", executions(flow), "{}")
		if err != nil || a.Status != 201 && a.Status != 404 {
			t.Errorf("%v %d %s", err, a.Status, a.Body)
		}
		if a.Status == 201 {
			mu.Lock()
			defer mu.Unlock()
			made = append(made, executions(flow)+"/"+text(a.Object()["id"]))
		}
	})
	for _, path := range made {
		if e := finish(t, s, path); e["status"] != "finished" {
			t.Errorf("%v", e)
		}
	}
}

// testReadRace: a batch that is read while it runs always adds up, and never goes back.
func testReadRace(t *testing.T, s *server) {
	flow, pairs := deploy(t, s, fallible), 500
	if servertest.Setup(t) == servertest.Temporal {
		pairs = 50
	}
	a := s.Do(t, "POST", batches(flow), `{"items":[{"bad":true}`+strings.Repeat(`,{},{"bad":true}`, pairs)+`],"concurrency":20}`)
	path := batches(flow) + "/" + text(a.Object()["batch_id"])
	together(4, func(i int) {
		ended, query := 0, []string{"?executions=none", "", "?executions=page", "?wait=10ms"}[i]
		for {
			b, err := s.Try("GET", path+query, "")
			if err != nil {
				t.Error(err)
				return
			}
			n := counts(t, b.Object())
			if n[3]+n[4] < ended {
				t.Errorf("%d items had ended, now %d", ended, n[3]+n[4])
			}
			ended = n[3] + n[4]
			entries := map[any]int{}
			for _, e := range list(b.Object()["executions"]) {
				entries[fields(e)["status"]]++
			}
			if all := list(b.Object()["executions"]); len(all) == 2*pairs+1 && (entries["finished"] != n[3] || entries["error"] != n[4]) {
				t.Errorf("counts %v beside entries %v", n, entries)
			}
			if status := b.Object()["status"]; status == "completed" || status == "failed" {
				if n != [5]int{0, 0, 0, pairs, pairs + 1} {
					t.Errorf("%s", value.Marshal(b.Object()["status"]))
				}
				return
			}
		}
	})
}
