package nats

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/chargehand/chargehand/internal/activity/asyncapi"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// Subscribe implements asyncapi.Protocol.
func (p *Protocol) Subscribe(ctx context.Context, at *asyncapi.Endpoint, deliver func(asyncapi.Incoming) error) *machine.Fault {
	from, fault := subject(at, true)
	if fault != nil {
		return fault
	}
	return p.cfg.Reconnect.Follow(ctx, func(up func()) *machine.Fault {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		waiting := newQueue(p.cfg.PendingMessages, p.cfg.PendingBytes)
		conn, fault := p.connect(ctx, at,
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { waiting.end(err) }),
			nats.ClosedHandler(func(conn *nats.Conn) { waiting.end(conn.LastError()) }))
		if fault != nil {
			return fault
		}
		defer conn.Close()
		queue, _ := at.OperationBinding["queue"].(string)
		_, err := conn.QueueSubscribe(from, queue, waiting.push)
		if err == nil {
			err = p.confirm(ctx, conn)
		}
		if err != nil {
			return ended(at, conn, err)
		}
		if fault := refused(at, conn); fault != nil {
			return fault
		}
		up()
		return p.receive(ctx, at, waiting, deliver)
	})
}

// confirm waits until the server has the subscription.
func (p *Protocol) confirm(ctx context.Context, conn *nats.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.DialTimeout)
	defer cancel()
	return conn.FlushWithContext(ctx)
}

// receive delivers messages until the connection has ended and none is left.
func (p *Protocol) receive(ctx context.Context, at *asyncapi.Endpoint, waiting *queue, deliver func(asyncapi.Incoming) error) *machine.Fault {
	for {
		message, err := waiting.next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, nats.ErrSlowConsumer):
			return failure.Runtime("Messages come too fast", fmt.Sprintf(
				"%s: more than %d messages or %d bytes waited for the workflow, and NATS drops what comes then", at.Where, p.cfg.PendingMessages, p.cfg.PendingBytes))
		case errors.Is(err, nats.ErrPermissionViolation):
			return failure.Communication(http.StatusForbidden, at.Where+": the server does not permit it: "+excerpt.Clip(err.Error(), failure.ClipBytes))
		case err != nil:
			if fault := broken(at, err); fault != nil {
				return fault
			}
			return failure.NoAnswer(at.Where + ": the connection was lost: " + excerpt.Clip(err.Error(), failure.ClipBytes))
		}
		in := asyncapi.Incoming{
			Body: message.Data, ContentType: message.Header.Get("Content-Type"), Headers: asyncapi.HeaderValues(message.Header),
		}
		if deliver(in) != nil {
			return nil
		}
	}
}

// queue holds messages until the workflow takes them. The library's own queue forgets what it
// holds when the connection ends.
type queue struct {
	mostMessages, mostBytes int

	mu      sync.Mutex
	waiting []*nats.Msg
	bytes   int
	ended   error         // what comes after the last message
	changed chan struct{} // one place
}

func newQueue(messages, bytes int) *queue {
	return &queue{mostMessages: messages, mostBytes: bytes, changed: make(chan struct{}, 1)}
}

// push takes a message in, or ends the queue where it is full.
func (q *queue) push(m *nats.Msg) {
	q.mu.Lock()
	switch {
	case q.ended != nil:
	case len(q.waiting) >= q.mostMessages || q.bytes+m.Size() > q.mostBytes:
		q.ended = nats.ErrSlowConsumer
	default:
		q.waiting = append(q.waiting, m)
		q.bytes += m.Size()
	}
	q.mu.Unlock()
	q.tell()
}

// end ends the queue with the first reason.
func (q *queue) end(reason error) {
	if reason == nil {
		reason = nats.ErrConnectionClosed
	}
	q.mu.Lock()
	if q.ended == nil {
		q.ended = reason
	}
	q.mu.Unlock()
	q.tell()
}

func (q *queue) tell() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// next takes the next message out, or tells why none will come any more.
func (q *queue) next(ctx context.Context) (*nats.Msg, error) {
	for {
		q.mu.Lock()
		if len(q.waiting) > 0 {
			m := q.waiting[0]
			q.waiting[0] = nil
			q.waiting = q.waiting[1:]
			q.bytes -= m.Size()
			q.mu.Unlock()
			return m, ctx.Err()
		}
		ended := q.ended
		q.mu.Unlock()
		if ended != nil {
			return nil, ended
		}
		select {
		case <-q.changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
