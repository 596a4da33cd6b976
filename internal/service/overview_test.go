package service

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/rollup"
	"github.com/chargehand/chargehand/internal/store"
)

// counts are what an overview, a count and the groups of failures say to a principal.
type counts struct{ started, failed, now, listed, grouped int64 }

func (fx *fixture) counts(p *Principal, workflow chargehand.WorkflowID) (c counts) {
	fx.t.Helper()
	o, err := fx.Overview(fx.t.Context(), p, Overview{Workflow: workflow})
	if err != nil {
		fx.t.Fatal(err)
	}
	n, err := fx.CountExecutions(fx.t.Context(), p, ListExecutions{Workflow: workflow})
	if err != nil {
		fx.t.Fatal(err)
	}
	g, err := fx.ListFailures(fx.t.Context(), p, ListExecutions{Workflow: workflow})
	if err != nil {
		fx.t.Fatal(err)
	}
	page, err := fx.ListExecutions(fx.t.Context(), p, ListExecutions{Workflow: workflow, Limit: 100})
	if err != nil || int64(len(page.Data)) != n.Count {
		fx.t.Errorf("a list shows %d executions, and %d are counted, %v", len(page.Data), n.Count, err)
	}
	var buckets counts
	for _, b := range o.Buckets {
		buckets.started, buckets.failed = buckets.started+b.Started, buckets.failed+b.Failed
	}
	c = counts{o.Total.Started, o.Total.Failed, o.Now.Queued + o.Now.Running + o.Now.Waiting, n.Count, 0}
	if buckets.started != c.started || buckets.failed != c.failed {
		fx.t.Errorf("the buckets have %+v, and the total %+v", buckets, c)
	}
	for _, one := range g.Data {
		c.grouped += one.Count
	}
	fx.wantByWorkflow(o)
	if !slices.EqualFunc(g.Data, o.Failures.Data, func(a, b FailureGroup) bool { return a == b }) {
		fx.t.Errorf("the groups are %+v, and in the overview %+v", g.Data, o.Failures.Data)
	}
	return c
}

// end ends an execution that no engine drives.
func (fx *fixture) end(e *Execution, phase chargehand.Phase) {
	fx.t.Helper()
	status, outcome := chargehand.Finished, &store.Outcome{}
	if phase == chargehand.Faulted {
		status, outcome.Fault = chargehand.Errored, []byte(`{"code":"error"}`)
	}
	if err := fx.engine.end(fx.t.Context(), e.ID, status, phase, outcome); err != nil {
		fx.t.Fatal(err)
	}
}

// wantByWorkflow compares the sums of the workflows of an overview that lists them all with its total.
func (fx *fixture) wantByWorkflow(o *OverviewReport) {
	fx.t.Helper()
	var sum OverviewBucket
	for _, w := range o.Workflows.ByP95 {
		sum.Started, sum.Finished, sum.Failed, sum.Cancelled = sum.Started+w.Started, sum.Finished+w.Finished, sum.Failed+w.Failed, sum.Cancelled+w.Cancelled
	}
	total := o.Total
	total.From, total.P50, total.P95, total.Timed = time.Time{}, 0, 0, false
	if sum != total {
		fx.t.Errorf("the workflows together have %+v, and the total %+v", sum, total)
	}
	failed := int64(0)
	for _, w := range o.Workflows.ByFailures {
		failed += w.Failed
	}
	if failed != total.Failed || o.Workflows.Count != len(o.Workflows.ByP95) || o.Workflows.AtLeast {
		fx.t.Errorf("of %d failures, those of the workflows are %d: %+v", total.Failed, failed, o.Workflows)
	}
}

// TestCountsAreThoseOfWhatIsSeen compares the counts for several principals with what they may read: a key of all,
// one of a namespace, one that reads what it has started, and a person that sees one workflow as a whole.
func TestCountsAreThoseOfWhatIsSeen(t *testing.T) {
	fx := newFixture(t)
	a, b := fx.apply(inNamespace("one", "a")), fx.apply(inNamespace("two", "b"))
	own := fx.limited(ScopeExecutionsCreate | ScopeExecutionsReadOwn)
	own, err := May(own, ScopeExecutionsRead, ScopeExecutionsReadOwn)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		fx.end(fx.create(a.ID, noInput), chargehand.Completed)
	}
	fx.end(fx.create(b.ID, noInput), chargehand.Faulted)
	fx.end(fx.createAs(own, a.ID, noInput), chargehand.Faulted)
	fx.end(fx.createAs(own, b.ID, noInput), chargehand.Completed)
	// Own in everything, and everything of b, in which one is its own.
	mixed := *own
	mixed.partial = &partial{whole: []chargehand.WorkflowID{b.ID}, limits: store.NoWorkflow()}
	if err := rollup.New(rollup.Config{Store: fx.Service.store}).Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	none := chargehand.WorkflowID{}
	for name, c := range map[string]struct {
		p        *Principal
		workflow chargehand.WorkflowID
		want     int64
	}{
		"everything":                   {fx.p, none, 6},
		"a workflow":                   {fx.p, a.ID, 4},
		"a namespace":                  {fx.limited(PresetObserve, "two"), none, 2},
		"own":                          {own, none, 2},
		"own in a workflow":            {own, a.ID, 1},
		"own, and a workflow":          {&mixed, none, 3},
		"own, and a workflow, whole":   {&mixed, b.ID, 2},
		"own, and a workflow, in part": {&mixed, a.ID, 1},
	} {
		got := fx.counts(c.p, c.workflow)
		if got.started != c.want || got.listed != c.want {
			t.Errorf("%s: %+v, want %d", name, got, c.want)
		}
	}
	_, err = fx.Overview(t.Context(), fx.limited(PresetObserve, "two"), Overview{Workflow: a.ID})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
}

