package operate

import (
	"fmt"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// CountedWork is how many executions, messages and timers of each kind ReadWork counts at most.
const CountedWork = 10_000

// forever is later than every time.
const forever = 1<<63 - 1

// Work is what waits and runs in an installation. Doctor, the metrics and the API tell the same of it.
type Work struct {
	Unfinished    store.StateCounts // executions that have not ended
	OldestWaiting time.Time         // when the oldest of those was created that wait for a slot; zero: none does
	TimersDue     int64             // of the embedded engine
	Messages      int64             // on their way to Temporal
	OldestDue     time.Time         // when the message is due that is due first; zero: there is none
}

// ReadWork reads what waits and runs. outbox: there are messages, those of the engine on Temporal.
func ReadWork(r *store.Reader, outbox bool, now time.Time) (w Work, err error) {
	if w.Unfinished, err = r.CountUnfinishedAtMost(CountedWork); err != nil {
		return w, err
	}
	for _, state := range [...]store.ExecutionState{store.StateQueued, store.StateReady} {
		id, found, err := r.OldestInState(state, CountedWork)
		if err != nil {
			return w, err
		}
		if found && (w.OldestWaiting.IsZero() || id.Time().Before(w.OldestWaiting)) {
			w.OldestWaiting = id.Time()
		}
	}
	if !outbox {
		w.TimersDue, err = r.CountTimersDue(now.UnixMilli(), CountedWork)
		return w, err
	}
	if w.Messages, err = r.CountOutbox(forever, CountedWork); err != nil {
		return w, err
	}
	dueMs, err := r.OldestOutboxMs()
	if err == nil && dueMs != 0 {
		w.OldestDue = time.UnixMilli(dueMs).UTC()
	}
	return w, err
}

// Late is how long the message that is due first waits for its delivery; 0: none is late.
func (w *Work) Late(now time.Time) time.Duration {
	if w.OldestDue.IsZero() {
		return 0
	}
	return max(0, now.Sub(w.OldestDue))
}

func (w *Work) String() string {
	text := fmt.Sprintf("executions queued %d, ready %d, active %d, parked %d (at most 10,000 of each are counted)",
		w.Unfinished[store.StateQueued], w.Unfinished[store.StateReady], w.Unfinished[store.StateActive], w.Unfinished[store.StateParked])
	if !w.OldestWaiting.IsZero() {
		text += "; the oldest that waits for a slot is of " + w.OldestWaiting.Format(time.RFC3339)
	}
	return text
}
