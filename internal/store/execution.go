package store

import "github.com/chargehand/chargehand"

// Run says what the engine owes an execution. It is stored, so that slots are counted
// from rows (architecture.md "Slots").
type Run uint8

// The run states.
const (
	RunEnded  Run = 0 // final; nothing is owed
	RunQueued Run = 1 // accepted, never started: its first event waits for a slot
	RunReady  Run = 2 // woken: events are journaled, their commands wait for a slot, first in line
	RunActive Run = 3 // holds a slot
	RunParked Run = 4 // waits (timer, later: event, person, child) without a slot
)

// Execution is the row of an execution: small and updated often. What is written once at
// the end stands in Outcome.
type Execution struct {
	No          int64 // internal key, ascending in order of commit
	ID          chargehand.ExecutionID // its time part is created_at
	Account     int64 // internal number of the account
	Environment chargehand.Environment
	Workflow    int64 // internal number of the workflow
	Revision    int64 // internal number of the definition revision it is pinned to
	Machine     int   // machine.Revision it started under
	Batch       int64 // internal number of the batch, 0 if none
	Item        int64 // index in the batch
	ItemID      string
	Status      chargehand.Status
	Phase       chargehand.Phase
	Run         Run
	StartedMs   int64 // 0 while not started
	FinishedMs  int64 // 0 while not final
	Input       Payload
	RetryOf     chargehand.ExecutionID
}

// Payload is a JSON value as bytes, or, above 128 KiB, the digest of a blob that holds it.
type Payload struct {
	Inline []byte
	Blob   []byte // 32 bytes sha256, nil when inline
	Size   int64  // bytes of the value
}

// Outcome is written once, in the transaction that makes an execution final.
type Outcome struct {
	Execution int64
	Output    Payload // zero unless completed
	Fault     []byte  // JSON of the fault, nil if completed
	Files     []byte  // JSON array of file ids: the result files; nil: output.json is rendered from Output
	Timeline  []byte  // last timeline chunk (machine.EncodeTimeline)
}

// JournalRow is one event of an execution that has not ended.
type JournalRow struct {
	Execution int64
	Seq       int64 // from 1
	Event     Payload // machine.AppendEvent
	Digest    uint64  // machine.Digest of the commands that the event caused
}

// Checkpoint is a machine state; one per execution at most.
type Checkpoint struct {
	Execution int64
	Seq       int64 // the last event that it contains
	Revision  int
	State     Payload
}

// Timer is a due command of a parked or active execution.
type Timer struct {
	Execution int64
	Command   uint64
	DueMs     int64
}
