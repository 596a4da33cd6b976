package service

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/store"
)

// TimelineEntry is one run of a task.
type TimelineEntry struct {
	Seq        int64
	Parent     int64 // Seq of the task that it is a part of; 0: none
	Name       string
	Kind       string // keyword of the task
	Reference  string // JSON pointer of the task (T2)
	Iterations []int  // the index in each loop around the task, the outermost first
	Attempt    int
	Phase      chargehand.Phase
	StartedAt  time.Time
	FinishedAt time.Time // zero: not yet
	WaitingFor *TaskWait
	Child      chargehand.ExecutionID // zero: it has started none
	Input      []byte                 // JSON; nil in a summary
	Output     []byte                 // JSON; nil in a summary and unless the task has completed
	Error      *ExecutionError
	Files      []Result
	LogBytes   int64  // of text in the log of the execution
	Document   string // digest of the API document that the call used; empty: none
}

// TaskWait is what a task waits for.
type TaskWait struct {
	Kind  string    // person, child, event, retry or timer
	Task  string    // id of the human task
	Until time.Time // zero: not known
	Types []string  // of the events; empty: any type
	// Unknown are the users and groups to whom the human task is assigned, and that the account does not have now.
	Unknown []string
}

// ListTimeline is the request for a page of a timeline.
type ListTimeline struct {
	Workflow   chargehand.WorkflowID
	Execution  chargehand.ExecutionID
	References []string // only the runs of these tasks; empty: of all
	Under      string   // only this task and what is in it
	Phases     []chargehand.Phase
	AfterSeq   int64 // only those that started later
	Descending bool
	Summary    bool // without inputs and outputs
	Limit      int
	After      int64 // Seq to continue after, in the order of the list; 0: from the beginning
	View       View
}

// TimelinePage is one page of a timeline, by Seq.
type TimelinePage struct {
	Data      []TimelineEntry
	Next      int64 // Seq to continue after; 0: the end
	Truncated bool  // older entries were dropped
}

// maxWaitType bounds how much of the type of awaited events is shown, in bytes.
const maxWaitType = 255

// Timeline lists the tasks of an execution that have started. Codes: execution_not_found.
func (s *Service) Timeline(ctx context.Context, p *Principal, list ListTimeline) (*TimelinePage, error) {
	row, err := s.executionRow(ctx, p, list.Workflow, list.Execution)
	if err != nil {
		return nil, err
	}
	timeline, err := s.engine.Timeline(ctx, row.No)
	if err != nil {
		return nil, storageError(notFoundIs(err, executionNotFound))
	}
	records, next := list.page(timeline.Records)
	page := &TimelinePage{Next: next, Truncated: timeline.Truncated}
	page.Data, err = s.timelineEntries(ctx, row, timeline, records, nil, list.Summary, list.View)
	return page, err
}

// timelineEntries shows records of a timeline. logged is how many bytes each task has in the log, by Seq; nil: that is
// read.
func (s *Service) timelineEntries(
	ctx context.Context, row *store.Execution, timeline *engine.Timeline, records []*machine.Record, logged map[int64]int64, summary bool, v View,
) (shown []TimelineEntry, err error) {
	shown = make([]TimelineEntry, len(records))
	if !summary {
		for i, e := range records { // not in the transaction: they may be in the blob store
			if shown[i].Input, shown[i].Output, err = timeline.Values(ctx, e); err != nil {
				return nil, storageError(err)
			}
		}
	}
	err = s.view(ctx, func(r *store.Reader) (err error) {
		people := checkAssignees(r, row.Account)
		for i, e := range records {
			if err := s.timelineEntry(r, row, e, people, v, &shown[i]); err != nil {
				return err
			}
		}
		logged := logged
		if logged == nil {
			logged, err = runlog.TaskBytes(r, row.No)
		}
		for i := range shown {
			shown[i].LogBytes = logged[shown[i].Seq]
		}
		return err
	})
	return shown, err
}

// executionRow is the row of an execution that the principal sees.
func (s *Service) executionRow(
	ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID,
) (row *store.Execution, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		found, err := s.findExecution(r, p, workflow, id)
		row = &found
		return err
	})
	return row, err
}

