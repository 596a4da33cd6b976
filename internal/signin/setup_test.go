package signin

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// admin reports whether there is an active admin.
func (fx *fixture) admin() (found bool) {
	fx.t.Helper()
	err := fx.rows.View(fx.t.Context(), func(r *store.Reader) (err error) {
		found, err = r.HasAdmin(fx.account.No)
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return found
}

func TestSetupMakesTheFirstAdmin(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		if m := must(fx.Methods(ctx, home)); !m.Setup || !m.Password {
			t.Fatalf("methods of a new installation: %+v", m)
		}
		first := fx.beginSetup()
		text := fx.beginSetup()
		try := func(q Setup) error { _, err := fx.Setup(ctx, q, home); return err }
		refused(t, "an older token", try(Setup{Token: first, Name: "Ada", Email: "ada@example.com", Password: good}), chargehand.CodeInvalidCredentials, "not right")
		refused(t, "no token", try(Setup{Name: "Ada", Email: "ada@example.com", Password: good}), chargehand.CodeInvalidCredentials, "chargehand setup-token")
		for field, q := range map[string]Setup{
			"name":     {Token: text, Name: "Ada\u202e", Email: "ada@example.com", Password: good},
			"email":    {Token: text, Name: "Ada", Email: "ada", Password: good},
			"password": {Token: text, Name: "Ada", Email: "ada@example.com", Password: "password1234"},
		} {
			err := try(q)
			var shown *chargehand.Error
			if !errors.As(err, &shown) || shown.Code != chargehand.CodeInvalidBody || shown.Fields[0].Pointer != "/"+field {
				t.Errorf("a bad %s: %v", field, err)
			}
		}
		session, err := fx.Setup(ctx, Setup{Token: text, Name: "Ada", Email: "Ada@example.com", Password: good}, home)
		if err != nil || session.Token == "" || session.Person.Email != "Ada@example.com" || session.Account.Name != "default" || !session.Fresh(fx.time()) {
			t.Fatalf("%+v, %v", session, err)
		}
		if !fx.admin() {
			t.Error("there is no admin")
		}
		refused(t, "the same token", try(Setup{Token: text, Name: "Eve", Email: "eve@example.com", Password: good}), chargehand.CodeSetupDone, "set up already")
		if _, err := NewSetupToken(ctx, fx.rows, fx.time()); !errors.Is(err, ErrSetupDone) {
			t.Errorf("another token: %v", err)
		}
		if m := must(fx.Methods(ctx, home)); m.Setup {
			t.Error("the installation still asks for its set-up")
		}
	})
}

func TestASetupTokenEnds(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		text := fx.beginSetup()
		fx.advance(SetupLife)
		_, err := fx.Setup(t.Context(), Setup{Token: text, Name: "Ada", Email: "ada@example.com", Password: good}, home)
		refused(t, "after a day", err, chargehand.CodeInvalidCredentials, "older than 24 hours")
	})
}

// TestConcurrentSetups: of many with the same token, one makes the admin.
func TestConcurrentSetups(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		text := fx.beginSetup()
		other := New(fx.config()) // another node
		var made atomic.Int64
		var all sync.WaitGroup
		for i := range 10 {
			s := fx.Service
			if i%2 == 1 {
				s = other
			}
			all.Go(func() {
				_, err := s.Setup(t.Context(), Setup{Token: text, Name: "Ada", Email: strings.Repeat("a", i+1) + "@example.com", Password: good}, home)
				var shown *chargehand.Error
				switch {
				case err == nil:
					made.Add(1)
				case !errors.As(err, &shown) || shown.Code != chargehand.CodeSetupDone && shown.Code != chargehand.CodeInvalidCredentials:
					t.Errorf("a try that lost: %v", err)
				}
			})
		}
		all.Wait()
		if made.Load() != 1 {
			t.Errorf("%d admins were made", made.Load())
		}
	})
}

// TestCrashesOfSetup ends the process after the commit of set-up, which is the only one: a browser that learns nothing
// of it finds an installation with an admin.
func TestCrashesOfSetup(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		text := fx.beginSetup()
		fx.db.left.Store(1)
		if _, err := fx.Setup(ctx, Setup{Token: text, Name: "Ada", Email: "ada@example.com", Password: good}, home); err == nil {
			t.Fatal("the crash was not noticed")
		}
		fx.restart()
		if !fx.admin() {
			t.Fatal("after the crash there is no admin")
		}
		if _, err := fx.SignIn(ctx, "ada@example.com", good, home); err != nil {
			t.Fatal(err)
		}
		_, err := fx.Setup(ctx, Setup{Token: text, Name: "Eve", Email: "eve@example.com", Password: good}, home)
		refused(t, "the token again", err, chargehand.CodeSetupDone, "")
	})
}

