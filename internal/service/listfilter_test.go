package service

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fingerprint"
	"github.com/chargehand/chargehand/internal/store"
)

// filtered is an execution as TestFilters knows it.
type filtered struct {
	*store.Execution
	workflow chargehand.WorkflowID
	code     string
	mark     FailureMark
	labels   map[string]string
}

// repeated are executions that others repeat; they are not stored any more.
var repeated = []chargehand.ExecutionID{{15: 1}, {15: 2}}

func (e *filtered) fits(q *ListExecutions) bool {
	f := &q.Filter
	any := func(n int, fits bool) bool { return n == 0 || fits }
	ok := any(len(q.Statuses), slices.Contains(q.Statuses, e.Status)) && any(len(f.Workflows), slices.Contains(f.Workflows, e.workflow)) &&
		any(len(f.ErrorCodes), slices.Contains(f.ErrorCodes, e.code)) && any(len(f.Causes), slices.Contains(f.Causes, causeOf(e.Execution).Kind)) &&
		any(len(f.Waits), waitingFor(e.Execution) != nil && slices.Contains(f.Waits, waitingFor(e.Execution).Kind))
	for _, l := range f.Labels {
		value, has := e.labels[l.Name]
		ok = ok && has && value == l.Value
	}
	if !f.RetryOf.IsZero() {
		ok = ok && e.RetryOf == f.RetryOf
	}
	if f.Failure != nil {
		ok = ok && e.code != "" && e.mark == *f.Failure
	}
	if f.MinDurationMs > 0 {
		ok = ok && e.StartedMs != 0 && e.FinishedMs-e.StartedMs >= f.MinDurationMs
	}
	if f.Search != "" {
		id, found := e.ID.String(), e.ItemID == f.Search
		for _, value := range e.labels {
			found = found || value == f.Search
		}
		ok = ok && (found || len(f.Search) >= 8 && strings.HasPrefix(id, f.Search) || len(f.Search) == 8 && strings.HasSuffix(id, f.Search))
	}
	return ok
}

// TestFilters lists by random filters, in pages of random sizes, with random bounds of what is examined, and compares
// with what the filters mean.
func TestFilters(t *testing.T) {
	fx := newFixture(t)
	r := rand.New(rand.NewPCG(7, 1))
	all, workflows := fx.crowd(t, r)
	for i := range 1500 {
		q := ListExecutions{Limit: 1 + r.IntN(40)}
		f := &q.Filter
		some := func() bool { return r.IntN(4) == 0 }
		if some() {
			q.Statuses = []chargehand.Status{chargehand.Status(1 + r.IntN(5)), chargehand.Errored}
		}
		if some() {
			f.Workflows = workflows[:1+r.IntN(2)]
		}
		if some() {
			f.ErrorCodes = []string{"c1", "c2"}[:1+r.IntN(2)]
		}
		if some() {
			f.Causes = []string{"api", "batch", "schedule", "retry"}[r.IntN(4):]
		}
		if some() {
			f.Waits = []string{"timer", "event", "slot"}[r.IntN(3):]
		}
		if some() {
			f.Labels = []Label{{Name: "team", Value: fmt.Sprint("t", r.IntN(3))}, {Name: "size", Value: "s1"}}[:1+r.IntN(2)]
		}
		if some() {
			f.MinDurationMs = 500
		}
		if some() {
			f.RetryOf = repeated[r.IntN(len(repeated))]
		}
		if some() {
			f.Failure = &all[r.IntN(len(all))].mark
		}
		if some() {
			one := all[r.IntN(len(all))]
			f.Search = []string{one.ID.String()[28:], one.ID.String(), one.ID.String()[:20], "item 7", "s1"}[r.IntN(5)]
		}
		f.Ascending = some()
		fx.examined, fx.counted = []int{3, 17, 1000}[r.IntN(3)], []int{5, 1000}[r.IntN(2)]
		var want, got []string
		for _, e := range all {
			if e.fits(&q) {
				want = append(want, e.ID.String())
			}
		}
		if slices.Sort(want); !f.Ascending {
			slices.Reverse(want)
		}
		for page := 0; ; page++ {
			p, err := fx.ListExecutions(t.Context(), fx.p, q)
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			for _, e := range p.Data {
				got = append(got, e.ID.String())
			}
			if p.Cursor == (Cursor{}) {
				break
			}
			if q.After = p.Cursor; page > 2000 {
				t.Fatalf("%+v has no end", q)
			}
		}
		fx.sameCounts(t, &q, all, len(want))
		if !slices.Equal(got, want) {
			t.Fatalf("filter %d, %+v, examined %d:\n%d found %v\n%d wanted %v", i, q, fx.examined, len(got), got, len(want), want)
		}
	}
}

