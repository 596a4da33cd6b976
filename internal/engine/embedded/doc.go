// Package embedded is the durable engine: it feeds machines from a journal in the store and
// does what they command. DESIGN.md tells how.
//
// Invariants:
//   - An event is durable before any command that follows from it is carried out.
//   - At any time one goroutine, the driver, owns an execution in memory (run); machine, row and
//     sequence number need no lock. No lock is held across a commit.
//   - New, queued and running executions go through one pipeline, and failed commits and those in
//     doubt have one treatment. What memory knows is thrown away then, and read from the store.
//   - An execution holds a lease from before the commit that says StateActive until after the commit
//     that says otherwise, and releases it once. So neither the rows nor the activities ever
//     exceed a bound.
//   - Final is final: whatever comes after the end is dropped.
//   - What is in memory can be lost at any moment: the store has everything.
//
// Limits are in Limits; each has a default of docs/explanation/architecture.md "Limits". What is above a
// limit ends as a fault of the task (an outcome too large), as an error of the caller
// (ErrQueueFull), or waits in line (slots, calls, streams, processes).
package embedded
