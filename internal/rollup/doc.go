// Package rollup counts executions by the hour, beside their path.
//
// A Counter is a service of package background. Every few seconds it counts what was accepted and what has ended since,
// and writes the counts together with how far it got. What a crash interrupts was not written, and is counted by the
// next pass. Several processes on one database may each have a Counter: a compare-and-set lets one of them count, the
// others give their pass up.
package rollup
