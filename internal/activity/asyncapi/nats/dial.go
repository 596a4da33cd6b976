package nats

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// dialer connects for one call. It reads the greeting of the server and does TLS itself, as
// the library would, so that what the library reads goes through the scanner.
type dialer struct {
	ctx          context.Context
	timeout      time.Duration
	dial         func(ctx context.Context, network, address string) (net.Conn, error)
	trust        *tls.Config
	secure       bool // the address demands TLS
	messageBytes int64
	err          error // of the last attempt, which the library may keep to itself
}

// SkipTLSHandshake tells the library that Dial does TLS.
func (d *dialer) SkipTLSHandshake() bool { return true }

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.ctx, d.timeout)
	defer cancel()
	conn, err := d.open(ctx, network, address)
	if d.err = err; err != nil {
		return nil, err
	}
	return conn, nil
}

func (d *dialer) open(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(d.ctx, func() { raw.Close() }) // the library's handshake has no context
	conn, err := d.greet(ctx, raw, address)
	if err != nil {
		raw.Close()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = context.DeadlineExceeded
		}
		return nil, err
	}
	return conn, nil
}

// greet reads the INFO line, which comes in the clear and tells whether the server wants TLS.
func (d *dialer) greet(ctx context.Context, raw net.Conn, address string) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := raw.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	line, rest, err := info(raw)
	if err != nil {
		return nil, err
	}
	conn, read := raw, append(line, rest...)
	if d.wantsTLS(line) {
		if len(rest) > 0 {
			return nil, &violation{"the server continues in the clear after it has asked for TLS"}
		}
		trust := d.trust.Clone()
		if trust.ServerName, _, err = net.SplitHostPort(address); err != nil {
			return nil, fmt.Errorf("read the address: %w", err)
		}
		secured := tls.Client(raw, trust)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS handshake: %w", err)
		}
		conn = secured
	}
	if err := raw.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return guard(conn, read, d.messageBytes), nil
}

// info reads the first line, and what came along with it. The scanner sees both later.
func info(raw net.Conn) (line, rest []byte, err error) {
	chunk := make([]byte, 4<<10)
	var read []byte
	for {
		n, err := raw.Read(chunk)
		read = append(read, chunk[:n]...)
		if end := bytes.IndexByte(read, '\n'); end >= 0 {
			return read[: end+1 : end+1], read[end+1:], nil
		}
		if len(read) > maxInfoBytes {
			return nil, nil, lineTooLong(maxInfoBytes)
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// wantsTLS is what the library will find in the same line.
func (d *dialer) wantsTLS(line []byte) bool {
	_, text, _ := cutBlank(line)
	var said struct {
		Required  bool `json:"tls_required"`
		Available bool `json:"tls_available"`
	}
	if json.Unmarshal([]byte(text), &said) != nil {
		return false // the library refuses the line
	}
	return said.Required || d.secure && said.Available
}
