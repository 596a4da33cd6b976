package api

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/signin"
)

// entrance is what stands before sign-in: where a request really comes from, whether the way is safe, whether a page of
// another site sent it, and how often its address asks.
type entrance struct {
	proxies []netip.Prefix // whose forwarding headers count
	public  *url.URL       // nil: as the request says
	origin  *http.CrossOriginProtection
	rate    addressRate
}

func newEntrance(publicURL string, proxies []netip.Prefix) *entrance {
	g := &entrance{proxies: proxies, origin: http.NewCrossOriginProtection()}
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		g.public = u
		// A proxy may give the request another Host. What it must not change is the Origin of the browser.
		_ = g.origin.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	return g
}

// trusts reports whether an address is that of a proxy of the operator.
func (g *entrance) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(g.proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// client is the address that a request comes from: the nearest one that is no trusted proxy.
func (g *entrance) client(r *http.Request) netip.Addr {
	peer := peerAddress(r)
	if !g.trusts(peer) {
		return peer
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return peer // what stands before it was made up by the client
		}
		if peer = address.Unmap(); !g.trusts(peer) {
			break
		}
	}
	return peer
}

func peerAddress(r *http.Request) netip.Addr {
	port, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return port.Addr().Unmap()
}

// secure reports whether the browser's connection is encrypted, as far as the server can know.
func (g *entrance) secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	peer := peerAddress(r)
	if g.trusts(peer) {
		// The proxy speaks last: what stands before it was made up by the client.
		hops := strings.Split(strings.Join(r.Header["X-Forwarded-Proto"], ","), ",")
		return strings.EqualFold(strings.TrimSpace(hops[len(hops)-1]), "https")
	}
	// A proxy on the same machine, which sends nothing on that was not encrypted.
	return peer.IsLoopback() && g.public != nil && g.public.Scheme == "https" && strings.EqualFold(r.Host, g.public.Host)
}

// forwards reports whether a proxy on the server's machine sends the request on that is not trusted. All its clients
// would look as if they were on the machine, and share one address.
func (g *entrance) forwards(r *http.Request) bool {
	peer := peerAddress(r)
	if !peer.IsLoopback() || g.trusts(peer) {
		return false
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header[name] != nil {
			return true
		}
	}
	return false
}

// site is the address of this server as the browser has it: as the operator says, and without that only on this
// machine; nil: it is not known.
func (g *entrance) site(r *http.Request) *url.URL {
	if g.public != nil {
		return &url.URL{Scheme: g.public.Scheme, Host: g.public.Host}
	}
	if host, _, _ := strings.Cut(strings.ToLower(r.Host), ":"); host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return &url.URL{Scheme: "http", Host: strings.ToLower(r.Host)}
	}
	return nil
}

// admit refuses what may not sign in at all. Codes: https_required, cross_origin, rate_limited.
func (c *call) admit() error {
	g := c.server.entrance
	if g.forwards(c.r) {
		return chargehand.NewError(chargehand.CodeHTTPSRequired, "A proxy on the server's own machine has sent this on, and the server does not know it. "+
			"Start the server with --public-url https://NAME and --trusted-proxy "+peerAddress(c.r).String()+
			"; the proxy must set X-Forwarded-For and X-Forwarded-Proto.")
	}
	if !g.secure(c.r) && !g.client(c.r).IsLoopback() {
		return chargehand.NewError(chargehand.CodeHTTPSRequired, "Sign-in over plain http is possible on the server's own machine only. "+
			"Put a proxy with TLS before the server, and start it with --public-url https://NAME and --trusted-proxy with the proxy's address.")
	}
	if err := c.checkOrigin(); err != nil {
		return err
	}
	rate, err := g.rate.take(g.client(c.r), c.began)
	c.tellRateOf("address", rate)
	return err
}

// checkOrigin refuses what a page of another site made the browser send. Codes: cross_origin.
func (c *call) checkOrigin() error {
	if c.server.entrance.origin.Check(c.r) == nil {
		return nil
	}
	if site := c.r.Header.Get("Sec-Fetch-Site"); site != "" {
		return chargehand.NewError(chargehand.CodeCrossOrigin, "The browser says that a page of another origin has sent the request (Sec-Fetch-Site: "+quote(site)+
			"). Only this server's own pages may send it: open the page of this server and do it there. A program leaves the header out.")
	}
	return chargehand.NewError(chargehand.CodeCrossOrigin, "The request was sent by a page of another origin ("+quote(c.r.Header.Get("Origin"))+
		"). If that is this server's own address, --public-url must say so.")
}

// The rate of an address on public routes.
const (
	addressPerSecond = 10
	addressBurst     = 20
	maxAddresses     = 10_000
)

// addressRate is a token bucket for each address, and for each network of 64 bits of IPv6.
type addressRate struct {
	mu      sync.Mutex
	buckets map[netip.Prefix]bucket
}

