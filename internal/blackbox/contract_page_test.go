package blackbox_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/value"
)

// TestContractPaging holds docs/reference/api.md "Paging", on workflows
// that many clients made in the same instant.
func TestContractPaging(t *testing.T) {
	t.Parallel()
	s := start(t)
	const total = 240
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < total; i += 8 {
				s.Apply(t, definition(fmt.Sprintf("page-%03d", i), "1.0.0", echo))
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	all := walk(t, s, "/workflows", 100)
	if len(all) != total {
		t.Fatalf("%d workflows, made were %d", len(all), total)
	}
	times := map[string]bool{}
	for i, w := range all {
		at := text(w["created_at"])
		if times[at] {
			t.Errorf("created_at %s is not unique", at)
		}
		times[at] = true
		if text(w["updated_at"]) < at {
			t.Errorf("updated_at %v lies before created_at %s", w["updated_at"], at)
		}
		if i > 0 && at >= text(all[i-1]["created_at"]) {
			t.Errorf("%s does not come before %s: newest first", at, all[i-1]["created_at"])
		}
	}
	t.Run("every limit", func(t *testing.T) {
		for _, limit := range []int{1, 7, 60, 80, 99} { // 60 and 80 end exactly on a page
			if got := walk(t, s, "/workflows", limit); !slices.EqualFunc(got, all, func(a, b object) bool { return a["id"] == b["id"] }) {
				t.Errorf("with limit %d the pages are not the list", limit)
			}
		}
	})
	t.Run("limit", func(t *testing.T) { testLimit(t, s, total) })
	t.Run("cursor", func(t *testing.T) { testCursor(t, s, all) })
	t.Run("changes between pages", func(t *testing.T) { testPagingBesideChanges(t, s, all) })
}

// walk reads a list page by page to its end.
func walk(t *testing.T, s *server, path string, limit int) (all []object) {
	t.Helper()
	sign := "?"
	if strings.Contains(path, "?") {
		sign = "&"
	}
	for cursor := ""; ; {
		a := s.Do(t, "GET", fmt.Sprintf("%s%slimit=%d%s", path, sign, limit, cursor), "")
		wantStatus(t, a, 200)
		data := list(a.Object()["data"])
		for _, v := range data {
			all = append(all, fields(v))
		}
		next, more := a.Object()["cursor"].(string)
		switch {
		case !more && a.Object()["cursor"] != nil:
			t.Fatalf("cursor is neither text nor null: %s", a.Body)
		case more && len(data) != limit:
			t.Fatalf("a page of %d with limit %d and a cursor", len(data), limit)
		case more && path == "/workflows" && next != fields(data[limit-1])["created_at"]:
			t.Errorf("cursor %q is not the created_at of the last workflow", next)
		case !more:
			return all
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
}

// testLimit: the parameter limit follows the same rule on every list: 1 to 100, and 10.0 is a whole number.
func testLimit(t *testing.T, s *server, total int) {
	for value, want := range map[string]int{
		"1": 1, "100": 100, "10.0": 10, "1e1": 10, "0.2e1": 2, "007": 7, "100.000": 100,
	} {
		a := s.Do(t, "GET", "/workflows?limit="+value, "")
		wantStatus(t, a, 200)
		if n := len(list(a.Object()["data"])); n != want {
			t.Errorf("limit=%s gives %d", value, n)
		}
	}
	if n := len(list(s.Do(t, "GET", "/workflows", "").Object()["data"])); n != min(total, 100) {
		t.Errorf("without a limit %d workflows, the default is 100", n)
	}
	wantStatus(t, s.Do(t, "GET", "/workflows?Limit=0&page=2&sort=x", ""), 200) // unknown: ignored
	flow := deploy(t, s, echo)
	path := begin(t, s, flow, "{}")
	batch := batches(flow) + "/" + text(s.Do(t, "POST", batches(flow), `{"items":[{}]}`).Object()["batch_id"])
	for _, route := range []string{
		"/workflows", "/executions", executions(flow), batches(flow), batch + "/items", path + "/timeline", "/api-keys", "/secrets", "/workflows/" + flow + "/versions",
	} {
		for _, value := range []string{"0", "101", "-1", "1.5", "abc", "", "NaN", "Infinity", "0x10", "1_0", "1e400", "10,0", "%31%30%00", "9999999999999999999999", "ten"} {
			a := s.Do(t, "GET", route+"?limit="+value, "")
			wantParameter(t, wantProblem(t, s, a, 400, "invalid_parameter"), "limit")
		}
		wantParameter(t, wantProblem(t, s, s.Do(t, "GET", route+"?cursor=bad", ""), 400, "invalid_parameter"), "cursor")
	}
	wantStatus(t, s.Do(t, "DELETE", "/workflows/"+flow, ""), 204)
}

// testCursor: the next page is strictly older; a plus sign that arrived as a space is
// repaired; another bad cursor is 400.
func testCursor(t *testing.T, s *server, all []object) {
	at, err := time.Parse(time.RFC3339Nano, text(all[99]["created_at"]))
	if err != nil {
		t.Fatal(err)
	}
	zone := at.In(time.FixedZone("", 2*3600+1800)).Format("2006-01-02T15:04:05.000-07:00")
	for form, cursor := range map[string]string{
		"encoded":                url.QueryEscape(at.Format("2006-01-02T15:04:05.000Z")),
		"not encoded":            at.Format("2006-01-02T15:04:05.000Z"),
		"offset, encoded":        url.QueryEscape(zone),
		"offset, plus not so":    zone,
		"offset, space":          strings.Replace(zone, "+", "%20", 1),
		"more fraction digits":   at.Format("2006-01-02T15:04:05.000000000Z"),
		"west of Greenwich":      at.In(time.FixedZone("", -3600)).Format("2006-01-02T15:04:05.000-07:00"),
		"small letters":          strings.ToLower(at.Format("2006-01-02T15:04:05.000Z")),
		"repeated":               url.QueryEscape(at.Format("2006-01-02T15:04:05.000Z")) + "&cursor=" + at.Format("2006-01-02T15:04:05.000Z"),
		"zero offset, not coded": at.Format("2006-01-02T15:04:05.000") + "+00:00",
	} {
		t.Run(form, func(t *testing.T) {
			a := s.Do(t, "GET", "/workflows?limit=1&cursor="+cursor, "")
			wantStatus(t, a, 200)
			if w := fields(list(a.Object()["data"])[0]); w["id"] != all[100]["id"] {
				t.Errorf("after %s comes %s, want %s", cursor, w["created_at"], all[100]["created_at"])
			}
		})
	}
	// A moment between two milliseconds: the older of the two is strictly older.
	a := s.Do(t, "GET", "/workflows?limit=1&cursor="+at.Add(500*time.Microsecond).Format("2006-01-02T15:04:05.000000Z"), "")
	if w := fields(list(a.Object()["data"])[0]); w["id"] != all[99]["id"] {
		t.Errorf("just after %s comes %s", all[99]["created_at"], w["created_at"])
	}
	for cursor, want := range map[string]int{"9999-12-31T23:59:59Z": 1, "1970-01-01T00:00:00Z": 0, "0001-01-01T00:00:00Z": 0, "1969-12-31T23:59:59.999Z": 0} {
		a := s.Do(t, "GET", "/workflows?limit=1&cursor="+cursor, "")
		wantStatus(t, a, 200)
		if data := list(a.Object()["data"]); len(data) != want || want == 0 && a.Object()["cursor"] != nil {
			t.Errorf("cursor=%s: %s", cursor, a.Body)
		}
	}
	for _, bad := range []string{
		"", "yesterday", "2026-01-31", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-31T09:30:00", "1769851800",
		"2026-01-31+09:30:00Z", "2026-01-31T09:30:00+02", "%00", "%ff", "%zz", "null", "2026-01-31T25:00:00Z", "99999-01-01T00:00:00Z",
		"2026-01-31T09:30:00Z&cursor=2026-01-31T09:30:01Z",
	} {
		wantParameter(t, wantProblem(t, s, s.Do(t, "GET", "/workflows?cursor="+bad, ""), 400, "invalid_parameter"), "cursor")
	}
}

// testPagingBesideChanges: what is made or deleted between two pages moves nothing.
func testPagingBesideChanges(t *testing.T, s *server, all []object) {
	first := s.Do(t, "GET", "/workflows?limit=10", "").Object()
	made := deploy(t, s, echo)
	s.Apply(t, definition(text(all[50]["name"]), "2.0.0", echo)) // an update is no new place in the list
	next := s.Do(t, "GET", "/workflows?limit=100&cursor="+url.QueryEscape(text(first["cursor"])), "").Object()
	for i, w := range list(next["data"]) {
		if fields(w)["id"] != all[10+i]["id"] {
			t.Fatalf("place %d of the second page holds %s", i, value.Marshal(w))
		}
	}
	wantStatus(t, s.Do(t, "DELETE", "/workflows/"+made, ""), 204)
}

// TestContractOtherLists: the same envelope, an opaque cursor, newest first, on executions
// of one batch, all of which were made at once.
func TestContractOtherLists(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow, other := deploy(t, s, fallible), deploy(t, s, echo)
	begin(t, s, other, "{}")
	batch := s.Do(t, "POST", batches(flow), `{"items":[{"bad":true}`+strings.Repeat(`,{}`, 149)+`]}`)
	wantStatus(t, batch, 202)
	id := text(batch.Object()["batch_id"])
	awaitBatch(t, s, batches(flow)+"/"+id+"?executions=none", 150)
	before := s.Do(t, "GET", executions(flow)+"?limit=1", "").Object()
	edge := text(fields(list(before["data"])[0])["created_at"])
	for _, limit := range []int{1, 7, 50, 75, 100} {
		for path, want := range map[string]int{
			executions(flow): 150, "/executions": 151, "/executions?batch_id=" + id: 150, executions(flow) + "?status=error": 1,
			"/executions?status=finished&batch_id=" + id: 149, "/executions?status=processing": 0, executions(other) + "?batch_id=" + id: 0,
		} {
			got := walk(t, s, path, limit)
			seen := map[any]bool{}
			for i, e := range got {
				seen[e["id"]] = true
				if i > 0 && text(e["created_at"]) > text(got[i-1]["created_at"]) {
					t.Errorf("%s: not newest first", path)
				}
			}
			if len(got) != want || len(seen) != want {
				t.Errorf("%s with limit %d: %d executions, %d different, want %d", path, limit, len(got), len(seen), want)
			}
		}
	}
	later := begin(t, s, flow, "{}")
	until(t, time.Second, "a later millisecond", func() bool {
		later = begin(t, s, flow, "{}")
		return text(s.Do(t, "GET", later, "").Object()["created_at"]) > edge
	})
	after, upTo := walk(t, s, executions(flow)+"?created_after="+edge, 100), walk(t, s, executions(flow)+"?created_before="+edge, 100)
	for _, e := range after {
		if text(e["created_at"]) <= edge {
			t.Errorf("created_after=%s shows %v", edge, e["created_at"])
		}
	}
	for _, e := range upTo {
		if text(e["created_at"]) >= edge {
			t.Errorf("created_before=%s shows %v", edge, e["created_at"])
		}
	}
	if len(after) == 0 {
		t.Error("created_after shows nothing")
	}
	for _, bad := range []string{"status=done", "status=", "status=completed", "batch_id=x", "created_after=now", "created_before=2026", "status=a&status=b"} {
		wantParameter(t, wantProblem(t, s, s.Do(t, "GET", executions(flow)+"?"+bad, ""), 400, "invalid_parameter"), strings.SplitN(bad, "=", 2)[0])
	}
	items := walk(t, s, batches(flow)+"/"+id+"/items", 7)
	for i, e := range items {
		if e["index"] != i {
			t.Fatalf("item %d in place %d", e["index"], i)
		}
	}
	if bad := walk(t, s, batches(flow)+"/"+id+"/items?status=error", 1); len(items) != 150 || len(bad) != 1 || bad[0]["index"] != 0 {
		t.Errorf("%d items, %v with status error", len(items), bad)
	}
}
