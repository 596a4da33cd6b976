package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chargehand/chargehand/internal/activity"
	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/activity/openapi"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/activity/shell"
	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/engine/embedded"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// The parts of a data directory.
const (
	databaseName = "chargehand.db"
	filesName    = "files"
	scratchName  = "scratch"
)

// App is an installation: store, engine, service and API, put together.
type App struct {
	cfg     Config
	log     *slog.Logger
	store   *store.Store
	blobs   *blob.Store
	engine  *embedded.Engine
	service *service.Service
	api     *api.Server
	listen  net.Listener

	closeScripts func()

	background context.Context // of what runs beside the requests
	stop       context.CancelFunc
	running    sync.WaitGroup
}

// New opens the data directory, recovers what it holds and listens, but serves nothing yet.
// Errors name the setting or the file that is wrong; store.ErrLocked: another server runs on
// the same directory.
func New(ctx context.Context, cfg Config) (*App, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, log: cfg.Log}
	a.background, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := a.open(ctx); err != nil {
		a.stop()
		a.close(ctx)
		return nil, err
	}
	return a, nil
}

// open makes the parts in the order in which they need each other.
func (a *App) open(ctx context.Context) error {
	cfg := a.cfg
	master, err := cfg.masterKey()
	if err != nil {
		return err
	}
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(cfg.DataDir, databaseName), Owner: true, Logger: cfg.Log})
	if err != nil {
		return err
	}
	a.store = store.New(db)
	if a.blobs, err = openBlobs(filepath.Join(cfg.DataDir, filesName), a.store); err != nil {
		return err
	}
	plans := service.NewPlans(a.store, plan.Options{Run: allowedRuns(cfg.AllowRun)})
	runners, err := a.activities()
	if err != nil {
		return err
	}
	if a.listen, err = net.Listen("tcp", cfg.Listen); err != nil {
		return err
	}
	a.engine, err = embedded.New(ctx, embedded.Config{
		Store: a.store, Plans: plans, Blobs: payloads{a.blobs}, Activities: runners, Log: cfg.Log,
		RuntimeVersion: Version, Processes: []string{"shell", "script"},
		Limits: embedded.Limits{AccountSlots: cfg.RunningExecutions, Calls: cfg.Calls, Processes: cfg.Processes},
	})
	if err != nil {
		return err
	}
	rate := cfg.RateLimit
	if rate == 0 {
		rate = -1 // of the service: no limit
	}
	a.service = service.New(service.Config{
		Store: a.store, Engine: a.engine, Plans: plans, Blobs: a.blobs,
		Pepper: master.Derive(secret.APIKeyPepper), LinkKey: master.Derive(secret.LinkSignature),
		Log: cfg.Log, Limits: service.Limits{RatePerSecond: rate, Rooms: a.limits()},
		Retention: service.Retention{Live: cfg.RetentionLive, Test: cfg.RetentionTest},
	})
	registry := prometheus.NewRegistry()
	a.registerMetrics(registry)
	a.api = api.New(api.Config{
		Service: a.service, Log: cfg.Log, PublicURL: cfg.PublicURL, Version: Version, Metrics: registry,
		Ready: func() bool { return a.service.Ready(a.background) },
	})
	return nil
}

// allowedRuns are the kinds of `run` for the plan compiler; JavaScript needs no process.
func allowedRuns(allow []string) []string {
	return append([]string{"js"}, slices.DeleteFunc(slices.Clone(allow), func(kind string) bool { return kind == "js" })...)
}

func (a *App) activities() (map[string]activity.Runner, error) {
	policy, err := egress.New(egress.Config{Allow: a.cfg.AllowEgress, ConnectTo: a.cfg.ConnectTo, TrustedCA: a.cfg.TrustedCA})
	if err != nil {
		return nil, badSetting("%w", err)
	}
	stored := newFiles(a.store, a.blobs, service.Limits{}.WithDefaults().UploadBytes)
	caller := activityhttp.New(activityhttp.Config{
		Transport: policy.Transport(), Files: stored, PublicURL: a.cfg.PublicURL, UserAgent: "chargehand/" + Version,
	})
	dataDir, err := filepath.Abs(a.cfg.DataDir)
	if err != nil {
		return nil, err
	}
	confiner, err := process.New(process.Config{
		Logger: a.log, Scratch: filepath.Join(dataDir, scratchName), HiddenPaths: []string{dataDir}, Slots: a.cfg.Processes,
	})
	if err != nil {
		return nil, err
	}
	scripts := script.New(script.Config{Confiner: confiner, Files: stored, Python: slices.Contains(a.cfg.AllowRun, "python")})
	a.closeScripts = scripts.Close
	return map[string]activity.Runner{
		"http":    caller,
		"openapi": openapi.New(caller),
		"shell":   shell.New(shell.Config{Confiner: confiner, Files: stored, Allowed: slices.Contains(a.cfg.AllowRun, "shell")}),
		"script":  scripts,
	}, nil
}

