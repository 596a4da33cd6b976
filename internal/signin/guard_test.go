package signin

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	rules "github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/signin/oidc"
	"github.com/chargehand/chargehand/internal/signin/password"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

// client is a browser at an address.
func client(address string) Client {
	return Client{Address: netip.MustParseAddr(address), Agent: "test"}
}

// isLimited reports whether an error tells to wait.
func isLimited(err error) bool {
	var shown *chargehand.Error
	return errors.As(err, &shown) && shown.Code == chargehand.CodeRateLimited
}

// guess tries wrong passwords of ada from a place until it has to wait, and then each time it may.
func (fx *fixture) guess(from Client, times int) (tested int) {
	for range times {
		_, err := fx.SignIn(fx.t.Context(), "ada@example.com", "a wrong password", from)
		if !isLimited(err) {
			tested++
		}
	}
	return tested
}

// TestAttacksLockNoPersonOut: one who tries wrong passwords all the time keeps the person out from nowhere else,
// whether the person is new there, has signed in from that browser before, or has a session.
func TestAttacksLockNoPersonOut(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		eve, office := client("203.0.113.66"), client("192.0.2.7")
		for range 60 { // half an hour, at the first moment that each try is let in
			if fx.guess(eve, 1) != 1 {
				t.Fatal("the attack is slower than it could be")
			}
			fx.advance(30 * time.Second)
		}
		fx.guess(eve, 1)
		if _, err := fx.SignIn(ctx, "ada@example.com", good, client("198.51.100.9")); err != nil {
			t.Errorf("from a new place: %v", err)
		}
		fx.guess(office, 5) // a guest in the same office
		if _, err := fx.SignIn(ctx, "ada@example.com", good, office); !isLimited(err) {
			t.Errorf("from a place that has failed, in a browser that is not known: %v", err)
		}
		known := office
		known.Browser = ada.Browser
		if _, err := fx.SignIn(ctx, "ada@example.com", good, known); err != nil {
			t.Errorf("in the browser of the set-up: %v", err)
		}
		if _, err := fx.VerifyPassword(ctx, must(fx.Session(ctx, ada.Token)), good, eve); err != nil {
			t.Errorf("verifying: %v", err)
		}
	})
}

// TestGuessesFromManyNetworks: those that have failed share one delay, and those that have not wait for none of them.
func TestGuessesFromManyNetworks(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		fx.setUp()
		var eves []Client
		for i := range 16 {
			eves = append(eves, client("203.0.113."+strconv.Itoa(i+1)), client("2001:db8:"+strconv.Itoa(i+1)+"::1"))
		}
		tested := 0
		const rounds = 40 // of 30 seconds
		for range rounds {
			for _, eve := range eves {
				tested += fx.guess(eve, 1)
			}
			fx.advance(30 * time.Second)
		}
		// Three of each that are free, some until those that wait are many, and then one every 30 seconds.
		if most := 3*len(eves) + 2*len(eves) + rounds; tested > most || tested < 3*len(eves)+rounds/2 {
			t.Errorf("%d passwords were tested from %d networks, at most %d should be", tested, len(eves), most)
		}
		if _, err := fx.SignIn(t.Context(), "ada@example.com", good, client("198.51.100.9")); err != nil {
			t.Errorf("ada, from elsewhere: %v", err)
		}
		neighbour := client("2001:db8:1:ffff::9")
		if n := fx.guess(neighbour, 3); n > 1 {
			t.Errorf("another network of 64 bits at the same site tests %d", n)
		}
	})
}

// TestAKnownBrowserGuessesSlowly: that a browser is known is no way around the delays, and it is known to one person.
func TestAKnownBrowserGuessesSlowly(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		eve := must(fx.Accept(ctx, Accept{Token: fx.invite("eve@example.com", fx.account), Name: "Eve", Password: good}, home))
		stolen := client("203.0.113.66")
		stolen.Browser = ada.Browser
		if n := fx.guess(stolen, 10); n != 3 {
			t.Errorf("%d passwords are tested at once", n)
		}
		own := client("203.0.113.67")
		own.Browser = eve.Browser
		fx.guess(own, 10)
		if _, err := fx.SignIn(ctx, "ada@example.com", good, client("203.0.113.67")); !isLimited(err) {
			t.Errorf("with the browser of another person: %v", err)
		}
		if s := must(fx.SignIn(ctx, "eve@example.com", good, own)); s.Browser != "" {
			t.Error("a browser that is known gets another secret")
		}
		fx.advance(BrowserLife/2 + time.Hour)
		if s := must(fx.SignIn(ctx, "eve@example.com", good, own)); s.Browser == "" {
			t.Error("the secret of a known browser is not renewed in time")
		}
	})
}

