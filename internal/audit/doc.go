// Package audit writes the audit log of an installation: who changed what, when and from where.
//
// An entry is written in the transaction of its change, by Write: there is no change without an entry, and no entry
// without a change. Starts, reads and drafts have none. Every action is in Actions, with what it means;
// docs/reference/audit-log.md is held to that list by a test.
//
// A new change that is to be audited needs an action in the list, a call of Write with the transaction, and the action
// at its route (package api), where a test asks for one or for the reason why there is none. Changes never hold a
// password, a key, a token or the value of a secret; tests look for them.
package audit
