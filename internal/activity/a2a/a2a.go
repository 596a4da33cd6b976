package a2a

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Config wires a Runner. Remote is required.
type Config struct {
	Remote remote.Config
	// Timeout bounds a call of one answer; default 10 minutes: agents think.
	Timeout time.Duration
	// StreamTimeout bounds a whole stream; default 1 hour.
	StreamTimeout time.Duration
	// Bytes is the largest answer, all results of a stream together; default 16 MiB.
	Bytes int64
	// Now is the clock of the cache of cards; default time.Now.
	Now func() time.Time
}

// The defaults of Config.
const (
	DefaultTimeout       = 10 * time.Minute
	DefaultStreamTimeout = time.Hour
	DefaultBytes         = 16 << 20
)

// Runner runs A2A calls. It is safe for concurrent use.
type Runner struct {
	cfg   Config
	cards *cards
}

// New fills in the defaults of cfg.
func New(cfg Config) *Runner {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.StreamTimeout == 0 {
		cfg.StreamTimeout = DefaultStreamTimeout
	}
	if cfg.Bytes == 0 {
		cfg.Bytes = DefaultBytes
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Runner{cfg: cfg, cards: newCards(cfg.Now)}
}

// methods tells of each method whether it is answered by a stream.
var methods = map[string]bool{
	"message/send": false, "message/stream": true, "tasks/get": false, "tasks/list": false, "tasks/cancel": false,
	"tasks/resubscribe": true, "tasks/pushNotificationConfig/set": false, "tasks/pushNotificationConfig/get": false,
	"tasks/pushNotificationConfig/list": false, "tasks/pushNotificationConfig/delete": false,
	"agent/getAuthenticatedExtendedCard": false,
}

// Run implements activity.Runner for the kind "a2a".
func (r *Runner) Run(ctx context.Context, call activity.Call) activity.Result {
	with, _ := call.Args.(map[string]any)
	method, _ := with["method"].(string)
	streams, known := methods[method]
	if !known {
		return activity.Result{Fault: failure.Configuration(fmt.Sprintf("%q is not a method of an A2A call", excerpt.Clip(method, failure.ClipBytes)))}
	}
	parameters, fault := parametersOf(with["parameters"], method, call.Key)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	limit := r.cfg.Timeout
	if streams {
		limit = r.cfg.StreamTimeout
	}
	callCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	endpoint, client, fault := r.agent(callCtx, call, with)
	if fault == nil {
		x := &exchange{
			client: client, endpoint: endpoint, method: method, streams: streams, limit: r.cfg.Bytes,
			where: fmt.Sprintf("A2A %s %s", method, failure.ShownURL(endpoint)),
		}
		var output value.Value
		if output, fault = x.do(callCtx, parameters); fault == nil {
			return activity.Result{Output: output}
		}
	}
	if callCtx.Err() != nil {
		fault = failure.Timeout(fmt.Sprintf("A2A %s: no complete answer within %s", method, limit))
	}
	return activity.Result{Fault: fault}
}

// agent is where the call goes, and the client to call it with.
func (r *Runner) agent(ctx context.Context, call activity.Call, with map[string]any) (*url.URL, *http.Client, *machine.Fault) {
	if server, ok := with["server"].(map[string]any); ok {
		endpoint, fault := remote.Endpoint("the agent's server", server["endpoint"])
		if fault != nil {
			return nil, nil, fault
		}
		client, fault := r.cfg.Remote.Client(ctx, server["authentication"], nil)
		return endpoint, client, fault
	}
	card, ok := with["agentCard"].(map[string]any)
	if !ok {
		return nil, nil, failure.Configuration("an A2A call needs an agentCard or a server")
	}
	address, fault := remote.Endpoint("the agent card's address", card["endpoint"])
	if fault != nil {
		fault.Detail += "; agent cards are read over the network, not from files"
		return nil, nil, fault
	}
	client, fault := r.cfg.Remote.Client(ctx, card["authentication"], nil)
	if fault != nil {
		return nil, nil, fault
	}
	owner := fmt.Sprintf("%s %s %x", call.Account, call.Environment, sha256.Sum256(value.Marshal(card["authentication"])))
	endpoint, fault := r.cards.endpoint(ctx, client, owner, address)
	if fault != nil {
		return nil, nil, fault
	}
	if !remote.SameOrigin(endpoint, address) {
		client, fault = r.cfg.Remote.Client(ctx, nil, nil)
	}
	return endpoint, client, fault
}

// messageNamespace is that of our message ids (UUID version 5).
var messageNamespace = uuid.MustParse("7d0f1f53-6ad1-5f0b-9df0-6f1b0f9c2a41")

// parametersOf completes a message. It copies what it changes: values are shared.
func parametersOf(v value.Value, method, key string) (map[string]any, *machine.Fault) {
	given, isObject := v.(map[string]any)
	if v != nil && !isObject {
		return nil, failure.Configuration("the parameters of an A2A call must be an object")
	}
	message, isMessage := given["message"].(map[string]any)
	if !strings.HasPrefix(method, "message/") || !isMessage {
		return given, nil
	}
	complete := make(map[string]any, len(message)+2)
	for name, value := range message {
		complete[name] = value
	}
	if complete["messageId"] == nil {
		complete["messageId"] = uuid.NewSHA1(messageNamespace, []byte(key)).String()
	}
	if complete["role"] == nil {
		complete["role"] = "user"
	}
	parameters := make(map[string]any, len(given))
	for name, value := range given {
		parameters[name] = value
	}
	parameters["message"] = complete
	return parameters, nil
}
