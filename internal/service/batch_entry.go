package service

import (
	"context"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// BatchEntry is one item of a batch.
type BatchEntry struct {
	Index     int
	ItemID    string // empty: none
	Execution chargehand.ExecutionID
	Inputs    []byte // JSON object; nil in a summary
	Status    chargehand.Status
	Phase     chargehand.Phase
	// Ended reports whether DurationMs is known: the item has started and ended.
	Ended      bool
	DurationMs int64
	Error      *ExecutionError // nil unless it ended in error
}

// BatchEntries selects entries of a batch, in input order.
type BatchEntries struct {
	Statuses []chargehand.Status // none: any
	Phases   []chargehand.Phase  // none: any
	From     int                 // first index
	Limit    int                 // 0: all
	Summary  bool                // leave the inputs out
}

const (
	// maxSnapshotEntries is the largest batch whose entries are read in one snapshot.
	maxSnapshotEntries = 10_000
	// maxSnapshotBytes bounds the inputs and errors that a snapshot keeps; others are read again.
	maxSnapshotBytes = 4 << 20
	// entriesPerView bounds how much is read at a time.
	entriesPerView = 200
)

// batchEntry is what a snapshot keeps of an item. Its place in the slice is its index.
type batchEntry struct {
	id         chargehand.ExecutionID
	itemID     string
	status     chargehand.Status
	phase      chargehand.Phase
	ended      bool
	durationMs int64
	input      store.Payload
	fault      []byte // nil: none
	left       bool   // input and fault were left out
}

func newBatchEntry(row *store.Execution, fault []byte) batchEntry {
	e := batchEntry{id: row.ID, itemID: row.ItemID, status: row.Status, phase: row.Phase, input: row.Input, fault: fault}
	if row.Status.Final() && row.StartedMs != 0 { // an item that was cancelled in the queue never ran
		e.ended, e.durationMs = true, row.FinishedMs-row.StartedMs
	}
	return e
}

// snapshotEntries reads all items of a batch.
func snapshotEntries(r *store.Reader, batch int64, total int) ([]batchEntry, error) {
	entries := make([]batchEntry, 0, total)
	bytes := 0
	err := r.ListItems(store.ItemFilter{Batch: batch, AfterItem: -1, Limit: total}, func(row *store.Execution, fault []byte) error {
		e := newBatchEntry(row, fault)
		if bytes += len(row.Input.Inline) + len(fault); bytes > maxSnapshotBytes {
			e.input, e.fault, e.left = store.Payload{}, nil, true
		}
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

// Entries calls each for the entries of a batch that this Service returned, in input order.
// It reads in steps, so that a slow consumer holds nothing open; the entry and its bytes are
// valid during the call only. next is the index to continue from, -1 at the end.
func (s *Service) Entries(ctx context.Context, b *Batch, q BatchEntries, each func(*BatchEntry) error) (next int, err error) {
	if b.entries == nil || len(q.Statuses) > 0 || len(q.Phases) > 0 || q.Limit != 0 {
		return s.readEntries(ctx, b, q, each)
	}
	for at := q.From; at < len(b.entries); at++ {
		if b.entries[at].left {
			// What was left out is read in steps; the statuses are still the snapshot's.
			q.From = at
			return s.readEntries(ctx, b, q, each)
		}
		if err := s.eachEntry(ctx, b, at, &b.entries[at], q.Summary, each); err != nil {
			return 0, err
		}
	}
	return -1, nil
}

// eachEntry completes an entry and hands it on.
func (s *Service) eachEntry(ctx context.Context, b *Batch, index int, e *batchEntry, summary bool, each func(*BatchEntry) error) error {
	shown := BatchEntry{
		Index: index, ItemID: e.itemID, Execution: e.id, Status: e.status, Phase: e.phase, Ended: e.ended, DurationMs: e.durationMs,
	}
	if b.initial {
		shown.Status, shown.Phase, shown.Ended, shown.DurationMs = chargehand.Initial, chargehand.Pending, false, 0
	}
	var err error
	if shown.Status == chargehand.Errored && e.fault != nil {
		if shown.Error, err = faultError(e.fault); err != nil {
			return err
		}
	}
	if summary {
		return each(&shown)
	}
	if shown.Inputs, err = s.unpack(ctx, e.input); err != nil {
		return err
	}
	if mayRefer(shown.Inputs) {
		err := s.view(ctx, func(r *store.Reader) (err error) {
			shown.Inputs, err = showReferences(r, b.account, b.Environment, b.BaseURL, shown.Inputs)
			return err
		})
		if err != nil {
			return err
		}
	}
	return each(&shown)
}

// readEntries reads entries in steps.
func (s *Service) readEntries(ctx context.Context, b *Batch, q BatchEntries, each func(*BatchEntry) error) (next int, err error) {
	type item struct {
		index int
		entry batchEntry
	}
	items := make([]item, 0, entriesPerView)
	for at, left := q.From, q.Limit; ; {
		want := entriesPerView
		if q.Limit != 0 {
			want = min(want, left+1)
		}
		items = items[:0]
		err := s.view(ctx, func(r *store.Reader) error {
			f := store.ItemFilter{Batch: b.no, AfterItem: int64(at) - 1, Statuses: q.Statuses, Phases: q.Phases, Limit: want}
			return r.ListItems(f, func(row *store.Execution, fault []byte) error {
				items = append(items, item{int(row.Item), newBatchEntry(row, fault)})
				return nil
			})
		})
		if err != nil {
			return 0, err
		}
		for i := range items {
			it := &items[i]
			if q.Limit != 0 && left == 0 {
				return it.index, nil
			}
			if it.index < len(b.entries) {
				input, fault := it.entry.input, it.entry.fault
				it.entry = b.entries[it.index]
				it.entry.input, it.entry.fault = input, fault
			}
			if err := s.eachEntry(ctx, b, it.index, &it.entry, q.Summary, each); err != nil {
				return 0, err
			}
			left--
			at = it.index + 1
		}
		if len(items) < want {
			return -1, nil
		}
	}
}
