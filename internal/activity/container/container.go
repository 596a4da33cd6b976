package container

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/process/workspace"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// Config wires a Runner. Confiner and Files are required where Allowed is set.
type Config struct {
	Logger *slog.Logger // default slog.Default()
	// Confiner gives the private directories, and the slots that containers share with other
	// processes.
	Confiner *process.Confiner
	Files    activity.Files
	// Allowed lets containers run. Without it every one is a configuration error (T80).
	Allowed bool
	// Host is the engine, as DOCKER_HOST names it: unix:///run/docker.sock, tcp://host:2376.
	// Empty: DOCKER_HOST with DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, else the default socket.
	Host string
	// Volumes are paths of the engine's machine that containers may mount, exactly these; a
	// path that ends with :ro only for reading.
	Volumes []string
	// Capabilities are given back to containers, such as CHOWN; default none.
	Capabilities []string
	// Network is the engine's network that containers join; default the engine's default.
	Network string
	// PublishAddress is where ports are published; default 127.0.0.1.
	PublishAddress netip.Addr
	Limits         process.Limits // zero fields: the defaults of package process
	// PullTime bounds the pull of an image; default 10 minutes.
	PullTime time.Duration
	// PrepareTime bounds any other request to the engine that prepares a container, which may
	// have to unpack an image; default 2 minutes.
	PrepareTime time.Duration
	// CopyTime bounds copying files into a container, and out of it; default 10 minutes each.
	CopyTime time.Duration
	// Now is the clock of labels and of the sweep; default time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if !c.PublishAddress.IsValid() {
		c.PublishAddress = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	defaultTo(&c.PullTime, 10*time.Minute)
	defaultTo(&c.PrepareTime, 2*time.Minute)
	defaultTo(&c.CopyTime, 10*time.Minute)
	if c.Now == nil {
		c.Now = time.Now
	}
	l := &c.Limits
	defaultTo(&l.Time, process.DefaultTime)
	defaultTo(&l.Grace, process.DefaultGrace)
	defaultTo(&l.MemoryBytes, process.DefaultMemoryBytes)
	defaultTo(&l.OutputBytes, process.DefaultOutputBytes)
	defaultTo(&l.FileBytes, process.DefaultFileBytes)
	defaultTo(&l.DiskBytes, process.DefaultDiskBytes)
	defaultTo(&l.Processes, process.DefaultProcesses)
	return c
}

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Runner runs containers. It is safe for concurrent use.
type Runner struct {
	cfg    Config
	engine *client.Client // nil where containers are not allowed
	stop   context.CancelFunc
	swept  sync.WaitGroup
	kick   chan struct{}

	mu     sync.Mutex
	active map[string]bool // ids of containers that a Run of this Runner still works with
	ended  map[string]bool // ids of those that it is done with, until they are removed
}

// New fills in the defaults of cfg and starts the sweep. It does not connect yet. The error
// names the setting that cannot be used.
func New(cfg Config) (*Runner, error) {
	r := &Runner{cfg: cfg.withDefaults(), stop: func() {}, kick: make(chan struct{}, 1), active: map[string]bool{}, ended: map[string]bool{}}
	if !cfg.Allowed {
		return r, nil
	}
	for _, entry := range cfg.Volumes {
		if path, _ := hostPath(entry); !cleanAbsolute(path) {
			return nil, fmt.Errorf("container: the volume %q must be an absolute path that is written without dots", entry)
		}
	}
	source := client.FromEnv
	if cfg.Host != "" {
		source = client.WithHost(cfg.Host)
	}
	var err error
	if r.engine, err = client.New(source, client.WithUserAgent("chargehand")); err != nil {
		return nil, fmt.Errorf("container: engine: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	r.swept.Add(1)
	go func() {
		defer r.swept.Done()
		r.sweepUntilStopped(ctx)
	}()
	return r, nil
}

// Close ends the sweep. Containers that run continue until the calls that run them are
// cancelled.
func (r *Runner) Close() {
	r.stop()
	r.swept.Wait()
	if r.engine != nil {
		_ = r.engine.Close()
	}
}

// Run implements activity.Runner for the kind "container".
func (r *Runner) Run(ctx context.Context, call activity.Call) activity.Result {
	if !r.cfg.Allowed {
		return activity.Result{Fault: &machine.Fault{
			Type: machine.ErrConfiguration, Status: 400, Title: "Processes are not allowed",
			Detail: "run.container is not allowed on this server; its operator can allow it (--allow-run container)",
		}}
	}
	args, _ := call.Args.(map[string]any)
	release, err := r.cfg.Confiner.Acquire(ctx)
	if err != nil {
		return activity.Result{Fault: workspace.RunFault(r.cfg.Logger, err, nil)}
	}
	defer release()
	if fault := r.reach(ctx); fault != nil {
		return activity.Result{Fault: fault}
	}
	w, fault := workspace.Open(ctx, r.cfg.Confiner, r.cfg.Files, call, workspace.Operands(args["arguments"], args["environment"], args["stdin"])...)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	defer w.Close()
	local := folders{in: w.In, out: w.Out}
	w.Relocate(mountPoint)
	spec, fault := r.spec(call, args, w)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	outcome, fault := r.run(ctx, spec, local)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	if outcome.Code == 0 { // only a success has files (docs/language/files.md)
		if outcome.Files, fault = w.Collect(ctx); fault != nil {
			return activity.Result{Fault: fault}
		}
	}
	mode, _ := args["return"].(string)
	return outcome.Result(mode)
}

const reachTimeout = 10 * time.Second

// reach finds out whether there is an engine.
func (r *Runner) reach(ctx context.Context) *machine.Fault {
	pingCtx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	_, err := r.engine.Ping(pingCtx, client.PingOptions{NegotiateAPIVersion: true})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return stopped()
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %s", reachTimeout)
	}
	return configuration(fmt.Sprintf("there is no container engine at %s: install Docker or Podman on the server and start it, "+
		"or point DOCKER_HOST to an engine (%s)", r.engine.DaemonHost(), excerpt.Clip(strings.TrimSpace(err.Error()), clipBytes)))
}
