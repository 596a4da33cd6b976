// Package temporal is the engine for more than one machine: it drives machines inside
// Temporal workflows and keeps the rows that clients read. DESIGN.md tells how.
//
// Invariants:
//   - An execution is accepted when its row is committed; Temporal hears of it afterwards,
//     from an outbox message, at least once.
//   - Slots are counted from rows, under the lock of the account's row; no bound is exceeded at any
//     moment, on any number of nodes.
//   - Commands of the machine are carried out after Temporal has recorded the workflow task that
//     decided them.
//   - Final is final: rows end by compare-and-set, and what comes later changes nothing.
//   - Workflow code reads no store, clock or random source.
package temporal
