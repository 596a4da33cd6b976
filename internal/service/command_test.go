package service

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

func (fx *fixture) command() Command { return Command{Store: fx.rows, Now: fx.now()} }

// TestAccountsOfCommands: of two that make an account of one name at once, one succeeds, whatever the case.
func TestAccountsOfCommands(t *testing.T) {
	fx := newFixture(t)
	var all sync.WaitGroup
	errs := make([]error, 2)
	for i, name := range []string{"Research", "research"} {
		all.Go(func() { _, errs[i] = fx.command().CreateAccount(t.Context(), name) })
	}
	all.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("%v and %v", errs[0], errs[1])
	}
	if _, err := fx.command().RenameAccount(t.Context(), "RESEARCH", "research"); err != nil {
		t.Errorf("another case of its own name: %v", err)
	}
	_, err := fx.command().RenameAccount(t.Context(), "research", "Default")
	wantRefusal(t, "taken", err, chargehand.CodeStateConflict)
	_, err = fx.command().RenameAccount(t.Context(), "nowhere", "x")
	wantRefusal(t, "unknown", err, chargehand.CodeAccountNotFound)
	for _, name := range []string{"", " ", "a\u202eb", strings.Repeat("x", 10_000)} {
		_, err := fx.command().CreateAccount(t.Context(), name)
		wantRefusal(t, "hostile", err, chargehand.CodeInvalidParameter)
	}
}

// TestDisablePerson: the person ends in all accounts within the life of the cache, and no account loses its last admin.
func TestDisablePerson(t *testing.T) {
	fx := newFixture(t)
	ctx := audit.FromCommand(t.Context(), "persons disable")
	ada := fx.admin("ada")
	_, err := fx.command().DisablePerson(ctx, "ada@example.org", true)
	wantRefusal(t, "the last admin", err, chargehand.CodeLastAdmin)
	text := fx.signIn(fx.member("bo", store.Grant{Role: "admin"}))
	if _, err := fx.AuthenticateSession(t.Context(), text, chargehand.Live); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if p, err := fx.command().DisablePerson(ctx, strings.ToUpper("bo@example.org"), true); err != nil || p.DisabledMs == 0 {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	fx.pass(2 * time.Second)
	if _, err := fx.AuthenticateSession(t.Context(), text, chargehand.Live); err == nil {
		t.Error("the session of a disabled person counts")
	}
	wantRefusal(t, "disabled", second(fx.command().ResetPerson(ctx, "bo@example.org", "https://x")), chargehand.CodeStateConflict)
	log, err := fx.ListAudit(t.Context(), ada, ListAudit{Action: audit.UserChanged, Limit: 10})
	if err != nil || len(log.Data) != 1 || log.Data[0].Actor.Name != "chargehand persons disable" {
		t.Errorf("%+v, %v", log, err)
	}
	if _, err := fx.command().DisablePerson(ctx, "bo@example.org", false); err != nil {
		t.Fatal(err)
	}
	if _, err := fx.AuthenticateSession(t.Context(), text, chargehand.Live); err == nil {
		t.Error("a session that was ended counts again")
	}
	link, err := fx.command().ResetPerson(ctx, "bo@example.org", "https://chargehand.example.com")
	secret, ok := strings.CutPrefix(link.URL, "https://chargehand.example.com/password-reset#token=")
	if err != nil || !ok || !token.WellFormed(secret) {
		t.Errorf("%+v, %v", link, err)
	}
	_, err = fx.command().DisablePerson(ctx, "missing@example.com", true)
	wantRefusal(t, "unknown", err, chargehand.CodeUserNotFound)
}

// TestCreateUserByCommand: an invitation with a role, which a second one does not give twice.
func TestCreateUserByCommand(t *testing.T) {
	fx := newFixture(t)
	ada := fx.admin("ada")
	q := NewUser{Email: "Grace@example.com", Name: "Grace", Role: "admin", BaseURL: "https://x"}
	for range 2 {
		if link, err := fx.command().CreateUser(t.Context(), q); err != nil || !strings.HasPrefix(link.URL, "https://x/invitation#token=") {
			t.Fatalf("%+v, %v", link, err)
		}
	}
	all, err := fx.ListGrants(t.Context(), ada, ListGrants{Limit: 10})
	if err != nil || len(all.Data) != 2 || all.Data[0].CreatedBy != creatorCommandLine {
		t.Errorf("%+v, %v", all, err)
	}
	for name, bad := range map[string]NewUser{
		"e-mail": {Email: "x", Name: "X"}, "name": {Email: "a@example.com", Name: "\u202e"}, "role": {Email: "a@example.com", Name: "A", Role: "boss"},
	} {
		wantRefusal(t, name, second(fx.command().CreateUser(t.Context(), bad)), chargehand.CodeInvalidParameter)
	}
	q.Account = "nowhere"
	wantRefusal(t, "account", second(fx.command().CreateUser(t.Context(), q)), chargehand.CodeAccountNotFound)
}
