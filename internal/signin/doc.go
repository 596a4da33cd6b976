// Package signin says how persons prove who they are. Its packages know neither the store nor HTTP routes; package
// service decides with them.
//
//   - password hashes and checks passwords, a bounded number at a time.
//   - passkey makes and checks passkeys (WebAuthn).
//   - oidc sends persons to identity providers and reads what they answer.
//   - token makes one-use tokens, and codes that people type.
//   - delay says how long failed tries put off the next one.
package signin
