// Package oidc sends persons to identity providers (OpenID Connect) and reads what they answer: the code flow with
// PKCE, state and nonce.
//
// Invariants:
//   - An answer counts only with the State of the Begin that it belongs to, which the caller keeps under Begun.State,
//     bound to one browser, and gives away once.
//   - A person is the pair of issuer and subject. The e-mail is what the provider says of the person, and counts only
//     where the provider says that it has checked it.
//   - A provider that cannot be reached makes its own sign-ins fail and nothing else: it is asked about itself
//     when it is first used, and again until it answers.
package oidc
