package service

import (
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

func TestMe(t *testing.T) {
	fx := newFixture(t)
	m := fx.member("ada", store.Grant{Role: "viewer"}, store.Grant{Role: "author", Namespace: "test", Environments: store.OnlyTest})
	p := fx.session(fx.signIn(m), chargehand.Live)
	me, err := fx.GetMe(t.Context(), p)
	if err != nil || me.User.ID != m.Person.ID || me.User.Name != "ada" || len(me.Grants) != 2 || me.MoreGrants {
		t.Fatalf("me is %+v, %v", me, err)
	}
	if me.Live != viewerScopes || me.Test != authorScopes.In(chargehand.Test)|triesOut {
		t.Errorf("scopes are %v and %v", me.Live.Names(), me.Test.Names())
	}
	key := fx.authenticate(fx.personal(p, `{"name": "x", "scopes": ["workflows:read"]}`).Secret)
	if me, err := fx.GetMe(t.Context(), key); err != nil || me.Live != ScopeWorkflowsRead || me.Test != 0 || me.User.ID != m.Person.ID {
		t.Errorf("by a personal key: %+v, %v", me, err)
	}
	wantRefusal(t, "a key", second(fx.GetMe(t.Context(), fx.p)), chargehand.CodeInsufficientScope)
	for what, by := range map[string]*Principal{"a key": fx.p, "a personal key": key} {
		wantRefusal(t, "changed by "+what, second(fx.PatchMe(t.Context(), by, map[string]any{"name": "Bo"})), chargehand.CodeInsufficientScope)
		wantRefusal(t, "settings of "+what, second(fx.Settings(t.Context(), by)), chargehand.CodeInsufficientScope)
		wantRefusal(t, "settings set by "+what, second(fx.PutSettings(t.Context(), by, map[string]any{})), chargehand.CodeInsufficientScope)
		wantRefusal(t, "sessions of "+what, second(fx.ListSessions(t.Context(), by, 1, Cursor{})), chargehand.CodeInsufficientScope)
		wantRefusal(t, "a session ended by "+what, fx.RevokeSession(t.Context(), by, p.Session), chargehand.CodeInsufficientScope)
		wantRefusal(t, "sessions ended by "+what, fx.RevokeOtherSessions(t.Context(), by), chargehand.CodeInsufficientScope)
	}
}

// TestMeSeesTheInstallation: admins of the oldest account and their keys of live see its state, no others do.
func TestMeSeesTheInstallation(t *testing.T) {
	fx := newFixture(t)
	fx.apply(definition("order", "1.0.0"))
	admin := fx.as("ada", "admin")
	inTest := *admin
	inTest.Environment = chargehand.Test
	keyOf := func(p *Principal, body string) *Principal { return fx.authenticate(fx.personal(p, body).Secret) }
	eve := fx.newMember("eve")
	eve.Account = fx.stranger().AccountNo
	eve = fx.insert(eve, store.Grant{Role: "admin"})
	for what, c := range map[string]struct {
		by   *Principal
		sees bool
	}{
		"an admin":                    {admin, true},
		"an admin who works in test":  {&inTest, true},
		"a viewer":                    {fx.as("bob", "viewer"), false},
		"a key of an admin":           {keyOf(admin, `{"name": "a", "scopes": ["admin"]}`), true},
		"its key with less":           {keyOf(admin, `{"name": "b", "scopes": ["workflows:read"]}`), false},
		"its key of test":             {keyOf(&inTest, `{"name": "c", "environment": "test", "scopes": ["admin"]}`), false},
		"an admin of another account": {fx.session(fx.signIn(eve), chargehand.Live), false},
	} {
		me, err := fx.GetMe(t.Context(), c.by)
		if err != nil || me.Installation != c.sees {
			t.Errorf("%s: %+v, %v", what, me, err)
		}
	}
}

func TestPatchMe(t *testing.T) {
	fx := newFixture(t)
	m := fx.member("ada", store.Grant{Role: "viewer"})
	token := fx.signIn(m)
	p := fx.session(token, chargehand.Live)
	me, err := fx.PatchMe(t.Context(), p, map[string]any{"name": " Ada Lovelace ", "locale": "de-AT"})
	if err != nil || me.User.Name != "Ada Lovelace" || me.User.Locale != "de-AT" {
		t.Fatalf("changed to %+v, %v", me, err)
	}
	if p = fx.session(token, chargehand.Live); p.Name != "Ada Lovelace" {
		t.Errorf("the session is that of %s", p.Name)
	}
	if found, err := fx.FindPeople(t.Context(), p, "ada l", 5); err != nil || len(found.Users) != 1 {
		t.Errorf("found %+v, %v", found, err)
	}
	if me, err = fx.PatchMe(t.Context(), p, map[string]any{"locale": nil}); err != nil || me.User.Name != "Ada Lovelace" || me.User.Locale != "" {
		t.Errorf("changed to %+v, %v", me, err)
	}
	for _, tag := range []string{"en", "de-AT", "zh-Hant-TW", "es-419"} {
		if !isLanguage(tag) {
			t.Errorf("%s is refused", tag)
		}
	}
	for _, bad := range []string{`{"locale": "e"}`, `{"locale": "de_AT"}`, `{"locale": "de-"}`, `{"locale": "-de"}`, `{"locale": "419"}`, `{"locale": "abcdefghi"}`, `{"locale": "de--AT"}`, `{"locale": 1}`} {
		wantPointers(t, wantCode(t, second(fx.PatchMe(t.Context(), p, parse(t, bad))), chargehand.CodeInvalidBody), "/locale")
	}
	for _, bad := range []string{`{"name": ""}`, `{"name": null}`, `{"name": "A\u202eda"}`, `{"name": "` + strings.Repeat("a", 10_000) + `"}`} {
		wantPointers(t, wantCode(t, second(fx.PatchMe(t.Context(), p, parse(t, bad))), chargehand.CodeInvalidBody), "/name")
	}
	wantCode(t, second(fx.PatchMe(t.Context(), p, parse(t, `{"email": "x@y.org"}`))), chargehand.CodeUnknownField)
}

func TestSettings(t *testing.T) {
	fx := newFixture(t)
	ada, bo := fx.as("ada", "viewer"), fx.as("bo", "viewer")
	if data, err := fx.Settings(t.Context(), ada); err != nil || string(data) != "{}" {
		t.Errorf("at first %s, %v", data, err)
	}
	for _, text := range []string{`{"theme": "dark", "n": 123456789012345678901234567890}`, `{"rows": 50}`} {
		put, err := fx.PutSettings(t.Context(), ada, parse(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if data, err := fx.Settings(t.Context(), ada); err != nil || string(data) != string(put) || !strings.Contains(string(data), text[1:7]) {
			t.Errorf("%s is read as %s, %v", put, data, err)
		}
	}
	if data, err := fx.Settings(t.Context(), bo); err != nil || string(data) != "{}" {
		t.Errorf("those of another are %s, %v", data, err)
	}
	for _, bad := range []string{`[]`, `"x"`, `null`} {
		wantCode(t, second(fx.PutSettings(t.Context(), ada, parse(t, bad))), chargehand.CodeInvalidBody)
	}
	big := func(n int) map[string]any { return map[string]any{"x": strings.Repeat("y", n-len(`{"x":""}`))} }
	if _, err := fx.PutSettings(t.Context(), ada, big(maxSettingsBytes)); err != nil {
		t.Errorf("as large as may be: %v", err)
	}
	wantCode(t, second(fx.PutSettings(t.Context(), ada, big(maxSettingsBytes+1))), chargehand.CodePayloadTooLarge)
}

// TestStartedBy: executions and batches say who has started them, by the name of today.
func TestStartedBy(t *testing.T) {
	fx := newFixture(t)
	order := fx.apply(definition("order", "1.0.0"))
	m := fx.member("ada", store.Grant{Role: "operator"})
	session := fx.session(fx.signIn(m), chargehand.Live)
	ada := fx.must(session, ScopeExecutionsCreate, 0)
	key := fx.authenticate(fx.issue(IssueKey{Name: "ci", Scopes: PresetRun}))
	input := map[string]any{"amount": 5.0}
	user, program := Actor{"user", m.Person.ID.String(), "ada"}, Actor{"key", key.Key.String(), "ci"}
	for want, p := range map[Actor]*Principal{user: ada, program: key} {
		e := fx.createAs(p, order.ID, input)
		if e.StartedBy != want {
			t.Errorf("the answer to the start says %+v, want %+v", e.StartedBy, want)
		}
		fx.names = names{} // as after a restart
		if e, err := fx.GetExecution(t.Context(), fx.p, order.ID, e.ID, View{}); err != nil || e.StartedBy != want {
			t.Errorf("it is read as %+v, %v, want %+v", e.StartedBy, err, want)
		}
		b, _, err := fx.CreateBatch(t.Context(), p, CreateBatch{Workflow: order.ID, Body: map[string]any{"items": []any{input}}})
		if err != nil || b.StartedBy != want {
			t.Fatalf("the answer to the batch says %+v, %v, want %+v", b.StartedBy, err, want)
		}
		fx.names = names{}
		if b, err := fx.GetBatch(t.Context(), fx.p, order.ID, b.ID, View{}); err != nil || b.StartedBy != want {
			t.Errorf("it is read as %+v, %v, want %+v", b.StartedBy, err, want)
		}
	}
	if _, err := fx.PatchMe(t.Context(), session, map[string]any{"name": "Ada Lovelace"}); err != nil {
		t.Fatal(err)
	}
	fx.pass(actorLife)
	page, err := fx.ListExecutions(t.Context(), fx.p, ListExecutions{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	named := slices.ContainsFunc(page.Data, func(e *Execution) bool { return e.StartedBy.Name == "Ada Lovelace" })
	if stale := slices.ContainsFunc(page.Data, func(e *Execution) bool { return e.StartedBy == user }); !named || stale {
		t.Errorf("after another name, that is shown: %t, and the one before: %t", named, stale)
	}
}
