package service

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/store"
)

// member inserts an active member of the account with grants.
func (fx *fixture) member(name string, grants ...store.Grant) store.Member {
	fx.t.Helper()
	return fx.insert(fx.newMember(name), grants...)
}

func (fx *fixture) insert(m store.Member, grants ...store.Grant) store.Member {
	fx.t.Helper()
	err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertPerson(&m.Person); err != nil {
			return err
		}
		return tx.InsertMember(&m)
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	for _, g := range grants {
		fx.give(m, g)
	}
	return m
}

// newMember is an active member of the account, not inserted.
func (fx *fixture) newMember(name string) store.Member {
	now := fx.nowMs()
	return store.Member{Account: fx.account.No, Status: store.Active, CreatedMs: now, Person: store.Person{
		ID: newID[chargehand.UserID](now), Email: name + "@example.org", EmailKey: name + "@example.org", Name: name, NameKey: name, CreatedMs: now,
	}}
}

func (fx *fixture) give(m store.Member, g store.Grant) store.Grant {
	fx.t.Helper()
	g.ID, g.Account = newID[chargehand.GrantID](fx.nowMs()), m.Account
	if g.Group == 0 {
		g.Person = m.Person.No
	}
	if g.Environments == 0 {
		g.Environments = store.BothEnvironments
	}
	if err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error { return tx.InsertGrant(&g) }); err != nil {
		fx.t.Fatal(err)
	}
	return g
}

// signIn begins a session of a member and returns its token.
func (fx *fixture) signIn(m store.Member) string {
	fx.t.Helper()
	var text string
	err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) (err error) {
		text, _, err = session.Begin(tx, session.SignIn{Person: m.Person.No, Account: m.Account, Method: "password", Address: "192.0.2.1", Agent: "test"}, fx.now())
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return text
}

func (fx *fixture) session(token string, env chargehand.Environment) *Principal {
	fx.t.Helper()
	p, err := fx.AuthenticateSession(fx.t.Context(), token, env)
	if err != nil {
		fx.t.Fatal(err)
	}
	return p
}

// as signs a new member with a role in.
func (fx *fixture) as(name, role string) *Principal {
	fx.t.Helper()
	return fx.session(fx.signIn(fx.member(name, store.Grant{Role: role})), chargehand.Live)
}

// must narrows a principal to scopes.
func (fx *fixture) must(p *Principal, scopes, instead Scopes) *Principal {
	fx.t.Helper()
	view, err := May(p, scopes, instead)
	if err != nil {
		fx.t.Fatal(err)
	}
	return view
}

func TestRolesHoldWhatTheyAreFor(t *testing.T) {
	for _, r := range Roles() {
		for _, env := range []chargehand.Environment{chargehand.Live, chargehand.Test} {
			if r.Scopes(env).Has(ScopeTasksImpersonate) {
				t.Errorf("%s may impersonate in %s", r.Name, env)
			}
			if r.Scopes(env).Has(ScopeAdmin) != (r.Name == "admin") {
				t.Errorf("%s in %s: %v", r.Name, env, r.Scopes(env).Names())
			}
			if env == chargehand.Test && r.Scopes(env).Has(ScopeWorkflowsPublish) {
				t.Errorf("%s publishes in test", r.Name)
			}
		}
	}
	for _, name := range []string{"", "Admin", "owner"} {
		if _, known := ParseRole(name); known {
			t.Errorf("there is a role %q", name)
		}
	}
	for _, preset := range []string{"run", "observe", "operate", "deploy", "all"} {
		if s, _ := ParsePreset(preset); s.Has(ScopeTasksImpersonate) {
			t.Errorf("preset %s may impersonate", preset)
		}
	}
}

