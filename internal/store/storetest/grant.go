package storetest

import (
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

func (f *fixture) newGrant(g store.Grant) store.Grant {
	f.Helper()
	setID(f, &g.ID, startMs)
	g.Account, g.CreatedMs, g.Creator = max(g.Account, 1), startMs, "command line"
	f.update(func(tx *store.Tx) error { return tx.InsertGrant(&g) })
	return g
}

func grantRoundTrip(f *fixture) {
	p := f.newMember(1, "ada", store.Active).Person
	team := f.newGroup(1, "team")
	for _, g := range []store.Grant{
		{Person: p.No, Role: "viewer", Environments: store.BothEnvironments}, {Group: team.No, Role: "author", Namespace: "finance", Environments: store.OnlyTest},
		{Person: p.No, Role: "operator", Workflow: chargehand.WorkflowID{7, 1}, Environments: store.OnlyLive},
	} {
		g = f.newGrant(g)
		f.view(func(r *store.Reader) error {
			got, err := r.GrantByID(1, g.ID)
			same(f, "read", got, g)
			_, foreign := r.GrantByID(2, g.ID)
			missing(f, foreign)
			return err
		})
		f.update(func(tx *store.Tx) error { return tx.DeleteGrant(g.No) })
		f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DeleteGrant(g.No) })
	}
	if !store.OnlyLive.Has(chargehand.Live) || store.OnlyLive.Has(chargehand.Test) || !store.BothEnvironments.Has(chargehand.Test) {
		f.Error("the sets of environments are wrong")
	}
}

func grantList(f *fixture) {
	ada, bo := f.newMember(1, "ada", store.Active).Person.No, f.newMember(1, "bo", store.Active).Person.No
	team := f.newGroup(1, "team", ada)
	var nos []int64
	for i := range 9 {
		g := store.Grant{Role: "viewer", Environments: store.OnlyLive}
		switch i % 3 {
		case 0:
			g.Person = ada
		case 1:
			g.Person = bo
		default:
			g.Group = team.No
		}
		nos = append(nos, f.newGrant(g).No)
	}
	f.newGrant(store.Grant{Account: 2, Person: ada, Role: "viewer"})
	slices.Reverse(nos)
	list := func(filter store.GrantFilter) []int64 {
		return pages(f, func(r *store.Reader, before int64) (keys []int64, err error) {
			filter.Account, filter.Before, filter.Limit = 1, before, 2
			grants, err := r.ListGrants(filter)
			for _, g := range grants {
				keys = append(keys, g.No)
			}
			return keys, err
		})
	}
	same(f, "all", list(store.GrantFilter{}), nos)
	same(f, "of a group", list(store.GrantFilter{Group: team.No}), []int64{nos[0], nos[3], nos[6]})
	same(f, "of a person", list(store.GrantFilter{Person: ada}), []int64{nos[2], nos[5], nos[8]})

	order := store.Workflow{ID: chargehand.WorkflowID{7, 1}, Namespace: "shop"}
	own := f.newGrant(store.Grant{Person: ada, Role: "author", Workflow: order.ID}).No
	f.newGrant(store.Grant{Person: ada, Role: "author", Workflow: chargehand.WorkflowID{7, 2}})
	namespace := f.newGrant(store.Grant{Group: team.No, Role: "author", Namespace: "shop"}).No
	f.newGrant(store.Grant{Person: bo, Role: "author", Namespace: "shopping"})
	f.newGrant(store.Grant{Account: 2, Person: bo, Role: "author", Namespace: "shop"})
	same(f, "over a workflow", list(store.GrantFilter{Over: &order}), append([]int64{namespace, own}, nos...))
}

