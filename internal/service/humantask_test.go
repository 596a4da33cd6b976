package service

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// humanFixture has an execution whose human tasks a test opens.
type humanFixture struct {
	*fixture
	e       *Execution
	command uint64
}

func newHumanFixture(t *testing.T) *humanFixture {
	fx := newFixture(t)
	return &humanFixture{fixture: fx, e: fx.create(fx.apply(definition("asks", "1.0.0")).ID, nil)}
}

// open opens a task with a request.
func (fx *humanFixture) open(request map[string]any) chargehand.HumanTaskID {
	fx.t.Helper()
	fx.command++
	if request == nil {
		request = map[string]any{}
	}
	if request["title"] == nil {
		request["title"] = fmt.Sprintf("Task %d", fx.command)
	}
	c := machine.Command{
		Kind: machine.OpenTask, ID: machine.CommandID(fx.command), Args: value.Value(request), Reference: "/do/0/ask", Seq: 1,
		Task: newID[chargehand.HumanTaskID](fx.nowMs()),
	}
	err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error {
		row, err := tx.FindExecution(fx.e.ID)
		if err != nil {
			return err
		}
		task := engine.OpenTask(&row, &c, fx.nowMs(), nil)
		return tx.OpenTask(&task.Row, task.Candidates, task.RemindMs...)
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return c.Task
}

func (fx *humanFixture) answer(p *Principal, id chargehand.HumanTaskID, body map[string]any) error {
	if body["outcome"] == nil {
		body["outcome"] = "done"
	}
	_, _, err := fx.AnswerHumanTask(fx.t.Context(), p, AnswerHumanTask{Task: id, Body: body})
	return err
}

// titles lists what a principal finds.
func (fx *humanFixture) titles(p *Principal, q ListHumanTasks) (titles []string) {
	fx.t.Helper()
	q.Limit = 2
	for {
		page, err := fx.ListHumanTasks(fx.t.Context(), p, q)
		if err != nil {
			fx.t.Fatal(err)
		}
		for i := range page.Data {
			titles = append(titles, page.Data[i].Title)
		}
		if page.Cursor.IsZero() {
			return titles
		}
		q.After = page.Cursor
	}
}

// join makes a group with one member.
func (fx *humanFixture) join(name string, m store.Member) {
	fx.t.Helper()
	g := store.Group{ID: newID[chargehand.GroupID](fx.nowMs()), Account: fx.account.No, Name: name, NameKey: strings.ToLower(name), CreatedMs: fx.nowMs()}
	err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.InsertGroup(&g), tx.JoinGroup(&g, m.Person.No))
	})
	if err != nil {
		fx.t.Fatal(err)
	}
}

func people(users, groups, exclude []any) map[string]any {
	return map[string]any{"users": users, "groups": groups, "exclude": exclude}
}