// TestAnotherPasswordForgetsTheBrowsers: who knew the password before has no known browser afterwards.
func TestAnotherPasswordForgetsTheBrowsers(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		thief := must(fx.SignIn(ctx, "ada@example.com", good, client("203.0.113.66")))
		from := home
		from.Browser = ada.Browser
		changed := must(fx.ChangePassword(ctx, must(fx.Session(ctx, ada.Token)), good, "another horse battery", from))
		if changed.Browser == "" {
			t.Error("the browser of the change is not known")
		}
		if ends := fx.known(ada.Person.No, thief.Browser); !ends.IsZero() {
			t.Error("the browser of the thief is known")
		}
		if ends := fx.known(ada.Person.No, changed.Browser); ends.IsZero() {
			t.Error("the secret of the new cookie does not count")
		}
		for range maxBrowsers + 5 {
			fx.advance(time.Second)
			must(fx.SignIn(ctx, "ada@example.com", "another horse battery", home))
		}
		if ends := fx.known(ada.Person.No, changed.Browser); !ends.IsZero() {
			t.Error("a person has more known browsers than the limit")
		}
	})
}

func (fx *fixture) known(no int64, secret string) (ends time.Time) {
	fx.t.Helper()
	err := fx.rows.View(fx.t.Context(), func(r *store.Reader) (err error) {
		ends, err = knownBrowser(r, no, secret, fx.time())
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return ends
}

// TestABusyServerDelaysNoPerson: a try that the hasher is too busy for has not failed.
func TestABusyServerDelaysNoPerson(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		fx.setUp()
		c := fx.config()
		release := make(chan struct{})
		c.Hasher = password.NewWith(func([]byte, []byte, uint32, uint32, uint8, uint32) []byte {
			<-release
			return make([]byte, 32)
		})
		full := New(c)
		var all sync.WaitGroup
		const callers, within = 200, 66
		busy := make(chan struct{})
		for range callers {
			all.Go(func() {
				if _, err := c.Hasher.Hash(t.Context(), ""); errors.Is(err, password.ErrBusy) {
					busy <- struct{}{}
				}
			})
		}
		for range callers - within {
			<-busy
		}
		for range 30 {
			if _, err := full.SignIn(t.Context(), "ada@example.com", good, home); !isLimited(err) {
				t.Fatalf("a full server: %v", err)
			}
		}
		close(release)
		all.Wait()
		if _, err := fx.SignIn(t.Context(), "ada@example.com", good, home); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestAnInvitationIsNoFreshSignIn: a known person who accepts one is as fresh as before, and as long signed in.
func TestAnInvitationIsNoFreshSignIn(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		other := store.Account{ID: newID[chargehand.AccountID](), Name: "other", CreatedMs: 1}
		fx.change(func(tx *store.Tx) error { return tx.InsertAccount(&other) })
		text := fx.invite("ada@example.com", other)
		fx.advance(rules.Fresh)
		stale := must(fx.Session(ctx, ada.Token))
		joined, err := fx.Accept(ctx, Accept{Token: text, Session: stale}, home)
		if err != nil {
			t.Fatal(err)
		}
		if joined.Fresh(fx.time()) || joined.ID != ada.ID || !joined.ExpiresAt.Equal(ada.ExpiresAt) || joined.Account.Name != "other" {
			t.Errorf("%+v", joined)
		}
		if found := must(fx.Session(ctx, joined.Token)); found.Fresh(fx.time()) || found.Account.Name != "other" {
			t.Errorf("read again: %+v", found)
		}
		late := must(fx.Session(ctx, ada.Token)) // by the token before
		_, err = fx.Accept(ctx, Accept{Token: fx.invite("ada@example.com", fx.another("third")), Session: late}, home)
		refused(t, "with the token before", err, chargehand.CodeInvalidCredentials, "Sign in")
	})
}

func (fx *fixture) another(name string) store.Account {
	fx.t.Helper()
	a := store.Account{ID: newID[chargehand.AccountID](), Name: name, CreatedMs: 1}
	fx.change(func(tx *store.Tx) error { return tx.InsertAccount(&a) })
	return a
}

// TestTheTokenBeforeIsNotFresh: who has stolen a token gains nothing when the person verifies, and nothing at all when
// the person changes the password.
func TestTheTokenBeforeIsNotFresh(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		stolen := fx.setUp().Token
		fx.advance(rules.Fresh)
		fresh := must(fx.VerifyPassword(ctx, must(fx.Session(ctx, stolen)), good, home))
		if must(fx.Session(ctx, stolen)).Fresh(fx.time()) {
			t.Error("the token before is fresh")
		}
		changed := must(fx.ChangePassword(ctx, must(fx.Session(ctx, fresh.Token)), good, "another horse battery", home))
		for what, token := range map[string]string{"the token before": fresh.Token, "the one before that": stolen} {
			_, err := fx.Session(ctx, token)
			refused(t, what, err, chargehand.CodeInvalidCredentials, "ended")
		}
		if !must(fx.Session(ctx, changed.Token)).Fresh(fx.time()) {
			t.Error("after the change the session is not fresh")
		}
	})
}

