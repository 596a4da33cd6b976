package signin

import (
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/peer/virtualkey"
	"github.com/chargehand/chargehand/internal/signin/passkey"
)

// atHome is a client at an address where passkeys work.
var atHome = Client{Address: home.Address, Agent: "test", Origin: &url.URL{Scheme: "http", Host: "localhost:8080"}}

// authenticator makes and uses passkeys of a person, as a browser does.
type authenticator struct {
	party      virtualwebauthn.RelyingParty
	keys       virtualwebauthn.Authenticator
	credential virtualwebauthn.Credential
}

func newAuthenticator(person chargehand.UserID) *authenticator {
	return &authenticator{
		party:      virtualwebauthn.RelyingParty{ID: "localhost", Name: "Chargehand", Origin: "http://localhost:8080"},
		keys:       virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: person[:]}),
		credential: virtualkey.New(),
	}
}

func (d *authenticator) create(c Ceremony) []byte {
	options := must(virtualwebauthn.ParseAttestationOptions(string(c.Options)))
	defer d.keys.AddCredential(d.credential)
	return []byte(virtualwebauthn.CreateAttestationResponse(d.party, d.keys, d.credential, *options))
}

func (d *authenticator) use(c Ceremony) []byte {
	d.credential.Counter++
	options := must(virtualwebauthn.ParseAssertionOptions(string(c.Options)))
	return []byte(virtualwebauthn.CreateAssertionResponse(d.party, d.keys, d.credential, *options))
}

// addPasskeyOf gives the person of a session a passkey.
func (fx *fixture) addPasskeyOf(session *Session, d *authenticator) (Passkey, error) {
	fx.t.Helper()
	c, err := fx.BeginPasskey(fx.t.Context(), session, atHome)
	if err != nil {
		return Passkey{}, err
	}
	return fx.AddPasskey(fx.t.Context(), session, "Phone", c.Way, d.create(c), atHome)
}

func TestPasskeysSignIn(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		d := newAuthenticator(ada.Person.ID)
		added, err := fx.addPasskeyOf(ada, d)
		if err != nil || added.Name != "Phone" {
			t.Fatalf("%+v, %v", added, err)
		}
		other := New(fx.config()) // another node, which has the same key
		c := must(fx.BeginPasskeySignIn(atHome))
		answer := d.use(c)
		_, err = fx.PasskeySignIn(ctx, must(fx.BeginPasskeySignIn(atHome)).Way, answer, atHome)
		refused(t, "in another browser", err, chargehand.CodeInvalidCredentials, "not accepted")
		session, err := other.PasskeySignIn(ctx, c.Way, answer, atHome)
		if err != nil || session.Person.No != ada.Person.No || session.Token == "" || session.row.Method != "passkey" {
			t.Fatalf("%+v, %v", session, err)
		}
		_, err = fx.PasskeySignIn(ctx, c.Way, answer, atHome)
		refused(t, "a second time", err, chargehand.CodeInvalidCredentials, "not accepted")
		if list := must(fx.Passkeys(ctx, session)); len(list) != 1 || list[0].ID != added.ID || !list[0].LastUsedAt.Equal(fx.time()) {
			t.Errorf("listed: %+v", list)
		}
		c = must(fx.BeginPasskeySignIn(atHome))
		answer = d.use(c)
		fx.advance(passkey.Life)
		_, err = fx.PasskeySignIn(ctx, c.Way, answer, atHome)
		refused(t, "too late", err, chargehand.CodeInvalidCredentials, "not accepted")
		_, err = fx.PasskeySignIn(ctx, "", answer, atHome)
		refused(t, "without a cookie", err, chargehand.CodeInvalidCredentials, "not accepted")
		_, err = fx.BeginPasskeySignIn(home)
		refused(t, "at an unknown address", err, chargehand.CodeStateConflict, "--public-url")
	})
}

// TestOneAnswerSignsInOnce: of many that send the same answer at once, on two nodes, one succeeds.
func TestOneAnswerSignsInOnce(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ada := fx.setUp()
		d := newAuthenticator(ada.Person.ID)
		if _, err := fx.addPasskeyOf(ada, d); err != nil {
			t.Fatal(err)
		}
		c := must(fx.BeginPasskeySignIn(atHome))
		answer := d.use(c)
		nodes := []*Service{fx.Service, New(fx.config())}
		var in atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if _, err := nodes[i%2].PasskeySignIn(t.Context(), c.Way, answer, atHome); err == nil {
					in.Add(1)
				}
			})
		}
		all.Wait()
		if in.Load() != 1 {
			t.Errorf("%d have signed in", in.Load())
		}
	})
}

