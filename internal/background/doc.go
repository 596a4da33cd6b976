// Package background has the life cycle of what runs beside requests: services such as a timer, a matcher of events or
// a sweep.
//
// What the package promises:
//   - Every service of a Group gets a context. The context ends when the group is stopped, after which the service
//     returns.
//   - Stop waits until all services have returned, or until its own context ends: it never waits longer, also if a
//     service hangs in a database or a peer that does not answer. Its error names the services that are late.
//   - Nothing begins in a group that has been stopped.
package background
