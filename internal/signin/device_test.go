package signin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

// program is a program that asks for keys from an address of its own.
var program = Client{Address: netip.MustParseAddr("198.51.100.9"), Agent: "chargehand"}

// withKeys is another node of the fixture, which makes keys that count.
func (fx *fixture) withKeys(made *[]KeyRequest) *Service {
	c := fx.config()
	c.Keys = func(_ context.Context, tx *store.Tx, r KeyRequest) (keys []IssuedKey, err error) {
		*made = append(*made, r)
		for _, env := range r.Environments {
			keys = append(keys, IssuedKey{ID: newID[chargehand.KeyID](), Environment: env, Key: "key of " + env.String()})
		}
		return keys, tx.SetMeta("made", []byte(r.Name)) // a row of the transaction
	}
	return New(c)
}

func start(t *testing.T, s *Service, name string) DeviceCode {
	t.Helper()
	c, err := s.StartDevice(t.Context(), StartDevice{Name: name}, program)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDeviceGrant: two nodes, of which one serves the program and the other the browser.
func TestDeviceGrant(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		var made []KeyRequest
		one, two := fx.withKeys(&made), fx.withKeys(&made)
		session := fx.setUp()
		c := start(t, one, "chargehand on laptop")
		_, err := two.RedeemDevice(t.Context(), c.Device)
		refused(t, "before it is confirmed", err, chargehand.CodeAuthorizationPending, "")
		_, err = one.RedeemDevice(t.Context(), c.Device)
		refused(t, "at once again, on another node", err, chargehand.CodeSlowDown, "5 seconds longer")
		fx.advance(DevicePause)
		_, err = one.RedeemDevice(t.Context(), c.Device)
		refused(t, "after the first pause, which is longer now", err, chargehand.CodeSlowDown, "")
		fx.advance(3 * DevicePause)
		_, err = two.RedeemDevice(t.Context(), c.Device)
		refused(t, "after the longer pause", err, chargehand.CodeAuthorizationPending, "")

		typed := " " + strings.ToLower(strings.ReplaceAll(c.User, "-", " "))
		d, err := two.Device(t.Context(), session, typed, home)
		if err != nil || d.Name != "chargehand on laptop" || d.Address != "198.51.100.9" || len(d.Environments) != 2 || d.Code != c.User {
			t.Fatalf("%+v, %v", d, err)
		}
		refused(t, "another form", two.DecideDevice(t.Context(), session, d.Code, "form", true), chargehand.CodeInvalidCredentials, "The code is not right")
		if err := one.DecideDevice(t.Context(), session, d.Code, d.Form, true); err != nil {
			t.Fatal(err)
		}
		refused(t, "decided", two.DecideDevice(t.Context(), session, d.Code, d.Form, false), chargehand.CodeInvalidCredentials, "")
		_, err = two.Device(t.Context(), session, c.User, home)
		refused(t, "typed again", err, chargehand.CodeInvalidCredentials, "")

		// Of many questions at once, one gets the keys.
		var mu sync.Mutex
		var got []*Redeemed
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				r, err := []*Service{one, two}[i%2].RedeemDevice(t.Context(), c.Device)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					got = append(got, r)
				} else {
					refused(t, "used", err, chargehand.CodeExpiredToken, "")
				}
			})
		}
		wg.Wait()
		if len(got) != 1 || len(got[0].Keys) != 2 || got[0].Person.Email != "Ada@example.com" || got[0].Account.Name != "default" {
			t.Fatalf("got %+v", got)
		}
		if made[0].Person != session.Person.No || made[0].Account != fx.account.No || made[0].Name != "chargehand on laptop" {
			t.Errorf("made %+v", made)
		}
	})
}