// sameCounts compares the count and the groups of failures of a filter with what it means.
func (fx *fixture) sameCounts(t *testing.T, q *ListExecutions, all []filtered, listed int) {
	t.Helper()
	c, err := fx.CountExecutions(t.Context(), fx.p, *q)
	if err != nil || c.Count > int64(listed) || !c.AtLeast && (c.Count != int64(listed) || !c.ExaminedUntil.IsZero()) {
		t.Fatalf("%+v, examined %d: %d are listed and %+v counted, %v", q, fx.examined, listed, c, err)
	}
	if c.ExaminedUntil.IsZero() && c.Count < int64(listed) && c.Count < int64(fx.counted) {
		t.Fatalf("%+v: counting %d of %d ended without a reason", q, c.Count, listed)
	}
	failed, newer, examined := *q, int64(0), int64(0)
	failed.Limit = 0
	g, err := fx.ListFailures(t.Context(), fx.p, failed)
	if len(q.Filter.Waits) > 0 {
		if wantCode(t, err, chargehand.CodeInvalidParameter).Fields[0].Parameter != "waiting_for" {
			t.Fatalf("%v", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("failures of %+v: %v", q, err)
	}
	for _, e := range all {
		if e.fits(q) && e.code != "" {
			examined++
			if e.ID.Time().After(g.ExaminedUntil) {
				newer++
			}
		}
	}
	grouped := int64(0)
	for _, one := range g.Data {
		grouped += one.Count
	}
	if grouped < newer || grouped > examined || !g.AtLeast && grouped != examined || g.AtLeast == g.ExaminedUntil.IsZero() {
		t.Fatalf("%+v, examined %d: %d of %d failures are grouped, of which %d came after %v", q, fx.examined, grouped, examined, newer, g.ExaminedUntil)
	}
}

// crowd inserts executions of many kinds.
func (fx *fixture) crowd(t *testing.T, r *rand.Rand) (all []filtered, workflows []chargehand.WorkflowID) {
	var nos []int64
	for _, name := range []string{"one", "two"} {
		w := fx.apply(definition(name, "1.0.0"))
		workflows = append(workflows, w.ID)
	}
	err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		all, nos = nil, nil
		for _, id := range workflows {
			w, err := tx.WorkflowByID(fx.p.AccountNo, id)
			if err != nil {
				return err
			}
			nos = append(nos, w.No)
		}
		ms := fx.now().UnixMilli() - 1_000_000
		for range 6 {
			size := 1 + r.IntN(12)
			b := store.Batch{
				ID: newID[chargehand.BatchID](ms), Account: fx.p.AccountNo, Environment: fx.p.Environment, Workflow: nos[r.IntN(2)], Revision: 1,
				Total: int64(size), Concurrency: 1, RequestedConcurrency: 1, Labels: []Label{{Name: "team", Value: fmt.Sprint("t", r.IntN(3))}},
			}
			ids := newSequence(ms)
			items := make([]store.Execution, size)
			for i := range items {
				items[i] = fx.some(r, nos, ms)
				items[i].Workflow, items[i].Item = b.Workflow, int64(i)
				ids.next(items[i].ID[:])
			}
			b.LastItem = items[size-1].ID
			if err := tx.InsertBatch(&b); err != nil {
				return err
			}
			for i := range items {
				items[i].Batch = b.No
				one, err := insertSome(tx, r, &items[i], workflows, nos)
				if err != nil {
					return err
				}
				if _, own := one.labels["team"]; !own {
					one.labels["team"] = b.Labels[0].Value
				}
				all = append(all, one)
			}
			for range 20 {
				ms += r.Int64N(3)
				row := fx.some(r, nos, ms)
				one, err := insertSome(tx, r, &row, workflows, nos)
				if err != nil {
					return err
				}
				all = append(all, one)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, workflows
}

// some is an execution that has not ended.
func (fx *fixture) some(r *rand.Rand, nos []int64, ms int64) store.Execution {
	row := store.Execution{
		ID: newID[chargehand.ExecutionID](ms), Account: fx.p.AccountNo, Environment: fx.p.Environment, Workflow: nos[r.IntN(2)], Revision: 1,
		Status: chargehand.Processing, Phase: chargehand.Waiting, State: store.StateParked, Input: inline(`{}`), StartedMs: ms, ItemID: fmt.Sprint("item ", r.IntN(9)),
	}
	switch r.IntN(6) {
	case 0:
		row.Waits = store.Waits{Kind: store.WaitEvent, Types: []string{"x"}}
	case 1:
		row.Waits = store.Waits{Kind: store.WaitTimer, UntilMs: ms}
	case 2:
		row.Status, row.Phase, row.State, row.StartedMs = chargehand.Initial, chargehand.Pending, store.StateQueued, 0
	case 3:
		row.Cause = store.CauseSchedule
	case 4:
		row.RetryOf = repeated[r.IntN(len(repeated))]
	}
	if r.IntN(3) == 0 {
		row.Labels = append(row.Labels, Label{Name: "size", Value: fmt.Sprint("s", r.IntN(2))})
	}
	if r.IntN(3) == 0 {
		row.Labels = append(row.Labels, Label{Name: "team", Value: fmt.Sprint("t", r.IntN(3))})
	}
	return row
}

func hashOf(detail string) int64 {
	sum := fingerprint.Sum(detail)
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// insertSome inserts an execution, and ends some.
func insertSome(tx *store.Tx, r *rand.Rand, row *store.Execution, workflows []chargehand.WorkflowID, nos []int64) (filtered, error) {
	one := filtered{Execution: row, workflow: workflows[slices.Index(nos, row.Workflow)], labels: map[string]string{}}
	for _, l := range row.Labels {
		one.labels[l.Name] = l.Value
	}
	if err := tx.InsertExecution(row); err != nil {
		return one, err
	}
	startedMs, endMs := max(row.StartedMs, row.ID.Milli()), row.ID.Milli()+r.Int64N(1000)
	if r.IntN(3) > 0 {
		row.FinishedMs = 0
		if row.StartedMs != 0 { // the clock of the fixture stands: what runs has run for long
			row.FinishedMs = row.StartedMs + 1_000_000
		}
		return one, nil
	}
	row.StartedMs, row.FinishedMs, row.State, row.Waits = startedMs, endMs, store.StateEnded, store.Waits{}
	row.Status, row.Phase = chargehand.Finished, chargehand.Completed
	o := store.Outcome{Output: inline(`{}`)}
	if r.IntN(2) == 0 {
		one.code = fmt.Sprint("c", r.IntN(3))
		row.Status, row.Phase, o = chargehand.Errored, chargehand.Faulted, store.Outcome{Fault: []byte(`{"code":"` + one.code + `"}`)}
		if n := r.IntN(9); n > 0 { // details differ in a number, and in a word
			detail, task := fmt.Sprintf("order %d is %s", n, []string{"gone", "late"}[n%2]), []string{"", "/do/0/x"}[n/2%2]
			o.Fault = fmt.Appendf(nil, `{"code":%q,"detail":%q,"instance":%q}`, one.code, detail, task)
			one.mark.reference, one.mark.hash = task, hashOf(detail)
		} else {
			one.mark.hash = hashOf("")
		}
	}
	_, err := tx.FinishExecution(row.No, row.Status, row.Phase, startedMs, endMs, &o)
	return one, err
}

// TestFiltersOfABatch: filters that say more than a batch hold for its items, too.
func TestFiltersOfABatch(t *testing.T) {
	fx := newFixture(t)
	all, workflows := fx.crowd(t, rand.New(rand.NewPCG(7, 2)))
	var item *filtered
	of := 0 // items of its batch
	for i := range all {
		if all[i].Batch != 0 && (item == nil || all[i].Batch == item.Batch) {
			item = &all[i]
			of++
		}
	}
	var batch chargehand.BatchID
	err := fx.rows.View(t.Context(), func(r *store.Reader) error {
		b, err := r.BatchByNo(item.Batch)
		batch = b.ID
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	other := workflows[0]
	if other == item.workflow {
		other = workflows[1]
	}
	for name, c := range map[string]struct {
		filter ExecutionFilter
		want   int
	}{
		"none":             {ExecutionFilter{}, of},
		"its workflow":     {ExecutionFilter{Workflows: []chargehand.WorkflowID{item.workflow}}, of},
		"another workflow": {ExecutionFilter{Workflows: []chargehand.WorkflowID{other}}, 0},
		"a tree":           {ExecutionFilter{Root: item.ID}, 0},
		"an id":            {ExecutionFilter{Search: item.ID.String()}, 1},
	} {
		q := ListExecutions{Batch: batch, Filter: c.filter, Limit: 100}
		page, err := fx.ListExecutions(t.Context(), fx.p, q)
		if err != nil || len(page.Data) != c.want {
			t.Errorf("%s: %d are listed and not %d, %v", name, len(page.Data), c.want, err)
		}
		count, err := fx.CountExecutions(t.Context(), fx.p, q)
		if err != nil || count.Count != int64(c.want) {
			t.Errorf("%s: %d are counted and not %d, %v", name, count.Count, c.want, err)
		}
	}
}
