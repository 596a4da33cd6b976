package dsl

import "fmt"

func (d *decoder) use(at location, result *Use) {
	d.object(at, &object{},
		table(d, "authentications", &result.Authentications, d.authenticationPolicy),
		table(d, "catalogs", &result.Catalogs, d.catalog),
		table(d, "errors", &result.Errors, d.errorDefinition),
		field("extensions", &result.Extensions, d.extensions),
		property{"functions", func(value location) { d.functions(value, &result.Functions) }},
		table(d, "retries", &result.Retries, d.retry),
		field("secrets", &result.Secrets, d.secrets),
		table(d, "timeouts", &result.Timeouts, d.inlineTimeout),
	)
}

// readTable reads an object of named components.
func readTable[T any](d *decoder, at location, table *Table[T], read func(location) T) {
	if at.shape != shapeObject {
		d.wrongType(at, "an object that maps names to components", "")
		return
	}
	for i := range at.members {
		if m := &at.members[i]; d.checkName(at, m, "component") {
			value := at.property(m)
			table.add(m.key, value.pointer, read(value))
		}
	}
}

var catalogObject = object{required: []string{"endpoint"}, hint: "Write {endpoint: …}."}

func (d *decoder) catalog(at location) *Endpoint {
	var result *Endpoint
	d.object(at, &catalogObject, property{"endpoint", func(value location) { result = d.endpoint(value) }})
	return result
}

// functions reads tasks that are called by name. Their own `then` means nothing (T37).
func (d *decoder) functions(at location, table *Table[*Task]) {
	if at.shape != shapeObject {
		d.wrongType(at, "an object that maps names to tasks", "")
		return
	}
	for i := range at.members {
		m := &at.members[i]
		if !d.checkName(at, m, "function") {
			continue
		}
		value := at.property(m)
		task := d.namedTask(value, m.key)
		if task == nil {
			continue
		}
		if then, ok := value.get("then"); ok {
			d.warning(then, CodeIgnoredDirective, fmt.Sprintf("The `then` of function %s is ignored.", quote(m.key)), "Write it at the task that calls the function.")
		}
		d.checkInnerTargets(task, nil)
		table.add(m.key, value.pointer, task)
	}
}

func (d *decoder) secrets(at location) []string {
	if at.shape != shapeList {
		d.wrongType(at, "a list of names", "")
		return nil
	}
	names := make([]string, 0, len(at.items))
	lines := make(map[string]int32, len(at.items))
	for i := range at.items {
		item := at.item(i)
		name := d.filled(item)
		if firstLine, exists := lines[name]; exists && name != "" {
			d.problem(item, CodeDuplicate, fmt.Sprintf("The secret %s is listed twice; the first is in line %d.", quote(name), firstLine), "Remove one of them.")
		}
		lines[name] = item.line
		names = append(names, name)
	}
	return names
}

var extensionTargets = []string{"call", "composite", "emit", "for", "listen", "raise", "run", "set", "switch", "try", "wait", "all"}

func (d *decoder) extensions(at location) []*Extension {
	if at.shape != shapeList {
		d.wrongType(at, "a list of named extensions", "")
		return nil
	}
	extensions := make([]*Extension, 0, len(at.items))
	lines := make(map[string]int32, len(at.items))
	for i := range at.items {
		item := at.item(i)
		if !d.oneKey(item, "extension") {
			continue
		}
		m := &item.members[0]
		if d.checkName(item, m, "extension") {
			d.checkDuplicate(item, m, lines, "extensions")
			extensions = append(extensions, d.extension(item.property(m), m.key))
		}
	}
	return extensions
}

func (d *decoder) extension(at location, name string) *Extension {
	result := &Extension{Name: name, Pointer: at.pointer}
	d.object(at, &object{required: []string{"extend"}},
		field("extend", &result.Extend, d.oneOf(extensionTargets...)),
		field("when", &result.When, d.expressionOperand),
		field("before", &result.Before, d.taskList),
		field("after", &result.After, d.taskList),
	)
	return result
}

var (
	policyObject         = object{hint: "Write for example {basic: {username: …, password: …}}."}
	authenticationObject = object{hint: "Write {use: …} to name an entry of `use.authentications`."}
)

// authentication reads a policy or a reference to one.
func (d *decoder) authentication(at location) *Authentication {
	result := &Authentication{Pointer: at.pointer}
	d.scheme(at, &authenticationObject, result, field("use", &result.Use, d.filled))
	return result
}

// authenticationPolicy reads an entry of use.authentications, which is no reference.
func (d *decoder) authenticationPolicy(at location) *Authentication {
	result := &Authentication{Pointer: at.pointer}
	d.scheme(at, &policyObject, result)
	return result
}

// scheme reads an object with one property: a scheme, or one of the others.
func (d *decoder) scheme(at location, o *object, result *Authentication, others ...property) {
	properties := append(others,
		field("basic", &result.Basic, d.password),
		field("bearer", &result.Bearer, d.bearer),
		field("digest", &result.Digest, d.password),
		field("oauth2", &result.OAuth2, d.oauth2),
		field("oidc", &result.OIDC, d.oidc),
	)
	d.object(at, o, properties...)
	d.exactlyOne(at, namesOf(properties)...)
}

