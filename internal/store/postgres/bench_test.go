package postgres_test

import (
	"encoding/binary"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// trivial is the finished execution of a workflow with one set task: 64 bytes of input.
func trivial(n int64, nowMs int64) (store.Execution, store.Outcome) {
	e := store.Execution{
		Account: 1, Environment: chargehand.Live, Workflow: 3, Revision: 7, Machine: 1,
		Status: chargehand.Finished, Phase: chargehand.Completed, StartedMs: nowMs, FinishedMs: nowMs,
		Input: store.Payload{Inline: make([]byte, 64)},
	}
	binary.BigEndian.PutUint64(e.ID[:], uint64(nowMs)<<16|uint64(0x7000))
	binary.BigEndian.PutUint64(e.ID[8:], uint64(n))
	return e, store.Outcome{Output: store.Payload{Inline: make([]byte, 24)}, Timeline: make([]byte, 60)}
}
