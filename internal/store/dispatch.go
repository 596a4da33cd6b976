package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// What an engine on many machines needs to hand out slots from rows. The order of locks is
// account, executions, batch.

// LockAccount locks an account until the Update is committed: who hands out slots of the
// account does so alone. Errors: ErrNotFound.
func (t *Tx) LockAccount(no int64) error {
	nos, err := t.numbers(`SELECT no FROM account WHERE no = ?1`+t.c.ForUpdate(), no)
	if err == nil && len(nos) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("lock account: %w", err)
	}
	return nil
}

// CountActive counts the executions of an account that hold a slot, at most limit. It reads as many
// index entries.
func (r *Reader) CountActive(account int64, limit int) (int, error) {
	return r.countActive("count active executions", `state = 3 AND state <> 0 AND account = ?1`, account, limit)
}

// CountActiveOfTest counts those of CountActive that are of environment test, at most limit.
func (r *Reader) CountActiveOfTest(account int64, limit int) (int, error) {
	return r.countActive("count active executions of test", `state = 3 AND environment = 2 AND account = ?1`, account, limit)
}

// CountActiveItems counts the items of a batch that hold a slot, at most limit.
func (r *Reader) CountActiveItems(account, batch int64, limit int) (int, error) {
	return r.countActive("count active items", `state = 3 AND state <> 0 AND account = ?1 AND batch = ?3`, account, limit, batch)
}

func (r *Reader) countActive(what, where string, account int64, limit int, more ...any) (int, error) {
	n, err := r.count(what, `SELECT COUNT(*) FROM (SELECT 1 FROM execution WHERE `+where+` LIMIT ?2) counted`, append([]any{account, int64(limit)}, more...)...)
	return int(n), err
}

// Waiting reports whether executions of an account wait for a slot.
func (r *Reader) Waiting(account int64) (bool, error) {
	return r.exists("look for waiting executions", `SELECT 1 WHERE EXISTS (SELECT 1 FROM execution WHERE state = 2 AND state <> 0 AND account = ?1)
 OR EXISTS (SELECT 1 FROM execution WHERE state = 1 AND state <> 0 AND account = ?1)`, account)
}

// ReadyBefore reports whether ready executions of a queue wait for a slot.
func (r *Reader) ReadyBefore(account int64, s Queue) (bool, error) {
	return r.exists("look for woken executions", `SELECT 1 FROM execution
 WHERE state = 2 AND account = ?1 AND batch = ?2 AND environment = ?3 AND workflow = ?4 LIMIT 1`, account, s.Batch, int64(s.Environment), s.Workflow)
}

// WaitingAccounts reads the numbers of the accounts with executions that wait for a slot.
// It reads one index entry per account.
func (r *Reader) WaitingAccounts() ([]int64, error) {
	seen := map[int64]bool{}
	var list []int64
	for _, state := range []ExecutionState{StateReady, StateQueued} {
		nos, err := r.numbers(`WITH RECURSIVE step (account) AS (
 SELECT (SELECT account FROM execution WHERE state = ?1 AND state <> 0 ORDER BY account LIMIT 1)
 UNION ALL
 SELECT (SELECT e.account FROM execution e WHERE e.state = ?1 AND e.state <> 0 AND e.account > step.account ORDER BY e.account LIMIT 1)
 FROM step WHERE step.account IS NOT NULL)
SELECT account FROM step WHERE account IS NOT NULL`, int64(state))
		if err != nil {
			return nil, fmt.Errorf("read accounts that wait: %w", err)
		}
		for _, no := range nos {
			if !seen[no] {
				seen[no] = true
				list = append(list, no)
			}
		}
	}
	return list, nil
}

// Queue is where executions of an account wait for a slot: a batch, or, with the batch 0, the single executions of a
// workflow in an environment.
type Queue struct {
	Environment chargehand.Environment
	Batch       int64
	Workflow    int64
	Concurrency int  // of the batch
	Cancelled   bool // nothing of the batch starts any more
}