// TestDeviceRefused: a person refuses, the request expires, the person is disabled meanwhile.
func TestDeviceRefused(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		var made []KeyRequest
		s := fx.withKeys(&made)
		session := fx.setUp()
		typed := func(c DeviceCode) *Device {
			t.Helper()
			d, err := s.Device(t.Context(), session, c.User, home)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		c := start(t, s, "one")
		d := typed(c)
		if err := s.DecideDevice(t.Context(), session, d.Code, d.Form, false); err != nil {
			t.Fatal(err)
		}
		_, err := s.RedeemDevice(t.Context(), c.Device)
		refused(t, "denied", err, chargehand.CodeAccessDenied, "")
		_, err = s.RedeemDevice(t.Context(), c.Device)
		refused(t, "denied before", err, chargehand.CodeExpiredToken, "")

		c = start(t, s, "two")
		d = typed(c)
		fx.advance(DeviceLife)
		refused(t, "too late", s.DecideDevice(t.Context(), session, d.Code, d.Form, false), chargehand.CodeInvalidCredentials, "expired")
		refused(t, "a sign-in that is not fresh", s.DecideDevice(t.Context(), session, d.Code, d.Form, true), chargehand.CodeFreshSignInRequired, "")
		_, err = s.RedeemDevice(t.Context(), c.Device)
		refused(t, "expired", err, chargehand.CodeExpiredToken, "")

		if session, err = s.VerifyPassword(t.Context(), session, good, home); err != nil {
			t.Fatal(err)
		}
		c = start(t, s, "three")
		d = typed(c)
		if err := s.DecideDevice(t.Context(), session, d.Code, d.Form, true); err != nil {
			t.Fatal(err)
		}
		fx.change(func(tx *store.Tx) error { return tx.DisablePerson(session.Person.No, 1) })
		_, err = s.RedeemDevice(t.Context(), c.Device)
		refused(t, "disabled", err, chargehand.CodeAccessDenied, "")
		if len(made) != 0 {
			t.Errorf("made %+v", made)
		}
	})
}

// TestDeviceOfAnotherSession: what one session has typed, no other one confirms, and only the last one that typed it.
func TestDeviceOfAnotherSession(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ada := fx.setUp()
		again, err := fx.SignIn(t.Context(), "ada@example.com", good, home)
		if err != nil {
			t.Fatal(err)
		}
		bob, err := fx.Accept(t.Context(), Accept{Token: fx.invite("bob@example.com", fx.account), Name: "Bob", Password: good + "!"}, home)
		if err != nil {
			t.Fatal(err)
		}
		c := start(t, fx.Service, "program")
		d, err := fx.Device(t.Context(), ada, c.User, home)
		if err != nil {
			t.Fatal(err)
		}
		for name, other := range map[string]*Session{"another person": bob, "another session": again} {
			refused(t, name, fx.DecideDevice(t.Context(), other, d.Code, d.Form, true), chargehand.CodeInvalidCredentials, "")
		}
		if _, err := fx.Device(t.Context(), bob, c.User, home); err != nil {
			t.Fatal(err)
		}
		refused(t, "typed by another person since", fx.DecideDevice(t.Context(), ada, d.Code, d.Form, true), chargehand.CodeInvalidCredentials, "")
	})
}

// TestCodesOfDevicesAreNotGuessed: hostile codes, and delays that all nodes share.
func TestCodesOfDevicesAreNotGuessed(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		session := fx.setUp()
		c := start(t, fx.Service, "program")
		for _, typed := range []string{"", "BCDF-GHJK", strings.Repeat("B", 10_000), "'; DROP TABLE ticket; --", "АBСD-EFGH", "\x00", c.User + "B", c.Device} {
			_, err := fx.Device(t.Context(), session, typed, home)
			refused(t, "typed "+typed[:min(len(typed), 30)], err, chargehand.CodeInvalidCredentials, "The code is not right")
			fx.advance(40 * time.Second) // longer than any delay
		}
		fx.advance(25 * time.Hour) // what has failed is forgotten
		var late int
		for range 6 {
			_, err := New(fx.config()).Device(t.Context(), session, "BCDF-GHJK", home)
			if shown := (*chargehand.Error)(nil); errors.As(err, &shown) && shown.Code == chargehand.CodeRateLimited && shown.RetryAfter > 0 {
				late++
			}
		}
		if late != 3 {
			t.Errorf("%d of 6 guesses had to wait, want 3", late)
		}
		for _, name := range []string{"", strings.Repeat("x", 10_000), "a\u202eb"} {
			_, err := fx.StartDevice(t.Context(), StartDevice{Name: name}, home)
			refused(t, "name", err, chargehand.CodeInvalidBody, "name")
		}
		for _, text := range []string{"", "x", strings.Repeat("A", token.Length), strings.Repeat("A", 10_000)} {
			_, err := fx.RedeemDevice(t.Context(), text)
			refused(t, "device code", err, chargehand.CodeExpiredToken, "")
		}
	})
}

