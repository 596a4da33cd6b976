package conformance

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jwt"
)

// clientKey is the key of the client private_key_jwt of the authorization server.
type clientKey struct {
	private string // PEM
	public  string // JSON Web Key
}

func newClientKey(t *testing.T) clientKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := jwk.Import(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{jwk.AlgorithmKey: jwa.RS256(), jwk.KeyUsageKey: "sig"} {
		if err := key.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	public, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	return clientKey{private: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), public: string(public)}
}

// serveTokens is tokens.example.com, whose tokens tell what was asked for, in the order of the
// alphabet and without secrets: for grants, encodings and client authentications that the other
// server does not know. An assertion with the secret "shared secret of the client" is shown as
// the name of its client.
func serveTokens(w http.ResponseWriter, r *http.Request) {
	asked, err := tokenRequest(r)
	if err == nil {
		err = checkAssertion(asked)
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": "invalid_request", "error_description": err.Error()})
		return
	}
	asked.Set("path", r.URL.Path)
	asked.Del("client_secret")
	asked.Del("client_assertion_type")
	text, _ := url.QueryUnescape(asked.Encode())
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": text, "token_type": "Bearer", "expires_in": 3600})
}

func tokenRequest(r *http.Request) (url.Values, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	media := r.Header.Get("Content-Type")
	if media != "application/json" {
		return url.ParseQuery(string(body))
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	asked := url.Values{"media": {media}}
	for name, value := range object {
		asked.Set(name, fmt.Sprint(value))
	}
	return asked, nil
}

func checkAssertion(asked url.Values) error {
	assertion := asked.Get("client_assertion")
	if assertion == "" {
		return nil
	}
	token, err := jwt.Parse([]byte(assertion), jwt.WithKey(jwa.HS256(), []byte("shared secret of the client")),
		jwt.WithAudience("https://tokens.example.com/realms/r/oauth2/token"))
	if err != nil {
		return err
	}
	subject, _ := token.Subject()
	asked.Set("client_assertion", subject)
	return nil
}

// authorizationCode gets a code of the authorization server, as a browser would.
func (p *peers) authorizationCode() (string, error) {
	query := url.Values{"client_id": {"client_secret_post"}, "response_type": {"code"}, "state": {"123456789"}, "scope": {"read offline"}}
	resp, err := http.DefaultTransport.RoundTrip(newGet(p.auth.URL + "/opaque/authorize?" + query.Encode()))
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		return "", err
	}
	code := to.Query().Get("code")
	if code == "" {
		return "", fmt.Errorf("no code at %s", to)
	}
	return code, nil
}

// refreshToken gets one for a code.
func (p *peers) refreshToken() (string, error) {
	code, err := p.authorizationCode()
	if err != nil {
		return "", err
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code},
		"client_id": {"client_secret_post"}, "client_secret": {"s3cret&+%:/ü"},
	}
	resp, err := http.Post(p.auth.URL+"/opaque/token", "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct {
		RefreshToken string `json:"refresh_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.RefreshToken == "" {
		return "", fmt.Errorf("no refresh token: status %d, %v", resp.StatusCode, err)
	}
	return answer.RefreshToken, nil
}

func newGet(address string) *http.Request {
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		panic(err) // addresses of the test
	}
	return req
}

// giveCredential makes something of the authorization server the input: {credential: …}.
func (s *scenario) giveCredential(what string) (err error) {
	var value string
	switch p := s.outside.peers; what {
	case "the private key of the client":
		value = p.key.private
	case "an authorization code":
		value, err = p.authorizationCode()
	case "a refresh token":
		value, err = p.refreshToken()
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"credential": value})
	s.input = string(text)
	return err
}