func TestPasskeysConfirmASignIn(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		d := newAuthenticator(ada.Person.ID)
		if _, err := fx.addPasskeyOf(ada, d); err != nil {
			t.Fatal(err)
		}
		bob := must(fx.Accept(ctx, Accept{Token: fx.invite("bob@example.com", fx.account), Name: "Bob", Password: good}, home))
		fx.advance(11 * time.Minute)
		_, err := fx.addPasskeyOf(ada, newAuthenticator(ada.Person.ID))
		refused(t, "adding without a fresh sign-in", err, chargehand.CodeFreshSignInRequired, "")
		c := must(fx.BeginPasskeySignIn(atHome))
		_, err = fx.VerifyPasskey(ctx, bob, c.Way, d.use(c), atHome)
		refused(t, "with the passkey of another", err, chargehand.CodeInvalidCredentials, "another person")
		c = must(fx.BeginPasskeySignIn(atHome))
		answer := d.use(c)
		session, err := fx.VerifyPasskey(ctx, ada, c.Way, answer, atHome)
		if err != nil || !session.Fresh(fx.time()) || session.Token == "" || session.Token == ada.Token {
			t.Fatalf("%+v, %v", session, err)
		}
		_, err = fx.VerifyPasskey(ctx, session, c.Way, answer, atHome)
		refused(t, "the same answer again", err, chargehand.CodeInvalidCredentials, "not accepted")
	})
}

// TestTheLastWayToSignInStays in turn: a passkey beside a password may go, one alone may not.
func TestTheLastWayToSignInStays(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		first := must(fx.addPasskeyOf(ada, newAuthenticator(ada.Person.ID)))
		if err := fx.RemovePasskey(ctx, ada, first.ID); err != nil {
			t.Fatalf("beside a password: %v", err)
		}
		refused(t, "again", fx.RemovePasskey(ctx, ada, first.ID), chargehand.CodePasskeyNotFound, "")

		bob := must(fx.Accept(ctx, Accept{Token: fx.invite("bob@example.com", fx.account), Name: "Bob"}, atHome))
		one, two := must(fx.addPasskeyOf(bob, newAuthenticator(bob.Person.ID))), must(fx.addPasskeyOf(bob, newAuthenticator(bob.Person.ID)))
		refused(t, "that of another person", fx.RemovePasskey(ctx, ada, one.ID), chargehand.CodePasskeyNotFound, "")
		var removed atomic.Int64
		var all sync.WaitGroup
		for _, k := range []Passkey{one, two} {
			all.Go(func() {
				if fx.RemovePasskey(ctx, bob, k.ID) == nil {
					removed.Add(1)
				}
			})
		}
		all.Wait()
		if left := must(fx.Passkeys(ctx, bob)); removed.Load() != 1 || len(left) != 1 {
			t.Errorf("%d removed, left %+v", removed.Load(), left)
		}
		for range passkey.MaxPerPerson - 1 {
			must(fx.addPasskeyOf(bob, newAuthenticator(bob.Person.ID)))
		}
		_, err := fx.addPasskeyOf(bob, newAuthenticator(bob.Person.ID))
		refused(t, "more than a person may have", err, chargehand.CodeStateConflict, "20 passkeys")
	})
}

// TestSetupWithoutAPassword: until there is a passkey the token counts again, and there is one admin, however many gave
// up before.
func TestSetupWithoutAPassword(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		done := 0
		config := fx.config()
		config.SetUp = func() { done++ }
		fx.Service = New(config)
		text := fx.beginSetup()
		_, err := fx.Setup(ctx, Setup{Token: text, Name: "Ada", Email: "ada@example.com"}, home)
		refused(t, "where passkeys do not work", err, chargehand.CodeInvalidBody, "password is missing")
		gone := must(fx.Setup(ctx, Setup{Token: text, Name: "Eve", Email: "eve@example.com"}, atHome))
		if m := must(fx.Methods(ctx, atHome)); !m.Setup || !m.Passkeys || done != 0 {
			t.Errorf("after a set-up without a passkey: %+v, done %d", m, done)
		}
		first := must(fx.Setup(ctx, Setup{Token: text, Name: "Ada", Email: "ada@example.com"}, atHome))
		begun := must(fx.BeginPasskey(ctx, first, atHome))
		ada := must(fx.Setup(ctx, Setup{Token: text, Name: "Ada L.", Email: "Ada@example.com"}, atHome))
		if ada.Person.No != first.Person.No || ada.Person.Name != "Ada L." {
			t.Errorf("comes again: %+v", ada.Person)
		}
		for _, s := range []*Session{gone, first} {
			_, err := fx.Session(ctx, s.Token)
			refused(t, "the session of who gave way", err, chargehand.CodeInvalidCredentials, "ended")
		}
		_, err = fx.AddPasskey(ctx, first, "", begun.Way, newAuthenticator(first.Person.ID).create(begun), atHome)
		refused(t, "a passkey of who gave way", err, chargehand.CodeInvalidCredentials, "ended")
		later := must(NewSetupToken(ctx, fx.rows, fx.time())) // as a server makes one that starts again
		_, err = fx.Setup(ctx, Setup{Token: text, Name: "Ada", Email: "ada@example.com"}, atHome)
		refused(t, "an older token", err, chargehand.CodeInvalidCredentials, "not right")
		ada = must(fx.Setup(ctx, Setup{Token: later, Name: "Ada", Email: "ada@example.com"}, atHome))
		d := newAuthenticator(ada.Person.ID)
		if _, err := fx.addPasskeyOf(ada, d); err != nil || done != 1 {
			t.Fatalf("%v, done %d", err, done)
		}
		_, err = fx.Setup(ctx, Setup{Token: later, Name: "Eve", Email: "eve@example.com", Password: good}, atHome)
		refused(t, "the token, with an admin who can sign in", err, chargehand.CodeSetupDone, "")
		c := must(fx.BeginPasskeySignIn(atHome))
		if _, err := fx.PasskeySignIn(ctx, c.Way, d.use(c), atHome); err != nil || !fx.admin() {
			t.Errorf("sign-in of the admin: %v", err)
		}
	})
}

