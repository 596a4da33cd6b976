// Package mail sends mails to persons. A mail is a row, written in the transaction of the change that it tells of
// (Outbox.Put). A process that sends leases one mail after another, so that of several processes one sends it.
//
// Invariants:
//   - A mail of a change that was committed is sent, given up with a line of the log, or expires. One of a change that
//     was undone is never sent.
//   - A mail is sent twice only if a process ends, or loses the database, between the answer of the mail server and the
//     note of it. Both have the same Message-ID. Of the mails that a process has under way, one at a time is taken by
//     the mail server and noted, so the end of a process has at most one mail sent twice, beside those for whose answer
//     it has waited longer than slowAfter.
//   - A mail with which the mail server takes long delays the others by slowAfter at most, while there are up to
//     slowAtOnce such mails. Each step and each attempt ends in time, whatever the server does.
//   - What a mail says is sealed in its row, because it may hold a link, and is forgotten when the mail has ended.
//   - The rows are bounded in number, and each in size. A full outbox makes Put say so; the change happens all the
//     same.
//
// A nil *Outbox is that of an installation without a mail server: it takes nothing.
//
// Its parts know nothing of the store: letter says what mails say, smtp hands them to a mail server.
package mail
