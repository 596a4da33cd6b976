package service

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// What was answered for an address does not tell whether the installation knows the address: only of active users of
// the account, whom all find who may answer tasks (FindPeople), there is an id.
func TestAnswersDoNotTellWhoHasAnAccount(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		ada := fx.as("ada", "operator")
		bob := fx.member("bob")
		invited, elsewhere, gone := fx.newMember("invited"), fx.newMember("elsewhere"), fx.newMember("gone")
		err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
			invited.No, invited.Person.No, elsewhere.Person.No, gone.Person.No = 0, 0, 0, 0
			invited.Status = store.Invited
			for _, p := range []*store.Person{&invited.Person, &elsewhere.Person, &gone.Person} {
				if err := tx.InsertPerson(p); err != nil {
					return err
				}
			}
			if err := tx.DisablePerson(gone.Person.No, fx.nowMs()); err != nil {
				return err
			}
			return tx.InsertMember(&invited)
		})
		if err != nil {
			t.Fatal(err)
		}
		keeper := *fx.key("keeper", "")
		keeper.Scopes |= ScopeTasksImpersonate
		for address, want := range map[string]string{
			"bob@example.org": bob.Person.ID.String(), "invited@example.org": "invited@example.org", "elsewhere@example.org": "elsewhere@example.org",
			"gone@example.org": "gone@example.org", "unknown@example.org": "unknown@example.org",
		} {
			for name, answer := range map[string]func(id chargehand.HumanTaskID) error{
				"link": func(id chargehand.HumanTaskID) error {
					secret := fx.linked(ada, id, map[string]any{"name": "Some name", "email": strings.ToUpper(address)})
					seen, err := fx.LinkedTask(t.Context(), secret, view)
					if err != nil || seen.Name != "Some name" || seen.State != LinkOpen {
						t.Errorf("%s: its page is %+v, %v", address, seen, err)
					}
					return fx.answerBy(secret)
				},
				"mail": func(id chargehand.HumanTaskID) error { return fx.answerBy(fx.mailed(id, address, "")) },
				"behalf": func(id chargehand.HumanTaskID) error {
					return fx.answer(&keeper, id, map[string]any{"on_behalf_of": address})
				},
			} {
				id := fx.open(map[string]any{})
				if err := answer(id); err != nil {
					t.Fatalf("%s by %s: %v", address, name, err)
				}
				if by := fx.by(id).(map[string]any); by["id"] != want {
					t.Errorf("%s by %s: answered by %v", address, name, by)
				}
				// The same person stays excluded, by whatever name.
				next := fx.open(map[string]any{"assignees": people(nil, nil, []any{fx.by(id)})})
				wantRefusal(t, name, fx.answer(&keeper, next, map[string]any{"on_behalf_of": address}), chargehand.CodeExcluded)
				_, _, err := fx.link(fx.as("maker of "+name+" "+address, "operator"), next, email(address))
				wantRefusal(t, name, err, chargehand.CodeExcluded)
			}
		}
	})
}

// A link is the right to answer: for people without an account, and so for users who could not answer without it. All
// else that decides who may answer holds for links too.
func TestAddresseesNeedNoScope(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		ada, none := fx.as("ada", "operator"), fx.member("none")
		vera := fx.member("vera", store.Grant{Role: "viewer"})
		id := fx.open(map[string]any{"assignees": people([]any{"vera@example.org", "none@example.org"}, nil, nil)})
		wantCode(t, fx.answer(fx.session(fx.signIn(vera), chargehand.Live), id, map[string]any{}), chargehand.CodeInsufficientScope)
		wantCode(t, fx.answer(fx.session(fx.signIn(none), chargehand.Live), id, map[string]any{}), chargehand.CodeInsufficientScope)
		fromMail := fx.mailed(id, "vera@example.org", "")
		fromAda := fx.linked(ada, id, email("none@example.org"))
		if fx.state(fromMail) != LinkOpen || fx.state(fromAda) != LinkOpen {
			t.Errorf("states %d, %d", fx.state(fromMail), fx.state(fromAda))
		}
		if _, err := fx.ReassignHumanTask(t.Context(), ada, id, map[string]any{"users": []any{"none@example.org"}}); err != nil {
			t.Fatal(err)
		}
		wantCode(t, fx.answerBy(fromMail), chargehand.CodeStateConflict)
		if err := fx.answerBy(fromAda); err != nil {
			t.Error(err)
		}
		if by := fx.by(id).(map[string]any); by["id"] != none.Person.ID.String() {
			t.Errorf("answered by %v", by)
		}
	})
}

// The same answer again changes nothing, also when the person has become a user meanwhile, or is none any more: then
// the first one has another id of the same person.
func TestTheSameAnswerOfAPersonWithAnotherID(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		ada, admin := fx.as("ada", "operator"), fx.as("root", "admin")
		keeper := *fx.key("keeper", "")
		keeper.Scopes |= ScopeTasksImpersonate
		behalf := func(id chargehand.HumanTaskID, email string) error {
			return fx.answer(&keeper, id, map[string]any{"on_behalf_of": email})
		}
		invited, left := fx.newMember("invited"), fx.member("left")
		invited.Status = store.Invited
		err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
			invited.No, invited.Person.No = 0, 0
			if err := tx.InsertPerson(&invited.Person); err != nil {
				return err
			}
			return tx.InsertMember(&invited)
		})
		if err != nil {
			t.Fatal(err)
		}
		byKey, byLink, ofLeft := fx.open(nil), fx.open(nil), fx.open(nil)
		secret := fx.linked(ada, byLink, email("invited@example.org"))
		again := map[string]func() error{
			"in the name of the invited one": func() error { return behalf(byKey, "Invited@example.org") },
			"by a link of the invited one":   func() error { return fx.answerBy(secret) },
			"in the name of who leaves":      func() error { return behalf(ofLeft, "left@example.org") },
		}
		for name, answer := range again {
			if err := answer(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		err = fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.SetMemberStatus(invited.No, store.Invited, store.Active) })
		if err == nil {
			err = fx.RemoveUser(t.Context(), admin, left.Person.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, answer := range again {
			if err := answer(); err != nil {
				t.Errorf("the same answer again, %s: %v", name, err)
			}
		}
		for _, id := range []chargehand.HumanTaskID{byKey, byLink, ofLeft} {
			wantCode(t, behalf(id, "other@example.org"), chargehand.CodeAnswerConflict)
		}
	})
}
