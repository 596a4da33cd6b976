package api

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// browser is a request as a browser sends it to the sign-in.
func browser(remote, host string, headers ...string) *http.Request {
	r := httptest.NewRequest("POST", "/api/v1/session", strings.NewReader(`{"email":"ada@example.com","password":"x"}`))
	r.Header.Set("Content-Type", "application/json")
	r.RemoteAddr, r.Host = remote, host
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func signInServer(t *testing.T, f *fakeSignIn, publicURL string, proxies ...string) *Server {
	c := Config{Service: &fake{}, SignIn: f, PublicURL: publicURL}
	for _, p := range proxies {
		c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix(p))
	}
	return New(c)
}

// TestWhereSignInIsAllowed: over https, on the machine itself, and through proxies that the operator trusts.
func TestWhereSignInIsAllowed(t *testing.T) {
	const public = "https://chargehand.example.com"
	for name, c := range map[string]struct {
		r       *http.Request
		public  string
		proxies []string
		code    string
		cookie  string
		address string
	}{
		"on the machine":                  {r: browser("127.0.0.1:5", "localhost:8080"), cookie: "chargehand-8080", address: "127.0.0.1"},
		"on the machine, by IPv6":         {r: browser("[::1]:5", "[::1]:8081"), cookie: "chargehand-8081", address: "::1"},
		"plain http from elsewhere":       {r: browser("192.0.2.9:5", "chargehand:8080"), code: "https_required"},
		"a forged header from elsewhere":  {r: browser("192.0.2.9:5", "chargehand", "X-Forwarded-Proto", "https", "X-Forwarded-For", "127.0.0.1"), code: "https_required"},
		"a proxy that is not trusted":     {r: browser("192.0.2.9:5", "chargehand.example.com", "X-Forwarded-Proto", "https"), public: public, code: "https_required"},
		"a proxy on the machine":          {r: browser("127.0.0.1:5", "chargehand.example.com"), public: public, cookie: "__Host-chargehand", address: "127.0.0.1"},
		"a trusted proxy":                 {r: browser("10.0.0.1:5", "chargehand.example.com", "X-Forwarded-Proto", "https", "X-Forwarded-For", "6.6.6.6, 203.0.113.7"), public: public, proxies: []string{"10.0.0.0/8"}, cookie: "__Host-chargehand", address: "203.0.113.7"},
		"two trusted proxies":             {r: browser("10.0.0.1:5", "chargehand.example.com", "X-Forwarded-Proto", "https", "X-Forwarded-For", "6.6.6.6, 203.0.113.7, 10.0.0.2"), public: public, proxies: []string{"10.0.0.0/8"}, cookie: "__Host-chargehand", address: "203.0.113.7"},
		"a trusted proxy over plain http": {r: browser("10.0.0.1:5", "chargehand.example.com", "X-Forwarded-Proto", "http", "X-Forwarded-For", "203.0.113.7"), public: public, proxies: []string{"10.0.0.0/8"}, code: "https_required"},
		"a proxy that adds a header":      {r: browser("10.0.0.1:5", "chargehand.example.com", "X-Forwarded-Proto", "https, http", "X-Forwarded-For", "203.0.113.7"), public: public, proxies: []string{"10.0.0.0/8"}, code: "https_required"},
		"an unknown proxy on the machine": {r: browser("127.0.0.1:5", "chargehand.example.com", "X-Forwarded-For", "203.0.113.7", "X-Forwarded-Proto", "https"), public: public, code: "https_required"},
		"one that says it otherwise":      {r: browser("[::1]:5", "localhost:8080", "Forwarded", "for=203.0.113.7;proto=https"), code: "https_required"},
		"a trusted one on the machine":    {r: browser("127.0.0.1:5", "chargehand.example.com", "X-Forwarded-For", "203.0.113.7", "X-Forwarded-Proto", "https"), public: public, proxies: []string{"127.0.0.1/32"}, cookie: "__Host-chargehand", address: "203.0.113.7"},
		"no header of a trusted proxy":    {r: browser("10.0.0.1:5", "chargehand.example.com"), public: public, proxies: []string{"10.0.0.0/8"}, code: "https_required"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeSignIn{}
			a := serve(signInServer(t, f, c.public, c.proxies...), c.r)
			if c.code != "" {
				wantProblem(t, a, 403, c.code)
				return
			}
			cookie := a.header.Get("Set-Cookie")
			if a.status != 201 || !strings.HasPrefix(cookie, c.cookie+"="+goodToken+";") || f.from.Address.String() != c.address {
				t.Errorf("%d, %s, from %s\n%s", a.status, cookie, f.from.Address, a.body)
			}
			for _, part := range []string{"Path=/", "HttpOnly", "SameSite=Lax"} {
				if !strings.Contains(cookie, part) {
					t.Errorf("%s is missing in %s", part, cookie)
				}
			}
			if strings.Contains(cookie, "Secure") != strings.HasPrefix(c.cookie, "__Host-") || strings.Contains(cookie, "Domain") {
				t.Errorf("cookie %s", cookie)
			}
		})
	}
	r := browser("192.0.2.9:5", "chargehand.example.com")
	r.TLS = &tls.ConnectionState{}
	if a := serve(signInServer(t, &fakeSignIn{}, ""), r); a.status != 201 || !strings.HasPrefix(a.header.Get("Set-Cookie"), "__Host-") {
		t.Errorf("over TLS: %d, %s", a.status, a.header.Get("Set-Cookie"))
	}
}