func TestAnswerAHumanTask(t *testing.T) {
	fx := newHumanFixture(t)
	form := map[string]any{"type": "object", "required": []any{"total"}, "properties": map[string]any{"total": map[string]any{"type": "number"}}}
	id := fx.open(map[string]any{"form": form, "outcomes": []any{"approve", "reject"}, "instructions": "Check *it*.", "due": "PT1H"})
	for _, c := range []struct {
		body    map[string]any
		pointer string
	}{
		{map[string]any{"outcome": "aprove", "data": map[string]any{"total": 1}}, "/outcome"},
		{map[string]any{"outcome": "approve", "data": map[string]any{}}, "/data/total"},
		{map[string]any{"outcome": "approve", "data": map[string]any{"total": "1"}}, "/data/total"},
		{map[string]any{"outcome": "approve", "data": map[string]any{"total": 1}, "files": []any{"x"}}, "/files"},
	} {
		wantPointers(t, wantCode(t, fx.answer(fx.p, id, c.body), chargehand.CodeAnswerInvalid), c.pointer)
	}
	// Who shows what is wrong shows it at the field, whose name is not said twice; the error as a whole has no field.
	for data, want := range map[string][2]string{
		`{"total": -1}`: {`the property "total" (Sum) must be at least 0, but is -1.`, "must be at least 0, but is -1."},
		`{}`:            {`the property "total" (Sum) is missing.`, "is missing."},
	} {
		id := fx.open(map[string]any{"form": parse(t, `{"type": "object", "required": ["total"], "properties": {"total": {"title": "Sum", "type": "number", "minimum": 0}}}`), "outcomes": []any{"approve"}})
		err := wantCode(t, fx.answer(fx.p, id, map[string]any{"outcome": "approve", "data": parse(t, data)}), chargehand.CodeAnswerInvalid)
		wantPointers(t, err, "/data/total")
		if err.Detail != want[0] || err.Fields[0].Detail != want[1] {
			t.Errorf("%s: %q and %q, want %q", data, err.Detail, err.Fields[0].Detail, want)
		}
	}
	shown, err := fx.GetHumanTask(t.Context(), fx.p, id)
	if err != nil || shown.Status != "open" || !shown.DueAt.Equal(epoch.Add(time.Hour)) || len(shown.Full.Outline) != 1 || !strings.Contains(shown.Full.InstructionsHTML, "<em>") {
		t.Fatalf("task %+v, %v", shown, err)
	}
	good := map[string]any{"outcome": "approve", "data": map[string]any{"total": 1}, "comment": "fine"}
	for range 2 { // the same again changes nothing
		if err := fx.answer(fx.p, id, good); err != nil {
			t.Fatal(err)
		}
		fx.pass(time.Minute)
	}
	shown, err = fx.GetHumanTask(t.Context(), fx.p, id)
	a := shown.Full.Answer
	if err != nil || shown.Status != "answered" || a == nil || a.Outcome != "approve" || a.Comment != "fine" || a.At != "2026-03-01T12:00:00.000Z" || !shown.Full.Used {
		t.Fatalf("task %+v, answer %+v, %v", shown, a, err)
	}
	wantCode(t, fx.answer(fx.p, id, map[string]any{"outcome": "reject", "data": map[string]any{"total": 1}}), chargehand.CodeAnswerConflict)
	wantCode(t, fx.answer(fx.p, id, map[string]any{"outcome": "none"}), chargehand.CodeAnswerConflict)
	other := fx.as("other", "operator")
	wantCode(t, fx.answer(other, id, good), chargehand.CodeAnswerConflict)

	id = fx.open(map[string]any{})
	wantPointers(t, wantCode(t, fx.answer(fx.p, id, map[string]any{"data": 1}), chargehand.CodeAnswerInvalid), "/data")
	err = fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		row, err := tx.HumanTaskByID(fx.account.No, chargehand.Live, id)
		if err == nil {
			_, err = tx.WithdrawTask(row.Execution, row.Command, uint8(machine.WithdrawnTimeout), fx.nowMs())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, fx.answer(fx.p, id, map[string]any{}), chargehand.CodeTaskWithdrawn)
	wantCode(t, fx.answer(fx.p, id, map[string]any{"outcome": "none"}), chargehand.CodeTaskWithdrawn)
	if shown, err := fx.GetHumanTask(t.Context(), fx.p, id); err != nil || shown.Withdrawn != "timeout" {
		t.Errorf("withdrawn task %+v, %v", shown, err)
	}
	wantCode(t, fx.answer(fx.stranger(), id, map[string]any{}), chargehand.CodeHumanTaskNotFound)
	wantCode(t, fx.answer(fx.test, id, map[string]any{}), chargehand.CodeHumanTaskNotFound)
}

