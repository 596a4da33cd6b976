package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/engine/embedded"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/reminder"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/rollup"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/signin"
	"github.com/chargehand/chargehand/internal/sink"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/telemetry"
	"github.com/chargehand/chargehand/internal/value"
	"github.com/chargehand/chargehand/web"
)

// driver is an engine that can be ended.
type driver interface {
	engine.Engine
	Stop(ctx context.Context) error
}

// term is everything that lives as long as the database is our own: files, engine,
// service and API.
type term struct {
	cfg     Config
	log     *slog.Logger
	store   *store.Store
	blobs   *blob.Store
	sealer  *secret.Sealer // of the service and the engine
	engine  driver
	logs    *runlog.Writer // of executions; nil: none
	service *service.Service
	api     *api.Server
	signIn  *signin.Service
	mail    *mail.Outbox // nil: no mail is sent
	// reminder looks after the times of human tasks; nil: this process leaves it to others.
	reminder *reminder.Worker

	failures     *failureLog
	fetcher      *resource.Fetcher // of activities
	sources      *resource.Fetcher // of the sources of scripts; nil: fetcher
	sinks        *sink.Deliveries  // nil: none
	policy       *egress.Policy
	runtime      value.Value // $runtime.metadata
	closeScripts func()

	services *background.Group // what runs beside the requests
	closing  sync.Once
}

// newTerm recovers what the database holds. Nothing is served yet.
func newTerm(ctx context.Context, cfg Config, db *store.Store) (*term, error) {
	t := &term{cfg: cfg, log: cfg.Log, store: db, services: background.NewGroup()}
	if err := t.open(ctx); err != nil {
		t.close(ctx)
		return nil, err
	}
	return t, nil
}

// open makes the parts in the order in which they need each other.
func (t *term) open(ctx context.Context) error {
	cfg := t.cfg
	keys, err := installation.OpenKeys(ctx, t.store, cfg.ring)
	if err == nil {
		err = installation.CheckEngine(ctx, t.store, cfg.Engine)
	}
	if err != nil {
		return err
	}
	t.sealer = secret.NewSealer(keys)
	if err := t.seal(ctx); err != nil {
		return err
	}
	if t.blobs, err = openBlobs(ctx, cfg, t.store, t.sealer); err != nil {
		return err
	}
	if err := installation.CheckFiles(ctx, cfg.Settings, t.store, t.blobs); err != nil {
		return err
	}
	t.failures = newFailureLog(cfg.Log, t.store)
	plans := service.NewPlans(t.store, plan.Options{Run: allowedRuns(cfg.AllowRun), CheckProto: checkProto})
	registry := prometheus.NewRegistry()
	registerProcess(registry)
	registry.MustRegister(cfg.measures)
	if !cfg.WorkerOnly {
		registry.MustRegister(newRows(t.store, cfg.Engine == installation.EngineTemporal))
	}
	if err := t.openEngine(ctx, plans, registry); err != nil {
		return err
	}
	rate := cfg.RateLimit
	if rate == 0 {
		rate = -1 // of the service: no limit
	}
	t.openMail(registry)
	t.service = service.New(service.Config{
		Mail:  t.mail,
		Store: t.store, Engine: t.engine, Plans: plans, Blobs: t.blobs, Logs: t.logs, Fetch: fetchBy(t.fetcher),
		Pepper: keys.Of(secret.APIKeyPepper), LinkKey: keys.Of(secret.LinkSignature), Sealer: t.sealer,
		Log: cfg.Log, Limits: service.Limits{RatePerSecond: rate, PoolLimits: cfg.limits()}, Quotas: cfg.Quotas, Reserve: cfg.reserve(t.log),
		Retention: service.Retention{Live: cfg.RetentionLive, Test: cfg.RetentionTest, Events: cfg.RetentionEvents, Audit: cfg.RetentionAudit}, RedirectLinks: cfg.FilesRedirect, Version: Version,
		Zone: cfg.zone, UnreadEvents: cfg.ScheduleOnDefault, Lifecycle: cfg.publishedPrefix(), Shared: cfg.Engine == installation.EngineTemporal,
	})
	t.openReminder(registry)
	t.openSinks(registry)
	if !cfg.WorkerOnly {
		registry.MustRegister(newQuotas(t.service))
	}
	proxies, err := cfg.proxies()
	if err != nil {
		return err
	}
	if err := t.openSignIn(keys); err != nil {
		return err
	}
	state := &system{cfg: cfg, store: t.store, service: t.service, began: time.Now()}
	if d, ok := t.engine.(*distributed); ok {
		state.workers = func() int64 { return d.Stats().Workers }
	}
	t.api = api.New(api.Config{
		System:  state.report,
		Service: t.service, SignIn: t.signIn, TrustedProxies: proxies, Log: cfg.Log, PublicURL: cfg.PublicURL, Version: Version, Metrics: registry,
		Ready: t.ready, ProbesOnly: cfg.WorkerOnly, Tracer: cfg.tracing.Tracer(), MaxConnections: cfg.Connections, UI: web.Embedded(),
	})
	return nil
}

