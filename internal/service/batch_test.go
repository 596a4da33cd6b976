package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

func (fx *fixture) createBatch(workflow chargehand.WorkflowID, body string) *Batch {
	fx.t.Helper()
	b, _, err := fx.CreateBatch(fx.t.Context(), fx.p, CreateBatch{Workflow: workflow, Body: parse(fx.t, body), View: view})
	if err != nil {
		fx.t.Fatal(err)
	}
	return b
}

func (fx *fixture) getBatch(b *Batch, v View) *Batch {
	fx.t.Helper()
	got, err := fx.GetBatch(fx.t.Context(), fx.p, b.Workflow, b.ID, v)
	if err != nil {
		fx.t.Fatal(err)
	}
	return got
}

// entries collects entries; inputs are copied, because they are valid during the call only.
func (fx *fixture) entries(b *Batch, q BatchEntries) (list []BatchEntry, next int) {
	fx.t.Helper()
	next, err := fx.Entries(fx.t.Context(), b, q, func(e *BatchEntry) error {
		entry := *e
		entry.Inputs = append([]byte(nil), e.Inputs...)
		list = append(list, entry)
		return nil
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return list, next
}

func TestCreateBatch(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	b := fx.createBatch(flow.ID, `{"items": [{"n": 1}, {"n": 2.0}, {}], "concurrency": 2}`)
	if b.Status != chargehand.BatchPending || b.Total != 3 || b.Completed+b.Failed+b.Running+b.Waiting != 0 || b.Queued != 3 {
		t.Errorf("creation answers %+v", b)
	}
	if !b.StartedAt.IsZero() || !b.CompletedAt.IsZero() || !b.CreatedAt.Equal(epoch) || b.WorkflowVersion != "1.0.0" {
		t.Errorf("creation answers %+v", b)
	}
	if b.Concurrency != 2 || b.EffectiveConcurrency != 2 {
		t.Errorf("concurrency is %d, effective %d", b.Concurrency, b.EffectiveConcurrency)
	}
	if len(fx.engine.ready) != 1 || fx.engine.ready[0] != b.no {
		t.Errorf("the engine was notified of %v", fx.engine.ready)
	}
	list, next := fx.entries(b, BatchEntries{})
	if len(list) != 3 || next != -1 {
		t.Fatalf("entries are %+v, next %d", list, next)
	}
	for i, want := range []string{`{"n":1}`, `{"n":2.0}`, `{}`} {
		e := list[i]
		if e.Index != i || string(e.Inputs) != want || e.Status != chargehand.Initial || e.Ended || e.ItemID != "" {
			t.Errorf("entry %d is %+v", i, e)
		}
		x, err := fx.GetExecution(t.Context(), fx.p, flow.ID, e.Execution, view)
		if err != nil || x.Batch != b.ID || !x.CreatedAt.Equal(b.CreatedAt) {
			t.Errorf("execution %d is %+v, %v", i, x, err)
		}
		if i > 0 && list[i-1].Execution.String() >= e.Execution.String() {
			t.Error("ids of the items do not ascend")
		}
	}
	stored, _ := fx.entries(fx.getBatch(b, view), BatchEntries{})
	if len(stored) != 3 || stored[1].Execution != list[1].Execution || string(stored[1].Inputs) != `{"n":2.0}` {
		t.Errorf("stored entries are %+v", stored)
	}
	var row store.Execution
	if err := fx.rows.View(t.Context(), func(r *store.Reader) (err error) {
		row, err = r.FindExecution(list[0].Execution)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if row.State != store.StateQueued || row.Machine != machine.Revision || row.Phase != chargehand.Pending {
		t.Errorf("an item is stored as %+v", row)
	}
}

func TestCreateBatchConcurrency(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	for _, c := range []struct {
		text              string
		wanted, effective int
	}{
		{``, 5, 5}, {`,"concurrency": 1`, 1, 1}, {`,"concurrency": 10.0`, 10, 10}, {`,"concurrency": 100`, 100, 100},
		{`,"concurrency": 101`, 101, 100}, {`,"concurrency": 99999999999999999999`, 1<<63 - 1, 100}, {`,"concurrency": 1e30`, 1<<63 - 1, 100},
	} {
		b := fx.createBatch(flow.ID, `{"items": [{}]`+c.text+`}`)
		got := fx.getBatch(b, view)
		if got.Concurrency != c.wanted || got.EffectiveConcurrency != c.effective {
			t.Errorf("%q gives %d and %d, want %d and %d", c.text, got.Concurrency, got.EffectiveConcurrency, c.wanted, c.effective)
		}
	}
}

func TestCreateBatchRefusesBadBodies(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.BatchItems = 3 })
	flow := fx.apply(definition("typed", "1.0.0", wantsText))
	for _, c := range []struct {
		name, body string
		code       chargehand.Code
		pointers   []string
	}{
		{"no items", `{}`, chargehand.CodeInvalidBody, []string{"/items"}},
		{"items null", `{"items": null}`, chargehand.CodeInvalidBody, []string{"/items"}},
		{"items no array", `{"items": {}}`, chargehand.CodeInvalidBody, []string{"/items"}},
		{"items that are no objects", `{"items": [{"text": "a"}, 1, null]}`, chargehand.CodeInvalidBody, []string{"/items/1", "/items/2"}},
		{"input instead of items", `{"input": {}}`, chargehand.CodeUnknownField, []string{"/input"}},
		{"concurrency 0", `{"items": [{"text": "a"}], "concurrency": 0}`, chargehand.CodeInvalidBody, []string{"/concurrency"}},
		{"concurrency below 0", `{"items": [{"text": "a"}], "concurrency": -1}`, chargehand.CodeInvalidBody, []string{"/concurrency"}},
		{"concurrency far below 0", `{"items": [{"text": "a"}], "concurrency": -99999999999999999999}`, chargehand.CodeInvalidBody, []string{"/concurrency"}},
		{"half a concurrency", `{"items": [{"text": "a"}], "concurrency": 1.5}`, chargehand.CodeInvalidBody, []string{"/concurrency"}},
		{"concurrency as text", `{"items": [{"text": "a"}], "concurrency": "5"}`, chargehand.CodeInvalidBody, []string{"/concurrency"}},
		{"concurrency null", `{"items": [{"text": "a"}], "concurrency": null}`, chargehand.CodeInvalidBody, []string{"/concurrency"}},
		{"empty", `{"items": []}`, chargehand.CodeItemsEmpty, []string{"/items"}},
		{"too many", `{"items": [{}, {}, {}, {}]}`, chargehand.CodeTooManyItems, []string{"/items"}},
		{"against the schema", `{"items": [{"text": "a"}, {"text": 1}, {}]}`, chargehand.CodeInputInvalid, []string{"/items/1/text", "/items/2/text"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: flow.ID, Body: parse(t, c.body)})
			wantPointers(t, wantCode(t, err, c.code), c.pointers...)
		})
	}
	page, err := fx.ListBatches(t.Context(), fx.p, ListBatches{Workflow: flow.ID, Limit: 10})
	if err != nil || len(page.Data) != 0 || len(fx.engine.ready) != 0 {
		t.Errorf("bad requests made batches: %+v, %v", page, err)
	}
	_, _, err = fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: newID[chargehand.WorkflowID](1), Body: map[string]any{}})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
	_, _, err = fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: flow.ID, Version: "3.0.0"})
	wantCode(t, err, chargehand.CodeVersionNotFound)
}

