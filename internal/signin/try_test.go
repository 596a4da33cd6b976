package signin

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	rules "github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/store"
)

func TestSignInAndOut(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		first := fx.setUp()
		session, err := fx.SignIn(ctx, " ada@EXAMPLE.com", good, home)
		if err != nil || session.Token == first.Token || session.Token == "" {
			t.Fatalf("%+v, %v", session, err)
		}
		found, err := fx.Session(ctx, session.Token)
		if err != nil || found.ID != session.ID || found.Person.Email != "Ada@example.com" {
			t.Fatalf("%+v, %v", found, err)
		}
		for what, text := range map[string]string{"no token": "", "an unknown token": strings.Repeat("A", 43), "no token at all": strings.Repeat("\x00", 10_000)} {
			_, err := fx.Session(ctx, text)
			refused(t, what, err, chargehand.CodeInvalidCredentials, "")
		}
		if err := fx.SignOut(ctx, found); err != nil {
			t.Fatal(err)
		}
		_, err = fx.Session(ctx, session.Token)
		refused(t, "after signing out", err, chargehand.CodeInvalidCredentials, "")
		if _, err := fx.Session(ctx, first.Token); err != nil {
			t.Errorf("the other session: %v", err)
		}
	})
}

func TestSessionsEnd(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		idle := fx.setUp()
		used := must(fx.SignIn(ctx, "ada@example.com", good, home))
		for range 29 {
			fx.advance(rules.Idle - time.Minute)
			if _, err := fx.Session(ctx, used.Token); err != nil {
				break
			}
		}
		if got := fx.time().Sub(epoch); got < rules.Life || got > rules.Life+rules.Idle {
			t.Errorf("a session that is used ends after %v", got)
		}
		_, err := fx.Session(ctx, idle.Token)
		refused(t, "a session that is not used", err, chargehand.CodeInvalidCredentials, "")
	})
}

func TestADisabledPersonIsOut(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		ada := fx.setUp()
		fx.change(func(tx *store.Tx) error { return tx.DisablePerson(ada.Person.No, 1) })
		_, err := fx.Session(ctx, ada.Token)
		refused(t, "the session", err, chargehand.CodeInvalidCredentials, "")
		_, err = fx.SignIn(ctx, "ada@example.com", good, home)
		refused(t, "sign-in", err, chargehand.CodeInvalidCredentials, wrongPassword)
	})
}

// TestFailedTries: each delays the next, of the person and of unknown ones alike, for a while and not for good.
func TestFailedTries(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		fx.setUp()
		for _, email := range []string{"ada@example.com", "eve@example.com", "no e-mail at all"} {
			var waits []int
			for range 9 {
				_, err := fx.SignIn(ctx, email, "a wrong password", home)
				refused(t, email, err, chargehand.CodeInvalidCredentials, wrongPassword)
				_, err = fx.SignIn(ctx, email, "a wrong password", home)
				var shown *chargehand.Error
				if errors.As(err, &shown) && shown.Code == chargehand.CodeRateLimited {
					waits = append(waits, shown.RetryAfter)
					fx.advance(time.Duration(shown.RetryAfter) * time.Second)
				}
			}
			if len(waits) == 0 || waits[len(waits)-1] != 30 {
				t.Errorf("%s: waits of %v seconds", email, waits)
			}
			fx.advance(time.Hour) // the address has failed often too
		}
		if _, err := fx.SignIn(ctx, "ada@example.com", good, home); err != nil {
			t.Errorf("after all that: %v", err)
		}
		for range 2 {
			fx.SignIn(ctx, "ada@example.com", "a wrong password", home)
		}
		if _, err := fx.SignIn(ctx, "ada@example.com", good, home); err != nil {
			t.Errorf("success does not forget the failures: %v", err)
		}
	})
}

// TestTriesFromOneNetwork: failures count for a whole network of IPv6, and for every person from there.
func TestTriesFromOneNetwork(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		fx.setUp()
		other := New(fx.config()) // another node shares the rows
		var limited error
		for i := range 40 {
			from := Client{Address: netip.MustParseAddr("2001:db8::").Next()}
			for range i {
				from.Address = from.Address.Next()
			}
			if _, err := other.SignIn(ctx, strings.Repeat("x", i+1)+"@example.com", "a wrong password", from); err != nil {
				limited = err
			}
		}
		refused(t, "from one network", limited, chargehand.CodeRateLimited, "Wait")
		_, err := fx.SignIn(ctx, "ada@example.com", good, Client{Address: netip.MustParseAddr("2001:db8::ffff")})
		refused(t, "a good one from there", err, chargehand.CodeRateLimited, "Wait")
		if _, err := fx.SignIn(ctx, "ada@example.com", good, Client{Address: netip.MustParseAddr("2001:db8:0:1::1")}); err != nil {
			t.Errorf("from another network: %v", err)
		}
	})
}

