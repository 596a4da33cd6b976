package service

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/store"
)

// admin signs an admin in, as the routes of people see one.
func (fx *fixture) admin(name string) *Principal { return fx.must(fx.as(name, "admin"), ScopeAdmin, 0) }

// TestLastAdmin: no change leaves an account that has an admin without one.
func TestLastAdmin(t *testing.T) {
	fx := newFixture(t)
	p := fx.admin("ada")
	grants, err := fx.ListGrants(t.Context(), p, ListGrants{User: p.User, Limit: 10})
	if err != nil || len(grants.Data) != 1 {
		t.Fatalf("grants %+v, %v", grants, err)
	}
	disable := map[string]any{"status": "disabled"}
	wantRefusal(t, "taken", fx.TakeGrant(t.Context(), p, grants.Data[0].ID), chargehand.CodeLastAdmin)
	wantRefusal(t, "removed", fx.RemoveUser(t.Context(), p, p.User), chargehand.CodeLastAdmin)
	wantRefusal(t, "disabled", second(fx.PatchUser(t.Context(), p, p.User, disable)), chargehand.CodeLastAdmin)
	bo := fx.member("bo")
	team, _, err := fx.CreateGroup(t.Context(), p, map[string]any{"name": "Admins"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := fx.GiveGrant(t.Context(), p, map[string]any{"group_id": team.ID.String(), "role": "admin"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := fx.JoinGroup(t.Context(), p, team.ID, bo.Person.ID); err != nil {
		t.Fatal(err)
	}
	if err := fx.TakeGrant(t.Context(), p, grants.Data[0].ID); err != nil {
		t.Errorf("with another admin: %v", err)
	}
	wantRefusal(t, "left", fx.LeaveGroup(t.Context(), p, team.ID, bo.Person.ID), chargehand.CodeLastAdmin)
	wantRefusal(t, "deleted", fx.DeleteGroup(t.Context(), p, team.ID), chargehand.CodeLastAdmin)
}

// TestConcurrentLastAdmins: of two admins who remove each other at once, one stays.
func TestConcurrentLastAdmins(t *testing.T) {
	fx := newFixture(t)
	a, b := fx.admin("ada"), fx.admin("bo")
	var all sync.WaitGroup
	errs := make([]error, 2)
	for i, one := range [][2]*Principal{{a, b}, {b, a}} {
		all.Go(func() { errs[i] = fx.RemoveUser(t.Context(), one[0], one[1].User) })
	}
	all.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("both have got %v", errs)
	}
}

// TestNoOneGivesMoreThanTheyHave: a key with admin alone makes no users who do more, and takes over none.
func TestNoOneGivesMoreThanTheyHave(t *testing.T) {
	fx := newFixture(t)
	fx.pass(time.Second)
	narrow := fx.principal(chargehand.Live, ScopeAdmin|ScopeWorkflowsRead)
	ada := fx.member("ada", store.Grant{Role: "operator"})
	give := map[string]any{"user_id": ada.Person.ID.String(), "role": "operator"}
	wantRefusal(t, "a role", third(fx.GiveGrant(t.Context(), narrow, give, nil)), chargehand.CodeInsufficientScope)
	invite := map[string]any{"email": "x@example.org", "name": "X", "grants": []any{map[string]any{"role": "admin"}}}
	wantRefusal(t, "an admin", third(fx.InviteUser(t.Context(), narrow, InviteUser{Body: invite})), chargehand.CodeInsufficientScope)
	if list, err := fx.ListUsers(t.Context(), fx.p, ListUsers{Limit: 10}); err != nil || len(list.Data) != 1 {
		t.Errorf("a refused invitation has left %+v, %v", list, err)
	}
	wantRefusal(t, "a link", third(fx.ResetUser(t.Context(), narrow, ada.Person.ID, "", nil)), chargehand.CodeInsufficientScope)
	for what, err := range map[string]error{
		"list": second(fx.ListUsers(t.Context(), fx.test, ListUsers{Limit: 10})), "give": third(fx.GiveGrant(t.Context(), fx.test, give, nil)),
		"groups": second(fx.ListGroups(t.Context(), fx.test, 10, Cursor{})),
	} {
		wantRefusal(t, "a key of test: "+what, err, chargehand.CodeInsufficientScope)
	}
	if link, _, err := fx.ResetUser(t.Context(), fx.admin("root"), ada.Person.ID, "https://x", nil); err != nil || !strings.HasPrefix(link.URL, "https://x/password-reset#token=") {
		t.Errorf("an admin's link: %+v, %v", link, err)
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }

// TestDisabledUser: sessions of a disabled user end, and do not come back with the user.
func TestDisabledUser(t *testing.T) {
	fx := newFixture(t)
	p := fx.admin("root")
	m := fx.member("ada", store.Grant{Role: "viewer"})
	token := fx.signIn(m)
	link, _, err := fx.ResetUser(t.Context(), p, m.Person.ID, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := fx.GetUser(t.Context(), p, m.Person.ID); err != nil || u.Open.Sessions != 1 || u.Open.PersonalKeys != 0 {
		t.Errorf("before: %+v, %v", u.Open, err)
	}
	for _, status := range []string{"disabled", "disabled", "active"} {
		u, err := fx.PatchUser(t.Context(), p, m.Person.ID, map[string]any{"status": status})
		if err != nil || u.Status.String() != status || u.Open.Sessions != 0 {
			t.Errorf("%s: %+v, %v", status, u, err)
		}
		_, err = fx.AuthenticateSession(t.Context(), token, chargehand.Live)
		wantRefusal(t, status, err, chargehand.CodeInvalidCredentials)
	}
	_, secret, _ := strings.Cut(link.URL, "#token=")
	hash := sha256.Sum256([]byte(secret))
	err = fx.rows.View(t.Context(), func(r *store.Reader) error {
		_, err := r.FindTicket(store.TicketReset, hash[:], fx.nowMs())
		return err
	})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a link to set the password counts after the user was disabled: %v", err)
	}
	fx.session(fx.signIn(m), chargehand.Live)
	wantRefusal(t, "invited again", third(fx.InviteUser(t.Context(), p, InviteUser{Body: map[string]any{"email": "ADA@example.org", "name": "A"}})), chargehand.CodeStateConflict)
}

// TestForeignPeople: what is in another account is not there.
func TestForeignPeople(t *testing.T) {
	fx := newFixture(t)
	p := fx.admin("root")
	m := fx.member("ada", store.Grant{Role: "viewer"})
	team, _, err := fx.CreateGroup(t.Context(), p, map[string]any{"name": "Team"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	grants, err := fx.ListGrants(t.Context(), p, ListGrants{User: m.Person.ID, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	foreign := fx.stranger()
	for what, c := range map[string]struct {
		err  error
		code chargehand.Code
	}{
		"user":    {second(fx.GetUser(t.Context(), foreign, m.Person.ID)), chargehand.CodeUserNotFound},
		"disable": {second(fx.PatchUser(t.Context(), foreign, m.Person.ID, map[string]any{"status": "disabled"})), chargehand.CodeUserNotFound},
		"group":   {second(fx.GetGroup(t.Context(), foreign, team.ID)), chargehand.CodeGroupNotFound},
		"join":    {fx.JoinGroup(t.Context(), foreign, team.ID, m.Person.ID), chargehand.CodeGroupNotFound},
		"grant":   {fx.TakeGrant(t.Context(), foreign, grants.Data[0].ID), chargehand.CodeGrantNotFound},
	} {
		wantRefusal(t, what, c.err, c.code)
	}
	if found, err := fx.FindPeople(t.Context(), foreign, "a", 10); err != nil || len(found.Users)+len(found.Groups) != 0 {
		t.Errorf("found %+v, %v", found, err)
	}
	if found, err := fx.FindPeople(t.Context(), p, " AD", 10); err != nil || len(found.Users) != 1 {
		t.Errorf("found %+v, %v", found, err)
	}
}

// TestGrantsAreBounded: the hundred-first grant of a user is refused.
func TestGrantsAreBounded(t *testing.T) {
	fx := newFixture(t)
	p := fx.admin("root")
	m := fx.member("ada")
	for i := range session.MaxGrantsOfOne {
		fx.give(m, store.Grant{Role: "viewer", Namespace: fmt.Sprint("n", i)})
	}
	wantRefusal(t, "one more", third(fx.GiveGrant(t.Context(), p, map[string]any{"user_id": m.Person.ID.String(), "role": "viewer"}, nil)), chargehand.CodeStateConflict)
}
