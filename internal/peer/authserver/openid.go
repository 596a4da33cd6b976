package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v3"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/handler/openid"
	"github.com/ory/fosite/storage"
	"github.com/ory/fosite/token/jwt"
	"golang.org/x/crypto/bcrypt"
)

// clientID, clientSecret and redirect are what the OpenID providers know Chargehand by. The port of redirect does not
// matter, because it is a loopback address (RFC 8252).
const (
	clientID     = "chargehand"
	clientSecret = "s3cret&+%:/ü"
	redirect     = "http://127.0.0.1/api/v1/auth/oidc/%s/callback"
)

// identityProvider is an OpenID provider. Who signs in is what the query's claims say, a JSON object; without
// them, /authorize shows a form that asks for them.
type identityProvider struct {
	issuer   string
	signer   *rsa.PrivateKey
	provider fosite.OAuth2Provider
}

func newIdentityProvider(issuer string) *identityProvider {
	signer, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	config := &fosite.Config{
		GlobalSecret: secret, TokenURL: issuer + "/token", IDTokenIssuer: issuer, EnforcePKCE: true, SendDebugMessagesToClients: true,
		ClientSecretsHasher: &fosite.BCrypt{Config: &fosite.Config{HashCost: bcrypt.MinCost}},
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(clientSecret), bcrypt.MinCost)
	if err != nil {
		panic(err)
	}
	rows := storage.NewMemoryStore()
	rows.Clients[clientID] = &fosite.DefaultClient{
		ID: clientID, Secret: hash, RedirectURIs: []string{fmt.Sprintf(redirect, "company"), fmt.Sprintf(redirect, "partner")},
		ResponseTypes: []string{"code"}, GrantTypes: []string{"authorization_code"}, Scopes: []string{"openid", "profile", "email"},
	}
	keys := func(context.Context) (any, error) { return signer, nil }
	core := compose.NewOAuth2HMACStrategy(config)
	return &identityProvider{issuer, signer, compose.Compose(config, rows,
		&compose.CommonStrategy{CoreStrategy: core, OpenIDConnectTokenStrategy: compose.NewOpenIDConnectStrategy(keys, config), Signer: &jwt.DefaultSigner{GetPrivateKey: keys}},
		compose.OAuth2AuthorizeExplicitFactory, compose.OpenIDConnectExplicitFactory, compose.OAuth2PKCEFactory)}
}

func (p *identityProvider) register(mux *http.ServeMux, path string) {
	mux.HandleFunc("GET "+path+"/.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET "+path+"/jwks", p.keys)
	mux.HandleFunc("GET "+path+"/authorize", p.authorize)
	mux.HandleFunc("POST "+path+"/token", p.token)
}

func (p *identityProvider) discovery(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"issuer": p.issuer, "authorization_endpoint": p.issuer + "/authorize", "token_endpoint": p.issuer + "/token",
		"jwks_uri": p.issuer + "/jwks", "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

func (p *identityProvider) keys(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.signer.Public(), Use: "sig", Algorithm: "RS256"}}})
}

func (p *identityProvider) authorize(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	request, err := p.provider.NewAuthorizeRequest(ctx, r)
	if err != nil {
		p.provider.WriteAuthorizeError(ctx, w, request, err)
		return
	}
	var claims map[string]any
	if json.Unmarshal([]byte(r.FormValue("claims")), &claims) != nil {
		p.form(w, r)
		return
	}
	if claims["deny"] == true {
		p.provider.WriteAuthorizeError(ctx, w, request, fosite.ErrAccessDenied)
		return
	}
	for _, scope := range request.GetRequestedScopes() {
		request.GrantScope(scope)
	}
	subject, _ := claims["sub"].(string)
	delete(claims, "sub")
	who := &openid.DefaultSession{
		Claims:  &jwt.IDTokenClaims{Subject: subject, AuthTime: time.Now().UTC(), RequestedAt: time.Now().UTC(), Extra: claims},
		Headers: &jwt.Headers{}, Subject: subject,
	}
	response, err := p.provider.NewAuthorizeResponse(ctx, request, who)
	if err != nil {
		p.provider.WriteAuthorizeError(ctx, w, request, err)
		return
	}
	p.provider.WriteAuthorizeResponse(ctx, w, request, response)
}

// form asks a person, or a browser in a test, who signs in.
func (p *identityProvider) form(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, "<!doctype html><title>Identity provider</title><form>")
	for name, values := range r.URL.Query() {
		fmt.Fprintf(w, `<input type="hidden" name="%s" value="%s">`, html.EscapeString(name), html.EscapeString(values[0]))
	}
	fmt.Fprint(w, `<label>Claims <input name="claims"></label><button>Sign in</button></form>`)
}

func (p *identityProvider) token(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	request, err := p.provider.NewAccessRequest(ctx, r, openid.NewDefaultSession())
	if err != nil {
		p.provider.WriteAccessError(ctx, w, request, err)
		return
	}
	response, err := p.provider.NewAccessResponse(ctx, request)
	if err != nil {
		p.provider.WriteAccessError(ctx, w, request, err)
		return
	}
	p.provider.WriteAccessResponse(ctx, w, request, response)
}