type bucket struct {
	left float64
	at   time.Time
}

// take takes a request out of the bucket of an address. Codes: rate_limited.
func (a *addressRate) take(address netip.Addr, now time.Time) (service.Rate, error) {
	bits := 128
	if address = address.Unmap(); address.Is4() {
		bits = 32
	} else if address.Is6() {
		bits = 64
	}
	subject := netip.PrefixFrom(address.WithZone(""), bits).Masked()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.buckets == nil || len(a.buckets) >= maxAddresses {
		a.buckets = make(map[netip.Prefix]bucket) // a flood of addresses costs no memory
	}
	b, known := a.buckets[subject]
	if !known {
		b = bucket{left: addressBurst, at: now}
	}
	b.left = min(addressBurst, b.left+now.Sub(b.at).Seconds()*addressPerSecond)
	b.at = now
	ok := b.left >= 1
	if ok {
		b.left--
	}
	a.buckets[subject] = b
	rate := service.Rate{
		Limit: addressPerSecond, Burst: addressBurst, Remaining: int(b.left),
		Reset: time.Duration((addressBurst - b.left) / addressPerSecond * float64(time.Second)),
	}
	if !ok {
		return rate, &chargehand.Error{Code: chargehand.CodeRateLimited, Detail: "Too many requests from this address.", RetryAfter: 1}
	}
	return rate, nil
}

// The cookies: of the session, and of the browser, by which persons who have signed in from it are known.
const (
	sessionCookie = "chargehand"
	browserCookie = "chargehand-browser"
	passkeyCookie = "chargehand-passkey" // of what is begun with a passkey
)

// cookieName is that of a cookie. Cookies know no ports, so that two servers on one machine need two names.
func (c *call) cookieName(name string) string {
	if c.server.entrance.secure(c.r) {
		return "__Host-" + name
	}
	if _, port, err := net.SplitHostPort(c.r.Host); err == nil {
		return name + "-" + port
	}
	return name + "-80"
}

// sessionToken is the token of the cookie; empty: there is none.
func (c *call) sessionToken() string { return c.cookie(sessionCookie) }

func (c *call) cookie(name string) string {
	cookie, err := c.r.Cookie(c.cookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// setCookie gives the browser the token of a session; an empty one takes the cookie away.
func (c *call) setCookie(token string, ends time.Time) { c.giveCookie(sessionCookie, token, ends) }

// signedIn gives the browser the cookies of a session, where they are new.
func (c *call) signedIn(s *signin.Session) {
	if s.Token != "" {
		c.setCookie(s.Token, s.ExpiresAt)
	}
	if s.Browser != "" {
		c.giveCookie(browserCookie, s.Browser, c.began.Add(signin.BrowserLife))
	}
}

func (c *call) giveCookie(name, value string, ends time.Time) {
	cookie := http.Cookie{
		Name: c.cookieName(name), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.server.entrance.secure(c.r), Expires: ends,
	}
	if value == "" {
		cookie.MaxAge, cookie.Expires = -1, time.Time{}
	}
	http.SetCookie(c.w, &cookie)
}

// authenticateSession finds out who asks by the cookie. Codes: ambiguous_credentials, invalid_credentials,
// cross_origin, invalid_parameter.
func (c *call) authenticateSession(token string) error {
	if hasCredential(c.r.Header) {
		return chargehand.NewError(chargehand.CodeAmbiguousCredentials, "The request has a session and an API key. Send one of them.")
	}
	env, err := c.environment()
	if err != nil {
		return err
	}
	if c.principal, err = c.server.service.AuthenticateSession(c.r.Context(), token, env); err != nil {
		return err
	}
	if err := c.checkOrigin(); err != nil || !c.principal.Outdated {
		return err
	}
	// The rights of the person have changed since the token was made. Of requests at once, one renews it, and the
	// others keep the token before.
	if renewed, err := c.server.service.RenewSession(c.r.Context(), c.principal, token); err == nil {
		c.setCookie(renewed, c.principal.ExpiresAt)
	}
	return nil
}

// environment is that of a request with a session: header, on GET also the query.
func (c *call) environment() (chargehand.Environment, error) {
	var found chargehand.Environment
	read := func(name, text string) error {
		env, known := map[string]chargehand.Environment{"live": chargehand.Live, "test": chargehand.Test}[text]
		switch {
		case !known:
			return badParameter(name, "must be live or test.")
		case found != 0 && found != env:
			return badParameter(name, "must be the same in the header and the query.")
		}
		found = env
		return nil
	}
	for _, text := range c.r.Header["Chargehand-Environment"] {
		if err := read("Chargehand-Environment", text); err != nil {
			return 0, err
		}
	}
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		for _, text := range c.r.URL.Query()["environment"] {
			if err := read("environment", text); err != nil {
				return 0, err
			}
		}
	}
	if found == 0 {
		found = chargehand.Live
	}
	return found, nil
}
