package api

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/service"
)

// TestOperationFilters: the filter of an operation is that of a list: the same names, forms and complaints.
func TestOperationFilters(t *testing.T) {
	var names, documented []string
	for _, p := range slices.Concat(executionFilters, workflowFilters) {
		names = append(names, p.name)
	}
	form := reflect.TypeFor[operationFilter]()
	for i := range form.NumField() {
		name, _, _ := strings.Cut(form.Field(i).Tag.Get("json"), ",")
		documented = append(documented, name)
	}
	slices.Sort(names)
	slices.Sort(documented)
	if !slices.Equal(names, documented) {
		t.Errorf("lists have the filters %v, operations %v", names, documented)
	}
	var got *service.ListExecutions
	s := newServer(t, &fake{operated: func(r service.StartOperation) { got = r.Filter }})
	ask := func(filter string) answered {
		got = nil
		return request{method: "POST", path: "/api/v1/operations", body: `{"action":"cancel","filter":` + filter + `}`}.to(s)
	}
	a := ask(`{"status":"error","phase":["faulted","cancelled"],"label":["team:blue","a:b:c"],"min_duration_ms":50,"q":"x","created_after":"2026-01-31T09:30:00.5Z","workflow":"shop/order"}`)
	if a.status != 202 || got == nil || len(got.Statuses) != 1 || len(got.Phases) != 2 || len(got.Filter.Labels) != 2 || got.Filter.MinDurationMs != 50 ||
		got.Filter.Search != "x" || got.CreatedAfter.IsZero() || !slices.Equal(got.Filter.WorkflowNames, []string{"shop/order"}) {
		t.Errorf("%d: %+v", a.status, got)
	}
	if a = ask(`{}`); a.status != 202 || got == nil {
		t.Errorf("an empty filter: %d, %v", a.status, got)
	}
	many := `"` + strings.Repeat(`a","`, maxValues) + `b"`
	none := "00000000-0000-0000-0000-000000000000" // it would stand for no filter
	for filter, pointers := range map[string][]string{
		`null`: {"/filter"}, `[]`: {"/filter"}, `"status=error"`: {"/filter"},
		`{"status":["error","none"]}`: {"/filter/status/1"}, `{"status":"none"}`: {"/filter/status"}, `{"status":[]}`: {"/filter/status"},
		`{"status":{"error":true}}`: {"/filter/status"}, `{"status":[["error"]]}`: {"/filter/status/0"}, `{"status":null}`: {"/filter/status"},
		`{"q":["a","b"]}`: {"/filter/q"}, `{"q":""}`: {"/filter/q"}, `{"q":5}`: {"/filter/q"}, `{"q":"a\u0000b"}`: {"/filter/q"},
		`{"min_duration_ms":"5"}`: {"/filter/min_duration_ms"}, `{"min_duration_ms":-1}`: {"/filter/min_duration_ms"}, `{"min_duration_ms":1.5}`: {"/filter/min_duration_ms"},
		`{"batch_id":"b"}`: {"/filter/batch_id"}, `{"batch_id":"` + none + `"}`: {"/filter/batch_id"}, `{"root_id":"` + none + `"}`: {"/filter/root_id"},
		`{"retry_of":"` + none + `"}`: {"/filter/retry_of"}, `{"workflow_id":["` + none + `"]}`: {"/filter/workflow_id/0"},
		`{"label":["team"]}`: {"/filter/label/0"}, `{"created_after":"today"}`: {"/filter/created_after"},
		`{"version":[` + many + `]}`: {"/filter/version"}, `{"stauts":"error"}`: {"/filter/stauts"}, `{"sort":"created"}`: {"/filter/sort"}, `{"a/b":1}`: {"/filter/a~1b"},
		`{"phase":"x","cause":"y","limit":1}`: {"/filter/phase", "/filter/cause", "/filter/limit"},
	} {
		code := "invalid_body"
		if strings.Contains(filter, "stauts") || strings.Contains(filter, "sort") || strings.Contains(filter, "a/b") {
			code = "unknown_field"
		}
		if at := locations(wantProblem(t, ask(filter), 400, code)); got != nil || !slices.Equal(at, pointers) {
			t.Errorf("%s: wrong at %v, want %v", filter, at, pointers)
		}
	}
}