// TestTheCookieOfABrowser: a sign-in makes the browser known, and the next one says by which secret.
func TestTheCookieOfABrowser(t *testing.T) {
	f := &fakeSignIn{browser: "first"}
	s := signInServer(t, f, "")
	a := serve(s, browser("127.0.0.1:5", "localhost:8080"))
	cookies := strings.Join(a.header["Set-Cookie"], "\n")
	for _, part := range []string{"chargehand-browser-8080=first; Path=/; Expires=", "; HttpOnly; SameSite=Lax"} {
		if !strings.Contains(cookies, part) {
			t.Errorf("%q is missing in %s", part, cookies)
		}
	}
	f.browser = ""
	a = serve(s, browser("127.0.0.1:5", "localhost:8080", "Cookie", "chargehand-browser-8080=first; chargehand-browser-9090=second"))
	if f.from.Browser != "first" || len(a.header["Set-Cookie"]) != 1 {
		t.Errorf("from %q, answered %q", f.from.Browser, a.header["Set-Cookie"])
	}
	wantProblem(t, serve(s, func() *http.Request {
		r := browser("127.0.0.1:5", "localhost:8080", "Cookie", "chargehand-browser-8080="+goodToken)
		r.Method = "DELETE"
		return r
	}()), 401, "invalid_credentials")
}

// TestUnknownSessionsArePaidFor: what a stranger sends as a session is read as often as the address may ask.
func TestUnknownSessionsArePaidFor(t *testing.T) {
	f := &fakeSignIn{}
	s := signInServer(t, f, "")
	limited := 0
	for range 10 * addressBurst {
		r := browser("127.0.0.1:5", "localhost:8080", "Cookie", "chargehand-8080=unknown")
		r.Method = "DELETE"
		if a := serve(s, r); a.status == 429 {
			limited++
		}
	}
	if f.read > 3*addressBurst || limited == 0 {
		t.Errorf("%d sessions were read, %d requests refused", f.read, limited)
	}
}

// TestForgedOrigins: a page of another site can neither sign a person in as another, nor act with the cookie.
func TestForgedOrigins(t *testing.T) {
	const host = "localhost:8080"
	f := &fakeSignIn{}
	for name, headers := range map[string][]string{
		"another site":        {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.test"},
		"a sister site":       {"Sec-Fetch-Site", "same-site", "Origin", "http://localhost:9090"},
		"an old browser":      {"Origin", "https://evil.test"},
		"a sandboxed page":    {"Origin", "null"},
		"another scheme only": {"Sec-Fetch-Site", "cross-site", "Origin", "https://localhost:8080"},
	} {
		t.Log(name)
		p := wantProblem(t, serve(signInServer(t, f, ""), browser("127.0.0.1:5", host, headers...)), 403, "cross_origin")
		if detail := p["detail"].(string); strings.Contains(detail, "(Sec-Fetch-Site: \""+headers[1]) != (headers[0] == "Sec-Fetch-Site") {
			t.Errorf("it does not say what is wrong: %s", detail)
		}
	}
	for name, headers := range map[string][]string{
		"its own page": {"Sec-Fetch-Site", "same-origin", "Origin", "http://localhost:8080"},
		"a program":    {},
	} {
		if a := serve(signInServer(t, f, ""), browser("127.0.0.1:5", host, headers...)); a.status != 201 {
			t.Errorf("%s: %d\n%s", name, a.status, a.body)
		}
	}
	s := signInServer(t, f, "https://chargehand.example.com")
	if a := serve(s, browser("127.0.0.1:5", "127.0.0.1:8080", "Sec-Fetch-Site", "cross-site", "Origin", "https://chargehand.example.com")); a.status != 201 {
		t.Errorf("a proxy that changes the host: %d\n%s", a.status, a.body)
	}
	for _, method := range []string{"PATCH", "DELETE"} {
		r := browser("127.0.0.1:5", host, "Sec-Fetch-Site", "cross-site", "Cookie", "chargehand-8080="+goodToken)
		r.Method = method
		wantProblem(t, serve(signInServer(t, f, ""), r), 403, "cross_origin")
	}
}

// TestFormsOfOtherSites: what a form can send without script is no JSON.
func TestFormsOfOtherSites(t *testing.T) {
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", ""} {
		r := browser("127.0.0.1:5", "localhost:8080", "Content-Type", media)
		wantProblem(t, serve(signInServer(t, &fakeSignIn{}, ""), r), 415, "unsupported_media_type")
	}
}

