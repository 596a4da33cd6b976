// Package machine is the pure interpreter of workflows: (plan, state, event) → (state,
// commands). It does no I/O, starts no goroutine and reads neither clock nor random source;
// time comes in with each event, and whatever looks random is derived from SHA-256.
//
// What holds:
//
//   - The same plan and the same events give the same commands, in every process and on every
//     architecture. Digest makes that checkable.
//   - A machine restored from its checkpoint cannot be told from the original.
//   - Apply never fails and never panics on data. Outcomes of commands that are unknown or
//     withdrawn are ignored, and so is everything after Finish.
//   - Commands are numbered from 1 in the order in which they were issued. A command that is
//     withdrawn before Apply returns is never seen: its number stays unused.
//   - One Apply takes at most 1,000 pure steps, then it yields. Between two outcomes an
//     execution takes at most plan.Limits.PureSteps; its state holds at most
//     plan.Limits.StateBytes. Both end it with a fault that no try catches.
//   - Values are one in a checkpoint, and in the size of the state, if they are equal by
//     comparison. Equal hashes mean nothing: data is made by outsiders.
//   - Finish is the last command, and nothing is in flight then.
//
// docs/language describes the meaning of the language; the T numbers in comments are those of
// docs/language/decisions.md. DESIGN.md tells how the state is built and stored.
//
// A Machine belongs to one goroutine at a time. Events, commands, entries and the values in
// them are immutable once handed over.
package machine