func grantsOf(f *fixture) {
	ada, bo := f.newMember(1, "ada", store.Active).Person.No, f.newMember(1, "bo", store.Active).Person.No
	team, other := f.newGroup(1, "team", ada), f.newGroup(1, "other", bo)
	foreign := f.newGroup(2, "team", ada)
	for _, g := range []store.Grant{
		{Person: ada, Role: "a"}, {Group: team.No, Role: "b"}, {Group: other.No, Role: "c"}, {Person: bo, Role: "d"},
		{Account: 2, Group: foreign.No, Role: "e"}, {Account: 2, Person: ada, Role: "f"}, {Group: team.No, Role: "g"},
	} {
		f.newGrant(g)
	}
	roles := func(limit int) (roles []string) {
		f.view(func(r *store.Reader) error {
			list, err := r.GrantsOf(1, ada, limit)
			for _, g := range list {
				roles = append(roles, g.Role)
			}
			return err
		})
		slices.Sort(roles)
		return roles
	}
	same(f, "roles", roles(10), []string{"a", "b", "g"})
	same(f, "bounded", len(roles(2)), 2)
	same(f, "only one's own", roles(1), []string{"a"})
}

// admins: a member is an admin by a grant, or by a group, as long as the membership is active.
func admins(f *fixture) {
	f.newAccount()
	credential := false
	is := func(what string, want bool) {
		f.Helper()
		f.update(func(tx *store.Tx) error {
			err1 := tx.LockAdmins(1)
			got, err2 := tx.HasAdmin(1)
			same(f, what, got, want)
			enters, err3 := tx.AdminCanSignIn(1)
			same(f, what+", who can sign in", enters, want && credential)
			return errors.Join(err1, err2, err3)
		})
	}
	is("none", false)
	ada, bo := f.newMember(1, "ada", store.Active), f.newMember(1, "bo", store.Active)
	team := f.newGroup(1, "team")
	f.newGrant(store.Grant{Account: 2, Person: ada.Person.No, Role: "admin"})
	f.newGrant(store.Grant{Person: ada.Person.No, Role: "viewer"})
	f.newGrant(store.Grant{Group: team.No, Role: "admin"})
	is("an empty group", false)
	f.update(func(tx *store.Tx) error { return tx.JoinGroup(&team, bo.Person.No) })
	is("one in a group", true)
	f.update(func(tx *store.Tx) error {
		k := store.Passkey{Person: bo.Person.No, Credential: []byte("bo"), Data: []byte("key"), Name: "phone", CreatedMs: startMs}
		setID(f, &k.ID, startMs)
		return tx.InsertPasskey(&k)
	})
	credential = true
	is("one in a group, with a passkey", true)
	f.update(func(tx *store.Tx) error { return tx.SetMemberStatus(bo.No, store.Active, store.Disabled) })
	is("a disabled one in a group", false)
	own := f.newGrant(store.Grant{Person: ada.Person.No, Role: "admin"})
	credential = false
	is("one by a grant", true)
	f.update(func(tx *store.Tx) error {
		return tx.InsertIdentity(&store.Identity{Issuer: "i", Subject: "s", Person: ada.Person.No, Provider: "p", CreatedMs: startMs})
	})
	credential = true
	is("one by a grant, with an identity", true)
	f.update(func(tx *store.Tx) error { return tx.SetPassword(ada.Person.No, "$argon2id$x") })
	is("one by a grant, with a password too", true)
	f.update(func(tx *store.Tx) error { return tx.DisablePerson(ada.Person.No, 1) })
	is("one who is disabled everywhere", false)
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.DisablePerson(ada.Person.No, 0), tx.DeleteGrant(own.No))
	})
	is("one who was", false)
	err := f.Update(f.Context(), func(tx *store.Tx) error { return tx.LockAdmins(99) })
	missing(f, err)
}

// newAccount inserts an account, whose number is 1 in a test that has no other.
func (f *fixture) newAccount() store.Account {
	f.Helper()
	a := store.Account{Name: "default", CreatedMs: startMs}
	setID(f, &a.ID, startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertAccount(&a) })
	return a
}
