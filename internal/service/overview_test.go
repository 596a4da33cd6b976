package service

import (
	"slices"
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
	if !slices.EqualFunc(g.Data, o.Failures.Data, func(a, b FailureGroup) bool { return a == b }) {
		fx.t.Errorf("the groups are %+v, and in the overview %+v", g.Data, o.Failures.Data)
	}
	return c
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
		fx.create(a.ID, noInput)
	}
	fx.create(b.ID, noInput)
	fx.createAs(own, a.ID, noInput)
	fx.createAs(own, b.ID, noInput)
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