// QueuePosition is the position of a queue in the order of Queues. The zero value is before all.
type QueuePosition struct{ Batch, Workflow int64 }

// Position returns the position of q.
func (s Queue) Position() QueuePosition {
	if s.Batch != 0 {
		return QueuePosition{Batch: s.Batch}
	}
	return QueuePosition{Workflow: s.Workflow}
}

// After reports whether p is after q.
func (p QueuePosition) After(q QueuePosition) bool {
	return p.Batch > q.Batch || p.Batch == q.Batch && p.Workflow > q.Workflow
}

// Queues reads up to limit queues of an account and environment that have executions in a state (StateQueued or
// StateReady): first workflows, then batches, each ascending, those after a position. It reads an index entry for each,
// and for each batch of the other environment between them.
func (r *Reader) Queues(account int64, state ExecutionState, env chargehand.Environment, after QueuePosition, limit int) ([]Queue, error) {
	var list []Queue
	var err error
	if after.Batch == 0 {
		list, err = r.workflowQueues(account, state, env, after.Workflow, limit)
	}
	if err == nil && len(list) < limit {
		err = r.c.Query(`WITH RECURSIVE step (batch) AS (
 SELECT (SELECT batch FROM execution WHERE state = ?1 AND state <> 0 AND account = ?2 AND batch > ?3 ORDER BY batch LIMIT 1)
 UNION ALL
 SELECT (SELECT e.batch FROM execution e WHERE e.state = ?1 AND e.state <> 0 AND e.account = ?2 AND e.batch > step.batch ORDER BY e.batch LIMIT 1)
 FROM step WHERE step.batch IS NOT NULL)
SELECT step.batch, b.workflow, b.concurrency, b.cancel_requested
FROM step LEFT JOIN batch b ON b.no = step.batch WHERE step.batch IS NOT NULL AND COALESCE(b.environment, 0) = ?4 LIMIT ?5`, func(row Row) error {
			list = append(list, Queue{Environment: env, Batch: row.Int(0), Workflow: row.Int(1), Concurrency: int(row.Int(2)), Cancelled: row.Int(3) != 0})
			return nil
		}, int64(state), account, after.Batch, int64(env), int64(limit-len(list)))
	}
	if err != nil {
		return nil, fmt.Errorf("read queues: %w", err)
	}
	return list, nil
}

func (r *Reader) workflowQueues(account int64, state ExecutionState, env chargehand.Environment, after int64, limit int) ([]Queue, error) {
	waits := `state = 1 AND e.batch = 0` // as the indexes say it
	if state == StateReady {
		waits = `state = 2 AND e.batch = 0`
	}
	var list []Queue
	err := r.c.Query(`WITH RECURSIVE step (workflow) AS (
 SELECT (SELECT e.workflow FROM execution e WHERE e.`+waits+` AND e.account = ?1 AND e.environment = ?2 AND e.workflow > ?3
  ORDER BY e.workflow LIMIT 1)
 UNION ALL
 SELECT (SELECT e.workflow FROM execution e WHERE e.`+waits+` AND e.account = ?1 AND e.environment = ?2 AND e.workflow > step.workflow
  ORDER BY e.workflow LIMIT 1)
 FROM step WHERE step.workflow IS NOT NULL)
SELECT workflow FROM step WHERE workflow IS NOT NULL LIMIT ?4`, func(row Row) error {
		list = append(list, Queue{Environment: env, Workflow: row.Int(0)})
		return nil
	}, account, int64(env), after, int64(limit))
	return list, err
}

// Candidate is an execution that can be given a slot.
type Candidate struct {
	Execution        // an input that has a row of its own is left out
	Report     int64 // number of the last state report
	InputApart bool  // the input has a row of its own
}

const selectCandidate = `SELECT ` + executionColumns + `, e.input, e.input_blob, e.input_size, e.report,
 (SELECT COUNT(*) FROM input i WHERE i.execution = e.no) FROM execution e`

