package api

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/store"
)

// TestBulkAnswerFilters: the filter of an answer to many tasks is that of their list.
func TestBulkAnswerFilters(t *testing.T) {
	var names, documented []string
	for _, p := range humanTaskSelection {
		names = append(names, p.name)
	}
	form := reflect.TypeFor[taskSelection]()
	for i := range form.NumField() {
		name, _, _ := strings.Cut(form.Field(i).Tag.Get("json"), ",")
		documented = append(documented, name)
	}
	slices.Sort(names)
	slices.Sort(documented)
	if !slices.Equal(names, documented) {
		t.Errorf("lists have the filters %v, answers to many %v", names, documented)
	}
	service := &fake{}
	s := newServer(t, service)
	ask := func(filter string) answered {
		service.bulk = nil
		return request{method: "POST", path: "/api/v1/human-tasks/answer", body: `{"outcome":"done","filter":` + filter + `}`}.to(s)
	}
	a := ask(`{"status":["open","claimed"],"assignee":"my-groups","overdue":true,"unassigned":false,"q":"x"}`)
	got := service.bulk
	if a.status != 200 || got == nil || !slices.Equal(got.Statuses, []store.TaskStatus{store.TaskOpen, store.TaskClaimed}) || got.Assignee != "my-groups" ||
		!got.Overdue || got.Unassigned || got.Search != "x" {
		t.Errorf("%d: %+v", a.status, got)
	}
	if a = ask(`{}`); a.status != 200 || service.bulk == nil {
		t.Errorf("an empty filter: %d, %v", a.status, service.bulk)
	}
	if a = (request{method: "POST", path: "/api/v1/human-tasks/answer", body: `{"outcome":"done","ids":["x"]}`}).to(s); a.status != 200 || service.bulk != nil {
		t.Errorf("without a filter: %d, %v", a.status, service.bulk)
	}
	for filter, pointers := range map[string][]string{
		`null`: {"/filter"}, `[]`: {"/filter"}, `{"status":["open","none"]}`: {"/filter/status/1"}, `{"overdue":"true"}`: {"/filter/overdue"},
		`{"overdue":1}`: {"/filter/overdue"}, `{"q":""}`: {"/filter/q"}, `{"workflow_id":"w"}`: {"/filter/workflow_id"},
		`{"sort":"due"}`: {"/filter/sort"}, `{"answered_by":"me"}`: {"/filter/answered_by"}, `{"limit":1}`: {"/filter/limit"},
	} {
		code := "invalid_body"
		if strings.Contains(filter, "sort") || strings.Contains(filter, "answered_by") || strings.Contains(filter, "limit") {
			code = "unknown_field"
		}
		if at := locations(wantProblem(t, ask(filter), 400, code)); service.bulk != nil || !slices.Equal(at, pointers) {
			t.Errorf("%s: %v, want %v", filter, at, pointers)
		}
	}
}
