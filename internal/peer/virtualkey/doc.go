// Package virtualkey makes the keys of virtual authenticators, which tests of passkeys use.
package virtualkey
