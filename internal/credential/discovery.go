package credential

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

const (
	wellKnown         = "/.well-known/openid-configuration"
	discoveryLifetime = time.Hour
	maxAnswerBytes    = 1 << 20
	requestTimeout    = 30 * time.Second
	maxRedirects      = 5
)

// discovered is what a discovery document says, until it is looked at again.
type discovered struct {
	Issuer        string `json:"issuer"`
	Token         string `json:"token_endpoint"`
	Introspection string `json:"introspection_endpoint"`

	until time.Time
}

// discover finds the endpoints of the policy's authority (OpenID Connect Discovery 1.0).
func (s *Source) discover(ctx context.Context, p *policy) (discovered, *machine.Fault) {
	found, known := s.providers.Get(p.authority)
	if !known || !s.cfg.Now().Before(found.until) {
		var fault *machine.Fault
		if found, fault = s.fetchDiscovery(ctx, p); fault != nil {
			return found, fault
		}
		s.providers.Put(p.authority, found, 0)
	}
	if !sameIssuer(found.Issuer, p.authority) && !p.issuedBy(found.Issuer) {
		return found, refused(fmt.Sprintf("%s says that its issuer is %q, which is neither the authority nor one of `issuers`",
			p.shownAuthority(), excerpt.Line(found.Issuer, maxShownBytes)))
	}
	return found, nil
}

func (s *Source) fetchDiscovery(ctx context.Context, p *policy) (discovered, *machine.Fault) {
	client := *s.client
	client.CheckRedirect = func(next *nethttp.Request, via []*nethttp.Request) error {
		if len(via) > maxRedirects {
			return errors.New("too many redirects")
		}
		if via[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
			return errors.New("it redirects from https to http")
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ctx = oidc.ClientContext(ctx, &client)
	// The library wants the issuer to be the address to the letter; ours is compared in
	// discover, where the policy may name it.
	provider, err := oidc.NewProvider(oidc.InsecureIssuerURLContext(ctx, p.authority), p.authority)
	if err != nil {
		return discovered{}, p.unanswered(ctx, "discover the endpoints of "+p.shownAuthority(), err)
	}
	var found discovered
	if err := provider.Claims(&found); err != nil {
		return discovered{}, refused("the discovery document of " + p.shownAuthority() + " cannot be read")
	}
	for _, address := range []string{found.Token, found.Introspection} {
		if address != "" && !acceptable(address, p.authority) {
			return discovered{}, refused(fmt.Sprintf("the discovery document of %s names the endpoint %q, which is not an http or https address as safe as the authority",
				p.shownAuthority(), excerpt.Line(shown(address), maxShownBytes)))
		}
	}
	if found.Token == "" {
		return discovered{}, refused("the discovery document of " + p.shownAuthority() + " names no token_endpoint")
	}
	found.until = s.cfg.Now().Add(discoveryLifetime)
	return found, nil
}

// acceptable refuses endpoints that would take secrets from https to http.
func acceptable(address, authority string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(authority, "http://")
}

func sameIssuer(a, b string) bool { return strings.TrimRight(a, "/") == strings.TrimRight(b, "/") }

// bounded is a transport whose answers end with an error after maxAnswerBytes: libraries
// read them whole.
type bounded struct{ base nethttp.RoundTripper }

func (b bounded) RoundTrip(req *nethttp.Request) (*nethttp.Response, error) {
	resp, err := b.base.RoundTrip(req)
	if err == nil {
		resp.Body = &boundedBody{resp.Body, maxAnswerBytes}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the answer is longer than %d bytes", maxAnswerBytes)
	}
	return n, err
}
