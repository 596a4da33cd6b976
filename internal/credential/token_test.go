package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwt"

	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/machine"
)

// tokenServer answers token requests with what a test gives it.
type tokenServer struct {
	*httptest.Server
	requests atomic.Int64
	answer   func(w nethttp.ResponseWriter, r *nethttp.Request)
}

func newTokenServer(t *testing.T, answer func(w nethttp.ResponseWriter, r *nethttp.Request)) *tokenServer {
	t.Helper()
	s := &tokenServer{answer: answer}
	s.Server = httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		s.requests.Add(1)
		s.answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func answering(text string) func(nethttp.ResponseWriter, *nethttp.Request) {
	return func(w nethttp.ResponseWriter, _ *nethttp.Request) { io.WriteString(w, text) }
}

// The exchange of tokens (RFC 8693) as a form, and as JSON.
func TestWhatATokenRequestSays(t *testing.T) {
	var seen *nethttp.Request
	var body string
	server := newTokenServer(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		data, _ := io.ReadAll(r.Body)
		seen, body = r, string(data)
		io.WriteString(w, `{"access_token":"t","token_type":"N_A"}`)
	})
	policy := map[string]any{
		"scheme": "oauth2", "authority": server.URL + "/realms/r/", "grant": grantExchange,
		"client": map[string]any{"id": "a b", "secret": "c:d", "authentication": "client_secret_basic"},
		"scopes": []any{"x", "y"}, "audiences": []any{"one", "two"},
		"subject": map[string]any{"token": "subject-token", "type": "urn:s"},
		"actor":   map[string]any{"token": "actor-token", "type": "urn:a"},
	}
	resolve(t, New(Config{Transport: nethttp.DefaultTransport}), policy)
	id, secret, _ := seen.BasicAuth()
	if seen.URL.Path != "/realms/r/oauth2/token" || id != "a+b" || secret != "c%3Ad" { // T44; RFC 6749, 2.3.1
		t.Errorf("%s by %q %q", seen.URL.Path, id, secret)
	}
	want := url.Values{"grant_type": {grantExchange}, "scope": {"x y"}, "audience": {"one", "two"}, "subject_token": {"subject-token"},
		"subject_token_type": {"urn:s"}, "actor_token": {"actor-token"}, "actor_token_type": {"urn:a"}}
	if body != want.Encode() {
		t.Errorf("body %s\nwant %s", body, want.Encode())
	}
	policy["encoding"] = "application/json"
	policy["client"] = map[string]any{"id": "a b", "secret": "c:d"}
	resolve(t, New(Config{Transport: nethttp.DefaultTransport}), policy)
	var object map[string]any
	if err := json.Unmarshal([]byte(body), &object); err != nil || seen.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v: %s", err, body)
	}
	if object["client_secret"] != "c:d" || object["client_id"] != "a b" || fmt.Sprint(object["audience"]) != "[one two]" || object["scope"] != "x y" {
		t.Errorf("object %v", object)
	}
}

// A policy without a client says nothing of one, although definitions always name the method.
func TestTokenWithoutClient(t *testing.T) {
	var form url.Values
	var authorization string
	server := newTokenServer(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		_ = r.ParseForm()
		form, authorization = r.PostForm, r.Header.Get("Authorization")
		io.WriteString(w, `{"access_token":"t"}`)
	})
	policy := func(client map[string]any) map[string]any {
		return map[string]any{"scheme": "oauth2", "authority": server.URL, "grant": grantPassword, "username": "u", "password": "p", "client": client}
	}
	want := url.Values{"grant_type": {grantPassword}, "username": {"u"}, "password": {"p"}}.Encode()
	for _, client := range []map[string]any{nil, {"authentication": methodPost}, {"authentication": methodNone}, {"authentication": methodPost, "id": ""}} {
		resolve(t, New(Config{Transport: nethttp.DefaultTransport}), policy(client))
		if form.Encode() != want || authorization != "" {
			t.Errorf("client %v: sent %s %q, want %s", client, form.Encode(), authorization, want)
		}
	}
	for _, client := range []map[string]any{
		{"authentication": methodPost, "secret": "s"}, {"authentication": methodNone, "secret": "s"}, {"authentication": methodPost, "assertion": "a"},
		{"authentication": methodBasic}, {"authentication": methodSecretJWT, "secret": "s"}, {"authentication": methodPrivateJWT},
	} {
		_, fault := New(Config{Transport: nethttp.DefaultTransport}).Resolve(t.Context(), policy(client))
		if fault == nil || fault.Type != machine.ErrConfiguration || !strings.Contains(fault.Detail, "client.id") {
			t.Errorf("client %v: %v, want a configuration error that names client.id", client, fault)
		}
	}
}

