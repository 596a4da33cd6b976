// Package embedded is the durable engine of a single server. It applies events to machines, journals
// them in the store, and carries out what the machines command. DESIGN.md explains how and why.
//
// What the package promises:
//   - An event is durable before any command that follows from it is carried out.
//   - A final status never changes. Whatever arrives after the end is dropped.
//   - Everything in memory can be lost at any moment: the rows say everything.
//   - Neither the rows nor the running activities ever exceed a bound of Limits. An execution holds a
//     lease from before the commit that says StateActive until after the commit that says otherwise.
//   - Stop returns within 9 s.
//
// What the code relies on:
//   - At any time one goroutine, the driver, owns an execution in memory (instance). Machine, row and
//     sequence number need no lock. No lock is held across a commit.
//   - New, queued and running executions go through one pipeline (pipeline.go).
//   - Failed commits and commits in doubt are treated alike: what memory knows is thrown away and read
//     from the store again.
//
// The defaults of Limits are in config.go. What is above a limit ends
// as a fault of the task (an outcome that is too large), as an error of the caller
// (engine.ErrQueueFull), or waits (slots, calls, streams, processes, scripts).
//
// # Reading order
//
// The files follow the life of an execution:
//
//	start.go                    a new execution, or a queued one, gets its first event
//	instance.go, message.go     an execution in memory and the messages in its mailbox
//	table.go, drive.go          all instances; how a goroutine becomes the driver of one
//	pipeline.go                 prepare, commit, completed or failed
//	receive.go, apply.go        from a message to an event to the commands that follow
//	external.go                 what comes from outside: subscription_read.go, subscription.go, child.go, tree.go
//	state.go, outcome.go        what the row says next; how an execution ends
//	writeset.go, write.go       what one transaction writes
//	dispatch.go                 what is carried out once that is durable: activity.go, stream.go, pool.go
//	failure.go, indoubt.go      what happens when a commit fails; outage.go while the store is down
//	load.go, secret.go          how an execution comes back into memory
//
// Beside the executions:
//
//	slot.go, queue.go           leases, the right to run, and the queues that wait for them
//	schedule.go, queuecount.go  how queued executions start, and how many there are
//	timer.go                    timers
//	matcher.go, wake.go         how events wake executions; events from outside
//	cancel.go                   cancellation; cancel_batch.go of batches, cancel_child.go of children
//	recover.go, stop.go         the start and the stop of the engine
//	engine.go, config.go        the engine itself; stats.go, timeline.go and watch.go for its users
package embedded
