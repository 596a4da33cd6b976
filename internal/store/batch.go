package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// Batch is the row of a batch. Finished and Failed are kept in the transactions that end
// its items, so that they always add up to the items that have ended.
type Batch struct {
	No                   int64
	ID                   chargehand.BatchID // its time part is the creation time
	Account              int64
	Environment          chargehand.Environment
	Workflow             int64
	Revision             int64
	Status               chargehand.BatchStatus
	Concurrency          int // in effect
	RequestedConcurrency int // as asked for
	Total                int64
	Finished             int64 // items with status finished
	Failed               int64 // items with status error
	Cancelled            int64 // items that were cancelled; they are among Failed
	CancelRequested      bool
	Reason               string // of the cancellation
	StartedMs            int64  // 0 while pending
	FinishedMs           int64  // 0 while not final
	StartedBy            int64  // as in Execution
	// Labels are inserted with it, with the id of its last item, if there are any. They are not read with it.
	Labels   []Label
	LastItem chargehand.ExecutionID
}

const (
	batchColumns = `no, id, account, environment, workflow, revision, status, concurrency, requested_concurrency,
 total, finished, failed, cancel_requested, started_ms, finished_ms, cancelled, reason, started_by`
	selectBatch = `SELECT ` + batchColumns + ` FROM batch`
)

func (r *Reader) scanBatch(rw Row, b *Batch) {
	*b = Batch{
		No: rw.Int(0), Account: rw.Int(2), Environment: chargehand.Environment(rw.Int(3)), Workflow: rw.Int(4), Revision: rw.Int(5),
		Status: chargehand.BatchStatus(rw.Int(6)), Concurrency: int(rw.Int(7)), RequestedConcurrency: int(rw.Int(8)),
		Total: rw.Int(9), Finished: rw.Int(10), Failed: rw.Int(11), CancelRequested: rw.Int(12) != 0, StartedMs: rw.Int(13), FinishedMs: rw.Int(14),
		Cancelled: rw.Int(15), Reason: r.reason(kindBatch, rowKey{rw.Int(0)}, rw.Bytes(16)), StartedBy: rw.Int(17),
	}
	scanID(rw, 1, &b.ID)
}

// InsertBatch inserts a pending batch of b.Total items and sets b.No and b.Status. Its
// items are inserted by InsertExecution, in the same transaction.
func (t *Tx) InsertBatch(b *Batch) error {
	if b.Total < 1 || b.Concurrency < 1 {
		return errors.New("insert batch: total and concurrency must be at least 1")
	}
	no, err := t.insert("insert batch", `INSERT INTO batch (id, account, environment, workflow, revision, status,
 concurrency, requested_concurrency, total, started_by) VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8, ?9)`,
		b.ID[:], b.Account, int64(b.Environment), b.Workflow, b.Revision, int64(b.Concurrency), int64(b.RequestedConcurrency), b.Total, b.StartedBy)
	if err != nil {
		return err
	}
	b.No, b.Status = no, chargehand.BatchPending
	return t.insertBatchLabels(b)
}

// SetBatchConcurrency changes the bound of a batch that is not final. Errors: ErrConflict.
func (t *Tx) SetBatchConcurrency(no int64, concurrency, requested int) error {
	return t.change("set batch concurrency", `UPDATE batch SET concurrency = ?2, requested_concurrency = ?3 WHERE no = ?1 AND status < 3`,
		no, int64(concurrency), int64(requested))
}

// SetBatchCancelled marks a batch that is not final as cancelled: it will end as failed,
// when its last item has ended. It returns the reason that counts: that of the first one who has marked it.
// Errors: ErrConflict.
func (t *Tx) SetBatchCancelled(no int64, reason string) (first string, err error) {
	err = t.one(`UPDATE batch SET reason = CASE WHEN cancel_requested = 1 THEN reason ELSE ?2 END, cancel_requested = 1
 WHERE no = ?1 AND status < 3 RETURNING reason`, func(r Row) { first = t.reason(kindBatch, rowKey{no}, r.Bytes(0)) }, no, t.seal(kindBatch, rowKey{no}, []byte(reason)))
	if err != nil {
		return "", moveError("cancel batch", err)
	}
	return first, nil
}

