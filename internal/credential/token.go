package credential

import (
	"context"
	"fmt"
	nethttp "net/http"
	"net/url"
	"sync"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwt"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// token is an access token. It is not changed once it is made.
type token struct {
	value   string // empty: dropped, only refresh is left
	refresh string
	renewAt time.Time
}

func (t *token) authorization() string {
	if t == nil || t.value == "" {
		return ""
	}
	return "Bearer " + t.value
}

func (t *token) usable(now time.Time) bool {
	return t != nil && t.value != "" && now.Before(t.renewAt)
}

// tokenEntry is the place of a policy's token. One request per entry runs at a time.
type tokenEntry struct {
	turn chan struct{} // one place: who has it may fetch

	mu    sync.Mutex
	token *token
	round uint64         // goes up with every request that was not given up
	fault *machine.Fault // of the last round
}

func newEntry() *tokenEntry { return &tokenEntry{turn: make(chan struct{}, 1)} }

func (e *tokenEntry) state() (*token, uint64, *machine.Fault) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.token, e.round, e.fault
}

// token returns a usable token; fresh says that it was fetched just now. Those who wait for
// the same request share its fault, so that a server that refuses is not asked once per caller.
func (s *Source) token(ctx context.Context, p *policy) (_ *token, fresh bool, _ *machine.Fault) {
	entry := s.tokens.GetOrAdd(p.key, 0, newEntry)
	known, round, _ := entry.state()
	if known.usable(s.cfg.Now()) {
		return known, false, nil
	}
	select {
	case entry.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, false, p.unanswered(ctx, "wait for a token of "+p.shownAuthority(), context.Cause(ctx))
	}
	defer func() { <-entry.turn }()
	before, now, fault := entry.state()
	if before.usable(s.cfg.Now()) {
		return before, false, nil
	}
	if now != round && fault != nil {
		shared := *fault
		return nil, false, &shared
	}
	got, fault := s.fetch(ctx, p, before)
	if fault != nil && ctx.Err() != nil {
		return nil, false, fault // the caller gave up; this says nothing about the server
	}
	entry.mu.Lock()
	entry.round++
	entry.token, entry.fault = got, fault
	entry.mu.Unlock()
	if fault != nil {
		shared := *fault
		return nil, false, &shared
	}
	return got, true, nil
}

// drop forgets a token that a server did not accept, but for its refresh token.
func (s *Source) drop(p *policy, rejected *token) {
	entry, known := s.tokens.Get(p.key)
	if !known {
		return
	}
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if entry.token == rejected {
		entry.token = &token{refresh: rejected.refresh}
	}
}

// sendToken sends req with a token. A 401 to a token from the cache, which may have been
// revoked, drops it, and the request is made once more with a fresh one.
func (c *Credentials) sendToken(base nethttp.RoundTripper, req *nethttp.Request) (*nethttp.Response, error) {
	tok, fresh, fault := c.current(req.Context())
	if fault != nil {
		closeBody(req)
		return nil, fault
	}
	resp, err := base.RoundTrip(authorized(req, tok.authorization()))
	if err != nil || resp.StatusCode != nethttp.StatusUnauthorized {
		if err == nil {
			c.accept(tok)
		}
		return resp, err
	}
	c.source.drop(c.policy, tok)
	if fresh {
		return resp, nil
	}
	second, repeatable := again(req)
	if !repeatable {
		return resp, nil
	}
	drain(resp)
	if tok, _, fault = c.current(req.Context()); fault != nil {
		closeBody(second)
		return nil, fault
	}
	resp, err = base.RoundTrip(authorized(second, tok.authorization()))
	if err == nil && resp.StatusCode == nethttp.StatusUnauthorized {
		c.source.drop(c.policy, tok)
	}
	return resp, err
}

// current is the token to use now: that of Resolve for as long as the cache holds it, and
// then the one that followed it.
func (c *Credentials) current(ctx context.Context) (*token, bool, *machine.Fault) {
	tok, fetched, fault := c.source.token(ctx, c.policy)
	if fault != nil {
		return nil, false, fault
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if tok != c.token {
		c.token, c.fresh = tok, fetched
	}
	return tok, c.fresh, nil
}

// accept notes that a server took the token: a later 401 means that it was revoked.
func (c *Credentials) accept(tok *token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == tok {
		c.fresh = false
	}
}

// checkIssuer compares the issuer of a token with `issuers`, if there are any. A token that
// is no JWT is shown to the introspection endpoint (RFC 7662). The signature is not checked:
// the token came from the authority itself, and is meant for the server that is called.
func (s *Source) checkIssuer(ctx context.Context, p *policy, introspectionURL, accessToken string) *machine.Fault {
	if len(p.issuers) == 0 {
		return nil
	}
	var issuer string
	if claims, err := jwt.ParseInsecure([]byte(accessToken)); err == nil {
		issuer, _ = claims.Issuer()
	} else {
		if introspectionURL == "" {
			return refused("the token of " + p.shownAuthority() + " does not tell its issuer, and there is no introspection endpoint to ask")
		}
		said, _, fault := s.post(ctx, p, introspectionURL, url.Values{"token": {accessToken}, "token_type_hint": {"access_token"}})
		if fault != nil {
			fault.Detail = "check the issuer of the token: " + fault.Detail
			return fault
		}
		if !said.Active {
			return refused("the introspection endpoint of " + p.shownAuthority() + " says that the new token is not active")
		}
		issuer = said.Issuer
	}
	if !p.issuedBy(issuer) {
		return refused(fmt.Sprintf("the token of %s was issued by %q, which is not one of `issuers`", p.shownAuthority(), excerpt.Line(p.redacted(issuer, accessToken), maxShownBytes)))
	}
	return nil
}
