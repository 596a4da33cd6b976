package store

import (
	"fmt"

	"github.com/chargehand/chargehand"
)

// NextDelayedMs is when the next delayed execution is to start; 0: none is delayed.
func (r *Reader) NextDelayedMs() (ms int64, err error) {
	err = r.c.Query(`SELECT start_ms FROM execution WHERE state = 5 ORDER BY start_ms LIMIT 1`, func(row Row) error {
		ms = row.Int(0)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("look for delayed executions: %w", err)
	}
	return ms, nil
}

// Released is a delayed execution that has become queued.
type Released struct {
	No    int64
	Queue QueuedActor
	Batch int64 // 0: none
}

// StartDelayed queues up to limit delayed executions whose start is due. None: there are no more that another Update
// has not in hand.
func (t *Tx) StartDelayed(nowMs int64, limit int) (list []Released, err error) {
	var nos []int64
	err = t.c.Query(`SELECT no, account, environment, workflow, batch, `+actorOf+` FROM execution WHERE state = 5 AND start_ms <= ?1
 ORDER BY start_ms, no LIMIT ?2`+t.c.SkipLocked(), func(r Row) error {
		list = append(list, Released{No: r.Int(0), Batch: r.Int(4), Queue: QueuedActor{QueuedWorkflow{r.Int(1), chargehand.Environment(r.Int(2)), r.Int(3)}, r.Int(5)}})
		nos = append(nos, r.Int(0))
		return nil
	}, nowMs, int64(limit))
	if err != nil {
		return nil, fmt.Errorf("read delayed executions: %w", err)
	}
	err = inGroups(nos, func(in string, args []any) error {
		// state + 0, so that no planner takes another index than that of the numbers.
		_, err := t.c.Exec(`UPDATE execution SET state = 1, parked = 0 WHERE no IN (`+in+`) AND state + 0 = 5`, args...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("start delayed executions: %w", err)
	}
	return list, nil
}