// CancelQueuedItems ends up to limit queued items of a batch as cancelled, with that
// fault, and counts them. None: there are no more. Fewer than limit means the same where
// only one Update runs at a time.
func (t *Tx) CancelQueuedItems(batch int64, limit int, finishedMs int64, fault []byte) (ids []chargehand.ExecutionID, batchFinal bool, err error) {
	var nos []int64
	for _, state := range [...]ExecutionState{StateQueued, StateDelayed} {
		err = t.c.Query(`SELECT e.no, e.id FROM execution e
 WHERE e.state = ?3 AND e.state <> 0 AND e.account = `+accountOfBatch+` AND e.batch = ?1 ORDER BY e.item, e.no LIMIT ?2`+t.c.ForUpdate(), func(r Row) error {
			var id chargehand.ExecutionID
			scanID(r, 1, &id)
			nos, ids = append(nos, r.Int(0)), append(ids, id)
			return nil
		}, batch, int64(limit), int64(state))
		if err != nil {
			return nil, false, fmt.Errorf("read queued items: %w", err)
		}
		if len(nos) > 0 { // a batch has only one of them, or few that are becoming the other
			break
		}
	}
	if len(nos) == 0 {
		return nil, false, nil
	}
	marks := t.faultMarks(fault)
	err = inGroups(nos, func(list string, args []any) error {
		n := len(args)
		_, err := t.c.Exec(fmt.Sprintf(`UPDATE execution SET status = 5, phase = ?%d, state = 0, finished_ms = ?%d, parked = 0, waits = NULL,
 error_code = ?%d, error_at = ?%d, error_hash = ?%d WHERE no IN (%s)`, n+1, n+2, n+3, n+4, n+5, list),
			append(args[:n:n], int64(chargehand.Cancelled), finishedMs, marks.Code, textArg(marks.At), marks.Hash)...)
		if err != nil {
			return err
		}
		if err := t.insertFaults(list, args[:n:n], fault); err != nil {
			return err
		}
		err = t.c.Send("note ends", `INSERT INTO rollup_ended (execution) SELECT no FROM execution WHERE no IN (`+list+`)
 AND no <= (SELECT closing FROM rollup_cursor WHERE one = 1) ON CONFLICT (execution) DO NOTHING`, args[:n:n]...)
		if err != nil {
			return err
		}
		return t.c.Send("drop pinned secrets", `DELETE FROM execution_secret WHERE execution IN (`+list+`)`, args[:n:n]...)
	})
	if err != nil {
		return nil, false, fmt.Errorf("cancel items: %w", err)
	}
	n := int64(len(ids))
	batchFinal, err = t.countEnds(batch, ends{failed: n, cancelled: n}, finishedMs)
	return ids, batchFinal, err
}

