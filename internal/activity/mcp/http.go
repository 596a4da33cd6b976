package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// maxResumptions bounds how often a stream of events that was cut is resumed.
const maxResumptions = 3

func (r *Runner) runHTTP(ctx context.Context, req *request) activity.Result {
	endpoint, fault := remote.Endpoint("the endpoint", req.http["endpoint"])
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	header, fault := remote.Header(req.http["headers"])
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	callCtx, cancel := context.WithTimeout(ctx, req.timeout)
	defer cancel()
	client, fault := r.cfg.Remote.Client(callCtx, req.http["authentication"], header)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	watch := &watch{next: client.Transport, limit: r.cfg.Bytes}
	client.Transport = watch
	transport := &sdk.StreamableClientTransport{
		Endpoint: endpoint.String(), HTTPClient: client, MaxRetries: maxResumptions,
		DisableStandaloneSSE: true, MaxEventSize: int(r.cfg.Bytes),
	}
	conn, err := transport.Connect(callCtx)
	if err != nil {
		return activity.Result{Fault: failure.Connection("MCP "+failure.ShownURL(endpoint), err)}
	}
	defer conn.Close()
	s := &session{conn: conn}
	value, err := s.exchange(callCtx, req, watch.agree)
	if err == nil {
		return activity.Result{Output: value}
	}
	if callCtx.Err() != nil {
		endCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		s.abandon(endCtx)
	}
	where := fmt.Sprintf("MCP %s %s", req.method, failure.ShownURL(endpoint))
	return activity.Result{Fault: watch.fault(callCtx, where, req, err)}
}

// watch is a transport that sees what the SDK keeps to itself: the status of a failure, a body
// over the limit, the error of a connection.
type watch struct {
	next  http.RoundTripper
	limit int64

	mu       sync.Mutex
	version  string // of the protocol, once it is agreed
	failed   *machine.Fault
	tooLarge bool
	err      error
}

func (w *watch) agree(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version = version
}

// endTimeout bounds each request of the end of a session, which no call waits for.
const endTimeout = 2 * time.Second

// RoundTrip implements http.RoundTripper.
func (w *watch) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	w.mu.Lock()
	if w.version != "" {
		req.Header.Set("MCP-Protocol-Version", w.version)
	}
	stop := w.tooLarge
	w.mu.Unlock()
	if stop && req.Method == http.MethodGet {
		return nil, remote.ErrTooLarge // a stream that is too long is not resumed
	}
	if req.Method == http.MethodDelete {
		ctx, cancel := context.WithTimeout(req.Context(), endTimeout)
		defer cancel()
		return w.next.RoundTrip(req.WithContext(ctx))
	}
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
		return nil, err
	}
	resp.Body = &watchedBody{Reader: remote.Limit(resp.Body, w.limit), Closer: resp.Body, watch: w}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		w.fail(req, resp)
		return resp, nil
	}
	w.mu.Lock()
	w.failed = nil // a redirect, and what it led to
	w.mu.Unlock()
	return resp, nil
}

// fail keeps a failure by status. The SDK gets the start of the body to read again.
func (w *watch) fail(req *http.Request, resp *http.Response) {
	const kept = 64 << 10
	head, _ := io.ReadAll(io.LimitReader(resp.Body, kept))
	resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(string(head)))
	fault := failure.Status("MCP "+failure.ShownURL(req.URL), resp)
	resp.Body = io.NopCloser(strings.NewReader(string(head)))
	w.mu.Lock()
	w.failed = fault
	w.mu.Unlock()
}

// watchedBody tells the watch when the limit was hit.
type watchedBody struct {
	io.Reader
	io.Closer
	watch *watch
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, remote.ErrTooLarge) {
		b.watch.mu.Lock()
		b.watch.tooLarge = true
		b.watch.mu.Unlock()
	}
	return n, err
}

// fault is why exchange failed. What HTTP told goes before what came of it.
func (w *watch) fault(ctx context.Context, where string, req *request, err error) *machine.Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.tooLarge:
		return failure.Runtime("Answer too large", fmt.Sprintf("%s answered more than %d bytes, the limit of an answer", where, w.limit))
	case ctx.Err() != nil:
		return failure.Timeout(fmt.Sprintf("%s: no answer within %s", where, req.timeout))
	case w.failed != nil:
		return w.failed
	case w.err != nil:
		return failure.Connection(where, w.err)
	}
	if fault := answeredFault(req.method, err); fault != nil {
		return fault
	}
	return failure.NoAnswer(where + ": " + excerpt.Clip(err.Error(), failure.ClipBytes))
}
