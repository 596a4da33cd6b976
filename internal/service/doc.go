// Package service holds the rules: who may do what, and in which order things are checked.
// Package api calls it, and it calls the store and the engine; it knows nothing of HTTP.
//
// Order of checks (docs/reference/api.md "The four core endpoints"). The caller does, in this order:
// Authenticate, Allow, ids of the path, Require, query parameters, media type and size, JSON. Every
// method then checks idempotency, workflow, fields of the body and input schema.
//
// Errors. Everything that a caller did wrong, or must know, is a *chargehand.Error with a code of
// docs/reference/api.md; the comment of each method lists the codes it can return. Beside those, every method can
// return CodeUnavailable (storage cannot be used now) and errors of any other type, which callers see
// as CodeInternal and which belong in the log.
//
// No answer reveals that something exists which the key may not see. A resource is "not found" if it
// belongs to another account or environment, to a workflow outside the key's list, or to another
// workflow than the path says.
//
// Rights. A principal is an API key, or a user in a session or with a personal key. A key has one right, its scopes
// over its workflows. A user has one for each role that grants give, and sees no workflow until May narrows it to the
// rights with the scopes of a route. A method that serves a route without scopes asks Principal.reader instead.
//
// Caches. Principals, workflows and compiled plans are cached, so that a start with a hot key
// costs one transaction and no query. What this process changes counts at once, what another
// process on the same database changes within a second (softAge, hardAge). Where processes
// share a database (Config.Shared), a change of a workflow counts at once everywhere; only
// a new, changed or revoked key takes up to a second.
//
// Several nodes. Every method is right with any number of processes on one database. What
// they decide together is decided in a transaction: by a unique index, a compare-and-set or a
// row that is read with a lock. A function given to Update may run twice, so it sets what it
// captured. Per node are: the bucket of a key (Allow), the 409 for a request that is still
// worked on (on another node the second waits for the first, in the database), and the last
// use of keys, which is written every ten seconds.
//
// The answer to a creation shows the resource as it was when it was accepted, also when the answer is
// repeated for the same Idempotency-Key. A client that wants to see more waits (View.Wait) or reads.
//
// All methods are safe for concurrent use. Values that are handed out belong to the caller, except
// *Principal, *plan.Plan and byte slices with JSON, which are shared and must not be changed.
// Times are UTC with millisecond precision; a zero time means "not known yet".
package service
