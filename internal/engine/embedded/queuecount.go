package embedded

import (
	"sync"
)

// queuedCounts counts the queued singles of each workflow. An execution counts from before the
// commit that makes it queued until after the commit that ends that.
type queuedCounts struct {
	limit int64
	mu    sync.Mutex
	count map[int64]int64
}

// enter counts one more queued execution. It reports false if the workflow has as many as it may
// have.
func (q *queuedCounts) enter(workflow int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == nil {
		q.count = make(map[int64]int64)
	}
	if q.count[workflow] >= q.limit {
		return false
	}
	q.count[workflow]++
	return true
}

// add is enter without a limit, for executions that are bounded elsewhere.
func (q *queuedCounts) add(workflow int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == nil {
		q.count = make(map[int64]int64)
	}
	q.count[workflow]++
}

func (q *queuedCounts) leave(workflow int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count[workflow]--; q.count[workflow] <= 0 {
		delete(q.count, workflow)
	}
}
