package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/chargehand/chargehand/internal/activity/failure"
	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Credentials prove who calls. Implementations are safe for concurrent use.
type Credentials interface {
	// Authorization is the value of the header of that name; "" if there is none, or none that is
	// known before the peer asks (digest).
	Authorization() string
	// Renew replaces a token that has expired. A user of Authorization calls it before each
	// connection; Transport does so by itself.
	Renew(ctx context.Context) *machine.Fault
	// Transport wraps base so that every request proves who sends it.
	Transport(base http.RoundTripper) http.RoundTripper
}

// Authenticate makes credentials of an authentication, as the machine evaluated it; nil is a
// call without. The result is never nil without a fault.
type Authenticate func(ctx context.Context, policy value.Value) (Credentials, *machine.Fault)

// Config configures clients. Transport and Authenticate are required.
type Config struct {
	Transport    http.RoundTripper // under the egress rules
	Authenticate Authenticate
	UserAgent    string // default "chargehand"
}

// Client makes an HTTP client that proves who calls by policy and sends header with every
// request. It has no timeout: the context of each request bounds it.
func (c Config) Client(ctx context.Context, policy value.Value, header http.Header) (*http.Client, *machine.Fault) {
	credentials, fault := c.Authenticate(ctx, policy)
	if fault != nil {
		return nil, fault
	}
	return c.ClientFor(credentials, header), nil
}

// ClientFor is Client for credentials that are known already.
func (c Config) ClientFor(credentials Credentials, header http.Header) *http.Client {
	agent := c.UserAgent
	if agent == "" {
		agent = "chargehand"
	}
	return &http.Client{
		Transport:     &headed{next: credentials.Transport(c.Transport), header: header, agent: agent},
		CheckRedirect: withinOrigin,
	}
}

// headed adds headers to each request.
type headed struct {
	next   http.RoundTripper
	header http.Header
	agent  string
}

// RoundTrip implements http.RoundTripper.
func (h *headed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", h.agent)
	}
	for name, values := range h.header {
		req.Header[name] = values
	}
	return h.next.RoundTrip(req)
}

const maxRedirects = 5

// withinOrigin lets a redirect stand as the answer when it leads elsewhere.
func withinOrigin(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || !SameOrigin(req.URL, via[0].URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// SameOrigin reports whether two addresses have the same scheme, host and port. ws counts as
// http, and wss as https.
func SameOrigin(a, b *url.URL) bool {
	return scheme(a) == scheme(b) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func scheme(u *url.URL) string {
	switch s := strings.ToLower(u.Scheme); s {
	case "ws":
		return "http"
	case "wss":
		return "https"
	default:
		return s
	}
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if scheme(u) == "https" {
		return "443"
	}
	return "80"
}

// Endpoint reads an absolute http or https address. What is named in the fault is what.
func Endpoint(what string, v value.Value) (*url.URL, *machine.Fault) {
	text, _ := v.(string)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, failure.Configuration(fmt.Sprintf("%s %q is not an absolute http or https address", what, excerpt.Clip(text, failure.ClipBytes)))
	}
	return u, nil
}

// Header reads headers as a call of HTTP does, but for Host, which is that of the address here. It is never nil without
// a fault.
func Header(v value.Value) (http.Header, *machine.Fault) {
	header, fault := activityhttp.HeaderOf(v)
	switch {
	case fault != nil:
		return nil, fault
	case header == nil:
		return http.Header{}, nil
	case header["Host"] != nil:
		return nil, failure.Configuration("the header Host is set by the connection and cannot be given")
	}
	return header, nil
}

// ErrTooLarge is the error of a body, an event or a message over its limit.
var ErrTooLarge = errors.New("more bytes than the limit allows")

// Limit makes a reader that fails with ErrTooLarge, rather than ends, after limit bytes.
func Limit(r io.Reader, limit int64) io.Reader { return &limited{r: r, left: limit} }

type limited struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		l.left = 0
		return 0, ErrTooLarge
	}
	return n, err
}
