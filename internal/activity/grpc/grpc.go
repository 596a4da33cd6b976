package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc/metadata"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/value"
)

// Config wires a Runner. Dial, TLS, Auth and Resources are required.
type Config struct {
	// Dial opens every connection; it applies the egress rules.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS has the trusted authorities. It is not changed.
	TLS  *tls.Config
	Auth *credential.Source
	// Resources reads proto files that are not pinned to the definition.
	Resources *resource.Cache
	UserAgent string // default chargehand
	// Timeout bounds one call with all its messages; default 30 s.
	Timeout time.Duration
	// MessageBytes bounds one message that is received; default 8 MiB.
	MessageBytes int
	// StreamBytes bounds all messages of a stream together, as JSON; default 16 MiB.
	StreamBytes int
	// Values bounds the values of all responses of a call together, before they are read; a
	// message in them counts as 4. Default 1,048,576.
	Values int
	// Messages bounds the responses of a stream; default 10,000.
	Messages int
	// Connections bounds the servers that connections are kept to; default 256.
	Connections int
	// Idle is how long a connection without calls is kept; default 60 s.
	Idle time.Duration
}

// The defaults of the bounds of Config that authors may meet.
const (
	DefaultMessageBytes = 8 << 20
	DefaultStreamBytes  = 16 << 20
	DefaultMessages     = 10_000
)

func (c Config) withDefaults() Config {
	if c.UserAgent == "" {
		c.UserAgent = "chargehand"
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.MessageBytes == 0 {
		c.MessageBytes = DefaultMessageBytes
	}
	if c.StreamBytes == 0 {
		c.StreamBytes = DefaultStreamBytes
	}
	if c.Values == 0 {
		c.Values = 1 << 20
	}
	if c.Messages == 0 {
		c.Messages = DefaultMessages
	}
	if c.Connections == 0 {
		c.Connections = 256
	}
	if c.Idle == 0 {
		c.Idle = time.Minute
	}
	return c
}

// Runner calls gRPC services. It is safe for concurrent use.
type Runner struct {
	cfg    Config
	protos *protos
	pool   *pool
}

// New fills in the defaults of cfg.
func New(cfg Config) *Runner {
	cfg = cfg.withDefaults()
	return &Runner{cfg: cfg, protos: newProtos(cfg.Resources), pool: newPool(cfg)}
}

// Close closes all connections. Calls that run end with an error; later ones too.
func (r *Runner) Close() { r.pool.close() }

// Run implements activity.Runner for the kind "grpc".
func (r *Runner) Run(ctx context.Context, call activity.Call) activity.Result {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	output, fault := r.run(ctx, call)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	return activity.Result{Output: output}
}

func (r *Runner) run(ctx context.Context, call activity.Call) (value.Value, *machine.Fault) {
	args, _ := call.Args.(map[string]any)
	to, fault := targetOf(args, call.Metadata)
	if fault != nil {
		return nil, fault
	}
	file, fault := r.protos.get(ctx, call, args["proto"])
	if fault != nil {
		return nil, fault
	}
	service, _ := args["service"].(string)
	name, _ := args["method"].(string)
	method, err := file.Method(service, name)
	if err != nil {
		return nil, configuration(err.Error())
	}
	requests, fault := requestsOf(args["arguments"], method, file.Types())
	if fault != nil {
		return nil, fault
	}
	ctx, fault = r.outgoing(ctx, call, args["authentication"])
	if fault != nil {
		return nil, fault
	}
	invocation := &invocation{cfg: &r.cfg, method: method, types: file.Types(), to: to, requests: requests}
	conn, err := r.pool.get(to)
	if err != nil {
		return nil, communication(500, invocation.where()+": "+err.Error())
	}
	defer r.pool.put(conn)
	output, err := invocation.run(ctx, conn.client)
	if err != nil {
		return nil, invocation.fault(ctx, conn, err)
	}
	return output, nil
}

// outgoing adds the metadata of the request to ctx.
func (r *Runner) outgoing(ctx context.Context, call activity.Call, policy value.Value) (context.Context, *machine.Fault) {
	credentials, fault := r.cfg.Auth.Resolve(ctx, policy)
	if fault != nil {
		return nil, fault
	}
	header := map[string]string{}
	if !credentials.Empty() {
		authorization := credentials.Authorization()
		if authorization == "" {
			return nil, configuration("digest authentication answers a challenge of HTTP, which gRPC does not have; use basic or bearer")
		}
		header["authorization"] = authorization
	}
	if value.Equal(call.Metadata["idempotencyKey"], true) { // docs/language/metadata.md
		header["idempotency-key"] = call.Key
	}
	if span.Recorded(ctx) {
		propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(header))
	}
	return metadata.NewOutgoingContext(ctx, metadata.New(header)), nil
}

var errClosed = errors.New("the server is stopping")
