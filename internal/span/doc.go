// Package span says what the trace of an execution looks like, for every package that has a part in
// it. It knows the API of OpenTelemetry and nothing of how spans are sent (package telemetry).
//
// A request that starts an execution leaves the context of its span with the row (Encode). The span of the
// execution is a child of it; that of an item of a batch has a trace of its own with a
// link to the request, because a trace of 10,000 executions is of no use. Its ids are derived
// from the execution's id: every process knows them (Follow), though the span is made only
// once, when the execution ends (Ended). So nothing about it is in memory meanwhile, and no
// replay makes another one.
//
// Invariants:
//   - An execution whose request was not recorded has no spans at all, on any process.
//   - Spans carry ids, names and counts; never payloads, keys, headers or texts of errors.
package span
