// Package testserve runs tests of a definition that a request brings. All of it happens in a worker: a process of our
// own binary without files, network and children (process.StartWorker), which ends with the request.
//
// What holds:
//
//   - Nothing is read but the texts of the request. A mock that says `real` is refused, and so is a definition that
//     needs an external resource.
//   - A run takes at most HardTime: the worker is killed then. Tests that have not ended after SoftTime are stopped,
//     and the results of the others are kept.
//   - A run takes at most MemoryBytes, and its results as JSON about MaxResultBytes: what is more is left out, and
//     Run.Cut says so.
//   - A worker that dies, for lack of memory or by a mistake of ours, takes nothing with it.
//
// The package does not bound how many run at once: its caller does.
package testserve
