package embedded

import (
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

type messageKind uint8

const (
	// nothing: dealt with, though it may be seen again after a failed write set.
	handled messageKind = iota
	// deliver hands an event to the machine.
	applyEvent
	// grant gives an execution its lease.
	takeLease
	// overdue delivers timers that are due after a restart, and starts nothing.
	fireTimers
	// resume counts interruptions and starts again what was in flight.
	resumeWork
	// look does nothing but settle what the row should say.
	refresh
	// recheck is look for an execution whose first commit seemed to fail. It may bring the lease.
	recheckStart
	// listen tells of events that a subscription may want.
	readEvents
	// family tells of the end of a child.
	readChildren
)

type message struct {
	kind  messageKind
	event machine.Event
	call  *call         // of an outcome
	reply chan<- error  // of a cancellation; has room for one
	also  []engine.Also // of a cancellation
	bytes int64         // of an outcome that counts as retained
	lease *lease        // of a grant or a recheck
	woken store.Subscription
}

func (m *message) answer(err error) {
	if m.reply != nil {
		m.reply <- err
		m.reply = nil
	}
}
