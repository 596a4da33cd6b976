package temporal

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

const (
	// leasePage bounds the messages of a lane that are taken over in one transaction, or deleted.
	leasePage = 200
	// maxLease bounds the lease of a message that waits in memory.
	maxLease = time.Minute
)

// leaseLoop takes over messages whose lease is over.
func (r *relay) leaseLoop() {
	for {
		full, err := r.leaseDue()
		if err != nil && !errors.Is(err, store.ErrUnavailable) && r.ctx.Err() == nil {
			r.Log.Error("take over messages", "error", err)
		}
		wait := jitter(r.Every)
		if full && err == nil {
			wait = 0
		}
		select {
		case <-r.stopping:
			return
		case <-time.After(wait):
		}
	}
}

// leaseDue takes over the messages whose lease is over, as far as the lanes have room. Each lane gets its messages,
// however many messages of other lanes are due before them. full: there may be more.
func (r *relay) leaseDue() (full bool, err error) {
	var due bool
	err = r.Store.View(r.ctx, func(rd *store.Reader) (err error) {
		due, err = rd.OutboxDue(r.nowMs())
		return err
	})
	if err != nil || !due {
		return false, err
	}
	holds := r.pause.holds()
	for i := range r.lanes {
		limit := min(leasePage, r.room(i))
		if holds {
			limit = min(limit, 1) // enough to find out whether Temporal is back
		}
		if limit <= 0 {
			continue
		}
		var list []store.OutboxMessage
		err = r.Store.Update(r.ctx, func(tx *store.Tx) (err error) {
			list, err = tx.LeaseOutbox(laneKinds[i], r.nowMs(), r.leaseMs(), limit)
			return err
		})
		if err != nil {
			return false, err
		}
		r.handMessages(list)
		if holds && len(list) > 0 {
			return false, nil
		}
		full = full || len(list) == leasePage
	}
	return full, nil
}

// room is the number of messages that a lane can take over: it keeps room for those that this node writes.
func (r *relay) room(lane int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maxHeld/2 - len(r.lanes[lane].waiting)
}

// prolongLoop prolongs the leases of messages that wait in memory.
func (r *relay) prolongLoop() {
	for {
		select {
		case <-r.stopping:
			return
		case <-time.After(r.Lease / 5):
		}
		if r.pause.holds() {
			continue // when Temporal answers again, they are taken over again
		}
		if err := r.prolong(); err != nil && !errors.Is(err, store.ErrUnavailable) && r.ctx.Err() == nil {
			r.Log.Error("prolong the leases of messages", "error", err)
		}
	}
}

// prolong prolongs the leases that have less than half of their time left, by as long as their messages have waited.
// So few rows are written however many messages wait, and if this node dies, a message waits at most twice as long.
func (r *relay) prolong() error {
	now := r.nowMs()
	lease := r.Lease.Milliseconds()
	until := make(map[int64][]*delivery) // by the end of their leases
	r.mu.Lock()
	for _, l := range r.lanes {
		for _, d := range l.waiting {
			if left := d.DueMs - now; left < lease/2 && left > lease/10 {
				waited := now - d.since.UnixMilli()
				end := now + min(max(waited, lease), max(maxLease.Milliseconds(), lease))
				end -= end % max(lease/10, 1) // so that many have the same
				until[end] = append(until[end], d)
			}
		}
	}
	r.mu.Unlock()
	for end, list := range until {
		for len(list) > 0 {
			page := list[:min(len(list), 5*leasePage)]
			list = list[len(page):]
			nos := make([]int64, len(page))
			for i, d := range page {
				nos[i] = d.No
			}
			err := r.Store.Update(r.ctx, func(tx *store.Tx) error { return tx.PostponeOutboxMessages(end, nos...) })
			if err != nil {
				return err
			}
			r.mu.Lock()
			for _, d := range page {
				if r.lanes[laneOf(d.Kind)].waiting[d.No] == d { // not on its way by now
					d.DueMs = end
				}
			}
			r.mu.Unlock()
		}
	}
	return nil
}

// clean deletes delivered messages: all that there are, in one transaction.
func (r *relay) clean() {
	for no := range r.done {
		nos := []int64{no}
	gather:
		for len(nos) < leasePage {
			select {
			case no, ok := <-r.done:
				if !ok {
					break gather
				}
				nos = append(nos, no)
			default:
				break gather
			}
		}
		// A message that cannot be deleted is delivered again, which changes nothing.
		err := r.Store.Update(r.ctx, func(tx *store.Tx) error { return tx.DeleteOutboxMessages(nos...) })
		if err != nil && !errors.Is(err, store.ErrUnavailable) && r.ctx.Err() == nil {
			r.Log.Error("delete delivered messages", "error", err)
		}
	}
}

// jitter is d, give or take a fifth.
func jitter(d time.Duration) time.Duration {
	return d - d/5 + time.Duration(rand.Int64N(int64(2*d/5)+1))
}
