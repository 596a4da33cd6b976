package store

import (
	"fmt"

	"github.com/chargehand/chargehand"
)

// OldestInState is the execution that was created first of up to limit executions in a state. found is false if there
// is none.
func (r *Reader) OldestInState(state ExecutionState, limit int) (id chargehand.ExecutionID, found bool, err error) {
	err = r.c.Query(`SELECT id FROM (SELECT id FROM execution WHERE state = ?1 AND state <> 0 LIMIT ?2) e ORDER BY id LIMIT 1`, func(row Row) error {
		scanID(row, 0, &id)
		found = true
		return nil
	}, int64(state), int64(limit))
	if err != nil {
		return id, false, fmt.Errorf("look for the oldest execution: %w", err)
	}
	return id, found, nil
}

// CountTimersDue counts the timers that are due at or before uptoMs, up to limit.
func (r *Reader) CountTimersDue(uptoMs int64, limit int) (int64, error) {
	return r.count("count timers", `SELECT COUNT(*) FROM (SELECT due_ms FROM timer WHERE environment IN (1, 2) AND due_ms <= ?1 LIMIT ?2) t`,
		uptoMs, int64(limit))
}