// TestOpenDevicesAreBounded: neither one network nor all of them fill the table.
func TestOpenDevicesAreBounded(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		from := program
		begun := 0
		for i := range 30 {
			from.Address = netip.MustParseAddr(fmt.Sprintf("2001:db8:7:%x::1", i)) // one subscriber may have them all
			if _, err := fx.StartDevice(t.Context(), StartDevice{Name: "x"}, from); err == nil {
				begun++
			}
		}
		if begun != 20 {
			t.Errorf("one network has begun %d, want 20", begun)
		}
		fx.change(func(tx *store.Tx) error {
			for range maxDevices - begun {
				text, hash := token.New()
				if err := tx.InsertTicket(&store.Ticket{
					Hash: hash[:], Kind: store.TicketDevice, Code: hashOf(text), CreatedMs: 1, ExpiresMs: fx.time().Add(DeviceLife).UnixMilli(),
				}); err != nil {
					return err
				}
			}
			return nil
		})
		from.Address = netip.MustParseAddr("203.0.113.1")
		_, err := fx.StartDevice(t.Context(), StartDevice{Name: "x"}, from)
		refused(t, "the table is full", err, chargehand.CodeRateLimited, "Too many programs")
		fx.advance(DeviceLife)
		start(t, fx.Service, "x")
	})
}

// TestLoginsOfOneAddress: an address from which many sign in is not delayed.
func TestLoginsOfOneAddress(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		var made []KeyRequest
		session := fx.setUp()
		s := fx.withKeys(&made)
		for range 40 {
			c := start(t, s, "program")
			d, err := s.Device(t.Context(), session, c.User, home)
			if err == nil {
				err = s.DecideDevice(t.Context(), session, d.Code, d.Form, true)
			}
			if err == nil {
				_, err = s.RedeemDevice(t.Context(), c.Device)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestCrashOfDevice: a crash after the commit of the keys leaves no request that counts, and one set of keys.
func TestCrashOfDevice(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		var made []KeyRequest
		session := fx.setUp()
		fx.Service = fx.withKeys(&made)
		c := start(t, fx.Service, "program")
		d := must(fx.Device(t.Context(), session, c.User, home))
		if err := fx.DecideDevice(t.Context(), session, d.Code, d.Form, true); err != nil {
			t.Fatal(err)
		}
		fx.db.left.Store(1)
		if _, err := fx.RedeemDevice(t.Context(), c.Device); err == nil {
			t.Fatal("the process has not crashed")
		}
		fx.restart()
		var again []KeyRequest
		_, err := fx.withKeys(&again).RedeemDevice(t.Context(), c.Device)
		refused(t, "after the crash", err, chargehand.CodeExpiredToken, "")
		if len(made) == 0 || len(again) != 0 {
			t.Errorf("made %+v, and after the crash %+v", made, again)
		}
	})
}

// TestAnotherPasswordEndsWhatWasAllowed: a request of a program that was allowed with the password before gets no keys.
func TestAnotherPasswordEndsWhatWasAllowed(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		var made []KeyRequest
		s := fx.withKeys(&made)
		session := fx.setUp()
		c := start(t, s, "program")
		d := must(s.Device(t.Context(), session, c.User, home))
		if err := s.DecideDevice(t.Context(), session, d.Code, d.Form, true); err != nil {
			t.Fatal(err)
		}
		must(s.ChangePassword(t.Context(), session, good, good+" two", home))
		_, err := s.RedeemDevice(t.Context(), c.Device)
		refused(t, "allowed before", err, chargehand.CodeExpiredToken, "")
	})
}
