package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// ExecutionState says what the engine still has to do for an execution. It is stored, so that slots are counted
// from rows (docs/explanation/architecture.md "Slots"). It is StateEnded exactly when the status is final.
type ExecutionState uint8

// The execution states.
const (
	StateEnded  ExecutionState = 0 // final; nothing is left to do
	StateQueued ExecutionState = 1 // accepted, never started: its first event waits for a slot
	StateReady  ExecutionState = 2 // woken: events are journaled, their commands wait for a slot, first in line
	StateActive ExecutionState = 3 // holds a slot
	StateParked ExecutionState = 4 // waits without a slot (for a timer, an event or a child)
	// StateDelayed: accepted, and not to start before StartMs. Then it becomes StateQueued (StartDelayed).
	StateDelayed ExecutionState = 5
)

// Begun reports whether a state is one of executions that have begun and not ended: they have a machine.
func (s ExecutionState) Begun() bool { return s == StateReady || s == StateActive || s == StateParked }

// Execution is the row of an execution: small and updated often. What is written once at
// the end is in Outcome.
type Execution struct {
	No          int64                  // internal key, ascending in order of insertion (several nodes: not of commit)
	ID          chargehand.ExecutionID // its time part is created_at
	Account     int64                  // internal number of the account
	Environment chargehand.Environment
	Workflow    int64 // internal number of the workflow
	Revision    int64 // internal number of the definition revision it is pinned to
	Machine     int   // machine.Revision it started under
	Batch       int64 // internal number of the batch, 0 if none
	Item        int64 // index in the batch; ids of a batch's items ascend with it
	ItemID      string
	Status      chargehand.Status
	Phase       chargehand.Phase
	State       ExecutionState
	StartedMs   int64 // 0 while not started
	FinishedMs  int64 // 0 while not final
	Input       Payload
	RetryOf     chargehand.ExecutionID
	Starter     int64  // number of the Starter; 0: the one who has started it has no limits
	StartedBy   int64  // number of the API key whose request has started it; below 0: of the person; 0: no request
	Cause       Cause  // where neither batch, RetryOf nor Root says what has caused it
	CauseID     string // of what has
	Root        int64  // root of its tree, if another execution has started it; else 0
	RootBy      int64  // StartedBy of that root
	StartMs     int64  // it does not start before; 0: it starts at once
	Waits       Waits  // what it waits for; set by SetStatus, SetState, ReportState and ReportWaits
	// Labels are inserted with it. They are not read with it (see Labels).
	Labels []Label
	// Trace is the trace context of the request that led to it, 25 bytes (package span); nil
	// unless that was recorded. It is written once, with the row.
	Trace []byte
}

// Actor is whose request has led to the execution: to itself, or to the root of its tree. It is a number as StartedBy.
func (e *Execution) Actor() int64 {
	if e.StartedBy != 0 {
		return e.StartedBy
	}
	return e.RootBy
}

// InlineBytes is the size up to which a payload belongs inline; above it, the caller puts
// it into the blob store and passes its digest.
const InlineBytes = 128 << 10

// rowInputBytes is the size up to which an input is in the execution's own row. Larger
// ones have a row of their own, so that a change of status does not write them again.
const rowInputBytes = 1 << 10

// Payload is a JSON value as bytes, or, above 128 KiB, the digest of a blob that holds it.
type Payload struct {
	Inline []byte
	Blob   []byte // blob.Digest.Bytes; nil when inline
	Size   int64  // bytes of the value
	// Damage: the value was stored sealed and cannot be opened; Inline is nil then.
	Damage error
}

// Outcome is written once, in the transaction that makes an execution final.
type Outcome struct {
	Execution int64   // set by FinishExecution and InsertFinished
	Output    Payload // zero unless completed
	Fault     []byte  // JSON of the fault, nil if completed
	Files     []byte  // JSON array of file ids: the result files; nil: output.json is rendered from Output
	Timeline  []byte  // last timeline chunk (machine.EncodeTimeline)
	Ending    Ending  // set by FinishExecution; not stored with it
}

// Most executions have been started by a request and start at once: their insertion names no more columns.
const insertExecution = `INSERT INTO execution (id, account, environment, workflow, revision, machine,
 batch, item, item_id, status, phase, state, started_ms, finished_ms, input, input_blob, input_size, retry_of, trace, starter, started_by, bytes)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)`

