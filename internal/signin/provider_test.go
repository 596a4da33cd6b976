package signin

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/signin/oidc"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

// staff admits those of example.org.
var staff = oidc.New(oidc.Setting{Name: "company", Provision: oidc.Provision{Domains: []string{"example.org"}}}, nil, nil)

// enters signs in whom the provider has sent.
func (fx *fixture) enters(who oidc.Identity) (*Session, error) {
	fx.t.Helper()
	secret, _ := token.New()
	who.Issuer, who.EmailVerified = "https://id.example.org", true
	return fx.enterBy(fx.t.Context(), staff, fx.newWay(wayProvider, secret, nil, oidc.Life), who, atHome)
}

// groupsOf are the names of the groups of a person.
func (fx *fixture) groupsOf(s *Session) string {
	fx.t.Helper()
	var names []string
	fx.change(func(tx *store.Tx) error {
		names = nil
		groups, err := tx.GroupsOf(s.Account.No, s.Person.No)
		for _, g := range groups {
			names = append(names, g.Name)
		}
		return err
	})
	return strings.Join(names, ", ")
}

// TestWithoutAListAPersonIsInNoGroup: providers leave the list of groups out where it would be empty.
func TestWithoutAListAPersonIsInNoGroup(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		fx.setUp()
		cy := oidc.Identity{Subject: "cy", Email: "cy@example.org", Name: "Cy", Groups: []string{"admins"}}
		if got := fx.groupsOf(must(fx.enters(cy))); got != "admins" {
			t.Fatalf("groups %q", got)
		}
		cy.Groups = nil
		if got := fx.groupsOf(must(fx.enters(cy))); got != "" {
			t.Errorf("taken out of the last group, the person is in %q still", got)
		}
	})
}

// TestGroupsOfAProviderAreNeverTakenForOneAnother: who may make groups at the provider gets into none of another name.
func TestGroupsOfAProviderAreNeverTakenForOneAnother(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		fx.setUp()
		fx.change(func(tx *store.Tx) error { // so that the provider's group of that name has another one
			return tx.InsertGroup(&store.Group{ID: newID[chargehand.GroupID](), Account: fx.account.No, Name: "ops", NameKey: "ops", CreatedMs: 1})
		})
		bob := oidc.Identity{Subject: "bob", Email: "bob@example.org", Name: "Bob", Groups: []string{"admins", "ops"}}
		if got := fx.groupsOf(must(fx.enters(bob))); got != "admins, ops (company)" {
			t.Fatalf("groups %q", got)
		}
		eve := oidc.Identity{Subject: "eve", Email: "eve@example.org", Name: "Eve"}
		for _, c := range []struct{ named, want string }{
			{"ADMINS", "ADMINS (company)"}, {"ops (company)", "ops (company) (company)"}, {"admins", "admins"}, {"ops", "ops (company)"},
		} {
			for range 2 { // the second time there is such a group
				eve.Groups = []string{c.named}
				if got := fx.groupsOf(must(fx.enters(eve))); got != c.want {
					t.Errorf("of the group %q the person is in %q, want %q", c.named, got, c.want)
				}
			}
		}
		for name, part := range map[string]string{" admins": "cannot be used", "Admins": "other groups of that name"} {
			eve.Groups = []string{name}
			_, err := fx.enters(eve)
			refused(t, name, err, chargehand.CodeStateConflict, part)
		}
	})
}

// TestWhoCameBeforeKeepsNothing: a person who had the link first, and never got anything to sign in with, keeps no
// session, no key and no request of a program.
func TestWhoCameBeforeKeepsNothing(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		var made []KeyRequest
		s := fx.withKeys(&made)
		leaves := func(session *Session) (check func(what string)) {
			c := start(t, s, "program")
			d := must(s.Device(ctx, session, c.User, home))
			if err := s.DecideDevice(ctx, session, d.Code, d.Form, true); err != nil {
				t.Fatal(err)
			}
			_, hash := token.New()
			key := store.Key{
				ID: newID[chargehand.KeyID](), Account: session.Account.No, Environment: chargehand.Live, Name: "left", Person: session.Person.No,
				Scopes: "admin", Prefix: "sk_live_", Last4: "abcd", Hash: hash[:], Rate: -1,
			}
			fx.change(func(tx *store.Tx) error { return tx.InsertKey(&key) })
			return func(what string) {
				t.Helper()
				_, err := s.Session(ctx, session.Token)
				refused(t, what+": the session", err, chargehand.CodeInvalidCredentials, "ended")
				_, err = s.RedeemDevice(ctx, c.Device)
				refused(t, what+": the program", err, chargehand.CodeExpiredToken, "")
				fx.change(func(tx *store.Tx) error {
					row, err := tx.KeyForUpdate(key.No)
					if row.RevokedMs == 0 {
						t.Errorf("%s: the key counts still", what)
					}
					return err
				})
			}
		}
		text := fx.beginSetup()
		check := leaves(must(s.Setup(ctx, Setup{Token: text, Name: "Ada", Email: "ada@example.com"}, atHome)))
		ada := must(s.Setup(ctx, Setup{Token: text, Name: "Ada", Email: "ada@example.com", Password: good}, atHome))
		check("set-up again")

		if _, err := s.Session(ctx, ada.Token); err != nil {
			t.Error(err)
		}
		text = fx.invite("bob@example.com", fx.account)
		check = leaves(must(s.Accept(ctx, Accept{Token: text}, atHome)))
		must(s.Accept(ctx, Accept{Token: text, Password: good}, atHome))
		check("invitation again")

		check = leaves(must(s.Accept(ctx, Accept{Token: fx.invite("cy@example.org", fx.account)}, atHome)))
		must(fx.enters(oidc.Identity{Subject: "cy", Email: "cy@example.org", Name: "Cy"}))
		check("by a provider")
	})
}

