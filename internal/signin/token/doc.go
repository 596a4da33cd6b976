// Package token makes the secrets that stand for a person for a while: tokens, which are kept as their SHA-256 only,
// and codes, which people read from one screen and type into another.
package token
