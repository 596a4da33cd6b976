package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// The schemes of authentication.
const (
	SchemeBasic  = "basic"
	SchemeBearer = "bearer"
	SchemeDigest = "digest"
	SchemeOAuth2 = "oauth2"
	SchemeOIDC   = "oidc"
)

// Authentication is a resolved policy (docs/language/authentication.md).
type Authentication struct {
	Scheme string
	Path   string // where it stands, for details of faults
	// Secret names the secret that holds all the rest (T68); Authority and Operand are nil then.
	Secret    string
	Authority *Endpoint // oauth2 and oidc
	Fields    []Field   // texts, or lists of texts
	Constants map[string]value.Value
}

// Uses reports whether the policy reads $name.
func (a *Authentication) Uses(name string) bool {
	if a == nil {
		return false
	}
	return slices.ContainsFunc(a.Fields, func(f Field) bool { return f.Operand.Uses(name) }) ||
		a.Authority != nil && a.Authority.Expression.Uses(name) || name == "secrets" && a.Secret != ""
}

// Constant is the argument of an activity that the policy stands for, if it needs neither an
// expression nor a secret.
func (a *Authentication) Constant() (value.Value, bool) {
	if a == nil {
		return nil, true
	}
	if a.Secret != "" {
		return nil, false
	}
	argument := a.Argument()
	for i := range a.Fields {
		f := &a.Fields[i]
		v, ok := f.Operand.Constant()
		if !ok || texts(f.Name, v) != nil {
			return nil, false
		}
		f.Put(argument, v)
	}
	if a.Authority != nil {
		authority, ok := a.Authority.Constant()
		if !ok {
			return nil, false
		}
		argument["authority"] = authority
	}
	return argument, true
}

// Argument is what activities take, without what must be evaluated.
func (a *Authentication) Argument() map[string]any {
	argument := make(map[string]any, len(a.Constants)+len(a.Fields)+2)
	//workflowcheck:ignore copies into a map
	for name, value := range a.Constants {
		argument[name] = value
	}
	argument["scheme"] = a.Scheme
	return argument
}

// Put sets an argument, or a property of an argument that is an object.
func (f *Field) Put(arguments map[string]any, v value.Value) {
	if f.In == "" {
		arguments[f.Name] = v
		return
	}
	given, _ := arguments[f.In].(map[string]any)
	object := make(map[string]any, len(given)+1)
	//workflowcheck:ignore copies into a map
	for name, value := range given {
		object[name] = value
	}
	object[f.Name] = v
	arguments[f.In] = object
}

// texts checks that all leaves of a value are texts.
func texts(path string, v value.Value) error {
	switch v := v.(type) {
	case string:
		return nil
	case []any:
		for i, item := range v {
			if err := texts(fmt.Sprintf("%s.%d", path, i), item); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for _, name := range sortedKeys(v) {
			if err := texts(path+"."+name, v[name]); err != nil {
				return err
			}
		}
		return nil
	default:
		return fmt.Errorf("%s must be a text", path)
	}
}

// FromSecret is the argument that the value of a secret stands for: an object with the
// properties of the inline scheme or, for bearer, the token itself (T68). The error never
// quotes the value.
func (a *Authentication) FromSecret(secret value.Value) (map[string]any, error) {
	if token, ok := secret.(string); ok && a.Scheme == SchemeBearer {
		return map[string]any{"scheme": a.Scheme, "token": token}, nil
	}
	object, ok := secret.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("must be an object with the properties of `%s`", a.Scheme)
	}
	if err := texts("", object); err != nil {
		return nil, fmt.Errorf("has a wrong property: %s", strings.TrimPrefix(err.Error(), "."))
	}
	argument := map[string]any{"scheme": a.Scheme}
	required := []string{"username", "password"}
	allowed := required
	switch a.Scheme {
	case SchemeBearer:
		required, allowed = []string{"token"}, []string{"token"}
	case SchemeOAuth2, SchemeOIDC:
		required = []string{"authority", "grant"}
		allowed = []string{"authority", "grant", "issuers", "scopes", "audiences", "username", "password", "subject", "actor"}
		oauth2Defaults(a.Scheme, object, argument)
	}
	for _, name := range required {
		if text, _ := object[name].(string); text == "" {
			return nil, fmt.Errorf("lacks the property %q", name)
		}
	}
	for _, name := range allowed {
		if value, ok := object[name]; ok {
			argument[name] = value
		}
	}
	return argument, nil
}

// oauth2Defaults fills in what package dsl fills in where the policy is written in the definition.
func oauth2Defaults(scheme string, object, argument map[string]any) {
	client := map[string]any{"authentication": "client_secret_post"}
	given, _ := object["client"].(map[string]any)
	//workflowcheck:ignore copies into a map
	for name, value := range given {
		client[name] = value
	}
	argument["client"] = client
	argument["encoding"] = "application/x-www-form-urlencoded"
	if request, _ := object["request"].(map[string]any); request["encoding"] != nil {
		argument["encoding"] = request["encoding"]
	}
	if scheme == SchemeOAuth2 {
		endpoints := map[string]any{"token": "/oauth2/token", "revocation": "/oauth2/revoke", "introspection": "/oauth2/introspect"}
		given, _ := object["endpoints"].(map[string]any)
		//workflowcheck:ignore copies into a map
		for name, value := range given {
			endpoints[name] = value
		}
		argument["endpoints"] = endpoints
	}
}

