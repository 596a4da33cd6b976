package http

import (
	nethttp "net/http"
	"net/url"
	"strings"
)

const maxRedirects = 10

// send makes the round trip. With follow, up to ten redirects are followed; from the first
// one that leads to another origin, only harmless headers go along and no credentials. The
// last answer is returned, also a remaining redirect (T39).
func (c *Caller) send(authenticated nethttp.RoundTripper, req *nethttp.Request, follow bool) (*nethttp.Response, error) {
	if !follow {
		return authenticated.RoundTrip(req)
	}
	hops := &hops{first: req.URL, own: authenticated, other: c.cfg.Transport}
	client := nethttp.Client{
		Transport: hops,
		CheckRedirect: func(next *nethttp.Request, via []*nethttp.Request) error {
			if len(via) > maxRedirects {
				return nethttp.ErrUseLastResponse
			}
			if hops.left = hops.left || !sameOrigin(hops.first, next.URL); hops.left {
				keepHarmless(next)
			}
			next.Header.Del("Referer")
			return nil
		},
	}
	return client.Do(req)
}

// hops sends the requests of one call, one after the other: with credentials until a redirect
// leads to another origin, which may choose where to come back to.
type hops struct {
	first      *url.URL
	left       bool
	own, other nethttp.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h *hops) RoundTrip(req *nethttp.Request) (*nethttp.Response, error) {
	if h.left {
		return h.other.RoundTrip(req)
	}
	return h.own.RoundTrip(req)
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// keepHarmless removes every header that is not known to name or prove no identity. Which
// header holds a key is the business of each server: no list of those is complete.
func keepHarmless(req *nethttp.Request) {
	for name := range req.Header {
		switch name {
		case "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Range", "User-Agent":
		case "Content-Encoding", "Content-Language", "Content-Type":
			if req.Body == nil {
				req.Header.Del(name)
			}
		default:
			req.Header.Del(name)
		}
	}
}

// isCredential reports whether a header of that name usually holds a credential, so that outputs do
// not show it (T41).
func isCredential(name string) bool {
	switch name {
	case "Authorization", "Proxy-Authorization", "Cookie", "Www-Authenticate", "Idempotency-Key":
		return true
	}
	lower := strings.ToLower(name)
	return strings.Contains(lower, "api-key") || strings.Contains(lower, "apikey") ||
		strings.Contains(lower, "token") || strings.Contains(lower, "secret")
}

func closeBody(req *nethttp.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
