package service

import (
	"context"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/graph"
	"github.com/chargehand/chargehand/internal/store"
)

// TaskProgress counts the runs of one task in an execution.
type TaskProgress struct {
	Name           string
	Kind           string
	Reference      string
	Counts         graph.PhaseCounts
	FirstFailedSeq int64 // 0: none has
	LastSeq        int64
	Phase          chargehand.Phase // running or waiting if one of the runs is; otherwise that of the newest
	Attempts       int              // the highest attempt
	Ended          int64            // how many the durations are of
	MinMs, MaxMs   int64
	MeanMs         int64
}

// Progress counts the tasks of an execution.
type Progress struct {
	Data      []TaskProgress // in the order of the definition
	Truncated bool           // some runs are not counted
}

// Progress counts the runs of each task of an execution that has run, also of those that the timeline does not hold any
// more. Codes: execution_not_found.
func (s *Service) Progress(
	ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID,
) (*Progress, error) {
	row, err := s.executionRow(ctx, p, workflow, id)
	if err != nil {
		return nil, err
	}
	return s.progress(ctx, row)
}

func (s *Service) progress(ctx context.Context, row *store.Execution) (*Progress, error) {
	counted, err := s.engine.Progress(ctx, row.No)
	if err != nil {
		return nil, storageError(notFoundIs(err, executionNotFound))
	}
	progress := &Progress{Data: make([]TaskProgress, len(counted.Tasks)), Truncated: counted.Truncated}
	for i := range counted.Tasks {
		t := &counted.Tasks[i]
		task := counted.Plan.Tasks[t.Number]
		shown := TaskProgress{
			Name: task.Name, Kind: task.Kind.String(), Reference: task.Reference,
			Counts: graph.PhaseCounts{
				Running: t.Running + t.Pending, Waiting: t.Waiting, Completed: t.Completed, Faulted: t.Faulted, Cancelled: t.Cancelled,
			},
			FirstFailedSeq: int64(t.FirstFaulted), LastSeq: int64(t.Last), Phase: t.LastPhase, Attempts: t.Attempts, Ended: int64(t.Ended()),
		}
		switch {
		case shown.Counts.Running > 0:
			shown.Phase = chargehand.Running
		case shown.Counts.Waiting > 0:
			shown.Phase = chargehand.Waiting
		}
		if shown.Ended > 0 {
			shown.MinMs, shown.MaxMs, shown.MeanMs = t.MinMs, t.MaxMs, t.SumMs/shown.Ended
		}
		progress.Data[i] = shown
	}
	return progress, nil
}

// ExecutionGraph is the control flow of the revision that an execution runs, with the state of each task.
// Codes: execution_not_found.
func (s *Service) ExecutionGraph(
	ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID,
) (*graph.Graph, error) {
	row, err := s.executionRow(ctx, p, workflow, id)
	if err != nil {
		return nil, err
	}
	var definition store.Definition
	err = s.view(ctx, func(r *store.Reader) error {
		revision, err := r.RevisionByNo(row.Revision)
		if err != nil {
			return notFoundIs(err, executionNotFound)
		}
		definition, err = r.Definition(revision.Definition)
		return err
	})
	if err != nil {
		return nil, err
	}
	g, err := graphOf(definition.Source, row.ID)
	if err != nil {
		return nil, err
	}
	progress, err := s.progress(ctx, row)
	if err != nil {
		return nil, err
	}
	states := make(map[string]*graph.NodeState, len(progress.Data))
	for i := range progress.Data {
		t := &progress.Data[i]
		states[t.Reference] = &graph.NodeState{
			Phase: t.Phase.String(), Counts: t.Counts, FirstFailedSeq: t.FirstFailedSeq, LastSeq: t.LastSeq, Attempts: t.Attempts,
		}
	}
	g.SetStates(states)
	return g, nil
}

// graphOf is the graph of a stored definition, of which of says whose it is.
func graphOf(source []byte, of fmt.Stringer) (*graph.Graph, error) {
	doc, problems := dsl.Parse(source) // plans do not keep the positions
	if problems.HasErrors() {
		return nil, fmt.Errorf("parse stored definition of %s: %w", of, problems.Err())
	}
	return graph.Of(doc), nil
}