func TestInvitations(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		fx.setUp()
		text := fx.invite("Bob@example.com", fx.account)
		found, err := fx.Invitation(ctx, text)
		if err != nil || found != (Invitation{Email: "Bob@example.com", Name: "Bobby", Account: "default"}) {
			t.Fatalf("%+v, %v", found, err)
		}
		_, err = fx.Accept(ctx, Accept{Token: text, Name: "Bob", Password: "short"}, home)
		refused(t, "a weak password", err, chargehand.CodeInvalidBody, "12 are needed")
		session, err := fx.Accept(ctx, Accept{Token: text, Name: "Bob", Password: good}, home)
		if err != nil || session.Person.Name != "Bob" || session.Token == "" {
			t.Fatalf("%+v, %v", session, err)
		}
		if _, err := fx.SignIn(ctx, "bob@EXAMPLE.com", good, home); err != nil {
			t.Error(err)
		}
		_, err = fx.Accept(ctx, Accept{Token: text, Name: "Eve", Password: good}, home)
		refused(t, "a second time", err, chargehand.CodeInvalidCredentials, "was used")
		late := fx.invite("carol@example.com", fx.account)
		fx.advance(72 * time.Hour)
		_, err = fx.Accept(ctx, Accept{Token: late, Name: "Carol", Password: good}, home)
		refused(t, "too late", err, chargehand.CodeInvalidCredentials, "expired")
	})
}

// TestAnInvitationOfAKnownPersonSetsNoPassword: it only adds a membership, after that person signs in.
func TestAnInvitationOfAKnownPersonSetsNoPassword(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		other := store.Account{ID: newID[chargehand.AccountID](), Name: "other", CreatedMs: 1}
		fx.change(func(tx *store.Tx) error { return tx.InsertAccount(&other) })
		text := fx.invite("ada@example.com", other)
		_, err := fx.Accept(ctx, Accept{Token: text, Name: "Eve", Password: "another horse battery"}, home)
		refused(t, "without a session", err, chargehand.CodeInvalidCredentials, "Sign in as that person")
		reset := "a link that the admins of the first account have made"
		fx.change(func(tx *store.Tx) error {
			return tx.InsertTicket(&store.Ticket{Hash: hashOf(reset), Kind: store.TicketReset, Person: ada.Person.No, CreatedMs: 1, ExpiresMs: fx.time().Add(time.Hour).UnixMilli()})
		})
		bob, err := fx.Accept(ctx, Accept{Token: fx.invite("bob@example.com", fx.account), Name: "Bob", Password: good}, home)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fx.Accept(ctx, Accept{Token: text, Session: bob}, home)
		refused(t, "with the session of another person", err, chargehand.CodeInvalidCredentials, "Sign in as that person")
		session, err := fx.Accept(ctx, Accept{Token: text, Password: "another horse battery", Session: ada}, home)
		if err != nil || session.Account.Name != "other" || len(session.Accounts) != 2 || session.Person.Name != "Ada" {
			t.Fatalf("%+v, %v", session, err)
		}
		_, err = fx.Reset(ctx, reset, "another horse battery", home)
		refused(t, "a link from before the membership", err, chargehand.CodeInvalidCredentials, "Ask for another")
		if _, err := fx.SignIn(ctx, "ada@example.com", good, home); err != nil {
			t.Errorf("the old password: %v", err)
		}
		switched, err := fx.SwitchAccount(ctx, session, fx.account.ID)
		if err != nil || switched.Account.Name != "default" || switched.Token == session.Token {
			t.Errorf("%+v, %v", switched, err)
		}
		_, err = fx.SwitchAccount(ctx, switched, newID[chargehand.AccountID]())
		refused(t, "a strange account", err, chargehand.CodeInvalidBody, "not the id")
	})
}

func TestCrashesOfAnInvitation(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		fx.setUp()
		text := fx.invite("bob@example.com", fx.account)
		fx.db.left.Store(1)
		if _, err := fx.Accept(ctx, Accept{Token: text, Name: "Bob", Password: good}, home); err == nil {
			t.Fatal("the crash was not noticed")
		}
		fx.restart()
		if _, err := fx.SignIn(ctx, "bob@example.com", good, home); err != nil {
			t.Errorf("the commit was made, but Bob cannot sign in: %v", err)
		}
		_, err := fx.Accept(ctx, Accept{Token: text, Name: "Eve", Password: "another horse battery"}, home)
		refused(t, "the invitation again", err, chargehand.CodeInvalidCredentials, "was used")
	})
}

func TestResets(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		text := "the secret of a link to set a password anew"
		fx.change(func(tx *store.Tx) error {
			return tx.InsertTicket(&store.Ticket{
				Hash: hashOf(text), Kind: store.TicketReset, Person: ada.Person.No, CreatedMs: 1, ExpiresMs: fx.time().Add(time.Hour).UnixMilli(),
			})
		})
		_, err := fx.Reset(ctx, text, "Ada@Example.com", home)
		refused(t, "a weak password", err, chargehand.CodeInvalidBody, "e-mail")
		_, err = fx.Reset(ctx, "another", "another horse battery", home)
		refused(t, "another secret", err, chargehand.CodeInvalidCredentials, "not right")
		session, err := fx.Reset(ctx, text, "another horse battery", home)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fx.Session(ctx, session.Token); err != nil {
			t.Error(err)
		}
		_, err = fx.Session(ctx, ada.Token)
		refused(t, "the session before", err, chargehand.CodeInvalidCredentials, "ended")
		_, err = fx.SignIn(ctx, "ada@example.com", good, home)
		refused(t, "the old password", err, chargehand.CodeInvalidCredentials, "")
		_, err = fx.Reset(ctx, text, "a third horse battery", home)
		refused(t, "the link again", err, chargehand.CodeInvalidCredentials, "was used")
	})
}
