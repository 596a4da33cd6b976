package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var peopleTests = map[string]func(*fixture){
	"person":                  personRoundTrip,
	"settings":                personSettings,
	"membership":              memberRoundTrip,
	"members deleted":         memberDeleted,
	"members listed":          memberList,
	"members found":           memberSearch,
	"details of members":      memberDetails,
	"group":                   groupRoundTrip,
	"groups listed":           groupList,
	"group members":           groupMembers,
	"first members of groups": groupFirstMembers,
	"grant":                   grantRoundTrip,
	"grants listed":           grantList,
	"grants of one":           grantsOf,
	"admins":                  admins,
}

// newPerson inserts a person of that name.
func (f *fixture) newPerson(name string) store.Person {
	f.Helper()
	p := store.Person{Email: name + "@Example.org", EmailKey: name + "@example.org", Name: "The " + name, NameKey: "the " + name, CreatedMs: startMs}
	setID(f, &p.ID, startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertPerson(&p) })
	return p
}

// newMember inserts a person of that name who is a member of an account.
func (f *fixture) newMember(account int64, name string, status store.MemberStatus) store.Member {
	f.Helper()
	m := store.Member{Account: account, Person: f.newPerson(name), Status: status, CreatedMs: startMs + 1}
	f.update(func(tx *store.Tx) error { return tx.InsertMember(&m) })
	return m
}

// pages reads a list to its end, page by page of two. page returns the keys of a page.
func pages(f *fixture, page func(r *store.Reader, before int64) ([]int64, error)) (all []int64) {
	f.Helper()
	for before := int64(0); ; {
		var keys []int64
		f.view(func(r *store.Reader) (err error) {
			keys, err = page(r, before)
			return err
		})
		all = append(all, keys...)
		if len(keys) < 2 || len(all) > 1000 {
			return all
		}
		before = keys[len(keys)-1]
	}
}

func same[T any](f *fixture, what string, got, want T) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// missing expects each error to be ErrNotFound.
func missing(f *fixture, errs ...error) {
	f.Helper()
	for i, err := range errs {
		if !errors.Is(err, store.ErrNotFound) {
			f.Errorf("read %d of what is not there: %v", i, err)
		}
	}
}

func personRoundTrip(f *fixture) {
	p := store.Person{Email: "Ada@Example.org", EmailKey: "ada@example.org", Name: "Ada", Locale: "de", Password: "$argon2id$x", CreatedMs: startMs}
	setID(f, &p.ID, startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertPerson(&p) })
	read := func() (got store.Person) {
		f.view(func(r *store.Reader) error {
			byID, err1 := r.PersonByID(p.ID)
			byEmail, err2 := r.PersonByEmail("ada@example.org")
			byNo, err3 := r.PersonByNo(p.No)
			same(f, "by e-mail", byEmail, byID)
			same(f, "by number", byNo, byID)
			got = byID
			return errors.Join(err1, err2, err3)
		})
		return got
	}
	same(f, "read", read(), p)
	taken := p
	setID(f, &taken.ID, startMs)
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertPerson(&taken) })
	f.update(func(tx *store.Tx) error {
		locked, err := tx.PersonForUpdate(p.No)
		same(f, "locked", locked, p)
		p.Name, p.Locale, p.Password, p.DisabledMs = "Ada L.", "", "", startMs+3
		return errors.Join(err, tx.UpdatePerson(&p), tx.SetPassword(p.No, ""), tx.DisablePerson(p.No, startMs+3))
	})
	same(f, "changed", read(), p)
	unknown := store.Person{No: 1 << 40}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.UpdatePerson(&unknown) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.SetPassword(1<<40, "") })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DisablePerson(1<<40, 1) })
	f.view(func(r *store.Reader) error {
		_, err1 := r.PersonByNo(1 << 40)
		_, err2 := r.PersonByID(chargehand.UserID{1})
		_, err3 := r.PersonByEmail("Ada@example.org")
		missing(f, err1, err2, err3)
		return nil
	})
}

func personSettings(f *fixture) {
	p, other := f.newPerson("ada"), f.newPerson("bo")
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.SetSettings(p.No, []byte(`{"a":1}`), startMs), tx.SetSettings(p.No, []byte(`{"b":2}`), startMs+1))
	})
	f.view(func(r *store.Reader) error {
		own, err1 := r.Settings(p.No)
		none, err2 := r.Settings(other.No)
		same(f, "settings", string(own), `{"b":2}`)
		same(f, "of another", none, nil)
		return errors.Join(err1, err2)
	})
}

