package store

import (
	"fmt"

	"github.com/chargehand/chargehand"
)

// The columns of an execution. An input that has a row of its own is joined only where
// inputs are asked for.
const (
	executionColumns = `e.no, e.id, e.account, e.environment, e.workflow, e.revision, e.machine,
 e.batch, e.item, e.item_id, e.status, e.phase, e.state, e.started_ms, e.finished_ms, e.retry_of, e.trace, e.starter, e.started_by,
 e.cause, e.cause_id, e.root, e.start_ms, e.parked, e.waits, e.root_by`
	inputColumns    = `, COALESCE(e.input, i.data), e.input_blob, e.input_size`
	inputAt         = 26
	fromInput       = ` FROM execution e LEFT JOIN input i ON i.execution = e.no`
	selectExecution = `SELECT ` + executionColumns + inputColumns + fromInput
	faultAt         = inputAt + 3
	selectItem      = `SELECT ` + executionColumns + inputColumns + `,
 CASE WHEN e.status = 5 THEN (SELECT o.fault FROM outcome o WHERE o.execution = e.no) END` + fromInput
)

func (r *Reader) scanExecution(rw Row, e *Execution) {
	*e = Execution{
		No: rw.Int(0), Account: rw.Int(2), Environment: chargehand.Environment(rw.Int(3)),
		Workflow: rw.Int(4), Revision: rw.Int(5), Machine: int(rw.Int(6)),
		Batch: rw.Int(7), Item: rw.Int(8), ItemID: rw.Text(9),
		Status: chargehand.Status(rw.Int(10)), Phase: chargehand.Phase(rw.Int(11)), State: ExecutionState(rw.Int(12)),
		StartedMs: rw.Int(13), FinishedMs: rw.Int(14), Trace: rw.Bytes(16), Starter: rw.Int(17), StartedBy: rw.Int(18),
		Cause: Cause(rw.Int(19)), CauseID: rw.Text(20), Root: rw.Int(21), StartMs: rw.Int(22), RootBy: rw.Int(25),
	}
	scanID(rw, 1, &e.ID)
	scanID(rw, 15, &e.RetryOf)
	if !rw.Null(24) {
		e.Waits = r.waits(e.No, rw.Bytes(24))
	}
	e.Waits.Kind = WaitKind(rw.Int(23))
}

func (r *Reader) scanExecutionInput(rw Row, e *Execution) {
	r.scanExecution(rw, e)
	e.Input = r.payload(rw, inputAt, kindInput, idKey(e.ID))
}

func (r *Reader) execution(query string, args ...any) (e Execution, err error) {
	err = r.one(query, func(row Row) { r.scanExecutionInput(row, &e) }, args...)
	if err != nil {
		return Execution{}, fmt.Errorf("read execution: %w", err)
	}
	return e, nil
}

// ExecutionByID reads an execution of an account and environment. Errors: ErrNotFound.
func (r *Reader) ExecutionByID(account int64, env chargehand.Environment, id chargehand.ExecutionID) (Execution, error) {
	return r.execution(selectExecution+` WHERE e.id = ?1 AND e.account = ?2 AND e.environment = ?3`, id[:], account, int64(env))
}

// ExecutionByNo reads an execution by its internal number. Errors: ErrNotFound.
func (r *Reader) ExecutionByNo(no int64) (Execution, error) {
	return r.execution(selectExecution+` WHERE e.no = ?1`, no)
}

// FindExecution reads an execution of any tenant: for the engine, whose callers have
// checked who asks. Errors: ErrNotFound.
func (r *Reader) FindExecution(id chargehand.ExecutionID) (Execution, error) {
	return r.execution(selectExecution+` WHERE e.id = ?1`, id[:])
}