// secretOr checks that a scheme is either {use: secret} or has all the required properties.
func (d *decoder) secretOr(at location, required ...string) {
	if at.shape != shapeObject {
		return
	}
	if secret, ok := at.get("use"); ok {
		if len(at.members) > 1 {
			d.problem(secret, CodeConflict, fmt.Sprintf("%s names a secret with \"use\" and has other properties as well.", label(at.pointer)),
				"Keep one of the two forms.")
		}
		return
	}
	for _, name := range required {
		d.require(at, name)
	}
}

var passwordObject = object{hint: "Write {username: …, password: …} or {use: …} with the name of a secret."}

func (d *decoder) password(at location) *Password {
	result := &Password{Pointer: at.pointer}
	d.object(at, &passwordObject,
		field("use", &result.Secret, d.filled),
		field("username", &result.Username, d.textOperand),
		field("password", &result.Password, d.textOperand),
	)
	d.secretOr(at, "username", "password")
	return result
}

var bearerObject = object{hint: "Write {token: …}, or {use: …} with the name of a secret."}

func (d *decoder) bearer(at location) *Bearer {
	result := &Bearer{Pointer: at.pointer}
	d.object(at, &bearerObject,
		field("use", &result.Secret, d.filled),
		field("token", &result.Token, d.textOperand),
	)
	d.secretOr(at, "token")
	return result
}

var (
	oauth2Object = object{hints: map[string]string{"scope": `Did you mean "scopes"?`, "clientId": "Write client: {id: …}.", "clientSecret": "Write client: {secret: …}."}}
	oidcObject   = object{hints: map[string]string{"endpoints": "OpenID Connect discovers its endpoints; use oauth2 to name them."}}
)

func (d *decoder) oauth2(at location) *OAuth2 {
	result := &OAuth2{}
	d.tokenScheme(at, &oauth2Object, result,
		property{"endpoints", func(value location) { d.tokenEndpoints(value, result) }})
	return result
}

func (d *decoder) oidc(at location) *OAuth2 {
	result := &OAuth2{}
	d.tokenScheme(at, &oidcObject, result)
	return result
}

// tokenScheme reads what oauth2 and oidc have in common, and the others.
func (d *decoder) tokenScheme(at location, o *object, result *OAuth2, others ...property) {
	*result = OAuth2{
		Pointer:               at.pointer,
		ClientAuthentication:  "client_secret_post",
		Encoding:              "application/x-www-form-urlencoded",
		TokenEndpoint:         "/oauth2/token",
		RevocationEndpoint:    "/oauth2/revoke",
		IntrospectionEndpoint: "/oauth2/introspect",
	}
	d.object(at, o, append(others,
		field("use", &result.Secret, d.filled),
		field("authority", &result.Authority, d.uri),
		field("grant", &result.Grant, d.oneOf("authorization_code", "client_credentials", "password", "refresh_token",
			"urn:ietf:params:oauth:grant-type:token-exchange")),
		property{"client", func(value location) { d.client(value, result) }},
		property{"request", func(value location) {
			d.object(value, &object{},
				field("encoding", &result.Encoding, d.oneOf("application/x-www-form-urlencoded", "application/json")))
		}},
		field("issuers", &result.Issuers, d.texts),
		field("scopes", &result.Scopes, d.texts),
		field("audiences", &result.Audiences, d.texts),
		field("username", &result.Username, d.textOperand),
		field("password", &result.Password, d.textOperand),
		field("subject", &result.Subject, d.token),
		field("actor", &result.Actor, d.token),
	)...)
	d.secretOr(at, "authority", "grant")
}

func (d *decoder) client(at location, result *OAuth2) {
	d.object(at, &object{},
		field("id", &result.ClientID, d.textOperand),
		field("secret", &result.ClientSecret, d.textOperand),
		field("assertion", &result.ClientAssertion, d.textOperand),
		field("authentication", &result.ClientAuthentication, d.oneOf("client_secret_post", "client_secret_basic", "client_secret_jwt", "private_key_jwt", "none")),
	)
}

func (d *decoder) tokenEndpoints(at location, result *OAuth2) {
	d.object(at, &object{},
		field("token", &result.TokenEndpoint, d.filled),
		property{"revocation", func(value location) {
			result.RevocationEndpoint = d.filled(value)
			d.warning(value, CodeUnused, `"revocation" means nothing here: tokens are shared by executions and last until their end.`, "Remove it.")
		}},
		field("introspection", &result.IntrospectionEndpoint, d.filled),
	)
}

func (d *decoder) texts(at location) []Operand {
	if at.shape != shapeList {
		d.wrongType(at, "a list of texts", "")
		return nil
	}
	texts := make([]Operand, 0, len(at.items))
	for i := range at.items {
		texts = append(texts, d.textOperand(at.item(i)))
	}
	return texts
}

func (d *decoder) token(at location) *OAuth2Token {
	result := &OAuth2Token{Pointer: at.pointer}
	d.object(at, &object{required: []string{"token", "type"}},
		field("token", &result.Token, d.textOperand),
		field("type", &result.Type, d.textOperand),
	)
	return result
}