func TestOverviewBounds(t *testing.T) {
	fx := newFixture(t)
	to := time.Date(2026, 5, 2, 10, 30, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		q       Overview
		from    string
		step    time.Duration
		buckets int
	}{
		"a day":        {Overview{To: to}, "2026-05-01T10:00:00Z", time.Hour, 25},
		"an hour":      {Overview{From: to.Add(-time.Minute), To: to}, "2026-05-02T10:00:00Z", time.Hour, 1},
		"a week":       {Overview{From: to.AddDate(0, 0, -7), To: to}, "2026-04-25T10:00:00Z", time.Hour, 169},
		"a month":      {Overview{From: to.AddDate(0, 0, -30), To: to}, "2026-04-02T00:00:00Z", 24 * time.Hour, 31},
		"by the day":   {Overview{From: to.AddDate(0, 0, -2), To: to, Step: 24 * time.Hour}, "2026-04-30T00:00:00Z", 24 * time.Hour, 3},
		"all there is": {Overview{From: to.Add(-400 * 24 * time.Hour), To: to}, "2025-03-28T00:00:00Z", 24 * time.Hour, 401},
	} {
		o, err := fx.Overview(t.Context(), fx.p, c.q)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if from := o.From.Format(time.RFC3339); from != c.from || o.Step != c.step || len(o.Buckets) != c.buckets {
			t.Errorf("%s: from %s by %v, %d buckets", name, from, o.Step, len(o.Buckets))
		}
	}
	for name, q := range map[string]Overview{
		"from after to": {From: to, To: to.Add(-time.Hour)}, "from is to": {From: to, To: to}, "too long": {From: to.Add(-401 * 24 * time.Hour), To: to},
		"too many": {From: to.AddDate(0, 0, -60), To: to, Step: time.Hour}, "half an hour": {To: to, Step: 30 * time.Minute}, "90 minutes": {To: to, Step: 90 * time.Minute},
	} {
		_, err := fx.Overview(t.Context(), fx.p, q)
		wrong := wantCode(t, err, chargehand.CodeInvalidParameter)
		if field := wrong.Fields[0]; !strings.HasPrefix(field.Detail, field.Parameter+" ") || wrong.Detail != field.Detail {
			t.Errorf("%s: %q, %+v", name, wrong.Detail, field)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestOverviewOfManyWorkflows: of more workflows than are listed those with the most failures are shown, and of more
// than are compared those that took the longest of the busiest.
func TestOverviewOfManyWorkflows(t *testing.T) {
	fx := newFixture(t)
	var faults []store.RollupFault
	names := map[string]int64{}
	hourMs := fx.now().UnixMilli() / store.HourMs * store.HourMs
	for i := range int64(maxWorkflowsTimed + 20) {
		name := "flow" + strconv.FormatInt(i, 10)
		w := fx.apply(inNamespace("many", name))
		names["many/"+name] = i
		all := store.Rollups{}
		err := fx.Service.store.View(t.Context(), func(r *store.Reader) error {
			row, err := r.WorkflowByID(fx.p.AccountNo, w.ID)
			e := store.Execution{Account: fx.p.AccountNo, Environment: fx.p.Environment, Workflow: row.No, Phase: chargehand.Completed, Status: chargehand.Finished, StartedMs: hourMs}
			for range 100 - i { // the first workflows are the busiest, and the quickest
				e.FinishedMs = hourMs + 10 + 10*i
				all.AddEnded(&e)
			}
			for range i / 2 { // the last ones fail the most
				e.Phase, e.Status = chargehand.Faulted, chargehand.Errored
				all.AddEnded(&e)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for key, c := range all {
			faults = append(faults, store.RollupFault{Key: key, Want: *c})
		}
	}
	if err := fx.Service.store.Update(t.Context(), func(tx *store.Tx) error { return tx.MendRollups(faults) }); err != nil {
		t.Fatal(err)
	}
	o, err := fx.Overview(t.Context(), fx.p, Overview{})
	if err != nil {
		t.Fatal(err)
	}
	w := o.Workflows
	if w.Count != maxWorkflowsTimed+20 || w.Compared != maxWorkflowsTimed || w.AtLeast || len(w.ByFailures) != 10 || len(w.ByP95) != 10 {
		t.Fatalf("%d of %d are compared, at least %v: %d and %d", w.Compared, w.Count, w.AtLeast, len(w.ByFailures), len(w.ByP95))
	}
	for i := range w.ByFailures {
		failed, slow := w.ByFailures[i], w.ByP95[i]
		last := names[failed.Name]
		if last/2 != int64(maxWorkflowsTimed+19-i)/2 || failed.Failed != last/2 || failed.Finished != 100-last || !failed.Timed {
			t.Errorf("place %d by failures has %+v", i, failed)
		}
		if !slow.Timed || i > 0 && slow.P95 > w.ByP95[i-1].P95 || slow.Finished+slow.Failed < 100-maxWorkflowsTimed/2 {
			t.Errorf("place %d by duration has %+v", i, slow)
		}
	}
}