// TestConcurrentGuesses: many tries at once test few passwords, because each counts before it is made.
func TestConcurrentGuesses(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		fx.setUp()
		var tested atomic.Int64
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				_, err := fx.SignIn(t.Context(), "ada@example.com", "a wrong password", home)
				var shown *chargehand.Error
				if errors.As(err, &shown) && shown.Code == chargehand.CodeInvalidCredentials {
					tested.Add(1)
				}
			})
		}
		all.Wait()
		if n := tested.Load(); n == 0 || n > 3 {
			t.Errorf("%d passwords were tested", n)
		}
	})
}

func TestFreshness(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		session := fx.setUp()
		fx.advance(rules.Fresh)
		found := must(fx.Session(ctx, session.Token))
		if found.Fresh(fx.time()) {
			t.Error("the sign-in is fresh after 10 minutes")
		}
		_, err := fx.VerifyPassword(ctx, found, "a wrong password", home)
		refused(t, "a wrong password", err, chargehand.CodeInvalidCredentials, "")
		fresh, err := fx.VerifyPassword(ctx, found, good, home)
		if err != nil || !fresh.Fresh(fx.time()) || fresh.Token == "" || fresh.ID != session.ID {
			t.Fatalf("%+v, %v", fresh, err)
		}
		if _, err := fx.Session(ctx, session.Token); err != nil {
			t.Errorf("a request that was on its way: %v", err)
		}
		fx.advance(rules.OldToken)
		_, err = fx.Session(ctx, session.Token)
		refused(t, "the token before, later", err, chargehand.CodeInvalidCredentials, "")
		if !must(fx.Session(ctx, fresh.Token)).Fresh(fx.time()) {
			t.Error("the new token is not fresh")
		}
	})
}

func TestChangingThePassword(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		first := fx.setUp()
		session := must(fx.SignIn(ctx, "ada@example.com", good, home))
		_, err := fx.ChangePassword(ctx, session, "a wrong password", "another horse battery", home)
		refused(t, "a wrong old one", err, chargehand.CodeInvalidCredentials, "old password")
		_, err = fx.ChangePassword(ctx, session, good, "qwertyuiop123", home)
		refused(t, "a common one", err, chargehand.CodeInvalidBody, "commonest")
		renewed, err := fx.ChangePassword(ctx, session, good, "another horse battery", home)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fx.Session(ctx, renewed.Token); err != nil {
			t.Error(err)
		}
		_, err = fx.Session(ctx, first.Token)
		refused(t, "the other session", err, chargehand.CodeInvalidCredentials, "")
	})
}

func TestWithoutPasswords(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		fx.setUp()
		c := fx.config()
		c.WithoutPasswords = true
		s := New(c)
		_, err := s.SignIn(t.Context(), "ada@example.com", good, home)
		refused(t, "sign-in", err, chargehand.CodeInvalidCredentials, "no sign-in with passwords")
		if m := must(s.Methods(t.Context(), home)); m.Password {
			t.Error("methods list the password")
		}
	})
}

// TestTheTokenBeforeRenewsNothing: who holds a token that was replaced does not stay in with it.
func TestTheTokenBeforeRenewsNothing(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		old := fx.setUp().Token
		renewed := must(fx.VerifyPassword(ctx, must(fx.Session(ctx, old)), good, home))
		late := must(fx.Session(ctx, old))
		_, err := fx.SwitchAccount(ctx, late, late.Account.ID)
		refused(t, "another token", err, chargehand.CodeInvalidCredentials, "Sign in again")
		_, err = fx.VerifyPassword(ctx, late, good, home)
		refused(t, "a fresh sign-in", err, chargehand.CodeInvalidCredentials, "Sign in again")
		_, err = fx.ChangePassword(ctx, late, good, "another horse battery", home)
		refused(t, "another password", err, chargehand.CodeInvalidCredentials, "Sign in again")
		if _, err := fx.SwitchAccount(ctx, must(fx.Session(ctx, renewed.Token)), late.Account.ID); err != nil {
			t.Errorf("the new token: %v", err)
		}
	})
}
