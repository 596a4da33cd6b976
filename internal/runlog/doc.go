// Package runlog keeps the log of each execution: what its processes write while they run, what the function log gives,
// and a line for each attempt of a call.
//
// A step hands over what it writes (Task) and never waits. One Writer of a process collects it and writes it as
// segments (store.LogSegment): when 256 KiB have come together, and otherwise so often that what is older than two
// seconds survives a crash. A short segment is in its row, a long one in the blob store. Nothing is written for an
// execution that says nothing.
//
// What a step writes is a stream of bytes that may be cut anywhere. Secrets are taken out of the stream
// (secret.Stream), before it is cut into lines and segments; this happens in the Writer, and not in the step's time.
//
// Bounds. A log has a limit (Limits.Bytes); its last line then says so, and nothing follows. What waits to be written
// is bounded for each log and for all logs together; what finds no room is dropped, and a line of the log says how
// much. Logs are written in the order in which they became due, a segment's worth at a time, so that one that writes
// much does not keep others waiting.
//
// Several processes may write to one log, as workers of Temporal do. The database puts their segments into one order:
// lines are numbered from 1 without gaps, in the order in which they were committed, so who has seen a line has seen
// all before it.
package runlog
