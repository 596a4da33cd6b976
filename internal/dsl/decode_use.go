package dsl

import "fmt"

var useObject = object{known: []string{"authentications", "catalogs", "errors", "extensions", "functions", "retries", "secrets", "timeouts"}}

func (d *decoder) use(at location, result *Use) {
	for key, value := range d.fields(at, &useObject) {
		switch key {
		case "authentications":
			readTable(d, value, &result.Authentications, d.authenticationPolicy)
		case "catalogs":
			readTable(d, value, &result.Catalogs, d.catalog)
		case "errors":
			readTable(d, value, &result.Errors, d.errorDefinition)
		case "extensions":
			result.Extensions = d.extensions(value)
		case "functions":
			d.functions(value, &result.Functions)
		case "retries":
			readTable(d, value, &result.Retries, d.retry)
		case "secrets":
			result.Secrets = d.secrets(value)
		case "timeouts":
			readTable(d, value, &result.Timeouts, d.inlineTimeout)
		}
	}
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

var catalogObject = object{known: []string{"endpoint"}, required: []string{"endpoint"}, hint: "Write {endpoint: …}."}

func (d *decoder) catalog(at location) *Endpoint {
	var result *Endpoint
	for _, value := range d.fields(at, &catalogObject) {
		result = d.endpoint(value)
	}
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

var (
	extensionTargets = []string{"call", "composite", "emit", "for", "listen", "raise", "run", "set", "switch", "try", "wait", "all"}
	extensionObject  = object{known: []string{"extend", "when", "before", "after"}, required: []string{"extend"}}
)

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
	for key, value := range d.fields(at, &extensionObject) {
		switch key {
		case "extend":
			result.Extend = d.oneOf(value, extensionTargets...)
		case "when":
			result.When = d.expressionOperand(value)
		case "before":
			result.Before = d.taskList(value)
		case "after":
			result.After = d.taskList(value)
		}
	}
	return result
}

var (
	schemeNames          = []string{"basic", "bearer", "digest", "oauth2", "oidc"}
	policyObject         = object{known: schemeNames, hint: "Write for example {basic: {username: …, password: …}}."}
	authenticationNames  = append([]string{"use"}, schemeNames...)
	authenticationObject = object{known: authenticationNames, hint: "Write {use: …} to name an entry of `use.authentications`."}
)

// authentication reads a policy or a reference to one.
func (d *decoder) authentication(at location) *Authentication {
	return d.scheme(at, &authenticationObject)
}

// authenticationPolicy reads an entry of use.authentications, which is no reference.
func (d *decoder) authenticationPolicy(at location) *Authentication {
	return d.scheme(at, &policyObject)
}

func (d *decoder) scheme(at location, o *object) *Authentication {
	result := &Authentication{Pointer: at.pointer}
	for key, value := range d.fields(at, o) {
		switch key {
		case "use":
			result.Use = d.filled(value)
		case "basic":
			result.Basic = d.password(value)
		case "bearer":
			result.Bearer = d.bearer(value)
		case "digest":
			result.Digest = d.password(value)
		case "oauth2":
			result.OAuth2 = d.oauth2(value, &oauth2Object)
		case "oidc":
			result.OIDC = d.oauth2(value, &oidcObject)
		}
	}
	d.exactlyOne(at, o.known...)
	return result
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

var passwordObject = object{known: []string{"use", "username", "password"}, hint: "Write {username: …, password: …} or {use: …} with the name of a secret."}

func (d *decoder) password(at location) *Password {
	result := &Password{Pointer: at.pointer}
	for key, value := range d.fields(at, &passwordObject) {
		switch key {
		case "use":
			result.Secret = d.filled(value)
		case "username":
			result.Username = d.textOperand(value)
		case "password":
			result.Password = d.textOperand(value)
		}
	}
	d.secretOr(at, "username", "password")
	return result
}

var bearerObject = object{known: []string{"use", "token"}, hint: "Write {token: …}, or {use: …} with the name of a secret."}

func (d *decoder) bearer(at location) *Bearer {
	result := &Bearer{Pointer: at.pointer}
	for key, value := range d.fields(at, &bearerObject) {
		if key == "use" {
			result.Secret = d.filled(value)
		} else {
			result.Token = d.textOperand(value)
		}
	}
	d.secretOr(at, "token")
	return result
}

var (
	oidcNames = []string{"use", "authority", "grant", "client", "request", "issuers", "scopes", "audiences",
		"username", "password", "subject", "actor"}
	oauth2Hints  = map[string]string{"scope": `Did you mean "scopes"?`, "clientId": "Write client: {id: …}.", "clientSecret": "Write client: {secret: …}."}
	oauth2Object = object{known: append([]string{"endpoints"}, oidcNames...), hints: oauth2Hints}
	oidcObject   = object{known: oidcNames, hints: map[string]string{"endpoints": "OpenID Connect discovers its endpoints; use oauth2 to name them."}}

	clientObject    = object{known: []string{"id", "secret", "assertion", "authentication"}}
	requestObject   = object{known: []string{"encoding"}}
	endpointsObject = object{known: []string{"token", "revocation", "introspection"}}
	tokenObject     = object{known: []string{"token", "type"}, required: []string{"token", "type"}}
)

func (d *decoder) oauth2(at location, o *object) *OAuth2 {
	result := &OAuth2{
		Pointer:               at.pointer,
		ClientAuthentication:  "client_secret_post",
		Encoding:              "application/x-www-form-urlencoded",
		TokenEndpoint:         "/oauth2/token",
		RevocationEndpoint:    "/oauth2/revoke",
		IntrospectionEndpoint: "/oauth2/introspect",
	}
	for key, value := range d.fields(at, o) {
		switch key {
		case "use":
			result.Secret = d.filled(value)
		case "authority":
			result.Authority = d.uri(value)
		case "grant":
			result.Grant = d.oneOf(value, "authorization_code", "client_credentials", "password", "refresh_token",
				"urn:ietf:params:oauth:grant-type:token-exchange")
		case "client":
			d.client(value, result)
		case "request":
			for _, value := range d.fields(value, &requestObject) {
				result.Encoding = d.oneOf(value, "application/x-www-form-urlencoded", "application/json")
			}
		case "endpoints":
			d.tokenEndpoints(value, result)
		case "issuers":
			result.Issuers = d.texts(value)
		case "scopes":
			result.Scopes = d.texts(value)
		case "audiences":
			result.Audiences = d.texts(value)
		case "username":
			result.Username = d.textOperand(value)
		case "password":
			result.Password = d.textOperand(value)
		case "subject":
			result.Subject = d.token(value)
		case "actor":
			result.Actor = d.token(value)
		}
	}
	d.secretOr(at, "authority", "grant")
	return result
}

func (d *decoder) client(at location, result *OAuth2) {
	for key, value := range d.fields(at, &clientObject) {
		switch key {
		case "id":
			result.ClientID = d.textOperand(value)
		case "secret":
			result.ClientSecret = d.textOperand(value)
		case "assertion":
			result.ClientAssertion = d.textOperand(value)
		case "authentication":
			result.ClientAuthentication = d.oneOf(value, "client_secret_post", "client_secret_basic",
				"client_secret_jwt", "private_key_jwt", "none")
		}
	}
}

func (d *decoder) tokenEndpoints(at location, result *OAuth2) {
	for key, value := range d.fields(at, &endpointsObject) {
		switch key {
		case "token":
			result.TokenEndpoint = d.filled(value)
		case "revocation":
			result.RevocationEndpoint = d.filled(value)
			d.warning(value, CodeUnused, `"revocation" means nothing here: tokens are shared by executions and last until their end.`, "Remove it.")
		case "introspection":
			result.IntrospectionEndpoint = d.filled(value)
		}
	}
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
	for key, value := range d.fields(at, &tokenObject) {
		if key == "token" {
			result.Token = d.textOperand(value)
		} else {
			result.Type = d.textOperand(value)
		}
	}
	return result
}
