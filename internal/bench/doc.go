// Package bench puts load on a running server and measures what an operator wants to know
// of an installation: executions per second, start-to-finish latency, batches, bytes on
// disk, memory; and, in the same run, what an empty JSON handler reaches on this machine,
// because absolute figures of a shared machine mean little.
package bench
