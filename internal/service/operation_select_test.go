package service

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// TestOperationBodies: bodies that say nothing useful are refused, with the place.
func TestOperationBodies(t *testing.T) {
	fx := newFixture(t)
	id := newID[chargehand.ExecutionID](1).String()
	for body, pointers := range map[string][]string{
		`{}`:                              {"/action", "/filter"},
		`{"action": "end", "filter": {}}`: {"/action"},
		`{"action": 5, "filter": {}}`:     {"/action"},
		`{"action": "cancel", "filter": {}, "ids": ["` + id + `"]}`:              {"/ids"},
		`{"action": "cancel", "ids": []}`:                                        {"/ids"},
		`{"action": "cancel", "ids": "` + id + `"}`:                              {"/ids"},
		`{"action": "cancel", "ids": ["x", 5]}`:                                  {"/ids/1", "/ids/0"},
		`{"action": "cancel", "ids": ["` + id + `", "` + id + `"]}`:              {"/ids/1"},
		`{"action": "cancel", "ids": [` + strings.Repeat(`"a",`, 1000) + `"b"]}`: {"/ids"},
		`{"action": "retry", "filter": {}, "reason": "x"}`:                       {"/reason"},
		`{"action": "delete", "filter": {}, "version": "same"}`:                  {"/version"},
		`{"action": "retry", "filter": {}, "version": "1.0.0"}`:                  {"/version"},
		`{"action": "cancel", "filter": {}, "dry_run": "yes"}`:                   {"/dry_run"},
	} {
		_, _, err := fx.StartOperation(t.Context(), fx.p, StartOperation{Body: parse(t, body)})
		wantPointers(t, wantCode(t, err, chargehand.CodeInvalidBody), pointers...)
	}
	_, _, err := fx.StartOperation(t.Context(), fx.p, StartOperation{Body: parse(t, `{"action": "cancel", "filters": {}}`)})
	wantCode(t, err, chargehand.CodeUnknownField)
}

// TestOperationSelection: previews and operations select by random filters what lists with these filters show and the
// action can be done to, in parts of any size.
func TestOperationSelection(t *testing.T) {
	fx := newFixture(t)
	r := rand.New(rand.NewPCG(7, 3))
	all, workflows := fx.crowd(t, r)
	var batches []chargehand.BatchID
	if err := fx.rows.View(t.Context(), func(r *store.Reader) error {
		list, err := r.ListBatches(store.BatchFilter{Account: fx.p.AccountNo, Environment: chargehand.Live, Limit: 10})
		for i := range list {
			batches = append(batches, list[i].ID)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		q := ListExecutions{}
		some := func() bool { return r.IntN(4) == 0 }
		if some() {
			q.Statuses = []chargehand.Status{chargehand.Status(1 + r.IntN(5)), chargehand.Errored}
		}
		if some() {
			q.Filter.Workflows = workflows[:1+r.IntN(2)]
		}
		if some() {
			q.Filter.ErrorCodes = []string{"c1"}
		}
		if some() {
			q.Filter.Causes = []string{"api", "batch", "retry"}[r.IntN(3):]
		}
		if some() {
			q.Filter.Labels = []Label{{Name: "team", Value: fmt.Sprint("t", r.IntN(3))}}
		}
		if some() {
			q.Filter.Search = all[r.IntN(len(all))].ID.String()[:20]
		}
		if some() {
			q.Batch = batches[r.IntN(len(batches))]
		}
		action := store.OperationAction(1 + r.IntN(5))
		want, narrowed := fx.listed(t, q, action)
		fx.examined = []int{3, 17, 1000}[r.IntN(3)]
		stored, err := encodeFilter(&q)
		if err != nil {
			t.Fatal(err)
		}
		l, err := selectionOf(&store.Operation{ID: newID[chargehand.OperationID](fx.nowMs()), Action: action, Filter: stored})
		if err != nil {
			t.Fatal(err)
		}
		var got []chargehand.ExecutionID
		for page := (selectedPage{}); !page.last; {
			err := fx.rows.View(t.Context(), func(rd *store.Reader) (err error) {
				page, err = l.page(fx.Service, rd, fx.p, page.reached, 1+r.IntN(9))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page.ids...)
		}
		slices.SortFunc(got, func(a, b chargehand.ExecutionID) int { return strings.Compare(a.String(), b.String()) })
		if !slices.Equal(got, want) {
			t.Fatalf("filter %d, %s of %s (%+v), examined %d: %d were selected, want %d", i, operationActions[action], stored, narrowed, fx.examined, len(got), len(want))
		}
		fx.examined = 1000
		preview, err := fx.PreviewOperation(t.Context(), fx.p, StartOperation{Body: map[string]any{"action": operationActions[action], "filter": map[string]any{}}, Filter: &q})
		if err != nil || preview.Count != int64(len(want)) || preview.AtLeast {
			t.Fatalf("the preview is %+v, %v, want %d", preview, err, len(want))
		}
	}
}

// listed are the executions that a list shows and an action can be done to, by their ids.
func (fx *fixture) listed(t *testing.T, q ListExecutions, action store.OperationAction) (ids []chargehand.ExecutionID, narrowed ListExecutions) {
	t.Helper()
	fx.examined = maxExamined
	narrowed = q
	if !narrowFor(action, &narrowed) {
		return nil, narrowed
	}
	narrowed.Limit = 100
	for {
		page, err := fx.ListExecutions(t.Context(), fx.p, narrowed)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Data {
			ids = append(ids, e.ID)
		}
		if narrowed.After = page.Cursor; page.Cursor.IsZero() {
			break
		}
	}
	slices.SortFunc(ids, func(a, b chargehand.ExecutionID) int { return strings.Compare(a.String(), b.String()) })
	return ids, narrowed
}

// TestOperationFiltersAreStored: a filter of lists that is not in the stored form would select too much.
func TestOperationFiltersAreStored(t *testing.T) {
	q := ListExecutions{Statuses: []chargehand.Status{chargehand.Errored}, Phases: []chargehand.Phase{chargehand.Faulted}, Batch: chargehand.BatchID{1},
		CreatedAfter: epoch, CreatedBefore: epoch.Add(time.Hour)}
	f := reflect.ValueOf(&q.Filter).Elem()
	for i := range f.NumField() {
		switch v := f.Field(i).Addr().Interface().(type) {
		case *[]string:
			*v = []string{"a", "b"}
		case *[]chargehand.WorkflowID:
			*v = []chargehand.WorkflowID{{2}, {3}}
		case *[]Label:
			*v = []Label{{Name: "team", Value: "a:b"}, {Name: "x", Value: ""}}
		case *chargehand.ExecutionID:
			*v = chargehand.ExecutionID{byte(i + 1)}
		case **FailureMark:
			*v = &FailureMark{reference: "/do/0/a", hash: -5}
		case *int64:
			*v = int64(i)
		case *string:
			*v = "text"
		case *bool: // the order of a list
		default:
			t.Fatalf("%s has a kind that this test does not know", f.Type().Field(i).Name)
		}
	}
	stored, err := encodeFilter(&q)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeFilter(stored)
	if err != nil || !reflect.DeepEqual(got, q) {
		t.Errorf("%+v was stored as %s and read as %+v, %v", q, stored, got, err)
	}
}
