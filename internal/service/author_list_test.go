package service

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
)

// TestIfMatch: an author who has read another state of the workflow overwrites nothing.
func TestIfMatch(t *testing.T) {
	fx := newFixture(t)
	apply := func(version, more string, match ...string) (*AppliedWorkflow, error) {
		w, _, err := fx.ApplyWorkflow(t.Context(), fx.p, ApplyWorkflow{
			Definition: definition("flow", version, more), MediaType: mediaYAML, Match: match, Message: "why " + version,
		})
		return w, err
	}
	_, err := apply("1.0.0", "", "*")
	wantCode(t, err, chargehand.CodeRevisionConflict)
	_, err = apply("1.0.0", "", "1-0")
	wantCode(t, err, chargehand.CodeRevisionConflict)
	first, err := apply("1.0.0", "")
	if err != nil {
		t.Fatal(err)
	}
	read, err := fx.GetWorkflow(t.Context(), fx.p, first.ID)
	if err != nil || read.ETag != first.ETag || read.ETag == "" {
		t.Fatalf("the tag is %q, applied %q, %v", read.ETag, first.ETag, err)
	}
	second, err := apply("1.1.0", "", "other", read.ETag)
	if err != nil || second.ETag == first.ETag {
		t.Fatalf("%+v, %v", second, err)
	}
	_, err = apply("1.2.0", "", read.ETag)
	wantCode(t, err, chargehand.CodeRevisionConflict)
	if _, err = apply("1.2.0", "", "*"); err != nil {
		t.Fatal(err)
	}
	if again, err := apply("1.2.0", "", second.ETag); err == nil || again != nil {
		t.Error("even the same content is refused where it was read before")
	}
	drafted := fx.applyAs(fx.p, definition("flow", "2.0.0"), true)
	if drafted.ETag == second.ETag {
		t.Error("a draft changes no tag")
	}
	_, _, err = fx.ApplyWorkflow(t.Context(), fx.p, ApplyWorkflow{Definition: definition("flow", "3.0.0"), MediaType: mediaYAML, Message: strings.Repeat("m", maxMessageBytes+1)})
	wantCode(t, err, chargehand.CodeInvalidParameter)
}