// TestInvitationsWithoutAPassword: the invitation counts again until there is a passkey, and for no other person.
func TestInvitationsWithoutAPassword(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		fx.setUp()
		text := fx.invite("bob@example.com", fx.account)
		_, err := fx.Accept(ctx, Accept{Token: text}, home)
		refused(t, "where passkeys do not work", err, chargehand.CodeInvalidBody, "password is missing")
		first := must(fx.Accept(ctx, Accept{Token: text}, atHome))
		other := fx.anotherAccount()
		elsewhere := fx.invite("bob@example.com", other)
		_, err = fx.Accept(ctx, Accept{Token: elsewhere, Password: good}, atHome)
		refused(t, "an invitation of another account takes the person over", err, chargehand.CodeInvalidCredentials, "Sign in as that person")
		bob := must(fx.Accept(ctx, Accept{Token: text, Name: "Bob"}, atHome))
		_, err = fx.Session(ctx, first.Token)
		refused(t, "the session before", err, chargehand.CodeInvalidCredentials, "ended")
		if _, err := fx.addPasskeyOf(bob, newAuthenticator(bob.Person.ID)); err != nil || bob.Person.No != first.Person.No {
			t.Fatal(err)
		}
		_, err = fx.Accept(ctx, Accept{Token: text, Password: good}, atHome)
		refused(t, "with a passkey", err, chargehand.CodeInvalidCredentials, "was used")
	})
}

// TestAPasskeyProvesThePerson: it is all that a sign-in asks for, so that having the authenticator is not enough.
func TestAPasskeyProvesThePerson(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ada := fx.setUp()
		d := newAuthenticator(ada.Person.ID)
		must(fx.addPasskeyOf(ada, d))
		d.keys.Options.UserNotVerified = true
		c := must(fx.BeginPasskeySignIn(atHome))
		_, err := fx.PasskeySignIn(t.Context(), c.Way, d.use(c), atHome)
		refused(t, "signed in by the finder of the authenticator", err, chargehand.CodeInvalidCredentials, "not accepted")
		c = must(fx.BeginPasskeySignIn(atHome))
		_, err = fx.VerifyPasskey(t.Context(), ada, c.Way, d.use(c), atHome)
		refused(t, "confirmed by its finder", err, chargehand.CodeInvalidCredentials, "not accepted")
		other := newAuthenticator(ada.Person.ID)
		other.keys.Options.UserNotVerified = true
		_, err = fx.addPasskeyOf(ada, other)
		refused(t, "one that asks for nothing", err, chargehand.CodeInvalidCredentials, "not accepted")
	})
}

// TestFailedPasskeysAreOnRecord: of the person whose passkey it is, if what came is an answer to what was asked here.
func TestFailedPasskeysAreOnRecord(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		d := newAuthenticator(ada.Person.ID)
		if _, err := fx.addPasskeyOf(ada, d); err != nil {
			t.Fatal(err)
		}
		failed := func() (names string) {
			for _, e := range fx.entries() {
				if e.Action == string(audit.SessionFailed) {
					names += e.TargetName + " " + strconv.FormatInt(e.Occurred, 10) + ";"
				}
			}
			return names
		}
		_, err := fx.PasskeySignIn(ctx, "", nil, atHome)
		refused(t, "what the server has not asked for", err, chargehand.CodeInvalidCredentials, "")
		if got := failed(); got != "" {
			t.Errorf("on record: %s", got)
		}
		answer := d.use(must(fx.BeginPasskeySignIn(atHome)))
		_, err = fx.PasskeySignIn(ctx, must(fx.BeginPasskeySignIn(atHome)).Way, answer, atHome)
		refused(t, "the answer to another question", err, chargehand.CodeInvalidCredentials, "")
		if got := failed(); got != " 1;" && got != "ada@example.com 1;" && got != "Ada@example.com 1;" {
			t.Errorf("on record: %s", got)
		}
		stranger := newAuthenticator(newID[chargehand.UserID]())
		stranger.keys.AddCredential(stranger.credential)
		c := must(fx.BeginPasskeySignIn(atHome))
		_, err = fx.VerifyPasskey(ctx, ada, c.Way, stranger.use(c), atHome)
		refused(t, "an unknown passkey", err, chargehand.CodeInvalidCredentials, "")
		if got := failed(); !strings.Contains(got, " 1;") && !strings.Contains(got, " 2;") {
			t.Errorf("on record: %s", got)
		}
	})
}