// ready reports whether this process serves requests.
func (t *term) ready() bool {
	if d, ok := t.engine.(*distributed); ok && t.cfg.WorkerOnly && !d.Working() {
		return false
	}
	return t.service.Ready(t.services.Context())
}

// openEngine starts the engine that drives the executions.
func (t *term) openEngine(ctx context.Context, plans *service.Plans, registry *prometheus.Registry) error {
	runners, err := t.activities(ctx, newFiles(t.store, t.blobs, service.Limits{}.WithDefaults().UploadBytes))
	if err != nil {
		return err
	}
	cfg := t.cfg
	if cfg.ExecutionLogBytes > 0 {
		t.logs = runlog.NewWriter(runlog.Config{
			Store: t.store, Blobs: payloads{t.blobs}, Log: cfg.Log, Limits: runlog.Limits{Bytes: cfg.ExecutionLogBytes},
		})
		registerLogs(registry, t.logs)
	}
	runners = telemetry.Watched(runners, registry, cfg.tracing.Tracer())
	if cfg.Engine == installation.EngineTemporal {
		return t.openDistributed(ctx, plans, runners, registry)
	}
	e, err := embedded.New(ctx, embedded.Config{
		Store: t.store, Plans: plans, Blobs: payloads{t.blobs}, Sealer: t.sealer, Activities: runners, Logs: t.logs, Log: cfg.Log,
		RuntimeVersion: Version, RuntimeMetadata: t.runtime, Lifecycle: cfg.lifecycle(), Tracer: cfg.tracing.Tracer(),
		Limits: embedded.Limits{
			QueuedPerWorkflow: cfg.queuedPerWorkflow(),
			AccountSlots:      cfg.RunningExecutions, Calls: cfg.Calls, Streams: cfg.Streams, Processes: cfg.Processes, Scripts: cfg.Scripts,
			SlotsPerWorkflow: cfg.RunningPerWorkflow, CallsPerWorkflow: cfg.CallsPerWorkflow, ProcessesPerWorkflow: cfg.ProcessesPerWorkflow, ScriptsPerWorkflow: cfg.ProcessesPerWorkflow,
			SlotsPerKey: cfg.RunningPerKey, CallsPerKey: cfg.CallsPerKey, ProcessesPerKey: cfg.ProcessesPerKey, ScriptsPerKey: cfg.ProcessesPerKey,
		},
	})
	if err != nil {
		return err
	}
	t.engine = e
	registerEmbedded(registry, e)
	return nil
}

