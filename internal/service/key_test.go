package service

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/store"
)

func (fx *fixture) issue(r IssueKey) string {
	fx.t.Helper()
	secret, err := Issue(fx.t.Context(), fx.rows, []byte(strings.Repeat("p", 32)), fx.now(), r)
	if err != nil {
		fx.t.Fatal(err)
	}
	return secret
}

func (fx *fixture) authenticate(secret string) *Principal {
	fx.t.Helper()
	p, err := fx.Authenticate(fx.t.Context(), secret, localhost)
	if err != nil {
		fx.t.Fatal(err)
	}
	return p
}

func TestCreateKey(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	fx.p.Key = newID[chargehand.KeyID](77)
	body := fmt.Sprintf(`{"name": " build server ", "environment": "live", "scopes": ["executions:read", "workflows:write"], "workflows": ["%s", "%s", "test/one"], "namespaces": ["test", "h-r", "test"],
		"expires_at": "2026-03-02T13:00:00.5+01:00", "rate_limit": 50}`, flow.ID, strings.ToUpper(flow.ID.String()))
	made, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: parse(t, body)})
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != "build server" || made.Environment != chargehand.Live || made.Scopes != ScopeExecutionsRead|ScopeWorkflowsWrite ||
		!slices.Equal(made.Limits.Workflows, []chargehand.WorkflowID{flow.ID}) || !slices.Equal(made.Limits.Namespaces, []string{"test", "h-r"}) || made.RatePerSecond != 50 || made.CreatedBy != fx.p.Key ||
		!made.ExpiresAt.Equal(time.Date(2026, 3, 2, 12, 0, 0, 500e6, time.UTC)) || !made.CreatedAt.Equal(epoch) || !made.LastUsedAt.IsZero() {
		t.Errorf("the key is %+v", made)
	}
	if !strings.HasPrefix(made.Secret, made.Prefix) || !strings.HasSuffix(made.Secret, made.LastFour) || len(made.LastFour) != 4 {
		t.Errorf("the key shows %s…%s of its secret", made.Prefix, made.LastFour)
	}
	p := fx.authenticate(made.Secret)
	if p.Scopes != made.Scopes || !p.Sees(flow.ID) || p.Sees(newID[chargehand.WorkflowID](1)) || p.RatePerSecond != 50 || p.Key != made.ID {
		t.Errorf("the principal is %+v", p)
	}
	got, err := fx.GetKey(t.Context(), fx.p, made.ID)
	if err != nil || got.Secret != "" || got.Name != "build server" || !got.LastUsedAt.Equal(epoch) {
		t.Errorf("it is read as %+v, %v", got, err)
	}
	def, _, err := fx.CreateKey(t.Context(), fx.test, CreateKey{Body: map[string]any{"name": "x"}})
	if err != nil || def.Scopes != PresetRun || def.Environment != chargehand.Test || !def.Limits.All() || def.RatePerSecond != 0 || !def.ExpiresAt.IsZero() {
		t.Errorf("the default is %+v, %v", def, err)
	}
	preset, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x", "preset": "operate", "rate_limit": 0, "expires_at": nil}})
	if err != nil || preset.Scopes != PresetOperate || preset.RatePerSecond >= 0 {
		t.Errorf("the preset is %+v, %v", preset, err)
	}
}

