package service

import (
	"encoding/hex"
	"errors"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// ExecutionFilter narrows a list of executions. Zero fields do not; of a field with several values, one must fit,
// but an execution has all labels.
type ExecutionFilter struct {
	Workflows     []chargehand.WorkflowID
	WorkflowNames []string // namespace/name
	Versions      []string
	ErrorCodes    []string
	Causes        []string
	Labels        []Label
	Root          chargehand.ExecutionID // of its tree; not the root itself
	Waits         []string               // kinds of WaitingFor
	MinDurationMs int64
	Search        string // id, its beginning or its last 8 digits, id of an item, or value of a label
	Ascending     bool   // oldest first
}

func (f *ExecutionFilter) conditions(nowMs int64) store.Conditions {
	c := store.Conditions{
		ErrorCodes: f.ErrorCodes, Causes: f.Causes, Versions: f.Versions, MinDurationMs: f.MinDurationMs, NowMs: nowMs, Search: f.Search,
		Labels: f.Labels,
	}
	for _, name := range f.Waits {
		if name == "slot" {
			c.WaitsForSlot = true
		}
		for kind, known := range waitNames {
			if known == name {
				c.Waits = append(c.Waits, kind)
			}
		}
	}
	if len(f.Labels) > 0 && !f.Ascending { // the batches with a label are known by their last items
		c.Label, c.Labels = &f.Labels[0], f.Labels[1:]
	}
	return c
}

// listScopesOf are the parts of a list: those of the workflows that were asked for, or all that the principal sees.
func (s *Service) listScopesOf(r *store.Reader, p *Principal, q *ListExecutions, workflow int64) ([]executionScope, error) {
	if workflow != 0 || len(q.Filter.Workflows)+len(q.Filter.WorkflowNames) == 0 {
		return executionScopes(r, p, q, workflow)
	}
	var scopes []executionScope
	add := func(w store.Workflow, err error) error {
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && !p.Sees(w.ID):
			return nil
		case err != nil:
			return err
		}
		scope := executionScope{workflow: w.No}
		if !p.SeesWhole(w.ID) {
			scope.startedBy = p.actor()
		}
		scopes = append(scopes, scope)
		return nil
	}
	for _, id := range q.Filter.Workflows {
		if err := add(r.WorkflowByID(p.AccountNo, id)); err != nil {
			return nil, err
		}
	}
	for _, name := range q.Filter.WorkflowNames {
		namespace, name, _ := strings.Cut(name, "/")
		if err := add(r.WorkflowByName(p.AccountNo, namespace, name)); err != nil {
			return nil, err
		}
	}
	return scopes, nil
}

// idRange is the range of the ids that begin with a text of at least 8 digits.
func idRange(text string) (low, high chargehand.ExecutionID, ok bool) {
	const form = "00000000-0000-0000-0000-000000000000"
	if len(text) < 8 || len(text) > len(form) {
		return low, high, false
	}
	for i := range len(text) {
		if (text[i] == '-') != (form[i] == '-') {
			return low, high, false
		}
	}
	digits := strings.ReplaceAll(text, "-", "")
	fill := func(digit string) (id chargehand.ExecutionID, err error) {
		_, err = hex.Decode(id[:], []byte(digits+strings.Repeat(digit, 32-len(digits))))
		return id, err
	}
	low, err := fill("0")
	if err != nil {
		return low, high, false
	}
	high, err = fill("f")
	return low, high, err == nil
}

// after is the id behind one.
func after(id chargehand.ExecutionID) chargehand.ExecutionID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id
}