const insertCaused = `INSERT INTO execution (id, account, environment, workflow, revision, machine,
 batch, item, item_id, status, phase, state, started_ms, finished_ms, input, input_blob, input_size, retry_of, trace, starter, started_by, bytes,
 cause, cause_id, root, start_ms, parked, root_by)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28)`

// InsertExecution inserts e and sets e.No. ErrConflict: the id is taken. A payload blob
// must have been reserved (ReserveBlob); otherwise ErrNotFound.
func (t *Tx) InsertExecution(e *Execution) error {
	return t.insertExecution(e, e.Input.Size)
}

// insertExecution inserts e and counts it, with the bytes of its payloads.
func (t *Tx) insertExecution(e *Execution, bytes int64) error {
	input := t.seal(kindInput, idKey(e.ID), e.Input.Inline)
	query, args := t.insertStatement(e, input, bytes)
	no, err := t.insert("insert execution", query, args...)
	if err != nil {
		return err
	}
	return t.recordInserted(e, no, input, bytes)
}

// InsertExecutions is InsertExecution for each of some rows. It takes less time for those that need the same statement.
func (t *Tx) InsertExecutions(rows []Execution) error {
	const rowsPerInsert = 64 // bounds the arguments in memory
	var text string
	var args [][]any
	var inputs []any
	insert := func(rows []Execution) error {
		numbers, err := t.c.InsertAll(text, args)
		if err != nil {
			return fmt.Errorf("insert executions: %w", err)
		}
		for i := range rows {
			if err := t.recordInserted(&rows[i], numbers[i], inputs[i], rows[i].Input.Size); err != nil {
				return err
			}
		}
		args, inputs = args[:0], inputs[:0]
		return nil
	}
	for i := range rows {
		input := t.seal(kindInput, idKey(rows[i].ID), rows[i].Input.Inline)
		query, row := t.insertStatement(&rows[i], input, rows[i].Input.Size)
		if len(args) == rowsPerInsert || len(args) > 0 && query != text {
			if err := insert(rows[i-len(args) : i]); err != nil {
				return err
			}
		}
		text, args, inputs = query, append(args, row), append(inputs, input)
	}
	if len(args) == 0 {
		return nil
	}
	return insert(rows[len(rows)-len(args):])
}

// isApart reports whether the input of an execution has a row of its own.
func (e *Execution) isApart() bool { return len(e.Input.Inline) > rowInputBytes }

// insertStatement is the statement that inserts the row of e, with its arguments. input is that of e, sealed.
func (t *Tx) insertStatement(e *Execution, input any, bytes int64) (query string, args []any) {
	inline := input
	if e.isApart() {
		inline = nil
	}
	query, args = insertExecution, append(make([]any, 0, 28),
		e.ID[:], e.Account, int64(e.Environment), e.Workflow, e.Revision, int64(e.Machine),
		e.Batch, e.Item, textArg(e.ItemID), int64(e.Status), int64(e.Phase), int64(e.State),
		e.StartedMs, e.FinishedMs, inline, t.hide(e.Input.Blob), sizeArg(e.Input), idArg(e.RetryOf), bytesArg(e.Trace), e.Starter, e.StartedBy, bytes)
	if e.Cause != 0 || e.CauseID != "" || e.Root != 0 || e.StartMs != 0 {
		parked := WaitKind(0)
		if e.State == StateDelayed {
			parked = WaitTimer
		}
		query, args = insertCaused, append(args, int64(e.Cause), textArg(e.CauseID), e.Root, e.StartMs, int64(parked), numberArg(e.RootBy))
	}
	return query, args
}

