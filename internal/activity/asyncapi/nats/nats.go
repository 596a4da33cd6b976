package nats

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/chargehand/chargehand/internal/activity/asyncapi"
	"github.com/chargehand/chargehand/internal/activity/failure"
	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// Config wires a Protocol. Dial is required.
type Config struct {
	// Dial connects under the egress rules.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS holds the certificate authorities that are trusted; nil: the system's.
	TLS       *tls.Config
	Reconnect asyncapi.Reconnect
	// DialTimeout bounds one attempt to connect; default 10 s.
	DialTimeout time.Duration
	// PendingMessages and PendingBytes bound what waits while a workflow is busy; default
	// 10,000 messages and 16 MiB. More is a fault of the subscription.
	PendingMessages, PendingBytes int
}

// The defaults of Config.
const (
	DefaultPendingMessages = 10_000
	DefaultPendingBytes    = 16 << 20
)

// Protocol implements asyncapi.Protocol.
type Protocol struct {
	cfg Config
}

// New fills in the defaults of cfg.
func New(cfg Config) *Protocol {
	cfg.Reconnect = cfg.Reconnect.WithDefaults()
	if cfg.DialTimeout == 0 {
		cfg.DialTimeout = 10 * time.Second
	}
	if cfg.PendingMessages == 0 {
		cfg.PendingMessages = DefaultPendingMessages
	}
	if cfg.PendingBytes == 0 {
		cfg.PendingBytes = DefaultPendingBytes
	}
	return &Protocol{cfg: cfg}
}

// connect opens a connection. It is closed when ctx is done, too, which must be the caller's own.
func (p *Protocol) connect(ctx context.Context, at *asyncapi.Endpoint, more ...nats.Option) (*nats.Conn, *machine.Fault) {
	identity, fault := identify(ctx, at)
	if fault != nil {
		return nil, fault
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if p.cfg.TLS != nil {
		trust = p.cfg.TLS.Clone()
		trust.NextProtos = nil // those of HTTP
	}
	dialer := &dialer{
		ctx: ctx, timeout: p.cfg.DialTimeout, dial: p.cfg.Dial, trust: trust,
		secure: strings.HasPrefix(strings.ToLower(at.URL), "tls:"), messageBytes: at.MessageBytes,
	}
	options := append([]nats.Option{
		nats.Name("chargehand"), nats.SetCustomDialer(dialer), nats.SkipHostLookup(),
		nats.IgnoreDiscoveredServers(), nats.Timeout(p.cfg.DialTimeout), nats.NoReconnect(),
		identity,
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the standard one prints
	}, more...)
	conn, err := nats.Connect(at.URL, options...)
	if errors.Is(err, nats.ErrNoServers) && dialer.err != nil {
		err = dialer.err
	}
	if err != nil {
		return nil, connectFault(at, err)
	}
	return conn, nil
}

// identify is the option that proves who calls. A subscription connects again long after its
// credentials were made, so that a token may have to be renewed.
func identify(ctx context.Context, at *asyncapi.Endpoint) (nats.Option, *machine.Fault) {
	if fault := at.Credentials.Renew(ctx); fault != nil {
		return nil, fault
	}
	scheme, value, _ := strings.Cut(at.Credentials.Authorization(), " ")
	switch {
	case value == "":
		return func(*nats.Options) error { return nil }, nil
	case strings.EqualFold(scheme, "basic"):
		raw, err := base64.StdEncoding.DecodeString(value)
		user, password, ok := strings.Cut(string(raw), ":")
		if err != nil || !ok {
			return nil, failure.Configuration(at.Where + ": the credentials cannot be used with NATS")
		}
		return nats.UserInfo(user, password), nil
	}
	return nats.Token(value), nil
}

// connectFault tells why there is no connection. What NATS says of credentials has the status
// that HTTP has for it.
func connectFault(at *asyncapi.Endpoint, err error) *machine.Fault {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
		return failure.Communication(http.StatusUnauthorized, at.Where+": the server refuses the credentials")
	}
	return lost(at, err)
}