// TestRightsAreAUnion: a person sees for each operation what the roles with its scope are over.
func TestRightsAreAUnion(t *testing.T) {
	fx := newFixture(t)
	order, refund := fx.apply(definition("order", "1.0.0")), fx.apply(definition("refund", "1.0.0"))
	m := fx.member("ada",
		store.Grant{Role: "viewer"},
		store.Grant{Role: "operator", Workflow: order.ID, Environments: store.OnlyLive},
		store.Grant{Role: "author", Namespace: "nosuch", Environments: store.OnlyTest})
	token := fx.signIn(m)
	live, test := fx.session(token, chargehand.Live), fx.session(token, chargehand.Test)
	if v := fx.must(live, ScopeExecutionsRead, 0); !v.Sees(order.ID) || !v.Sees(refund.ID) || !v.Limits.All() {
		t.Errorf("a viewer of everything sees %v", v.Workflows)
	}
	if v := fx.must(live, ScopeExecutionsCreate, 0); !v.Sees(order.ID) || v.Sees(refund.ID) || v.Limits.All() {
		t.Errorf("an operator of one workflow may start %v, within %+v", v.Workflows, v.Limits)
	}
	if v := fx.must(test, ScopeWorkflowsWrite, 0); v.Sees(order.ID) || !slices.Equal(v.Limits.Namespaces, []string{"nosuch"}) {
		t.Errorf("an author of one namespace may write %v, within %+v", v.Workflows, v.Limits)
	}
	for what, err := range map[string]error{
		"write in live": second(May(live, ScopeWorkflowsWrite, 0)), "admin": second(May(live, ScopeAdmin, 0)), "publish": second(May(test, ScopeWorkflowsPublish, 0)),
		"scopes of two roles": second(May(test, ScopeWorkflowsWrite|ScopeEventsWrite, 0)), "not narrowed": live.mayOn(ScopeWorkflowsPublish, order.ID, ""),
	} {
		wantRefusal(t, what, err, chargehand.CodeInsufficientScope)
	}
	if live.Sees(order.ID) {
		t.Error("a person who is not narrowed to an operation sees workflows")
	}
}

// wantRefusal is wantCode for one of several attempts.
func wantRefusal(t testing.TB, what string, err error, code chargehand.Code) {
	t.Helper()
	var shown *chargehand.Error
	if !errors.As(err, &shown) || shown.Code != code || shown.Detail == "" {
		t.Errorf("%s: error is %v, want code %s", what, err, code)
	}
}

func second[T any](_ T, err error) error { return err }

// TestParticipantSeesWhatItStarted: of workflows that it may start, a participant sees its own executions, batches and
// files alone.
func TestParticipantSeesWhatItStarted(t *testing.T) {
	fx := newFixture(t)
	order := fx.apply(definition("order", "1.0.0"))
	ada, bo := fx.as("ada", "participant"), fx.as("bo", "participant")
	starts := func(p *Principal) *Principal { return fx.must(p, ScopeExecutionsCreate, 0) }
	reads := func(p *Principal) *Principal { return fx.must(p, ScopeExecutionsRead, ScopeExecutionsReadOwn) }
	input := map[string]any{"amount": 5.0}
	own := fx.createAs(starts(ada), order.ID, input)
	foreign := fx.createAs(starts(bo), order.ID, input)
	byKey := fx.createAs(fx.p, order.ID, input)
	if _, err := fx.GetExecution(t.Context(), reads(ada), order.ID, own.ID, View{}); err != nil {
		t.Errorf("its own execution: %v", err)
	}
	for what, e := range map[string]*Execution{"another's": foreign, "a key's": byKey} {
		_, err := fx.GetExecution(t.Context(), reads(ada), order.ID, e.ID, View{})
		wantRefusal(t, what+" execution", err, chargehand.CodeExecutionNotFound)
		_, err = fx.WorkflowOf(t.Context(), reads(ada), e.ID)
		wantRefusal(t, what+" execution without its workflow", err, chargehand.CodeExecutionNotFound)
	}
	for _, q := range []ListExecutions{{Limit: 1}, {Limit: 1, Workflow: order.ID}} {
		if got := fx.pages(reads(ada), q); !slices.Equal(got, []chargehand.ExecutionID{own.ID}) {
			t.Errorf("the list %+v has %v, want %v alone", q, got, own.ID)
		}
	}
	upload := fx.upload(bo, "secret.txt", "of bo")
	_, err := fx.GetFile(t.Context(), reads(ada), ReadFile{ID: upload.ID}, View{})
	wantRefusal(t, "another's upload", err, chargehand.CodeFileNotFound)
	if _, err := fx.GetFile(t.Context(), reads(bo), ReadFile{ID: upload.ID}, View{}); err != nil {
		t.Errorf("its own upload: %v", err)
	}
	reference := map[string]any{"amount": 5.0, "file": map[string]any{"uri": "/api/v1/files/" + upload.ID.String()}}
	_, _, err = fx.CreateExecution(t.Context(), starts(ada), CreateExecution{Workflow: order.ID, Body: map[string]any{"input": reference}})
	wantRefusal(t, "another's upload in an input", err, chargehand.CodeInputInvalid)
	d, err := fx.GetWorkflow(t.Context(), fx.must(ada, ScopeWorkflowsRead, ScopeWorkflowsStart), order.ID)
	if err != nil || d.Definition != nil || d.Source != nil {
		t.Errorf("a participant reads the definition %s, %v", d.Definition, err)
	}
}

