// Package credential makes the credentials of calls from authentication policies
// (docs/language/authentication.md, T44, T68, T81): basic, bearer and digest, and the tokens of oauth2 and
// oidc, which it fetches, caches and renews. Everything that calls out uses it: HTTP, OpenAPI, gRPC, AsyncAPI,
// MCP, A2A and package resource.
//
// A policy is data that the machine has evaluated:
//
//	{scheme: "basic"|"digest", username, password}
//	{scheme: "bearer", token}
//	{scheme: "oauth2"|"oidc", authority, grant,
//	 client: {id, secret, assertion, authentication}, encoding,
//	 endpoints: {token, revocation, introspection}, issuers: [], scopes: [], audiences: [],
//	 username, password, subject: {token, type}, actor: {token, type}}
//
// A caller resolves the policy of its endpoint and sends its requests through
// Credentials.Transport, or puts Credentials.Authorization where there are no HTTP requests:
//
//	credentials, fault := source.Resolve(ctx, policy)
//	client := http.Client{Transport: credentials.Transport(base)}
//
// Invariants:
//   - Credentials go to one origin (scheme, host and port): never along with a redirect.
//   - Tokens and secrets are in memory only. They are in no log, no error and no fault; what
//     an authorization server said is reported after the policy's own secrets were taken out.
//   - All connections go through the transport of Config, which applies the egress rules.
//   - One token request per policy runs at a time; the others wait for its outcome.
//   - Everything is bounded: 1024 tokens, 256 discovery documents for an hour, 1024 digest
//     challenges, answers of 1 MiB, 30 s per request.
//
// All methods are safe for concurrent use.
package credential
