// Package eventstream publishes events, reads them, and wakes the subscriptions that wait for them.
//
// The events of an account's environment are a stream in the store: numbered from 1 without gaps, in the order of
// commit. No event is sent to a listener. The Matcher wakes its subscription, and the engine then reads with a Reader.
// So no event can be lost between two processes, and an execution that waits costs a row.
//
// An engine follows this order:
//
//  1. It publishes. Rows makes the rows of Emitted events (of a Publish command), and store.Tx.InsertEvents inserts
//     them in the transaction that journals what led to the command; Publish does so in a transaction of its own. An
//     event is stored once however often it is published. Then the engine calls Matcher.Notify.
//  2. It subscribes. Track compares the subscriptions that it knows with those of the machine. Write inserts the row
//     of a new one, which is woken from the start.
//  3. It reads. Reader.Read gets the events for a woken subscription. The index only leaves out events that the
//     subscription cannot want: the machine decides (machine.Wants).
//  4. It writes how far it has read, in the transaction that journals the events. Write puts a subscription that has
//     caught up to sleep, unless new events have passed it; any other stays woken and reads again later.
//  5. The Matcher wakes a sleeping subscription when there is an event that it may want.
//
// After a crash, and after a commit whose outcome is not known, the rows say which subscriptions are woken
// (store.Reader.WokenSubscriptions). DESIGN.md describes the index and the matching, and why they lose nothing.
package eventstream
