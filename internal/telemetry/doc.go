// Package telemetry is what an operator sees of a process from outside: it sets OpenTelemetry
// up from the standard environment variables, and shows the metrics of activities, of the
// database and of Temporal's SDK to Prometheus. Only package app imports it. Others are given a
// tracer, and know package span.
//
// Invariants:
//   - Without an address to send spans to, there is no tracer, and nothing asks for one.
//   - Labels have values from a fixed set: the number of series does not grow with what is run.
package telemetry