// limits are the bounds that the service tells but others keep.
func (a *App) limits() []service.Limit {
	return []service.Limit{
		{Name: "running_executions", Value: int64(a.cfg.RunningExecutions), Description: "Executions of an account that run at once; more are queued."},
		{Name: "queued_executions", Value: 10_000, Description: "Queued executions of a workflow; items of batches do not count."},
		{Name: "outgoing_calls", Value: int64(a.cfg.Calls), Description: "Outgoing calls at once."},
		{Name: "outgoing_call_seconds", Value: 30, Description: "Time of one outgoing call."},
		{Name: "processes", Value: int64(a.cfg.Processes), Description: "Processes of steps at once."},
		{Name: "process_seconds", Value: int64(process.DefaultTime / time.Second), Description: "Time of one process."},
		{Name: "process_memory_bytes", Value: process.DefaultMemoryBytes, Description: "Memory of one process and its children."},
		{Name: "process_disk_bytes", Value: process.DefaultDiskBytes, Description: "Private folder of one process."},
		{Name: "process_children", Value: process.DefaultProcesses, Description: "Processes that one step may have at a time."},
		{Name: "process_output_bytes", Value: process.DefaultOutputBytes, Description: "Standard output and error of one process."},
		{Name: "definition_tasks", Value: plan.DefaultTasks, Description: "Tasks of a definition."},
		{Name: "definition_depth", Value: dsl.MaxDepth, Description: "Levels of nesting of a definition."},
		{Name: "fork_branches", Value: plan.DefaultBranches, Description: "Branches of one fork."},
		{Name: "pure_steps", Value: plan.DefaultPureSteps, Description: "Tasks that an execution may start between two effects (calls, processes, timers)."},
		{Name: "state_bytes", Value: plan.DefaultStateBytes, Description: "State of an execution."},
		{Name: "activity_output_bytes", Value: 64 << 20, Description: "Output of one call or process."},
		{Name: "expression_steps", Value: expr.MaxSteps, Description: "Steps of one evaluation of an expression."},
		{Name: "expression_value_bytes", Value: expr.MaxValueBytes, Description: "Result of an expression, and any text in between."},
		{Name: "expression_entries", Value: expr.MaxEntries, Description: "Entries of an array or an object in an expression."},
	}
}

// Start serves requests and does the work in the background. The channel gets an error if
// serving ends by itself.
func (a *App) Start() <-chan error {
	failed := make(chan error, 1)
	a.log.Info("listening", "url", "http://"+a.listen.Addr().String())
	a.running.Go(func() {
		if err := a.api.Serve(a.listen); err != nil {
			failed <- fmt.Errorf("serve: %w", err)
		}
	})
	a.running.Go(func() { a.service.Run(a.background) })
	if a.cfg.Workflows != "" {
		a.running.Go(func() { a.watchWorkflows(a.background) })
	}
	return failed
}

// Address is where the server listens.
func (a *App) Address() net.Addr { return a.listen.Addr() }

// Stop stops accepting, lets what runs finish or parks it, and closes the data directory.
// It takes at most as long as ctx lives.
func (a *App) Stop(ctx context.Context) {
	a.log.Info("stopping")
	if err := a.api.Shutdown(ctx); err != nil {
		a.log.Warn("requests were cut off", "error", err)
	}
	a.stop()
	a.close(ctx)
	a.log.Info("stopped")
}

func (a *App) close(ctx context.Context) {
	if a.engine != nil {
		if err := a.engine.Stop(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			a.log.Warn("stop the engine", "error", err)
		}
	}
	a.running.Wait()
	if a.closeScripts != nil {
		a.closeScripts()
	}
	if a.listen != nil {
		a.listen.Close()
	}
	if a.blobs != nil {
		a.blobs.Close()
	}
	if a.store != nil {
		if err := a.store.Close(); err != nil {
			a.log.Warn("close the database", "error", err)
		}
	}
}
