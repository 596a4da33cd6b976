package oidc

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/chargehand/chargehand/internal/signin/token"
)

// Life is the longest time between the two halves of a sign-in.
const Life = 10 * time.Minute

const (
	askTime      = 10 * time.Second
	askEvery     = 2 * time.Second // after it has not answered
	askWait      = 3 * time.Second // how long a sign-in waits for a provider that is asked about itself
	againWait    = time.Second     // the same, after it has failed
	maxAnswer    = 1 << 20
	clockSkew    = time.Minute
	maxGroups    = 1000
	maxGroupName = 200
	maxCode      = 4096
)

// The errors. The text of an error that wraps one says why, for the log.
var (
	// ErrUnreachable says that the provider did not answer, or not as providers do.
	ErrUnreachable = errors.New("the identity provider cannot be used at the moment")
	// ErrRefused says that what came back is not the answer to this sign-in, or not of this provider.
	ErrRefused = errors.New("the answer of the identity provider was not accepted")
	// ErrDenied says that the provider, or the person there, refused to sign in.
	ErrDenied = errors.New("the identity provider did not sign in")
	// ErrStale says that a sign-in anew was asked for and the provider answered with an older one.
	ErrStale = errors.New("the identity provider did not ask to sign in again")
)

// Provider is an identity provider. It is safe for concurrent use.
type Provider struct {
	Setting
	client *http.Client
	now    func() time.Time

	mu    sync.Mutex
	known *metadata // nil until it has answered what it is
	// failed is why it has not, when it was last asked.
	failed   error
	failedAt time.Time
	asking   *question // nil: it is not being asked
}

// question is one that the provider is being asked: all who need the answer wait for the same one.
type question struct {
	done  chan struct{} // closed when there is an answer, or none will come
	begun time.Time
}

type metadata struct {
	endpoint oauth2.Endpoint
	verifier *oidc.IDTokenVerifier
	// namesIssuer: its redirects carry iss (RFC 9207).
	namesIssuer bool
}