// TestProvisioningAsksTheQuota: a person whom a rule admits needs room, and without it nothing is stored.
func TestProvisioningAsksTheQuota(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		fx.setUp()
		c := fx.config()
		asked := 0
		c.RoomForUser = func(_ *store.Reader, account store.Account) error {
			if asked++; account.No != fx.account.No {
				t.Errorf("asked for the account %d", account.No)
			}
			return chargehand.NewError(chargehand.CodeQuotaExceeded, "no room")
		}
		full := New(c)
		secret, _ := token.New()
		who := oidc.Identity{Issuer: "https://id.example.org", EmailVerified: true, Subject: "cy", Email: "cy@example.org", Name: "Cy"}
		_, err := full.enterBy(t.Context(), staff, full.newWay(wayProvider, secret, nil, oidc.Life), who, atHome)
		refused(t, "without room", err, chargehand.CodeQuotaExceeded, "no room")
		fx.change(func(tx *store.Tx) error {
			if _, err := tx.PersonByEmail("cy@example.org"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the person was made: %v", err)
			}
			return nil
		})
		fx.invite("bob@example.org", fx.account)
		asked = 0
		secret, _ = token.New()
		who.Subject, who.Email = "bob", "bob@example.org"
		if _, err := full.enterBy(t.Context(), staff, full.newWay(wayProvider, secret, nil, oidc.Life), who, atHome); err != nil || asked != 0 {
			t.Errorf("an invited person, for whom there is room: %v, asked %d times", err, asked)
		}
	})
}

// TestAResetOfTheLastAdmin: a person whom only the group of a linked identity makes the last admin can still set
// another password. The identity goes, and the person stays in the group: an account is never without an admin.
func TestAResetOfTheLastAdmin(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		linked := oidc.Identity{Issuer: "https://id.example.org", Subject: "ada", Email: "ada@example.com", Groups: []string{"admins"}}
		secret, _ := token.New()
		if err := fx.linkBy(ctx, staff, fx.newWay(wayProvider, secret, nil, oidc.Life), linked, ada); err != nil {
			t.Fatal(err)
		}
		must(fx.enters(linked))
		text := "the secret of a link to set a password anew"
		fx.change(func(tx *store.Tx) error {
			groups, err := tx.GroupsOf(fx.account.No, ada.Person.No)
			if err != nil || len(groups) != 1 {
				return errors.Join(err, errors.New("the person is not in the group"))
			}
			grants, err := tx.ListGrants(store.GrantFilter{Account: fx.account.No, Limit: 10})
			if err != nil {
				return err
			}
			return errors.Join(tx.DeleteGrant(grants[0].No), tx.InsertGrant(&store.Grant{
				ID: newID[chargehand.GrantID](), Account: fx.account.No, Group: groups[0].No, Role: "admin", Environments: store.BothEnvironments,
			}), tx.InsertTicket(&store.Ticket{
				Hash: hashOf(text), Kind: store.TicketReset, Person: ada.Person.No, CreatedMs: 1, ExpiresMs: fx.time().Add(time.Hour).UnixMilli(),
			}))
		})
		in := must(fx.Reset(ctx, text, "another horse battery", home))
		if list := must(fx.Identities(ctx, in)); len(list) != 0 {
			t.Errorf("identities: %+v", list)
		}
		if got := fx.groupsOf(in); got != "admins" || !fx.admin() {
			t.Errorf("groups %q", got)
		}
	})
}
