package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// storedFilter is the filter of an operation as it is stored and shown: by the names that the filters of a list have.
type storedFilter struct {
	Statuses      []string                `json:"status,omitempty"`
	Phases        []string                `json:"phase,omitempty"`
	Batch         chargehand.BatchID      `json:"batch_id,omitzero"`
	CreatedAfter  time.Time               `json:"created_after,omitzero"`
	CreatedBefore time.Time               `json:"created_before,omitzero"`
	Versions      []string                `json:"version,omitempty"`
	ErrorCodes    []string                `json:"error_code,omitempty"`
	Causes        []string                `json:"cause,omitempty"`
	Waits         []string                `json:"waiting_for,omitempty"`
	Labels        []string                `json:"label,omitempty"` // name:value
	Root          chargehand.ExecutionID  `json:"root_id,omitzero"`
	RetryOf       chargehand.ExecutionID  `json:"retry_of,omitzero"`
	Failure       string                  `json:"failure,omitempty"`
	MinDurationMs int64                   `json:"min_duration_ms,omitempty"`
	Search        string                  `json:"q,omitempty"`
	Workflows     []chargehand.WorkflowID `json:"workflow_id,omitempty"`
	WorkflowNames []string                `json:"workflow,omitempty"`
}

// encodeFilter is the stored form of a filter.
func encodeFilter(q *ListExecutions) ([]byte, error) {
	f := storedFilter{
		Batch: q.Batch, CreatedAfter: q.CreatedAfter.UTC(), CreatedBefore: q.CreatedBefore.UTC(),
		Versions: q.Filter.Versions, ErrorCodes: q.Filter.ErrorCodes, Causes: q.Filter.Causes, Waits: q.Filter.Waits, Root: q.Filter.Root, RetryOf: q.Filter.RetryOf,
		MinDurationMs: q.Filter.MinDurationMs, Search: q.Filter.Search, Workflows: q.Filter.Workflows, WorkflowNames: q.Filter.WorkflowNames,
	}
	for _, status := range q.Statuses {
		f.Statuses = append(f.Statuses, status.String())
	}
	for _, phase := range q.Phases {
		f.Phases = append(f.Phases, phase.String())
	}
	if q.Filter.Failure != nil {
		f.Failure = q.Filter.Failure.String()
	}
	for _, l := range q.Filter.Labels {
		f.Labels = append(f.Labels, l.Name+":"+l.Value)
	}
	data, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode the filter of an operation: %w", err)
	}
	return data, nil
}

// decodeFilter is the inverse of encodeFilter.
func decodeFilter(data []byte) (q ListExecutions, err error) {
	var f storedFilter
	if err := json.Unmarshal(data, &f); err != nil {
		return q, fmt.Errorf("decode the filter of an operation: %w", err)
	}
	q = ListExecutions{
		Batch: f.Batch, CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore,
		Filter: ExecutionFilter{
			Versions: f.Versions, ErrorCodes: f.ErrorCodes, Causes: f.Causes, Waits: f.Waits, Root: f.Root, RetryOf: f.RetryOf, MinDurationMs: f.MinDurationMs,
			Search: f.Search, Workflows: f.Workflows, WorkflowNames: f.WorkflowNames,
		},
	}
	if f.Failure != "" {
		mark, ok := ParseFailureMark(f.Failure)
		if !ok {
			return q, errors.New("decode the filter of an operation: the failure is not one")
		}
		q.Filter.Failure = &mark
	}
	for _, text := range f.Statuses {
		status, _ := chargehand.ParseStatus(text)
		q.Statuses = append(q.Statuses, status)
	}
	for _, text := range f.Phases {
		phase, _ := chargehand.ParsePhase(text)
		q.Phases = append(q.Phases, phase)
	}
	for _, text := range f.Labels {
		name, label, _ := strings.Cut(text, ":")
		q.Filter.Labels = append(q.Filter.Labels, Label{Name: name, Value: label})
	}
	return q, nil
}

// What actions can be done to.
var (
	unfinishedStatuses = []chargehand.Status{chargehand.Initial, chargehand.Processing, chargehand.HumanInTheLoop}
	finalStatuses      = []chargehand.Status{chargehand.Finished, chargehand.Errored}
	notSuspendedPhases = []chargehand.Phase{chargehand.Pending, chargehand.Running, chargehand.Waiting}
	// Items are deleted with their batch, and children after their parent.
	deletedCauses = []string{"api", "schedule", "event", "retry"}
)

