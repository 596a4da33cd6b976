package dslschema

import "slices"

func useParts() schema {
	return slices.Concat(schema{
		{"use", closed("Parts that tasks name.", nil,
			property("authentications", named("Ways to authenticate, by name.", ref("policy", ""))),
			property("catalogs", named("Catalogs of functions, by name.", ref("catalog", ""))),
			property("errors", named("Errors to raise, by name.", ref("error", ""))),
			property("extensions", namedItems("Tasks that run before and after others.", ref("extension", ""))),
			property("functions", named("Tasks that are called by name.", ref("task", ""))),
			property("retries", named("Ways to try again, by name.", ref("retry", ""))),
			property("secrets", list("The names of the secrets that the workflow reads.", filled("")).with("uniqueItems", true)),
			property("timeouts", named("Times, by name.", ref("timeLimit", ""))),
		)},
		{"catalog", closed("A catalog of functions.", []string{"endpoint"},
			property("endpoint", ref("endpoint", "The address below which its functions are.")),
		)},
		{"extension", closed("Tasks that run before and after others.", []string{"extend"},
			property("extend", choice("The kind of the tasks to extend.",
				"call", "composite", "emit", "for", "listen", "raise", "run", "set", "switch", "try", "wait", "all")),
			property("when", ref("expression", "Extend only if this is true.")),
			property("before", ref("tasks", "What runs before the task.")),
			property("after", ref("tasks", "What runs after the task.")),
		)},
	}, authenticationParts(), tokenParts())
}

func authenticationParts() schema {
	schemes := schema{
		property("basic", ref("password", "With a name and a password (RFC 7617).")),
		property("bearer", ref("bearer", "With a token (RFC 6750).")),
		property("digest", ref("password", "With a name and a password that is not sent (RFC 7616).")),
		property("oauth2", ref("oauth2", "With a token of an OAuth 2 server.")),
		property("oidc", ref("oidc", "With a token of an OpenID Connect provider.")),
	}
	byName := property("use", filled("The name of an entry of use.authentications."))
	const secret = "The name of the secret that holds the properties of this object."
	return schema{
		{"authentication", closed("How to authenticate: one scheme, or the name of an entry of use.authentications.", nil,
			slices.Concat(schema{byName}, schemes)...).one()},
		{"policy", closed("How to authenticate: one scheme.", nil, schemes...).one()},
		{"password", closed("A name and a password, or a secret with both.", nil,
			property("use", filled(secret)),
			property("username", text("The name.")),
			property("password", text("The password.")),
		).secretOr("username", "password")},
		{"bearer", closed("A token, or a secret with it.", nil,
			property("use", filled(secret)),
			property("token", text("The token.")),
		).secretOr("token")},
	}
}

func tokenParts() schema {
	client := property("client", ref("client", "The client that asks for a token."))
	shared := schema{
		property("use", filled("The name of the secret that holds the properties of this object.")),
		property("authority", ref("uri", "The address of the server that gives tokens.")),
		property("grant", choice("The grant to ask with.", "authorization_code", "client_credentials", "password", "refresh_token",
			"urn:ietf:params:oauth:grant-type:token-exchange")),
		client,
		property("request", ref("tokenRequest", "How the request for a token is sent.")),
		property("issuers", list("Issuers that are accepted.", text(""))),
		property("scopes", list("Scopes to ask for.", text(""))),
		property("audiences", list("Audiences to ask for.", text(""))),
		property("username", text("With grant: password, the name.")),
		property("password", text("With grant: password, the password.")),
		property("subject", ref("token", "The token of whom it is for.")),
		property("actor", ref("token", "The token of who acts.")),
	}
	endpoints := property("endpoints", ref("tokenEndpoints", "Paths at the server, where they are not the usual ones."))
	return schema{
		{"oauth2", closed("A token of an OAuth 2 server.", nil, slices.Concat(shared, schema{endpoints})...).secretOr("authority", "grant")},
		{"oidc", closed("A token of an OpenID Connect provider.", nil, shared...).secretOr("authority", "grant")},
		{"client", closed("The client that asks for a token.", nil,
			property("id", text("Its id.")),
			property("secret", text("Its secret.")),
			property("assertion", text("A signed token that says who it is.")),
			property("authentication", choice("How it says who it is.", "client_secret_post", "client_secret_basic", "client_secret_jwt", "private_key_jwt", "none").
				with("default", "client_secret_post")),
		)},
		{"tokenRequest", closed("How the request for a token is sent.", nil,
			property("encoding", choice("The media type of the request.", "application/x-www-form-urlencoded", "application/json").
				with("default", "application/x-www-form-urlencoded")),
		)},
		{"tokenEndpoints", closed("Paths at the server.", nil,
			property("token", filled("Where tokens are given.").with("default", "/oauth2/token")),
			property("revocation", filled("Means nothing here.").with("deprecated", true)),
			property("introspection", filled("Where tokens are looked at.").with("default", "/oauth2/introspect")),
		)},
		{"token", closed("A token.", []string{"token", "type"},
			property("token", text("The token.")),
			property("type", text("What kind of token it is.")),
		)},
	}
}
