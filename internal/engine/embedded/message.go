package embedded

import (
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

type messageKind uint8

const (
	// handled is a message that needs nothing more. It may be seen again after a failed write set.
	handled messageKind = iota
	// applyEvent applies an event to the machine.
	applyEvent
	// takeLease brings the lease that the execution has waited for.
	takeLease
	// fireTimers applies the timers that are due after a restart, and starts nothing.
	fireTimers
	// resumeWork counts interruptions and starts again what was in flight.
	resumeWork
	// refresh applies nothing. The step brings the row in line with the machine.
	refresh
	// recheckStart is refresh for an execution whose first commit was in doubt. It may bring the lease.
	recheckStart
	// readEvents says that a subscription was woken.
	readEvents
	// readChildren says that a child has ended.
	readChildren
)

// message is one entry of an instance's mailbox.
type message struct {
	kind  messageKind
	event machine.Event
	call  *call         // whose outcome the event is
	reply chan<- error  // of a request or of a stream; has room for one error
	inTx  []engine.InTx // of a request
	bytes int64         // of an outcome that counts in Stats.RetainedBytes
	lease *lease        // of takeLease or recheckStart
	woken store.Subscription
}

func (m *message) answer(err error) {
	if m.reply != nil {
		m.reply <- err
		m.reply = nil
	}
}