func TestCreateBatchNamesAtMostHundredFields(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("typed", "1.0.0", wantsText))
	for body, code := range map[string]chargehand.Code{"{}": chargehand.CodeInputInvalid, "1": chargehand.CodeInvalidBody} {
		items := `{"items": [` + strings.Repeat(body+",", 299) + body + `]}`
		_, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: flow.ID, Body: parse(t, items)})
		if shown := wantCode(t, err, code); len(shown.Fields) != 100 {
			t.Errorf("%s names %d fields, want 100", code, len(shown.Fields))
		}
	}
}

func TestGetBatchCounts(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	b := fx.createBatch(flow.ID, `{"items": [{"i":0}, {"i":1}, {"i":2}, {"i":3}, {"i":4}]}`)
	list, _ := fx.entries(b, BatchEntries{})
	tags := map[string]bool{fx.getBatch(b, view).ETag: true}
	fx.run(list[0].Execution, store.StateActive)
	fx.run(list[1].Execution, store.StateParked)
	fx.run(list[2].Execution, store.StateActive)
	fx.finish(list[2].Execution, `{}`)
	fx.run(list[3].Execution, store.StateActive)
	if err := fx.engine.Cancel(t.Context(), list[3].Execution, ""); err != nil {
		t.Fatal(err)
	}
	got := fx.getBatch(b, view)
	if got.Status != chargehand.BatchRunning || got.Completed != 1 || got.Failed != 1 || got.Running != 1 || got.Waiting != 1 || got.Queued != 1 {
		t.Errorf("counts are %+v", got)
	}
	if got.StartedAt.IsZero() || !got.CompletedAt.IsZero() {
		t.Errorf("times are %v and %v", got.StartedAt, got.CompletedAt)
	}
	tags[got.ETag] = true
	entries, _ := fx.entries(got, BatchEntries{})
	for i, status := range []chargehand.Status{chargehand.Processing, chargehand.Processing, chargehand.Finished, chargehand.Errored, chargehand.Initial} {
		e := entries[i]
		if e.Status != status || e.Ended != status.Final() || e.Ended && e.DurationMs != 5 {
			t.Errorf("entry %d is %+v, want %v", i, e, status)
		}
	}
	for _, i := range []int{0, 1, 4} {
		fx.finish(list[i].Execution, `{}`)
	}
	got = fx.getBatch(b, view)
	tags[got.ETag] = true
	if got.Status != chargehand.BatchCompleted || got.Completed != 4 || got.Failed != 1 || got.CompletedAt.IsZero() {
		t.Errorf("at the end counts are %+v", got)
	}
	if len(tags) != 3 {
		t.Errorf("tags of three states are %v", tags)
	}
}

