package store

import (
	"fmt"
	"strings"

	"github.com/chargehand/chargehand"
)

// Activity is what happens with a workflow in an environment.
type Activity struct {
	Last   chargehand.ExecutionID // the newest execution; zero: there is none
	Status chargehand.Status      // of that one
	Counts map[chargehand.Status]int
}

// activityQuery reads for each status how many there are, and the newest one: a part for each, so that all of them are
// read from the index.
var activityQuery = func() string {
	var parts []string
	for _, status := range allStatuses {
		from := fmt.Sprintf(`FROM execution WHERE workflow = ?1 AND environment = ?2 AND status = %d`, status)
		parts = append(parts, fmt.Sprintf(`SELECT %d, (SELECT COUNT(*) FROM (SELECT 1 %s AND id > ?3 ORDER BY id DESC LIMIT ?4) x),
 (SELECT id %s ORDER BY id DESC LIMIT 1)`, status, from, from))
	}
	return strings.Join(parts, "\nUNION ALL ")
}()

// WorkflowActivity reads the newest execution of a workflow in an environment, and counts those that were created since
// a time, up to most of each status.
func (r *Reader) WorkflowActivity(workflow int64, env chargehand.Environment, sinceMs int64, most int) (a Activity, err error) {
	a.Counts = make(map[chargehand.Status]int)
	low, _ := idBounds(sinceMs, 0)
	err = r.c.Query(activityQuery, func(row Row) error {
		status := chargehand.Status(row.Int(0))
		if n := int(row.Int(1)); n > 0 {
			a.Counts[status] = n
		}
		if id := row.Bytes(2); string(id) > string(a.Last[:]) {
			copy(a.Last[:], id)
			a.Status = status
		}
		return nil
	}, workflow, int64(env), low, int64(most))
	if err != nil {
		return Activity{}, fmt.Errorf("read activity: %w", err)
	}
	return a, nil
}
