package signin

import (
	"context"
	"errors"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// crashEach runs a change again and again, on a process that crashes after 0, 1, 2 … commits, until it ends without a
// crash. After each crash the process begins anew, and check looks at what is left.
func (fx *fixture) crashEach(what string, change func() error, check func(err error)) {
	fx.t.Helper()
	for commits := int64(0); ; commits++ {
		if commits > 20 {
			fx.t.Fatalf("%s makes more than 20 commits", what)
		}
		fx.db.left.Store(commits)
		err := change()
		crashed := fx.db.left.Load() == 0
		fx.restart()
		check(err)
		if !crashed {
			return
		}
	}
}

// admins are the active members with the role admin.
func (fx *fixture) admins() (n int) {
	fx.t.Helper()
	err := fx.rows.View(fx.t.Context(), func(r *store.Reader) error {
		grants, err := r.ListGrants(store.GrantFilter{Account: fx.account.No, Limit: 100})
		for _, g := range grants {
			if g.Role == "admin" {
				n++
			}
		}
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return n
}

// TestACrashLeavesOneAdminOrTheToken: whichever commit of the set-up was the last, the installation has one admin, or
// the same token makes it still.
func TestACrashLeavesOneAdminOrTheToken(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		var text string
		fx.crashEach("a set-up token", func() (err error) {
			text, err = NewSetupToken(t.Context(), fx.rows, fx.time())
			return err
		}, func(error) {
			if !must(fx.Methods(t.Context(), home)).Setup || fx.admins() != 0 {
				t.Error("a set-up token alone has set the installation up")
			}
		})
		tries := 0
		fx.crashEach("the set-up", func() error {
			tries++
			_, err := fx.Setup(t.Context(), Setup{Token: text, Name: "Ada", Email: "ada@example.com", Password: good}, home)
			return err
		}, func(err error) {
			switch n, open := fx.admins(), must(fx.Methods(t.Context(), home)).Setup; {
			case n > 1, open != (n == 0), n == 1 && !fx.admin():
				t.Errorf("after try %d (%v) there are %d admins, and the set-up is open: %v", tries, err, n, open)
			}
		})
		if _, err := fx.SignIn(t.Context(), "ada@example.com", good, home); err != nil || fx.admins() != 1 || tries < 3 {
			t.Errorf("after %d tries there are %d admins: %v", tries, fx.admins(), err)
		}
	})
}

// TestACrashUsesAnInvitationOnceOrNot: whichever commit was the last, the person is an active member, or the same link
// still makes one.
func TestACrashUsesAnInvitationOnceOrNot(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := context.Background()
		fx.setUp()
		text := fx.invite("bob@example.com", fx.account)
		fx.crashEach("an invitation", func() error {
			_, err := fx.Accept(ctx, Accept{Token: text, Name: "Bob", Password: good}, home)
			return err
		}, func(err error) {
			_, open := fx.Invitation(ctx, text)
			_, in := fx.SignIn(ctx, "bob@example.com", good, home)
			if (open == nil) == (in == nil) {
				t.Errorf("after %v the invitation is open: %v, and Bob signs in: %v", err, open == nil, in)
			}
			fx.forgetDelays()
		})
		ada := must(fx.SignIn(ctx, "ada@example.com", good, home))
		other := fx.another("other")
		text = fx.invite("ada@example.com", other)
		fx.crashEach("an invitation of a known person", func() error {
			found, err := fx.Session(ctx, ada.Token)
			if err != nil {
				return err
			}
			_, err = fx.Accept(ctx, Accept{Token: text, Session: found}, home)
			return err
		}, func(err error) {
			_, open := fx.Invitation(ctx, text)
			joined := len(must(fx.SignIn(ctx, "ada@example.com", good, home)).Accounts) == 2
			if (open == nil) == joined {
				t.Errorf("after %v the invitation is open: %v, and Ada is a member: %v", err, open == nil, joined)
			}
		})
	})
}

// TestACrashSetsAPasswordOnceOrNot: a link to set a password is used up together with what it does.
func TestACrashSetsAPasswordOnceOrNot(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := context.Background()
		ada := fx.setUp()
		fx.change(func(tx *store.Tx) error {
			return tx.InsertTicket(&store.Ticket{Hash: hashOf("reset"), Kind: store.TicketReset, Person: ada.Person.No, CreatedMs: 1, ExpiresMs: fx.time().Add(SetupLife).UnixMilli()})
		})
		fx.crashEach("a reset", func() error {
			_, err := fx.Reset(ctx, "reset", "another horse battery", home)
			return err
		}, func(err error) {
			_, old := fx.SignIn(ctx, "ada@example.com", good, home)
			_, now := fx.SignIn(ctx, "ada@example.com", "another horse battery", home)
			_, kept := fx.Session(ctx, ada.Token)
			var shown *chargehand.Error
			if (old == nil) == (now == nil) || (kept == nil) != (old == nil) || old != nil && !errors.As(old, &shown) {
				t.Errorf("after %v: the old password %v, the new one %v, the session before %v", err, old, now, kept)
			}
			fx.forgetDelays()
		})
	})
}

// forgetDelays deletes what failed tries have counted, for tests that are not about them.
func (fx *fixture) forgetDelays() {
	fx.change(func(tx *store.Tx) error {
		_, err := tx.DeleteSignInDelays(fx.time().UnixMilli()+1, 1000)
		return err
	})
}
