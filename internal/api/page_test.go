package api

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/page"
)

// sendForm is a page's form as a browser without script sends it.
func sendForm(path string, fields map[string]string, headers ...string) *http.Request {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, v := range fields {
		w.WriteField(name, v)
	}
	w.Close()
	r := httptest.NewRequest("POST", path, &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.RemoteAddr, r.Host = "127.0.0.1:5", "localhost:8080"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func visit(path string, headers ...string) *http.Request {
	r := sendForm(path, nil, headers...)
	r.Method, r.Body, r.ContentLength = "GET", nil, 0
	r.Header.Del("Content-Type")
	return r
}

func wantPage(t *testing.T, a answered, status int, parts ...string) {
	t.Helper()
	if a.status != status || a.header.Get("Content-Type") != "text/html; charset=utf-8" || a.header.Get("Content-Security-Policy") != page.Policy {
		t.Errorf("%d, %s, want %d\n%s", a.status, a.header, status, a.body)
	}
	for _, part := range parts {
		if !strings.Contains(string(a.body), part) {
			t.Errorf("the page has no %s\n%s", part, a.body)
		}
	}
}

func TestPagesWithoutScript(t *testing.T) {
	f := &fakeSignIn{}
	s := signInServer(t, f, "")
	for path, part := range map[string]string{"/setup": "Set up Chargehand", "/invitation": "Accept the invitation", "/password-reset": "Set a new password"} {
		wantPage(t, serve(s, visit(path)), 200, part, `enctype="multipart/form-data"`, `name="token"`)
		a := serve(s, sendForm(path, map[string]string{"token": "t", "password": "x"}))
		if a.status != 303 || a.header.Get("Location") != "/sign-in" || !strings.HasPrefix(a.header.Get("Set-Cookie"), "chargehand-8080="+goodToken) {
			t.Errorf("%s: %d, %v", path, a.status, a.header)
		}
	}
	f.fail = chargehand.NewError(chargehand.CodeInvalidCredentials, "The link is not right, was used, or has expired. Ask for another one.")
	for _, path := range []string{"/invitation", "/password-reset"} {
		a := serve(s, sendForm(path, map[string]string{"token": "t", "password": "x"}))
		wantPage(t, a, 401, "This link does not work", "was used, or has expired")
		if strings.Contains(string(a.body), "<form") {
			t.Errorf("%s shows the form of a link that was used:\n%s", path, a.body)
		}
	}
	f.fail = nil
	wantPage(t, serve(s, visit("/", "Accept", "text/html")), 200, `href="/sign-in"`, `href="/api/v1/openapi.json"`)
	if a := serve(s, visit("/", "Accept", "application/json")); a.status != 404 || !strings.Contains(string(a.body), "route_not_found") {
		t.Errorf("for a program: %d %s", a.status, a.body)
	}
	if a := serve(s, visit("/sign-in")); a.status != 303 || a.header.Get("Location") != "/setup" {
		t.Errorf("before set-up: %d, %v", a.status, a.header)
	}
	wantPage(t, serve(s, visit("/sign-in", "Cookie", "chargehand-8080="+goodToken)), 200, "You are signed in", "ada@example.com", "Sign out")
	a := serve(s, sendForm("/sign-in", map[string]string{"leave": "yes"}, "Cookie", "chargehand-8080="+goodToken))
	if a.status != 303 || !strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("signing out: %d, %v", a.status, a.header)
	}
}

// TestPagesSayWhatIsWrong: beside the field, in text, and without losing what was typed.
func TestPagesSayWhatIsWrong(t *testing.T) {
	f := &fakeSignIn{fail: chargehand.NewError(chargehand.CodeInvalidBody, "x", chargehand.FieldError{Pointer: "/email", Detail: "email <b>is wrong</b>."})}
	s := signInServer(t, f, "")
	hostile := `"><script>alert(1)</script>`
	a := serve(s, sendForm("/setup", map[string]string{"token": hostile, "name": hostile, "email": hostile, "password": "never shown again"}))
	wantPage(t, a, 400, `aria-invalid="true"`, `id="email-error"`, "email &lt;b&gt;is wrong", `role="alert"`, "&lt;script&gt;alert(1)")
	if strings.Contains(string(a.body), "<script>") || strings.Contains(string(a.body), "never shown again") {
		t.Errorf("the page repeats what it must not:\n%s", a.body)
	}
	f.fail = chargehand.NewError(chargehand.CodeInvalidCredentials, "The e-mail or the password is not right.")
	wantPage(t, serve(s, sendForm("/sign-in", map[string]string{"email": "ada@example.com", "password": "x"})), 401, "is not right", `value="ada@example.com"`)
}

func TestPagesRefuse(t *testing.T) {
	s := signInServer(t, &fakeSignIn{}, "")
	wantPage(t, serve(s, sendForm("/sign-in", nil, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.test")), 403, "another origin")
	elsewhere := visit("/setup")
	elsewhere.RemoteAddr = "192.0.2.7:5"
	wantPage(t, serve(s, elsewhere), 403, "--public-url", "--trusted-proxy")
	wantPage(t, serve(s, sendForm("/sign-in", map[string]string{"email": strings.Repeat("x", 2*maxForm)})), 413, "larger")
	wantPage(t, serve(s, sendForm("/sign-in", nil, "Content-Type", "application/x-www-form-urlencoded")), 415, "multipart/form-data")
	wantPage(t, serve(s, visit("/setup?next=https://evil.test")), 400, "There is no query parameter")
}

func TestAssetsOfPages(t *testing.T) {
	s := signInServer(t, &fakeSignIn{}, "")
	for path, media := range map[string]string{"/assets/page.css": "text/css; charset=utf-8", "/assets/page.js": "text/javascript; charset=utf-8"} {
		a := serve(s, visit(path+"?v="+page.Tag))
		if a.status != 200 || a.header.Get("Content-Type") != media || !strings.Contains(a.header.Get("Cache-Control"), "immutable") || len(a.body) == 0 {
			t.Errorf("%s: %d, %v", path, a.status, a.header)
		}
		if a := serve(s, visit(path)); strings.Contains(a.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s without its version is immutable", path)
		}
	}
}

func TestPublicPagesAreListed(t *testing.T) {
	listed := map[string]bool{}
	for _, name := range publicPages {
		listed[name] = true
	}
	for _, e := range append(pageEndpoints(), uiEndpoint) {
		if name := e.method + " " + e.path; !listed[name] {
			t.Errorf("%s is in no list", name)
		} else {
			delete(listed, name)
		}
	}
	if len(listed) > 0 {
		t.Errorf("listed, but no page: %v", listed)
	}
}

// TestSessionsOnOtherRoutes: the cookie is as good as a key, in the environment that the request names.
func TestSessionsOnOtherRoutes(t *testing.T) {
	s := signInServer(t, &fakeSignIn{}, "")
	cookie := []string{"Cookie", "chargehand-8080=" + goodToken}
	a := serve(s, visit("/api/v1/workflows", cookie...))
	if a.status != 200 || !strings.HasPrefix(a.header.Get("Set-Cookie"), "chargehand-8080=the-next-token") {
		t.Errorf("%d, %v\n%s", a.status, a.header, a.body)
	}
	wantProblem(t, serve(s, visit("/api/v1/workflows", "Cookie", "chargehand-8080=x")), 401, "invalid_credentials")
	wantProblem(t, serve(s, visit("/api/v1/workflows", append(cookie, "x-api-key", goodKey)...)), 400, "ambiguous_credentials")
	wantProblem(t, serve(s, visit("/api/v1/workflows?environment=test", append(cookie, "Chargehand-Environment", "live")...)), 400, "invalid_parameter")
	wantProblem(t, serve(s, visit("/api/v1/workflows", append(cookie, "Chargehand-Environment", "prod")...)), 400, "invalid_parameter")
	forged := visit("/api/v1/api-keys", append(cookie, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.test")...)
	forged.Method = "POST"
	wantProblem(t, serve(s, forged), 403, "cross_origin")
}
