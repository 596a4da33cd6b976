package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Config wires a Runner. Remote is required, Confiner and Files where AllowProcesses is set.
type Config struct {
	Remote remote.Config
	// AllowProcesses lets the stdio transport start commands. Without it they are a
	// configuration error: a workflow may have been applied when they were allowed (T80).
	AllowProcesses bool
	Confiner       *process.Confiner
	Files          activity.Files
	// Version is what the client says of itself where the task does not; default "0".
	Version string
	// Timeout bounds one call, the session's begin and end included, where the task says
	// nothing; default 1 minute.
	Timeout time.Duration
	// Bytes is the largest answer; default 16 MiB.
	Bytes int64
}

// The defaults of Config.
const (
	DefaultTimeout = time.Minute
	DefaultBytes   = 16 << 20
)

// Runner runs MCP calls. It is safe for concurrent use.
type Runner struct {
	cfg Config
}

// New fills in the defaults of cfg.
func New(cfg Config) *Runner {
	if cfg.Version == "" {
		cfg.Version = "0"
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Bytes == 0 {
		cfg.Bytes = DefaultBytes
	}
	return &Runner{cfg: cfg}
}

// methods are those that a task may call, in the order of the specification.
var methods = []string{
	"tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read", "resources/templates/list",
}

// request is a call with every value resolved.
type request struct {
	method          string
	parameters      value.Value // nil: none
	protocolVersion string
	client          map[string]any
	timeout         time.Duration
	http, stdio     map[string]any // exactly one is set
}

// Run implements activity.Runner for the kind "mcp".
func (r *Runner) Run(ctx context.Context, call activity.Call) activity.Result {
	req, fault := r.requestFromArgs(call.Args)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	if req.stdio != nil {
		return r.runStdio(ctx, call, req)
	}
	return r.runHTTP(ctx, req)
}

// defaultProtocolVersion is that of the specification (T53).
const defaultProtocolVersion = "2025-06-18"

func (r *Runner) requestFromArgs(args value.Value) (*request, *machine.Fault) {
	with, _ := args.(map[string]any)
	req := &request{parameters: with["parameters"], timeout: r.cfg.Timeout}
	req.method, _ = with["method"].(string)
	if !slices.Contains(methods, req.method) {
		return nil, failure.Configuration(fmt.Sprintf("%q is not a method of an MCP call; these are: %s",
			excerpt.Clip(req.method, failure.ClipBytes), strings.Join(methods, ", ")))
	}
	if _, isObject := req.parameters.(map[string]any); req.parameters != nil && !isObject {
		return nil, failure.Configuration("the parameters of an MCP call must be an object")
	}
	if req.protocolVersion, _ = with["protocolVersion"].(string); req.protocolVersion == "" {
		req.protocolVersion = defaultProtocolVersion
	}
	if ms, ok := with["timeoutMs"].(int); ok && ms > 0 {
		req.timeout = time.Duration(ms) * time.Millisecond
	}
	req.client = map[string]any{"name": "chargehand", "version": r.cfg.Version}
	if named, ok := with["client"].(map[string]any); ok {
		for _, key := range []string{"name", "version"} {
			if text, _ := named[key].(string); text != "" {
				req.client[key] = text
			}
		}
	}
	req.http, _ = with["http"].(map[string]any)
	req.stdio, _ = with["stdio"].(map[string]any)
	if (req.http == nil) == (req.stdio == nil) {
		return nil, failure.Configuration("the transport of an MCP call must be one of http and stdio")
	}
	return req, nil
}
