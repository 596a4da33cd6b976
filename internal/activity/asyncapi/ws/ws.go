package ws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/chargehand/chargehand/internal/activity/asyncapi"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// Config wires a Protocol. Remote is required.
type Config struct {
	Remote    remote.Config
	Reconnect asyncapi.Reconnect
	// DialTimeout bounds one attempt to connect; default 30 s.
	DialTimeout time.Duration
}

// Protocol implements asyncapi.Protocol.
type Protocol struct {
	cfg Config
}

// New fills in the defaults of cfg.
func New(cfg Config) *Protocol {
	cfg.Reconnect = cfg.Reconnect.WithDefaults()
	if cfg.DialTimeout == 0 {
		cfg.DialTimeout = 30 * time.Second
	}
	return &Protocol{cfg: cfg}
}

// Publish implements asyncapi.Protocol.
func (p *Protocol) Publish(ctx context.Context, at *asyncapi.Endpoint, m asyncapi.Outgoing) *machine.Fault {
	header, fault := remote.Header(m.Headers)
	if fault != nil {
		return fault
	}
	conn, fault := p.dial(ctx, at, header)
	if fault != nil {
		return fault
	}
	defer func() { _ = conn.CloseNow() }()
	kind := websocket.MessageBinary
	if utf8.Valid(m.Body) && asyncapi.Textual(m.ContentType) {
		kind = websocket.MessageText
	}
	if err := conn.Write(ctx, kind, m.Body); err != nil {
		return failure.Connection(at.Where, err)
	}
	err := conn.Close(websocket.StatusNormalClosure, "")
	switch code := websocket.CloseStatus(err); {
	case err == nil, errors.Is(err, io.EOF),
		code == websocket.StatusNormalClosure, code == websocket.StatusGoingAway, code == websocket.StatusNoStatusRcvd:
		return nil
	case code != -1:
		return closed(at, err)
	}
	return failure.NoAnswer(at.Where + ": the message was sent, but the peer did not confirm it: " + excerpt.Clip(err.Error(), failure.ClipBytes))
}

// Subscribe implements asyncapi.Protocol.
func (p *Protocol) Subscribe(ctx context.Context, at *asyncapi.Endpoint, deliver func(asyncapi.Incoming) error) *machine.Fault {
	return p.cfg.Reconnect.Follow(ctx, func(up func()) *machine.Fault {
		conn, fault := p.dial(ctx, at, nil)
		if fault != nil {
			return fault
		}
		defer func() { _ = conn.CloseNow() }()
		up()
		conn.SetReadLimit(at.MessageBytes)
		for {
			kind, data, err := conn.Read(ctx)
			switch {
			case errors.Is(err, websocket.ErrMessageTooBig):
				return at.TooLarge()
			case ctx.Err() != nil:
				return nil
			case websocket.CloseStatus(err) != -1:
				return closed(at, err)
			case err != nil:
				return failure.NoAnswer(at.Where + ": the connection was lost: " + excerpt.Clip(err.Error(), failure.ClipBytes))
			}
			in := asyncapi.Incoming{Body: data}
			if kind == websocket.MessageBinary && asyncapi.Textual(at.Messages[0].ContentType) && !utf8.Valid(data) {
				in.ContentType = "application/octet-stream"
			}
			if err := deliver(in); err != nil {
				_ = conn.Close(websocket.StatusNormalClosure, "")
				return nil
			}
		}
	})
}

// closed is the fault of a close that the peer gave a reason for.
func closed(at *asyncapi.Endpoint, err error) *machine.Fault {
	var closing websocket.CloseError
	errors.As(err, &closing)
	fault := failure.NoAnswer(
		fmt.Sprintf("%s: the peer closed the connection with status %d %s", at.Where, closing.Code, excerpt.Clip(closing.Reason, failure.ClipBytes)))
	switch closing.Code {
	case websocket.StatusPolicyViolation, websocket.StatusUnsupportedData, websocket.StatusInvalidFramePayloadData,
		websocket.StatusMessageTooBig, websocket.StatusProtocolError, websocket.StatusMandatoryExtension:
		fault.Retryable = false // the same again would end the same
	}
	return fault
}

func (p *Protocol) dial(ctx context.Context, at *asyncapi.Endpoint, header http.Header) (*websocket.Conn, *machine.Fault) {
	address, fault := asyncapi.Address(at)
	if fault != nil {
		return nil, fault
	}
	client := p.cfg.Remote.ClientFor(at.Credentials, header)
	dialCtx, cancel := context.WithTimeout(ctx, p.cfg.DialTimeout)
	defer cancel()
	conn, resp, err := websocket.Dial(dialCtx, address.String(), &websocket.DialOptions{HTTPClient: client})
	if err == nil {
		return conn, nil
	}
	if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		if resp.Body == nil {
			resp.Body = io.NopCloser(strings.NewReader(""))
		}
		if resp.StatusCode >= 200 && resp.StatusCode < 300 {
			return nil, failure.NoAnswer(
				fmt.Sprintf("%s answered %d: it speaks no WebSocket", at.Where, resp.StatusCode))
		}
		return nil, failure.Status(at.Where, resp)
	}
	return nil, failure.Connection(at.Where, err)
}