func memberRoundTrip(f *fixture) {
	m := f.newMember(1, "ada", store.Invited)
	elsewhere := store.Member{Account: 2, Person: m.Person, Status: store.Active, CreatedMs: startMs + 2}
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.InsertMember(&elsewhere), tx.SetMemberStatus(m.No, store.Invited, store.Active),
			tx.TouchMember(1, m.Person.No, 10), tx.TouchMember(1, m.Person.No, 5), tx.TouchMember(9, 9, 9))
	})
	m.Status, m.LastSeenMs = store.Active, 10
	again := m
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertMember(&again) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.SetMemberStatus(m.No, store.Invited, store.Disabled) })
	f.view(func(r *store.Reader) error {
		byID, err1 := r.MemberByID(1, m.Person.ID)
		byNo, err2 := r.MemberByNo(1, m.Person.No)
		all, err3 := r.MembershipsOf(m.Person.No)
		same(f, "by id", byID, m)
		same(f, "by number", byNo, m)
		same(f, "all", all, []store.Member{m, elsewhere})
		_, foreign := r.MemberByID(3, m.Person.ID)
		_, unknown := r.MemberByNo(1, 1<<40)
		missing(f, foreign, unknown)
		return errors.Join(err1, err2, err3)
	})
	if !m.Counts() || elsewhere.Status.String() != "active" {
		f.Error("an active member does not count")
	}
	if m.Person.DisabledMs = 1; m.Counts() {
		f.Error("a member who is disabled everywhere counts")
	}
}

func memberDeleted(f *fixture) {
	m := f.newMember(1, "ada", store.Active)
	elsewhere := store.Member{Account: 2, Person: m.Person, Status: store.Active}
	f.update(func(tx *store.Tx) error { return tx.InsertMember(&elsewhere) })
	other := f.newMember(1, "bo", store.Active)
	here := f.newGroup(1, "here", m.Person.No, other.Person.No)
	there := f.newGroup(2, "there", m.Person.No)
	for _, g := range []store.Grant{
		{Account: 1, Person: m.Person.No, Role: "viewer"}, {Account: 2, Person: m.Person.No, Role: "viewer"}, {Account: 1, Person: other.Person.No, Role: "viewer"},
		{Account: 1, Group: here.No, Role: "viewer"},
	} {
		f.newGrant(g)
	}
	f.update(func(tx *store.Tx) error { return tx.DeleteMember(1, m.Person.No) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DeleteMember(1, m.Person.No) })
	f.view(func(r *store.Reader) error {
		all, err1 := r.MembershipsOf(m.Person.No)
		_, err2 := r.PersonByNo(m.Person.No)
		mine, err3 := r.GrantsOf(1, m.Person.No, 10)
		theirs, err4 := r.GrantsOf(2, m.Person.No, 10)
		others, err5 := r.GrantsOf(1, other.Person.No, 10)
		gone, err6 := r.InGroup(here.No, m.Person.No)
		kept, err7 := r.InGroup(there.No, m.Person.No)
		same(f, "memberships that are left", len(all), 1)
		same(f, "grants", []int{len(mine), len(theirs), len(others)}, []int{0, 1, 2})
		same(f, "in the groups", []bool{gone, kept}, []bool{false, true})
		return errors.Join(err1, err2, err3, err4, err5, err6, err7)
	})
}

func memberList(f *fixture) {
	var want []int64
	for i := range 5 {
		m := f.newMember(1+int64(i/4), fmt.Sprint("p", i), store.Active)
		if m.Account == 1 {
			want = append([]int64{m.No}, want...)
		}
	}
	invited := f.newMember(1, "invited", store.Invited)
	here, everywhere := f.newMember(1, "disabled here", store.Disabled), f.newMember(1, "disabled everywhere", store.Active)
	f.update(func(tx *store.Tx) error { return tx.DisablePerson(everywhere.Person.No, startMs) })
	list := func(status store.MemberStatus) []int64 {
		return pages(f, func(r *store.Reader, before int64) (keys []int64, err error) {
			list, err := r.ListMembers(store.MemberFilter{Account: 1, Status: status, After: before, Limit: 2})
			for _, m := range list {
				keys = append(keys, m.No)
			}
			return keys, err
		})
	}
	same(f, "members", list(0), append([]int64{everywhere.No, here.No, invited.No}, want...))
	same(f, "active members", list(store.Active), want)
	same(f, "invited members", list(store.Invited), []int64{invited.No})
	same(f, "disabled members", list(store.Disabled), []int64{everywhere.No, here.No})
}

