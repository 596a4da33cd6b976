package embedded

import (
	"sync"

	"github.com/chargehand/chargehand/internal/store"
)

// queuedCounts counts the queued singles of each workflow and environment. An execution counts from before the
// commit that makes it queued until after the commit that ends that.
type queuedCounts struct {
	limit int64
	mu    sync.Mutex
	count map[store.QueuedWorkflow]int64
}

// enter counts one more queued execution. It reports false if the workflow has as many as it may
// have.
func (q *queuedCounts) enter(queue store.QueuedWorkflow) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == nil {
		q.count = make(map[store.QueuedWorkflow]int64)
	}
	if q.count[queue] >= q.limit {
		return false
	}
	q.count[queue]++
	return true
}

// add is enter without a limit, for executions that are bounded elsewhere.
func (q *queuedCounts) add(queue store.QueuedWorkflow) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == nil {
		q.count = make(map[store.QueuedWorkflow]int64)
	}
	q.count[queue]++
}

func (q *queuedCounts) leave(queue store.QueuedWorkflow) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count[queue]--; q.count[queue] <= 0 {
		delete(q.count, queue)
	}
}
