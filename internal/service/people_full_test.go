//go:build !race && unix

package service

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// TestLongPeoplePages: 100,000 users, and 10,000 groups of which one has all of them as its members. Pages of 100
// take at most 20 ms of the processor, but for one of a hundred.
func TestLongPeoplePages(t *testing.T) {
	if os.Getenv("CHARGEHAND_FULL") == "" {
		t.Skip("takes a minute: make test/full")
	}
	const users, groups, pages = 100_000, 10_000, 300
	fx := newFixtureOver(t, template.New(t))
	p := fx.must(fx.as("admin", "admin"), ScopeAdmin, 0)
	persons := make([]int64, 0, users)
	for from := 0; from < users; from += 1000 {
		err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
			for i := from; i < from+1000; i++ {
				m := fx.newMember(fmt.Sprintf("user%06d", i))
				if err := tx.InsertPerson(&m.Person); err != nil {
					return err
				}
				if err := tx.InsertMember(&m); err != nil {
					return err
				}
				persons = append(persons, m.Person.No)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for from := 0; from < groups; from += 500 {
		err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
			for i := from; i < from+500; i++ {
				name := fmt.Sprintf("group%05d", i)
				g := store.Group{ID: newID[chargehand.GroupID](fx.nowMs()), Account: fx.account.No, Name: name, NameKey: name}
				if err := tx.InsertGroup(&g); err != nil {
					return err
				}
				members := 10
				if i == groups-50 {
					members = users
				}
				for j := range members {
					person := persons[j]
					if members < users {
						person = persons[r.IntN(users)]
					}
					if err := tx.JoinGroup(&g, person); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	lists := map[string]func(limit int, after Cursor) (int, error){
		"users": func(limit int, after Cursor) (int, error) {
			page, err := fx.ListUsers(t.Context(), p, ListUsers{Limit: limit, After: after})
			return len(page.Data), err
		},
		"users by e-mail": func(limit int, _ Cursor) (int, error) {
			page, err := fx.ListUsers(t.Context(), p, ListUsers{Text: fmt.Sprintf("user%03d", r.IntN(100)), Status: "active", Limit: limit})
			return len(page.Data), err
		},
		"groups": func(limit int, after Cursor) (int, error) {
			page, err := fx.ListGroups(t.Context(), p, limit, after)
			return len(page.Data), err
		},
		"people": func(limit int, _ Cursor) (int, error) {
			found, err := fx.FindPeople(t.Context(), p, fmt.Sprintf("user%03d", r.IntN(100)), limit)
			return len(found.Users), err
		},
	}
	rows := map[string]int{"users": users, "groups": groups, "people": 1, "users by e-mail": 1}
	for name, list := range lists {
		var times pageTimes
		for i := range pages {
			after := Cursor{}
			if i%10 > 0 { // the first page, with the large group, is one of ten
				after = numberCursor(int64(200 + r.IntN(max(rows[name]-200, 1))))
			}
			times.page(t, func() error {
				n, err := list(100, after)
				if err == nil && n != 100 {
					err = fmt.Errorf("%s: a page of %d", name, n)
				}
				return err
			})
		}
		times.judge(t, name)
	}
}