// TestViewerAndParticipant: what a viewer of one workflow sees as a whole, and what the same person has started of
// others, are in one list.
func TestViewerAndParticipant(t *testing.T) {
	fx := newFixture(t)
	order, refund := fx.apply(definition("order", "1.0.0")), fx.apply(definition("refund", "1.0.0"))
	m := fx.member("ada", store.Grant{Role: "viewer", Workflow: refund.ID}, store.Grant{Role: "participant"})
	p := fx.session(fx.signIn(m), chargehand.Live)
	var want []chargehand.ExecutionID
	for i := range 6 {
		fx.pass(time.Millisecond)
		by, flow := fx.p, []*AppliedWorkflow{order, refund}[i%2]
		if i >= 3 {
			by = fx.must(p, ScopeExecutionsCreate, 0)
		}
		e := fx.createAs(by, flow.ID, map[string]any{"amount": 5.0})
		if i >= 3 || flow == refund {
			want = append([]chargehand.ExecutionID{e.ID}, want...)
		}
	}
	reads := fx.must(p, ScopeExecutionsRead, ScopeExecutionsReadOwn)
	if got := fx.pages(reads, ListExecutions{Limit: 2}); !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

// TestKeyThatReadsItsOwn: a key with executions:read-own finds its executions among those of all.
func TestKeyThatReadsItsOwn(t *testing.T) {
	fx := newFixture(t)
	order := fx.apply(definition("order", "1.0.0"))
	fx.pass(time.Second)
	p := fx.principal(chargehand.Live, ScopeExecutionsCreate|ScopeExecutionsReadOwn)
	own := fx.createAs(p, order.ID, map[string]any{"amount": 5.0})
	fx.create(order.ID, map[string]any{"amount": 5.0})
	if got := fx.pages(fx.must(p, ScopeExecutionsRead, ScopeExecutionsReadOwn), ListExecutions{Limit: 2}); !slices.Equal(got, []chargehand.ExecutionID{own.ID}) {
		t.Errorf("listed %v, want %v", got, own.ID)
	}
	wantRefusal(t, "without it", second(May(fx.principal(chargehand.Live, ScopeExecutionsCreate), ScopeExecutionsRead, ScopeExecutionsReadOwn)), chargehand.CodeInsufficientScope)
}

func TestSessions(t *testing.T) {
	fx := newFixture(t)
	m := fx.member("ada", store.Grant{Role: "viewer"})
	token := fx.signIn(m)
	p := fx.session(token, chargehand.Live)
	if p.Kind != KindUser || p.User != m.Person.ID || p.Name != "ada" || p.ActorID() != m.Person.ID.String() || p.Outdated {
		t.Errorf("principal %+v", p)
	}
	ended := func(what, token string) {
		t.Helper()
		_, err := fx.AuthenticateSession(t.Context(), token, chargehand.Live)
		wantRefusal(t, what, err, chargehand.CodeInvalidCredentials)
	}
	for _, bad := range []string{"", "x", token + "x", token[1:]} {
		ended(fmt.Sprintf("%q", bad), bad)
	}
	other := fx.signIn(m)
	page, err := fx.ListSessions(t.Context(), p, 1, Cursor{})
	if err != nil || len(page.Data) != 1 || page.Data[0].Current || page.Cursor.IsZero() {
		t.Errorf("first page %+v, %v", page, err)
	}
	page, err = fx.ListSessions(t.Context(), p, 1, page.Cursor)
	if err != nil || len(page.Data) != 1 || !page.Data[0].Current || !page.Cursor.IsZero() {
		t.Errorf("second page %+v, %v", page, err)
	}
	if err := fx.RevokeOtherSessions(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	ended("another session that was revoked", other)
	stranger := fx.as("bo", "admin")
	wantRefusal(t, "another's session", fx.RevokeSession(t.Context(), stranger, p.Session), chargehand.CodeSessionNotFound)
	if err := fx.RevokeSession(t.Context(), p, p.Session); err != nil {
		t.Fatal(err)
	}
	ended("its own session that was revoked", token)
}

// TestAnotherSessionEndsWithItsPrograms: a thief whose session is ended gets no keys by a request that it has allowed
// before. Who signs out keeps the programs that were just allowed.
func TestAnotherSessionEndsWithItsPrograms(t *testing.T) {
	fx := newFixture(t)
	m := fx.member("ada", store.Grant{Role: "viewer"})
	bo := fx.member("bo", store.Grant{Role: "viewer"})
	hash := func(text string) []byte { h := sha256.Sum256([]byte(text)); return h[:] }
	allowed := func() bool {
		t.Helper()
		open := false
		err := fx.rows.View(t.Context(), func(r *store.Reader) error {
			_, err := r.FindTicket(store.TicketDevice, hash("device"), fx.nowMs())
			open = err == nil
			if errors.Is(err, store.ErrNotFound) {
				err = nil
			}
			_, of := r.FindTicket(store.TicketDevice, hash("of another"), fx.nowMs())
			return errors.Join(err, of)
		})
		if err != nil {
			t.Fatal(err)
		}
		return open
	}
	allow := func(of store.Member, text string) {
		t.Helper()
		err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
			return tx.InsertTicket(&store.Ticket{
				Hash: hash(text), Kind: store.TicketDevice, Code: hash("code of " + text), Account: of.Account, Person: of.Person.No,
				CreatedMs: fx.nowMs(), ExpiresMs: fx.nowMs() + 1000,
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	allow(bo, "of another")
	p := fx.session(fx.signIn(m), chargehand.Live)
	for name, end := range map[string]func(other *Principal) error{
		"one":  func(other *Principal) error { return fx.RevokeSession(t.Context(), p, other.Session) },
		"all":  func(*Principal) error { return fx.RevokeOtherSessions(t.Context(), p) },
		"none": func(other *Principal) error { return fx.RevokeSession(t.Context(), other, other.Session) },
	} {
		if !allowed() {
			allow(m, "device")
		}
		if err := end(fx.session(fx.signIn(m), chargehand.Live)); err != nil {
			t.Fatal(err)
		}
		if got := allowed(); got != (name == "none") {
			t.Errorf("%s of the others is ended: the request counts: %t", name, got)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	fx := newFixture(t)
	m := fx.member("ada", store.Grant{Role: "viewer"})
	idle, used := fx.signIn(m), fx.signIn(m)
	for range 3 {
		fx.pass(6 * time.Hour)
		fx.session(used, chargehand.Live)
		if err := fx.writeSessionUses(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := fx.AuthenticateSession(t.Context(), idle, chargehand.Live)
	wantRefusal(t, "an idle session", err, chargehand.CodeInvalidCredentials)
	for range 14*4 - 4 {
		fx.pass(6 * time.Hour)
		fx.session(used, chargehand.Live)
		if err := fx.writeSessionUses(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	fx.pass(6 * time.Hour)
	_, err = fx.AuthenticateSession(t.Context(), used, chargehand.Live)
	wantRefusal(t, "a session after its last day", err, chargehand.CodeInvalidCredentials)
	fx.sweep()
	if list, err := fx.ListSessions(t.Context(), &Principal{PersonNo: m.Person.No, SessionNo: 1}, 10, Cursor{}); err != nil || len(list.Data) != 0 {
		t.Errorf("sessions %+v, %v", list, err)
	}
}

// TestChangesOfRightsCount: on another node within a second, and with another token.
func TestChangesOfRightsCount(t *testing.T) {
	fx := newFixture(t)
	m := fx.member("ada", store.Grant{Role: "viewer"})
	token := fx.signIn(m)
	fx.session(token, chargehand.Live)
	fx.give(m, store.Grant{Role: "operator"}) // as another node does, of which this one learns from the rows
	fx.pass(time.Second)
	p := fx.session(token, chargehand.Live)
	if !p.Outdated || !p.Scopes.Has(ScopeExecutionsManage) {
		t.Errorf("after a grant: outdated %t, scopes %v", p.Outdated, p.Scopes.Names())
	}
	renewed, err := fx.RenewSession(t.Context(), p, token)
	if err != nil {
		t.Fatal(err)
	}
	if p = fx.session(renewed, chargehand.Live); p.Outdated {
		t.Error("the new token is outdated")
	}
	if fx.session(token, chargehand.Live).Outdated {
		t.Error("a request that is on its way with the token before is to renew it again")
	}
	_, err = fx.RenewSession(t.Context(), p, token)
	wantRefusal(t, "renewed twice", err, chargehand.CodeInvalidCredentials)
	fx.pass(session.OldToken)
	_, err = fx.AuthenticateSession(t.Context(), token, chargehand.Live)
	wantRefusal(t, "the token before", err, chargehand.CodeInvalidCredentials)
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.SetMemberStatus(m.No, store.Active, store.Disabled) }); err != nil {
		t.Fatal(err)
	}
	fx.pass(time.Second)
	_, err = fx.AuthenticateSession(t.Context(), renewed, chargehand.Live)
	wantRefusal(t, "a disabled member", err, chargehand.CodeInvalidCredentials)
}

func TestFreshSignIn(t *testing.T) {
	fx := newFixture(t)
	token := fx.signIn(fx.member("ada"))
	if err := fx.RequireFresh(fx.session(token, chargehand.Live)); err != nil {
		t.Errorf("after the sign-in: %v", err)
	}
	fx.pass(session.Fresh)
	p := fx.session(token, chargehand.Live)
	wantRefusal(t, "later", fx.RequireFresh(p), chargehand.CodeFreshSignInRequired)
	if err := fx.RequireFresh(fx.p); err != nil {
		t.Errorf("a key: %v", err)
	}
}

// TestIdempotencyKeysAreOnesOwn: the same Idempotency-Key of two principals names two requests.
func TestIdempotencyKeysAreOnesOwn(t *testing.T) {
	fx := newFixture(t)
	order := fx.apply(definition("order", "1.0.0"))
	seen := map[chargehand.ExecutionID]bool{}
	fx.pass(time.Second)
	for _, p := range []*Principal{fx.p, fx.principal(chargehand.Live, PresetAll), fx.must(fx.as("ada", "operator"), ScopeExecutionsCreate, 0)} {
		for range 2 {
			e, _, err := fx.CreateExecution(t.Context(), p, CreateExecution{
				Workflow: order.ID, Body: map[string]any{"input": map[string]any{"amount": 5.0}}, Idempotency: &Idempotency{Method: "POST", Path: "/x", Key: "k"},
			})
			if err != nil {
				t.Fatal(err)
			}
			seen[e.ID] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("three principals have started %d executions", len(seen))
	}
}
