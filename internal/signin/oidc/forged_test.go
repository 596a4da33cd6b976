package oidc

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// forger answers as a provider, with the token that a test gives it.
type forger struct {
	*httptest.Server
	key   *rsa.PrivateKey
	token string
}

func newForger(t *testing.T) *forger {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	f := &forger{key: key}
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": f.URL, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token", "jwks_uri": f.URL + "/jwks",
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}, "authorization_response_iss_parameter_supported": true,
		})
	})
	mux.HandleFunc("/jwks", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), Use: "sig", Algorithm: "RS256"}}})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": f.token})
	})
	return f
}

func sign(t *testing.T, algorithm jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(claims)
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	compact, _ := signed.CompactSerialize()
	return compact
}

func TestForgedTokensAreRefused(t *testing.T) {
	f, stranger := newForger(t), newForger(t)
	p := provider(f.URL, nil)
	reached(t, p)
	begun, err := p.Begin(t.Context(), callback, false)
	if err != nil {
		t.Fatal(err)
	}
	nonce := func() string { u, _ := url.Parse(begun.Address); return u.Query().Get("nonce") }()
	good := map[string]any{
		"iss": f.URL, "aud": "chargehand", "sub": "4711", "nonce": nonce, "exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix(),
		"email": "ada@example.com", "email_verified": "true", "groups": "staff",
	}
	finish := func(token string) (Identity, error) {
		f.token = token
		return p.Finish(t.Context(), begun.Data, url.Values{"code": {"x"}, "iss": {f.URL}})
	}
	who, err := finish(sign(t, jose.RS256, f.key, good))
	if err != nil || !who.EmailVerified || len(who.Groups) != 1 {
		t.Fatalf("a good token: %+v, %v", who, err)
	}
	if who, err := finish(sign(t, jose.RS256, f.key, with(good, "groups", json.RawMessage("null")))); err != nil || len(who.Groups) != 0 {
		t.Errorf("groups that are null: %+v, %v", who, err)
	}
	public, _ := x509.MarshalPKIXPublicKey(f.key.Public())
	for what, token := range map[string]string{
		"signed by another provider":            sign(t, jose.RS256, stranger.key, good),
		"signed with the public key as secret":  sign(t, jose.HS256, public, good),
		"without a signature":                   "eyJhbGciOiJub25lIn0." + strings.Split(sign(t, jose.RS256, f.key, good), ".")[1] + ".",
		"no token":                              "",
		"no text of a token":                    strings.Repeat("a.", 10_000),
		"of another issuer":                     sign(t, jose.RS256, f.key, with(good, "iss", stranger.URL)),
		"for another client":                    sign(t, jose.RS256, f.key, with(good, "aud", "another")),
		"for several, made for another":         sign(t, jose.RS256, f.key, with(with(good, "aud", []string{"chargehand", "another"}), "azp", "another")),
		"for several, made for none of them":    sign(t, jose.RS256, f.key, with(good, "aud", []string{"chargehand", "another"})),
		"of another sign-in":                    sign(t, jose.RS256, f.key, with(good, "nonce", "replayed")),
		"without a nonce":                       sign(t, jose.RS256, f.key, with(good, "nonce", nil)),
		"expired":                               sign(t, jose.RS256, f.key, with(good, "exp", time.Now().Add(-time.Hour).Unix())),
		"without a subject":                     sign(t, jose.RS256, f.key, with(good, "sub", "")),
		"with a subject that is far too long":   sign(t, jose.RS256, f.key, with(good, "sub", strings.Repeat("x", 300))),
		"with groups that are no list of names": sign(t, jose.RS256, f.key, with(good, "groups", map[string]any{"a": 1})),
		"with too many groups":                  sign(t, jose.RS256, f.key, with(good, "groups", strings.Split(strings.Repeat("g,", 2000)+"g", ","))),
	} {
		if who, err := finish(token); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %+v, %v", what, who, err)
		}
	}
	for what, query := range map[string]url.Values{
		"without an issuer, which this provider names": {"code": {"x"}},
		"of another issuer":                            {"code": {"x"}, "iss": {stranger.URL}},
		"without a code":                               {"iss": {f.URL}},
		"two codes":                                    {"code": {"x", "y"}, "iss": {f.URL}},
		"a code that is far too long":                  {"code": {strings.Repeat("x", 10_000)}, "iss": {f.URL}},
	} {
		if _, err := p.Finish(t.Context(), begun.Data, query); !errors.Is(err, ErrRefused) {
			t.Errorf("an answer %s: %v", what, err)
		}
	}
	stale, err := p.Begin(t.Context(), callback, true)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(stale.Address)
	f.token = sign(t, jose.RS256, f.key, with(good, "nonce", u.Query().Get("nonce")))
	if _, err := p.Finish(t.Context(), stale.Data, url.Values{"code": {"x"}, "iss": {f.URL}}); !errors.Is(err, ErrStale) {
		t.Errorf("a sign-in anew without auth_time: %v", err)
	}
}

func with(claims map[string]any, name string, v any) map[string]any {
	claims = maps.Clone(claims)
	claims[name] = v
	if v == nil {
		delete(claims, name)
	}
	return claims
}

func TestAnAnswerWithoutEndIsCutOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	if _, err := provider(server.URL, nil).Begin(t.Context(), callback, false); !errors.Is(err, ErrUnreachable) {
		t.Errorf("an endless document: %v", err)
	}
}

func TestSettings(t *testing.T) {
	s, err := ParseSetting("company=https://id.example.com/realms/main")
	if err != nil || s.Name != "company" || s.Issuer != "https://id.example.com/realms/main" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := ParseSetting("dev=http://127.0.0.1:9000/x"); err != nil {
		t.Errorf("on this machine: %v", err)
	}
	for _, text := range []string{
		"", "company", "=https://a.example", "Company=https://a.example", "a b=https://a.example", "company=http://id.example.com",
		"company=https://", "company=https://a.example?x=1", "company=https://a.example#x", "company=https://u:p@a.example", "company=ftp://a.example",
		strings.Repeat("a", 40) + "=https://a.example",
	} {
		if _, err := ParseSetting(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	name, rules, err := ParseProvision("company=Example.com,group:staff")
	if err != nil || name != "company" {
		t.Fatalf("%s, %v", name, err)
	}
	for what, c := range map[string]struct {
		who  Identity
		want bool
	}{
		"a checked e-mail":        {Identity{Email: "ada@EXAMPLE.com", EmailVerified: true}, true},
		"an unchecked e-mail":     {Identity{Email: "ada@example.com"}, false},
		"a longer domain":         {Identity{Email: "ada@example.com.evil.test", EmailVerified: true}, false},
		"a domain before another": {Identity{Email: "ada@example.com@evil.test", EmailVerified: true}, false},
		"a group":                 {Identity{Groups: []string{"x", "staff"}}, true},
		"neither":                 {Identity{}, false},
	} {
		if got := rules.Admits(c.who); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	for _, text := range []string{"", "company", "company=", "=a.example", "company=a.example,", "company=*", "company=group:", "company=ada@example.com"} {
		if _, _, err := ParseProvision(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
