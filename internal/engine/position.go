package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// MaxPositionBytes bounds the data with which an execution begins at its position, as JSON.
const MaxPositionBytes = 1 << 20

// StorePosition is the first row of the journal of an execution that has a position and does not begin at once. The
// row lacks the number of the execution. A large one is in the blob store.
func StorePosition(
	ctx context.Context, blobs Blobs, sealer *secret.Sealer, row *store.Execution, p *plan.Plan, position *machine.Position,
) (*store.JournalRow, error) {
	event := SealingOf(row.ID, p, sealer).Seal(SealedEvent, machine.AppendEvent(nil, position.Event(row.ID.Milli())))
	j := &store.JournalRow{Seq: 1, Event: store.Payload{Inline: event, Size: int64(len(event))}, Digest: machine.Digest(nil)}
	if err := Externalize(ctx, blobs, &j.Event); err != nil {
		return nil, fmt.Errorf("store the position of an execution: %w", err)
	}
	return j, nil
}

// ReadPosition reads what StorePosition has stored of an execution that has not begun; nil: it begins with the first
// task. Only retries have a position. Errors: *Unrecoverable, those of Blobs.
func ReadPosition(
	ctx context.Context, s *store.Store, blobs Blobs, sealer *secret.Sealer, row *store.Execution, p *plan.Plan,
) (*machine.Event, error) {
	if row.RetryOf.IsZero() {
		return nil, nil
	}
	var stored *store.Payload
	err := s.View(ctx, func(r *store.Reader) error {
		stored = nil
		return r.Journal(row.No, 0, func(j *store.JournalRow) error {
			stored = &store.Payload{Inline: j.Event.Inline, Blob: j.Event.Blob, Size: j.Event.Size, Damage: j.Event.Damage}
			return nil
		})
	})
	if err != nil || stored == nil {
		return nil, err
	}
	data, err := ReadPayload(ctx, blobs, *stored)
	if errors.Is(err, store.ErrNotFound) {
		return nil, Unreadable("position", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read position: %w", err)
	}
	if data, err = SealingOf(row.ID, p, sealer).Open(SealedEvent, data); err != nil {
		return nil, SecretsError("position", err)
	}
	event, err := machine.DecodeEvent(data)
	if err != nil {
		return nil, Unreadable("position", err)
	}
	return &event, nil
}

// TaskData is what a top-level task began with; nil: it is none, or began with the input of the execution.
func (t *Timeline) TaskData(ctx context.Context, r *machine.Record) (*machine.TaskData, error) {
	if err := t.loadKnown(ctx, r.DataUsesKnown); err != nil {
		return nil, err
	}
	data, err := r.TaskData(t.known[:]...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return data, nil
}
