package temporal

import (
	"time"

	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

// The lanes of a relay. Messages that wait in one lane do not delay those of another.
const (
	cancelLane = iota // messages that end executions
	workLane          // messages that executions with a slot need to continue, and rare ones
	eventLane         // messages that make executions read events
	laneCount
)

var laneKinds = [laneCount][]store.OutboxKind{
	cancelLane: {store.OutboxCancel, store.OutboxStop},
	workLane:   {store.OutboxStart, store.OutboxGrant, store.OutboxChild, store.OutboxSuspend, store.OutboxResume, store.OutboxAnswer},
	eventLane:  {store.OutboxEvents},
}

func laneOf(kind store.OutboxKind) int {
	switch kind {
	case store.OutboxCancel, store.OutboxStop:
		return cancelLane
	case store.OutboxEvents:
		return eventLane
	}
	return workLane
}

// lane holds messages that wait to be delivered. A limited number is delivered at once, shared between environments
// and workflows. It is guarded by relay.mu.
type lane struct {
	kinds   []store.OutboxKind
	line    *fair.Line[*delivery]
	waiting map[int64]*delivery // messages in line, by number
	unacked unacked
	permits int       // of the line
	most    int       // permits
	adapted time.Time // when permits changed

	ackPause time.Duration // between two searches for acknowledgements, at most
	open     openFunc
}

func newLane(kinds []store.OutboxKind, most int) *lane {
	permits := (most + 1) / 2 // more when it turns out that steps are quick
	line := fair.NewLine[*delivery](laneLimits(permits))
	return &lane{
		kinds: kinds, line: line, waiting: make(map[int64]*delivery), unacked: newUnacked(),
		permits: permits, most: most, ackPause: maxAckPause,
	}
}

// laneLimits leaves some permits for workflows that have few messages.
func laneLimits(permits int) fair.Limits {
	return fair.Limits{Permits: permits, PerWorkflow: max(1, permits*3/4)}
}

// leastPermits is how many permits a lane has at least, or as many as it has at most.
const leastPermits = 8

// adapt gives the lane fewer permits while steps of its executions are slow, and more while they are quick. What is
// slow for a cluster nearby is usual for one far away. It needs relay.mu.
func (l *lane) adapt(slow time.Duration, now time.Time) {
	u, permits := &l.unacked, l.permits
	slow = max(slow, 4*u.usual)
	switch {
	case u.interval > slow && now.Sub(l.adapted) > u.interval: // the change before this one shows
		permits = max(permits*3/4, min(leastPermits, l.most))
	case u.interval < slow/2:
		permits = min(permits+1, l.most)
	}
	if permits != l.permits {
		l.permits, l.adapted = permits, now
		l.line.SetLimits(laneLimits(permits))
	}
}

func (d *delivery) owner() fair.Owner {
	return fair.Owner{Environment: d.Environment, Workflow: d.Workflow}
}

// hand gives messages to the relay whose lease this node has. It does not block. A message for which there is no room
// is delivered when its lease is over. The lease of a message that comes after the relay has stopped is released.
func (r *relay) hand(list ...delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range list {
		d := list[i]
		d.since = r.Now()
		r.add(&d)
	}
}

// handMessages gives messages to the relay that were just written.
func (r *relay) handMessages(messages []store.OutboxMessage) {
	list := make([]delivery, len(messages))
	for i, m := range messages {
		list[i].OutboxMessage = m
	}
	r.hand(list...)
}

// add needs r.mu.
func (r *relay) add(d *delivery) {
	l := r.lanes[laneOf(d.Kind)]
	known := l.waiting[d.No]
	switch {
	case r.closed:
		r.back = append(r.back, d.No)
	case known != nil: // its lease was over, and this node has taken it again
		known.DueMs = d.DueMs
	case l.line.Take(d.owner()):
		r.begin(l, d)
	case len(l.waiting) < maxHeld:
		if len(l.waiting) >= maxHeldRows {
			d.row = nil
		}
		l.waiting[d.No], d.waited = d, true
		l.line.Push(d.owner(), d)
		l.unacked.contend()
	}
}

// begin delivers a message that has a permit. It needs r.mu, and that the relay has not stopped.
func (r *relay) begin(l *lane, d *delivery) {
	r.workers.Go(func() {
		taken := r.deliver(d)
		r.mu.Lock()
		defer r.mu.Unlock()
		if taken && l.unacked.add(d, r.Now()) {
			if l.line.Waiting() > 0 {
				l.unacked.contend()
			}
			return // the execution keeps the permit until it has acknowledged the message
		}
		r.leave(l, d.owner())
	})
}

// leave gives a permit back, and begins the next messages. It needs r.mu.
func (r *relay) leave(l *lane, o fair.Owner) {
	l.line.Release(o)
	r.fill(l)
}

// fill begins the next messages, as many as may have a permit. It needs r.mu.
func (r *relay) fill(l *lane) {
	for !r.closed {
		d, _, ok := l.line.Next()
		if !ok {
			return
		}
		delete(l.waiting, d.No)
		r.begin(l, d)
	}
}
