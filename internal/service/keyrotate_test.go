package service

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
)

func (fx *fixture) rotate(p *Principal, id chargehand.KeyID, body string) *Key {
	fx.t.Helper()
	key, _, err := fx.RotateKey(fx.t.Context(), p, RotateKey{Key: id, Body: parse(fx.t, body)})
	if err != nil {
		fx.t.Fatal(err)
	}
	return key
}

func (fx *fixture) ends(what, secret string, code chargehand.Code) {
	fx.t.Helper()
	_, err := fx.Authenticate(fx.t.Context(), secret, localhost)
	wantRefusal(fx.t, what, err, code)
}

// TestRotateKey: the secret before counts until the grace ends, and the one before that no more.
func TestRotateKey(t *testing.T) {
	fx := newFixture(t)
	made, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: parse(t, `{"name": "x", "rate_limit": 7}`)})
	if err != nil {
		t.Fatal(err)
	}
	before := fx.authenticate(made.Secret)
	first := fx.rotate(fx.p, made.ID, `{}`)
	if first.ID != made.ID || first.Secret == made.Secret || !first.OldUntil.Equal(epoch.Add(24*time.Hour)) || first.RatePerSecond != 7 || first.LastFour != first.Secret[len(first.Secret)-4:] {
		t.Errorf("rotated %+v", first)
	}
	after, old := fx.authenticate(first.Secret), fx.authenticate(made.Secret)
	if after.KeyNo != before.KeyNo || old.KeyNo != before.KeyNo || !after.ExpiresAt.IsZero() || !old.ExpiresAt.Equal(first.OldUntil) {
		t.Errorf("the new one is %+v, the old one %+v", after, old)
	}
	fx.pass(24*time.Hour - time.Millisecond)
	fx.authenticate(made.Secret)
	fx.pass(time.Millisecond)
	fx.ends("after the grace, cached", made.Secret, chargehand.CodeExpiredAPIKey)
	fx.pass(time.Minute)
	fx.ends("after the grace", made.Secret, chargehand.CodeExpiredAPIKey)
	if got, err := fx.GetKey(t.Context(), fx.p, made.ID); err != nil || !got.OldUntil.IsZero() || got.Secret != "" {
		t.Errorf("after the grace it is read as %+v, %v", got, err)
	}
	second := fx.rotate(fx.p, made.ID, `{"grace": "7d"}`)
	third := fx.rotate(fx.p, made.ID, `{"grace": "30m"}`)
	fx.ends("two rotations ago", first.Secret, chargehand.CodeInvalidAPIKey)
	fx.authenticate(second.Secret)
	fx.rotate(fx.p, made.ID, `{"grace": "0s"}`)
	fx.ends("without grace", third.Secret, chargehand.CodeExpiredAPIKey)
	for _, bad := range []string{`{"grace": "8d"}`, `{"grace": "-1h"}`, `{"grace": "soon"}`, `{"grace": ""}`, `{"grace": 5}`, `{"grace": "99999999999d"}`} {
		_, _, err := fx.RotateKey(t.Context(), fx.p, RotateKey{Key: made.ID, Body: parse(t, bad)})
		wantPointers(t, wantCode(t, err, chargehand.CodeInvalidBody), "/grace")
	}
}

// TestRotateKeyOnAnotherNode: a rotation counts everywhere within a second.
func TestRotateKeyOnAnotherNode(t *testing.T) {
	fx := newFixture(t)
	made, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	fx.authenticate(made.Secret)
	other := New(Config{
		Store: fx.rows, Engine: fx.engine, Plans: fx.plans, Blobs: fx.blobs, Now: fx.now, Sealer: fx.sealer,
		Pepper: []byte("pppppppppppppppppppppppppppppppp"), LinkKey: []byte("llllllllllllllllllllllllllllllll"),
	})
	rotated, _, err := other.RotateKey(t.Context(), fx.p, RotateKey{Key: made.ID, Body: map[string]any{"grace": "0s"}})
	if err != nil {
		t.Fatal(err)
	}
	fx.pass(time.Second)
	fx.ends("the secret before", made.Secret, chargehand.CodeExpiredAPIKey)
	fx.authenticate(rotated.Secret)
}