func memberSearch(f *fixture) {
	for _, name := range []string{"ada", "adam", "bo", "ben"} {
		f.newMember(1, name, store.Active)
	}
	f.newMember(2, "adele", store.Active)
	both := store.Person{Email: "the@x", EmailKey: "the@x", Name: "The Both", NameKey: "the both", CreatedMs: startMs}
	setID(f, &both.ID, startMs)
	m := store.Member{Account: 1, Person: both, Status: store.Active}
	f.update(func(tx *store.Tx) error {
		err := tx.InsertPerson(&m.Person)
		return errors.Join(err, tx.InsertMember(&m))
	})
	find := func(prefix string, limit int) (names []string) {
		f.view(func(r *store.Reader) error {
			list, err := r.SearchMembers(1, prefix, limit)
			for _, m := range list {
				name, _, _ := strings.Cut(m.Person.EmailKey, "@")
				names = append(names, name)
			}
			return err
		})
		return names
	}
	same(f, "by e-mail", find("ada", 10), []string{"ada", "adam"})
	same(f, "by name, e-mails first, each once", find("the", 10), []string{"the", "ada", "adam", "ben", "bo"})
	same(f, "cut", find("the", 3), []string{"the", "ada", "adam"})
	paged := func(prefix string, status store.MemberStatus) []int64 {
		return pages(f, func(r *store.Reader, after int64) (keys []int64, err error) {
			list, err := r.ListMembers(store.MemberFilter{Account: 1, Prefix: prefix, Status: status, After: after, Limit: 2})
			for _, m := range list {
				keys = append(keys, m.No)
			}
			return keys, err
		})
	}
	var all []int64
	f.view(func(r *store.Reader) error {
		list, err := r.SearchMembers(1, "the", 10)
		for _, m := range list {
			all = append(all, m.No)
		}
		return err
	})
	same(f, "page by page, by e-mail and then by name", paged("the", 0), all)
	same(f, "of a status", paged("the", store.Active), all)
	same(f, "of another status", len(paged("the", store.Invited)), 0)
	f.view(func(r *store.Reader) error {
		_, err := r.ListMembers(store.MemberFilter{Account: 2, Prefix: "the", After: all[0], Limit: 2})
		missing(f, err)
		return nil
	})
	same(f, "none", find("zoe", 3), nil)
	same(f, "signs that patterns know", find("%", 3), nil)
	f.update(func(tx *store.Tx) error {
		m.Person.Name, m.Person.NameKey = "Zoe", "zoe"
		return tx.UpdatePerson(&m.Person)
	})
	same(f, "after a change of the name", find("zoe", 3), []string{"the"})
}

// memberDetails: groups of the account alone, and ways to sign in, each once.
func memberDetails(f *fixture) {
	ada, bob, cy := f.newMember(1, "ada", store.Active).Person, f.newMember(1, "bob", store.Active).Person, f.newMember(1, "cy", store.Active).Person
	all, one := f.newGroup(1, "all", ada.No, bob.No), f.newGroup(1, "one", ada.No)
	f.newGroup(2, "of another account", ada.No)
	f.update(func(tx *store.Tx) error {
		key := store.Passkey{Person: bob.No, Credential: []byte("of bob"), Data: []byte("x"), Name: "Phone", CreatedMs: startMs}
		setID(f, &key.ID, startMs)
		second := key
		second.Credential = []byte("second of bob")
		setID(f, &second.ID, startMs+1)
		return errors.Join(tx.InsertPasskey(&key), tx.InsertPasskey(&second),
			tx.InsertIdentity(&store.Identity{Issuer: "i", Subject: "ada", Person: ada.No, Provider: "p", CreatedMs: startMs}),
			tx.InsertIdentity(&store.Identity{Issuer: "j", Subject: "ada", Person: ada.No, Provider: "p", CreatedMs: startMs}),
			tx.InsertIdentity(&store.Identity{Issuer: "j", Subject: "ada at o", Person: ada.No, Provider: "o", CreatedMs: startMs}))
	})
	groups := []chargehand.GroupID{all.ID, one.ID}
	slices.SortFunc(groups, func(a, b chargehand.GroupID) int { return slices.Compare(a[:], b[:]) })
	f.view(func(r *store.Reader) error {
		got, err := r.MemberDetails(1, []int64{ada.No, bob.No, cy.No})
		same(f, "details", got, map[int64]*store.MemberDetail{
			ada.No: {Groups: groups, Providers: []string{"o", "p"}}, bob.No: {Groups: []chargehand.GroupID{all.ID}, Passkey: true},
		})
		return err
	})
}