// New returns a provider, which is asked about itself when it is first used. transport nil: the default one; now nil:
// time.Now.
func New(s Setting, transport http.RoundTripper, now func() time.Time) *Provider {
	if s.Title == "" {
		s.Title = s.Name
	}
	if s.Scopes == nil {
		s.Scopes = []string{"profile", "email"}
	}
	if s.GroupsClaim == "" {
		s.GroupsClaim = "groups"
	}
	if transport == nil {
		transport = http.DefaultTransport
	}
	if now == nil {
		now = time.Now
	}
	client := &http.Client{
		Transport: bounded{transport}, Timeout: askTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Provider{Setting: s, client: client, now: now}
}

// Begun is a sign-in on its way.
type Begun struct {
	Address string // of the provider, where the browser goes
	State   string // a secret of one use, which the answer repeats
	Data    []byte // what Finish must know
}

// pending is Begun.Data.
type pending struct {
	Provider string `json:"provider"`
	Redirect string `json:"redirect"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	BegunMs  int64  `json:"begun_ms"`
	Anew     bool   `json:"anew,omitempty"`
}

// Begin begins a sign-in that comes back to redirect. anew: the provider must ask the person again, also one who is
// signed in there.
// Errors: ErrUnreachable.
func (p *Provider) Begin(ctx context.Context, redirect string, anew bool) (Begun, error) {
	known, err := p.metadata(ctx)
	if err != nil {
		return Begun{}, err
	}
	state, _ := token.New()
	nonce, _ := token.New()
	way := pending{Provider: p.Name, Redirect: redirect, Nonce: nonce, Verifier: oauth2.GenerateVerifier(), BegunMs: p.now().UnixMilli(), Anew: anew}
	options := []oauth2.AuthCodeOption{oidc.Nonce(way.Nonce), oauth2.S256ChallengeOption(way.Verifier)}
	if anew {
		options = append(options, oauth2.SetAuthURLParam("max_age", "0"))
	}
	data, err := json.Marshal(way)
	if err != nil {
		return Begun{}, fmt.Errorf("encode sign-in: %w", err)
	}
	return Begun{Address: p.config(known, redirect).AuthCodeURL(state, options...), State: state, Data: data}, nil
}

// Identity is who a person is, as the provider says.
type Identity struct {
	Issuer, Subject string
	Email           string
	EmailVerified   bool
	Name            string
	// Groups are those of the person; nil: the provider names none.
	Groups []string
}

// Finish reads the query with which the browser came back, and asks the provider for the person. data is that of the
// Begin whose State the query repeats; the caller has compared it and given it away.
// Errors: ErrUnreachable, ErrRefused, ErrDenied, ErrStale.
func (p *Provider) Finish(ctx context.Context, data []byte, query url.Values) (Identity, error) {
	var way pending
	if err := json.Unmarshal(data, &way); err != nil {
		return Identity{}, fmt.Errorf("read sign-in: %w", err)
	}
	if way.Provider != p.Name {
		return Identity{}, fmt.Errorf("%w: the sign-in was begun with the provider %s", ErrRefused, way.Provider)
	}
	known, err := p.metadata(ctx)
	if err != nil {
		return Identity{}, err
	}
	code, err := p.code(known, query)
	if err != nil {
		return Identity{}, err
	}
	answer, err := p.config(known, way.Redirect).Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(way.Verifier))
	if err != nil {
		return Identity{}, exchangeError(err)
	}
	raw, _ := answer.Extra("id_token").(string)
	id, err := known.verifier.Verify(oidc.ClientContext(ctx, p.client), raw)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return p.identity(&way, id)
}

// code reads the query of the redirect.
func (p *Provider) code(known *metadata, query url.Values) (string, error) {
	for _, name := range []string{"code", "iss", "error"} {
		if len(query[name]) > 1 {
			return "", fmt.Errorf("%w: %s is given twice", ErrRefused, name)
		}
	}
	if issuer := query.Get("iss"); issuer != p.Issuer && (issuer != "" || known.namesIssuer) {
		return "", fmt.Errorf("%w: it is of the issuer %.200q", ErrRefused, issuer)
	}
	if reason := query.Get("error"); reason != "" {
		return "", fmt.Errorf("%w: %.100q: %.300q", ErrDenied, reason, query.Get("error_description"))
	}
	code := query.Get("code")
	if code == "" || len(code) > maxCode {
		return "", fmt.Errorf("%w: it has no code", ErrRefused)
	}
	return code, nil
}

// claims are what is read of an ID token beside what go-oidc has checked.
type claims struct {
	Email    string      `json:"email"`
	Verified flag        `json:"email_verified"`
	Owned    flag        `json:"xms_edov"` // of Microsoft Entra, which does not say email_verified
	Name     string      `json:"name"`
	AuthTime json.Number `json:"auth_time"`
	Party    string      `json:"azp"`
}

// flag is true, "true", 1 or "1": providers differ.
type flag bool

func (f *flag) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	*f = text == "true" || text == "1"
	return nil
}

func (p *Provider) identity(way *pending, id *oidc.IDToken) (Identity, error) {
	var c claims
	if err := id.Claims(&c); err != nil {
		return Identity{}, fmt.Errorf("%w: its claims cannot be read: %w", ErrRefused, err)
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(way.Nonce)) != 1:
		return Identity{}, fmt.Errorf("%w: its nonce is not that of this sign-in", ErrRefused)
	case len(id.Audience) > 1 && c.Party != p.ClientID, c.Party != "" && c.Party != p.ClientID:
		return Identity{}, fmt.Errorf("%w: it was made for %.100q", ErrRefused, c.Party)
	case id.Subject == "" || len(id.Subject) > 255:
		return Identity{}, fmt.Errorf("%w: it has no subject of 1 to 255 bytes", ErrRefused)
	}
	if way.Anew {
		seconds, err := c.AuthTime.Float64()
		if err != nil || time.UnixMilli(int64(seconds*1000)).Before(time.UnixMilli(way.BegunMs).Add(-clockSkew)) {
			return Identity{}, fmt.Errorf("%w: auth_time is %q", ErrStale, c.AuthTime)
		}
	}
	who := Identity{Issuer: id.Issuer, Subject: id.Subject, Email: c.Email, EmailVerified: bool(c.Verified || c.Owned), Name: c.Name}
	var err error
	who.Groups, err = p.groups(id)
	return who, err
}

// groups reads the claim with the groups: a list of names, or one name.
func (p *Provider) groups(id *oidc.IDToken) ([]string, error) {
	var all map[string]json.RawMessage
	if err := id.Claims(&all); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	raw, found := all[p.GroupsClaim]
	if !found || string(raw) == "null" {
		return nil, nil
	}
	groups := []string{}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		groups = append(groups, one)
	} else if err := json.Unmarshal(raw, &groups); err != nil {
		return nil, fmt.Errorf("%w: its claim %s is no list of names", ErrRefused, p.GroupsClaim)
	}
	if len(groups) > maxGroups || slices.ContainsFunc(groups, func(g string) bool { return g == "" || len(g) > maxGroupName }) {
		return nil, fmt.Errorf("%w: its claim %s has more than %d groups, or one whose name has not 1 to %d bytes", ErrRefused, p.GroupsClaim, maxGroups, maxGroupName)
	}
	return groups, nil
}

// metadata is what the provider says about itself. It is asked once for all who wait. A provider that does not answer
// keeps no sign-in for longer than askWait, and after the first failure for longer than againWait.
// Errors: ErrUnreachable.
func (p *Provider) metadata(ctx context.Context) (*metadata, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil || p.failed != nil && p.now().Sub(p.failedAt) < askEvery {
		return p.known, p.failed
	}
	if p.asking == nil {
		p.asking = &question{done: make(chan struct{}), begun: time.Now()}
		go p.ask(context.WithoutCancel(ctx), p.asking)
	}
	asking, wait := p.asking, askWait
	if p.failed != nil {
		wait = againWait
	}
	p.mu.Unlock()
	err := asking.wait(ctx, wait)
	p.mu.Lock()
	switch {
	case p.known != nil:
		return p.known, nil
	case p.failed != nil:
		return nil, p.failed
	}
	return nil, err
}

// wait waits for the answer, until the question is as old as longest. Errors: ErrUnreachable.
func (q *question) wait(ctx context.Context, longest time.Duration) error {
	late := time.NewTimer(longest - time.Since(q.begun))
	defer late.Stop()
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnreachable, ctx.Err())
	case <-late.C:
		return fmt.Errorf("%w: it has not answered within %s", ErrUnreachable, askWait)
	}
}

// ask asks the provider about itself.
func (p *Provider) ask(ctx context.Context, q *question) {
	known, err := p.read(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known, p.failed = known, err; err != nil {
		p.failedAt = p.now()
	}
	p.asking = nil
	close(q.done)
}

func (p *Provider) read(ctx context.Context) (*metadata, error) {
	asking, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	// The keys are fetched later with the client alone, so that they do not end with this request.
	provider, err := oidc.NewProvider(oidc.ClientContext(asking, p.client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	var more struct {
		NamesIssuer bool `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	verifier := provider.VerifierContext(oidc.ClientContext(ctx, p.client), &oidc.Config{ClientID: p.ClientID, Now: p.now})
	return &metadata{endpoint: provider.Endpoint(), verifier: verifier, namesIssuer: more.NamesIssuer}, nil
}

func (p *Provider) config(known *metadata, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: known.endpoint, RedirectURL: redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...),
	}
}

// exchangeError tells a refused code from a provider that does not work.
func exchangeError(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < http.StatusInternalServerError {
		return fmt.Errorf("%w: the code: %s %.200s", ErrRefused, refused.ErrorCode, refused.ErrorDescription)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// bounded reads at most maxAnswer bytes of an answer.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}
