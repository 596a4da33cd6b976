package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/schedule"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
)

// StartFiring implements schedule.Starter. It starts an execution like any other. The input is not checked
// here, because no client waits for an answer: an execution whose input is wrong ends with that fault.
// Errors: engine.ErrQueueFull, store.ErrUnavailable, that of r.InTx.
func (s *Service) StartFiring(ctx context.Context, r schedule.Firing) error {
	row := &r.Schedule
	start := engine.Start{
		Row: store.Execution{
			ID: newID[chargehand.ExecutionID](s.nowMs()), Account: row.Account, Environment: chargehand.Live,
			Workflow: row.Workflow, Revision: row.Revision, Trace: span.Encode(ctx), Starter: r.Starter,
			Cause: r.Cause,
		},
		Plan: r.Plan, Input: r.Input,
	}
	owner := &Principal{AccountNo: row.Account, Environment: chargehand.Live}
	if err := s.checkReserve(); err != nil {
		return err
	}
	room, started := s.admission(owner), false
	defer func() { room.end(started) }()
	if err := s.packInput(ctx, owner, &start, &room); err != nil {
		return err
	}
	// A definition that a limited key has applied gets no files from events, and an event that a limited key has
	// published gives only the files that this key may read.
	if len(start.Files) > 0 {
		err := s.view(ctx, func(r *store.Reader) (err error) {
			start.Files, err = s.grantedFiles(r, &start.Row, start.Files)
			return err
		})
		if err != nil {
			return err
		}
	}
	refers := start.Row.Input.Blob != nil || mayRefer(start.Row.Input.Inline)
	start.InTx = func(tx *store.Tx, no int64) error {
		// The row of the schedule comes first, so that a firing that is too late has nothing else to undo.
		if err := r.InTx(tx, no); err != nil || !refers {
			return err
		}
		return useFiles(tx, &start, no)
	}
	_, err := s.engine.Start(ctx, start)
	started = err == nil
	return err
}

// eventContents are the contents of large events.
type eventContents struct{ service *Service }

// Put implements engine.Blobs.
func (c eventContents) Put(ctx context.Context, data []byte) ([]byte, error) {
	digest, _, err := c.service.blobs.Put(ctx, bytes.NewReader(data), math.MaxInt64)
	return digest.Bytes(), contentError(err)
}

// Get implements engine.Blobs.
func (c eventContents) Get(ctx context.Context, digest []byte) ([]byte, error) {
	content, err := c.service.blobs.Open(ctx, blob.DigestOf(digest), 0, -1)
	if err != nil {
		return nil, contentError(err)
	}
	defer content.Close()
	data, err := io.ReadAll(content)
	if err != nil {
		return nil, fmt.Errorf("%w: read event: %w", store.ErrUnavailable, err)
	}
	return data, nil
}

func contentError(err error) error {
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	case errors.Is(err, blob.ErrUnavailable):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}
