package credential

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jwt"

	"github.com/chargehand/chargehand/internal/machine"
)

// The ways in which a client proves who it is (OpenID Connect Core 1.0, section 9).
const (
	methodPost       = "client_secret_post"
	methodBasic      = "client_secret_basic"
	methodSecretJWT  = "client_secret_jwt"
	methodPrivateJWT = "private_key_jwt"
	methodNone       = "none"
)

const (
	assertionType     = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	assertionLifetime = 2 * time.Minute
)

// checkClient lets a policy be without a client: a server may know it by other means, or want
// none. Definitions always say how the client proves itself, because that has a default.
func (p *policy) checkClient() *machine.Fault {
	switch p.clientAuthentication {
	case methodPost, methodNone:
		if p.clientID == "" && (p.clientSecret != "" || p.clientAssertion != "") {
			return configuration("client.id is missing in the authentication")
		}
	case methodBasic:
		if p.clientID == "" {
			return configuration("client.id is missing, which client_secret_basic needs")
		}
		if p.clientSecret == "" {
			return configuration("client.secret is missing, which client_secret_basic needs")
		}
	case methodSecretJWT, methodPrivateJWT:
		if p.clientAssertion == "" && (p.clientID == "" || p.clientSecret == "") {
			return configuration(p.clientAuthentication + " needs client.assertion, or client.id and client.secret to make one with")
		}
	default:
		return configuration(fmt.Sprintf("the client authentication %q is not known", p.clientAuthentication))
	}
	return nil
}

// identify adds the client to a token request. It returns the assertion that it made, which
// is a secret for as long as it lives.
func (p *policy) identify(form url.Values, header nethttp.Header, tokenURL string, now time.Time) (assertion string, fault *machine.Fault) {
	switch p.clientAuthentication {
	case methodBasic:
		header.Set("Authorization", "Basic "+basicPair(p.clientID, p.clientSecret))
		return "", nil
	case methodSecretJWT, methodPrivateJWT:
		assertion = p.clientAssertion
		if assertion == "" {
			var err error
			if assertion, err = p.sign(tokenURL, now); err != nil {
				return "", configuration(fmt.Sprintf("client.secret cannot sign an assertion for %s: %s", p.clientAuthentication, p.redacted(err.Error())))
			}
		}
		form.Set("client_assertion_type", assertionType)
		form.Set("client_assertion", assertion)
	case methodPost:
		setText(form, "client_secret", p.clientSecret)
	}
	setText(form, "client_id", p.clientID)
	return assertion, nil
}

// basicPair encodes both parts first (RFC 6749, 2.3.1).
func basicPair(id, secret string) string {
	return base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id) + ":" + url.QueryEscape(secret)))
}

// sign makes a client assertion (RFC 7523): with the secret itself, or with the private key
// that it holds as PEM or JWK.
func (p *policy) sign(tokenURL string, now time.Time) (string, error) {
	token, err := jwt.NewBuilder().Issuer(p.clientID).Subject(p.clientID).Audience([]string{tokenURL}).
		IssuedAt(now).Expiration(now.Add(assertionLifetime)).JwtID(rand.Text()).Build()
	if err != nil {
		return "", err
	}
	algorithm, key := jwa.HS256(), any([]byte(p.clientSecret))
	if p.clientAuthentication == methodPrivateJWT {
		if algorithm, key, err = privateKey(p.clientSecret); err != nil {
			return "", err
		}
	}
	signed, err := jwt.Sign(token, jwt.WithKey(algorithm, key))
	return string(signed), err
}

func privateKey(text string) (algorithm jwa.SignatureAlgorithm, key jwk.Key, err error) {
	key, err = jwk.ParseKey([]byte(text), jwk.WithPEM(!strings.HasPrefix(strings.TrimSpace(text), "{")))
	if err != nil {
		return algorithm, nil, fmt.Errorf("it is no private key in PEM or JWK form")
	}
	if named, ok := key.Algorithm(); ok {
		if signature, ok := jwa.LookupSignatureAlgorithm(named.String()); ok {
			return signature, key, nil
		}
	}
	var raw any
	if err := jwk.Export(key, &raw); err != nil {
		return algorithm, nil, fmt.Errorf("the key cannot be used")
	}
	switch raw := raw.(type) {
	case *rsa.PrivateKey:
		return jwa.RS256(), key, nil
	case *ecdsa.PrivateKey:
		switch raw.Curve.Params().BitSize {
		case 256:
			return jwa.ES256(), key, nil
		case 384:
			return jwa.ES384(), key, nil
		}
		return jwa.ES512(), key, nil
	case ed25519.PrivateKey:
		return jwa.EdDSA(), key, nil
	}
	return algorithm, nil, fmt.Errorf("it is not a private key of RSA, of an elliptic curve or Ed25519")
}

func setText(form url.Values, name, value string) {
	if value != "" {
		form.Set(name, value)
	}
}
