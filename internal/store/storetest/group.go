package storetest

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

func (f *fixture) newGroup(account int64, name string, members ...int64) store.Group {
	f.Helper()
	g := store.Group{Account: account, Name: name, NameKey: name, CreatedMs: startMs}
	setID(f, &g.ID, startMs)
	f.update(func(tx *store.Tx) error {
		err := tx.InsertGroup(&g)
		for _, person := range members {
			err = errors.Join(err, tx.JoinGroup(&g, person))
		}
		return err
	})
	return g
}

func groupRoundTrip(f *fixture) {
	g := store.Group{Account: 1, Name: "Finance", NameKey: "finance", Source: "oidc:corp", CreatedMs: startMs}
	setID(f, &g.ID, startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertGroup(&g) })
	taken := g
	setID(f, &taken.ID, startMs)
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertGroup(&taken) })
	taken.Account = 2
	f.update(func(tx *store.Tx) error { return tx.InsertGroup(&taken) })
	f.view(func(r *store.Reader) error {
		byID, err1 := r.GroupByID(1, g.ID)
		byName, err2 := r.GroupByName(1, "finance")
		byNo, err3 := r.GroupByNo(g.No)
		same(f, "by id", byID, g)
		same(f, "by name", byName, g)
		same(f, "by number", byNo, g)
		_, foreign := r.GroupByID(2, g.ID)
		_, unknown := r.GroupByName(1, "hr")
		_, none := r.GroupByNo(1 << 40)
		missing(f, foreign, unknown, none)
		return errors.Join(err1, err2, err3)
	})
	hr := f.newGroup(1, "hr")
	g.Name, g.NameKey = "Treasury", "treasury"
	f.update(func(tx *store.Tx) error { return tx.RenameGroup(&g) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RenameGroup(&store.Group{No: g.No, Name: "HR", NameKey: "hr"}) })
	p := f.newMember(1, "ada", store.Active).Person
	f.newGrant(store.Grant{Group: g.No, Role: "viewer"})
	f.newGrant(store.Grant{Group: hr.No, Role: "viewer"})
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.JoinGroup(&g, p.No), tx.JoinGroup(&hr, p.No), tx.DeleteGroup(g.No))
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DeleteGroup(g.No) })
	f.view(func(r *store.Reader) error {
		groups, err1 := r.GroupsOf(1, p.No)
		grants, err2 := r.GrantsOf(1, p.No, 10)
		same(f, "groups that are left", groups, []store.Group{hr})
		same(f, "grants that are left", len(grants), 1)
		return errors.Join(err1, err2)
	})
}

func groupList(f *fixture) {
	var want []int64
	for i := range 6 {
		g := f.newGroup(1+int64(i/5), fmt.Sprint("team ", i))
		if g.Account == 1 {
			want = append([]int64{g.No}, want...)
		}
	}
	same(f, "groups", pages(f, func(r *store.Reader, before int64) (keys []int64, err error) {
		list, err := r.ListGroups(1, before, 2)
		for _, g := range list {
			keys = append(keys, g.No)
		}
		return keys, err
	}), want)
	f.view(func(r *store.Reader) error {
		list, err := r.SearchGroups(1, "team ", 3)
		var names []string
		for _, g := range list {
			names = append(names, g.Name)
		}
		same(f, "found", names, []string{"team 0", "team 1", "team 2"})
		return err
	})
}

func groupMembers(f *fixture) {
	var nos []int64
	for i := range 5 {
		nos = append(nos, f.newMember(1, fmt.Sprint("p", i), store.Active).Person.No)
	}
	g := f.newGroup(1, "team", nos...)
	f.newGroup(1, "other", nos[0])
	f.update(func(tx *store.Tx) error { return errors.Join(tx.JoinGroup(&g, nos[1]), tx.LeaveGroup(g.No, nos[2])) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.LeaveGroup(g.No, nos[2]) })
	same(f, "members", pages(f, func(r *store.Reader, after int64) (keys []int64, err error) {
		list, err := r.GroupMembers(g.No, after, 2)
		for _, p := range list {
			keys = append(keys, p.No)
		}
		return keys, err
	}), []int64{nos[0], nos[1], nos[3], nos[4]})
	f.update(func(tx *store.Tx) error {
		m, err := tx.MemberByNo(1, nos[1])
		if err != nil {
			return err
		}
		return errors.Join(tx.SetMemberStatus(m.No, store.Active, store.Disabled), tx.DisablePerson(nos[3], 5))
	})
	for _, c := range []struct {
		account      int64
		among, limit int
		want         []int64
	}{{1, 9, 9, []int64{nos[0], nos[4]}}, {1, 9, 1, []int64{nos[0]}}, {1, 3, 9, []int64{nos[0]}}, {2, 9, 9, nil}} {
		f.view(func(r *store.Reader) error {
			list, err := r.FirstActiveMembers(c.account, g.No, c.among, c.limit)
			var got []int64
			for _, p := range list {
				got = append(got, p.No)
			}
			same(f, fmt.Sprintf("active of %+v", c), got, c.want)
			return err
		})
	}
}

// groupFirstMembers: of each group no more than the limit, in the order of their numbers.
func groupFirstMembers(f *fixture) {
	var nos []int64
	ids := map[int64]chargehand.UserID{}
	for i := range 5 {
		p := f.newMember(1, fmt.Sprint("p", i), store.Active).Person
		nos, ids[p.No] = append(nos, p.No), p.ID
	}
	all, two, none := f.newGroup(1, "all", nos...), f.newGroup(1, "two", nos[4], nos[1]), f.newGroup(1, "none")
	f.newGroup(1, "other", nos...)
	groups := []int64{all.No, two.No, none.No, 1 << 40}
	for limit, want := range map[int]map[int64][]chargehand.UserID{
		1: {all.No: {ids[nos[0]]}, two.No: {ids[nos[1]]}},
		2: {all.No: {ids[nos[0]], ids[nos[1]]}, two.No: {ids[nos[1]], ids[nos[4]]}},
		5: {all.No: {ids[nos[0]], ids[nos[1]], ids[nos[2]], ids[nos[3]], ids[nos[4]]}, two.No: {ids[nos[1]], ids[nos[4]]}},
		9: {all.No: {ids[nos[0]], ids[nos[1]], ids[nos[2]], ids[nos[3]], ids[nos[4]]}, two.No: {ids[nos[1]], ids[nos[4]]}},
	} {
		f.view(func(r *store.Reader) error {
			got, err := r.FirstMembers(groups, limit)
			same(f, fmt.Sprint("at most ", limit), got, want)
			return err
		})
	}
	f.view(func(r *store.Reader) error {
		got, err := r.FirstMembers(nil, 1)
		same(f, "of no group", len(got), 0)
		return err
	})
}
