package credential

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// The grants of the language (docs/language/authentication.md).
const (
	grantCode     = "authorization_code"
	grantClient   = "client_credentials"
	grantPassword = "password"
	grantRefresh  = "refresh_token"
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
)

const (
	encodingForm = "application/x-www-form-urlencoded"
	encodingJSON = "application/json"

	defaultTokenPath         = "/oauth2/token"
	defaultIntrospectionPath = "/oauth2/introspect"
)

// policy is an oauth2 or oidc policy. It is not changed once it is read.
type policy struct {
	key       string // digest of everything: equal policies share a token
	authority string // without a slash at its end
	discover  bool   // endpoints come from the discovery document

	grant    string
	encoding string

	clientID             string
	clientSecret         string
	clientAssertion      string
	clientAuthentication string

	tokenPath         string
	introspectionPath string

	issuers, scopes, audiences []string
	user, password             string
	subject, actor             given
}

// given is a security token that the author passes on.
type given struct{ token, kind string }

func (s *Source) resolveToken(ctx context.Context, object map[string]any) (*Credentials, *machine.Fault) {
	p, fault := readPolicy(object)
	if fault != nil {
		return nil, fault
	}
	token, fresh, fault := s.token(ctx, p)
	if fault != nil {
		return nil, fault
	}
	return &Credentials{source: s, policy: p, token: token, fresh: fresh}, nil
}

func readPolicy(object map[string]any) (*policy, *machine.Fault) {
	client, _ := object["client"].(map[string]any)
	endpoints, _ := object["endpoints"].(map[string]any)
	sum := sha256.Sum256(value.Marshal(object)) // keys are written in order
	p := &policy{
		key: string(sum[:]), grant: text(object, "grant"), encoding: or(text(object, "encoding"), encodingForm),
		clientID: text(client, "id"), clientSecret: text(client, "secret"), clientAssertion: text(client, "assertion"),
		clientAuthentication: or(text(client, "authentication"), methodPost),
		tokenPath:            or(text(endpoints, "token"), defaultTokenPath),
		introspectionPath:    or(text(endpoints, "introspection"), defaultIntrospectionPath),
		user:                 text(object, "username"), password: text(object, "password"),
		subject: givenOf(object["subject"]), actor: givenOf(object["actor"]),
	}
	for name, list := range map[string]*[]string{"issuers": &p.issuers, "scopes": &p.scopes, "audiences": &p.audiences} {
		var ok bool
		if *list, ok = textsOf(object[name]); !ok {
			return nil, configuration(name + " of the authentication must be a list of texts")
		}
	}
	p.readAuthority(text(object, "authority"), object["scheme"] == "oidc")
	return p, p.check()
}

// readAuthority recognises an authority that is the address of a discovery document (T44).
func (p *policy) readAuthority(authority string, oidc bool) {
	base, isDocument := strings.CutSuffix(authority, wellKnown)
	p.authority, p.discover = strings.TrimRight(base, "/"), isDocument || oidc
}

func (p *policy) check() *machine.Fault {
	authority, err := url.Parse(p.authority)
	if err != nil || authority.Host == "" || authority.Scheme != "http" && authority.Scheme != "https" {
		return configuration("the authority of the authentication is not an absolute http or https address")
	}
	if authority.RawQuery != "" || authority.Fragment != "" {
		return configuration("the authority of the authentication cannot have a query or a fragment")
	}
	switch p.encoding {
	case encodingForm, encodingJSON:
	default:
		return configuration(fmt.Sprintf("the encoding %q of token requests is not known", p.encoding))
	}
	switch p.grant {
	case grantClient:
	case grantPassword:
		if p.user == "" {
			return configuration("the grant password needs username and password")
		}
	case grantCode, grantRefresh, grantExchange:
		if p.subject.token == "" {
			return configuration(fmt.Sprintf("the grant %s needs subject.token: %s", p.grant, subjectOf[p.grant]))
		}
	default:
		return configuration(fmt.Sprintf("the grant %q is not known", p.grant))
	}
	return p.checkClient()
}

// subjectOf tells what the subject is. The language has no property of its own for a code or
// a refresh token (see DESIGN.md).
var subjectOf = map[string]string{
	grantCode:     "it is the authorization code",
	grantRefresh:  "it is the refresh token",
	grantExchange: "it is the token to exchange",
}

// endpoint is T44: the path is put after the authority. An absolute address stays.
func (p *policy) endpoint(path string) string {
	if strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://") {
		return path
	}
	return p.authority + "/" + strings.TrimLeft(path, "/")
}

// shownAuthority is the authority without user and password.
func (p *policy) shownAuthority() string { return shown(p.authority) }

func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the authorization server"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

const leastSecretBytes = 4

// redacted takes the secrets of the policy, and more, out of what a server said.
func (p *policy) redacted(said string, more ...string) string {
	for _, secret := range append(more, p.clientSecret, p.clientAssertion, p.password, p.subject.token, p.actor.token) {
		if len(secret) < leastSecretBytes {
			continue
		}
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)), basicPair(p.clientID, secret)} {
			said = strings.ReplaceAll(said, form, "[redacted]")
		}
	}
	return said
}

func givenOf(v value.Value) given {
	object, _ := v.(map[string]any)
	return given{text(object, "token"), text(object, "type")}
}

func textsOf(v value.Value) ([]string, bool) {
	if v == nil {
		return nil, true
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	texts := make([]string, 0, len(list))
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func (p *policy) issuedBy(issuer string) bool { return slices.Contains(p.issuers, issuer) }
