// Package sink delivers the events that executions publish to HTTP servers outside: those of
// emit, and lifecycle events where they are turned on. Events that came from outside are not
// delivered.
//
// What holds:
//
//   - An event is sent in the structured mode of CloudEvents 1.0, as it is stored, with the header
//     Chargehand-Environment: live or test.
//   - Each stream is delivered in its order, every event at least once: up to 100 may come
//     again after a crash. Streams do not wait for each other.
//   - - A sink begins with the events that are stored after it was first configured. How far it got is a row
//     of the database, under a name that is made of its configuration without user, password and the values of
//     the query. Rows of sinks that no process has had for 7 days, or as long as events are kept, are deleted.
//   - Publishing waits for no sink. An event that is deleted before it could be delivered
//     is logged and counted, and the delivery continues behind it.
//   - Any answer but 2xx is a failure, and the event is sent again: after a second, then after twice as
//     long, up to five minutes. After five failures in a row the sink counts as failing in this
//     stream, which is logged once; it is tried on.
//   - Of the processes on one database one delivers to a sink (a lease of the database).
package sink