func TestGetBatchHidden(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	b := fx.createBatch(flow.ID, `{"items": [{}]}`)
	for name, c := range map[string]struct {
		p        *Principal
		workflow chargehand.WorkflowID
		id       chargehand.BatchID
	}{
		"unknown":                           {fx.p, flow.ID, newID[chargehand.BatchID](5)},
		"under the wrong workflow":          {fx.p, other.ID, b.ID},
		"another environment":               {fx.test, flow.ID, b.ID},
		"another account":                   {fx.stranger(), flow.ID, b.ID},
		"a workflow outside the key's list": {fx.principal(chargehand.Live, PresetAll, other.ID), flow.ID, b.ID},
	} {
		_, err := fx.GetBatch(t.Context(), c.p, c.workflow, c.id, view)
		if shown := wantCode(t, err, chargehand.CodeBatchNotFound); shown.Detail != batchNotFound().(*chargehand.Error).Detail {
			t.Errorf("%s: reported as %q", name, shown.Detail)
		}
		_, _, err = fx.CancelBatch(t.Context(), c.p, ChangeBatch{Workflow: c.workflow, Batch: c.id})
		wantCode(t, err, chargehand.CodeBatchNotFound)
	}
}

// A snapshot shows entries as they were when the counts were read.
func TestSnapshotOfEntriesAgreesWithCounts(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	b := fx.createBatch(flow.ID, `{"items": [{"i":0}, {"i":1}]}`)
	list, _ := fx.entries(b, BatchEntries{})
	all := view
	all.Entries = true
	got := fx.getBatch(b, all)
	got.entries[1].left, got.entries[1].input = true, store.Payload{} // as if it had not found room
	fx.finish(list[0].Execution, `{}`)
	fx.finish(list[1].Execution, `{}`)
	entries, next := fx.entries(got, BatchEntries{})
	if len(entries) != 2 || next != -1 {
		t.Fatalf("entries are %+v, next %d", entries, next)
	}
	for i, e := range entries {
		if e.Status != chargehand.Initial || e.Index != i || string(e.Inputs) != fmt.Sprintf(`{"i":%d}`, i) {
			t.Errorf("entry %d is %+v, want it as it was", i, e)
		}
	}
}

func TestEntriesInSteps(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	const total = 2*entriesPerView + 7
	items := make([]any, total)
	for i := range items {
		items[i] = map[string]any{"i": i}
	}
	b, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: flow.ID, Body: map[string]any{"items": items}})
	if err != nil {
		t.Fatal(err)
	}
	ids, _ := fx.entries(b, BatchEntries{})
	for i := 0; i < total; i += 3 {
		fx.finish(ids[i].Execution, `{}`)
	}
	b = fx.getBatch(b, view)
	all, next := fx.entries(b, BatchEntries{})
	if len(all) != total || next != -1 {
		t.Fatalf("%d entries, next %d", len(all), next)
	}
	for i, e := range all {
		if e.Index != i || string(e.Inputs) != fmt.Sprintf(`{"i":%d}`, i) || (e.Status == chargehand.Finished) != (i%3 == 0) {
			t.Fatalf("entry %d is %+v", i, e)
		}
	}
	for _, q := range []BatchEntries{{Limit: 100}, {Limit: 100, Statuses: []chargehand.Status{chargehand.Finished}}, {Limit: 1, Phases: []chargehand.Phase{chargehand.Pending}}, {Limit: total}, {Limit: entriesPerView}} {
		var seen []int
		for from := 0; from >= 0; {
			q.From = from
			page, next := fx.entries(b, q)
			if len(page) > q.Limit || next >= 0 && len(page) < q.Limit {
				t.Fatalf("%+v: %d entries, next %d", q, len(page), next)
			}
			for _, e := range page {
				if q.Statuses != nil && e.Status != q.Statuses[0] || q.Phases != nil && e.Phase != q.Phases[0] {
					t.Fatalf("%+v: entry %+v", q, e)
				}
				seen = append(seen, e.Index)
			}
			from = next
		}
		want := 0
		for i := range total {
			if q.Statuses == nil && q.Phases == nil || (q.Statuses != nil) == (i%3 == 0) {
				if want >= len(seen) || seen[want] != i {
					t.Fatalf("%+v: pages miss entry %d", q, i)
				}
				want++
			}
		}
		if want != len(seen) {
			t.Errorf("%+v: %d entries too many", q, len(seen)-want)
		}
	}
	stop := errors.New("the client has gone")
	calls := 0
	_, err = fx.Entries(t.Context(), b, BatchEntries{}, func(*BatchEntry) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("after an error: %v, %d calls", err, calls)
	}
}

