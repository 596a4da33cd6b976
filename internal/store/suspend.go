package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// SetSuspended suspends an execution that has not ended, or resumes it, for engines whose machines are elsewhere, and
// returns its state. A queued execution stays queued and keeps its status. ErrConflict: it has ended, is unknown, or is
// what it should become; nothing was written, and the Update can continue.
func (t *Tx) SetSuspended(no int64, suspended bool) (state ExecutionState, err error) {
	// While it is not suspended, the phase follows from the state, until the next report is more exact.
	query := `UPDATE execution SET phase = CASE state WHEN 1 THEN 1 WHEN 5 THEN 1 WHEN 4 THEN 3 ELSE 2 END WHERE no = ?1 AND state <> 0 AND phase = ?2 RETURNING state`
	if suspended {
		query = `UPDATE execution SET phase = ?2 WHERE no = ?1 AND state <> 0 AND phase <> ?2 RETURNING state`
	}
	err = t.one(query, func(r Row) { state = ExecutionState(r.Int(0)) }, no, int64(chargehand.Suspended))
	if errors.Is(err, ErrNotFound) {
		err = ErrConflict
	}
	if err != nil {
		return 0, fmt.Errorf("set suspended: %w", err)
	}
	return state, nil
}

// CountSuspension counts that an execution is suspended once more. ErrConflict: it has been suspended most times
// already, or is unknown; nothing was written.
func (t *Tx) CountSuspension(no int64, most int) error {
	return t.change("count suspension", `UPDATE execution SET suspensions = suspensions + 1 WHERE no = ?1 AND suspensions < ?2`, no, int64(most))
}
