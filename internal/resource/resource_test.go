package resource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/machine"
)

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func wantError(t *testing.T, err error, kind string, status int, words ...string) *Error {
	t.Helper()
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("error %v is no *Error", err)
	}
	fault := failed.Fault()
	if fault.Type != kind || fault.Status != status || fault.Detail != err.Error() || fault.Retryable != failed.Transient {
		t.Errorf("fault %+v, want %s %d", fault, kind, status)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q lacks %q", err, word)
		}
	}
	return failed
}

func TestFetchOverHTTP(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/a?b=c", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "Application/JSON; charset=utf-8")
		io.WriteString(w, "{}")
	})
	f := New(Config{Transport: http.DefaultTransport})
	got, err := f.Fetch(t.Context(), Request{URI: base + "/moved#part"})
	if err != nil {
		t.Fatal(err)
	}
	const digest = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	if string(got.Data) != "{}" || got.MediaType != "application/json" || got.Digest != digest || got.URI != base+"/a?b=c" {
		t.Errorf("content %+v", got)
	}
}

func TestWhatCannotBeFetchedOverHTTP(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			w.Write(bytes.Repeat([]byte("x"), 101))
		case "/endless":
			for range 50 {
				w.Write(bytes.Repeat([]byte("x"), 100))
				w.(http.Flusher).Flush()
			}
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/busy":
			w.WriteHeader(503)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		default:
			w.WriteHeader(404)
		}
	})
	f := New(Config{Transport: http.DefaultTransport, MaxBytes: 100})
	for path, tc := range map[string]struct {
		kind      string
		status    int
		transient bool
		word      string
	}{
		"/large":        {machine.ErrConfiguration, 400, false, "100 bytes"},
		"/endless":      {machine.ErrConfiguration, 400, false, "100 bytes"},
		"/loop":         {machine.ErrCommunication, 500, true, "10 times"},
		"/busy":         {machine.ErrCommunication, 503, true, "503"},
		"/none?token=x": {machine.ErrCommunication, 404, false, "not found"},
		"/file":         {machine.ErrCommunication, 500, true, "file"},
	} {
		t.Run(path, func(t *testing.T) {
			_, err := f.Fetch(t.Context(), Request{URI: base + path})
			failed := wantError(t, err, tc.kind, tc.status, tc.word, base)
			if failed.Transient != tc.transient || strings.Contains(err.Error(), "token") || strings.Contains(err.Error(), "root:") {
				t.Errorf("error %+v", failed)
			}
		})
	}
	for _, uri := range []string{"ftp://a/b", "http://", "%zz", "", "data:,x"} {
		_, err := f.Fetch(t.Context(), Request{URI: uri})
		wantError(t, err, machine.ErrConfiguration, 400)
	}
	rules, err := egress.New(egress.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(Config{Transport: rules.Transport()}).Fetch(t.Context(), Request{URI: base})
	if failed := wantError(t, err, machine.ErrCommunication, 500, "--allow-egress"); failed.Fault().Code != "egress_refused" || failed.Transient {
		t.Errorf("error %+v", failed)
	}
}

func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	base := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	_, err := New(Config{Transport: http.DefaultTransport, Timeout: 20 * time.Millisecond}).Fetch(t.Context(), Request{URI: base})
	if failed := wantError(t, err, machine.ErrCommunication, 500, "20ms"); !failed.Transient {
		t.Error("a timeout is not worth another try")
	}
}

func TestNoRedirectFromHTTPSToHTTP(t *testing.T) {
	plain := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") })
	secure := httptest.NewTLSServer(http.RedirectHandler(plain, http.StatusFound))
	defer secure.Close()
	_, err := New(Config{Transport: secure.Client().Transport}).Fetch(t.Context(), Request{URI: secure.URL})
	wantError(t, err, machine.ErrCommunication, 500, "from https to http")
}