func TestCreateKeyRefuses(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	admin := fx.principal(chargehand.Live, ScopeAdmin|ScopeExecutionsRead)
	for _, c := range []struct {
		name, body string
		code       chargehand.Code
		pointers   []string
	}{
		{"no body", `{}`, chargehand.CodeInvalidBody, []string{"/name"}},
		{"an empty name", `{"name": "  "}`, chargehand.CodeInvalidBody, []string{"/name"}},
		{"a long name", `{"name": "` + strings.Repeat("x", 201) + `"}`, chargehand.CodeInvalidBody, []string{"/name"}},
		{"everything of the wrong type", `{"name": 1, "environment": 2, "scopes": 3, "workflows": 4, "namespaces": 4, "expires_at": 5, "rate_limit": "6"}`,
			chargehand.CodeInvalidBody, []string{"/environment", "/name", "/scopes", "/workflows", "/namespaces", "/expires_at", "/rate_limit"}},
		{"unknown scopes", `{"name": "x", "scopes": ["admin", "root", 1]}`, chargehand.CodeInvalidBody, []string{"/scopes/2", "/scopes/1", "/scopes/2"}},
		{"no scopes", `{"name": "x", "scopes": []}`, chargehand.CodeInvalidBody, []string{"/scopes"}},
		{"an unknown preset", `{"name": "x", "preset": "root"}`, chargehand.CodeInvalidBody, []string{"/preset"}},
		{"preset and scopes", `{"name": "x", "preset": "run", "scopes": ["admin"]}`, chargehand.CodeInvalidBody, []string{"/preset"}},
		{"an unknown environment", `{"name": "x", "environment": "prod", "scopes": ["admin"]}`, chargehand.CodeInvalidBody, []string{"/environment"}},
		{"a past expiry", `{"name": "x", "scopes": ["admin"], "expires_at": "2026-03-01T12:00:00Z"}`, chargehand.CodeInvalidBody, []string{"/expires_at"}},
		{"an expiry that is no time", `{"name": "x", "scopes": ["admin"], "expires_at": "tomorrow"}`, chargehand.CodeInvalidBody, []string{"/expires_at"}},
		{"an expiry before 1970", `{"name": "x", "scopes": ["admin"], "expires_at": "1900-03-01T12:00:00Z"}`, chargehand.CodeInvalidBody, []string{"/expires_at"}},
		{"a rate below 0", `{"name": "x", "scopes": ["admin"], "rate_limit": -1}`, chargehand.CodeInvalidBody, []string{"/rate_limit"}},
		{"half a rate", `{"name": "x", "scopes": ["admin"], "rate_limit": 0.5}`, chargehand.CodeInvalidBody, []string{"/rate_limit"}},
		{"no workflows", `{"name": "x", "scopes": ["admin"], "workflows": []}`, chargehand.CodeInvalidBody, []string{"/workflows"}},
		{"no namespaces", `{"name": "x", "scopes": ["admin"], "namespaces": []}`, chargehand.CodeInvalidBody, []string{"/namespaces"}},
		{"a workflow that is no id", `{"name": "x", "scopes": ["admin"], "workflows": ["one"]}`, chargehand.CodeInvalidBody, []string{"/workflows/0"}},
		{"a namespace that is none", `{"name": "x", "scopes": ["admin"], "namespaces": ["a", "b c"]}`, chargehand.CodeInvalidBody, []string{"/namespaces/1"}},
		{"an unknown field", `{"name": "x", "scope": "admin"}`, chargehand.CodeUnknownField, []string{"/scope"}},
		{"more than its own scopes", `{"name": "x"}`, chargehand.CodeInsufficientScope, nil},
		{"another environment", `{"name": "x", "scopes": ["admin"], "environment": "test"}`, chargehand.CodeInsufficientScope, nil},
		{"an admin of some workflows", `{"name": "x", "scopes": ["admin"], "workflows": ["` + flow.ID.String() + `"]}`, chargehand.CodeInvalidBody, []string{""}},
		{"an admin of some namespaces", `{"name": "x", "scopes": ["admin"], "namespaces": ["test"]}`, chargehand.CodeInvalidBody, []string{""}},
		{"a workflow that does not exist", `{"name": "x", "scopes": ["executions:read"], "workflows": ["` + newID[chargehand.WorkflowID](4).String() + `"]}`, chargehand.CodeWorkflowNotFound, nil},
		{"a name that does not exist", `{"name": "x", "scopes": ["executions:read"], "workflows": ["test/two"]}`, chargehand.CodeWorkflowNotFound, nil},
		{"a scope that test has not", `{"name": "x", "scopes": ["workflows:publish"]}`, chargehand.CodeInsufficientScope, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := fx.CreateKey(t.Context(), admin, CreateKey{Body: parse(t, c.body)})
			wantPointers(t, wantCode(t, err, c.code), c.pointers...)
		})
	}
	_, _, err := fx.CreateKey(t.Context(), fx.test, CreateKey{Body: parse(t, `{"name": "x", "scopes": ["workflows:publish"]}`)})
	wantPointers(t, wantCode(t, err, chargehand.CodeInvalidBody), "/scopes")
	made, _, err := fx.CreateKey(t.Context(), fx.test, CreateKey{Body: parse(t, `{"name": "x", "preset": "all"}`)})
	if err != nil || made.Scopes != PresetAll&^ScopeWorkflowsPublish {
		t.Errorf("all of test is %+v, %v", made, err)
	}
}