// TestRevisionsTellTheirAuthors: who has applied each, and why.
func TestRevisionsTellTheirAuthors(t *testing.T) {
	fx := newFixture(t)
	made, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "ci", "preset": "deploy"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := fx.Authenticate(t.Context(), made.Secret, localhost)
	if err != nil {
		t.Fatal(err)
	}
	var id chargehand.WorkflowID
	for i, more := range []string{"", "  title: second\n"} {
		w, _, err := fx.ApplyWorkflow(t.Context(), p, ApplyWorkflow{
			Definition: definition("flow", "1.0.0", more), MediaType: mediaYAML, Message: []string{"first", "second"}[i], Draft: i == 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		id = w.ID
	}
	v, err := fx.GetVersion(t.Context(), fx.p, id, "1.0.0", 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []Revision{
		{Number: 2, Draft: true, CreatedAt: fx.now(), CreatedBy: v.CreatedBy, Message: "second"},
		{Number: 1, Published: true, CreatedAt: fx.now(), CreatedBy: v.CreatedBy, Message: "first"},
	}
	if v.CreatedBy.Name != "ci" || v.CreatedBy.ID != made.ID.String() || v.Message != "second" || !slices.Equal(v.Revisions, want) {
		t.Errorf("version %+v", v)
	}
	page, err := fx.ListVersions(t.Context(), fx.p, id, 10, Cursor{})
	if err != nil || page.Data[0].Message != "second" || page.Data[0].CreatedBy.Name != "ci" || page.Data[0].Revisions != nil {
		t.Errorf("versions %+v, %v", page, err)
	}
}

// TestListWorkflowsByTag: by key, by key and value, by all of several; drafts where they are asked for.
func TestListWorkflowsByTag(t *testing.T) {
	fx := newFixture(t)
	fx.apply(definition("pay", "1.0.0", "  tags: {team: pay, level: 1}\n"))
	fx.pass(time.Millisecond)
	fx.apply(definition("ship", "1.0.0", "  tags: {team: ship}\n"))
	fx.pass(time.Millisecond)
	fx.apply(definition("plain", "1.0.0"))
	fx.pass(time.Millisecond)
	fx.applyAs(fx.p, definition("draft", "1.0.0", "  tags: {team: pay}\n"), true)
	yes, no := true, false
	for _, test := range []struct {
		p      *Principal
		tags   []string
		drafts *bool
		want   string
	}{
		{fx.p, nil, nil, "plain ship pay"},
		{fx.p, []string{"team"}, nil, "ship pay"},
		{fx.p, []string{"team:pay"}, nil, "pay"},
		{fx.p, []string{"team:p"}, nil, ""},
		{fx.p, []string{"team", "level:1"}, nil, "pay"},
		{fx.p, []string{"level:2"}, nil, ""},
		{fx.p, nil, &yes, "draft plain ship pay"},
		{fx.p, []string{"team:pay"}, &yes, "draft pay"},
		{fx.test, nil, nil, "draft plain ship pay"},
		{fx.test, nil, &no, "plain ship pay"},
	} {
		page, err := fx.ListWorkflows(t.Context(), test.p, ListWorkflows{Tags: test.tags, Drafts: test.drafts, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range page.Data {
			w := &page.Data[i]
			names = append(names, w.Name)
			if w.Draft != (w.Name == "draft") {
				t.Errorf("%s is a draft: %v", w.Name, w.Draft)
			}
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("in %s, with tags %q: %s, want %s", test.p.Environment, test.tags, got, test.want)
		}
	}
}

// TestActivity: the newest execution, and counts of a day that end at a bound.
func TestActivity(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("flow", "1.0.0")).ID
	old := fx.create(flow, noInput)
	fx.finish(old.ID, `1`)
	list := func(p *Principal) *Activity {
		page, err := fx.ListWorkflows(t.Context(), p, ListWorkflows{Activity: true, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		return page.Data[0].Activity
	}
	if a := list(fx.p); a.Last != old.ID || a.LastStatus != chargehand.Finished || a.Counts[chargehand.Finished] != 1 || a.AtLeast || !a.LastAt.Equal(fx.now()) {
		t.Errorf("activity %+v", a)
	}
	fx.pass(activitySpan + time.Second)
	if a := list(fx.p); a.Last != old.ID || len(a.Counts) != 0 {
		t.Errorf("a day later %+v", a)
	}
	for range maxActivity + 1 {
		fx.create(flow, noInput)
	}
	if a := list(fx.p); a.Counts[chargehand.Initial] != maxActivity || !a.AtLeast || a.LastStatus != chargehand.Initial {
		t.Errorf("with many %+v", a)
	}
	if a := list(fx.test); !a.Last.IsZero() || len(a.Counts) != 0 {
		t.Errorf("in test %+v", a)
	}
}

// TestListAllBatches: those of all workflows that the principal sees, newest first, by pages.
func TestListAllBatches(t *testing.T) {
	fx := newFixture(t)
	var want []chargehand.BatchID
	var flows []chargehand.WorkflowID
	for range 3 {
		for _, name := range []string{"one", "two", "three"} {
			flow := fx.apply(definition(name, "1.0.0")).ID
			if len(flows) < 3 {
				flows = append(flows, flow)
			}
			fx.pass(time.Millisecond)
			b, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: flow, Body: parse(t, `{"items":[{}]}`)})
			if err != nil {
				t.Fatal(err)
			}
			if b.Phase != "pending" {
				t.Errorf("a new batch is %s", b.Phase)
			}
			want = slices.Insert(want, 0, b.ID)
		}
	}
	list := func(p *Principal) (got []chargehand.BatchID) {
		var after Cursor
		for {
			page, err := fx.ListBatches(t.Context(), p, ListBatches{Limit: 4, After: after})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range page.Data {
				got = append(got, b.ID)
			}
			if after = page.Cursor; after.IsZero() {
				return got
			}
		}
	}
	if got := list(fx.p); !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	limited := fx.principal(chargehand.Live, PresetAll&^ScopeAdmin, flows[0], flows[2])
	few := slices.DeleteFunc(slices.Clone(want), func(id chargehand.BatchID) bool { return slices.Index(want, id)%3 == 1 })
	if got := list(limited); !slices.Equal(got, few) {
		t.Errorf("a limited key lists %v, want %v", got, few)
	}
	if got := list(fx.test); len(got) != 0 {
		t.Errorf("in test there are %v", got)
	}
	if got := list(fx.stranger()); len(got) != 0 {
		t.Errorf("another account has %v", got)
	}
	for _, p := range []*Principal{fx.test, fx.stranger(), fx.principal(chargehand.Live, PresetAll&^ScopeAdmin, flows[1])} {
		_, err := fx.WorkflowOfBatch(t.Context(), p, want[0])
		wantCode(t, err, chargehand.CodeBatchNotFound)
	}
	if flow, err := fx.WorkflowOfBatch(t.Context(), limited, want[0]); err != nil || flow != flows[2] {
		t.Errorf("the workflow of a batch is %s, %v", flow, err)
	}
	if _, _, err := fx.CancelBatch(t.Context(), fx.p, ChangeBatch{Workflow: flows[2], Batch: want[0]}); err != nil {
		t.Fatal(err)
	}
	if b, err := fx.GetBatch(t.Context(), fx.p, flows[2], want[0], view); err != nil || b.Phase != "cancelled" || b.Status != chargehand.BatchFailed {
		t.Errorf("a cancelled batch is %+v, %v", b, err)
	}
}

// TestListBatchesByLabel: a batch has all labels that are asked for, and what fits fills the pages.
func TestListBatchesByLabel(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0")).ID
	for _, labels := range []string{`{"n":"0","team":"blue"}`, `{"n":"1","team":"red"}`, `{}`, `{"n":"3","team":"blue","urgent":""}`, `{"n":"4","team":"blue"}`} {
		fx.pass(time.Millisecond)
		fx.createBatch(flow, `{"items":[{}],"labels":`+labels+`}`)
	}
	for want, labels := range map[string][]Label{
		"4 3 0": {{Name: "team", Value: "blue"}},
		"3":     {{Name: "team", Value: "blue"}, {Name: "urgent"}},
		"1":     {{Name: "team", Value: "red"}},
		"":      {{Name: "team", Value: "red"}, {Name: "team", Value: "blue"}},
	} {
		var got []string
		for q := (ListBatches{Labels: labels, Limit: 2}); ; {
			page, err := fx.ListBatches(t.Context(), fx.p, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range page.Data {
				got = append(got, b.Labels[0].Value)
			}
			if q.After = page.Cursor; q.After.IsZero() {
				break
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v: batches %q, want %q", labels, got, want)
		}
	}
	other := fx.apply(definition("other", "1.0.0")).ID
	if page, err := fx.ListBatches(t.Context(), fx.p, ListBatches{Workflow: other, Labels: []Label{{Name: "team", Value: "blue"}}, Limit: 2}); err != nil || len(page.Data) != 0 {
		t.Errorf("those of another workflow: %+v, %v", page, err)
	}
	page, err := fx.ListBatches(t.Context(), fx.p, ListBatches{Labels: []Label{{Name: "team", Value: "blue"}}, Phases: []string{"completed"}, Limit: 2})
	if err != nil || len(page.Data) != 0 {
		t.Errorf("completed ones: %+v, %v", page, err)
	}
}

// TestEvaluate: what an expression gets, and what is wrong with it, with its place.
func TestEvaluate(t *testing.T) {
	fx := newFixture(t)
	v, err := fx.Evaluate(t.Context(), fx.p, parse(t, `{"expression":"${ [.a, $input.a, $context.b, $i, $secrets] }","input":{"a":1},"context":{"b":2},"variables":{"i":3}}`))
	if list, _ := v.([]any); err != nil || len(list) != 5 || list[0] != 1 || list[1] != 1 || list[2] != 2 || list[3] != 3 || list[4] != nil {
		t.Errorf("evaluated to %v, %v", v, err)
	}
	for _, test := range []struct {
		body    string
		code    chargehand.Code
		pointer string
		line    int
	}{
		{`{}`, chargehand.CodeInvalidBody, "/expression", 0},
		{`{"expression":1}`, chargehand.CodeInvalidBody, "/expression", 0},
		{`{"expression":".","variables":[]}`, chargehand.CodeInvalidBody, "/variables", 0},
		{`{"expression":".","inputs":{}}`, chargehand.CodeUnknownField, "/inputs", 0},
		{`{"expression":"1 +\n )"}`, chargehand.CodeExpressionInvalid, "/expression", 2},
		{`{"expression":"$missing"}`, chargehand.CodeExpressionInvalid, "/expression", 1},
		{`{"expression":".a.b","input":{"a":1}}`, chargehand.CodeExpressionFailed, "/expression", 0},
		{`{"expression":"[range(1e9)]"}`, chargehand.CodeExpressionFailed, "/expression", 0},
	} {
		_, err := fx.Evaluate(t.Context(), fx.p, parse(t, test.body))
		shown := wantCode(t, err, test.code)
		wantPointers(t, shown, test.pointer)
		if shown.Fields[0].Line != test.line {
			t.Errorf("%s: line %d, want %d", test.body, shown.Fields[0].Line, test.line)
		}
	}
}
