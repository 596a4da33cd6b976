package asyncapi

import (
	"context"

	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/asyncapidoc"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Protocol speaks one family of protocols. It is safe for concurrent use. A new one is a
// subpackage, a name in internal/asyncapidoc, and an entry in Config.Protocols.
type Protocol interface {
	// Publish returns nil once the other side has the message, as far as the protocol tells.
	Publish(ctx context.Context, at *Endpoint, m Outgoing) *machine.Fault
	// Subscribe calls deliver with each message, one at a time, and reconnects by itself. It
	// returns nil when ctx is done or deliver fails, and leaves nothing open.
	Subscribe(ctx context.Context, at *Endpoint, deliver func(Incoming) error) *machine.Fault
}

// Endpoint is where a protocol goes, and as whom.
type Endpoint struct {
	*asyncapidoc.Target
	Credentials  remote.Credentials
	MessageBytes int64
	Where        string // for faults; no secret in it
}

// Outgoing is a message to publish.
type Outgoing struct {
	Body        []byte
	ContentType string
	Headers     map[string]any // of scalars, or lists of them
	Key         string         // the same on every run; "" where the author does not want one
}

// Incoming is a message that came.
type Incoming struct {
	Body        []byte
	ContentType string // as the message itself says; "" where it does not
	Headers     map[string]value.Value
}

// TooLarge is the fault of a message over the limit.
func (e *Endpoint) TooLarge() *machine.Fault {
	return failure.Runtime("Message too large", e.Where+": a message has more than "+byteSize(e.MessageBytes)+", the limit of messages")
}
