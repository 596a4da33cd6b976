package http

import (
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/span"
)

// Config wires a Caller. Transport and Files are required.
type Config struct {
	Transport nethttp.RoundTripper
	Files     activity.Files
	// Auth resolves the authentication of calls; nil: one of the caller's own over Transport.
	Auth *credential.Source
	// PublicURL is the service's own address: its file links are read without a connection.
	PublicURL string
	UserAgent string
	// Timeout bounds one call, body included; default 30 s.
	Timeout time.Duration
	// InlineBytes is the largest response body that becomes data; a larger one becomes a
	// file reference (T40). Default 8 MiB.
	InlineBytes int64
	// FileBytes is the largest response body at all; default 1 GiB.
	FileBytes int64
}

// The defaults of Config.
const (
	DefaultTimeout     = 30 * time.Second
	DefaultInlineBytes = 8 << 20
	DefaultFileBytes   = 1 << 30
)

// Caller runs HTTP calls. It is safe for concurrent use.
type Caller struct {
	cfg   Config
	agent []string // the value of a header of all requests, which is only replaced
}

// accepted is the Accept header of all requests, unless an author gives one.
var accepted = []string{"application/json, */*;q=0.9"}

// New fills in the defaults of cfg.
func New(cfg Config) *Caller {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.InlineBytes == 0 {
		cfg.InlineBytes = DefaultInlineBytes
	}
	if cfg.FileBytes == 0 {
		cfg.FileBytes = DefaultFileBytes
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "chargehand"
	}
	if cfg.Auth == nil {
		cfg.Auth = credential.New(credential.Config{Transport: cfg.Transport})
	}
	return &Caller{cfg: cfg, agent: []string{cfg.UserAgent}}
}

// Run implements activity.Runner for the kind "http".
func (c *Caller) Run(ctx context.Context, call activity.Call) activity.Result {
	req, fault := requestFromArgs(call.Args)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	return c.Do(ctx, call, req)
}

// Do sends req on behalf of call and shapes the answer as req.Output says.
func (c *Caller) Do(ctx context.Context, call activity.Call, req *Request) activity.Result {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	if id, own := c.ownFile(req); own {
		return c.readOwnFile(ctx, call, req, id)
	}
	out, fault := c.build(ctx, call, req)
	if fault != nil {
		return activity.Result{Fault: failure.NoResponse(fault)}
	}
	credentials, fault := c.cfg.Auth.Resolve(ctx, req.Authentication)
	if fault != nil {
		closeBody(out)
		return activity.Result{Fault: failure.NoResponse(fault)}
	}
	if !credentials.Empty() {
		// Credentials are no header of the request, so that no redirect copies them; it is
		// named in the output that there were some (T41).
		out.Header.Del("Authorization")
	}
	resp, err := c.send(credentials.Transport(c.cfg.Transport), out, req.Redirect)
	if err != nil {
		return activity.Result{Fault: c.connectionFault(ctx, out, err)}
	}
	defer resp.Body.Close()
	if !credentials.Empty() {
		out = out.Clone(ctx) // the transport may still hold the one that was sent
		out.Header.Set("Authorization", redacted)
	}
	return c.receive(ctx, call, req, out, resp)
}

// ownFile recognises a GET of a file reference of this installation, which needs no
// connection and no credentials (docs/language/files.md).
func (c *Caller) ownFile(req *Request) (uri string, own bool) {
	rest := req.Endpoint
	if base := strings.TrimSuffix(c.cfg.PublicURL, "/"); base != "" {
		rest = strings.TrimPrefix(rest, base)
	}
	id, isFile := strings.CutPrefix(rest, chargehand.APIPath+"/files/")
	if !isFile || (req.Method != nethttp.MethodGet && req.Method != nethttp.MethodHead) {
		return "", false
	}
	id = strings.TrimSuffix(id, "/content")
	if _, err := chargehand.ParseID[struct{}](id); err != nil {
		return "", false
	}
	return chargehand.APIPath + "/files/" + id, true
}

// OwnFile reports whether a GET of endpoint reads a file of this installation.
func (c *Caller) OwnFile(endpoint string) bool {
	_, own := c.ownFile(&Request{Method: nethttp.MethodGet, Endpoint: endpoint})
	return own
}

// Fetcher fetches resources of up to maxBytes over the caller's transport and with its
// credentials; it reads no files.
func (c *Caller) Fetcher(maxBytes int64) *resource.Fetcher {
	return resource.New(resource.Config{
		Transport: c.cfg.Transport, Auth: c.cfg.Auth, Timeout: c.cfg.Timeout, UserAgent: c.cfg.UserAgent, MaxBytes: maxBytes,
	})
}

