package service

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// maxPreviews is how many counts of what operations would act on one process makes at once.
	maxPreviews = 2
	// previewPages bounds the parts of such a count, each of which reads maxExamined rows of a workflow at most, and
	// previewTime what they take together: others wait for their turn.
	previewPages = 250
	previewTime  = 5 * time.Second
)

// PreviewOperation counts what an operation would act on now. It counts up to MaxOperationExecutions.
// Codes: invalid_body, unknown_field.
func (s *Service) PreviewOperation(ctx context.Context, p *Principal, r StartOperation) (*OperationPreview, error) {
	b, err := readOperation(&r)
	if err != nil {
		return nil, err
	}
	preview := &OperationPreview{Action: operationActions[b.action]}
	if r.Filter == nil {
		preview.Count, err = s.countNamed(ctx, p, &b)
		return preview, err
	}
	select {
	case s.operations.previews <- struct{}{}:
		defer func() { <-s.operations.previews }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	selected := selection{action: b.action, query: *r.Filter}
	var behind chargehand.ExecutionID
	ends := s.now().Add(previewTime)
	for range previewPages {
		if !behind.IsZero() && !s.now().Before(ends) {
			break
		}
		var page selectedPage
		err := s.view(ctx, func(r *store.Reader) (err error) {
			page, err = selected.page(s, r, p, behind, selectedAtOnce)
			return err
		})
		if err != nil {
			return nil, err
		}
		preview.Count += int64(len(page.ids))
		if preview.Count > MaxOperationExecutions {
			preview.Count, preview.AtLeast = MaxOperationExecutions, true
			return preview, nil
		}
		if page.last {
			return preview, nil
		}
		behind = page.reached
	}
	preview.AtLeast, preview.ExaminedUntil = true, examinedUntil(p, behind)
	return preview, nil
}

// countNamed counts the executions of a list to which an action can be done now.
func (s *Service) countNamed(ctx context.Context, p *Principal, b *operationBody) (n int64, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		n = 0
		for _, id := range b.ids {
			row, err := r.ExecutionByID(p.AccountNo, p.Environment, id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			workflow, err := s.names.workflow(r, row.Workflow)
			if err != nil {
				return err
			}
			if p.seesStarted(workflow, row.StartedBy) && canDo(b.action, &row) {
				n++
			}
		}
		return nil
	})
	return n, err
}
