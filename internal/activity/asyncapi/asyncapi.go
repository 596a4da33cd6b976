package asyncapi

import (
	"context"
	"fmt"
	"time"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/asyncapidoc"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/value"
)

// Fetcher reads documents. *resource.Cache is one.
type Fetcher interface {
	Fetch(ctx context.Context, scope string, r resource.Request) (resource.Content, error)
}

// Config wires a Runner. All but the limits is required.
type Config struct {
	Documents    Fetcher
	Authenticate remote.Authenticate
	Protocols    map[string]Protocol // by family: http, ws, nats
	// Timeout bounds publishing one message; default 30 s.
	Timeout time.Duration
	// MessageBytes is the largest message; default 1 MiB.
	MessageBytes int64
}

// DefaultMessageBytes is the default of Config.MessageBytes.
const DefaultMessageBytes = 1 << 20

// Runner runs AsyncAPI calls. It is safe for concurrent use.
type Runner struct {
	cfg       Config
	documents *documents
}

// New fills in the defaults of cfg.
func New(cfg Config) *Runner {
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.MessageBytes == 0 {
		cfg.MessageBytes = DefaultMessageBytes
	}
	return &Runner{cfg: cfg, documents: newDocuments(cfg.Documents)}
}

// Run implements activity.Runner for the kind "asyncapi".
func (r *Runner) Run(ctx context.Context, call activity.Call) activity.Result {
	with, _ := call.Args.(map[string]any)
	message, publishes := with["message"].(map[string]any)
	if !publishes && call.Progress == nil {
		return activity.Result{Fault: failure.Configuration("an AsyncAPI call needs a message or a subscription")}
	}
	doc, digest, fault := r.documents.get(ctx, call, with["document"])
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	return activity.Result{Fault: r.call(ctx, call, doc, with, message, publishes), Document: digest}
}

// call carries out a call by a document. message is nil for a subscription.
func (r *Runner) call(ctx context.Context, call activity.Call, doc *asyncapidoc.Document, with, message map[string]any, publishes bool) *machine.Fault {
	selection, fault := selectionOf(with, message, !publishes)
	if fault != nil {
		return fault
	}
	target, err := doc.Target(selection)
	if err != nil {
		return failure.Configuration("the AsyncAPI document does not fit the call: " + err.Error())
	}
	protocol, ok := r.cfg.Protocols[target.Family]
	if !ok {
		return failure.Configuration(fmt.Sprintf("the protocol %q is not supported by this server", target.Protocol))
	}
	credentials, fault := r.cfg.Authenticate(ctx, with["authentication"])
	if fault != nil {
		return fault
	}
	at := &Endpoint{Target: target, Credentials: credentials, MessageBytes: r.cfg.MessageBytes, Where: where(target)}
	if publishes {
		return r.publish(ctx, call, protocol, at, message)
	}
	return subscribe(ctx, call, protocol, at)
}

func (r *Runner) publish(ctx context.Context, call activity.Call, protocol Protocol, at *Endpoint, message map[string]any) *machine.Fault {
	out, fault := encode(message, at.Messages[0].ContentType)
	if fault != nil {
		return fault
	}
	if int64(len(out.Body)) > at.MessageBytes {
		return at.TooLarge()
	}
	if value.Equal(call.Metadata["idempotencyKey"], true) {
		out.Key = call.Key
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	fault = protocol.Publish(ctx, at, out)
	if fault != nil && ctx.Err() != nil {
		return failure.Timeout(fmt.Sprintf("%s: the message was not taken within %s", at.Where, r.cfg.Timeout))
	}
	return fault
}

func subscribe(ctx context.Context, call activity.Call, protocol Protocol, at *Endpoint) *machine.Fault {
	return protocol.Subscribe(ctx, at, func(m Incoming) error {
		return call.Progress(ctx, decode(m, at.Messages))
	})
}

// selectionOf is what the task says about where it goes.
func selectionOf(with, message map[string]any, subscribes bool) (asyncapidoc.Selection, *machine.Fault) {
	s := asyncapidoc.Selection{Subscribe: subscribes, Payload: message["payload"], Headers: message["headers"]}
	s.Channel, _ = with["channel"].(string)
	s.Operation, _ = with["operation"].(string)
	s.Protocol, _ = with["protocol"].(string)
	if (s.Channel == "") == (s.Operation == "") {
		return s, failure.Configuration("an AsyncAPI call needs either a channel or an operation")
	}
	server, _ := with["server"].(map[string]any)
	s.Server, _ = server["name"].(string)
	variables, isObject := server["variables"].(map[string]any)
	if server["variables"] != nil && !isObject {
		return s, failure.Configuration("the variables of the server must be an object")
	}
	s.Variables = make(map[string]string, len(variables))
	for name, value := range variables {
		text, ok := activityhttp.Scalar(value)
		if !ok {
			return s, failure.Configuration(fmt.Sprintf("the server variable %q must be a text, a number or a boolean", excerpt.Clip(name, failure.ClipBytes)))
		}
		s.Variables[name] = text
	}
	return s, nil
}

// where names a target without what may be secret in its address.
func where(t *asyncapidoc.Target) string {
	return fmt.Sprintf("AsyncAPI channel %s on %s", excerpt.Clip(t.Address, failure.ClipBytes), excerpt.Clip(withoutUser(t.URL), failure.ClipBytes))
}
