package store

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
)

// ExecutionFilter selects executions. Account and Environment always apply; Batch, or else
// Workflow, narrows further.
type ExecutionFilter struct {
	Account         int64
	Environment     chargehand.Environment
	Workflow        int64               // 0: any
	Batch           int64               // 0: any; Workflow and StartedBy are then not looked at
	StartedBy       int64               // as in Execution; 0: any
	Except          []int64             // workflows that are not selected. Not used with Batch and Workflow
	Statuses        []chargehand.Status // none: any
	Phases          []chargehand.Phase  // none: any
	CreatedAfterMs  int64               // strictly after; 0: no bound
	CreatedBeforeMs int64               // strictly before; 0: no bound
	Conditions
	After     Cursor                 // the last one of the page before; zero: first page
	Floor     chargehand.ExecutionID // none behind that id, in the order of the list; zero: no bound. Not used with Batch
	Part      bool                   // Batch is a part of a list of others: After and Floor count by id
	Ascending bool                   // oldest first
	Failed    bool                   // only those that have failed; those that were cancelled have not
	Limit     int
}

// Cursor is the place of an execution in a list. It holds nothing about the tenant, so a
// cursor of another list only leads to another place.
type Cursor struct {
	ID   chargehand.ExecutionID
	Item int64
}

// CursorAt is the place of e.
func CursorAt(e *Execution) Cursor { return Cursor{ID: e.ID, Item: e.Item} }

// ErrBadCursor is returned by ParseCursor.
var ErrBadCursor = errors.New("not a cursor")

// String is the opaque form that ParseCursor reads.
func (c Cursor) String() string {
	b := append(make([]byte, 0, 16+binary.MaxVarintLen64), c.ID[:]...)
	return base64.RawURLEncoding.EncodeToString(binary.AppendUvarint(b, uint64(c.Item)))
}

// ParseCursor is the inverse of String. Errors: ErrBadCursor.
func ParseCursor(s string) (Cursor, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) < 17 {
		return Cursor{}, ErrBadCursor
	}
	item, n := binary.Uvarint(b[16:])
	if n != len(b)-16 || item > 1<<62 {
		return Cursor{}, ErrBadCursor
	}
	c := Cursor{Item: int64(item)}
	copy(c.ID[:], b)
	if c.String() != s || c.ID.IsZero() {
		return Cursor{}, ErrBadCursor
	}
	return c, nil
}

// ListExecutions reads one page, newest first by id (time, then the rest of the id), or oldest first. Input
// is left out. The order within a batch is by item, which is the same order.
//
// One index per scope has the status before the id. A list over several statuses merges
// one ordered range per status, so that any combination reads as many rows as it returns. Lists by error code, by what
// executions wait for, by label and by tree have indexes of their own; further conditions are looked at row by row.
func (r *Reader) ListExecutions(f ExecutionFilter) ([]Execution, error) {
	statuses := statusesOf(f.Statuses, f.Phases)
	if len(statuses) == 0 {
		return nil, nil
	}
	query, args := f.query(statuses)
	var list []Execution
	err := r.c.Query(query, func(row Row) error {
		var e Execution
		r.scanExecution(row, &e)
		list = append(list, e)
		return nil
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("list executions: %w", err)
	}
	return list, nil
}

// phaseStatuses says which statuses an execution in a phase can have. Where a phase has a
// status of its own, the phase need not be looked at.
var phaseStatuses = map[chargehand.Phase][]chargehand.Status{
	chargehand.Pending:   {chargehand.Initial},
	chargehand.Running:   {chargehand.Processing, chargehand.HumanInTheLoop},
	chargehand.Waiting:   {chargehand.Processing, chargehand.HumanInTheLoop},
	chargehand.Suspended: {chargehand.Initial, chargehand.Processing, chargehand.HumanInTheLoop},
	chargehand.Cancelled: {chargehand.Errored},
	chargehand.Faulted:   {chargehand.Errored},
	chargehand.Completed: {chargehand.Finished},
}

// statusesOf lists the statuses that a filter by status and phase admits: none if nothing can
// agree with both.
func statusesOf(statuses []chargehand.Status, phases []chargehand.Phase) []chargehand.Status {
	if len(statuses) == 0 {
		statuses = allStatuses
	}
	if len(phases) == 0 {
		return statuses
	}
	var possible []chargehand.Status
	for _, status := range statuses {
		if slices.ContainsFunc(phases, func(p chargehand.Phase) bool { return slices.Contains(phaseStatuses[p], status) }) {
			possible = append(possible, status)
		}
	}
	return possible
}

// andPhases narrows a selection to phases.
func andPhases(selection string, phases []chargehand.Phase, args []any) (string, []any) {
	for i, phase := range phases {
		args = append(args, int64(phase))
		selection += [...]string{` AND e.phase IN (`, `, `}[min(i, 1)] + fmt.Sprintf("?%d", len(args))
	}
	if len(phases) > 0 {
		selection += `)`
	}
	return selection, args
}

var allStatuses = []chargehand.Status{chargehand.Initial, chargehand.Processing, chargehand.HumanInTheLoop, chargehand.Finished, chargehand.Errored}

// mergeStatuses repeats a select once per status, joined by UNION ALL and ordered.
func mergeStatuses(selection, order string, statuses []chargehand.Status, args []any) (string, []any) {
	var b strings.Builder
	for i, status := range statuses {
		if i > 0 {
			b.WriteString("\nUNION ALL ")
		}
		args = append(args, int64(status))
		fmt.Fprintf(&b, "%s AND e.status = ?%d", selection, len(args))
	}
	b.WriteString("\nORDER BY ")
	b.WriteString(order)
	return b.String(), args
}

// idBounds is the range [low, high) of ids made strictly between two times.
func idBounds(afterMs, beforeMs int64) (low, high []byte) {
	low, high = make([]byte, 16), make([]byte, 17)
	for i := range high {
		high[i] = 0xff
	}
	put := func(b []byte, ms int64) {
		clear(b)
		for i := range 6 {
			b[i] = byte(ms >> (40 - 8*i))
		}
	}
	if afterMs > 0 {
		put(low, afterMs+1)
	}
	if beforeMs > 0 {
		put(high[:16], beforeMs)
		high = high[:16]
	}
	return low, high
}
