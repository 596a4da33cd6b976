package credential

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/icholy/digest"
)

// The examples of RFC 7616, 3.9.1 and RFC 7616's algorithms over our own choice of challenge.
func TestDigestExamplesOfTheRFC(t *testing.T) {
	for algorithm, want := range map[string]string{
		"MD5":     "8ca523f5e9506fed4657c9700eebdbec",
		"SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
	} {
		found := findChallenge(nethttp.Header{"Www-Authenticate": {`Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=` +
			algorithm + `, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`}})
		got, err := digest.Digest(found.asked, digest.Options{Method: "GET", URI: "/dir/index.html", Count: 1, Username: "Mufasa",
			Password: "Circle of Life", Cnonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"})
		if err != nil || got.Response != want {
			t.Errorf("%s: %v, %v", algorithm, got, err)
		}
	}
}

var directive = regexp.MustCompile(`(\w+)=(?:"([^"]*)"|([^\s,]+))`)

// digestServer checks answers with SHA-256 by the text of RFC 7616, with a nonce that it
// changes now and then.
type digestServer struct {
	*httptest.Server
	qop, algorithm string
	nonce          atomic.Int64
	challenges     atomic.Int64
	counts         []string
}

func newDigestServer(t *testing.T, qop, algorithm string) *digestServer {
	t.Helper()
	s := &digestServer{qop: qop, algorithm: algorithm}
	s.Server = httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		got := map[string]string{}
		for _, m := range directive.FindAllStringSubmatch(r.Header.Get("Authorization"), -1) {
			got[m[1]] = m[2] + m[3]
		}
		nonce := fmt.Sprint("n", s.nonce.Load())
		if got["nonce"] != nonce || got["response"] != s.expected(r, got, nonce, string(body)) || got["uri"] != r.URL.RequestURI() {
			s.challenges.Add(1)
			w.Header().Add("WWW-Authenticate", `Basic realm="x, y", Digest realm="r", nonce="old", algorithm=UNKNOWN, Digest realm="r", nonce="`+nonce+
				`", algorithm=`+algorithm+`, stale=`+fmt.Sprint(got["nonce"] != "" && got["nonce"] != nonce)+`, qop="`+qop+`"`)
			w.WriteHeader(401)
			return
		}
		s.counts = append(s.counts, got["nc"])
		w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *digestServer) expected(r *nethttp.Request, got map[string]string, nonce, body string) string {
	h := func(parts ...string) string {
		sum := sha256.Sum256([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(sum[:])
	}
	a1 := h("u", "r", "p")
	if strings.HasSuffix(s.algorithm, "-sess") {
		a1 = h(a1, nonce, got["cnonce"])
	}
	a2 := h(r.Method, r.URL.RequestURI())
	if got["qop"] == "auth-int" {
		a2 = h(r.Method, r.URL.RequestURI(), h(body))
	}
	if s.qop == "" {
		return h(a1, nonce, a2)
	}
	return h(a1, nonce, got["nc"], got["cnonce"], got["qop"], a2)
}

// A challenge is answered once, its nonce used on with a count, and a stale one replaced.
func TestDigestByChallenge(t *testing.T) {
	for _, tc := range []struct{ qop, algorithm string }{
		{"auth", "SHA-256"}, {"auth-int", "SHA-256"}, {"auth, auth-int", "sha-256"}, {"", "SHA-256"}, {"auth", "SHA-256-sess"},
	} {
		t.Run(tc.qop+" "+tc.algorithm, func(t *testing.T) {
			server := newDigestServer(t, tc.qop, tc.algorithm)
			s := New(Config{Transport: nethttp.DefaultTransport})
			post := func(password string) int {
				c := resolve(t, s, map[string]any{"scheme": "digest", "username": "u", "password": password})
				status, _ := send(t, c.Transport(nethttp.DefaultTransport), "POST", server.URL+"/a?b=c%20d", "the body")
				return status
			}
			for range 3 {
				if status := post("p"); status != 200 {
					t.Fatalf("answer %d", status)
				}
			}
			server.nonce.Add(1) // stale from here
			if status := post("p"); status != 200 || server.challenges.Load() != 2 {
				t.Errorf("after the nonce went stale: %d, %d challenges", status, server.challenges.Load())
			}
			if status := post("wrong"); status != 401 {
				t.Errorf("wrong password: %d", status)
			}
			if got := strings.Join(server.counts, " "); tc.qop != "" && got != "00000001 00000002 00000003 00000001" {
				t.Errorf("counts of nonces: %s", got)
			}
		})
	}
}

// A body that is gone is not sent half: the 401 stays.
func TestDigestWithABodyThatCannotBeReadAgain(t *testing.T) {
	server := newDigestServer(t, "auth", "SHA-256")
	c := resolve(t, New(Config{Transport: nethttp.DefaultTransport}), map[string]any{"scheme": "digest", "username": "u", "password": "p"})
	req, err := nethttp.NewRequestWithContext(t.Context(), "POST", server.URL, io.NopCloser(strings.NewReader("once")))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Transport(nethttp.DefaultTransport).RoundTrip(req)
	if err != nil || resp.StatusCode != 401 {
		t.Fatalf("%v %v", resp, err)
	}
	resp.Body.Close()
}

func TestSplitChallenges(t *testing.T) {
	for line, want := range map[string]int{
		`Digest realm="a, b", nonce="c"`:                          1,
		`Basic realm="a", Digest realm="b", nonce="c"`:            2,
		`Newauth realm="apps", type=1, title="x \"y, Digest z\""`: 1,
		`Negotiate, Digest realm="a"`:                             2,
		`Negotiate abc==, Basic realm = "a"`:                      2,
		``:                                                        1,
	} {
		if got := splitChallenges(line); len(got) != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// Whatever a server asks, the answer is a header or an error.
func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{
		`Digest realm="r", nonce="n", qop="auth,auth-int", algorithm=SHA-256, opaque="o", userhash=true`, `Digest`, `Digest nonce=`,
		`Basic realm="x", Digest realm="\"", nonce="n"`, `Digest realm="r", nonce="n", algorithm=MD5-sess, qop=auth`, "Digest nonce=\"\x01\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		found := findChallenge(nethttp.Header{"Www-Authenticate": {header}})
		if found == nil {
			return
		}
		req := httptest.NewRequest("GET", "http://a.example/x", nil)
		answer, err := found.answer(req, newPassword("u", "hush-hush"))
		if err == nil && (strings.ContainsAny(answer, "\r\n\x00") || strings.Contains(answer, "hush-hush")) {
			t.Errorf("answer %q", answer)
		}
	})
}
