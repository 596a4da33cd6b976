package web

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"testing/fstest"
)

// bundle is one like those of `make build`.
func bundle(t *testing.T) fstest.MapFS {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("console.log(1)")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"dist/.keep":                  {},
		"dist/index.html":             {Data: []byte(`<html lang="{{.Lang}}"><meta name="csp-nonce" content="{{.Nonce}}">`)},
		"dist/NOTICE.txt":             {Data: []byte("licences")},
		"dist/assets/index-abc.js.gz": {Data: packed.Bytes()},
		"dist/assets/x-1.weird.gz":    {Data: packed.Bytes()},
	}
}

func TestBundle(t *testing.T) {
	ui, err := New(bundle(t))
	if err != nil || ui == nil {
		t.Fatal(ui, err)
	}
	a := ui.Asset("index-abc.js")
	if a == nil || a.Media != "text/javascript; charset=utf-8" || a.Tag != "index-abc.js" {
		t.Fatalf("%+v", a)
	}
	if text, err := a.Unpack(); err != nil || string(text) != "console.log(1)" {
		t.Errorf("%q, %v", text, err)
	}
	if weird := ui.Asset("x-1.weird"); weird == nil || weird.Media != "application/octet-stream" {
		t.Errorf("%+v", weird)
	}
	for _, name := range []string{"", "index-abc.js.gz", "../index.html", "index.html"} {
		if ui.Asset(name) != nil {
			t.Errorf("there is a file %q", name)
		}
	}
	if string(ui.Notices()) != "licences" {
		t.Errorf("%q", ui.Notices())
	}
}

// TestNonceOfEachAnswer: what one page may run, another may not.
func TestNonceOfEachAnswer(t *testing.T) {
	ui, err := New(bundle(t))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		text, policy, err := ui.Index("de")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), `content="`)
		nonce, _, _ := strings.Cut(rest, `"`)
		if len(nonce) != 24 || seen[nonce] || !strings.Contains(policy, "style-src 'self' 'nonce-"+nonce+"'") || !strings.Contains(string(text), `lang="de"`) {
			t.Errorf("%s\n%s", text, policy)
		}
		if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "script-src 'self';") {
			t.Errorf("the policy is too wide: %s", policy)
		}
		seen[nonce] = true
	}
}

// TestWithoutBundle: a program that was built without Node works.
func TestWithoutBundle(t *testing.T) {
	if ui, err := New(fstest.MapFS{"dist/.keep": {}}); ui != nil || err != nil {
		t.Error(ui, err)
	}
	broken := bundle(t)
	delete(broken, "dist/NOTICE.txt")
	if _, err := New(broken); err == nil {
		t.Error("a bundle without licences is taken")
	}
}
