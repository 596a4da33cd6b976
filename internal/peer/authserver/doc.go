// Command authserver is the authorization server of the tests: OAuth 2.0 and OpenID Connect by
// ory/fosite, and digest authentication by go-httpbin. None of it shares code with what is
// tested. It listens on 127.0.0.1 and forgets everything when it ends.
//
// Below /opaque tokens are random and can be revoked; below /jwt they are JWTs. Each has
// /token, /introspect, /revoke, /authorize (which approves everything for the user peter), and
// /resource, which answers 401 without a good token. /jwt has a discovery document too.
// /company and /partner are two OpenID providers (openid.go).
package main