func TestCredentials(t *testing.T) {
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "there:"+r.Header.Get("Authorization"))
	})
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other, http.StatusFound)
			return
		}
		io.WriteString(w, "here:"+r.Header.Get("Authorization"))
	})
	f := New(Config{Transport: http.DefaultTransport})
	bearer := map[string]any{"scheme": "bearer", "token": "t"}
	for _, tc := range []struct {
		request Request
		want    string
	}{
		{Request{URI: base + "/x", Authentication: bearer}, "here:Bearer t"},
		{Request{URI: base + "/away", Authentication: bearer}, "there:"},
		{Request{URI: strings.Replace(base, "://", "://u:p@", 1) + "/x"}, "here:Basic dTpw"},
	} {
		got, err := f.Fetch(t.Context(), tc.request)
		if err != nil || string(got.Data) != tc.want || strings.Contains(got.URI, "u:p") {
			t.Errorf("%s: %q at %s, %v", tc.request.URI, got.Data, got.URI, err)
		}
	}
	refusing := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) })
	_, err := f.Fetch(t.Context(), Request{URI: base, Authentication: map[string]any{"scheme": "oauth2", "authority": refusing, "grant": "client_credentials"}})
	wantError(t, err, machine.ErrAuthentication, 401)
	_, err = f.Fetch(t.Context(), Request{URI: refusing, Authentication: bearer})
	wantError(t, err, machine.ErrCommunication, 401)
}

// files is a folder with a root below it and secrets beside.
func files(t *testing.T) (root string) {
	t.Helper()
	outer := t.TempDir()
	root = filepath.Join(outer, "root")
	for name, text := range map[string]string{"secret.txt": "secret", "root-else/x.json": "secret", "root/a.json": "{}", "root/in/b.proto": "b", "root/large.txt": strings.Repeat("x", 101)} {
		path := filepath.Join(outer, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out.txt": "../secret.txt", "absolute.txt": filepath.Join(outer, "secret.txt"), "folder": "..", "inside.json": "in/../a.json"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestFilesBelowTheRoot(t *testing.T) {
	root := files(t)
	f := New(Config{Root: root, MaxBytes: 100})
	for uri, want := range map[string]string{
		"a.json": "{}", "in/b.proto": "b", "./in/../a.json": "{}", "file:a.json": "{}", "file:in/b%2Eproto": "b", "inside.json": "{}", "file://in/b.proto": "b",
		"file://" + root + "/a.json": "{}", "file://localhost" + root + "/in/b.proto": "b", root + "/a.json": "{}",
	} {
		got, err := f.Fetch(t.Context(), Request{URI: uri})
		if err != nil || string(got.Data) != want || !strings.HasPrefix(got.URI, "file:///") {
			t.Errorf("%s: %+v, %v", uri, got, err)
		}
	}
	if got, _ := f.Fetch(t.Context(), Request{URI: "a.json"}); got.MediaType != "application/json" {
		t.Errorf("media type %s", got.MediaType)
	}
	for uri, word := range map[string]string{
		"../secret.txt": "not below", "in/../../secret.txt": "not below", "file:..%2Fsecret.txt": "not below", "/etc/passwd": "not below",
		"file://" + root + "/../secret.txt": "not below", "file://" + root + "-else/x.json": "not below", "//host/a.json": "host", "file://host/a.json": "no such file", "file://in/../../secret.txt": "not below",
		"out.txt": "not a file below", "absolute.txt": "not a file below", "folder/secret.txt": "not a file below",
		"none.json": "no such file", "in": "regular", "pipe": "regular", "large.txt": "100 bytes", "a%00b": "not below",
	} {
		_, err := f.Fetch(t.Context(), Request{URI: uri})
		wantError(t, err, machine.ErrConfiguration, 400, word)
	}
	_, err := New(Config{}).Fetch(t.Context(), Request{URI: "a.json"})
	wantError(t, err, machine.ErrConfiguration, 400, "--resource-root")
	_, err = New(Config{Root: root + "-gone"}).Fetch(t.Context(), Request{URI: "a.json"})
	wantError(t, err, machine.ErrCommunication, 500, "cannot be opened")
}

func TestCacheFollowsTheRulesOfHTTP(t *testing.T) {
	var full, unchanged int
	header, body := http.Header{}, "1"
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		if etag := header.Get("ETag"); etag != "" && r.Header.Get("If-None-Match") == etag {
			unchanged++
			w.WriteHeader(304)
			return
		}
		full++
		io.WriteString(w, body)
	})
	now := time.Now()
	var c *Cache
	get := func(scope, want string) {
		t.Helper()
		got, err := c.Fetch(t.Context(), scope, Request{URI: base})
		if err != nil || string(got.Data) != want {
			t.Errorf("content %q, %v; want %q", got.Data, err, want)
		}
	}
	counts := func(wantFull, wantUnchanged int) {
		t.Helper()
		if full != wantFull || unchanged != wantUnchanged {
			t.Errorf("%d full and %d unchanged answers, want %d and %d", full, unchanged, wantFull, wantUnchanged)
		}
	}
	restart := func(fields ...string) {
		c = NewCache(CacheConfig{Fetcher: New(Config{Transport: http.DefaultTransport}), Now: func() time.Time { return now }})
		full, unchanged, header, body = 0, 0, http.Header{}, "1"
		for i := 0; i < len(fields); i += 2 {
			header.Set(fields[i], fields[i+1])
		}
	}

	restart("Cache-Control", "public, max-age=300")
	get("a", "1")
	body = "2"
	now = now.Add(299 * time.Second)
	get("a", "1")
	counts(1, 0)
	get("b", "2") // another tenant shares nothing
	now = now.Add(2 * time.Second)
	get("a", "2")
	counts(3, 0)

	restart("Cache-Control", "max-age=60", "ETag", `"1"`)
	get("a", "1")
	now = now.Add(61 * time.Second)
	get("a", "1")
	get("a", "1") // fresh again since the answer 304
	counts(1, 1)
	header.Set("ETag", `"2"`)
	body = "2"
	now = now.Add(61 * time.Second)
	get("a", "2")
	counts(2, 1)

	restart("Cache-Control", "no-store", "ETag", `"1"`)
	get("a", "1")
	get("a", "1")
	counts(2, 0)

	restart("Cache-Control", "no-cache", "ETag", `"1"`)
	get("a", "1")
	get("a", "1")
	counts(1, 1)

	restart("Cache-Control", "max-age=99999999999999999999999, max-age=9999999")
	get("a", "1")
	now = now.Add(longestFreshness - time.Second)
	get("a", "1")
	now = now.Add(time.Second)
	get("a", "1")
	counts(2, 0)

	restart("Cache-Control", "max-age=300", "Age", "290")
	get("a", "1")
	now = now.Add(11 * time.Second)
	get("a", "1")
	counts(2, 0)
}