func TestSessionsOfRequests(t *testing.T) {
	get := func(headers ...string) *http.Request {
		r := browser("127.0.0.1:5", "localhost:8080", headers...)
		r.Method, r.Body, r.ContentLength = "GET", nil, 0
		return r
	}
	s := signInServer(t, &fakeSignIn{}, "")
	if a := serve(s, get("Cookie", "chargehand-8080="+goodToken)); a.status != 200 || a.header.Get("Set-Cookie") != "" {
		t.Errorf("%d, %s", a.status, a.header.Get("Set-Cookie"))
	}
	wantProblem(t, serve(s, get()), 401, "invalid_credentials")
	wantProblem(t, serve(s, get("Cookie", "chargehand-8080=another")), 401, "invalid_credentials")
	wantProblem(t, serve(s, get("Cookie", "chargehand-9090="+goodToken)), 401, "invalid_credentials")
	wantProblem(t, serve(s, get("x-api-key", goodKey)), 401, "invalid_credentials")
	wantProblem(t, serve(s, get("x-api-key", goodKey, "Cookie", "chargehand-8080="+goodToken)), 400, "ambiguous_credentials")
	r := get("Cookie", "chargehand-8080="+goodToken)
	r.Method = "DELETE"
	if a := serve(s, r); a.status != 204 || !strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("sign-out: %d, %s", a.status, a.header.Get("Set-Cookie"))
	}
}

func TestRateOfAnAddress(t *testing.T) {
	var a addressRate
	now := time.Unix(1000, 0)
	take := func(address string) error { _, err := a.take(netip.MustParseAddr(address), now); return err }
	for range addressBurst {
		if err := take("2001:db8::1"); err != nil {
			t.Fatal(err)
		}
	}
	if take("2001:db8::2") == nil {
		t.Error("another address of the same network has a bucket of its own")
	}
	if err := take("2001:db8:0:1::1"); err != nil {
		t.Errorf("another network: %v", err)
	}
	now = now.Add(time.Second)
	for range addressPerSecond {
		if err := take("2001:db8::1"); err != nil {
			t.Errorf("a second later: %v", err)
		}
	}
	if take("2001:db8::1") == nil {
		t.Error("more than the rate")
	}
	address := netip.MustParseAddr("10.0.0.0")
	for range 3 * maxAddresses {
		address = address.Next()
		if err := take(address.String()); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.buckets) > maxAddresses {
		t.Errorf("%d buckets", len(a.buckets))
	}
}

func TestBadSignInBodies(t *testing.T) {
	s := signInServer(t, &fakeSignIn{}, "")
	for body, code := range map[string]string{
		`[]`:              "invalid_body",
		`{"email":1}`:     "invalid_body",
		`{"emial":"a@b"}`: "unknown_field",
		`{"email":"a","password":"b","` + strings.Repeat("x", 10_000) + `":""}`: "unknown_field",
		`{`: "invalid_json",
	} {
		r := httptest.NewRequest("POST", "/api/v1/session", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = "127.0.0.1:5"
		wantProblem(t, serve(s, r), 400, code)
	}
}

func TestBadDeviceBodies(t *testing.T) {
	s := signInServer(t, &fakeSignIn{}, "")
	for body, code := range map[string]string{
		`[]`:                                     "invalid_body",
		`{"name":1}`:                             "invalid_body",
		`{"nam":"x"}`:                            "unknown_field",
		`{"name":"x","environments":"live"}`:     "invalid_body",
		`{"name":"x","admin":"yes"}`:             "invalid_body",
		`{"name":"x","environments":[]}`:         "invalid_body",
		`{"name":"x","environments":["prod"]}`:   "invalid_body",
		`{"name":"x","environments":[["live"]]}`: "invalid_body",
		`{"name":"x","environments":["live","test","live"]}`: "invalid_body",
	} {
		r := httptest.NewRequest("POST", "/api/v1/device", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = "127.0.0.1:5"
		wantProblem(t, serve(s, r), 400, code)
	}
}
