package api

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/page"
)

// TestManual: the documentation needs no session and runs no script.
func TestManual(t *testing.T) {
	s := signInServer(t, &fakeSignIn{}, "")
	for path, want := range map[string]string{
		"/docs":               `<h1 id="documentation">Documentation</h1>`,
		"/docs/glossary":      "<h1 id=",
		"/docs/language/wait": `<a href="/docs/language/durations">duration</a>`,
	} {
		a := serve(s, visit(path, "Accept", "text/html"))
		if a.status != 200 || !strings.Contains(string(a.body), want) || strings.Contains(string(a.body), "<script") ||
			a.header.Get("Content-Security-Policy") != page.ManualPolicy || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %d %v\n%.2000s", path, a.status, a.header, a.body)
		}
	}
	if a := serve(s, visit("/docs/glossary", "Accept-Language", "de")); !strings.Contains(string(a.body), `<html lang="de">`) || !strings.Contains(string(a.body), `lang="en"`) {
		t.Errorf("in German: %.500s", a.body)
	}
	for _, path := range []string{"/docs/none", "/docs/language/none", "/docs/..%2FREADME", "/docs/language/wait.md"} {
		if a := serve(s, visit(path, "Accept", "text/html")); a.status != 404 || !strings.Contains(string(a.body), "The documentation has no page") {
			t.Errorf("%s: %d %.500s", path, a.status, a.body)
		}
	}
	s = withUI(t, s)
	for _, path := range []string{"/docs/", "/docs/language/", "/docs/language/wait/more"} {
		if a := serve(s, visit(path, signedIn...)); a.status != 404 || strings.Contains(string(a.body), `id="root"`) {
			t.Errorf("%s: %d %.500s", path, a.status, a.body)
		}
	}
}