// broken is the fault of a server that the scanner stopped; nil for any other error. The same
// server would continue in the same way.
func broken(at *asyncapi.Endpoint, err error) *machine.Fault {
	if errors.Is(err, errTooLarge) {
		return at.TooLarge()
	}
	if violated := (*violation)(nil); errors.As(err, &violated) {
		fault := failure.NoAnswer(at.Where + ": the server does not keep to the protocol of NATS: " + violated.detail)
		fault.Retryable = false
		return fault
	}
	return nil
}

// lost is the fault of a connection that ended, or never was.
func lost(at *asyncapi.Endpoint, err error) *machine.Fault {
	if fault := broken(at, err); fault != nil {
		return fault
	}
	return failure.Connection(at.Where, err)
}

// ended is lost for an error of the library, which may have the reason in another place.
func ended(at *asyncapi.Endpoint, conn *nats.Conn, err error) *machine.Fault {
	if reason := conn.LastError(); reason != nil && conn.IsClosed() {
		err = reason
	}
	return lost(at, err)
}

// subject is the address of the channel, if it can be one.
func subject(at *asyncapi.Endpoint, wildcards bool) (string, *machine.Fault) {
	s := at.Address
	bad := s == "" || strings.ContainsAny(s, " \t\r\n\x00") || strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".") || strings.Contains(s, "..")
	for token := range strings.SplitSeq(s, ".") {
		bad = bad || !wildcards && (token == "*" || token == ">")
	}
	if bad {
		return "", failure.Configuration(fmt.Sprintf("%s: %q cannot be a subject of NATS here", at.Where, excerpt.Clip(s, failure.ClipBytes)))
	}
	return s, nil
}

// Publish implements asyncapi.Protocol.
func (p *Protocol) Publish(ctx context.Context, at *asyncapi.Endpoint, m asyncapi.Outgoing) *machine.Fault {
	to, fault := subject(at, false)
	if fault != nil {
		return fault
	}
	message := &nats.Msg{Subject: to, Data: m.Body, Header: nats.Header{}}
	fields, fault := activityhttp.QueryOf(m.Headers)
	if fault != nil {
		return failure.Configuration(at.Where + ": headers must be texts, numbers, booleans or lists of these")
	}
	for name, values := range fields {
		if name == "" || strings.ContainsAny(name, ": \t\r\n") || strings.ContainsAny(strings.Join(values, ""), "\r\n") {
			return failure.Configuration(fmt.Sprintf("%s: the header %q cannot be sent", at.Where, excerpt.Clip(name, failure.ClipBytes)))
		}
		message.Header[name] = values
	}
	if m.Key != "" {
		message.Header.Set(nats.MsgIdHdr, m.Key)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, fault := p.connect(ctx, at)
	if fault != nil {
		return fault
	}
	defer conn.Close()
	if limit := conn.MaxPayload(); int64(len(m.Body)) > limit {
		return failure.Runtime("Message too large", fmt.Sprintf("%s: the message has %d bytes, the server takes at most %d", at.Where, len(m.Body), limit))
	}
	if len(message.Header) > 0 && !conn.HeadersSupported() {
		return failure.Configuration(at.Where + ": the server supports no headers")
	}
	if err := conn.PublishMsg(message); err != nil {
		return ended(at, conn, err)
	}
	if err := conn.FlushWithContext(ctx); err != nil {
		return ended(at, conn, err)
	}
	return refused(at, conn)
}

// refused is what the server refused: it tells so before it answers the ping of a flush.
func refused(at *asyncapi.Endpoint, conn *nats.Conn) *machine.Fault {
	err := conn.LastError()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrPermissionViolation):
		return failure.Communication(http.StatusForbidden, at.Where+": the server does not permit it: "+excerpt.Clip(err.Error(), failure.ClipBytes))
	}
	return lost(at, err)
}