func TestLargeItems(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	large := strings.Repeat("y", 150<<10)
	b := fx.createBatch(flow.ID, `{"items": [{"a": "`+large+`"}, {"a": 1}, {"a": "`+large[1:]+`"}]}`)
	for range 2 {
		list, _ := fx.entries(b, BatchEntries{})
		if len(list) != 3 || string(list[0].Inputs) != `{"a":"`+large+`"}` || string(list[1].Inputs) != `{"a":1}` || len(list[2].Inputs) != len(list[0].Inputs)-1 {
			t.Fatalf("large inputs come back with %d entries", len(list))
		}
		b = fx.getBatch(b, view)
	}
}

func TestListBatches(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	var made []chargehand.BatchID
	for range 5 {
		fx.pass(time.Second)
		made = append(made, fx.createBatch(flow.ID, `{"items": [{}]}`).ID)
	}
	fx.createBatch(other.ID, `{"items": [{}]}`)
	var seen []chargehand.BatchID
	for after := (Cursor{}); ; {
		page, err := fx.ListBatches(t.Context(), fx.p, ListBatches{Workflow: flow.ID, Limit: 2, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page.Data {
			seen = append(seen, b.ID)
		}
		if after = page.Cursor; after.IsZero() {
			break
		}
	}
	if len(seen) != 5 {
		t.Fatalf("pages show %d batches", len(seen))
	}
	for i := range seen {
		if seen[i] != made[4-i] {
			t.Errorf("batch %d is not at its position", i)
		}
	}
	page, err := fx.ListBatches(t.Context(), fx.test, ListBatches{Workflow: flow.ID, Limit: 2})
	if err != nil || len(page.Data) != 0 {
		t.Errorf("test sees %+v, %v", page, err)
	}
	_, err = fx.ListBatches(t.Context(), fx.stranger(), ListBatches{Workflow: flow.ID, Limit: 2})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
}

// TestBatchesAreCountedWithinBounds: a page ends before the batch whose items would be too many to be counted for it,
// but has one batch at least.
func TestBatchesAreCountedWithinBounds(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	for range 3 {
		fx.pass(time.Second)
		fx.createBatch(flow.ID, `{"items": [{}, {}, {}, {}]}`)
	}
	var rows []store.Batch
	err := fx.rows.Update(t.Context(), func(tx *store.Tx) (err error) {
		rows, err = tx.ListBatches(store.BatchFilter{Account: fx.p.AccountNo, Environment: chargehand.Live, Limit: 10})
		for i := range rows {
			items, err := tx.QueuedItems(rows[i].No, 3)
			if err != nil {
				return err
			}
			for _, item := range items {
				if err := tx.SetState(item.No, chargehand.Waiting, store.StateParked, store.Waits{}); err != nil {
					return err
				}
			}
		}
		return err
	})
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d batches: %v", len(rows), err)
	}
	for most, want := range map[int]int{0: 1, 2: 1, 6: 2, 8: 2, 9: 3, 100: 3} {
		err := fx.rows.View(t.Context(), func(r *store.Reader) error {
			list, err := fx.showBatches(r, rows, most)
			if len(list) != want {
				t.Errorf("with %d items counted at most, a page has %d batches, want %d", most, len(list), want)
			}
			for _, b := range list {
				if b.Waiting != 3 || b.Queued != 1 {
					t.Errorf("%d wait and %d are queued", b.Waiting, b.Queued)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFindBatches: every filter of a list of batches, in pages of one, shows what fits of all.
func TestFindBatches(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	began := fx.now()
	var all []*Batch // the oldest first
	for i := range 12 {
		fx.pass(time.Second)
		of := []chargehand.WorkflowID{flow.ID, other.ID}[i%2]
		b := fx.createBatch(of, `{"items": [{}]}`)
		if i%3 == 0 {
			_, _, err := fx.CancelBatch(t.Context(), fx.p, ChangeBatch{Workflow: of, Batch: b.ID, View: view})
			if err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, fx.getBatch(b, view))
	}
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	for name, c := range map[string]struct {
		q    ListBatches
		want int
		fits func(*Batch) bool
	}{
		"all":     {ListBatches{}, 12, func(*Batch) bool { return true }},
		"failed":  {ListBatches{Statuses: []chargehand.BatchStatus{chargehand.BatchFailed}}, 4, func(b *Batch) bool { return b.Status == chargehand.BatchFailed }},
		"pending": {ListBatches{Phases: []string{"pending", "running"}}, 8, func(b *Batch) bool { return b.Phase != "cancelled" }},
		"cancelled of one": {
			ListBatches{Phases: []string{"cancelled"}, Workflow: flow.ID}, 2,
			func(b *Batch) bool { return b.Phase == "cancelled" && b.Workflow == flow.ID },
		},
		"both conditions": {ListBatches{Phases: []string{"cancelled"}, Statuses: []chargehand.BatchStatus{chargehand.BatchPending}}, 0, func(*Batch) bool { return false }},
		"by id":           {ListBatches{Workflows: []chargehand.WorkflowID{other.ID}}, 6, func(b *Batch) bool { return b.Workflow == other.ID }},
		"by name":         {ListBatches{WorkflowNames: []string{"test/two", "test/none"}}, 6, func(b *Batch) bool { return b.Workflow == other.ID }},
		"between": {
			ListBatches{CreatedAfter: at(3), CreatedBefore: at(7)}, 3,
			func(b *Batch) bool { return b.CreatedAt.After(at(3)) && b.CreatedAt.Before(at(7)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			var want, got []chargehand.BatchID
			for _, b := range slices.Backward(all) {
				if c.fits(b) {
					want = append(want, b.ID)
				}
			}
			q := c.q
			for q.Limit = 1; ; {
				page, err := fx.ListBatches(t.Context(), fx.p, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range page.Data {
					got = append(got, b.ID)
				}
				if q.After = page.Cursor; q.After.IsZero() {
					break
				}
			}
			if len(want) != c.want || !slices.Equal(got, want) {
				t.Errorf("%d batches %v, want %d: %v", len(got), got, c.want, want)
			}
		})
	}
}

func TestCancelBatch(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	b := fx.createBatch(flow.ID, `{"items": [{}, {}]}`)
	change := ChangeBatch{Workflow: flow.ID, Batch: b.ID, Body: map[string]any{"reason": "wrong file"}, View: view}
	bad := change
	bad.Body = map[string]any{"force": true}
	_, _, err := fx.CancelBatch(t.Context(), fx.p, bad)
	wantCode(t, err, chargehand.CodeUnknownField)
	got, _, err := fx.CancelBatch(t.Context(), fx.p, change)
	if err != nil || got.Status != chargehand.BatchFailed || got.Failed != 2 || fx.engine.reasons[0] != "wrong file" {
		t.Errorf("got %+v, %v, reasons %q", got, err, fx.engine.reasons)
	}
	if list, _ := fx.entries(got, BatchEntries{}); list[0].Ended || list[0].DurationMs != 0 {
		t.Errorf("an item that never ran has a duration: %+v", list[0])
	}
	_, _, err = fx.CancelBatch(t.Context(), fx.p, change)
	wantCode(t, err, chargehand.CodeStateConflict)
}

func TestWaitForBatch(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	fx.engine.waiting = make(chan struct{}, 10)
	type answer struct {
		b   *Batch
		err error
	}
	answers := make(chan answer)
	go func() {
		b, _, err := fx.CreateBatch(context.Background(), fx.p, CreateBatch{
			Workflow: flow.ID, Body: map[string]any{"items": []any{noInput, noInput}}, View: View{Wait: time.Minute},
		})
		answers <- answer{b, err}
	}()
	<-fx.engine.waiting
	page, err := fx.ListBatches(t.Context(), fx.p, ListBatches{Workflow: flow.ID, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	list, _ := fx.entries(page.Data[0], BatchEntries{})
	fx.finish(list[0].Execution, `{}`)
	<-fx.engine.waiting
	fx.finish(list[1].Execution, `{}`)
	got := <-answers
	if got.err != nil || got.b.Status != chargehand.BatchCompleted || got.b.Completed != 2 {
		t.Errorf("the wait answered %+v, %v", got.b, got.err)
	}
}