// start serves requests on l and does the work in the background. The channel gets an error
// if serving ends by itself.
func (t *term) start(l net.Listener) <-chan error {
	failed := make(chan error, 1)
	t.offerSetup(context.Background(), "http://"+l.Addr().String())
	t.services.Start("API", func(context.Context) {
		if err := t.api.Serve(l); err != nil {
			failed <- fmt.Errorf("serve: %w", err)
		}
	})
	t.services.Start("clock", func(ctx context.Context) { watchClock(ctx, t.log, t.store) })
	keys := keyring.Watch{Store: t.store, File: t.cfg.MasterKeyFile, Sealer: t.sealer, Log: t.log, Folder: t.cfg.DatabaseFolder()}
	t.services.Start("keys", keys.Run)
	if t.cfg.WorkerOnly {
		return failed
	}
	t.services.Start("sweeps and schedules", t.service.Run)
	t.services.Start("operations", t.service.RunOperations)
	t.services.Start("counts by the hour", rollup.New(rollup.Config{Store: t.store, Log: t.log}).Run)
	if t.sinks != nil {
		t.services.Start("event sinks", t.sinks.Run)
	}
	if t.mail.On() {
		t.services.Start("mail", t.mail.Run)
	}
	t.services.Start("times of human tasks", t.reminder.Run)
	if t.cfg.Workflows != "" {
		t.services.Start("workflow folder", t.watchWorkflows)
	}
	return failed
}

// close stops accepting, lets what runs finish or parks it, and lets go of everything but
// the database. It returns a second after ctx has ended, or when the engine has
// stopped, whichever is later, and logs what has not returned then. Closing
// twice does no harm.
func (t *term) close(ctx context.Context) { t.closing.Do(func() { t.end(ctx) }) }

func (t *term) end(ctx context.Context) {
	if t.api != nil {
		if err := t.api.Shutdown(ctx); err != nil {
			t.log.Warn("requests were cut off", "error", err)
		}
	}
	t.services.Cancel()
	final, cancel := background.Grace(ctx, stopReserve)
	defer cancel()
	if t.engine != nil {
		if err := t.engine.Stop(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.log.Warn("stop the engine", "error", err)
		}
	}
	t.logs.Stop(final)
	if t.failures != nil {
		if err := t.failures.close(final); err != nil {
			t.log.Warn("lines of failed executions were lost", "error", err)
		}
	}
	if err := t.services.Stop(final); err != nil {
		t.log.Warn("the term ends although something has not returned", "error", err)
	}
	if t.closeScripts != nil {
		t.closeScripts()
	}
	if t.blobs != nil {
		t.blobs.Close()
	}
}

// allowedRuns are the kinds of `run` for the plan compiler; JavaScript needs no process.
func allowedRuns(allow []string) []string {
	return append([]string{"js"}, slices.DeleteFunc(slices.Clone(allow), func(kind string) bool { return kind == "js" })...)
}

// seal has the store and the sealer encrypt what --encrypt says.
func (t *term) seal(ctx context.Context) error {
	cfg := t.cfg
	switch cfg.Encrypt {
	case installation.EncryptAll:
		t.sealer.SealAll()
	case installation.EncryptOnly:
		t.sealer.RefuseClear()
	}
	t.store.SetSealer(t.sealer, t.sealer.SealsAll(), cfg.Log)
	if !t.sealer.RefusesClear() {
		return nil
	}
	if err := allSealed(ctx, t.store); err != nil {
		return err
	}
	t.store.RefuseClear()
	return nil
}

// allSealed refuses to open an installation that holds what was written before it was encrypted, as far as the newest
// rows tell: it would be refused piece by piece.
func allSealed(ctx context.Context, db *store.Store) error {
	var found store.SealedShare
	err := db.View(ctx, func(r *store.Reader) (err error) {
		found, err = r.SealedShare()
		return err
	})
	if err == nil && (found.SealedOutcomes < found.Outcomes || found.SealedContents < found.Contents) {
		err = installation.BadSetting("--encrypt only: %d of the newest %d results of executions and %d of %d contents are not encrypted, and would be refused. "+
			"Use --encrypt all until what was written in clear is deleted. If nothing ever was, it was put there: `chargehand doctor --encrypt only` names the rows",
			found.Outcomes-found.SealedOutcomes, found.Outcomes, found.Contents-found.SealedContents, found.Contents)
	}
	return err
}
