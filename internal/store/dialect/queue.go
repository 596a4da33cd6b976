package dialect

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/chargehand/chargehand/internal/store"
)

// MaxQueue is how many requests wait in a Queue; more wait for a place.
const MaxQueue = 1024

// ErrClosed is the answer of a database that is closed.
var ErrClosed = fmt.Errorf("%w: the database is closed", store.ErrUnavailable)

// Request is one Update, or maintenance that runs between two commits, outside of any transaction. Writer is what
// maintenance works with.
type Request[Writer any] struct {
	Update   func(store.Conn) error
	Maintain func(Writer) error
	Err      error               // of an update that has run
	Counts   []store.UsageChange // of an update that has succeeded, where a later one may undo it
	done     chan error
}

// Queue holds the requests that wait. The writer that receives from Waiting or Urgent answers each of them, and does
// not touch it any more then.
type Queue[Writer any] struct {
	Waiting chan *Request[Writer] // closed by Close
	Urgent  chan *Request[Writer] // maintenance that overtakes: see DoNow
	spare   sync.Pool             // of *Request[Writer], for Update

	mu     sync.RWMutex // held for reading while a request is put into the queue
	closed bool
}

// NewQueue returns an empty queue.
func NewQueue[Writer any]() *Queue[Writer] {
	return &Queue[Writer]{Waiting: make(chan *Request[Writer], MaxQueue), Urgent: make(chan *Request[Writer])}
}

// Update queues an Update and waits for its answer. ctx only bounds the wait for a place.
func (q *Queue[Writer]) Update(ctx context.Context, update func(store.Conn) error) error {
	r, _ := q.spare.Get().(*Request[Writer])
	if r == nil {
		r = &Request[Writer]{}
	}
	r.Update = update
	err := q.do(ctx, r, nil)
	*r = Request[Writer]{done: r.done} // which is empty: its answer was taken, or it was never queued
	q.spare.Put(r)
	return err
}

// Do queues a request and waits for its answer. ctx only bounds the wait for a place.
func (q *Queue[Writer]) Do(ctx context.Context, r *Request[Writer]) error {
	return q.do(ctx, r, nil)
}

// DoNow is Do for maintenance that the writer may wait for: it stands behind no other request, because these may be
// held up until it was done. The writer receives from Urgent, too.
func (q *Queue[Writer]) DoNow(ctx context.Context, r *Request[Writer]) error {
	return q.do(ctx, r, q.Urgent)
}

func (q *Queue[Writer]) do(ctx context.Context, r *Request[Writer], urgent chan<- *Request[Writer]) error {
	if err := q.Put(ctx, r, urgent); err != nil {
		return err
	}
	return r.Wait()
}

// Put queues a request, or hands it to the writer through urgent, if that is given.
func (q *Queue[Writer]) Put(ctx context.Context, r *Request[Writer], urgent chan<- *Request[Writer]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.done == nil {
		r.done = make(chan error, 1)
	}
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return ErrClosed
	}
	waiting := q.Waiting
	if urgent != nil {
		waiting = nil
	}
	select {
	case urgent <- r:
		return nil
	case waiting <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close refuses what comes from now on. What waits stays in Waiting, which is closed.
func (q *Queue[Writer]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.Waiting)
}

// Gather takes the requests that are already waiting, at most so many, up to the first maintenance, which is to run
// behind the group.
func (q *Queue[Writer]) Gather(group []*Request[Writer], first *Request[Writer], most int) (_ []*Request[Writer], last *Request[Writer]) {
	for next := first; ; {
		if next.Maintain != nil {
			return group, next
		}
		if group = append(group, next); len(group) == most {
			return group, nil
		}
		select {
		case r, ok := <-q.Waiting:
			if !ok {
				return group, nil
			}
			next = r
		default:
			return group, nil
		}
	}
}

// Wait returns the answer to a request that was put into a queue.
func (r *Request[Writer]) Wait() error { return <-r.done }

// Answer ends the Wait of the caller.
func (r *Request[Writer]) Answer(err error) { r.done <- err }

// AnswerAll gives each request of a group its Err, and empties the group.
func AnswerAll[Writer any](group []*Request[Writer]) {
	for i, r := range group {
		r.Answer(r.Err)
		group[i] = nil
	}
}

// FailWritten fails the requests that had succeeded; the others have errors of their own.
func FailWritten[Writer any](group []*Request[Writer], err error) {
	for _, r := range group {
		if r.Err == nil {
			r.Err = err
		}
	}
}

// Call runs an Update. A panic in it is an error of this Update only, and a failure of the storage, which failed
// knows, is one even if the Update has ignored it.
func Call(c store.Conn, update func(store.Conn) error, failed *error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("update panicked: %v\n%s", v, debug.Stack())
		}
	}()
	if err := update(c); err != nil {
		return err
	}
	return *failed
}
