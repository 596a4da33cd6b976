package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/store"
)

// TestUnknownAssignees: the answer to a definition that is applied or checked says, with the position, which of the
// users and groups that its human tasks name the account does not have. An expression is known later, and nothing is
// refused.
func TestUnknownAssignees(t *testing.T) {
	fx := newHumanFixture(t)
	ada, gone := fx.member("ada", store.Grant{Role: "participant"}), fx.member("gone")
	fx.join("Finance", ada)
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.SetMemberStatus(gone.No, store.Active, store.Disabled) }); err != nil {
		t.Fatal(err)
	}
	other := fx.stranger()
	source := `document: {dsl: '1.0.3', namespace: test, name: asks-them, version: '1.0.0'}
do:
  - ask:
      call: human:1.0.0@default
      with:
        title: Look
        assignees:
          users: [ada@example.org, ` + ada.Person.ID.String() + `, unknown@example.org, '${ .who }']
          groups: [finance, Sales]
          exclude: [gone@example.org]
`
	want := func(p *Principal, positions ...string) {
		t.Helper()
		v, err := fx.ValidateWorkflow(t.Context(), p, []byte(source))
		if err != nil || !v.Valid {
			t.Fatalf("%+v, %v", v, err)
		}
		applied := fx.applyAs(p, []byte(source), false)
		for what, warnings := range map[string][]string{"check": positions, "apply": positions} {
			found := v.Warnings
			if what == "apply" {
				found = applied.Warnings
			}
			var got []string
			for _, w := range found {
				if w.Code == "assignee_unknown" {
					got = append(got, fmt.Sprintf("%s %d:%d", strings.TrimPrefix(w.Pointer, "/do/0/ask/with/assignees/"), w.Line, w.Column))
				}
			}
			if !slices.Equal(got, warnings) {
				t.Errorf("%s warns at %q, want %q", what, got, warnings)
			}
		}
	}
	want(fx.p, "users/2 8:74", "groups/1 9:29", "exclude/0 10:21")
	want(other, "users/0 8:19", "users/1 8:36", "users/2 8:74", "groups/0 9:20", "groups/1 9:29", "exclude/0 10:21")
}

// TestTimelineOfUnknownAssignees: the entry of a task that waits says which of the people and groups the account does
// not have now, also where an expression has named them.
func TestTimelineOfUnknownAssignees(t *testing.T) {
	fx := newHumanFixture(t)
	ada, gone := fx.member("ada", store.Grant{Role: "participant"}), fx.member("gone")
	fx.join("Finance", ada)
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.SetMemberStatus(gone.No, store.Active, store.Disabled) }); err != nil {
		t.Fatal(err)
	}
	users := []any{"ADA@example.org", ada.Person.ID.String(), "unknown@example.org", "gone@example.org"}
	id := fx.open(map[string]any{"assignees": people(users, []any{"finance", "Sales"}, []any{"else@example.org"})})
	_, fx.engine.lines = timelineOf(t, "document: {dsl: '1.0.3', namespace: test, name: asks, version: '1.0.0'}\ndo: [{ask: {call: 'human:1.0.0@default', with: {title: Look}}}]\n", nil)
	list := ListTimeline{Workflow: fx.e.Workflow, Execution: fx.e.ID, Limit: 10, View: view}
	unknown := func() []string {
		t.Helper()
		page, err := fx.Timeline(t.Context(), fx.p, list)
		if err != nil || len(page.Data) != 1 || page.Data[0].WaitingFor == nil || page.Data[0].WaitingFor.Kind != "person" {
			t.Fatalf("%+v, %v", page, err)
		}
		return page.Data[0].WaitingFor.Unknown
	}
	if got := unknown(); got != nil { // the row of the task may come a moment later
		t.Errorf("without a row: %q", got)
	}
	fx.engine.lines[0].Wait.Task = id
	if got := unknown(); !slices.Equal(got, []string{"unknown@example.org", "gone@example.org", "Sales"}) {
		t.Errorf("unknown are %q", got)
	}
	fx.join("SALES", ada)
	fx.member("unknown")
	if got := unknown(); !slices.Equal(got, []string{"gone@example.org"}) {
		t.Errorf("when some are known: %q", got)
	}
}
