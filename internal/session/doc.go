// Package session is the rules of sessions over the store, once for all who make, read or renew them: how a session
// begins, which tokens count and how long, and how another token replaces one.
package session
