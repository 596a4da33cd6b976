package service

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/store"
)

// personal makes a personal key of the person of a session.
func (fx *fixture) personal(p *Principal, body string) *Key {
	fx.t.Helper()
	key, _, err := fx.CreatePersonalKey(fx.t.Context(), p, CreateKey{Body: parse(fx.t, body)})
	if err != nil {
		fx.t.Fatal(err)
	}
	return key
}

func TestPersonalKeyIsItsPerson(t *testing.T) {
	fx := newFixture(t)
	order := fx.apply(definition("order", "1.0.0"))
	session := fx.as("ada", "operator")
	key := fx.personal(session, `{"name": "laptop"}`)
	if !key.ExpiresAt.Equal(epoch.Add(personalKeyLife)) || key.User != session.User || key.Scopes != PresetRun || key.Secret == "" || key.RatePerSecond != 0 {
		t.Errorf("the key is %+v", key)
	}
	p := fx.authenticate(key.Secret)
	if p.Kind != KindUser || p.User != session.User || p.Name != "ada" || p.KeyNo == 0 || p.SessionNo != 0 || p.actor() != session.actor() || p.Scopes != PresetRun {
		t.Errorf("the principal is %+v", p)
	}
	body := map[string]any{"input": map[string]any{"amount": 5.0}}
	i := &Idempotency{Method: "POST", Path: "/x", Key: "k"}
	started, _, err := fx.CreateExecution(t.Context(), fx.must(session, ScopeExecutionsCreate, 0), CreateExecution{Workflow: order.ID, Body: body, Idempotency: i})
	if err != nil {
		t.Fatal(err)
	}
	again, replayed, err := fx.CreateExecution(t.Context(), fx.must(p, ScopeExecutionsCreate, 0), CreateExecution{Workflow: order.ID, Body: body, Idempotency: i})
	if err != nil || !replayed || again.ID != started.ID {
		t.Errorf("the same Idempotency-Key of the same person makes %v, %t, %v", again, replayed, err)
	}
	wantRefusal(t, "a scope that the key has not", second(May(p, ScopeExecutionsManage, 0)), chargehand.CodeInsufficientScope)
	rate := func(p *Principal) int {
		left, err := fx.Allow(p)
		if err != nil {
			t.Fatal(err)
		}
		return left.Remaining
	}
	if first, then := rate(session), rate(p); then != first-1 {
		t.Errorf("the bucket has %d left for the session and %d for the key", first, then)
	}
}

