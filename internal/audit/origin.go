package audit

import (
	"context"
	"net/netip"
)

// origin is where a change comes from.
type origin struct {
	address   netip.Addr
	requestID string
	command   string
}

type originKey struct{}

// FromRequest is ctx with the address that a request comes from and the name of the request.
func FromRequest(ctx context.Context, address netip.Addr, requestID string) context.Context {
	return context.WithValue(ctx, originKey{}, &origin{address: address.Unmap().WithZone(""), requestID: requestID})
}

// FromCommand is ctx with the name of the command that makes a change, such as "keys create".
func FromCommand(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, originKey{}, &origin{command: name})
}

func originOf(ctx context.Context) *origin {
	if o, ok := ctx.Value(originKey{}).(*origin); ok {
		return o
	}
	return &origin{}
}

// name is the name of the actor where it is the system.
func (o *origin) name() string {
	if o.command == "" {
		return "chargehand"
	}
	return "chargehand " + o.command
}
