// Package rehearse runs executions on the machine alone, without a server, a network or a process: its caller
// plays the outside, and a virtual clock stands still until nothing can happen any more.
//
// What holds:
//
//   - There is one queue of what is to happen, by its time and then by the number of the command that it belongs to.
//     Timers and delayed outcomes are both in it, so a delay of an outcome and a timeout keep their order. The clock
//     moves only to the earliest entry of the queue.
//   - Among what happens at the same time, an execution comes before those that it started, and a lower command
//     before a higher one. Config.Last turns this order round: what depends on it, depends on luck.
//   - An execution and those that it starts share the clock, the queue and the stored events.
//   - Nothing left to happen is an error (Stuck), never an execution that waits without end.
//   - The same Config gives the same Result.
//
// With Config.Crash, the machine is dropped and restored from its checkpoint before each event.
package rehearse
