package store

import "encoding/json"

// Cause is what has started an execution, where no other column of its row says it. Numbers are stored.
type Cause uint8

// The causes.
const (
	CauseRequest  Cause = 0 // a request; or an item of a batch, a retry, the child of another execution
	CauseSchedule Cause = 1
	CauseEvent    Cause = 2
)

// WaitKind is what an execution waits for. Numbers are stored.
type WaitKind uint8

// The kinds, the most blocking one first. For slots wait the executions in StateQueued and StateReady: no row says so.
const (
	WaitPerson WaitKind = 1
	WaitChild  WaitKind = 2
	WaitEvent  WaitKind = 3
	WaitRetry  WaitKind = 4
	WaitTimer  WaitKind = 5
)

// Waits says what an execution waits for: the most blocking one of all. The zero value: for nothing, or for a slot.
type Waits struct {
	Kind    WaitKind `json:"-"` // a column of its own
	UntilMs int64    `json:"until,omitempty"`
	Task    string   `json:"task,omitempty"`  // id of the human task
	Types   []string `json:"types,omitempty"` // of the events
	// Attempt is the attempt that follows a long delay. It may wait beside tasks that run.
	Attempt *Attempt `json:"attempt,omitempty"`
}

// Attempt is the next attempt of a task.
type Attempt struct {
	Reference string `json:"reference"`
	Number    int    `json:"number"`
	Of        int    `json:"of,omitempty"` // at most; 0: no limit
	NextMs    int64  `json:"next"`
}

// encode is what is stored beside the kind, nil if that says all.
func (w Waits) encode() []byte {
	if w.UntilMs == 0 && w.Task == "" && w.Types == nil && w.Attempt == nil {
		return nil
	}
	data, err := json.Marshal(w)
	if err != nil { // texts and numbers always have JSON
		panic(err)
	}
	return data
}

// waits is the inverse of encode. What cannot be opened is left out: the execution runs without it.
func (r *Reader) waits(no int64, column []byte) (w Waits) {
	if data, err := r.open(kindWaits, rowKey{no}, column); err == nil {
		_ = json.Unmarshal(data, &w)
	}
	return w
}
