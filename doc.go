// Package chargehand holds the words that every layer shares: identifiers, statuses,
// environments, scopes, error codes. It imports the standard library only.
package chargehand
