package service

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"unicode/utf8"

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
	RetryOf       chargehand.ExecutionID // it repeats this one
	Failure       *FailureMark           // how it has failed
	Waits         []string               // kinds of WaitingFor
	MinDurationMs int64
	Search        string // id, its beginning or its last 8 digits, id of an item, or value of a label
	Ascending     bool   // oldest first
}

func (f *ExecutionFilter) conditions(nowMs int64) store.Conditions {
	c := store.Conditions{
		ErrorCodes: f.ErrorCodes, Causes: f.Causes, Versions: f.Versions, MinDurationMs: f.MinDurationMs, NowMs: nowMs, Search: f.Search,
		Labels: f.Labels, RetryOf: f.RetryOf,
	}
	if f.Failure != nil {
		c.Failure = &store.FaultMarks{At: f.Failure.reference, Hash: f.Failure.hash}
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

// FailureMark is what failures with one code have in common that belong together: the task, and the detail without what
// differs from case to case.
type FailureMark struct {
	reference string // as a JSON pointer; empty: none
	hash      int64
}

// String is the form that ParseFailureMark reads.
func (m FailureMark) String() string {
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint64(nil, uint64(m.hash)), m.reference...))
}

// ParseFailureMark is the inverse of String.
func ParseFailureMark(text string) (m FailureMark, ok bool) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(data) < 8 || !utf8.Valid(data[8:]) || bytes.IndexByte(data[8:], 0) >= 0 {
		return m, false
	}
	return FailureMark{string(data[8:]), int64(binary.BigEndian.Uint64(data))}, true
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
