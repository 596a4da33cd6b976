package service

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// ListBatches is a query for batches.
type ListBatches struct {
	Workflow      chargehand.WorkflowID   // zero: of all workflows
	Workflows     []chargehand.WorkflowID // of these, and of those with the names; none: of any
	WorkflowNames []string                // namespace/name
	Phases        []string                // pending, running, completed, failed, cancelled; none: any
	Statuses      []chargehand.BatchStatus
	Labels        []Label   // a batch has all of them
	CreatedAfter  time.Time // exclusive; zero: no bound
	CreatedBefore time.Time // exclusive; zero: no bound
	Limit         int       // 1 to 100
	After         Cursor
}

// fitting are those of some batches that have one of the statuses, one of the phases, and the labels.
func (q *ListBatches) fitting(r *store.Reader, rows []store.Batch) (found []store.Batch, err error) {
	var nos []int64
	for i := range rows {
		row := &rows[i]
		if (len(q.Statuses) == 0 || slices.Contains(q.Statuses, row.Status)) && (len(q.Phases) == 0 || slices.Contains(q.Phases, batchPhase(row))) {
			found, nos = append(found, *row), append(nos, row.No)
		}
	}
	if len(q.Labels) == 0 || len(found) == 0 {
		return found, nil
	}
	labels, err := r.LabelsOfBatches(nos)
	return slices.DeleteFunc(found, func(row store.Batch) bool {
		return slices.ContainsFunc(q.Labels, func(l Label) bool { return !slices.Contains(labels[row.No], l) })
	}), err
}

// maxExaminedBatches is the number of batches that are read for one page to find those that it shows.
const maxExaminedBatches = 2000

// maxCountedItems is the number of items that are counted for one page of batches.
const maxCountedItems = 50_000

// ListBatches lists batches, newest first. A page that looks at batches in vain looks at no more than
// maxExaminedBatches, and one of batches at work counts no more than maxCountedItems, or those of its first batch; it
// may be short, and have a cursor. Codes: workflow_not_found.
func (s *Service) ListBatches(ctx context.Context, p *Principal, q ListBatches) (*BatchPage, error) {
	page := &BatchPage{Data: []*Batch{}}
	beforeMs, possible := millisAbove(q.CreatedBefore)
	f := store.BatchFilter{
		Account: p.AccountNo, Environment: p.Environment, Before: chargehand.BatchID(q.After.ID),
		CreatedAfterMs: max(0, milliOf(q.CreatedAfter)), CreatedBeforeMs: beforeMs,
	}
	err := s.view(ctx, func(r *store.Reader) error {
		var no int64
		if !q.Workflow.IsZero() {
			w, err := s.knownWorkflow(r, p, q.Workflow)
			if err != nil {
				return err
			}
			no = w.No
		}
		scopes, err := s.listScopesOf(r, p, &ListExecutions{
			Workflow: q.Workflow, Filter: ExecutionFilter{Workflows: q.Workflows, WorkflowNames: q.WorkflowNames},
		}, no)
		if err != nil || !possible {
			return err
		}
		rows, cursor, err := findBatches(r, &q, f, scopes)
		if err != nil {
			return err
		}
		page.Cursor = cursor
		if page.Data, err = s.showBatches(r, rows, maxCountedItems); len(page.Data) < len(rows) && err == nil {
			page.Cursor = idCursor(rows[len(page.Data)-1].ID)
		}
		return err
	})
	return page, err
}

// showBatches shows batches, one at least, and no more than those of which so many items have begun and not ended
// together: they are counted.
func (s *Service) showBatches(r *store.Reader, rows []store.Batch, items int) ([]*Batch, error) {
	list := make([]*Batch, 0, len(rows))
	for i := range rows {
		var n store.StateCounts
		if !rows[i].Status.Final() {
			if i == 0 {
				items = max(items, int(rows[i].Total))
			}
			// One more than may be: then there are too many.
			counts, counted, err := r.CountItemsAtMost(rows[i].No, items+1)
			if err != nil {
				return nil, err
			}
			if counted > items {
				break
			}
			n, items = counts, items-counted
		}
		b, err := s.batchCounted(r, &rows[i], n, View{})
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// findBatches reads the batches of a page, and where the next one begins.
func findBatches(r *store.Reader, q *ListBatches, f store.BatchFilter, scopes []executionScope) (found []store.Batch, next Cursor, err error) {
	if rows, few, err := labelledBatches(r, q, f, scopes); err != nil || few {
		if err == nil {
			found, err = q.fitting(r, rows)
		}
		if len(found) > q.Limit {
			found = found[:q.Limit]
			next = idCursor(found[q.Limit-1].ID)
		}
		return found, next, err
	}
	f.Limit = q.Limit + 1
	for examined := 0; ; {
		rows, read, err := listBatchScopes(r, f, scopes)
		if err != nil {
			return nil, next, err
		}
		fitting, err := q.fitting(r, rows)
		if err != nil {
			return nil, next, err
		}
		if found = append(found, fitting...); len(found) > q.Limit {
			found = found[:q.Limit]
			return found, idCursor(found[q.Limit-1].ID), nil
		}
		if len(rows) < f.Limit {
			return found, Cursor{}, nil
		}
		last := rows[len(rows)-1].ID
		if examined += read; examined >= maxExaminedBatches {
			return found, idCursor(last), nil
		}
		f.Before, f.Limit = last, max(1, (maxExaminedBatches-examined)/len(scopes))
	}
}

// labelledBatches reads the batches of some scopes that have one of the labels, newest first. few is false if there is
// no label that no more than maxExaminedBatches have: then pages look at all batches.
func labelledBatches(r *store.Reader, q *ListBatches, f store.BatchFilter, scopes []executionScope) (rows []store.Batch, few bool, err error) {
	for _, l := range q.Labels {
		if rows, few, err = r.BatchesWithLabel(f, l, maxExaminedBatches); err != nil || few {
			return slices.DeleteFunc(rows, func(b store.Batch) bool {
				return !slices.ContainsFunc(scopes, func(s executionScope) bool {
					return (s.workflow == 0 || s.workflow == b.Workflow) && (s.startedBy == 0 || s.startedBy == b.StartedBy)
				})
			}), few, err
		}
	}
	return nil, false, nil
}

// listBatchScopes lists the newest batches of some scopes, up to the limit, and says how many it has read for that: up
// to the limit of each.
func listBatchScopes(r *store.Reader, f store.BatchFilter, scopes []executionScope) (rows []store.Batch, read int, err error) {
	for _, scope := range scopes {
		f.Workflow, f.StartedBy = scope.workflow, scope.startedBy
		some, err := r.ListBatches(f)
		if read += len(some); err != nil || len(scopes) == 1 {
			return some, read, err
		}
		rows = append(rows, some...)
		slices.SortFunc(rows, func(a, b store.Batch) int { return bytes.Compare(b.ID[:], a.ID[:]) })
		rows = slices.CompactFunc(rows, func(a, b store.Batch) bool { return a.No == b.No })
		rows = rows[:min(len(rows), f.Limit)]
	}
	return rows, read, nil
}
