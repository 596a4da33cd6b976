package http

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/activity/asyncapi"
	"github.com/chargehand/chargehand/internal/activity/failure"
	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Config wires a Protocol. Remote is required.
type Config struct {
	Remote    remote.Config
	Reconnect asyncapi.Reconnect
	// HeaderTimeout bounds the wait for a stream to begin; default 30 s.
	HeaderTimeout time.Duration
}

// Protocol implements asyncapi.Protocol.
type Protocol struct {
	cfg Config
}

// New fills in the defaults of cfg.
func New(cfg Config) *Protocol {
	cfg.Reconnect = cfg.Reconnect.WithDefaults()
	if cfg.HeaderTimeout == 0 {
		cfg.HeaderTimeout = 30 * time.Second
	}
	return &Protocol{cfg: cfg}
}

// request makes the request of the operation.
func request(ctx context.Context, at *asyncapi.Endpoint, standard string, body []byte) (*http.Request, *machine.Fault) {
	address, fault := asyncapi.Address(at)
	if fault != nil {
		return nil, fault
	}
	method, _ := at.OperationBinding["method"].(string)
	if method == "" {
		method = standard
	}
	method, fault = activityhttp.CheckMethod(method)
	if fault != nil {
		fault.Detail = at.Where + ": " + fault.Detail
		return nil, fault
	}
	req, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, failure.Configuration(at.Where + ": the request cannot be made")
	}
	return req, nil
}

// Publish implements asyncapi.Protocol.
func (p *Protocol) Publish(ctx context.Context, at *asyncapi.Endpoint, m asyncapi.Outgoing) *machine.Fault {
	header, fault := remote.Header(m.Headers)
	if fault != nil {
		return fault
	}
	req, fault := request(ctx, at, http.MethodPost, m.Body)
	if fault != nil {
		return fault
	}
	if len(m.Body) > 0 {
		req.Header.Set("Content-Type", m.ContentType)
	}
	if m.Key != "" {
		req.Header.Set("Idempotency-Key", m.Key)
	}
	resp, err := p.cfg.Remote.ClientFor(at.Credentials, header).Do(req)
	if err != nil {
		return failure.Connection(at.Where, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return failure.Status(at.Where, resp)
	}
	// Reading a short rest lets the connection be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	return nil
}

// Subscribe implements asyncapi.Protocol.
func (p *Protocol) Subscribe(ctx context.Context, at *asyncapi.Endpoint, deliver func(asyncapi.Incoming) error) *machine.Fault {
	l := &listener{
		at: at, deliver: deliver, client: p.cfg.Remote.ClientFor(at.Credentials, nil), headerTimeout: p.cfg.HeaderTimeout,
	}
	return p.cfg.Reconnect.Follow(ctx, func(up func()) *machine.Fault { return l.listen(ctx, up) })
}

// listener is one subscription.
type listener struct {
	at            *asyncapi.Endpoint
	deliver       func(asyncapi.Incoming) error
	client        *http.Client
	headerTimeout time.Duration

	lastID string
	pause  time.Duration // that the server asked for
}

const accepted = "text/event-stream, application/x-ndjson;q=0.9, application/jsonl;q=0.9, application/json-seq;q=0.8"

// listen reads one stream to its end.
func (l *listener) listen(ctx context.Context, up func()) *machine.Fault {
	if l.pause > 0 {
		select {
		case <-time.After(l.pause):
		case <-ctx.Done():
			return nil
		}
	}
	streamCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, fault := request(streamCtx, l.at, http.MethodGet, nil)
	if fault != nil {
		return fault
	}
	req.Header.Set("Accept", accepted)
	if l.lastID != "" {
		req.Header.Set("Last-Event-ID", l.lastID)
	}
	headerTimer := time.AfterFunc(l.headerTimeout, cancel)
	resp, err := l.client.Do(req)
	if !headerTimer.Stop() && ctx.Err() == nil {
		err = errors.Join(err, context.DeadlineExceeded)
	}
	if err != nil {
		if resp != nil {
			resp.Body.Close()
		}
		return failure.Connection(l.at.Where, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return failure.Status(l.at.Where, resp)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var over bool
	switch media {
	case "text/event-stream":
		up()
		over, err = l.events(resp.Body)
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-seq":
		up()
		over, err = l.lines(resp.Body)
	default:
		fault := failure.NoAnswer(fmt.Sprintf(
			"%s answered %q, which is no stream: server-sent events and JSON lines can be subscribed to", l.at.Where, excerpt.Clip(media, failure.ClipBytes)))
		fault.Retryable = false
		return fault
	}
	switch {
	case over || ctx.Err() != nil:
		return nil
	case errors.Is(err, remote.ErrTooLarge):
		return l.at.TooLarge()
	}
	return failure.Connection(l.at.Where, err)
}

// events delivers server-sent events; over means that the caller wants no more.
func (l *listener) events(body io.Reader) (over bool, err error) {
	stream := remote.NewStream(body, int(l.at.MessageBytes))
	stream.LastID = l.lastID
	defer func() { l.lastID, l.pause = stream.LastID, stream.Retry }()
	for {
		event, err := stream.Next()
		if err != nil {
			return false, err
		}
		headers := map[string]value.Value{"event": strings.ToValidUTF8(event.Type, "\uFFFD")}
		if stream.LastID != "" {
			headers["id"] = strings.ToValidUTF8(stream.LastID, "\uFFFD")
		}
		if l.deliver(asyncapi.Incoming{Body: event.Data, Headers: headers}) != nil {
			return true, nil
		}
	}
}

// recordSeparator begins each record of application/json-seq (RFC 7464).
const recordSeparator = "\x1e"

// lines delivers the lines that are not empty. One that the end of the stream cuts off is
// dropped.
func (l *listener) lines(body io.Reader) (over bool, err error) {
	scanner := bufio.NewScanner(body)
	scanner.Buffer(make([]byte, 0, 4096), int(l.at.MessageBytes)+2)
	scanner.Split(wholeLines)
	for scanner.Scan() {
		line := bytes.TrimSpace(bytes.TrimPrefix(scanner.Bytes(), []byte(recordSeparator)))
		if len(line) == 0 {
			continue
		}
		if l.deliver(asyncapi.Incoming{Body: bytes.Clone(line), ContentType: "application/json"}) != nil {
			return true, nil
		}
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return false, remote.ErrTooLarge
	case err != nil:
		return false, err
	}
	return false, io.EOF
}

func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}
