package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// streamWindow bounds the messages of a stream that the machine has not taken in yet.
	streamWindow = 16
	// minAsk and maxAsk bound the pause between two queries for the number of messages taken in.
	minAsk = 10 * time.Millisecond
	maxAsk = time.Second
	// streamTimeout is how long a stream waits for Temporal. It is below heartbeatTimeout.
	streamTimeout = 20 * time.Second
)

// postbox is how a stream reaches the run of the workflow that has asked for it.
type postbox interface {
	// send delivers a message. Errors: errGone.
	send(ctx context.Context, p progress) error
	// taken asks how many messages of the stream the machine has taken in. Errors: errGone.
	taken(ctx context.Context, stream int64) (int64, error)
}

// mailbox is a postbox on a Temporal client. It names the run, because the next one begins the stream anew.
type mailbox struct {
	client   client.Client
	workflow string
	run      string
}

func (m mailbox) send(ctx context.Context, p progress) error {
	ctx, cancel := context.WithTimeout(ctx, rpcTime)
	defer cancel()
	err := m.client.SignalWorkflow(ctx, m.workflow, m.run, streamSignal, p)
	if isNotFound(err) {
		return errGone
	}
	return err
}

func (m mailbox) taken(ctx context.Context, stream int64) (n int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, rpcTime)
	defer cancel()
	answer, err := m.client.QueryWorkflow(ctx, m.workflow, m.run, streamQuery, stream)
	if isNotFound(err) {
		return 0, errGone
	}
	if err != nil {
		return 0, err
	}
	if err := answer.Get(&n); err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, errGone
	}
	return n, nil
}

// outflow sends the stream of an activity to its workflow, one message at a time.
type outflow struct {
	post  postbox
	call  *call
	limit int // bytes of a message
	sent  int64
	taken int64
}

// progress is activity.Call.Progress. It returns when the message is in the history, and waits while too many earlier
// messages have not been taken in.
func (o *outflow) progress(ctx context.Context, v value.Value) error {
	if err := engine.CheckMessage(v, o.limit); err != nil {
		return err
	}
	for wait := minAsk; o.sent-o.taken >= streamWindow; wait = min(2*wait, maxAsk) {
		n, err := o.post.taken(ctx, o.call.Stream)
		if errors.Is(err, errGone) {
			return engine.ErrWithdrawn
		}
		if err == nil && n > o.taken {
			o.taken, wait = n, minAsk
			continue
		}
		// No worker answers the query; one may come back.
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
	}
	p := progress{
		Execution: o.call.Execution, Stream: o.call.Stream, Number: o.sent + 1, Output: value.Marshal(v),
		Confidential: o.call.Confidential,
	}
	bounded, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	passes := func(err error) bool { return err != nil && !errors.Is(err, errGone) && !isLimit(err) }
	err := retryWhile(bounded, passes, func() error { return o.post.send(bounded, p) })
	switch {
	case errors.Is(err, errGone):
		return engine.ErrWithdrawn
	case isLimit(err):
		return fmt.Errorf("send a message of the stream: Temporal did not take it: %w", err)
	case err != nil:
		return fmt.Errorf("send a message of the stream: %w", err)
	}
	o.sent++
	return nil
}

// isLimit reports whether Temporal will refuse the same message again.
func isLimit(err error) bool {
	var invalid *serviceerror.InvalidArgument
	return errors.As(err, &invalid)
}
