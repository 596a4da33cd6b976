// Package passkey makes and checks passkeys (WebAuthn). A person needs no e-mail to sign in with one: the authenticator
// says whose it is.
//
// A ceremony has two requests, with the browser in between. What the second must know of the first is State, which the
// caller keeps under Challenge, and gives away once.
package passkey