// TestRotationsAtOnce: each shows a secret, of which the last two count.
func TestRotationsAtOnce(t *testing.T) {
	fx := newFixture(t)
	made, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	secrets := make([]string, 4)
	var all sync.WaitGroup
	for i := range secrets {
		all.Go(func() {
			key, _, err := fx.RotateKey(t.Context(), fx.p, RotateKey{Key: made.ID})
			if err != nil {
				t.Error(err)
				return
			}
			secrets[i] = key.Secret
		})
	}
	all.Wait()
	count := 0
	for _, secret := range append(secrets, made.Secret) {
		if _, err := fx.Authenticate(t.Context(), secret, localhost); err == nil {
			count++
		}
	}
	if count != 2 {
		t.Errorf("%d secrets count, want the last two", count)
	}
}

func TestRotateKeyRefuses(t *testing.T) {
	fx := newFixture(t)
	rotate := func(p *Principal, id chargehand.KeyID) error {
		_, _, err := fx.RotateKey(t.Context(), p, RotateKey{Key: id})
		return err
	}
	all, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: parse(t, `{"name": "x", "preset": "all"}`)})
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "a key that may do more", rotate(fx.principal(chargehand.Live, ScopeAdmin), all.ID), chargehand.CodeInsufficientScope)
	wantRefusal(t, "a key of another environment", rotate(fx.test, all.ID), chargehand.CodeKeyNotFound)
	mortal := *fx.p
	mortal.ExpiresAt = epoch.Add(time.Hour)
	wantRefusal(t, "a key that lives longer", rotate(&mortal, all.ID), chargehand.CodeInsufficientScope)
	session := fx.admin("ada")
	personal := fx.personal(session, `{"name": "x"}`)
	wantRefusal(t, "a personal key, by an admin", rotate(session, personal.ID), chargehand.CodeInsufficientScope)
	byKey := fx.authenticate(personal.Secret)
	_, _, err = fx.RotatePersonalKey(t.Context(), byKey, RotateKey{Key: personal.ID})
	wantRefusal(t, "a personal key, by itself", err, chargehand.CodeInsufficientScope)
	_, _, err = fx.RotatePersonalKey(t.Context(), fx.as("bo", "viewer"), RotateKey{Key: personal.ID})
	wantRefusal(t, "another's personal key", err, chargehand.CodeKeyNotFound)
	_, _, err = fx.RotatePersonalKey(t.Context(), session, RotateKey{Key: all.ID})
	wantRefusal(t, "a key that is not personal", err, chargehand.CodeKeyNotFound)
	rotated, _, err := fx.RotatePersonalKey(t.Context(), session, RotateKey{Key: personal.ID})
	if err != nil || fx.authenticate(rotated.Secret).User != session.User {
		t.Errorf("its own: %+v, %v", rotated, err)
	}
	fx.pass(10 * time.Minute)
	wantRefusal(t, "an admin key, with a sign-in that is not fresh", rotate(session, all.ID), chargehand.CodeFreshSignInRequired)
	if err := fx.RevokeKey(t.Context(), fx.p, all.ID); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "a revoked key", rotate(fx.p, all.ID), chargehand.CodeKeyNotFound)
	short, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x", "expires_at": fx.now().Add(time.Hour).Format(time.RFC3339)}})
	if err != nil {
		t.Fatal(err)
	}
	fx.pass(time.Hour)
	wantRefusal(t, "a key that has ended", rotate(fx.p, short.ID), chargehand.CodeStateConflict)
}