// Four eyes are the eyes of two persons: no second key, bot or alias gets round an exclusion.
func TestWhoMayAnswer(t *testing.T) {
	fx := newHumanFixture(t)
	ada := fx.member("ada", store.Grant{Role: "operator"})
	bob := fx.member("bob", store.Grant{Role: "participant"})
	asAda, asBob := fx.session(fx.signIn(ada), chargehand.Live), fx.session(fx.signIn(bob), chargehand.Live)
	fx.join("Finance", bob)
	personal := *asAda // a personal key of ada
	personal.Session, personal.SessionNo, personal.Key, personal.KeyNo = chargehand.SessionID{}, 0, newID[chargehand.KeyID](fx.nowMs()), 77
	bot := fx.p
	impersonates := *fx.p
	impersonates.Scopes |= ScopeTasksImpersonate
	made := store.Key{
		ID: newID[chargehand.KeyID](fx.nowMs()), Account: fx.account.No, Environment: chargehand.Live, Name: "bot of ada", Scopes: "tasks:impersonate",
		Hash: []byte(strings.Repeat("h", 32)), Creator: ada.Person.ID.String(),
	}
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertKey(&made) }); err != nil {
		t.Fatal(err)
	}
	ofAda := impersonates
	ofAda.Key, ofAda.KeyNo = made.ID, made.No
	next := made // made by the key that ada has made
	next.No, next.ID, next.Hash, next.Creator = 0, newID[chargehand.KeyID](fx.nowMs()), []byte(strings.Repeat("i", 32)), made.ID.String()
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertKey(&next) }); err != nil {
		t.Fatal(err)
	}
	ofKey := impersonates
	ofKey.Key, ofKey.KeyNo = next.ID, next.No
	turned := made // made by bob, and rotated by ada
	turned.No, turned.ID, turned.Hash, turned.Creator = 0, newID[chargehand.KeyID](fx.nowMs()), []byte(strings.Repeat("j", 32)), bob.Person.ID.String()
	turned.Scopes = "tasks:respond"
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertKey(&turned) }); err != nil {
		t.Fatal(err)
	}
	admin := *fx.p // an admin, as the person ada
	admin.PersonNo, admin.User = ada.Person.No, ada.Person.ID
	fx.rotate(&admin, turned.ID, "{}")
	rotated := impersonates
	rotated.Key, rotated.KeyNo = turned.ID, turned.No
	by := map[string]any{"id": ada.Person.ID.String(), "name": "ada", "via": map[string]any{"kind": "session", "id": "x"}}
	for name, c := range map[string]struct {
		who       *Principal
		assignees map[string]any
		behalf    string
		want      chargehand.Code // empty: may
	}{
		"free, by a person": {asBob, nil, "", ""},
		"free, by a bot":    {bot, nil, "", ""},
		"by e-mail":         {asBob, people([]any{"BOB@Example.org"}, nil, nil), "", ""},
		"by id":             {asBob, people([]any{bob.Person.ID.String()}, nil, nil), "", ""},
		"by group":          {asBob, people(nil, []any{"FINANCE"}, nil), "", ""},
		"of another group":  {asAda, people(nil, []any{"finance"}, nil), "", chargehand.CodeNotAssigned},
		"another person's":  {asAda, people([]any{"bob@example.org"}, nil, nil), "", chargehand.CodeNotAssigned},
		"another person's, that a participant sees not": {asBob, people([]any{"ada@example.org"}, nil, nil), "", chargehand.CodeHumanTaskNotFound},
		"a person's, by a bot":                          {bot, people([]any{"bob@example.org"}, nil, nil), "", chargehand.CodeNotAssigned},
		"excluded by e-mail":                            {asAda, people(nil, nil, []any{"Ada@example.org"}), "", chargehand.CodeExcluded},
		"excluded by id":                                {asAda, people(nil, nil, []any{ada.Person.ID.String()}), "", chargehand.CodeExcluded},
		"excluded by an answer":                         {asAda, people(nil, nil, []any{by}), "", chargehand.CodeExcluded},
		"excluded, with a personal key":                 {&personal, people(nil, nil, []any{by}), "", chargehand.CodeExcluded},
		"excluded although assigned":                    {asAda, people([]any{"ada@example.org"}, nil, []any{by}), "", chargehand.CodeExcluded},
		"others are excluded":                           {asAda, people(nil, nil, []any{"bob@example.org"}), "", ""},
		"others are excluded, by a bot":                 {bot, people(nil, nil, []any{"bob@example.org"}), "", chargehand.CodeNotAssigned},
		"on behalf without the scope":                   {bot, people([]any{"bob@example.org"}, nil, nil), "bob@example.org", chargehand.CodeInsufficientScope},
		"on behalf by a person":                         {asAda, people([]any{"bob@example.org"}, nil, nil), "bob@example.org", chargehand.CodeInsufficientScope},
		"on behalf of an assignee":                      {&impersonates, people([]any{"bob@example.org"}, nil, nil), "bob@example.org", ""},
		"on behalf of an assignee's group":              {&impersonates, people(nil, []any{"finance"}, nil), "bob@example.org", ""},
		"on behalf of an assignee without account":      {&impersonates, people([]any{"eve@example.org"}, nil, nil), "eve@example.org", ""},
		"on behalf of another":                          {&impersonates, people([]any{"bob@example.org"}, nil, nil), "ada@example.org", chargehand.CodeNotAssigned},
		"on behalf of one who is excluded":              {&impersonates, people(nil, nil, []any{by}), "ada@example.org", chargehand.CodeExcluded},
		"by a key that the excluded one has made":       {&ofAda, people(nil, nil, []any{by}), "bob@example.org", chargehand.CodeExcluded},
		"by a key that a key of the excluded one made":  {&ofKey, people(nil, nil, []any{by}), "bob@example.org", chargehand.CodeExcluded},
		"by a key that the excluded one has rotated":    {&rotated, people(nil, nil, []any{by}), "eve@example.org", chargehand.CodeExcluded},
		"by that key, while its maker is excluded":      {&rotated, people(nil, nil, []any{"bob@example.org"}), "eve@example.org", chargehand.CodeExcluded},
		"by that key, while no maker is excluded":       {&rotated, people(nil, nil, []any{"eva@example.org"}), "eve@example.org", ""},
		"by that key, while another one is excluded":    {&ofKey, people(nil, nil, []any{"eve@example.org"}), "bob@example.org", ""},
		"the same, excluded by e-mail":                  {&ofAda, people(nil, nil, []any{"ada@example.org"}), "bob@example.org", chargehand.CodeExcluded},
	} {
		t.Run(name, func(t *testing.T) {
			request := map[string]any{}
			if c.assignees != nil {
				request["assignees"] = c.assignees
			}
			id := fx.open(request)
			body := map[string]any{}
			if c.behalf != "" {
				body["on_behalf_of"] = c.behalf
			} else if shown, err := fx.GetHumanTask(t.Context(), c.who, id); c.want != chargehand.CodeHumanTaskNotFound && (err != nil || shown.Refused != c.want) {
				t.Errorf("read as refused for %q, want %q (%v)", shown.Refused, c.want, err)
			}
			err := fx.answer(c.who, id, body)
			if c.want != "" {
				wantCode(t, err, c.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			shown, err := fx.GetHumanTask(t.Context(), fx.p, id)
			if err != nil || shown.Full.Answer == nil {
				t.Fatalf("%+v, %v", shown, err)
			}
			if c.behalf == "bob@example.org" && shown.Full.Answer.By.ID != bob.Person.ID.String() {
				t.Errorf("answered by %+v", shown.Full.Answer.By)
			}
		})
	}
}

// TestClaimsEndWithTheUser: what a user has claimed is open again once the user is disabled, or removed.
func TestClaimsEndWithTheUser(t *testing.T) {
	fx := newHumanFixture(t)
	ada, bob, admin := fx.as("ada", "participant"), fx.as("bob", "participant"), fx.as("root", "admin")
	for end, id := range map[*Principal]chargehand.HumanTaskID{ada: fx.open(map[string]any{}), bob: fx.open(map[string]any{})} {
		if _, err := fx.ClaimHumanTask(t.Context(), end, id, nil); err != nil {
			t.Fatal(err)
		}
		var err error
		if end == ada {
			_, err = fx.PatchUser(t.Context(), admin, ada.User, map[string]any{"status": "disabled"})
		} else {
			err = fx.RemoveUser(t.Context(), admin, bob.User)
		}
		if err != nil {
			t.Fatal(err)
		}
		if shown, err := fx.GetHumanTask(t.Context(), admin, id); err != nil || shown.Status != "open" || shown.ClaimedBy != (Actor{}) {
			t.Errorf("the task is %s of %+v, %v", shown.Status, shown.ClaimedBy, err)
		}
	}
}

func TestClaimsOfHumanTasks(t *testing.T) {
	fx := newHumanFixture(t)
	ada, bob, boss := fx.as("ada", "participant"), fx.as("bob", "participant"), fx.as("boss", "operator")
	id := fx.open(map[string]any{})
	claim := func(p *Principal, force bool) error {
		_, err := fx.ClaimHumanTask(t.Context(), p, id, map[string]any{"force": force})
		return err
	}
	if err := errors.Join(claim(ada, false), claim(ada, false)); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[*Principal]chargehand.Code{ada: "", bob: chargehand.CodeClaimedByOther, fx.as("vera", "viewer"): chargehand.CodeInsufficientScope} {
		shown, err := fx.GetHumanTask(t.Context(), p, id)
		page, listed := fx.ListHumanTasks(t.Context(), p, ListHumanTasks{Limit: 1})
		if err != nil || listed != nil || shown.Refused != want || page.Data[0].Refused != want {
			t.Errorf("refused for %q, want %q (%v, %v)", shown.Refused, want, err, listed)
		}
	}
	wantCode(t, claim(bob, false), chargehand.CodeClaimedByOther)
	wantCode(t, claim(bob, true), chargehand.CodeInsufficientScope)
	wantCode(t, fx.answer(bob, id, map[string]any{}), chargehand.CodeClaimedByOther)
	_, err := fx.ReleaseHumanTask(t.Context(), bob, id, nil)
	wantCode(t, err, chargehand.CodeClaimedByOther)
	if shown, err := fx.ReleaseHumanTask(t.Context(), boss, id, map[string]any{"force": true}); err != nil || shown.Status != "open" {
		t.Fatalf("%+v, %v", shown, err)
	}
	if err := claim(bob, false); err != nil {
		t.Fatal(err)
	}
	if err := claim(boss, true); err != nil {
		t.Fatal(err)
	}
	_, err = fx.ReassignHumanTask(t.Context(), bob, id, map[string]any{"users": []any{"bob@example.org"}})
	wantCode(t, err, chargehand.CodeInsufficientScope)
	_, err = fx.ReassignHumanTask(t.Context(), boss, id, map[string]any{})
	wantCode(t, err, chargehand.CodeInvalidBody)
	shown, err := fx.ReassignHumanTask(t.Context(), boss, id, map[string]any{"users": []any{"bob@example.org"}})
	if err != nil || shown.Status != "open" || !slices.Equal(shown.Assignees.Users, []string{"bob@example.org"}) {
		t.Fatalf("%+v, %v", shown, err)
	}
	_, err = fx.GetHumanTask(t.Context(), ada, id)
	wantCode(t, err, chargehand.CodeHumanTaskNotFound)
	if err := fx.answer(bob, id, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, claim(boss, true), chargehand.CodeStateConflict)
	if shown, _, err := fx.CommentHumanTask(t.Context(), bob, id, map[string]any{"text": "done"}, nil); err != nil || len(shown.Full.Comments) != 1 || shown.Full.Comments[0].By.Name != "bob" {
		t.Errorf("%+v, %v", shown.Full, err)
	}
}

func TestListsOfHumanTasks(t *testing.T) {
	fx := newHumanFixture(t)
	ada, viewer := fx.as("ada", "participant"), fx.as("vera", "viewer")
	fx.open(map[string]any{"title": "of ada", "assignees": people([]any{"ada@example.org"}, nil, nil), "due": "PT3H", "priority": 10})
	fx.open(map[string]any{"title": "of bob", "assignees": people([]any{"bob@example.org"}, nil, nil), "due": "PT1H", "priority": 90})
	fx.open(map[string]any{"title": "free one", "due": "PT2H"})
	fx.open(map[string]any{"title": "another free one"})
	answered := fx.open(map[string]any{"title": "answered"})
	if err := fx.answer(ada, answered, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		who  *Principal
		q    ListHumanTasks
		want []string
	}{
		"all":                {viewer, ListHumanTasks{}, []string{"of bob", "free one", "of ada", "another free one"}},
		"by a key":           {fx.p, ListHumanTasks{}, []string{"of bob", "free one", "of ada", "another free one"}},
		"newest first":       {viewer, ListHumanTasks{Sort: store.SortCreated}, []string{"another free one", "free one", "of bob", "of ada"}},
		"by priority":        {viewer, ListHumanTasks{Sort: store.SortPriority}, []string{"of bob", "free one", "another free one", "of ada"}},
		"of a participant":   {ada, ListHumanTasks{}, []string{"free one", "of ada", "another free one"}},
		"mine":               {ada, ListHumanTasks{Assignee: "me"}, []string{"of ada"}},
		"of a person":        {viewer, ListHumanTasks{Assignee: "bob@example.org"}, []string{"of bob"}},
		"of others, hidden":  {ada, ListHumanTasks{Assignee: "bob@example.org"}, nil},
		"unassigned":         {viewer, ListHumanTasks{Unassigned: true}, []string{"free one", "another free one"}},
		"by text":            {viewer, ListHumanTasks{Search: "FREE"}, []string{"free one", "another free one"}},
		"answered by me":     {ada, ListHumanTasks{AnsweredBy: "me", Sort: store.SortCreated}, []string{"answered"}},
		"answered by others": {viewer, ListHumanTasks{AnsweredBy: "me", Sort: store.SortCreated}, nil},
		"answered":           {viewer, ListHumanTasks{Statuses: []store.TaskStatus{store.TaskAnswered}, Sort: store.SortCreated}, []string{"answered"}},
		"of the execution":   {viewer, ListHumanTasks{Execution: fx.e.ID, Search: "ada"}, []string{"of ada"}},
		"of none":            {viewer, ListHumanTasks{Execution: newID[chargehand.ExecutionID](1)}, nil},
	} {
		if got := fx.titles(c.who, c.q); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	fx.pass(90 * time.Minute)
	if got := fx.titles(viewer, ListHumanTasks{Overdue: true}); !slices.Equal(got, []string{"of bob"}) {
		t.Errorf("overdue: %q", got)
	}
	_, err := fx.ListHumanTasks(t.Context(), viewer, ListHumanTasks{Statuses: []store.TaskStatus{store.TaskAnswered}, Limit: 2})
	wantCode(t, err, chargehand.CodeInvalidParameter)
	counts, err := fx.CountHumanTasks(t.Context(), ada)
	want := TaskCounts{Mine: TaskCount{Count: 1}, Unassigned: TaskCount{Count: 2}, All: TaskCount{Count: 3}}
	if err != nil || counts != want {
		t.Errorf("counts %+v, want %+v (%v)", counts, want, err)
	}
	counts, err = fx.CountHumanTasks(t.Context(), viewer)
	want = TaskCounts{Unassigned: TaskCount{Count: 2}, Overdue: TaskCount{Count: 1}, All: TaskCount{Count: 4}}
	if err != nil || counts != want {
		t.Errorf("counts %+v, want %+v (%v)", counts, want, err)
	}
}

// A task that is of a person's group and of the person itself is in one of the two lists, and is counted once.
func TestTasksOfMyGroups(t *testing.T) {
	fx := newHumanFixture(t)
	ada := fx.member("ada", store.Grant{Role: "operator"})
	fx.join("Finance", ada)
	fx.join("Sales", ada)
	p := fx.session(fx.signIn(ada), chargehand.Live)
	fx.open(map[string]any{"title": "of both groups", "assignees": people(nil, []any{"finance", "SALES"}, nil), "due": "PT1H"})
	fx.open(map[string]any{"title": "of a group", "assignees": people([]any{"bob@example.org"}, []any{"Sales"}, nil), "due": "PT2H"})
	fx.open(map[string]any{"title": "mine too", "assignees": people([]any{"Ada@example.org"}, []any{"Finance"}, nil), "due": "PT3H"})
	fx.open(map[string]any{"title": "mine by id", "assignees": people([]any{ada.Person.ID.String()}, []any{"Finance"}, nil), "due": "PT4H"})
	claimed := fx.open(map[string]any{"title": "claimed", "assignees": people(nil, []any{"Finance"}, nil), "due": "PT5H"})
	fx.open(map[string]any{"title": "of another group", "assignees": people(nil, []any{"Legal"}, nil)})
	fx.open(map[string]any{"title": "free"})
	if _, err := fx.ClaimHumanTask(t.Context(), p, claimed, nil); err != nil {
		t.Fatal(err)
	}
	for assignee, want := range map[string][]string{
		"me":        {"mine too", "mine by id", "claimed"},
		"my-groups": {"of both groups", "of a group"},
	} {
		if got := fx.titles(p, ListHumanTasks{Assignee: assignee}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", assignee, got, want)
		}
	}
	counts, err := fx.CountHumanTasks(t.Context(), p)
	want := TaskCounts{Mine: TaskCount{Count: 3}, Groups: TaskCount{Count: 2}, Unassigned: TaskCount{Count: 1}, All: TaskCount{Count: 7}}
	if err != nil || counts != want {
		t.Errorf("counts %+v, want %+v (%v)", counts, want, err)
	}
	if got := fx.titles(fx.p, ListHumanTasks{Assignee: "my-groups"}); got != nil {
		t.Errorf("a key has no groups: %q", got)
	}
	if shown, err := fx.ReleaseHumanTask(t.Context(), p, claimed, nil); err != nil || shown.Status != "open" {
		t.Fatal(err)
	}
	if got, want := fx.titles(p, ListHumanTasks{Assignee: "my-groups"}), []string{"of both groups", "of a group", "claimed"}; !slices.Equal(got, want) {
		t.Errorf("after the release: %q, want %q", got, want)
	}
}

// Each person who may answer has a draft of their own, until the task ends.
func TestDraftsOfAnswers(t *testing.T) {
	fx := newHumanFixture(t)
	ada, bob, vera := fx.as("ada", "participant"), fx.as("bob", "operator"), fx.as("vera", "viewer")
	id := fx.open(map[string]any{"assignees": people([]any{"ada@example.org", "bob@example.org"}, nil, nil)})
	put := func(p *Principal, body map[string]any) (TaskDraft, error) {
		return fx.PutHumanTaskDraft(t.Context(), p, id, body)
	}
	want := func(p *Principal, want TaskDraft) {
		t.Helper()
		if got, err := fx.HumanTaskDraft(t.Context(), p, id); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("draft %+v, want %+v (%v)", got, want, err)
		}
	}
	want(ada, TaskDraft{})
	before, err := fx.GetHumanTask(t.Context(), ada, id)
	if err != nil {
		t.Fatal(err)
	}
	mine := TaskDraft{Outcome: "no such", Data: map[string]any{"total": "12."}, Comment: "to do", Files: []string{"no file"}, UpdatedAt: fx.now()}
	got, err := put(ada, map[string]any{"outcome": "no such", "data": map[string]any{"total": "12."}, "comment": "to do", "files": []any{"no file"}})
	if err != nil || !reflect.DeepEqual(got, mine) {
		t.Fatalf("%+v, %v", got, err)
	}
	want(ada, mine)
	want(bob, TaskDraft{})
	if _, err := fx.ClaimHumanTask(t.Context(), ada, id, nil); err != nil {
		t.Fatal(err)
	}
	fx.pass(time.Minute)
	his := TaskDraft{Comment: "mine", Files: []string{}, UpdatedAt: fx.now()}
	if got, err := put(bob, map[string]any{"comment": "mine", "files": []any{}}); err != nil || !reflect.DeepEqual(got, his) {
		t.Errorf("a draft while another one has claimed the task: %+v, %v", got, err)
	}
	want(bob, his)
	if _, err := fx.ReleaseHumanTask(t.Context(), ada, id, nil); err != nil {
		t.Fatal(err)
	}
	after, err := fx.GetHumanTask(t.Context(), ada, id)
	if err != nil || after.Step != before.Step+2 { // the claim and the release
		t.Errorf("drafts change the task: %d, before %d (%v)", after.Step, before.Step, err)
	}
	if got, err := put(bob, map[string]any{}); err != nil || !reflect.DeepEqual(got, TaskDraft{}) {
		t.Errorf("deleted: %+v, %v", got, err)
	}
	want(bob, TaskDraft{})

	_, err = put(ada, map[string]any{"comment": strings.Repeat("x", 17<<10)})
	wantCode(t, err, chargehand.CodeInvalidBody)
	_, err = put(ada, map[string]any{"data": strings.Repeat("x", 64<<10)})
	wantCode(t, err, chargehand.CodePayloadTooLarge)
	_, err = put(ada, map[string]any{"datum": 1})
	wantCode(t, err, chargehand.CodeUnknownField)
	_, err = put(fx.p, map[string]any{"data": 1})
	wantCode(t, err, chargehand.CodeNotAssigned)
	_, err = put(vera, map[string]any{"data": 1})
	wantCode(t, err, chargehand.CodeInsufficientScope)
	_, err = fx.HumanTaskDraft(t.Context(), vera, id)
	wantCode(t, err, chargehand.CodeInsufficientScope)
	_, err = fx.HumanTaskDraft(t.Context(), fx.test, id)
	wantCode(t, err, chargehand.CodeHumanTaskNotFound)
	want(ada, mine)

	if err := fx.answer(bob, id, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	want(ada, TaskDraft{})
	_, err = put(ada, map[string]any{"data": 1})
	wantCode(t, err, chargehand.CodeStateConflict)
}

// Of many who answer at once one wins, and the others learn that.
func TestConcurrentAnswers(t *testing.T) {
	fx := newHumanFixture(t)
	id := fx.open(map[string]any{"outcomes": []any{"a", "b", "c", "d"}})
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i, outcome := range []string{"a", "b", "c", "d"} {
		all.Go(func() { errs[i] = fx.answer(fx.p, id, map[string]any{"outcome": outcome}) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		wantCode(t, err, chargehand.CodeAnswerConflict)
	}
	if won != 1 {
		t.Errorf("%d have won", won)
	}
}
