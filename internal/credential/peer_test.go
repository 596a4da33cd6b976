package credential

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	nethttp "net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/peer"
)

const peerSecret = "s3cret&+%:/ü"

// counted counts the requests to token endpoints.
type counted struct {
	tokens    atomic.Int64
	discovery atomic.Int64
}

func (c *counted) RoundTrip(req *nethttp.Request) (*nethttp.Response, error) {
	switch {
	case strings.HasSuffix(req.URL.Path, "/token"):
		c.tokens.Add(1)
	case strings.HasSuffix(req.URL.Path, wellKnown):
		c.discovery.Add(1)
	}
	return nethttp.DefaultTransport.RoundTrip(req)
}

// authority is the peer with the key of its client private_key_jwt.
type authority struct {
	url string
	pem string
	jwk string
}

func startAuthority(t *testing.T) authority {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key := importKey(t, private)
	if err := key.Set(jwk.AlgorithmKey, jwa.RS256()); err != nil {
		t.Fatal(err)
	}
	if err := key.Set(jwk.KeyUsageKey, "sig"); err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return authority{
		url: peer.StartAuth(t, marshal(t, public)).URL,
		pem: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		jwk: marshal(t, key),
	}
}

func importKey(t *testing.T, raw any) jwk.Key {
	t.Helper()
	key, err := jwk.Import(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Set(jwk.KeyIDKey, "k1"); err != nil {
		t.Fatal(err)
	}
	return key
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// policyAt is a policy for the endpoints of the peer; more overrides its parts.
func policyAt(authority string, more map[string]any) map[string]any {
	policy := map[string]any{
		"scheme": "oauth2", "authority": authority, "grant": "client_credentials",
		"endpoints": map[string]any{"token": "/token", "introspection": "/introspect"},
		"client":    map[string]any{"id": "client_secret_post", "secret": peerSecret},
	}
	for key, value := range more {
		policy[key] = value
	}
	return policy
}

func client(method string, more ...string) map[string]any {
	c := map[string]any{"id": method, "secret": peerSecret, "authentication": method}
	for i := 0; i < len(more); i += 2 {
		c[more[i]] = more[i+1]
	}
	return c
}

func resolve(t *testing.T, s *Source, policy any) *Credentials {
	t.Helper()
	credentials, fault := s.Resolve(t.Context(), policy)
	if fault != nil {
		t.Fatal(fault)
	}
	return credentials
}

// get calls an address with credentials and returns status and body.
func get(t *testing.T, c *Credentials, address string) (int, map[string]any) {
	t.Helper()
	return send(t, c.Transport(nethttp.DefaultTransport), "GET", address, "")
}

func send(t *testing.T, transport nethttp.RoundTripper, method, address, body string) (int, map[string]any) {
	t.Helper()
	req, err := nethttp.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	_ = json.Unmarshal(data, &answer)
	return resp.StatusCode, answer
}

// Every grant and every client authentication that the authorization server knows, with
// tokens of both kinds.
func TestGrantsAndClientsAtAnAuthorizationServer(t *testing.T) {
	peer := startAuthority(t)
	for name, tc := range map[string]struct {
		policy map[string]any
		user   bool // the token is a user's, not the client's own
	}{
		"post":             {map[string]any{}, false},
		"post by default":  {map[string]any{"client": map[string]any{"id": "client_secret_post", "secret": peerSecret}}, false},
		"basic":            {map[string]any{"client": client(methodBasic)}, false},
		"private key, PEM": {map[string]any{"client": client(methodPrivateJWT, "secret", peer.pem)}, false},
		"private key, JWK": {map[string]any{"client": client(methodPrivateJWT, "secret", peer.jwk)}, false},
		"password":         {map[string]any{"grant": "password", "username": "peter", "password": "pass word&"}, true},
		"public client":    {map[string]any{"grant": "password", "username": "peter", "password": "pass word&", "client": client(methodNone)}, true},
	} {
		for _, kind := range []string{"/opaque", "/jwt"} {
			t.Run(name+kind, func(t *testing.T) {
				s := New(Config{Transport: nethttp.DefaultTransport})
				tc.policy["scopes"] = []any{"read", "write"}
				tc.policy["audiences"] = []any{"https://one.example", "https://two.example"}
				tc.policy["issuers"] = []any{"https://else.example", peer.url + kind}
				if c, _ := tc.policy["client"].(map[string]any); kind == "/opaque" && (c == nil || c["authentication"] != methodBasic) {
					delete(tc.policy, "issuers") // the introspection of this server takes no other client authentication
				}
				status, answer := get(t, resolve(t, s, policyAt(peer.url+kind, tc.policy)), peer.url+kind+"/resource")
				if status != 200 || (answer["subject"] != "") != tc.user || marshal(t, answer["scopes"]) != `["read","write"]` ||
					marshal(t, answer["audiences"]) != `["https://one.example","https://two.example"]` {
					t.Errorf("%d %v", status, answer)
				}
			})
		}
	}
}

func TestCodeAndRefreshTokens(t *testing.T) {
	peer := startAuthority(t)
	now := time.Now()
	transport := &counted{}
	s := New(Config{Transport: transport, Now: func() time.Time { return now }})
	policy := policyAt(peer.url+"/opaque", map[string]any{
		"grant": "authorization_code", "scopes": []any{"read", "offline"},
		"subject": map[string]any{"token": authorizationCode(t, peer.url+"/opaque"), "type": "code"},
	})
	first := resolve(t, s, policy)
	if status, answer := get(t, first, peer.url+"/opaque/resource"); status != 200 || answer["subject"] != "peter" {
		t.Fatalf("%d %v", status, answer)
	}
	// A code counts once; what follows comes from refresh tokens, which this server rotates.
	for round := range 3 {
		now = now.Add(time.Hour)
		again := resolve(t, s, policy)
		if again.Authorization() == first.Authorization() {
			t.Errorf("round %d: the token was not renewed", round)
		}
		if status, answer := get(t, again, peer.url+"/opaque/resource"); status != 200 || answer["subject"] != "peter" {
			t.Errorf("round %d: %d %v", round, status, answer)
		}
	}
	if n := transport.tokens.Load(); n != 4 {
		t.Errorf("%d token requests", n)
	}
	// A refresh token that another client got is a policy too.
	refresh := s.lastRefresh(t, policy)
	given := policyAt(peer.url+"/opaque", map[string]any{"grant": "refresh_token",
		"subject": map[string]any{"token": refresh, "type": "urn:ietf:params:oauth:token-type:refresh_token"}})
	if status, answer := get(t, resolve(t, New(Config{Transport: transport}), given), peer.url+"/opaque/resource"); status != 200 || answer["subject"] != "peter" {
		t.Errorf("%d %v", status, answer)
	}
}

func (s *Source) lastRefresh(t *testing.T, policy map[string]any) string {
	t.Helper()
	p, fault := readPolicy(policy)
	if fault != nil {
		t.Fatal(fault)
	}
	entry, _ := s.tokens.Get(p.key)
	token, _, _ := entry.state()
	return token.refresh
}

func authorizationCode(t *testing.T, base string) string {
	t.Helper()
	query := url.Values{"client_id": {"client_secret_post"}, "response_type": {"code"}, "state": {"123456789"}, "scope": {"read offline"}}
	req, err := nethttp.NewRequestWithContext(t.Context(), "GET", base+"/authorize?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := nethttp.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	to, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || to.Query().Get("code") == "" {
		t.Fatalf("no code at %s", to)
	}
	return to.Query().Get("code")
}

// T44: oidc, and an authority that is the address of the document, find their endpoints.
func TestDiscovery(t *testing.T) {
	peer := startAuthority(t)
	transport := &counted{}
	s := New(Config{Transport: transport})
	for _, policy := range []map[string]any{
		{"scheme": "oidc", "authority": peer.url + "/jwt", "endpoints": nil},
		{"scheme": "oidc", "authority": peer.url + "/jwt/", "endpoints": nil},
		{"scheme": "oauth2", "authority": peer.url + "/jwt" + wellKnown, "endpoints": nil},
		{"scheme": "oidc", "authority": peer.url + "/jwt", "issuers": []any{peer.url + "/jwt"}},
	} {
		if status, answer := get(t, resolve(t, s, policyAt("", policy)), peer.url+"/jwt/resource"); status != 200 {
			t.Errorf("%v: %d %v", policy, status, answer)
		}
	}
	if n := transport.discovery.Load(); n != 1 {
		t.Errorf("the document was fetched %d times", n)
	}
	_, fault := s.Resolve(t.Context(), policyAt("", map[string]any{"scheme": "oidc", "authority": peer.url + "/none"}))
	wantFault(t, fault, machine.ErrAuthentication, 401, "404")
}

// Tokens are cached until shortly before they end, and dropped when a server answers 401.
func TestTokensAreCachedAndRevokedOnesReplaced(t *testing.T) {
	peer := startAuthority(t)
	transport := &counted{}
	now := time.Now()
	s := New(Config{Transport: transport, Now: func() time.Time { return now }})
	policy := policyAt(peer.url+"/opaque", nil)
	resource := peer.url + "/opaque/resource"
	want := func(n int64) {
		t.Helper()
		if got := transport.tokens.Load(); got != n {
			t.Errorf("%d token requests, want %d", got, n)
		}
	}
	get(t, resolve(t, s, policy), resource)
	get(t, resolve(t, s, policy), resource)
	want(1)
	now = now.Add(time.Hour - 20*time.Second)
	used := resolve(t, s, policy)
	want(2)
	get(t, used, resource)
	revoke(t, peer.url+"/opaque", used.Authorization())
	status, _ := send(t, resolve(t, s, policy).Transport(nethttp.DefaultTransport), "POST", resource, "body")
	if status != 200 {
		t.Errorf("after the revocation: %d", status)
	}
	want(3)
	// The same credentials, used for long, notice it as well.
	long := resolve(t, s, policy)
	get(t, long, resource)
	revoke(t, peer.url+"/opaque", long.Authorization())
	if status, _ := get(t, long, resource); status != 200 {
		t.Errorf("long used credentials after the revocation: %d", status)
	}
	want(4)
	// A fresh token that is refused is not asked for again and again.
	fresh := New(Config{Transport: transport})
	if status, _ := get(t, resolve(t, fresh, policy), peer.url+"/jwt/resource"); status != 401 {
		t.Errorf("a token of another issuer: %d", status)
	}
	want(5)
}

func revoke(t *testing.T, base, authorization string) {
	t.Helper()
	form := url.Values{"token": {strings.TrimPrefix(authorization, "Bearer ")}, "client_id": {"client_secret_post"}, "client_secret": {peerSecret}}
	resp, err := nethttp.PostForm(base+"/revoke", form) //nolint:noctx // a test's own request
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Fatalf("revocation answered %d", resp.StatusCode)
	}
}

// T81, and what the server said is reported without secrets.
func TestRefusedTokenRequests(t *testing.T) {
	peer := startAuthority(t)
	s := New(Config{Transport: nethttp.DefaultTransport})
	for name, tc := range map[string]struct {
		policy map[string]any
		words  []string
	}{
		"wrong secret":   {map[string]any{"client": map[string]any{"id": "client_secret_post", "secret": "wrong-secret"}}, []string{"401", "invalid_client"}},
		"unknown client": {map[string]any{"client": map[string]any{"id": "nobody", "secret": "wrong-secret"}}, []string{"invalid_client"}},
		"wrong password": {map[string]any{"grant": "password", "username": "peter", "password": "wrong-secret"}, []string{"400", "invalid_grant"}},
		"scope":          {map[string]any{"scopes": []any{"admin"}}, []string{"invalid_scope", "admin"}},
		"issuer":         {map[string]any{"authority": peer.url + "/jwt", "issuers": []any{"https://else.example"}}, []string{"/jwt", "issuers"}},
		"issuer of an opaque token": {map[string]any{"client": client(methodBasic), "issuers": []any{"https://else.example"}},
			[]string{"/opaque", "issuers"}},
		"used code":    {map[string]any{"grant": "authorization_code", "subject": map[string]any{"token": "wrong-secret", "type": "code"}}, []string{"invalid_grant"}},
		"no such path": {map[string]any{"endpoints": map[string]any{"token": "/else"}}, []string{"404"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, fault := s.Resolve(t.Context(), policyAt(peer.url+"/opaque", tc.policy))
			wantFault(t, fault, machine.ErrAuthentication, 401, tc.words...)
			if fault.Retryable || strings.Contains(fault.Detail, "wrong-secret") {
				t.Errorf("fault %+v", fault)
			}
		})
	}
}

func wantFault(t *testing.T, fault *machine.Fault, kind string, status int, words ...string) {
	t.Helper()
	if fault == nil {
		t.Fatal("no fault")
	}
	if fault.Type != kind || fault.Status != status {
		t.Errorf("fault %+v, want %s %d", fault, kind, status)
	}
	for _, word := range words {
		if !strings.Contains(fault.Detail, word) {
			t.Errorf("detail %q lacks %q", fault.Detail, word)
		}
	}
}

// The digest server is go-httpbin's.
func TestDigestAtAnotherServer(t *testing.T) {
	base := startAuthority(t).url + "/digest-auth/auth/Mufasa/Circle%20of%20Life"
	for _, algorithm := range []string{"", "/MD5", "/SHA-256"} {
		transport := &recorded{}
		s := New(Config{Transport: nethttp.DefaultTransport})
		right := resolve(t, s, map[string]any{"scheme": "digest", "username": "Mufasa", "password": "Circle of Life"})
		if right.Authorization() != "" {
			t.Error("digest has an Authorization without a challenge")
		}
		for range 2 {
			if status, _ := send(t, right.Transport(transport), "POST", base+algorithm, "body"); status != 200 && status != 405 {
				t.Errorf("%s: %d", algorithm, status)
			}
		}
		if status, _ := send(t, right.Transport(transport), "GET", base+algorithm, ""); status != 200 {
			t.Errorf("%s: %d", algorithm, status)
		}
		wrong := resolve(t, s, map[string]any{"scheme": "digest", "username": "Mufasa", "password": "wrong"})
		if status, _ := get(t, wrong, base+algorithm); status != 401 {
			t.Errorf("%s with a wrong password: %d", algorithm, status)
		}
	}
}

type recorded struct{ headers []string }

func (r *recorded) RoundTrip(req *nethttp.Request) (*nethttp.Response, error) {
	r.headers = append(r.headers, req.Header.Get("Authorization"))
	return nethttp.DefaultTransport.RoundTrip(req)
}