func (c *Caller) readOwnFile(ctx context.Context, call activity.Call, req *Request, uri string) activity.Result {
	meta, content, err := c.cfg.Files.Open(ctx, call.Account, call.Environment, call.Execution, uri)
	if errors.Is(err, activity.ErrFileNotFound) {
		return activity.Result{Fault: failure.Communication(nethttp.StatusNotFound, "there is no file "+uri)}
	}
	if err != nil {
		return activity.Result{Fault: failure.NoAnswer("the file " + uri + " could not be read")}
	}
	defer content.Close()
	resp := &nethttp.Response{
		StatusCode: nethttp.StatusOK, Body: content, ContentLength: meta.Size,
		Header: nethttp.Header{"Content-Type": {meta.MediaType}},
	}
	out, err := nethttp.NewRequestWithContext(ctx, req.Method, uri, nil)
	if err != nil {
		return activity.Result{Fault: failure.Configuration(err.Error())}
	}
	return c.receive(ctx, call, req, out, resp)
}

// connectionFault tells why no answer came. URLs are shown without user, query and fragment,
// which may hold secrets.
func (c *Caller) connectionFault(ctx context.Context, out *nethttp.Request, err error) *machine.Fault {
	return failure.NoResponse(c.brokenConnection(ctx, out, err))
}

func (c *Caller) brokenConnection(ctx context.Context, out *nethttp.Request, err error) *machine.Fault {
	if fault := (*machine.Fault)(nil); errors.As(err, &fault) {
		return fault // a token could not be renewed (T81)
	}
	where := out.Method + " " + failure.ShownURL(out.URL)
	switch {
	case errors.Is(err, egress.ErrRefused):
		return failure.Refused(where)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failure.NoAnswer(fmt.Sprintf("%s: no complete answer within %s", where, c.cfg.Timeout))
	}
	return failure.NoAnswer(where + ": " + failure.Cause(err))
}

func (c *Caller) build(ctx context.Context, call activity.Call, req *Request) (*nethttp.Request, *machine.Fault) {
	target, err := url.Parse(req.Endpoint)
	if err != nil || target.Host == "" || (target.Scheme != "http" && target.Scheme != "https") {
		return nil, failure.Configuration(fmt.Sprintf("the endpoint %q is not an absolute http or https address", excerpt.Clip(req.Endpoint, clipBytes)))
	}
	if len(req.Query) > 0 {
		query := req.Query.Encode()
		if target.RawQuery != "" {
			query = target.RawQuery + "&" + query
		}
		target.RawQuery = query
	}
	header := nethttp.Header{"User-Agent": c.agent, "Accept": accepted}
	for name, values := range req.Header {
		header[name] = values
	}
	body, fault := c.body(ctx, call, req, header)
	if fault != nil {
		return nil, fault
	}
	var empty nethttp.Request
	out := empty.WithContext(ctx) // the only way to give a request a context, but by its address as a text
	out.Method, out.URL, out.Host, out.Header = req.Method, target, target.Host, header
	out.Proto, out.ProtoMajor, out.ProtoMinor = "HTTP/1.1", 1, 1
	if host := header.Get("Host"); host != "" {
		out.Host = host
		header.Del("Host")
	}
	if body != nil {
		out.Body, out.GetBody, out.ContentLength = body.first, body.again, body.length
	}
	if user := target.User; user != nil && header.Get("Authorization") == "" {
		password, _ := user.Password()
		header.Set("Authorization", basicAuth(user.Username(), password))
	}
	target.User = nil
	if wantsIdempotencyKey(call.Metadata, req.Method) && header["Idempotency-Key"] == nil { // the author's own goes first
		header.Set("Idempotency-Key", call.Key)
	}
	if header["Traceparent"] == nil && span.Recorded(ctx) { // the author's own goes first
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
	}
	return out, nil
}

// wantsIdempotencyKey is the author's `metadata.idempotencyKey` (docs/language/metadata.md). By
// default the methods that change something have one.
func wantsIdempotencyKey(metadata map[string]any, method string) bool {
	if wanted, ok := metadata["idempotencyKey"].(bool); ok {
		return wanted
	}
	switch method {
	case nethttp.MethodPost, nethttp.MethodPut, nethttp.MethodPatch, nethttp.MethodDelete:
		return true
	}
	return false
}

// clipBytes bounds what messages show of texts of authors and peers.
const clipBytes = 200