// TestSetupOfAnInstallationWithInvitedPersons: persons whom an API key has invited do not close the set-up, and it
// takes the e-mail of one of them.
func TestSetupOfAnInstallationWithInvitedPersons(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		invited := fx.invite("ada@example.com", fx.account)
		fx.invite("bob@example.com", fx.account)
		carol := must(fx.Accept(ctx, Accept{Token: fx.invite("carol@example.com", fx.account), Name: "Carol", Password: good}, home))
		if !must(fx.Methods(ctx, home)).Setup {
			t.Fatal("the installation has no admin, and wants no set-up")
		}
		text := fx.beginSetup()
		_, err := fx.Setup(ctx, Setup{Token: text, Name: "Eve", Email: "carol@example.com", Password: "another horse battery"}, home)
		refused(t, "as a person who can sign in", err, chargehand.CodeInvalidBody, "Use another")
		session, err := fx.Setup(ctx, Setup{Token: text, Name: "Ada", Email: "ada@example.com", Password: good}, home)
		if err != nil || session.Person.Name != "Ada" || !fx.admin() {
			t.Fatalf("%+v, %v", session, err)
		}
		_, err = fx.Accept(ctx, Accept{Token: invited, Name: "Eve", Password: "another horse battery"}, home)
		refused(t, "the invitation", err, chargehand.CodeInvalidCredentials, "was used")
		if _, err := fx.Session(ctx, carol.Token); err != nil {
			t.Error(err)
		}
	})
}

func TestSessionsOfAPersonAreBounded(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		oldest := fx.setUp()
		second := must(fx.SignIn(ctx, "ada@example.com", good, home))
		for range rules.MaxSessionsOfOne - 1 {
			must(fx.SignIn(ctx, "ada@example.com", good, home))
		}
		_, err := fx.Session(ctx, oldest.Token)
		refused(t, "the oldest", err, chargehand.CodeInvalidCredentials, "ended")
		if _, err := fx.Session(ctx, second.Token); err != nil {
			t.Errorf("the second: %v", err)
		}
	})
}

// TestAResetEndsAllElse: passkeys and keys that the person had before do not count any more.
func TestAResetEndsAllElse(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		d := newAuthenticator(ada.Person.ID)
		must(fx.addPasskeyOf(ada, d))
		// The person came by one identity, and a session has linked another one: perhaps that of a thief.
		came := oidc.Identity{Issuer: "https://id.example.net", Subject: "ada"}
		thief := oidc.Identity{Issuer: "https://id.example.org", Subject: "eve", Groups: []string{"staff"}}
		partner := oidc.New(oidc.Setting{Name: "partner"}, nil, nil)
		fx.change(func(tx *store.Tx) error {
			return fx.addIdentity(ctx, tx, partner, came, &ada.Person, fx.account.No, false)
		})
		secret, _ := token.New()
		if err := fx.linkBy(ctx, staff, fx.newWay(wayProvider, secret, nil, oidc.Life), thief, ada); err != nil {
			t.Fatal(err)
		}
		thief.Email, came.Email = "eve@example.com", "ada@example.com"
		must(fx.enters(thief))
		if got := fx.groupsOf(ada); got != "staff" {
			t.Fatalf("groups %q", got)
		}
		other := fx.anotherAccount()
		var keys []int64
		fx.change(func(tx *store.Tx) error {
			keys = nil
			var errs []error
			errs = append(errs, tx.InsertMember(&store.Member{Account: other.No, Person: ada.Person, Status: store.Active, CreatedMs: 1}))
			for _, account := range []int64{fx.account.No, other.No} {
				_, hash := token.New()
				key := store.Key{
					ID: newID[chargehand.KeyID](), Account: account, Environment: chargehand.Live, Name: "laptop", Person: ada.Person.No,
					Scopes: "workflows:read", Prefix: "sk_live_", Last4: "abcd", Hash: hash[:], Rate: -1, ExpiresMs: fx.time().Add(time.Hour).UnixMilli(),
				}
				errs = append(errs, tx.InsertKey(&key))
				keys = append(keys, key.No)
			}
			text := "the secret of a link to set a password anew"
			return errors.Join(append(errs, tx.InsertTicket(&store.Ticket{
				Hash: hashOf(text), Kind: store.TicketReset, Person: ada.Person.No, CreatedMs: 1, ExpiresMs: fx.time().Add(time.Hour).UnixMilli(),
			}))...)
		})
		before := must(fx.BeginPasskeySignIn(atHome))
		began := must(fx.SignIn(ctx, "ada@example.com", good, home))
		in := must(fx.Reset(ctx, "the secret of a link to set a password anew", "another horse battery", home))
		_, err := fx.enters(thief)
		refused(t, "the linked identity", err, chargehand.CodeNotInvited, "")
		if got := fx.groupsOf(ada); got != "" {
			t.Errorf("groups of the linked identity are left: %q", got)
		}
		secret, _ = token.New()
		err = fx.linkBy(ctx, staff, fx.newWay(wayProvider, secret, nil, oidc.Life), thief, began)
		refused(t, "linking, begun before", err, chargehand.CodeInvalidCredentials, "")
		if list := must(fx.Identities(ctx, in)); len(list) != 1 || list[0].Provider != "partner" {
			t.Errorf("identities: %+v", list)
		}
		_, err = fx.PasskeySignIn(ctx, before.Way, d.use(before), atHome)
		refused(t, "the passkey", err, chargehand.CodeInvalidCredentials, "")
		if list := must(fx.Passkeys(ctx, in)); len(list) != 0 {
			t.Errorf("passkeys: %+v", list)
		}
		fx.change(func(tx *store.Tx) error {
			for _, no := range keys {
				if row, err := tx.KeyByNo(no); err != nil || row.RevokedMs == 0 {
					t.Errorf("the key %d counts still (%v)", no, err)
				}
			}
			return nil
		})
		counted := 0
		for _, e := range fx.entries() {
			if e.Action == string(audit.PasswordReset) {
				counted++
				if text := string(e.Changes); !strings.Contains(text, `"passkeys"`) || !strings.Contains(text, `"personal_keys"`) || !strings.Contains(text, "2") || !strings.Contains(text, `"identities":{"before":["company"]`) {
					t.Errorf("the entry says %s", text)
				}
			}
		}
		if counted != 1 {
			t.Errorf("%d entries in the log of the account", counted)
		}
	})
}

