// Package secret keeps the keys of an installation, seals values under them, and takes secrets out of what is shown
// (Redactor).
//
// An installation has a few random keys (Key), one for each purpose: digests of API keys, signatures of links, and
// sealing (Sealer, Box). They are stored wrapped by the master keys of a keyring, a file that only its owner may read
// (Load). A master key does nothing else, so another one can take its place, by wrapping the same keys again. Package
// keyring does that.
//
// Losing the keyring makes every API key and every signed link invalid, and everything that is sealed unreadable.
//
// Keys are wrapped, and data is sealed, with AES-256-GCM and HKDF of the standard library. Package tink (Tink for
// Go) was looked at: it would bring the same two, a format of key sets of its own, and no way to read a part
// of a sealed file, which ranges of requests need.
package secret
