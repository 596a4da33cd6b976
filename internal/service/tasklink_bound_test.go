package service

import (
	"testing"

	"github.com/chargehand/chargehand"
)

// TestBoundOfOpenLinks: the links that end with a session or a user are bounded, because they do so in one transaction.
func TestBoundOfOpenLinks(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		fx.openLinks = 2
		ada, bob := fx.as("ada", "operator"), fx.as("bob", "operator")
		first, second, third := fx.open(map[string]any{}), fx.open(map[string]any{}), fx.open(map[string]any{})
		link := func(p *Principal, task chargehand.HumanTaskID) (TaskLink, error) {
			l, _, err := fx.link(p, task, map[string]any{})
			return l, err
		}
		one, err := link(ada, first)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := link(ada, second); err != nil {
			t.Fatal(err)
		}
		_, err = link(ada, third)
		wantCode(t, err, chargehand.CodeStateConflict)
		if shown, err := fx.GetHumanTask(t.Context(), ada, third); err != nil || len(shown.Full.Links) != 0 {
			t.Fatalf("what was refused is there: %+v, %v", shown.Full, err)
		}
		for _, other := range []*Principal{bob, fx.p, fx.p, fx.p} { // those of another person, and of an API key
			if _, err := link(other, third); err != nil {
				t.Fatal(err)
			}
		}
		if err := fx.RevokeTaskLink(t.Context(), ada, first, one.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := link(ada, third); err != nil {
			t.Errorf("after one was revoked: %v", err)
		}
		_, err = link(ada, first)
		wantCode(t, err, chargehand.CodeStateConflict)
		if err := fx.answer(bob, second, map[string]any{}); err != nil {
			t.Fatal(err)
		}
		if _, err := link(ada, first); err != nil {
			t.Errorf("after one of their tasks has ended: %v", err)
		}
	})
}
