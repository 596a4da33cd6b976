// Package schedule starts workflows by themselves (docs/language/schedules.md, T61 to T63, T84, T88). The
// published version of a workflow that has a `schedule` has one row (store.Schedule), which says
// when to look at it next; sleeping costs that row.
//
// Invariants:
//   - The row is replaced in the transaction that publishes another version, and deleted in
//     the one that deletes the workflow. A run is started in the transaction that moves the row,
//     which fails if the row is not as it was read. So each tick has one run, whatever crashes and however many nodes
//     work, and when a publication is answered, no older version starts a run any more.
//   - Ticks ascend strictly, also when the clock goes back: then nothing is due until it has come
//     to where it was. A tick that is late is started late; of several that were missed, one.
//   - What cannot be started (a full queue, a store that is away) stays due and is tried again.
//   - The times of all parts are a union: parts that are due at once have one run together.
//   - `after` waits for the end of the run that it has started, and of none else.
//   - `on` follows the stream of the live environment from the publication on. Each event is
//     offered to the matches that have begun, the oldest first, then to a new one; it is part of one match at most.
//     A match that is complete is deleted in the transaction that starts its run.
//   - Filters delay no other work: events are offered for a quarter of a second at a time, to one schedule
//     and in all; then what is due by time comes first. Those that used up their time take what the others leave.
//   - A schedule has at most 1,000 matches that have begun, of 16 MiB together. The oldest are given up.
//
// The scheduler runs on any number of nodes. A lease keeps all but one of them from doing the same
// work; nothing depends on it.
package schedule
