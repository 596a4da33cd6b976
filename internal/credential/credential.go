package credential

import (
	"context"
	nethttp "net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/chargehand/chargehand/internal/machine"
)

// Credentials are those of one resolved policy. The zero value has none.
type Credentials struct {
	source *Source
	static string    // basic, bearer: the header's value
	digest *password // digest
	policy *policy   // oauth2, oidc

	mu    sync.Mutex
	token *token // of policy: the last one used
	fresh bool   // token was fetched for these credentials and has not been accepted yet
}

// Empty reports whether there is nothing to send.
func (c *Credentials) Empty() bool {
	return c == nil || c.static == "" && c.digest == nil && c.policy == nil
}

// Authorization is the value of an Authorization header, for protocols that are not HTTP
// requests (metadata of gRPC, opening a WebSocket, the token of NATS). It is empty without
// credentials and for digest, which needs a challenge. It is a secret. A caller that connects later
// than right after Resolve calls Renew first.
func (c *Credentials) Authorization() string {
	switch {
	case c == nil:
		return ""
	case c.policy != nil:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.token.authorization()
	}
	return c.static
}

// Renew replaces a token that has expired, so that Authorization is one to connect with now.
// What does not expire, it leaves alone. The fault is that of Source.Resolve.
func (c *Credentials) Renew(ctx context.Context) *machine.Fault {
	if c == nil || c.policy == nil {
		return nil
	}
	_, _, fault := c.current(ctx)
	return fault
}

// Transport puts the credentials on requests to the origin of the first request that it
// carries. Requests to other origins are redirects and get none. It answers the challenges of
// digest and renews tokens that have expired. If a request with a cached token is answered
// by 401, and its body can be read again (GetBody), it is sent once more with a fresh token.
//
// An error of RoundTrip holds a *machine.Fault (errors.As) where a token could not be had.
func (c *Credentials) Transport(base nethttp.RoundTripper) nethttp.RoundTripper {
	return c.TransportTo(base, nil)
}

// TransportTo is Transport for the origin of an address that is known beforehand.
func (c *Credentials) TransportTo(base nethttp.RoundTripper, address *url.URL) nethttp.RoundTripper {
	if c.Empty() {
		return base
	}
	t := &transport{base: base, credentials: c}
	if address != nil {
		t.origin = origin(address)
	}
	return t
}

type transport struct {
	base        nethttp.RoundTripper
	credentials *Credentials

	mu     sync.Mutex
	origin string
}

// RoundTrip implements nethttp.RoundTripper.
func (t *transport) RoundTrip(req *nethttp.Request) (*nethttp.Response, error) {
	to := origin(req.URL)
	t.mu.Lock()
	if t.origin == "" {
		t.origin = to
	}
	own := t.origin == to
	t.mu.Unlock()
	c := t.credentials
	switch {
	case !own:
		return t.base.RoundTrip(req)
	case c.digest != nil:
		return c.source.answerChallenge(t.base, to, c.digest, req)
	case c.policy != nil:
		return c.sendToken(t.base, req)
	}
	return t.base.RoundTrip(authorized(req, c.static))
}

// authorized is a copy of req with the header: a RoundTripper must not change its request.
func authorized(req *nethttp.Request, value string) *nethttp.Request {
	out := req.Clone(req.Context())
	if out.Header == nil {
		out.Header = nethttp.Header{}
	}
	out.Header.Set("Authorization", value)
	return out
}

// again is req with its body from the start; false where the body is gone.
func again(req *nethttp.Request) (*nethttp.Request, bool) {
	out := req.Clone(req.Context())
	if req.Body == nil || req.Body == nethttp.NoBody {
		return out, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	out.Body = body
	return out, true
}

// origin is scheme, host and port in one spelling.
func origin(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) + ":" + port
}
