package api

import (
	"bytes"
	"compress/gzip"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chargehand/chargehand/web"
)

// withUI is a server with a bundle of one file.
func withUI(t *testing.T, s *Server) *Server {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("console.log(1)")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ui, err := web.New(fstest.MapFS{
		"dist/index.html":         {Data: []byte(`<html lang="{{.Lang}}"><meta name="csp-nonce" content="{{.Nonce}}"><div id="root">`)},
		"dist/NOTICE.txt":         {Data: []byte("licences of the UI")},
		"dist/assets/app-1.js.gz": {Data: packed.Bytes()},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.ui = ui
	return s
}

var signedIn = []string{"Accept", "text/html,*/*;q=0.8", "Cookie", "chargehand-8080=" + goodToken}

func TestUIPages(t *testing.T) {
	s := withUI(t, signInServer(t, &fakeSignIn{}, ""))
	for _, path := range []string{"/", "/?span=7d&env=test", "/executions", "/executions?filter=state:error", "/executions/019c13f3-1d40-7b0e-8a3c-2f6d9e4b5a21", "/nothing/here"} {
		a := serve(s, visit(path, append(signedIn, "Accept-Language", "de")...))
		if a.status != 200 || !strings.Contains(string(a.body), `id="root"`) || !strings.Contains(string(a.body), `lang="de"`) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		if policy := a.header.Get("Content-Security-Policy"); !strings.Contains(policy, "'nonce-") || strings.Contains(policy, "unsafe") || a.header.Get("Cache-Control") != "no-store" ||
			a.header.Get("Referrer-Policy") != "same-origin" || a.header.Get("Cross-Origin-Opener-Policy") != "same-origin" || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, a.header)
		}
		a = serve(s, visit(path, "Accept", "text/html"))
		if want := "/sign-in?return=" + url.QueryEscape(path); a.status != 303 || a.header.Get("Location") != want {
			t.Errorf("%s without a session: %d %q, want %q", path, a.status, a.header.Get("Location"), want)
		}
		// A program gets the error of a path that does not exist.
		wantProblem(t, serve(s, visit(path, "Accept", "application/json")), 404, "route_not_found")
	}
}

// TestUITakesNothingElse: no path of programs, no page of its own, no other method is answered with the UI.
func TestUITakesNothingElse(t *testing.T) {
	s := withUI(t, signInServer(t, &fakeSignIn{}, ""))
	for _, path := range []string{"/api", "/api/", "/api/v2/x", "/t/abc/d", "/in/abc", "/schemas/x", "/assets/none.js", "/assets"} {
		if a := serve(s, visit(path, signedIn...)); a.status != 404 || strings.Contains(string(a.body), `id="root"`) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, path := range []string{"/healthz", "/api/v1/executions"} {
		if a := serve(s, visit(path, signedIn...)); strings.Contains(string(a.body), `id="root"`) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	post := sendForm("/executions", nil, signedIn...)
	if a := serve(s, post); a.status != 404 {
		t.Errorf("POST: %d %s", a.status, a.body)
	}
	head := visit("/executions", signedIn...)
	head.Method = "HEAD"
	if a := serve(s, head); a.status != 200 || len(a.body) != 0 {
		t.Errorf("HEAD: %d %s", a.status, a.body)
	}
}

func TestUIAssets(t *testing.T) {
	s := withUI(t, signInServer(t, &fakeSignIn{}, ""))
	const path = "/assets/app-1.js"
	a := serve(s, visit(path, "Accept-Encoding", "br, gzip"))
	if a.status != 200 || a.header.Get("Content-Encoding") != "gzip" || a.header.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
		a.header.Get("Content-Type") != "text/javascript; charset=utf-8" || a.header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("%d %v", a.status, a.header)
	}
	tag := a.header.Get("Etag")
	for _, without := range []string{"", "br", "gzip;q=0", "identity, gzip; q=0.0"} {
		if a := serve(s, visit(path, "Accept-Encoding", without)); a.header.Get("Content-Encoding") != "" || string(a.body) != "console.log(1)" {
			t.Errorf("%q: %v %s", without, a.header, a.body)
		}
	}
	if a := serve(s, visit(path, "If-None-Match", tag)); a.status != 304 || len(a.body) != 0 {
		t.Errorf("%d %s", a.status, a.body)
	}
	wantProblem(t, serve(s, visit("/assets/app-2.js")), 404, "route_not_found")
	if a := serve(s, visit("/licences")); a.status != 200 || string(a.body) != "licences of the UI" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestWithoutUI: the program says what is missing, and knows no page of the UI.
func TestWithoutUI(t *testing.T) {
	s := signInServer(t, &fakeSignIn{}, "")
	wantPage(t, serve(s, visit("/", "Accept", "text/html")), 200, "make build")
	for _, path := range []string{"/executions", "/licences", "/assets/app-1.js"} {
		wantProblem(t, serve(s, visit(path, signedIn...)), 404, "route_not_found")
	}
}

// TestPagesWithoutSession walks all pages: none shows the UI.
func TestPagesWithoutSession(t *testing.T) {
	s := withUI(t, signInServer(t, &fakeSignIn{}, ""))
	for _, name := range publicPages {
		method, path, _ := strings.Cut(name, " ")
		path = strings.NewReplacer("*", "executions", "{asset}", "app-1.js").Replace(path)
		r := visit(path, "Accept", "text/html")
		if method == "POST" {
			r = sendForm(path, nil)
		}
		if a := serve(s, r); a.status == 500 || strings.Contains(string(a.body), `id="root"`) {
			t.Errorf("%s without a session: %d %s", name, a.status, a.body)
		}
	}
}

// TestReturn: after a sign-in the browser is where it wanted to be, and never at another server.
func TestReturn(t *testing.T) {
	s := withUI(t, signInServer(t, &fakeSignIn{}, ""))
	back := "/sign-in?return=" + url.QueryEscape("/executions?filter=state:error")
	a := serve(s, sendForm(back, map[string]string{"email": "ada@example.com", "password": "x"}))
	if a.status != 303 || a.header.Get("Location") != "/executions?filter=state:error" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if a := serve(s, visit(back, "Cookie", "chargehand-8080="+goodToken)); a.status != 303 || a.header.Get("Location") != "/executions?filter=state:error" {
		t.Errorf("%d %v", a.status, a.header)
	}
	for _, elsewhere := range []string{"https://evil.test", "//evil.test", `/\evil.test`, "/\t/evil.test", "/ /evil.test", "evil", "", "/" + strings.Repeat("x", 3000)} {
		a := serve(s, sendForm("/sign-in?return="+url.QueryEscape(elsewhere), map[string]string{"email": "ada@example.com", "password": "x"}))
		if a.status != 400 || a.header.Get("Location") != "" || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%q: %d %v", elsewhere, a.status, a.header)
		}
	}
}