func TestClientAssertions(t *testing.T) {
	var form url.Values
	server := newTokenServer(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		_ = r.ParseForm()
		form = r.PostForm
		io.WriteString(w, `{"access_token":"t"}`)
	})
	policy := func(client map[string]any) map[string]any {
		return map[string]any{"scheme": "oauth2", "authority": server.URL, "grant": grantClient, "client": client}
	}
	const secret = "a-secret-of-at-least-32-characters!!"
	resolve(t, New(Config{Transport: nethttp.DefaultTransport}), policy(map[string]any{"id": "c", "secret": secret, "authentication": methodSecretJWT}))
	claims, err := jwt.Parse([]byte(form.Get("client_assertion")), jwt.WithKey(jwa.HS256(), []byte(secret)),
		jwt.WithIssuer("c"), jwt.WithSubject("c"), jwt.WithAudience(server.URL+"/oauth2/token"))
	if err != nil || form.Get("client_assertion_type") != assertionType || form.Has("client_secret") {
		t.Errorf("%v: %v", err, form)
	}
	if id, ok := claims.JwtID(); !ok || id == "" {
		t.Error("the assertion has no id")
	}
	resolve(t, New(Config{Transport: nethttp.DefaultTransport}), policy(map[string]any{"id": "c", "assertion": "given.by.author", "authentication": methodPrivateJWT}))
	if form.Get("client_assertion") != "given.by.author" {
		t.Errorf("form %v", form)
	}
	_, fault := New(Config{Transport: nethttp.DefaultTransport}).Resolve(t.Context(), policy(map[string]any{"id": "c", "secret": "hush-hush", "authentication": methodPrivateJWT}))
	wantFault(t, fault, machine.ErrConfiguration, 400, "private key")
	if strings.Contains(fault.Detail, "hush-hush") {
		t.Errorf("detail %q tells the secret", fault.Detail)
	}
}

// roundTrip is a function as a transport.
type roundTrip func(*nethttp.Request) (*nethttp.Response, error)

func (f roundTrip) RoundTrip(req *nethttp.Request) (*nethttp.Response, error) { return f(req) }

