package oidc

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"
)

const callback = "http://127.0.0.1:8080/api/v1/auth/oidc/company/callback"

func provider(issuer string, now func() time.Time) *Provider {
	return New(Setting{Name: "company", Issuer: issuer, ClientID: "chargehand", ClientSecret: "s3cret&+%:/ü"}, nil, now)
}

// reached waits until the provider has said what it is: a sign-in waits for that a short while only, and a slow machine
// may need longer.
func reached(t *testing.T, p *Provider) {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		known, err := p.metadata(t.Context())
		switch {
		case known != nil:
			return
		case !errors.Is(err, ErrUnreachable):
			t.Fatal(err)
		}
		select {
		case <-late:
			t.Fatalf("it cannot be reached: %v", err)
		default: // each try waits for the answer
		}
	}
}

// visit sends the browser to the provider, signs in there with claims, and returns the query that it comes back with.
func visit(t *testing.T, address string, claims map[string]any) url.Values {
	t.Helper()
	text, _ := json.Marshal(claims)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Get(address + "&claims=" + url.QueryEscape(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	back, err := answer.Location()
	if err != nil || !strings.HasPrefix(back.String(), callback) {
		t.Fatalf("the provider answers %s, %q", answer.Status, back)
	}
	return back.Query()
}

func TestARealProviderSignsIn(t *testing.T) {
	server := peer.StartAuth(t, "")
	p := provider(server.URL+"/company", nil)
	reached(t, p)
	begun, err := p.Begin(t.Context(), callback, false)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(begun.Address)
	for name, want := range map[string]string{"code_challenge_method": "S256", "response_type": "code", "state": begun.State, "scope": "openid profile email", "max_age": ""} {
		if got := u.Query().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	query := visit(t, begun.Address, map[string]any{"sub": "4711", "email": "Ada@Example.com", "email_verified": true, "name": "Ada", "groups": []string{"staff", "finance"}})
	who, err := p.Finish(t.Context(), begun.Data, query)
	if err != nil || who.Issuer != server.URL+"/company" || who.Subject != "4711" || who.Email != "Ada@Example.com" || !who.EmailVerified ||
		who.Name != "Ada" || !slices.Equal(who.Groups, []string{"staff", "finance"}) {
		t.Fatalf("%+v, %v", who, err)
	}
	if _, err := p.Finish(t.Context(), begun.Data, query); !errors.Is(err, ErrRefused) {
		t.Errorf("the same code again: %v", err)
	}
	other, _ := p.Begin(t.Context(), callback, false)
	if _, err := p.Finish(t.Context(), other.Data, visit(t, begun.Address, map[string]any{"sub": "4711"})); !errors.Is(err, ErrRefused) {
		t.Errorf("the code of another sign-in: %v", err)
	}
	if _, err := p.Finish(t.Context(), other.Data, visit(t, other.Address, map[string]any{"deny": true})); !errors.Is(err, ErrDenied) {
		t.Errorf("denied by the provider: %v", err)
	}
}

func TestTwoRealProvidersAreNotMixedUp(t *testing.T) {
	server := peer.StartAuth(t, "")
	good, evil := provider(server.URL+"/company", nil), provider(server.URL+"/partner", nil)
	reached(t, good)
	reached(t, evil)
	begun, _ := good.Begin(t.Context(), callback, false)
	elsewhere, _ := evil.Begin(t.Context(), callback, false)
	if _, err := good.Finish(t.Context(), begun.Data, visit(t, elsewhere.Address, map[string]any{"sub": "4711"})); !errors.Is(err, ErrRefused) {
		t.Errorf("the code of another provider: %v", err)
	}
	partner := New(Setting{Name: "partner", Issuer: server.URL + "/partner", ClientID: "chargehand", ClientSecret: "s3cret&+%:/ü"}, nil, nil)
	reached(t, partner)
	if _, err := partner.Finish(t.Context(), begun.Data, visit(t, begun.Address, map[string]any{"sub": "4711"})); !errors.Is(err, ErrRefused) {
		t.Errorf("a sign-in that was begun with another provider: %v", err)
	}
	query := visit(t, begun.Address, map[string]any{"sub": "4711"})
	query.Set("iss", server.URL+"/partner")
	if _, err := good.Finish(t.Context(), begun.Data, query); !errors.Is(err, ErrRefused) {
		t.Errorf("an answer that names another issuer: %v", err)
	}
}

func TestAFreshSignInAtARealProvider(t *testing.T) {
	server := peer.StartAuth(t, "")
	ahead := time.Duration(0)
	p := provider(server.URL+"/company", func() time.Time { return time.Now().Add(ahead) })
	reached(t, p)
	begun, err := p.Begin(t.Context(), callback, true)
	if err != nil || !strings.Contains(begun.Address, "max_age=0") {
		t.Fatalf("%s, %v", begun.Address, err)
	}
	if _, err := p.Finish(t.Context(), begun.Data, visit(t, begun.Address, map[string]any{"sub": "4711"})); err != nil {
		t.Fatal(err)
	}
	ahead = 3 * time.Minute // the provider's auth_time is as old as that
	begun, _ = p.Begin(t.Context(), callback, true)
	if _, err := p.Finish(t.Context(), begun.Data, visit(t, begun.Address, map[string]any{"sub": "4711"})); !errors.Is(err, ErrStale) {
		t.Errorf("an old sign-in: %v", err)
	}
}

// switched lets no question through to a provider before it is on.
type switched struct{ on atomic.Bool }

func (s *switched) RoundTrip(r *http.Request) (*http.Response, error) {
	if !s.on.Load() {
		return nil, errors.New("it is off")
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestAProviderThatIsGoneComesBack(t *testing.T) {
	server := peer.StartAuth(t, "")
	var transport switched
	clock := time.Now() // stands still: how long the test takes does not matter
	p := New(Setting{Name: "company", Issuer: server.URL + "/company", ClientID: "chargehand"}, &transport, func() time.Time { return clock })
	if _, err := p.Begin(t.Context(), callback, false); !errors.Is(err, ErrUnreachable) {
		t.Fatalf("it cannot be reached: %v", err)
	}
	transport.on.Store(true)
	if _, err := p.Begin(t.Context(), callback, false); !errors.Is(err, ErrUnreachable) {
		t.Errorf("it is asked again at once: %v", err)
	}
	clock = clock.Add(askEvery)
	reached(t, p)
	wrong := provider(server.URL+"/company/", nil)
	if _, err := wrong.Begin(t.Context(), callback, false); !errors.Is(err, ErrUnreachable) {
		t.Errorf("a provider that calls itself another name: %v", err)
	}
}