func TestAllowedAddresses(t *testing.T) {
	fx := newFixture(t)
	made, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: parse(t, `{"name": "x", "preset": "all", "allowed_addresses":
		["192.0.2.0/24", "2001:db8::/32", "198.51.100.7", "::ffff:203.0.113.0/120", "192.0.2.0/24"]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if want := "192.0.2.0/24 2001:db8::/32 198.51.100.7/32 203.0.113.0/24"; joined(made.Addresses) != want {
		t.Errorf("addresses are %v, want %s", made.Addresses, want)
	}
	try := func(from netip.Addr) error {
		_, err := fx.Authenticate(t.Context(), made.Secret, from)
		return err
	}
	for text, want := range map[string]bool{
		"192.0.2.9": true, "::ffff:192.0.2.9": true, "2001:db8::1": true, "2001:db8::1%eth0": true, "198.51.100.7": true, "203.0.113.200": true,
		"192.0.3.1": false, "198.51.100.8": false, "127.0.0.1": false, "::1": false, "2001:db9::1": false,
	} {
		err := try(netip.MustParseAddr(text))
		var shown *chargehand.Error
		if refused := errors.As(err, &shown) && shown.Code == chargehand.CodeAddressNotAllowed; refused == want || (err == nil) != want {
			t.Errorf("from %s: %v, want %t", text, err, want)
		}
	}
	wantRefusal(t, "from nowhere", try(netip.Addr{}), chargehand.CodeAddressNotAllowed)
	p, err := fx.Authenticate(t.Context(), made.Secret, netip.MustParseAddr("192.0.2.9"))
	if err != nil {
		t.Fatal(err)
	}
	create := func(body string) (*Key, error) {
		key, _, err := fx.CreateKey(t.Context(), p, CreateKey{Body: parse(t, body)})
		return key, err
	}
	if key, err := create(`{"name": "y"}`); err != nil || joined(key.Addresses) != joined(made.Addresses) {
		t.Errorf("what the key makes has %+v, %v", key, err)
	}
	if key, err := create(`{"name": "y", "allowed_addresses": ["192.0.2.128/25"]}`); err != nil || joined(key.Addresses) != "192.0.2.128/25" {
		t.Errorf("a part of it: %+v, %v", key, err)
	}
	for what, body := range map[string]string{
		"any address": `{"name": "y", "allowed_addresses": null}`, "a wider range": `{"name": "y", "allowed_addresses": ["192.0.0.0/16"]}`,
		"another one": `{"name": "y", "allowed_addresses": ["192.0.2.1", "10.0.0.1"]}`,
	} {
		wantRefusal(t, what, second(create(body)), chargehand.CodeInsufficientScope)
	}
	wantRefusal(t, "takes away its own", second(fx.PatchKey(t.Context(), p, made.ID, map[string]any{"allowed_addresses": nil})), chargehand.CodeInsufficientScope)
	other, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "z"}})
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "rotates one without", second(two(fx.RotateKey(t.Context(), p, RotateKey{Key: other.ID}))), chargehand.CodeInsufficientScope)
	if got, err := fx.PatchKey(t.Context(), p, made.ID, parse(t, `{"allowed_addresses": ["192.0.2.9"]}`)); err != nil || joined(got.Addresses) != "192.0.2.9/32" {
		t.Errorf("a narrower one: %+v, %v", got, err)
	}
	wantRefusal(t, "from elsewhere after that", try(netip.MustParseAddr("192.0.2.8")), chargehand.CodeAddressNotAllowed)
	if got, err := fx.PatchKey(t.Context(), fx.p, made.ID, map[string]any{"allowed_addresses": nil}); err != nil || len(got.Addresses) != 0 || try(localhost) != nil {
		t.Errorf("any address again: %+v, %v", got, err)
	}
	for _, bad := range []string{`"everywhere"`, `"10.0.0.1/8"`, `"10.0.0.0/33"`, `"fe80::1%eth0"`, `""`, `"10.0.0.0-10.0.0.9"`} {
		_, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: parse(t, `{"name": "x", "allowed_addresses": [`+bad+`]}`)})
		wantPointers(t, wantCode(t, err, chargehand.CodeInvalidBody), "/allowed_addresses/0")
	}
	_, err = Issue(t.Context(), fx.rows, []byte("pppppppppppppppppppppppppppppppp"), fx.now(), IssueKey{Addresses: []string{"10.0.0.1/8"}})
	wantRefusal(t, "by the command line", err, chargehand.CodeInvalidParameter)
	secret := fx.issue(IssueKey{Addresses: []string{"10.0.0.0/8"}})
	fx.ends("made by the command line", secret, chargehand.CodeAddressNotAllowed)
}

func joined(list []string) string { return strings.Join(list, " ") }
