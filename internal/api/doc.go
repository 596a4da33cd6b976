// Package api serves the HTTP interface over package service.
//
// Everything about HTTP ends here: credentials are read, paths, queries, media types and
// JSON texts are checked, answers and problems are written. What a request means is the
// service's business; the package never sees the store or an engine.
//
// Invariants:
//   - Every route needs a key unless publicRoutes lists it.
//   - The checks of a request run in one order (call.run), so the same request always gives
//     the same error: key or session, cross-origin, rate, route, ids, scope, query, media type, size, JSON. Package
//     service then checks idempotency, workflow, fields and input schema.
//   - Every error is application/problem+json and is written in one place (errors.go), also
//     those that net/http finds before a handler runs (listener.go).
//   - The OpenAPI document is generated from the same table that routes requests
//     (endpoint) and from the types of the answers (view*.go).
//
// A route is one endpoint value in the table of its resource's file and one method of call.
package api