// authentication resolves a policy; nil if there is none.
func (c *compiler) authentication(a *dsl.Authentication, at location) *Authentication {
	if a == nil {
		return nil
	}
	switch {
	case a.Use != "":
		named, ok := lookUp(c, &c.doc.Use.Authentications, a.Use, a.Pointer+"/use", "authentication", "use.authentications")
		if !ok || named == nil || named.Use != "" {
			return nil
		}
		return reuse(c, named.Pointer, location{}, func() *Authentication { return c.authentication(named, location{}) })
	case a.Basic != nil:
		return c.passwordPolicy(SchemeBasic, a.Basic, at)
	case a.Digest != nil:
		return c.passwordPolicy(SchemeDigest, a.Digest, at)
	case a.Bearer != nil:
		compiled := &Authentication{Scheme: SchemeBearer, Path: at.path(a.Bearer.Pointer)}
		if c.secretPolicy(compiled, a.Bearer.Secret, a.Bearer.Pointer) {
			return compiled
		}
		c.text(compiled, "", "token", a.Bearer.Token, at)
		return compiled
	case a.OAuth2 != nil:
		return c.oauth2(SchemeOAuth2, a.OAuth2, at)
	case a.OIDC != nil:
		return c.oauth2(SchemeOIDC, a.OIDC, at)
	default: // package dsl has refused it
		return nil
	}
}

// secretPolicy compiles `{use: secret}`. It reports false if the policy is inline.
func (c *compiler) secretPolicy(compiled *Authentication, name, pointer string) bool {
	if name == "" {
		return false
	}
	compiled.Secret = name
	c.declared(pointer+"/use", name)
	return true
}

func (c *compiler) passwordPolicy(scheme string, p *dsl.Password, at location) *Authentication {
	compiled := &Authentication{Scheme: scheme, Path: at.path(p.Pointer)}
	if !c.secretPolicy(compiled, p.Secret, p.Pointer) {
		c.text(compiled, "", "username", p.Username, at)
		c.text(compiled, "", "password", p.Password, at)
	}
	return compiled
}

func (c *compiler) oauth2(scheme string, o *dsl.OAuth2, at location) *Authentication {
	compiled := &Authentication{Scheme: scheme, Path: at.path(o.Pointer)}
	if c.secretPolicy(compiled, o.Secret, o.Pointer) {
		return compiled
	}
	if o.Authority.Present() {
		compiled.Authority = c.endpoint(&dsl.Endpoint{Pointer: o.Authority.Pointer, URI: o.Authority}, at)
	}
	compiled.Constants = map[string]value.Value{
		"grant":    o.Grant,
		"encoding": o.Encoding,
		"client":   map[string]any{"authentication": o.ClientAuthentication},
	}
	if scheme == SchemeOAuth2 {
		compiled.Constants["endpoints"] = map[string]any{
			"token": o.TokenEndpoint, "revocation": o.RevocationEndpoint, "introspection": o.IntrospectionEndpoint,
		}
	}
	c.text(compiled, "client", "id", o.ClientID, at)
	c.text(compiled, "client", "secret", o.ClientSecret, at)
	c.text(compiled, "client", "assertion", o.ClientAssertion, at)
	c.textList(compiled, "issuers", o.Issuers, o.Pointer, at)
	c.textList(compiled, "scopes", o.Scopes, o.Pointer, at)
	c.textList(compiled, "audiences", o.Audiences, o.Pointer, at)
	c.text(compiled, "", "username", o.Username, at)
	c.text(compiled, "", "password", o.Password, at)
	for _, token := range []struct {
		name string
		*dsl.OAuth2Token
	}{{"subject", o.Subject}, {"actor", o.Actor}} {
		if token.OAuth2Token != nil {
			c.text(compiled, token.name, "token", token.Token, at)
			c.text(compiled, token.name, "type", token.Type, at)
		}
	}
	return compiled
}

func (c *compiler) text(a *Authentication, in, name string, s dsl.Operand, at location) {
	if operand := c.value(s, at); operand != nil {
		a.Fields = append(a.Fields, Field{In: in, Name: name, Operand: operand, Type: Text})
	}
}

func (c *compiler) textList(a *Authentication, name string, list []dsl.Operand, pointer string, at location) {
	if len(list) == 0 {
		return
	}
	items := make([]any, 0, len(list))
	for _, s := range list {
		items = append(items, s.Value)
	}
	a.Fields = append(a.Fields, Field{Name: name, Type: TextList,
		Operand: c.value(dsl.Operand{Pointer: pointer + "/" + name, Value: value.Value(items)}, at)})
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	//workflowcheck:ignore the keys are sorted
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