func TestCacheIsBounded(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(bytes.Repeat([]byte("x"), 10)) })
	for name, cfg := range map[string]CacheConfig{"documents": {Documents: 3}, "bytes": {Bytes: 35}} {
		t.Run(name, func(t *testing.T) {
			cfg.Fetcher = New(Config{Transport: http.DefaultTransport})
			c := NewCache(cfg)
			for i := range 10 {
				if _, err := c.Fetch(t.Context(), "", Request{URI: fmt.Sprint(base, "/", i)}); err != nil {
					t.Fatal(err)
				}
			}
			if c.documents.Len() != 3 || c.documents.Size() != 30 {
				t.Errorf("%d documents, %d bytes", c.documents.Len(), c.documents.Size())
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestADocumentIsFetchedOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, requests := make(chan struct{}), atomic.Int64{}
		c := NewCache(CacheConfig{Fetcher: New(Config{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			requests.Add(1)
			<-release
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("x")), Header: http.Header{}, Request: req}, nil
		})})})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if got, err := c.Fetch(t.Context(), "", Request{URI: "https://a.example"}); err != nil || string(got.Data) != "x" {
					t.Errorf("content %q, %v", got.Data, err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Fetch(ctx, "", Request{URI: "https://a.example"}); err == nil {
			t.Error("a cancelled wait brought a document")
		}
		close(release)
		all.Wait()
		if requests.Load() != 1 {
			t.Errorf("%d requests", requests.Load())
		}
	})
}

// No address reads what is beside the root.
func FuzzFileAddress(f *testing.F) {
	for _, seed := range []string{"a.json", "../secret.txt", "file:..%2fsecret.txt", "file:////secret.txt", "out.txt", "folder/secret.txt", "file:in/../a.json"} {
		f.Add(seed)
	}
	var root string
	f.Fuzz(func(t *testing.T, uri string) {
		if strings.Contains(strings.ToLower(uri), "http") {
			return
		}
		if root == "" {
			root = files(t)
		}
		got, err := New(Config{Root: root}).Fetch(t.Context(), Request{URI: uri})
		if err == nil && strings.Contains(string(got.Data), "secret") {
			t.Errorf("%q reads %q", uri, got.Data)
		}
	})
}

func FuzzFreshness(f *testing.F) {
	f.Add("max-age=10", "5", "Thu, 01 Jan 1970 00:00:00 GMT")
	f.Fuzz(func(t *testing.T, control, age, expires string) {
		got := readFreshness(http.Header{"Cache-Control": {control}, "Age": {age}, "Expires": {expires}, "Date": {"Thu, 01 Jan 1970 00:00:00 GMT"}})
		if got.lifetime < 0 || got.lifetime > longestFreshness {
			t.Errorf("lifetime %s", got.lifetime)
		}
	})
}
