// Package reminder watches the times of human tasks, publishes the facts about them, and sends people mail about their
// tasks.
//
// Invariants:
//   - A due time or reminder is a row, written in the transaction that opens the task (store.Tx.OpenTask). It is
//     removed in the transaction that notes it as a fact, or ends the task. So each is noted once, whatever crashes
//     and however many nodes work, and none is noted of a task that has ended. A task that waits costs no memory.
//   - A time that is late is noted late; of several reminders of a task that were missed, one. Times come in their
//     order, as many of one environment at a time as of the other.
//   - Facts get their numbers in one transaction at a time (store.Fact), so that a reader that remembers the last
//     number that it has read misses none. Mail is such a reader, and the only one so far. A reader that is slow or
//     stands still keeps no other back; facts are deleted after FactLife all the same.
//   - A mail is a row in the transaction that moves the reader past its fact, and then one of the outbox (package
//     mail) in the transaction that deletes the first. So each is written once; package mail says how often it is sent.
//   - A workflow hands at most MailsPerMinute mails to the outbox in a minute, in each environment; what is more waits,
//     at most MaxWaiting. Accounts take turns, and their workflows. While the outbox is behind, mails wait here, and
//     others come first.
//   - What waits of an account takes at most half of the room that the mails of other accounts leave, so that one that
//     floods keeps no other from sending.
//   - A transaction is bounded, however many people a task is for: each of them gets one mail, in one of several
//     transactions.
//   - A mail that waits is not sent when the task has ended, or its person may not answer the task any more.
//
// The worker runs on any number of nodes. Leases keep all but one of them from doing the same work; nothing depends on
// them.
package reminder
