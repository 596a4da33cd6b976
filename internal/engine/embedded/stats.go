package embedded

import (
	"sync/atomic"
)

// counters only grow, except retained.
type counters struct {
	started       atomic.Int64
	queued        atomic.Int64
	refused       atomic.Int64
	finished      atomic.Int64
	failed        atomic.Int64
	activities    atomic.Int64
	interruptions atomic.Int64
	late          atomic.Int64
	published     atomic.Int64
	woken         atomic.Int64
	failures      atomic.Int64
	retained      atomic.Int64
}

// Stats tells what the engine has done since it was made, and what it is doing now.
type Stats struct {
	Started       int64 // executions whose first event happened, from acceptance or from the queue
	Queued        int64 // executions that were accepted without a slot
	Refused       int64 // acceptances refused because the store was unavailable
	Finished      int64 // executions that ended as finished
	Failed        int64 // executions that ended as error
	Activities    int64 // activities that were started
	Interruptions int64 // activities cut off by a stop or a crash
	Late          int64 // outcomes that arrived after their command was withdrawn
	Published     int64 // events of `emit` tasks, and events from outside
	Woken         int64 // subscriptions that the event matcher has woken
	Failures      int64 // write sets that failed and were tried again

	InMemory         int   // executions in memory now
	Timers           int   // timers in memory now
	CallsRunning     int   // outgoing calls now
	CallsWaiting     int   // outgoing calls in line
	StreamsRunning   int   // subscriptions of `call: asyncapi` now
	StreamsWaiting   int   // such subscriptions in line
	ProcessesRunning int   // processes now
	ProcessesWaiting int   // processes in line
	ScriptsRunning   int   // scripts in JavaScript now
	ScriptsWaiting   int   // such scripts in line
	RetainedBytes    int64 // outcomes that wait for the store
	StoreUnavailable bool  // the last commit failed
}

// Stats returns a snapshot; its numbers are not from one moment.
func (e *Engine) Stats() Stats {
	c := &e.stats
	s := Stats{
		Started: c.started.Load(), Queued: c.queued.Load(), Refused: c.refused.Load(),
		Finished: c.finished.Load(), Failed: c.failed.Load(),
		Activities: c.activities.Load(), Interruptions: c.interruptions.Load(), Late: c.late.Load(),
		Published: c.published.Load(), Woken: c.woken.Load(), Failures: c.failures.Load(),
		InMemory: e.instances.size(), Timers: e.timers.held(),
		RetainedBytes: c.retained.Load(), StoreUnavailable: e.outage.down.Load(),
	}
	s.CallsRunning, s.CallsWaiting = e.calls.counts()
	s.StreamsRunning, s.StreamsWaiting = e.streams.counts()
	s.ProcessesRunning, s.ProcessesWaiting = e.processes.counts()
	s.ScriptsRunning, s.ScriptsWaiting = e.scripts.counts()
	return s
}
