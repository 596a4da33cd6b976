package http

import (
	nethttp "net/http"
	"net/url"
	"strings"
)

const maxRedirects = 10

// send makes the round trip. With follow, up to ten redirects are followed, credentials
// being dropped when the origin changes; the last answer is returned, also a remaining
// redirect (T39).
func (c *Caller) send(transport nethttp.RoundTripper, req *nethttp.Request, follow bool) (*nethttp.Response, error) {
	if !follow {
		return transport.RoundTrip(req)
	}
	client := nethttp.Client{
		Transport: transport,
		CheckRedirect: func(next *nethttp.Request, via []*nethttp.Request) error {
			if len(via) > maxRedirects {
				return nethttp.ErrUseLastResponse
			}
			if !sameOrigin(via[0].URL, next.URL) {
				dropCredentials(next.Header)
			}
			next.Header.Del("Referer")
			return nil
		},
	}
	return client.Do(req)
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

// dropCredentials removes what names or proves an identity, also under names that only
// some servers use.
func dropCredentials(header nethttp.Header) {
	for name := range header {
		if credential(name) {
			header.Del(name)
		}
	}
}

func credential(name string) bool {
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
