package http

import (
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// tokens answers token requests with t1, t2, …, and counts them.
func tokens(t *testing.T) (authority string, count *atomic.Int64) {
	t.Helper()
	count = new(atomic.Int64)
	return serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":3600}`, count.Add(1))
	}), count
}

func TestCallsWithTokens(t *testing.T) {
	authority, count := tokens(t)
	accepted := "Bearer token-1"
	base := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Header.Get("Authorization") != accepted {
			w.WriteHeader(401)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
	})
	c := caller(t, nil)
	args := func() map[string]any {
		return map[string]any{
			"endpoint": base, "method": "post", "body": "body", "headers": map[string]any{"Authorization": "overridden", "Content-Type": "text/plain"}, "output": "response",
			"authentication": map[string]any{"scheme": "oauth2", "authority": authority, "grant": "client_credentials",
				"client": map[string]any{"id": "c", "secret": "hush-hush"}},
		}
	}
	for range 2 {
		got := run(t, c, args())
		text := string(value.Marshal(got.Output))
		if got.Fault != nil || !strings.Contains(text, `"Authorization":"[redacted]"`) || !strings.Contains(text, `"content":"body"`) || strings.Contains(text, "token-1") {
			t.Fatalf("%s, %v", text, got.Fault)
		}
	}
	if count.Load() != 1 {
		t.Errorf("%d tokens for two calls", count.Load())
	}
	accepted = "Bearer token-2" // the first was revoked: one more try with a fresh one
	if got := run(t, c, args()); got.Fault != nil || count.Load() != 2 {
		t.Errorf("fault %v, %d tokens", got.Fault, count.Load())
	}
	accepted = "none" // T81: a 401 of the call stays a communication error
	wantFault(t, run(t, c, args()), machine.ErrCommunication, 401, "401")
	if count.Load() != 3 {
		t.Errorf("%d tokens; a fresh one is tried once", count.Load())
	}
}

// T81: no token is an authentication error, and the call is not made.
func TestNoTokenNoCall(t *testing.T) {
	var called atomic.Int64
	base := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) { called.Add(1) })
	authority := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.WriteHeader(401)
		io.WriteString(w, `{"error":"invalid_client","error_description":"not hush-hush"}`)
	})
	got := run(t, caller(t, nil), map[string]any{"endpoint": base, "authentication": map[string]any{"scheme": "oidc", "authority": authority, "grant": "client_credentials"}})
	wantFault(t, got, machine.ErrAuthentication, 401)
	got = run(t, caller(t, nil), map[string]any{"endpoint": base, "authentication": map[string]any{"scheme": "oauth2", "authority": authority, "grant": "client_credentials",
		"client": map[string]any{"id": "c", "secret": "hush-hush"}}})
	wantFault(t, got, machine.ErrAuthentication, 401, "invalid_client", "[redacted]")
	if called.Load() != 0 {
		t.Error("the call was made without a token")
	}
}

func TestTokensDoNotFollowRedirects(t *testing.T) {
	authority, _ := tokens(t)
	var seen []string
	see := func(r *nethttp.Request) { seen = append(seen, r.URL.Path+" "+r.Header.Get("Authorization")) }
	other := serve(t, func(_ nethttp.ResponseWriter, r *nethttp.Request) { see(r) })
	base := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		see(r)
		to := "/b"
		if r.URL.Path == "/b" {
			to = other + "/c"
		}
		nethttp.Redirect(w, r, to, nethttp.StatusTemporaryRedirect)
	})
	got := run(t, caller(t, nil), map[string]any{"endpoint": base + "/a", "redirect": true, "method": "post", "body": "x",
		"authentication": map[string]any{"scheme": "oauth2", "authority": authority, "grant": "client_credentials"}})
	if want := "/a Bearer token-1|/b Bearer token-1|/c "; got.Fault != nil || strings.Join(seen, "|") != want {
		t.Errorf("requests %q, %v; want %s", seen, got.Fault, want)
	}
}

// A stored file is sent again after a challenge and by a redirect.
func TestFilesAreSentAgain(t *testing.T) {
	var bodies []string
	base := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.URL.Path+":"+string(body))
		switch {
		case r.URL.Path == "/moved":
			nethttp.Redirect(w, r, "/to", nethttp.StatusTemporaryRedirect)
		case r.URL.Path == "/digest" && r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", `Digest realm="r", nonce="n", qop="auth-int", algorithm=SHA-256`)
			w.WriteHeader(401)
		}
	})
	c := caller(t, func(cfg *Config) { cfg.Files.(*memoryFiles).content["/api/v1/files/0190"] = "file content" })
	args := map[string]any{"method": "put", "body": map[string]any{"uri": "/api/v1/files/0190"}, "headers": map[string]any{"content-type": "image/png"},
		"redirect": true, "authentication": map[string]any{"scheme": "digest", "username": "u", "password": "p"}}
	for _, path := range []string{"/digest", "/moved"} {
		args["endpoint"] = base + path
		if got := run(t, c, args); got.Fault != nil {
			t.Errorf("%s: %v", path, got.Fault)
		}
	}
	if want := "/digest:file content|/digest:file content|/moved:file content|/to:file content"; strings.Join(bodies, "|") != want {
		t.Errorf("requests %q", bodies)
	}
}

// The same key goes with every run and with every try of a call.
func TestIdempotencyKeyWithEveryTry(t *testing.T) {
	var keys []string
	base := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Digest realm="r", nonce="n", qop="auth"`)
			w.WriteHeader(401)
		}
	})
	got := caller(t, nil).Run(t.Context(), activity.Call{Key: "key-1", Metadata: map[string]any{"idempotencyKey": true}, Args: map[string]any{
		"method": "post", "endpoint": base, "authentication": map[string]any{"scheme": "digest", "username": "u", "password": "p"}}})
	if got.Fault != nil || strings.Join(keys, " ") != "key-1 key-1" {
		t.Errorf("keys %q, %v", keys, got.Fault)
	}
}

func TestHTTPSCredentialsStayOffHTTP(t *testing.T) {
	var seen string
	plain := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) { seen = r.Header.Get("Authorization") }))
	defer plain.Close()
	secure := httptest.NewTLSServer(nethttp.RedirectHandler(plain.URL, nethttp.StatusFound))
	defer secure.Close()
	c := New(Config{Transport: secure.Client().Transport})
	got := run(t, c, map[string]any{"endpoint": secure.URL, "redirect": true, "authentication": map[string]any{"scheme": "basic", "username": "u", "password": "p"}})
	if got.Fault != nil || seen != "" {
		t.Errorf("Authorization %q at the other scheme, %v", seen, got.Fault)
	}
}