// recordInserted counts an execution whose row was inserted with a number, and inserts what belongs to it in other
// tables.
func (t *Tx) recordInserted(e *Execution, no int64, input any, bytes int64) error {
	e.No = no
	t.countUsage(e.Account, e.Environment, e.StartedBy, Usage{Executions: 1, Bytes: bytes})
	if e.isApart() {
		if err := t.c.Send("insert input", `INSERT INTO input (execution, data) VALUES (?1, ?2)`, no, input); err != nil {
			return err
		}
	}
	if e.Waits.Kind != 0 || e.Waits.Attempt != nil { // what is sealed names the number of its row
		err := t.c.Send("insert waits", `UPDATE execution SET parked = ?2, waits = ?3 WHERE no = ?1`,
			no, int64(e.Waits.Kind), t.seal(kindWaits, rowKey{no}, e.Waits.encode()))
		if err != nil {
			return err
		}
	}
	for _, l := range e.Labels {
		err := t.c.Send("insert label", `INSERT INTO label (execution, account, environment, workflow, name, value, id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
			no, e.Account, int64(e.Environment), e.Workflow, l.Name, l.Value, e.ID[:])
		if err != nil {
			return err
		}
	}
	return t.refBlob(e.Input.Blob)
}

// InsertFinished inserts an execution that is already final, with its outcome: what starts
// and ends in one transaction costs no update, and has no secrets to pin. It sets e.No and o.Execution. Items of a
// batch are refused, because they are counted by FinishExecution.
func (t *Tx) InsertFinished(e *Execution, o *Outcome) error {
	if e.State != StateEnded || !e.Status.Final() || e.Batch != 0 {
		return errors.New("insert finished execution: not final, or an item of a batch")
	}
	if err := t.insertExecution(e, e.Input.Size+o.Output.Size); err != nil {
		return err
	}
	if e.Status == chargehand.Errored {
		t.failures = append(t.failures, Failure{e.ID, e.Workflow, e.Phase, o.Fault})
		if err := t.describeFault(e.No, o.Fault); err != nil {
			return err
		}
	}
	return t.insertOutcome(e.No, o)
}

// describeFault writes into the row what failures are found and grouped by.
func (t *Tx) describeFault(no int64, fault []byte) error {
	d := t.faultMarks(fault)
	return t.c.Send("describe fault", `UPDATE execution SET error_code = ?2, error_at = ?3, error_hash = ?4 WHERE no = ?1`,
		no, d.Code, textArg(d.At), d.Hash)
}

func (t *Tx) insertOutcome(no int64, o *Outcome) error {
	o.Execution = no
	row := rowKey{no}
	err := t.c.Send("insert outcome", `INSERT INTO outcome (execution, output, output_blob, output_size, fault, files, timeline)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`, no, t.seal(kindOutput, row, o.Output.Inline), t.hide(o.Output.Blob), sizeArg(o.Output),
		t.seal(kindFault, row, o.Fault), bytesArg(o.Files), t.seal(kindTimeline, row, o.Timeline))
	if err != nil {
		return err
	}
	return t.refBlob(o.Output.Blob)
}

// SetStatus moves an execution that is not final. startedMs is kept from the first call
// that gives one. waits is what it waits for from now on. The first item of a batch to start makes a pending batch
// running.
// ErrConflict: the execution is final or does not exist; nothing was written, and the Update can continue.
func (t *Tx) SetStatus(
	no int64, status chargehand.Status, phase chargehand.Phase, state ExecutionState, startedMs int64, waits Waits,
) error {
	if state == StateEnded || status.Final() {
		return errors.New("set status: a final status needs FinishExecution")
	}
	var batch int64
	err := t.one(`UPDATE execution SET status = ?2, phase = ?3, state = ?4,
 started_ms = CASE WHEN started_ms = 0 THEN ?5 ELSE started_ms END, parked = ?6, waits = ?7
 WHERE no = ?1 AND state <> 0 RETURNING batch`, func(r Row) { batch = r.Int(0) },
		no, int64(status), int64(phase), int64(state), startedMs, int64(waits.Kind), t.seal(kindWaits, rowKey{no}, waits.encode()))
	if err != nil {
		return moveError("set status", err)
	}
	if batch == 0 || startedMs == 0 {
		return nil
	}
	return t.startBatch(batch, startedMs)
}

// SetState changes state, phase and what the execution waits for, not the status: it is cheaper than
// SetStatus, because no index of all executions changes. ErrConflict: final or unknown; nothing was written, and the
// Update can continue.
func (t *Tx) SetState(no int64, phase chargehand.Phase, state ExecutionState, waits Waits) error {
	if state == StateEnded {
		return errors.New("set state: a final status needs FinishExecution")
	}
	return t.change("set state", `UPDATE execution SET phase = ?2, state = ?3, parked = ?4, waits = ?5 WHERE no = ?1 AND state <> 0`,
		no, int64(phase), int64(state), int64(waits.Kind), t.seal(kindWaits, rowKey{no}, waits.encode()))
}

// FinishExecution makes an execution final: compare-and-set on "not final", outcome
// written, journal, checkpoint, timers, subscriptions and pinned secrets deleted, open human tasks withdrawn, its batch
// counted, what it means to its parent and children noted (o.Ending). batchFinal reports
// that the batch became final by it. ErrConflict: already final, or unknown; nothing was
// written, and the Update can continue.
func (t *Tx) FinishExecution(no int64, status chargehand.Status, phase chargehand.Phase, startedMs, finishedMs int64, o *Outcome) (batchFinal bool, err error) {
	if !status.Final() || finishedMs == 0 {
		return false, errors.New("finish execution: the status must be final and the time set")
	}
	failure := Failure{Phase: phase, Fault: o.Fault}
	var owner UsageOwner
	var batch int64
	var has int64
	// Few executions have secrets, listen, or belong to a tree: for the others this looks into
	// indexes and costs no statement.
	const hasSecrets, hasSubscriptions, inTree, rolledUp, asksPeople = 1, 2, 4, 8, 16
	err = t.one(`UPDATE execution SET status = ?2, phase = ?3, state = 0,
 started_ms = CASE WHEN started_ms = 0 THEN ?4 ELSE started_ms END, finished_ms = ?5, bytes = bytes + ?6,
 parked = 0, waits = NULL
 WHERE no = ?1 AND state <> 0
 RETURNING batch, CASE WHEN EXISTS (SELECT 1 FROM execution_secret s WHERE s.execution = ?1) THEN 1 ELSE 0 END
 + CASE WHEN EXISTS (SELECT 1 FROM subscription s WHERE s.execution = ?1) THEN 2 ELSE 0 END
 + CASE WHEN EXISTS (SELECT 1 FROM child c WHERE c.execution = ?1) THEN 4 ELSE 0 END
 + CASE WHEN EXISTS (SELECT 1 FROM human_task h WHERE h.execution = ?1 AND h.status < 3) THEN 16 ELSE 0 END
 + CASE WHEN ?1 <= (SELECT closing FROM rollup_cursor WHERE one = 1) THEN 8 ELSE 0 END, workflow, id, account, environment, started_by`,
		func(r Row) {
			batch, has, failure.Workflow = r.Int(0), r.Int(1), r.Int(2)
			owner = UsageOwner{r.Int(4), chargehand.Environment(r.Int(5)), r.Int(6)}
			if status == chargehand.Errored {
				scanID(r, 3, &failure.ID)
			}
		},
		no, int64(status), int64(phase), startedMs, finishedMs, o.Output.Size)
	if err != nil {
		return false, moveError("finish execution", err)
	}
	t.countUsage(owner.Account, owner.Environment, owner.Actor, Usage{Bytes: o.Output.Size})
	if status == chargehand.Errored {
		t.failures = append(t.failures, failure)
		if err := t.describeFault(no, o.Fault); err != nil {
			return false, err
		}
	}
	if err := t.insertOutcome(no, o); err != nil {
		return false, err
	}
	if err := t.dropWork(no); err != nil {
		return false, err
	}
	if has&hasSecrets != 0 {
		if err := t.dropSecrets(no); err != nil {
			return false, err
		}
	}
	if has&hasSubscriptions != 0 {
		if err := t.dropSubscriptions(`DELETE FROM subscription WHERE execution = ?1 RETURNING no`, no); err != nil {
			return false, err
		}
	}
	if has&asksPeople != 0 {
		if err := t.withdrawTasks(no, withdrawal(phase), finishedMs); err != nil {
			return false, fmt.Errorf("withdraw human tasks: %w", err)
		}
	}
	if has&rolledUp != 0 {
		if err := t.noteEnd(no); err != nil {
			return false, err
		}
	}
	o.Ending = Ending{}
	if has&inTree != 0 {
		if o.Ending, err = t.endInTree(no); err != nil {
			return false, err
		}
	}
	if batch == 0 {
		return false, nil
	}
	n := ends{finished: 1}
	if status != chargehand.Finished {
		n = ends{failed: 1}
	}
	if phase == chargehand.Cancelled {
		n.cancelled = 1
	}
	return t.countEnds(batch, n, finishedMs)
}

// dropWork deletes what only a running execution needs.
func (t *Tx) dropWork(no int64) error {
	if err := t.DropJournal(no, maxSeq); err != nil {
		return err
	}
	if err := t.DropCheckpoint(no); err != nil {
		return err
	}
	return t.DeleteTimers(no)
}

// moveError turns "no row matched" of a compare-and-set into ErrConflict.
func moveError(what string, err error) error {
	if errors.Is(err, ErrNotFound) {
		err = ErrConflict
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Queue is where the execution waits for its first slot, unless it is an item of a batch.
func (e *Execution) Queue() QueuedWorkflow {
	return QueuedWorkflow{Account: e.Account, Environment: e.Environment, Workflow: e.Workflow}
}
