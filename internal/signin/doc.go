// Package signin is the rules by which persons sign in, over the store: the set-up of an installation, sessions,
// invitations and links to set a password anew. It never sees HTTP. Its parts know nothing of the store:
//
//   - password hashes and checks passwords, a bounded number at a time.
//   - passkey makes and checks passkeys (WebAuthn).
//   - oidc sends persons to identity providers and reads what they answer.
//   - token makes one-use tokens, and codes that people type.
//   - delay says how long failed tries put off the next one.
//
// Invariants:
//   - What a secret of one use does is done in the transaction that uses it up. A crash undoes both or neither.
//   - An installation with a person has an admin: the first person is made together with the grant.
//   - A sign-in that fails does not say which part was wrong, and takes the same path for persons that do not exist.
//   - A try counts as failed before it is made. Tries at once do not pass by the delay, on any node.
package signin