// Outcome reads how an execution ended. Errors: ErrNotFound while it has not.
func (r *Reader) Outcome(no int64) (o Outcome, err error) {
	in := opener{r: r, key: rowKey{no}}
	err = r.one(`SELECT output, output_blob, output_size, fault, files, timeline FROM outcome WHERE execution = ?1`,
		func(row Row) {
			o = Outcome{
				Execution: no, Output: r.payload(row, 0, kindOutput, in.key), Fault: in.open(kindFault, row.Bytes(3)),
				Files: row.Bytes(4), Timeline: in.open(kindTimeline, row.Bytes(5)),
			}
		}, no)
	if err == nil {
		err = in.err
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("read outcome: %w", err)
	}
	return o, nil
}

// executions collects rows with their inputs.
func (r *Reader) executions(what, query string, args ...any) ([]Execution, error) {
	var list []Execution
	err := r.c.Query(query, func(row Row) error {
		var e Execution
		r.scanExecutionInput(row, &e)
		list = append(list, e)
		return nil
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// ExecutionsByState reads up to limit executions in an execution state other than StateEnded, in the
// order (account, batch, item, no); the singles of an account come first. after is the last
// one of the page before, nil for the first page.
func (r *Reader) ExecutionsByState(state ExecutionState, after *Execution, limit int) ([]Execution, error) {
	query, args := byState(selectExecution, state, after, limit)
	return r.executions("read executions by state", query, args...)
}

// byState makes the query of a page of executions in an execution state.
func byState(selection string, state ExecutionState, after *Execution, limit int) (query string, args []any) {
	var account, batch, item, no int64 = -1, 0, 0, 0
	if after != nil {
		account, batch, item, no = after.Account, after.Batch, after.Item, after.No
	}
	// Two ranges, because a comparison of rows that ends with no would not use the index
	// for no: all singles would be passed over on every page.
	return selection + ` WHERE e.state = ?1 AND e.state <> 0 AND e.account = ?2 AND e.batch = ?3 AND e.item = ?4 AND e.no > ?5
UNION ALL ` + selection + ` WHERE e.state = ?1 AND e.state <> 0 AND (e.account, e.batch, e.item) > (?2, ?3, ?4)
ORDER BY account, batch, item, no LIMIT ?6`, []any{int64(state), account, batch, item, no, int64(limit)}
}

// QueuedItems reads the next limit queued items of a batch, in item order.
func (r *Reader) QueuedItems(batch int64, limit int) ([]Execution, error) {
	return r.executions("read queued items", selectExecution+`
 WHERE e.state = 1 AND e.state <> 0 AND e.account = `+accountOfBatch+` AND e.batch = ?1 ORDER BY e.item, e.no LIMIT ?2`, batch, int64(limit))
}

// accountOfBatch is the account of batch ?1, with which the index of unfinished executions begins.
const accountOfBatch = `(SELECT account FROM batch WHERE no = ?1)`

// QueuedSingles reads queued executions of a workflow in an environment that are not items of a batch, in
// order of acceptance.
func (r *Reader) QueuedSingles(account int64, env chargehand.Environment, workflow int64, limit int) ([]Execution, error) {
	return r.executions("read queued executions", selectExecution+`
 WHERE e.account = ?1 AND e.environment = ?2 AND e.workflow = ?3 AND e.state = 1 AND e.batch = 0 ORDER BY e.no LIMIT ?4`,
		account, int64(env), workflow, int64(limit))
}

// actorOf is Execution.Actor, as the index of queued singles by actor has it.
const actorOf = `COALESCE(root_by, started_by)`

// QueuedSinglesOf is QueuedSingles for those of one actor (Execution.Actor), 0 for those that no request has led to.
func (r *Reader) QueuedSinglesOf(actor, account int64, env chargehand.Environment, workflow int64, limit int) ([]Execution, error) {
	return r.executions("read queued executions of an actor", selectExecution+`
 WHERE e.account = ?1 AND e.environment = ?2 AND e.workflow = ?3 AND `+actorOf+` = ?5 AND e.state = 1 AND e.batch = 0 ORDER BY e.no LIMIT ?4`,
		account, int64(env), workflow, int64(limit), actor)
}

// QueuedWorkflow is a workflow that has queued singles in an environment.
type QueuedWorkflow struct {
	Account     int64
	Environment chargehand.Environment
	Workflow    int64
}

// QueuedWorkflows counts the queued singles of each workflow that has some, without those that were delayed: the
// bound of the queue does not count them. It reads all of them: for recovery.
func (r *Reader) QueuedWorkflows() (map[QueuedWorkflow]int64, error) {
	counts := map[QueuedWorkflow]int64{}
	err := r.c.Query(`SELECT account, environment, workflow, SUM(CASE WHEN start_ms = 0 THEN 1 ELSE 0 END) FROM execution WHERE state = 1 AND batch = 0
 GROUP BY account, environment, workflow`, func(row Row) error {
		counts[QueuedWorkflow{row.Int(0), chargehand.Environment(row.Int(1)), row.Int(2)}] = row.Int(3)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count queued executions: %w", err)
	}
	return counts, nil
}

// QueuedActor is an actor whose singles are queued in a workflow.
type QueuedActor struct {
	QueuedWorkflow
	Actor int64 // Execution.Actor
}

// QueuedActors reads who has queued singles in which workflow. It reads all of them: for recovery.
func (r *Reader) QueuedActors() ([]QueuedActor, error) {
	return readAll(r, "read who has queued executions", `SELECT DISTINCT account, environment, workflow, `+actorOf+`
 FROM execution WHERE state = 1 AND batch = 0`, func(row Row, q *QueuedActor) {
		*q = QueuedActor{QueuedWorkflow{row.Int(0), chargehand.Environment(row.Int(1)), row.Int(2)}, row.Int(3)}
	})
}

// StateCounts counts executions by state. StateEnded is never among them.
type StateCounts [StateDelayed + 1]int64

// CountItems counts the items of a batch that have begun and not ended, by state. Items that have ended are counted in
// the batch's row; all others have not begun, and of them there may be many.
func (r *Reader) CountItems(batch int64) (n StateCounts, err error) {
	return r.stateCounts(`SELECT state, COUNT(*) FROM execution WHERE state IN (2, 3, 4) AND state <> 0
 AND account = `+accountOfBatch+` AND batch = ?1 GROUP BY state`, batch)
}

// CountItemsAtMost is CountItems that counts no more than limit items. If it has counted that many, there may be more.
func (r *Reader) CountItemsAtMost(batch int64, limit int) (n StateCounts, counted int, err error) {
	n, err = r.stateCounts(`SELECT state, COUNT(*) FROM (SELECT state FROM execution WHERE state IN (2, 3, 4) AND state <> 0
 AND account = `+accountOfBatch+` AND batch = ?1 LIMIT ?2) e GROUP BY state`, batch, int64(limit))
	for _, count := range n {
		counted += int(count)
	}
	return n, counted, err
}

// CountUnfinished counts all executions that have not ended, by state: for recovery and
// metrics. It is linear in their number.
func (r *Reader) CountUnfinished() (n StateCounts, err error) {
	return r.stateCounts(`SELECT state, COUNT(*) FROM execution WHERE state <> 0 GROUP BY state`)
}

// CountUnfinishedAtMost is CountUnfinished that counts at most limit of each state: for metrics.
func (r *Reader) CountUnfinishedAtMost(limit int) (n StateCounts, err error) {
	for _, state := range [...]ExecutionState{StateQueued, StateReady, StateActive, StateParked, StateDelayed} {
		n[state], err = r.count("count executions", `SELECT COUNT(*) FROM (SELECT no FROM execution WHERE state = ?1 AND state <> 0 LIMIT ?2) e`, int64(state), int64(limit))
		if err != nil {
			return StateCounts{}, err
		}
	}
	return n, nil
}

func (r *Reader) stateCounts(query string, args ...any) (n StateCounts, err error) {
	err = r.c.Query(query, func(row Row) error {
		n[row.Int(0)] = row.Int(1)
		return nil
	}, args...)
	if err != nil {
		return StateCounts{}, fmt.Errorf("count executions: %w", err)
	}
	return n, nil
}
