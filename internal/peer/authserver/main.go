package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/go-jose/go-jose/v3"
	"github.com/mccutchen/go-httpbin/v2/httpbin"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/handler/oauth2"
	"github.com/ory/fosite/storage"
	"github.com/ory/fosite/token/jwt"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	port := flag.Int("port", 0, "port of 127.0.0.1")
	base := flag.String("url", "", "address by which clients reach it, if not http://127.0.0.1:port")
	clientKey := flag.String("client-key", "", "public JSON Web Key of the client that signs its assertions")
	flag.Parse()
	address := fmt.Sprintf("127.0.0.1:%d", *port)
	if *base == "" {
		*base = "http://" + address
	}
	var key jose.JSONWebKey
	if *clientKey != "" {
		if err := json.Unmarshal([]byte(*clientKey), &key); err != nil {
			log.Fatalf("-client-key: %v", err)
		}
	}
	signer, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, kind := range []string{"/opaque", "/jwt"} {
		s := newServer(*base+kind, kind == "/jwt", signer, key)
		mux.HandleFunc("POST "+kind+"/token", s.token)
		mux.HandleFunc("POST "+kind+"/introspect", s.introspect)
		mux.HandleFunc("POST "+kind+"/revoke", s.revoke)
		mux.HandleFunc("GET "+kind+"/authorize", s.authorize)
		mux.HandleFunc(kind+"/resource", s.resource)
		mux.HandleFunc("GET "+kind+"/.well-known/openid-configuration", s.discovery)
	}
	for _, name := range []string{"/company", "/partner"} {
		newIdentityProvider(*base+name).register(mux, name)
	}
	mux.Handle("/digest-auth/", httpbin.New())
	if err := http.ListenAndServe(address, mux); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type server struct {
	issuer   string
	provider fosite.OAuth2Provider
}

func newServer(issuer string, asJWT bool, signer *rsa.PrivateKey, clientKey jose.JSONWebKey) *server {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	config := &fosite.Config{
		GlobalSecret: secret, TokenURL: issuer + "/token", AccessTokenIssuer: issuer, IDTokenIssuer: issuer,
		RefreshTokenScopes: []string{"offline"}, SendDebugMessagesToClients: true,
		ClientSecretsHasher: &fosite.BCrypt{Config: &fosite.Config{HashCost: bcrypt.MinCost}},
	}
	keys := func(context.Context) (any, error) { return signer, nil }
	var core oauth2.CoreStrategy = compose.NewOAuth2HMACStrategy(config)
	if asJWT {
		core = compose.NewOAuth2JWTStrategy(keys, compose.NewOAuth2HMACStrategy(config), config)
	}
	return &server{issuer, compose.Compose(config, store(clientKey),
		&compose.CommonStrategy{CoreStrategy: core, Signer: &jwt.DefaultSigner{GetPrivateKey: keys}},
		compose.OAuth2AuthorizeExplicitFactory, compose.OAuth2ClientCredentialsGrantFactory,
		compose.OAuth2RefreshTokenGrantFactory, compose.OAuth2ResourceOwnerPasswordCredentialsFactory,
		compose.OAuth2TokenIntrospectionFactory, compose.OAuth2TokenRevocationFactory)}
}

// store has one client per way to authenticate, named after it. Its secret has characters
// that must be encoded.
func store(key jose.JSONWebKey) *storage.MemoryStore {
	s := storage.NewMemoryStore()
	s.Users["peter"] = storage.MemoryUserRelation{Username: "peter", Password: "pass word&"}
	hash, err := bcrypt.GenerateFromPassword([]byte("s3cret&+%:/ü"), bcrypt.MinCost)
	if err != nil {
		log.Fatal(err)
	}
	for _, method := range []string{"client_secret_post", "client_secret_basic", "private_key_jwt", "none"} {
		s.Clients[method] = &fosite.DefaultOpenIDConnectClient{
			DefaultClient: &fosite.DefaultClient{
				ID: method, Secret: hash, Public: method == "none",
				RedirectURIs: []string{"http://127.0.0.1/callback"}, ResponseTypes: []string{"code"},
				GrantTypes: []string{"refresh_token", "authorization_code", "password", "client_credentials"},
				Scopes:     []string{"read", "write", "offline"}, Audience: []string{"https://one.example", "https://two.example"},
			},
			TokenEndpointAuthMethod: method, TokenEndpointAuthSigningAlgorithm: key.Algorithm,
			JSONWebKeys: &jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key}},
		}
	}
	return s
}

func session(subject string) *oauth2.JWTSession {
	return &oauth2.JWTSession{JWTClaims: &jwt.JWTClaims{Subject: subject}, JWTHeader: &jwt.Headers{}, Subject: subject, Username: subject}
}

func (s *server) token(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	request, err := s.provider.NewAccessRequest(ctx, r, session(""))
	if err != nil {
		s.provider.WriteAccessError(ctx, w, request, err)
		return
	}
	for _, scope := range request.GetRequestedScopes() {
		request.GrantScope(scope)
	}
	for _, audience := range request.GetRequestedAudience() {
		request.GrantAudience(audience)
	}
	response, err := s.provider.NewAccessResponse(ctx, request)
	if err != nil {
		s.provider.WriteAccessError(ctx, w, request, err)
		return
	}
	s.provider.WriteAccessResponse(ctx, w, request, response)
}

func (s *server) authorize(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	request, err := s.provider.NewAuthorizeRequest(ctx, r)
	if err != nil {
		s.provider.WriteAuthorizeError(ctx, w, request, err)
		return
	}
	for _, scope := range request.GetRequestedScopes() {
		request.GrantScope(scope)
	}
	response, err := s.provider.NewAuthorizeResponse(ctx, request, session("peter"))
	if err != nil {
		s.provider.WriteAuthorizeError(ctx, w, request, err)
		return
	}
	s.provider.WriteAuthorizeResponse(ctx, w, request, response)
}

func (s *server) introspect(w http.ResponseWriter, r *http.Request) {
	response, err := s.provider.NewIntrospectionRequest(r.Context(), r, session(""))
	if err != nil {
		s.provider.WriteIntrospectionError(r.Context(), w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"active": response.IsActive(), "iss": s.issuer})
}

func (s *server) revoke(w http.ResponseWriter, r *http.Request) {
	s.provider.WriteRevocationResponse(r.Context(), w, s.provider.NewRevocationRequest(r.Context(), r))
}

// resource tells whose token it got.
func (s *server) resource(w http.ResponseWriter, r *http.Request) {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	_, request, err := s.provider.IntrospectToken(r.Context(), bearer, fosite.AccessToken, session(""))
	if err != nil {
		http.Error(w, "no good token", http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"client": request.GetClient().GetID(), "subject": request.GetSession().GetSubject(),
		"scopes": request.GetGrantedScopes(), "audiences": request.GetGrantedAudience(),
	})
}

func (s *server) discovery(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"issuer": s.issuer, "token_endpoint": s.issuer + "/token", "introspection_endpoint": s.issuer + "/introspect",
		"authorization_endpoint": s.issuer + "/authorize", "jwks_uri": s.issuer + "/jwks",
	})
}
