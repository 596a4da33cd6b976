package rehearse

import (
	"cmp"
	"container/heap"

	"github.com/chargehand/chargehand/internal/machine"
)

// happening is something that is to happen at a time.
type happening struct {
	dueMs     int64
	execution int // its number; -1: something that was scheduled from outside
	command   machine.CommandID
	event     machine.Event
	do        func(*Rehearsal) // instead of an event
	taken     func()           // called before the event is given
	gone      bool             // it was withdrawn
}

// queue is a heap of what is to happen.
type queue struct {
	list []*happening
	last bool // at the same time, the higher numbers come first
}

// order compares what happens at the same time. What was scheduled from outside comes first, in its order.
func (q *queue) order(a, b *happening) int {
	if a.execution < 0 || b.execution < 0 {
		return cmp.Or(cmp.Compare(a.execution, b.execution), cmp.Compare(a.command, b.command))
	}
	order := cmp.Or(cmp.Compare(a.execution, b.execution), cmp.Compare(a.command, b.command))
	if q.last {
		return -order
	}
	return order
}

func (q *queue) Len() int { return len(q.list) }
func (q *queue) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	if a.dueMs != b.dueMs {
		return a.dueMs < b.dueMs
	}
	return q.order(a, b) < 0
}
func (q *queue) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }

// Push implements heap.Interface.
func (q *queue) Push(h any) { q.list = append(q.list, h.(*happening)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	at := len(q.list) - 1
	h := q.list[at]
	q.list[at] = nil
	q.list = q.list[:at]
	return h
}

// first is the entry that comes next, without those that were withdrawn; nil: there is none.
func (q *queue) first() *happening {
	for len(q.list) > 0 && q.list[0].gone {
		heap.Pop(q)
	}
	if len(q.list) == 0 {
		return nil
	}
	return q.list[0]
}
