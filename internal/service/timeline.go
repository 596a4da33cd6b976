package service

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// TimelineEntry is one run of a task.
type TimelineEntry struct {
	Seq        int64
	Name       string
	Reference  string // JSON pointer of the task (T2)
	Iteration  int
	Attempt    int
	Phase      chargehand.Phase
	StartedAt  time.Time
	FinishedAt time.Time // zero: not yet
	Input      []byte    // JSON
	Output     []byte    // JSON; nil unless the task has completed
	Error      *ExecutionError
	Files      []Result
	Document   string // digest of the API document that the call used; empty: none
}

// TimelinePage is one page of a timeline, by Seq.
type TimelinePage struct {
	Data      []TimelineEntry
	Next      int64 // Seq to continue after; 0: the end
	Truncated bool  // older entries were dropped
}

// Timeline lists the tasks of an execution that have started, with Seq above after.
// Codes: execution_not_found.
func (s *Service) Timeline(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID, limit int, after int64, v View) (*TimelinePage, error) {
	var row store.Execution
	err := s.view(ctx, func(r *store.Reader) (err error) {
		row, err = s.findExecution(r, p, workflow, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	entries, truncated, err := s.engine.Timeline(ctx, row.No)
	if err != nil {
		return nil, storageError(notFoundIs(err, executionNotFound))
	}
	page := &TimelinePage{Data: []TimelineEntry{}, Truncated: truncated}
	err = s.view(ctx, func(r *store.Reader) error {
		for i := range entries {
			if int64(entries[i].Seq) <= after {
				continue
			}
			if len(page.Data) == limit {
				page.Next = page.Data[limit-1].Seq
				return nil
			}
			shown, err := s.timelineEntry(r, &row, &entries[i], v)
			if err != nil {
				return err
			}
			page.Data = append(page.Data, shown)
		}
		return nil
	})
	return page, err
}

func (s *Service) timelineEntry(r *store.Reader, row *store.Execution, e *machine.Entry, v View) (shown TimelineEntry, err error) {
	shown = TimelineEntry{
		Seq: int64(e.Seq), Name: e.Name, Reference: e.Reference, Iteration: e.Iteration, Attempt: e.Attempt,
		Phase: e.Phase, StartedAt: atMs(e.StartedMs), FinishedAt: atMs(e.EndedMs), Document: e.Document,
	}
	if shown.Input, err = showReferences(r, row.Account, row.Environment, v.BaseURL, value.Marshal(e.Input)); err != nil {
		return shown, err
	}
	if e.Phase == chargehand.Completed {
		if shown.Output, err = showReferences(r, row.Account, row.Environment, v.BaseURL, value.Marshal(e.Output)); err != nil {
			return shown, err
		}
	}
	if e.Fault != nil {
		shown.Error = shownFault(engine.DescribeFault(e.Fault))
	}
	now := s.now()
	for _, f := range e.Files {
		file := store.File{No: 1, Environment: row.Environment, Name: f.Name, MediaType: f.MediaType, Size: f.Size}
		if err := file.ID.UnmarshalText([]byte(f.ID)); err != nil {
			return shown, err
		}
		if file.Digest, err = hex.DecodeString(strings.TrimPrefix(f.Digest, "sha256:")); err != nil {
			return shown, err
		}
		shown.Files = append(shown.Files, s.result(&file, v, now))
	}
	return shown, nil
}