// within narrows the values of a filter (none: any) to those that an action can be done to. ok is false if none is
// left.
func within[T comparable](given, possible []T) (left []T, ok bool) {
	if len(given) == 0 {
		return possible, true
	}
	left = slices.DeleteFunc(slices.Clone(given), func(v T) bool { return !slices.Contains(possible, v) })
	return left, len(left) > 0
}

// narrowFor narrows a filter to what an action can be done to. Without a status or phase, a retry is for what has
// failed, and not for what was cancelled. possible is false if nothing is left.
func narrowFor(action store.OperationAction, q *ListExecutions) (possible bool) {
	ok := true
	switch action {
	case store.OperationCancel, store.OperationSuspend, store.OperationResume:
		q.Statuses, possible = within(q.Statuses, unfinishedStatuses)
	case store.OperationRetry:
		if len(q.Statuses) == 0 && len(q.Phases) == 0 {
			q.Statuses, q.Phases = []chargehand.Status{chargehand.Errored}, []chargehand.Phase{chargehand.Faulted}
		}
		q.Statuses, possible = within(q.Statuses, finalStatuses)
	case store.OperationDelete:
		q.Statuses, possible = within(q.Statuses, finalStatuses)
		q.Filter.Causes, ok = within(q.Filter.Causes, deletedCauses)
		ok = ok && q.Batch.IsZero()
	}
	switch action {
	case store.OperationSuspend:
		q.Phases, ok = within(q.Phases, notSuspendedPhases)
	case store.OperationResume:
		q.Phases, ok = within(q.Phases, []chargehand.Phase{chargehand.Suspended})
	}
	return possible && ok
}

// canDo reports whether an action can be done to an execution as it is, as narrowFor says it.
func canDo(action store.OperationAction, row *store.Execution) bool {
	switch action {
	case store.OperationCancel:
		return !row.Status.Final()
	case store.OperationSuspend:
		return !row.Status.Final() && row.Phase != chargehand.Suspended
	case store.OperationResume:
		return row.Phase == chargehand.Suspended
	case store.OperationDelete:
		return row.Status.Final() && row.Batch == 0
	}
	return row.Status.Final()
}

// selection is what an operation with a filter acts on.
type selection struct {
	action store.OperationAction
	query  ListExecutions
}

// selectedPage is a part of a selection, newest first.
type selectedPage struct {
	ids     []chargehand.ExecutionID
	reached chargehand.ExecutionID // how far was looked
	last    bool                   // there are no more
}

// page reads the part of a selection behind an execution (zero: from the newest). It looks at a bounded number of rows,
// and may be short without being the last.
func (l *selection) page(s *Service, r *store.Reader, p *Principal, behind chargehand.ExecutionID, limit int) (page selectedPage, err error) {
	q := l.query
	if !narrowFor(l.action, &q) {
		return selectedPage{last: true}, nil
	}
	q.After, q.Filter.Ascending = Cursor{}, false
	f, possible := s.listFilter(p, &q)
	if !possible {
		return selectedPage{last: true}, nil
	}
	f.Limit, f.After.ID, f.Part = limit, behind, true // the items of a batch have ids in their order
	keys, floor, err := listRows(s, p, &q, f, &lister[store.ExecutionKey]{r, r.ExecutionKeys, func(k *store.ExecutionKey) store.ExecutionKey { return *k }})
	if err != nil {
		return page, err
	}
	for i := range keys {
		page.ids = append(page.ids, keys[i].ID)
	}
	switch {
	case len(keys) == limit:
		page.reached = keys[limit-1].ID
	case !floor.IsZero():
		page.reached = floor
	default:
		page.last = true
	}
	return page, nil
}

// selectionOf is the selection of an operation: what was created before it.
func selectionOf(row *store.Operation) (l selection, err error) {
	if l.query, err = decodeFilter(row.Filter); err != nil {
		return l, err
	}
	l.action = row.Action
	if before := row.ID.Time(); l.query.CreatedBefore.IsZero() || before.Before(l.query.CreatedBefore) {
		l.query.CreatedBefore = before
	}
	return l, nil
}