// One request at a time per policy: all wait for it, and share also its fault.
func TestTokenRequestsFlySingly(t *testing.T) {
	for name, text := range map[string]string{"token": `{"access_token":"t","expires_in":3600}`, "refusal": `{"error":"invalid_client"}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release, requests := make(chan struct{}), atomic.Int64{}
				s := New(Config{Transport: roundTrip(func(*nethttp.Request) (*nethttp.Response, error) {
					requests.Add(1)
					<-release
					return &nethttp.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(text)), Header: nethttp.Header{}}, nil
				})})
				policy := map[string]any{"scheme": "oauth2", "authority": "https://a.example", "grant": grantClient}
				var all sync.WaitGroup
				var tokens atomic.Int64
				for range 20 {
					all.Go(func() {
						if c, fault := s.Resolve(t.Context(), policy); fault == nil && c.Authorization() == "Bearer t" {
							tokens.Add(1)
						}
					})
				}
				synctest.Wait()
				// A caller that gives up does so at once, and disturbs no other.
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, fault := s.Resolve(ctx, policy); fault == nil {
					t.Error("a cancelled wait brought a token")
				}
				close(release)
				all.Wait()
				if n := requests.Load(); n != 1 {
					t.Errorf("%d requests", n)
				}
				if got := tokens.Load(); name == "token" && got != 20 || name == "refusal" && got != 0 {
					t.Errorf("%d callers got the token", got)
				}
			})
		})
	}
}

// A fault is not cached: the next call asks again.
func TestFaultsAreNotCached(t *testing.T) {
	server := newTokenServer(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(503) })
	s := New(Config{Transport: nethttp.DefaultTransport})
	policy := map[string]any{"scheme": "oauth2", "authority": server.URL, "grant": grantClient}
	_, fault := s.Resolve(t.Context(), policy)
	wantFault(t, fault, machine.ErrAuthentication, 401, "503")
	if !fault.Retryable {
		t.Error("a busy server is not worth another try")
	}
	server.answer = answering(`{"access_token":"t"}`)
	resolve(t, s, policy)
}

func TestTokenResponsesThatCannotBeUsed(t *testing.T) {
	server := newTokenServer(t, nil)
	s := New(Config{Transport: nethttp.DefaultTransport})
	for name, tc := range map[string]struct{ text, word string }{
		"empty":       {"", "no token response"},
		"not JSON":    {"<html>", "no token response"},
		"no token":    {`{"token_type":"bearer"}`, "access_token"},
		"other type":  {`{"access_token":"t","token_type":"DPoP"}`, "DPoP"},
		"line breaks": {`{"access_token":"t\r\nX: y"}`, "characters"},
		"error":       {`{"error":"invalid_grant","error_description":"the secret hush-hush is wrong"}`, "[redacted]"},
		"too long":    {`{"access_token":"` + strings.Repeat("x", maxAnswerBytes) + `"}`, "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			server.answer = answering(tc.text)
			_, fault := s.Resolve(t.Context(), map[string]any{"scheme": "oauth2", "authority": server.URL, "grant": grantClient,
				"client": map[string]any{"id": "c", "secret": "hush-hush"}})
			wantFault(t, fault, machine.ErrAuthentication, 401, tc.word)
			if strings.Contains(fault.Detail, "hush-hush") {
				t.Errorf("detail %q tells the secret", fault.Detail)
			}
		})
	}
}

// Secrets do not follow redirects, and endpoints that discovery names are at least as safe
// as the authority.
func TestSecretsStayWithTheAuthority(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { elsewhere.Add(1) }))
	defer other.Close()
	server := newTokenServer(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.Redirect(w, r, other.URL, nethttp.StatusTemporaryRedirect)
	})
	_, fault := New(Config{Transport: nethttp.DefaultTransport}).Resolve(t.Context(),
		map[string]any{"scheme": "oauth2", "authority": server.URL, "grant": grantClient})
	wantFault(t, fault, machine.ErrAuthentication, 401, "307")
	if elsewhere.Load() != 0 {
		t.Error("the token request followed a redirect")
	}
	if acceptable("http://a.example/token", "https://a.example") || !acceptable("https://b.example/token", "https://a.example") {
		t.Error("endpoints by discovery")
	}
	document := newTokenServer(t, answering(`{"issuer":"https://evil.example","token_endpoint":"`+other.URL+`"}`))
	_, fault = New(Config{Transport: nethttp.DefaultTransport}).Resolve(t.Context(),
		map[string]any{"scheme": "oidc", "authority": document.URL, "grant": grantClient})
	wantFault(t, fault, machine.ErrAuthentication, 401, "evil.example")
	if elsewhere.Load() != 0 {
		t.Error("a token was asked for at an issuer that the policy does not name")
	}
}

// Credentials are for the origin of the first request.
func TestCredentialsGoToOneOrigin(t *testing.T) {
	seen := &recorded{}
	there := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {}))
	defer there.Close()
	here := httptest.NewServer(nethttp.RedirectHandler(there.URL, nethttp.StatusFound))
	defer here.Close()
	for _, policy := range []map[string]any{
		{"scheme": "bearer", "token": "t"}, {"scheme": "basic", "username": "u", "password": "p"},
		{"scheme": "oauth2", "authority": newTokenServer(t, answering(`{"access_token":"t"}`)).URL, "grant": grantClient},
	} {
		seen.headers = nil
		c := nethttp.Client{Transport: resolve(t, New(Config{Transport: nethttp.DefaultTransport}), policy).Transport(seen)}
		resp, err := c.Get(here.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if len(seen.headers) != 2 || seen.headers[0] == "" || seen.headers[1] != "" {
			t.Errorf("%v: headers %q", policy["scheme"], seen.headers)
		}
	}
}

// Nothing secret is logged, and egress rules hold for token requests.
func TestLogsAndEgress(t *testing.T) {
	server := newTokenServer(t, answering(`{"access_token":"token-value","refresh_token":"refresh-value","expires_in":"60"}`))
	var log bytes.Buffer
	s := New(Config{Transport: nethttp.DefaultTransport, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	address := strings.Replace(server.URL, "http://", "http://user:pass-word@", 1)
	resolve(t, s, map[string]any{"scheme": "oauth2", "authority": address, "grant": grantPassword, "username": "u", "password": "word-pass",
		"client": map[string]any{"id": "c", "secret": "client-secret"}})
	for _, secret := range []string{"token-value", "refresh-value", "pass-word", "word-pass", "client-secret"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("log tells %s: %s", secret, log.String())
		}
	}
	if !strings.Contains(log.String(), "token fetched") {
		t.Errorf("log %q", log.String())
	}
	rules, err := egress.New(egress.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, fault := New(Config{Transport: rules.Transport()}).Resolve(t.Context(),
		map[string]any{"scheme": "oauth2", "authority": server.URL, "grant": grantClient})
	wantFault(t, fault, machine.ErrAuthentication, 401, "--allow-egress")
	if fault.Code != "egress_refused" || fault.Retryable {
		t.Errorf("fault %+v", fault)
	}
}

func TestPoliciesThatMakeNoSense(t *testing.T) {
	s := New(Config{Transport: nethttp.DefaultTransport})
	for name, policy := range map[string]any{
		"text":            "bearer",
		"scheme":          map[string]any{"scheme": "ntlm"},
		"no authority":    map[string]any{"scheme": "oauth2", "grant": grantClient},
		"no address":      map[string]any{"scheme": "oauth2", "grant": grantClient, "authority": "ftp://x"},
		"query":           map[string]any{"scheme": "oauth2", "grant": grantClient, "authority": "https://x/?a=b"},
		"grant":           map[string]any{"scheme": "oauth2", "grant": "implicit", "authority": "https://x"},
		"no subject":      map[string]any{"scheme": "oauth2", "grant": grantExchange, "authority": "https://x"},
		"no user":         map[string]any{"scheme": "oauth2", "grant": grantPassword, "authority": "https://x"},
		"encoding":        map[string]any{"scheme": "oauth2", "grant": grantClient, "authority": "https://x", "encoding": "text/plain"},
		"scopes":          map[string]any{"scheme": "oauth2", "grant": grantClient, "authority": "https://x", "scopes": "a"},
		"no client id":    map[string]any{"scheme": "oauth2", "grant": grantClient, "authority": "https://x", "client": map[string]any{"secret": "s"}},
		"client method":   map[string]any{"scheme": "oauth2", "grant": grantClient, "authority": "https://x", "client": map[string]any{"id": "c", "authentication": "tls"}},
		"nothing to sign": map[string]any{"scheme": "oauth2", "grant": grantClient, "authority": "https://x", "client": map[string]any{"id": "c", "authentication": methodSecretJWT}},
	} {
		t.Run(name, func(t *testing.T) {
			_, fault := s.Resolve(t.Context(), policy)
			wantFault(t, fault, machine.ErrConfiguration, 400)
		})
	}
	_, fault := s.Resolve(t.Context(), map[string]any{"scheme": "bearer", "token": "a\r\nb"})
	wantFault(t, fault, machine.ErrAuthentication, 401)
	if c := resolve(t, s, nil); !c.Empty() || c.Authorization() != "" || c.Transport(nethttp.DefaultTransport) != nethttp.DefaultTransport {
		t.Error("no policy gives credentials")
	}
}

func TestLifetimes(t *testing.T) {
	now := time.Unix(1e9, 0)
	for text, want := range map[string]time.Duration{
		`{"access_token":"t","expires_in":3600}`:   time.Hour - 30*time.Second,
		`{"access_token":"t","expires_in":"100"}`:  90 * time.Second,
		`{"access_token":"t","expires_in":1e300}`:  longestLifetime - 30*time.Second,
		`{"access_token":"t","expires_in":-5}`:     unknownLifetime - 30*time.Second,
		`{"access_token":"t","expires_in":"soon"}`: unknownLifetime - 30*time.Second,
		`{"access_token":"t"}`:                     unknownLifetime - 30*time.Second,
		`{"access_token":"t","expires_in":0}`:      0,
	} {
		said, err := readAnswer("application/json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, fault := said.token(&policy{}, now)
		if fault != nil || got.renewAt.Sub(now) != want {
			t.Errorf("%s: %v, %v; want %v", text, got, fault, want)
		}
	}
	said, err := readAnswer("application/x-www-form-urlencoded; charset=utf-8", []byte("access_token=t&expires_in=100&token_type=bearer"))
	if err != nil || said.AccessToken != "t" || string(said.ExpiresIn) != "100" {
		t.Errorf("a form: %+v, %v", said, err)
	}
}

// Nothing that a server sends makes a token that a header cannot hold, or lasts forever.
func FuzzTokenResponse(f *testing.F) {
	for _, seed := range []string{`{"access_token":"t","expires_in":3600,"token_type":"Bearer"}`, `{"access_token":"eyJhbGciOiJub25lIn0.eyJleHAiOjF9."}`, "access_token=t", `{"error":"x"}`} {
		f.Add("application/json", []byte(seed))
		f.Add("application/x-www-form-urlencoded", []byte(seed))
	}
	now := time.Unix(1e9, 0)
	f.Fuzz(func(t *testing.T, contentType string, data []byte) {
		said, err := readAnswer(contentType, data)
		if strings.ContainsAny(said.reason(), "\r\n\x00") {
			t.Error("the reason has control characters")
		}
		if err != nil {
			return
		}
		got, fault := said.token(&policy{grant: grantExchange}, now)
		if fault == nil && (strings.ContainsAny(got.authorization(), "\r\n\x00") || got.renewAt.Sub(now) > longestLifetime) {
			t.Errorf("token %+v", got)
		}
	})
}
