// Package dialect is what both dialects of the store do in the same way: the queue in which Updates wait for a
// commit (queue.go), the connections on which Views run (connections.go), and the migrations (migrate.go). It promises:
//
//   - Each request of a Queue is answered exactly once, also those that wait while the queue is closed.
//   - A panic of an Update is an error of this Update alone.
//   - A schema that is newer than the binary is refused before anything is read from it or written to it.
//
// What a connection is, how a transaction begins and ends and how a failed Update is undone is the dialect's own.
package dialect