// insertFaults inserts outcomes with the same fault. Sealed, it is another one for each.
func (t *Tx) insertFaults(list string, nos []any, fault []byte) error {
	if !t.seals() {
		return t.c.Send("insert outcomes", fmt.Sprintf(`INSERT INTO outcome (execution, fault) SELECT no, ?%d FROM execution WHERE no IN (%s)`, len(nos)+1, list),
			append(nos, t.seal(kindFault, rowKey{}, fault))...)
	}
	known := map[int64]bool{} // a list is filled up with a number that no row has, or that is in it
	for _, arg := range nos {
		no := arg.(int64)
		if known[no] {
			continue
		}
		known[no] = true
		err := t.c.Send("insert outcome", `INSERT INTO outcome (execution, fault) SELECT no, ?2 FROM execution WHERE no = ?1`, no, t.seal(kindFault, rowKey{no}, fault))
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) startBatch(no, startedMs int64) error {
	return t.c.Send("start batch", `UPDATE batch SET status = 2, started_ms = ?2 WHERE no = ?1 AND status = 1`, no, startedMs)
}

// ends counts items that end. Those that were cancelled are among the failed ones.
type ends struct{ finished, failed, cancelled int64 }

// countEnds adds ended items. The last one makes the batch final: completed if at least
// one item finished and it was not cancelled, else failed (docs/reference/api.md "Status").
func (t *Tx) countEnds(no int64, n ends, nowMs int64) (final bool, err error) {
	var left, total int64
	err = t.one(`UPDATE batch SET finished = finished + ?2, failed = failed + ?3, cancelled = cancelled + ?5, status = CASE
  WHEN finished + failed + ?2 + ?3 < total THEN 2
  WHEN finished + ?2 > 0 AND cancel_requested = 0 THEN 3 ELSE 4 END,
 started_ms = CASE WHEN started_ms = 0 THEN ?4 ELSE started_ms END,
 finished_ms = CASE WHEN finished + failed + ?2 + ?3 < total THEN 0 ELSE ?4 END
 WHERE no = ?1 RETURNING total - finished - failed, total`, func(r Row) { left, total = r.Int(0), r.Int(1) },
		no, n.finished, n.failed, nowMs, n.cancelled)
	if err != nil {
		return false, fmt.Errorf("count ended items: %w", err)
	}
	if left < 0 {
		return false, fmt.Errorf("count ended items: batch %d has more than %d items", no, total)
	}
	return left == 0, nil
}

func (r *Reader) batch(query string, args ...any) (Batch, error) {
	return readOne(r, "read batch", query, r.scanBatch, args...)
}

// BatchByID reads a batch of an account and environment. Errors: ErrNotFound.
func (r *Reader) BatchByID(account int64, env chargehand.Environment, id chargehand.BatchID) (Batch, error) {
	return r.batch(selectBatch+` WHERE id = ?1 AND account = ?2 AND environment = ?3`, id[:], account, int64(env))
}

// BatchByNo reads a batch by its internal number. Errors: ErrNotFound.
func (r *Reader) BatchByNo(no int64) (Batch, error) { return r.batch(selectBatch+` WHERE no = ?1`, no) }

// FindBatch reads a batch of any tenant: for the engine, whose callers have checked who
// asks. Errors: ErrNotFound.
func (r *Reader) FindBatch(id chargehand.BatchID) (Batch, error) {
	return r.batch(selectBatch+` WHERE id = ?1`, id[:])
}

// LockBatch reads a batch and locks its row until the Update is committed. Errors: ErrNotFound.
func (t *Tx) LockBatch(no int64) (Batch, error) {
	return t.batch(selectBatch+` WHERE no = ?1`+t.c.ForUpdate(), no)
}

func (r *Reader) batches(query string, args ...any) ([]Batch, error) {
	return readAll(r, "list batches", query, r.scanBatch, args...)
}

// BatchFilter selects the batches of an environment of an account.
type BatchFilter struct {
	Account     int64
	Environment chargehand.Environment
	Workflow    int64              // 0: any
	StartedBy   int64              // 0: any
	Before      chargehand.BatchID // zero: from the newest
	// CreatedAfterMs and CreatedBeforeMs are exclusive; 0: no bound.
	CreatedAfterMs, CreatedBeforeMs int64
	Limit                           int
}

// bounds is the range of ids, low included and high not.
func (f *BatchFilter) bounds() (low, high []byte) {
	low, high = idBounds(f.CreatedAfterMs, f.CreatedBeforeMs)
	if !f.Before.IsZero() && bytes.Compare(f.Before[:], high) < 0 {
		high = f.Before[:]
	}
	return low, high
}

// ListBatches reads a page of batches, newest first by id.
func (r *Reader) ListBatches(f BatchFilter) ([]Batch, error) {
	low, high := f.bounds()
	const order = ` AND id >= ?5 AND id < ?3 ORDER BY id DESC LIMIT ?4`
	scope, is := f.Account, `account = ?1`
	if f.Workflow != 0 {
		scope, is = f.Workflow, `workflow = ?1`
	}
	if f.StartedBy != 0 {
		return r.batches(selectBatch+` WHERE `+is+` AND environment = ?2 AND started_by = ?6`+order,
			scope, int64(f.Environment), high, int64(f.Limit), low, f.StartedBy)
	}
	return r.batches(selectBatch+` WHERE `+is+` AND environment = ?2`+order, scope, int64(f.Environment), high, int64(f.Limit), low)
}

// ActiveBatches reads the batches that are not final, in order of acceptance.
func (r *Reader) ActiveBatches() ([]Batch, error) {
	return r.batches(selectBatch + ` WHERE status < 3 ORDER BY no`)
}

// BatchItems calls row for up to limit items of a batch in item order, those after
// afterItem (-1: from the first), with inputs. statuses narrows; none: all. The execution
// is valid only during the call; its bytes may be kept.
func (r *Reader) BatchItems(batch, afterItem int64, limit int, statuses []chargehand.Status, row func(*Execution) error) error {
	if len(statuses) == 0 {
		statuses = allStatuses
	}
	query, args := mergeStatuses(selectExecution+` WHERE e.batch = ?1 AND e.batch <> 0 AND e.item > ?2`, `item LIMIT ?3`,
		statuses, []any{batch, afterItem, int64(limit)})
	var e Execution
	err := r.c.Query(query, func(rw Row) error {
		r.scanExecutionInput(rw, &e)
		return row(&e)
	}, args...)
	if err != nil {
		return fmt.Errorf("read batch items: %w", err)
	}
	return nil
}

// ItemFilter selects items of a batch.
type ItemFilter struct {
	Batch     int64
	AfterItem int64               // -1: from the first
	Statuses  []chargehand.Status // none: any
	Phases    []chargehand.Phase  // none: any
	Limit     int
}

// ListItems is BatchItems for readers: it also gives the fault (Outcome.Fault) of items that
// ended in error. The fault may be kept.
func (r *Reader) ListItems(f ItemFilter, row func(e *Execution, fault []byte) error) error {
	statuses := statusesOf(f.Statuses, f.Phases)
	if len(statuses) == 0 {
		return nil
	}
	selection, args := selectItem+` WHERE e.batch = ?1 AND e.batch <> 0 AND e.item > ?2`, []any{f.Batch, f.AfterItem, int64(f.Limit)}
	selection, args = andPhases(selection, f.Phases, args)
	query, args := mergeStatuses(selection, `item LIMIT ?3`, statuses, args)
	var e Execution
	err := r.c.Query(query, func(rw Row) error {
		r.scanExecutionInput(rw, &e)
		fault, err := r.open(kindFault, rowKey{e.No}, rw.Bytes(faultAt))
		if err != nil {
			return err
		}
		return row(&e, fault)
	}, args...)
	if err != nil {
		return fmt.Errorf("list batch items: %w", err)
	}
	return nil
}