// TestSignInsAreOnRecord: every change of a person's sign-in has an entry with its actor.
func TestSignInsAreOnRecord(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := audit.FromRequest(t.Context(), home.Address, "req")
		must(fx.Setup(ctx, Setup{Token: fx.beginSetup(), Name: "Ada", Email: "ada@example.com", Password: good}, home))
		fx.SignIn(ctx, "ada@example.com", "a wrong password", home)
		fx.SignIn(ctx, "ada@example.com", "a wrong password", home)
		fx.SignIn(ctx, "unknown@example.com", "a wrong password", client("2001:db8::7"))
		in := must(fx.SignIn(ctx, "ada@example.com", good, home))
		fx.VerifyPassword(ctx, in, "a wrong password", home)
		in = must(fx.ChangePassword(ctx, in, good, "another horse battery", home))
		if err := fx.SignOut(ctx, in); err != nil {
			t.Fatal(err)
		}
		bob := must(fx.Accept(ctx, Accept{Token: fx.invite("bob@example.com", fx.account), Name: "Bob", Password: good}, home))
		text := "the secret of a link to set a password anew"
		fx.change(func(tx *store.Tx) error {
			return tx.InsertTicket(&store.Ticket{Hash: hashOf(text), Kind: store.TicketReset, Person: bob.Person.No, CreatedMs: 1, ExpiresMs: fx.time().Add(time.Hour).UnixMilli()})
		})
		bob = must(fx.Reset(ctx, text, "another horse battery", home))
		must(fx.SwitchAccount(ctx, bob, fx.account.ID))
		want := []string{
			"user.set_up user Ada ada@example.com 1", "session.created user Ada ada@example.com 1", "session.failed user ada@example.com ada@example.com 3",
			"session.failed user   1", "session.created user Ada ada@example.com 1", "password.changed user Ada ada@example.com 1",
			"session.ended user Ada ada@example.com 1", "user.joined link bob@example.com bob@example.com 1", "session.created user Bob bob@example.com 1",
			"password.reset link bob@example.com bob@example.com 1", "session.created user Bob bob@example.com 1", "session.switched user Bob bob@example.com 1",
		}
		var got []string
		for _, e := range fx.entries() {
			got = append([]string{e.Action + " " + e.ActorKind + " " + e.ActorName + " " + e.TargetName + " " + strconv.FormatInt(e.Occurred, 10)}, got...)
			if e.Address == "" || e.Action != "session.failed" && e.RequestID != "req" {
				t.Errorf("%s comes from %q, %q", e.Action, e.Address, e.RequestID)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d entries, want %d:\n%q", len(got), len(want), got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("entry %d: %q, want %q", i, got[i], want[i])
			}
		}
	})
}

func (fx *fixture) entries() (list []store.Audit) {
	fx.t.Helper()
	err := fx.rows.View(fx.t.Context(), func(r *store.Reader) (err error) {
		list, err = r.ListAudit(store.AuditFilter{Account: fx.account.No, Limit: 1000})
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return list
}
