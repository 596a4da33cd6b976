package service

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestListedInputs: a page ends where its inputs are too much for one answer, and the next one continues there.
func TestListedInputs(t *testing.T) {
	fx := newFixture(t)
	w := fx.apply(definition("one", "1.0.0"))
	large := strings.Repeat("x", 400)
	var want []string
	for i := range 7 {
		text := large
		if i == 3 { // more than a page has
			text = large + large + large
		}
		fx.clock.Add(int64(time.Millisecond)) // ids in the order of creation
		want = append(want, fx.create(w.ID, map[string]any{"a": text}).ID.String())
	}
	slices.Reverse(want)
	fx.inputs = 1000
	for _, ascending := range []bool{false, true} {
		var got []string
		var pages []int
		q := ListExecutions{Limit: 5, Inputs: true, Filter: ExecutionFilter{Ascending: ascending}}
		for {
			page, err := fx.ListExecutions(t.Context(), fx.p, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Data {
				if got = append(got, e.ID.String()); len(e.Input) < 400 {
					t.Errorf("the input is %s", e.Input)
				}
			}
			pages = append(pages, len(page.Data))
			if page.Cursor == (Cursor{}) {
				break
			}
			q.After = page.Cursor
		}
		if !slices.Equal(got, want) || !slices.Equal(pages, []int{2, 1, 1, 2, 1}) {
			t.Errorf("pages of %v:\n%v\nwanted:\n%v", pages, got, want)
		}
		slices.Reverse(want)
	}
}