func TestListKeys(t *testing.T) {
	fx := newFixture(t)
	var made []chargehand.KeyID
	for range 5 {
		fx.pass(time.Second)
		k, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x"}})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, k.ID)
	}
	fx.issue(IssueKey{Environment: chargehand.Test})
	if err := fx.RevokeKey(t.Context(), fx.p, made[2]); err != nil {
		t.Fatal(err)
	}
	var seen []chargehand.KeyID
	for after := (Cursor{}); ; {
		page, err := fx.ListKeys(t.Context(), fx.p, 2, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range page.Data {
			seen = append(seen, k.ID)
			if k.Secret != "" {
				t.Error("a list shows a secret")
			}
		}
		if after = page.Cursor; after.IsZero() {
			break
		}
	}
	if want := []chargehand.KeyID{made[4], made[3], made[1], made[0]}; !slices.Equal(seen, want) {
		t.Errorf("keys are %v, want %v", seen, want)
	}
}

func TestKeysAreHidden(t *testing.T) {
	fx := newFixture(t)
	k, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Principal{fx.test, fx.stranger()} {
		_, err := fx.GetKey(t.Context(), p, k.ID)
		wantCode(t, err, chargehand.CodeKeyNotFound)
		_, err = fx.PatchKey(t.Context(), p, k.ID, map[string]any{"name": "y"})
		wantCode(t, err, chargehand.CodeKeyNotFound)
		wantCode(t, fx.RevokeKey(t.Context(), p, k.ID), chargehand.CodeKeyNotFound)
	}
	if err := fx.RevokeKey(t.Context(), fx.p, k.ID); err != nil {
		t.Fatal(err)
	}
	_, err = fx.GetKey(t.Context(), fx.p, k.ID)
	wantCode(t, err, chargehand.CodeKeyNotFound)
	_, err = fx.PatchKey(t.Context(), fx.p, k.ID, map[string]any{"name": "y"})
	wantCode(t, err, chargehand.CodeKeyNotFound)
	wantCode(t, fx.RevokeKey(t.Context(), fx.p, k.ID), chargehand.CodeKeyNotFound)
}

func TestPatchKey(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	k, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x", "preset": "all", "rate_limit": 5}})
	if err != nil {
		t.Fatal(err)
	}
	fx.authenticate(k.Secret)
	patch := func(p *Principal, body string) (*Key, error) {
		return fx.PatchKey(t.Context(), p, k.ID, parse(t, body))
	}
	got, err := patch(fx.p, `{"name": "y", "expires_at": "2027-01-01T00:00:00Z"}`)
	if err != nil || got.Name != "y" || got.Scopes != PresetAll || got.RatePerSecond != 5 || got.ExpiresAt.IsZero() || got.Secret != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = patch(fx.p, `{"scopes": ["executions:read"], "workflows": ["`+flow.ID.String()+`"], "rate_limit": null, "expires_at": null}`)
	if err != nil || got.Name != "y" || got.Scopes != ScopeExecutionsRead || len(got.Limits.Workflows) != 1 || got.RatePerSecond != 0 || !got.ExpiresAt.IsZero() {
		t.Errorf("got %+v, %v", got, err)
	}
	if p := fx.authenticate(k.Secret); p.Scopes != ScopeExecutionsRead || !p.Sees(flow.ID) || len(p.Workflows) != 1 {
		t.Errorf("the change does not count at once: %+v", p)
	}
	weak := fx.principal(chargehand.Live, ScopeAdmin)
	for body, code := range map[string]chargehand.Code{
		`{"preset": "run"}`:       chargehand.CodeInsufficientScope,
		`{"workflows": null}`:     chargehand.CodeInsufficientScope,
		`{"name": ""}`:            chargehand.CodeInvalidBody,
		`{"scopes": ["admin"]}`:   chargehand.CodeInvalidBody,
		`{"environment": "test"}`: chargehand.CodeUnknownField,
		`{"workflows": ["` + newID[chargehand.WorkflowID](4).String() + `"]}`: chargehand.CodeWorkflowNotFound,
	} {
		_, err := patch(weak, body)
		wantCode(t, err, code)
	}
	if got, err := patch(weak, `{"name": "z"}`); err != nil || got.Name != "z" {
		t.Errorf("a weaker key may change the name: %+v, %v", got, err)
	}
}

// No key gives another more than it has, and none takes its own limits away: neither in one change nor in several.
func TestKeysGrantNoMoreThanTheyHave(t *testing.T) {
	fx := newFixture(t)
	end := epoch.Add(time.Hour)
	rate := int64(50)
	own := fx.authenticate(fx.issue(IssueKey{Scopes: ScopeAdmin | PresetRun, ExpiresAt: end, Rate: &rate}))
	create := func(p *Principal, body string) (*Key, error) {
		k, _, err := fx.CreateKey(t.Context(), p, CreateKey{Body: parse(t, body)})
		return k, err
	}
	child, err := create(own, `{"name": "child"}`)
	if err != nil || !child.ExpiresAt.Equal(end) || child.RatePerSecond != 50 {
		t.Fatalf("what the body does not say is that of the maker: %+v, %v", child, err)
	}
	less, err := create(own, `{"name": "less", "expires_at": "2026-03-01T12:30:00Z", "rate_limit": 5}`)
	if err != nil {
		t.Fatal(err)
	}
	strong, err := create(fx.p, `{"name": "strong", "preset": "all"}`)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := create(fx.p, `{"name": "plain", "preset": "run"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		`{"name": "x", "expires_at": null}`, `{"name": "x", "expires_at": "2026-03-01T13:00:00.001Z"}`,
		`{"name": "x", "rate_limit": 0}`, `{"name": "x", "rate_limit": null}`, `{"name": "x", "rate_limit": 51}`, `{"name": "x", "preset": "all"}`,
	} {
		_, err := create(own, body)
		wantCode(t, err, chargehand.CodeInsufficientScope)
	}
	for _, c := range []struct {
		id   chargehand.KeyID
		body string
		good bool
	}{
		{own.Key, `{"expires_at": null}`, false},
		{own.Key, `{"expires_at": "2026-03-01T13:00:01Z"}`, false},
		{own.Key, `{"rate_limit": 0}`, false},
		{own.Key, `{"rate_limit": null}`, false},
		{own.Key, `{"expires_at": null, "rate_limit": 0}`, false},
		{own.Key, `{"preset": "all"}`, false},
		{own.Key, `{"name": "me", "rate_limit": 40}`, true},
		{less.ID, `{"expires_at": "2026-03-01T13:00:00Z", "rate_limit": 40}`, true},
		{less.ID, `{"rate_limit": 51}`, false},
		{plain.ID, `{"preset": "operate"}`, false},          // it would live longer than the maker, and has more than it
		{plain.ID, `{"scopes": ["admin"]}`, false},          // the maker has it, but the key would live longer
		{plain.ID, `{"name": "renamed"}`, true},             // nothing is added
		{plain.ID, `{"scopes": ["executions:read"]}`, true}, // something is taken away
		{strong.ID, `{"rate_limit": 10}`, true},
		{strong.ID, `{"rate_limit": null}`, false},
		{strong.ID, `{"preset": "run"}`, true},
		{strong.ID, `{"preset": "all"}`, false}, // it was taken away
	} {
		_, err := fx.PatchKey(t.Context(), own, c.id, parse(t, c.body))
		switch {
		case c.good && err != nil:
			t.Errorf("%s: %v", c.body, err)
		case !c.good:
			wantCode(t, err, chargehand.CodeInsufficientScope)
		}
	}
	// An installation's rate is no limit of the key, but no key lifts it for itself.
	me := fx.authenticate(strong.Secret)
	boss := fx.authenticate(fx.issue(IssueKey{Scopes: PresetAll}))
	_, err = fx.PatchKey(t.Context(), boss, boss.Key, parse(t, `{"rate_limit": 0}`))
	wantCode(t, err, chargehand.CodeInsufficientScope)
	if _, err := fx.PatchKey(t.Context(), boss, me.Key, parse(t, `{"rate_limit": 0}`)); err != nil {
		t.Error(err)
	}
}

// A limited key that was an admin in an older version is none any more.
func TestLimitedKeyIsNoAdmin(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	secret := fx.issue(IssueKey{Scopes: PresetRun, Workflows: []string{"test/one"}, Namespaces: []string{"other"}})
	p := fx.authenticate(secret)
	if !p.Sees(flow.ID) || !slices.Equal(p.Limits.Namespaces, []string{"other"}) {
		t.Errorf("%+v", p)
	}
	err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		row, err := tx.KeyForUpdate(p.KeyNo)
		row.Scopes = "executions:read admin"
		return errors.Join(err, tx.UpdateKey(&row))
	})
	if err != nil {
		t.Fatal(err)
	}
	fx.keys.clear()
	if p = fx.authenticate(secret); p.Scopes != ScopeExecutionsRead {
		t.Errorf("it has %q", p.Scopes.Names())
	}
	fast, forever := int64(-1), []string{"no name space"}
	for _, r := range []IssueKey{
		{Scopes: PresetAll, Namespaces: []string{"a"}}, {Workflows: []string{"x"}}, {Namespaces: forever}, {Rate: &fast},
		{Scopes: ScopeWorkflowsPublish, Environment: chargehand.Test},
	} {
		_, err := Issue(t.Context(), fx.rows, make([]byte, 32), epoch, r)
		wantCode(t, err, chargehand.CodeInvalidParameter)
	}
	_, err = Issue(t.Context(), fx.rows, make([]byte, 32), epoch, IssueKey{Workflows: []string{"a/b"}})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
}

func TestIssueRefuses(t *testing.T) {
	fx := newFixture(t)
	for _, r := range []IssueKey{{ExpiresAt: epoch}, {Name: strings.Repeat("x", 201)}} {
		_, err := Issue(t.Context(), fx.rows, make([]byte, 32), epoch, r)
		wantCode(t, err, chargehand.CodeInvalidParameter)
	}
}

func TestScopes(t *testing.T) {
	all := []string{"workflows:read", "workflows:write", "workflows:publish", "workflows:start", "executions:create", "executions:read",
		"executions:read-own", "executions:manage", "tasks:read", "tasks:respond", "files:write", "events:write", "admin"}
	if !slices.Equal(PresetAll.Names(), all) {
		t.Errorf("all is %q", PresetAll.Names())
	}
	for i, name := range append(slices.Clone(all), "tasks:impersonate") {
		scope, ok := ParseScope(name)
		if !ok || scope != 1<<i || !slices.Equal(scope.Names(), []string{name}) {
			t.Errorf("%s is %b", name, scope)
		}
	}
	if _, ok := ParseScope("root"); ok {
		t.Error("root is a scope")
	}
	page, err := os.ReadFile("../../docs/reference/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| Scope |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, name := range scopeNames {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("the table of scopes in docs/reference/keys.md has no %s", name)
		}
	}
	for name, want := range map[string]string{
		"run":     "workflows:read executions:create executions:read",
		"observe": "workflows:read executions:read tasks:read",
		"operate": "workflows:read executions:create executions:read executions:manage tasks:read tasks:respond files:write events:write",
		"deploy":  "workflows:read workflows:write workflows:publish",
		"all":     strings.Join(all, " "),
	} {
		if scopes, ok := ParsePreset(name); !ok || strings.Join(scopes.Names(), " ") != want {
			t.Errorf("preset %s is %v", name, scopes.Names())
		}
	}
	if _, ok := ParsePreset("root"); ok {
		t.Error("root is a preset")
	}
}

func TestRequire(t *testing.T) {
	p := &Principal{Scopes: PresetObserve}
	if err := Require(p, ScopeExecutionsRead|ScopeTasksRead); err != nil {
		t.Error(err)
	}
	shown := wantCode(t, Require(p, ScopeExecutionsRead|ScopeAdmin|ScopeFilesWrite), chargehand.CodeInsufficientScope)
	if !strings.Contains(shown.Detail, "files:write, admin") || strings.Contains(shown.Detail, "executions:read") {
		t.Errorf("detail is %q, want what is missing", shown.Detail)
	}
}

// TestKeysThatSessionsMake: a key lives on when the session that made it ends, and needs no fresh sign-in, so that one
// which could do what needs a fresh sign-in is not made, or widened, without one.
func TestKeysThatSessionsMake(t *testing.T) {
	fx := newFixture(t)
	token := fx.signIn(fx.member("ada", store.Grant{Role: "admin"}))
	admin := func() *Principal { return fx.must(fx.session(token, chargehand.Live), ScopeAdmin, 0) }
	create := func(body map[string]any) (*Key, error) {
		key, _, err := fx.CreateKey(t.Context(), admin(), CreateKey{Body: body})
		return key, err
	}
	all, err := create(map[string]any{"name": "all", "preset": "all"})
	if err != nil {
		t.Fatal(err)
	}
	if !all.ExpiresAt.IsZero() || all.CreatedBy.String() != admin().User.String() {
		t.Errorf("a key that ends at %v, created by %v", all.ExpiresAt, all.CreatedBy)
	}
	fx.pass(session.Fresh)
	_, err = create(map[string]any{"name": "admin", "scopes": []any{"admin"}})
	wantRefusal(t, "an admin", err, chargehand.CodeFreshSignInRequired)
	run, err := create(map[string]any{"name": "run", "preset": "run"})
	if err != nil {
		t.Fatalf("a key of the preset run: %v", err)
	}
	_, err = fx.PatchKey(t.Context(), admin(), run.ID, map[string]any{"preset": "all"})
	wantRefusal(t, "made an admin", err, chargehand.CodeFreshSignInRequired)
	if _, err := fx.PatchKey(t.Context(), admin(), all.ID, map[string]any{"preset": "run"}); err != nil {
		t.Errorf("less: %v", err)
	}
}
