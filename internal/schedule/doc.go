// Package schedule starts workflows by themselves (docs/language/schedules.md, T61 to T63, T84, T88). The
// published version of a workflow that has a `schedule` has one row (store.Schedule), which says
// when the scheduler reads it next; a schedule that waits costs that row and nothing else.
//
// Invariants:
//   - The row is replaced in the transaction that publishes another version, and deleted in
//     the one that deletes the workflow. An execution is started in the transaction that moves the row,
//     which fails if the row is not as it was read. So each tick has one execution, whatever crashes and
//     however many nodes work, and when a publication is answered, no older version starts one any more.
//   - Ticks ascend strictly, also when the clock goes back: then nothing is due until it has come
//     to where it was. A tick that is late is started late; of several that were missed, one.
//   - What cannot be started (a full queue, a store that is away) stays due and is tried again.
//   - The times of all parts are a union: parts that are due at once start one execution together.
//   - `after` waits for the end of the execution that it has started, and of no other.
//   - `on` follows the stream of the live environment from the publication on. Each event is
//     offered to the matches that have begun, the oldest first, then to a new one; it is part of one match
//     at most. A match that is complete is deleted in the transaction that starts its execution.
//   - Filters delay no other work: events are offered for a quarter of a second at a time, to one schedule
//     and in all; then starts that are due by time come first. A schedule that used up its time comes after the others.
//   - A schedule has at most 1,000 matches that have begun, of 16 MiB together. The oldest are dropped.
//
// The scheduler runs on any number of nodes. A lease keeps all but one of them from doing the same
// work; nothing depends on it.
//
// # Why it is made like this
//
// The row moves with the start. A tick is done when its row says so, and the row moves in the transaction that
// accepts the execution (engine.Start.InTx). No derived ids and no table of ticks are needed: the row's step
// is a compare-and-set, and a new publication has a new row number, so a row that was read before a
// publication can never be moved after it. The row is locked with SKIP LOCKED: a node that would have to wait
// for the lock would come too late anyway, and no transaction waits for two locks.
//
// Publishing does not compile. It inserts a row that is due at once; the scheduler works out its times. So the
// transaction of a publication does not need the plan or the time zone, and a crash between the two loses
// nothing. The row of a version without a schedule is deleted when the scheduler first reads it.
//
// One row for all parts. The times of every, cron and after are columns. That makes a union of them: parts
// that are due at once start one execution together, and after downtime a schedule starts one execution and
// not one for each part.
//
// after polls for the end. Four times a second, while some execution is awaited, the scheduler asks which of
// the awaited executions have ended: one index entry for each. A hook in the end of executions would be faster
// and would cost every execution something.
//
// on is a listen task. plan.Schedule.Listener is a plan of one task, and a match is a machine that runs it:
// package machine decides filters, strategies, correlation and the form of events, as everywhere. The stored
// state of a match is the checkpoint of its machine. A match takes the events of one execution; several are
// open at once, so that with correlate each value has its own. eventstream.Reader reads the events. The
// position in the stream is written at the end of a slice in which a match took an event, before an execution
// is started, and every 1,000 events that no match takes: events that are read again are offered to the same
// matches. A state is written in full, so it is written once for all events of a slice. A schedule with large
// states (blobs) rests for a second after each MiB; otherwise a match of 4 MiB would be written for every
// small event, and its old blobs would be kept for an hour.
//
// Slices end by time. One goroutine starts what is due and evaluates filters, and an event may concern 1,000
// matches. So a slice can also end between two matches of an event, and the next one continues there.
// Schedules that used up their last slice come last, one after the other; so many slow ones cost the others
// one slice per step and not one each. A goroutine of its own for events would not make that fairer, and two
// goroutines would move one row.
//
// A lease saves work, and nothing else. Without it all nodes would prepare every start, and all but one would
// throw it away. Clocks of nodes may differ by more than the lease: then two of them work, and the rows keep
// them from doing anything twice.
//
// Ticks ascend. The last tick is in the row, and the next one is after it, no matter what the clock says. A
// schedule therefore waits after a clock that was far ahead. The alternative would be to start executions
// again for times that were served already.
package schedule