// TestPersonalKeyAndRolesOverlap: what a key may do is what its scopes and limits and the roles of its person have in
// common.
func TestPersonalKeyAndRolesOverlap(t *testing.T) {
	fx := newFixture(t)
	order, refund := fx.apply(definition("order", "1.0.0")), fx.apply(definition("refund", "1.0.0"))
	other := newID[chargehand.WorkflowID](5)
	named := func(ids ...chargehand.WorkflowID) store.Limits { return store.Limits{Workflows: ids} }
	within := func(names ...string) store.Limits { return store.Limits{Namespaces: names} }
	for i, c := range []struct {
		grants []store.Grant
		key    store.Limits
		want   store.Limits
		sees   []chargehand.WorkflowID // of order and refund; nil: all
	}{
		{[]store.Grant{{}}, store.Limits{}, store.Limits{}, nil},
		{[]store.Grant{{}}, named(order.ID), named(order.ID), []chargehand.WorkflowID{order.ID}},
		{[]store.Grant{{Workflow: order.ID}}, store.Limits{}, named(order.ID), []chargehand.WorkflowID{order.ID}},
		{[]store.Grant{{Workflow: order.ID}}, named(refund.ID), store.NoWorkflow(), []chargehand.WorkflowID{}},
		{[]store.Grant{{Workflow: order.ID}, {Workflow: refund.ID}}, named(refund.ID, other), named(refund.ID), []chargehand.WorkflowID{refund.ID}},
		{[]store.Grant{{Namespace: "test"}}, named(refund.ID), named(refund.ID), []chargehand.WorkflowID{refund.ID}},
		{[]store.Grant{{Workflow: refund.ID}}, within("test"), named(refund.ID), []chargehand.WorkflowID{refund.ID}},
		{[]store.Grant{{Namespace: "test"}, {Namespace: "h-r"}}, within("test", "finance"), within("test"), []chargehand.WorkflowID{order.ID, refund.ID}},
		{[]store.Grant{{Namespace: "h-r"}}, within("test"), store.NoWorkflow(), []chargehand.WorkflowID{}},
		{[]store.Grant{{Workflow: order.ID, Environments: store.OnlyTest}}, store.Limits{}, store.NoWorkflow(), []chargehand.WorkflowID{}},
	} {
		for j := range c.grants {
			c.grants[j].Role = "viewer"
		}
		m := fx.member(fmt.Sprint("m", i), c.grants...)
		row := store.Key{Account: m.Account, Environment: chargehand.Live, Person: m.Person.No, Scopes: "workflows:read executions:create", Limits: c.key}
		var p *Principal
		err := fx.view(t.Context(), func(r *store.Reader) (err error) {
			p, err = fx.personalPrincipal(r, &row)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if p.rights == nil || p.Sees(order.ID) {
			t.Errorf("%d: the key is not held to one operation: %+v", i, p)
		}
		if p.Scopes&^ScopeWorkflowsRead != 0 {
			t.Errorf("%d: the key has %v", i, p.Scopes.Names())
		}
		view, err := May(p, ScopeWorkflowsRead, 0)
		if c.grants[0].Environments == store.OnlyTest {
			wantRefusal(t, "a role in test alone", err, chargehand.CodeInsufficientScope)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []chargehand.WorkflowID{order.ID, refund.ID} {
			if want := c.sees == nil || slices.Contains(c.sees, id); view.Sees(id) != want {
				t.Errorf("%d: sees %v: %t, want %t", i, id, view.Sees(id), want)
			}
		}
		if !view.Limits.Within(c.want) || !c.want.Within(view.Limits) {
			t.Errorf("%d: within %+v, want %+v", i, view.Limits, c.want)
		}
	}
}

// TestPersonalKeyFollowsItsPerson: roles that are given and taken, and a membership that ends, count within a second.
func TestPersonalKeyFollowsItsPerson(t *testing.T) {
	fx := newFixture(t)
	m := fx.member("ada", store.Grant{Role: "operator"})
	key := fx.personal(fx.session(fx.signIn(m), chargehand.Live), `{"name": "laptop", "scopes": ["executions:manage", "workflows:read"]}`)
	may := func(want Scopes) {
		t.Helper()
		fx.pass(time.Second)
		if p := fx.authenticate(key.Secret); p.Scopes != want {
			t.Errorf("it may %v, want %v", p.Scopes.Names(), want.Names())
		}
	}
	change := func(do func(tx *store.Tx) error) { // as another node does
		t.Helper()
		if err := fx.rows.Update(t.Context(), do); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string) {
		t.Helper()
		fx.pass(time.Second)
		_, err := fx.Authenticate(t.Context(), key.Secret, localhost)
		wantRefusal(t, what, err, chargehand.CodeInvalidAPIKey)
	}
	may(ScopeExecutionsManage | ScopeWorkflowsRead)
	change(func(tx *store.Tx) error {
		grants, err := tx.GrantsOf(m.Account, m.Person.No, 10)
		return errors.Join(err, tx.DeleteGrant(grants[0].No))
	})
	may(0)
	fx.give(m, store.Grant{Role: "admin"})
	may(ScopeExecutionsManage | ScopeWorkflowsRead)
	change(func(tx *store.Tx) error { return tx.SetMemberStatus(m.No, store.Active, store.Disabled) })
	refused("of a disabled membership")
	change(func(tx *store.Tx) error { return tx.SetMemberStatus(m.No, store.Disabled, store.Active) })
	may(ScopeExecutionsManage | ScopeWorkflowsRead)
	change(func(tx *store.Tx) error { return tx.DisablePerson(m.Person.No, 1) })
	refused("of a disabled person")
	change(func(tx *store.Tx) error { return tx.DisablePerson(m.Person.No, 0) })
	fx.as("bo", "admin")
	if err := fx.RemoveUser(t.Context(), fx.admin("cy"), m.Person.ID); err != nil {
		t.Fatal(err)
	}
	change(func(tx *store.Tx) error {
		back := store.Member{Account: m.Account, Person: m.Person, Status: store.Active}
		return tx.InsertMember(&back)
	})
	refused("of a member who was removed and has come back")
}

func TestCreatePersonalKeyRefuses(t *testing.T) {
	fx := newFixture(t)
	order, refund := fx.apply(definition("order", "1.0.0")), fx.apply(definition("refund", "1.0.0"))
	m := fx.member("ada", store.Grant{Role: "operator", Workflow: order.ID})
	ada := fx.session(fx.signIn(m), chargehand.Live)
	for _, c := range []struct {
		name, body string
		code       chargehand.Code
		pointers   []string
	}{
		{"no name", `{}`, chargehand.CodeInvalidBody, []string{"/name"}},
		{"a rate", `{"name": "x", "rate_limit": 5}`, chargehand.CodeInvalidBody, []string{"/rate_limit"}},
		{"no rate limit at all", `{"name": "x", "rate_limit": 0}`, chargehand.CodeInvalidBody, []string{"/rate_limit"}},
		{"no end", `{"name": "x", "expires_at": null}`, chargehand.CodeInvalidBody, []string{"/expires_at"}},
		{"a late end", `{"name": "x", "expires_at": "2027-03-05T12:00:00Z"}`, chargehand.CodeInvalidBody, []string{"/expires_at"}},
		{"a past end", `{"name": "x", "expires_at": "2026-02-01T12:00:00Z"}`, chargehand.CodeInvalidBody, []string{"/expires_at"}},
		{"another environment", `{"name": "x", "environment": "test"}`, chargehand.CodeInsufficientScope, nil},
		{"scopes beyond the roles", `{"name": "x", "scopes": ["workflows:write"]}`, chargehand.CodeInsufficientScope, nil},
		{"impersonation", `{"name": "x", "scopes": ["tasks:impersonate"]}`, chargehand.CodeInsufficientScope, nil},
		{"a workflow that the person does not see", `{"name": "x", "workflows": ["test/refund"]}`, chargehand.CodeWorkflowNotFound, nil},
		{"a workflow that does not exist", `{"name": "x", "workflows": ["test/nosuch"]}`, chargehand.CodeWorkflowNotFound, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := fx.CreatePersonalKey(t.Context(), ada, CreateKey{Body: parse(t, c.body)})
			wantPointers(t, wantCode(t, err, c.code), c.pointers...)
		})
	}
	unseen := second(May(ada, ScopeAdmin, 0))
	wantRefusal(t, "an operator who is no admin", unseen, chargehand.CodeInsufficientScope)
	text := func(body string) string {
		_, _, err := fx.CreatePersonalKey(t.Context(), ada, CreateKey{Body: parse(t, body)})
		return fmt.Sprint(err)
	}
	hidden, missing := text(`{"name": "x", "workflows": ["`+refund.ID.String()+`"]}`), newID[chargehand.WorkflowID](4).String()
	if got := text(`{"name": "x", "workflows": ["` + missing + `"]}`); len(got) != len(hidden) {
		t.Errorf("a hidden workflow is answered with %s, and a missing one with %s", hidden, got)
	}
	key := fx.personal(ada, `{"name": "x", "workflows": ["test/order"], "expires_at": "2027-03-01T12:00:00Z"}`)
	byKey := fx.authenticate(key.Secret)
	wantRefusal(t, "by a personal key", second(two(fx.CreatePersonalKey(t.Context(), byKey, CreateKey{Body: parse(t, `{"name": "x"}`)}))), chargehand.CodeInsufficientScope)
	wantRefusal(t, "by a key", second(two(fx.CreatePersonalKey(t.Context(), fx.p, CreateKey{Body: parse(t, `{"name": "x"}`)}))), chargehand.CodeInsufficientScope)
	admin := fx.as("bo", "admin")
	_, _, err := fx.CreatePersonalKey(t.Context(), admin, CreateKey{Body: parse(t, `{"name": "x", "scopes": ["admin"], "namespaces": ["test"]}`)})
	wantCode(t, err, chargehand.CodeInvalidBody)
}

func two[T, U any](v T, _ U, err error) (T, error) { return v, err }

func TestPersonalKeysAreBounded(t *testing.T) {
	fx := newFixture(t)
	m := fx.member("ada", store.Grant{Role: "viewer"})
	token := fx.signIn(m)
	live, test := fx.session(token, chargehand.Live), fx.session(token, chargehand.Test)
	body := map[string]any{"name": "x", "scopes": []any{"workflows:read"}, "expires_at": epoch.Add(time.Hour).Format(time.RFC3339)}
	for i := range maxPersonalKeys - 1 {
		if _, _, err := fx.CreatePersonalKey(t.Context(), []*Principal{live, test}[i%2], CreateKey{Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	var made, refused atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			_, _, err := fx.CreatePersonalKey(t.Context(), live, CreateKey{Body: body})
			var shown *chargehand.Error
			switch {
			case err == nil:
				made.Add(1)
			case errors.As(err, &shown) && shown.Code == chargehand.CodeStateConflict:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	if all.Wait(); made.Load() != 1 || refused.Load() != 3 {
		t.Errorf("of four requests for the last key, %d made one and %d were refused", made.Load(), refused.Load())
	}
	page, err := fx.ListPersonalKeys(t.Context(), test, 100, Cursor{})
	if err != nil || len(page.Data) != 24 {
		t.Fatalf("in test there are %+v, %v", page, err)
	}
	if err := fx.RevokePersonalKey(t.Context(), test, page.Data[0].ID); err != nil {
		t.Fatal(err)
	}
	fx.personal(live, `{"name": "x", "scopes": ["workflows:read"]}`)
	fx.pass(time.Hour)
	if _, _, err := fx.CreatePersonalKey(t.Context(), live, CreateKey{Body: parse(t, `{"name": "x", "scopes": ["workflows:read"]}`)}); err != nil {
		t.Errorf("after the others have ended: %v", err)
	}
}

// TestPersonalKeysAreOnesOwn: persons see and revoke their own; admins see and revoke all, and change none.
func TestPersonalKeysAreOnesOwn(t *testing.T) {
	fx := newFixture(t)
	ada, bo := fx.as("ada", "viewer"), fx.as("bo", "viewer")
	first := fx.personal(ada, `{"name": "one", "scopes": ["workflows:read"]}`)
	fx.pass(time.Millisecond)
	other := fx.personal(ada, `{"name": "two", "scopes": ["workflows:read"]}`)
	fx.personal(bo, `{"name": "three", "scopes": ["workflows:read"]}`)
	page, err := fx.ListPersonalKeys(t.Context(), ada, 1, Cursor{})
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != other.ID || page.Data[0].Secret != "" {
		t.Fatalf("first page %+v, %v", page, err)
	}
	page, err = fx.ListPersonalKeys(t.Context(), ada, 1, page.Cursor)
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != first.ID || !page.Cursor.IsZero() {
		t.Fatalf("second page %+v, %v", page, err)
	}
	wantRefusal(t, "another's key", second(fx.GetPersonalKey(t.Context(), bo, first.ID)), chargehand.CodeKeyNotFound)
	wantRefusal(t, "another's key revoked", fx.RevokePersonalKey(t.Context(), bo, first.ID), chargehand.CodeKeyNotFound)
	wantRefusal(t, "a list for a key", second(fx.ListPersonalKeys(t.Context(), fx.p, 1, Cursor{})), chargehand.CodeInsufficientScope)
	ordinary, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "a key that is not personal", second(fx.GetPersonalKey(t.Context(), ada, ordinary.ID)), chargehand.CodeKeyNotFound)

	p := fx.authenticate(first.Secret)
	if page, err := fx.ListPersonalKeys(t.Context(), p, 10, Cursor{}); err != nil || len(page.Data) != 2 {
		t.Errorf("a personal key lists %+v, %v", page, err)
	}
	wantRefusal(t, "another key of the person, by key", fx.RevokePersonalKey(t.Context(), p, other.ID), chargehand.CodeInsufficientScope)
	if err := fx.RevokePersonalKey(t.Context(), p, first.ID); err != nil {
		t.Errorf("itself: %v", err)
	}
	_, err = fx.Authenticate(t.Context(), first.Secret, localhost)
	wantRefusal(t, "after that", err, chargehand.CodeInvalidAPIKey)

	admin := fx.admin("cy")
	got, err := fx.GetKey(t.Context(), admin, other.ID)
	if err != nil || got.User != ada.User {
		t.Errorf("an admin sees %+v, %v", got, err)
	}
	if all, err := fx.ListKeys(t.Context(), admin, 10, Cursor{}); err != nil || len(all.Data) != 3 {
		t.Errorf("an admin lists %+v, %v", all, err)
	}
	wantRefusal(t, "changed by an admin", second(fx.PatchKey(t.Context(), admin, other.ID, map[string]any{"name": "y"})), chargehand.CodeInsufficientScope)
	if err := fx.RevokeKey(t.Context(), admin, other.ID); err != nil {
		t.Errorf("revoked by an admin: %v", err)
	}
}

// TestPersonalKeysManagePeopleAsKeysDo: a personal key is no way around what keys may not do.
func TestPersonalKeysManagePeopleAsKeysDo(t *testing.T) {
	fx := newFixture(t)
	m := fx.member("ada", store.Grant{Role: "admin"})
	token := fx.signIn(m)
	inTest := fx.must(fx.authenticate(fx.personal(fx.session(token, chargehand.Test), `{"name": "x", "preset": "all"}`).Secret), ScopeAdmin, 0)
	wantRefusal(t, "users, by a key of test", second(fx.ListUsers(t.Context(), inTest, ListUsers{Limit: 10})), chargehand.CodeInsufficientScope)
	narrow := fx.must(fx.authenticate(fx.personal(fx.session(token, chargehand.Live), `{"name": "x", "scopes": ["admin", "workflows:read", "executions:read", "tasks:read", "workflows:write",
		"executions:create", "executions:manage"]}`).Secret), ScopeAdmin, 0)
	bo := fx.member("bo")
	give := func(p *Principal, role string) error {
		return second(two(fx.GiveGrant(t.Context(), p, map[string]any{"user_id": bo.Person.ID.String(), "role": role}, nil)))
	}
	wantRefusal(t, "publisher, without workflows:publish", give(narrow, "publisher"), chargehand.CodeInsufficientScope)
	wantRefusal(t, "admin, without its scopes", give(narrow, "admin"), chargehand.CodeInsufficientScope)
	if err := give(narrow, "author"); err != nil {
		t.Errorf("what it has: %v", err)
	}
	_, _, err := fx.CreateKey(t.Context(), narrow, CreateKey{Body: parse(t, `{"name": "x", "scopes": ["workflows:publish"]}`)})
	wantRefusal(t, "a key that may do more", err, chargehand.CodeInsufficientScope)
	made, _, err := fx.CreateKey(t.Context(), narrow, CreateKey{Body: parse(t, `{"name": "x", "scopes": ["workflows:read"]}`)})
	if err != nil || !made.User.IsZero() || !made.ExpiresAt.Equal(narrow.ExpiresAt) || made.CreatedBy != chargehand.KeyID(narrow.User) {
		t.Errorf("a key that may do less: %+v, %v", made, err)
	}
}

func makeKey(fx *fixture, m store.Member, env chargehand.Environment, admin bool) (key *Key, err error) {
	err = fx.rows.Update(fx.t.Context(), func(tx *store.Tx) (err error) {
		key, err = fx.MakePersonalKey(fx.t.Context(), tx, PersonalKey{Account: m.Account, Person: m.Person.No, Environment: env, Name: "laptop", Admin: admin})
		return err
	})
	return key, err
}

// TestMakeAdminKey: a program gets the rights of an admin only if it asks for them, and not for a year.
func TestMakeAdminKey(t *testing.T) {
	fx := newFixture(t)
	m := fx.member("ada", store.Grant{Role: "admin", Environments: store.BothEnvironments})
	key, err := makeKey(fx, m, chargehand.Live, false)
	if err != nil || key.Scopes != PresetAll&^ScopeAdmin || !key.ExpiresAt.Equal(epoch.Add(personalKeyLife)) {
		t.Fatalf("made %+v, %v", key, err)
	}
	wantRefusal(t, "what an admin may do", Require(fx.authenticate(key.Secret), ScopeAdmin), chargehand.CodeInsufficientScope)
	key, err = makeKey(fx, m, chargehand.Live, true)
	if err != nil || key.Scopes != PresetAll || !key.ExpiresAt.Equal(epoch.Add(30*24*time.Hour)) {
		t.Fatalf("made %+v, %v", key, err)
	}
	if err := Require(fx.authenticate(key.Secret), ScopeAdmin); err != nil {
		t.Error(err)
	}
	p := fx.session(fx.signIn(m), chargehand.Live)
	fx.pass(session.Fresh)
	_, _, err = fx.CreatePersonalKey(t.Context(), p, CreateKey{Body: parse(t, `{"name": "x", "scopes": ["admin"]}`)})
	wantRefusal(t, "in a session that is not fresh", err, chargehand.CodeFreshSignInRequired)
}

func TestMakePersonalKey(t *testing.T) {
	fx := newFixture(t)
	m := fx.member("ada", store.Grant{Role: "author", Environments: store.OnlyLive}, store.Grant{Role: "viewer", Environments: store.OnlyLive})
	make := func(env chargehand.Environment, name string) (key *Key, err error) {
		err = fx.rows.Update(t.Context(), func(tx *store.Tx) (err error) {
			key, err = fx.MakePersonalKey(t.Context(), tx, PersonalKey{Account: m.Account, Person: m.Person.No, Environment: env, Name: name})
			return err
		})
		return key, err
	}
	key, err := make(chargehand.Live, "laptop")
	if err != nil || key.Scopes != authorScopes || key.Name != "laptop" || key.User != m.Person.ID || !key.ExpiresAt.Equal(epoch.Add(personalKeyLife)) {
		t.Fatalf("made %+v, %v", key, err)
	}
	if p := fx.authenticate(key.Secret); p.Scopes != authorScopes || p.User != m.Person.ID {
		t.Errorf("the principal is %+v", p)
	}
	wantRefusal(t, "where the person has no role", second(make(chargehand.Test, "laptop")), chargehand.CodeInsufficientScope)
	wantRefusal(t, "without a name", second(make(chargehand.Live, " ")), chargehand.CodeInvalidBody)
	if key, err = makeKey(fx, m, chargehand.Live, true); err != nil || key.Scopes != authorScopes || !key.ExpiresAt.Equal(epoch.Add(personalKeyLife)) {
		t.Errorf("with the rights of an admin, which the person does not have: %+v, %v", key, err)
	}
	fx.pass(session.Life)
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.SetMemberStatus(m.No, store.Active, store.Disabled) }); err != nil {
		t.Fatal(err)
	}
	if _, err := make(chargehand.Live, "laptop"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("for a disabled member: %v", err)
	}
}
