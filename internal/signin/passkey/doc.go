// Package passkey makes and checks passkeys (WebAuthn). A person needs no e-mail to sign in with one: the authenticator
// says whose it is. It has to ask for a PIN, a fingerprint or the like, because nothing else proves who holds it.
//
// A ceremony has two requests, with the browser in between. What the second must know of the first is State, which the
// caller keeps under Challenge, and gives away once.
package passkey