// page picks the records of a page, and the Seq to continue after.
func (l *ListTimeline) page(records []machine.Record) (page []*machine.Record, next int64) {
	under := l.under(records)
	for at := range records {
		i := at
		if l.Descending {
			i = len(records) - 1 - at
		}
		e := &records[i]
		seq := int64(e.Seq)
		switch {
		case seq <= l.AfterSeq,
			l.After != 0 && (seq > l.After) == l.Descending, l.After == seq,
			len(l.References) > 0 && !slices.Contains(l.References, e.Reference),
			len(l.Phases) > 0 && !slices.Contains(l.Phases, e.Phase),
			under != nil && !under[e.Seq]:
			continue
		}
		if len(page) == l.Limit {
			return page, int64(page[l.Limit-1].Seq)
		}
		page = append(page, e)
	}
	return page, 0
}

// under finds the entries of the task that Under names and of what is in it, by their Seq. What is in a function or an
// extension is found by the entry that it is a part of, what an entry that was dropped holds by its reference.
// It is nil if all are wanted.
func (l *ListTimeline) under(records []machine.Record) map[int]bool {
	if l.Under == "" {
		return nil
	}
	in := map[int]bool{}
	for i := range records {
		e := &records[i]
		if rest, ok := strings.CutPrefix(e.Reference, l.Under); in[e.Parent] || ok && (rest == "" || rest[0] == '/') {
			in[e.Seq] = true
		}
	}
	return in
}

func (s *Service) timelineEntry(
	r *store.Reader, row *store.Execution, e *machine.Record, people *assigneeCheck, v View, shown *TimelineEntry,
) (err error) {
	input, output := shown.Input, shown.Output
	*shown = TimelineEntry{
		Seq: int64(e.Seq), Parent: int64(e.Parent), Name: e.Name, Kind: e.Kind().String(), Reference: e.Reference,
		Iterations: e.Iterations, Attempt: e.Attempt, Phase: e.Phase, StartedAt: atMs(e.StartedMs), FinishedAt: atMs(e.EndedMs),
		Child: e.Child, Document: e.Document,
	}
	if w := e.Wait; w != nil {
		shown.WaitingFor = &TaskWait{Kind: w.Kind.String(), Until: atMs(w.UntilMs)}
		if !w.Task.IsZero() {
			shown.WaitingFor.Task = w.Task.String()
			task, err := r.HumanTaskByID(row.Account, row.Environment, w.Task)
			if err == nil {
				shown.WaitingFor.Unknown, err = people.ofTask(task.Assignees)
			}
			if ignoreNotFound(err) != nil { // with Temporal, the task may be opened a moment later
				return err
			}
		}
		for _, name := range w.Types {
			shown.WaitingFor.Types = append(shown.WaitingFor.Types, excerpt.Line(name, maxWaitType))
		}
	}
	if input != nil {
		if shown.Input, err = showReferences(r, row.Account, row.Environment, v.BaseURL, input); err != nil {
			return err
		}
	}
	if output != nil && e.Phase == chargehand.Completed {
		if shown.Output, err = showReferences(r, row.Account, row.Environment, v.BaseURL, output); err != nil {
			return err
		}
	}
	if e.Fault != nil {
		shown.Error = shownFault(engine.DescribeFault(e.Fault))
	}
	now := s.now()
	for i := range e.Files {
		file, err := recordedFile(row.Environment, &e.Files[i])
		if err != nil {
			return err
		}
		shown.Files = append(shown.Files, s.result(&file, v, now))
	}
	return nil
}

// recordedFile is a file as a timeline names it.
func recordedFile(env chargehand.Environment, f *machine.File) (file store.File, err error) {
	file = store.File{No: 1, Environment: env, Name: f.Name, MediaType: f.MediaType, Size: f.Size}
	if err = file.ID.UnmarshalText([]byte(f.ID)); err == nil {
		file.Digest, err = hex.DecodeString(strings.TrimPrefix(f.Digest, "sha256:"))
	}
	return file, err
}