func (t *Tx) candidates(what, query string, args ...any) ([]Candidate, error) {
	var list []Candidate
	err := t.c.Query(query+t.c.SkipLocked(), func(row Row) error {
		var c Candidate
		t.scanExecutionInput(row, &c.Execution)
		c.Report, c.InputApart = row.Int(inputAt+3), row.Int(inputAt+4) != 0
		list = append(list, c)
		return nil
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// NextQueued reads the next queued executions of a queue, by item, or in the order of
// acceptance. Those that another Update has in hand are passed over.
func (t *Tx) NextQueued(account int64, s Queue, limit int) ([]Candidate, error) {
	const what = "read queued executions"
	if s.Batch != 0 {
		return t.candidates(what, selectCandidate+`
 WHERE e.state = 1 AND e.state <> 0 AND e.account = ?1 AND e.batch = ?2 ORDER BY e.item, e.no LIMIT ?3`, account, s.Batch, int64(limit))
	}
	return t.candidates(what, selectCandidate+`
 WHERE e.state = 1 AND e.batch = 0 AND e.account = ?1 AND e.environment = ?2 AND e.workflow = ?3 ORDER BY e.no LIMIT ?4`,
		account, int64(s.Environment), s.Workflow, int64(limit))
}

// NextReady is NextQueued for woken executions, in the order of waking.
func (t *Tx) NextReady(account int64, s Queue, limit int) ([]Candidate, error) {
	return t.candidates("read woken executions", selectCandidate+`
 WHERE e.state = 2 AND e.account = ?1 AND e.batch = ?2 AND e.environment = ?3 AND e.workflow = ?4 ORDER BY e.ready_ms, e.no LIMIT ?5`,
		account, s.Batch, int64(s.Environment), s.Workflow, int64(limit))
}

// StartQueued gives slots to queued executions, in few statements; those that are suspended stay so. startedMs is
// their start, or the time part of the id where that is later; it is set in the rows given. The first item of a batch
// to start makes a pending batch running.
// ErrConflict: one of them is not queued any more; the Update must be undone.
func (t *Tx) StartQueued(rows []Candidate, startedMs int64) error {
	byTime := map[int64][]int64{}
	batches := map[int64]int64{}
	for i := range rows {
		row := &rows[i]
		row.StartedMs = max(startedMs, row.ID.Milli())
		row.Status, row.State = chargehand.Processing, StateActive
		if row.Phase != chargehand.Suspended {
			row.Phase = chargehand.Running
		}
		byTime[row.StartedMs] = append(byTime[row.StartedMs], row.No)
		if row.Batch != 0 && batches[row.Batch] == 0 {
			batches[row.Batch] = row.StartedMs
		}
	}
	for ms, nos := range byTime {
		err := t.markAll("start queued executions", nos, `UPDATE execution SET status = 2, phase = CASE WHEN phase = 4 THEN 4 ELSE 2 END, state = 3, started_ms = ?%d WHERE no IN (%s) AND state = 1`, ms)
		if err != nil {
			return err
		}
	}
	for batch, ms := range batches {
		if err := t.startBatch(batch, ms); err != nil {
			return err
		}
	}
	return nil
}

// GrantReady gives slots to woken executions, in few statements. ErrConflict: one of them is not woken any more; the
// Update must be undone.
func (t *Tx) GrantReady(rows []Candidate) error {
	nos := make([]int64, len(rows))
	for i := range rows {
		rows[i].State, nos[i] = StateActive, rows[i].No
	}
	// run + 0, so that no planner takes the index of what is woken for that of the numbers.
	return t.markAll("grant slots", nos, `UPDATE execution SET ready_ms = ?%d, state = 3 WHERE no IN (%s) AND state + 0 = 2`, 0)
}

func (t *Tx) markAll(what string, nos []int64, text string, value int64) error {
	changed := int64(0)
	err := inGroups(nos, func(list string, args []any) error {
		n, err := t.c.Exec(fmt.Sprintf(text, len(args)+1, list), append(args, value)...)
		changed += n
		return err
	})
	if err == nil && changed != int64(len(nos)) {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// QueuedAtLeast reports whether a workflow has at least n queued singles in an environment, n at least 1. It
// reads up to n index entries.
func (r *Reader) QueuedAtLeast(w QueuedWorkflow, n int) (bool, error) {
	return r.exists("look at the queue of a workflow",
		`SELECT 1 FROM execution WHERE account = ?1 AND environment = ?2 AND workflow = ?3 AND state = 1 AND batch = 0 LIMIT 1 OFFSET ?4`,
		w.Account, int64(w.Environment), w.Workflow, int64(n-1))
}

// Reported is what a row says after ReportState.
type Reported struct {
	Changed bool  // by this call
	Final   bool  // it has ended, or is gone; nothing was changed
	Report  int64 // number of the last state report
	State   ExecutionState
	Account int64
	Batch   int64
}

// ReportState changes state and phase if number is above that of the last report
// and the execution is not final, and reports what the row says then. Called again
// with the same number it changes nothing. waits is what it waits for from now on. wakeMs orders executions that become
// StateReady. person says that the execution needs a person, and nothing else of it can continue. Whether the execution
// is suspended only SetSuspended decides: a report from before its last call may come after it.
func (t *Tx) ReportState(no, number int64, phase chargehand.Phase, state ExecutionState, person bool, wakeMs int64, waits Waits) (Reported, error) {
	if state == StateEnded || state == StateQueued {
		return Reported{}, errors.New("report state: an execution neither ends nor is queued by a report")
	}
	if state != StateReady {
		wakeMs = 0
	}
	return t.report("report state", no, person, `UPDATE execution SET report = ?2, phase = CASE WHEN phase = 4 OR ?3 = 4 THEN phase ELSE ?3 END, state = ?4, ready_ms = ?5,
 parked = ?6, waits = ?7 WHERE no = ?1 AND report < ?2 AND state <> 0 RETURNING state, report, account, batch, status`,
		no, number, int64(phase), int64(state), wakeMs, int64(waits.Kind), t.seal(kindWaits, rowKey{no}, waits.encode()))
}

// ReportWaits is ReportState that leaves the state, and so the slot, as it is.
func (t *Tx) ReportWaits(no, number int64, phase chargehand.Phase, person bool, waits Waits) (Reported, error) {
	return t.report("report waits", no, person, `UPDATE execution SET report = ?2, phase = CASE WHEN phase = 4 OR ?3 = 4 THEN phase ELSE ?3 END,
 parked = ?4, waits = ?5 WHERE no = ?1 AND report < ?2 AND state <> 0 RETURNING state, report, account, batch, status`,
		no, number, int64(phase), int64(waits.Kind), t.seal(kindWaits, rowKey{no}, waits.encode()))
}

// report makes the change of a state report. What it does not change, it reads.
func (t *Tx) report(what string, no int64, person bool, change string, args ...any) (Reported, error) {
	status := chargehand.Processing
	if person {
		status = chargehand.HumanInTheLoop
	}
	var s Reported
	var before chargehand.Status
	scan := func(r Row) {
		s.State, s.Report, s.Account, s.Batch = ExecutionState(r.Int(0)), r.Int(1), r.Int(2), r.Int(3)
		s.Final = s.State == StateEnded
		before = chargehand.Status(r.Int(4))
	}
	err := t.one(change, scan, args...)
	if err == nil {
		s.Changed = true
		if before != status { // few change it, and more indexes have it
			err = t.c.Send("report status", `UPDATE execution SET status = ?2 WHERE no = ?1 AND state <> 0`, no, int64(status))
		}
		return s, err
	}
	if errors.Is(err, ErrNotFound) {
		err = t.one(`SELECT state, report, account, batch, status FROM execution WHERE no = ?1`, scan, no)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return Reported{Final: true}, nil
	case err != nil:
		return Reported{}, fmt.Errorf("%s: %w", what, err)
	}
	return s, nil
}
