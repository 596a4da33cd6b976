package app

import (
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // time zones where the system has none, as in a small container

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/engine/temporal"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/sink"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/telemetry"
)

// Version is the version of the build, set by the linker.
var Version = "dev"

// Config is what an operator sets; docs/reference/cli.md lists the flags. The zero value, completed by
// withDefaults, serves the default data directory on the default address.
type Config struct {
	// ConfigFile is the file of settings that these came from; empty: none. It is kept from steps.
	ConfigFile string
	DataDir    string // default ./chargehand-data
	// DatabaseURL names a PostgreSQL database to use instead of the one in the data directory.
	DatabaseURL string
	// FilesURL says where files are: s3://bucket?… or file:///path; default: in the data directory.
	FilesURL string
	// FilesRedirect sends those who follow a link to a file to the S3 store itself.
	FilesRedirect bool
	// Engine is EngineEmbedded (default) or EngineTemporal, which needs DatabaseURL.
	Engine   string
	Temporal Temporal
	// With EngineTemporal, APIOnly leaves the work on executions to other processes, and
	// WorkerOnly leaves the API to them.
	APIOnly    bool
	WorkerOnly bool

	Listen    string // default 127.0.0.1:8080
	PublicURL string // default: scheme and host of the request
	// Workflows is a directory whose definitions are applied at start and on change.
	Workflows string
	AllowRun  []string // of shell, python, container
	// ContainerVolumes are the paths of the engine's machine that containers may mount, PATH or
	// PATH:ro; ContainerCapabilities what is given back to them, such as CHOWN. Default none.
	ContainerVolumes      []string
	ContainerCapabilities []string
	AllowEgress           []string
	ConnectTo             []string
	TrustedCA             []string
	// ResourceRoot is the folder below which definitions may name files as external resources;
	// empty: none may be named.
	ResourceRoot string
	RateLimit    float64 // requests per second and key; 0: no limit
	Connections  int     // of clients at once; default 10,000, or half of the files that the process may have open
	// TimeZone is that of `schedule.cron`, by its IANA name; default UTC.
	TimeZone string
	// ScheduleOnDefault is the part of events that `schedule.on` reads where the definition has no
	// `read`: data (default) or envelope (T61).
	ScheduleOnDefault string
	// LifecycleEvents says which events executions publish about themselves: none (default),
	// workflow or task. LifecyclePrefix begins the types; default io.serverlessworkflow.
	LifecycleEvents string
	LifecyclePrefix string
	// EventSinks are servers that events are sent to: [TYPE,…=]URL (sink.Parse).
	EventSinks []string
	// RetentionEvents is how long events are kept; default 7 days.
	RetentionEvents time.Duration
	MasterKeyFile   string // default: master.key in the data directory
	RetentionLive   time.Duration
	RetentionTest   time.Duration
	// RunningExecutions bounds the executions of an account that run at once; default 1,000.
	RunningExecutions int
	// Calls, Streams, Processes and Scripts bound the outgoing calls, the subscriptions of `call: asyncapi`, the
	// processes and the scripts in JavaScript at once; default 256, 1,024, 8 and 8.
	Calls     int
	Streams   int
	Processes int
	Scripts   int
	// RunningPerWorkflow, CallsPerWorkflow and ProcessesPerWorkflow bound what one workflow has of them in one
	// environment; the last one bounds its scripts too. 0: no bound of their own.
	RunningPerWorkflow   int
	CallsPerWorkflow     int
	ProcessesPerWorkflow int
	// ScriptTimeout bounds the time of one script in JavaScript; default 30 s.
	ScriptTimeout time.Duration
	Log           *slog.Logger
	// WrapDatabase, if set, stands between the store and the database: tests crash it.
	WrapDatabase func(store.DB) store.DB

	firstRetry time.Duration // of workflows that may be applied later; default firstRetry, shorter in tests

	zone     *time.Location
	sinks    []sink.Target
	ring     *secret.Keyring       // read at the begin of each term
	exporter sdktrace.SpanExporter // takes the spans, in tests; nil: as the environment says
	// What the process has once, for one term after another; made by New.
	tracing  *telemetry.Tracing  // nil: nothing is traced
	measures *telemetry.Database // nil: nothing is measured
}

// The engines.
const (
	EngineEmbedded = "embedded"
	EngineTemporal = "temporal"
)

// Temporal says how the Temporal engine reaches its cluster, and what its task queues are
// called.
type Temporal struct {
	temporal.Dial
	Queue string // default "chargehand"
}

// runKinds are the values of AllowRun. JavaScript is always allowed, because it can reach nothing.
var runKinds = []string{"shell", "python", "container"}

func (c Config) withDefaults() (Config, error) {
	if c.DataDir == "" {
		c.DataDir = "chargehand-data"
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:8080"
	}
	if c.MasterKeyFile == "" {
		c.MasterKeyFile = filepath.Join(c.DataDir, "master.key")
	}
	if c.RetentionLive == 0 {
		c.RetentionLive = 30 * 24 * time.Hour
	}
	if c.RetentionTest == 0 {
		c.RetentionTest = 7 * 24 * time.Hour
	}
	if c.RunningExecutions == 0 {
		c.RunningExecutions = 1000
	}
	if c.Connections == 0 {
		c.Connections = min(10_000, openFiles()/2)
	}
	if c.Calls == 0 {
		c.Calls = 256
	}
	if c.Streams == 0 {
		c.Streams = 1024
	}
	if c.Processes == 0 {
		c.Processes = 8
	}
	if c.Scripts == 0 {
		c.Scripts = 8
	}
	if c.ScriptTimeout == 0 {
		c.ScriptTimeout = script.DefaultTime
	}
	if c.Engine == "" {
		c.Engine = EngineEmbedded
	}
	if c.Temporal.Queue == "" {
		c.Temporal.Queue = "chargehand"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.TimeZone == "" {
		c.TimeZone = "UTC"
	}
	if c.ScheduleOnDefault == "" {
		c.ScheduleOnDefault = "data"
	}
	if c.LifecycleEvents == "" {
		c.LifecycleEvents = LifecycleNone
	}
	if c.LifecyclePrefix == "" {
		c.LifecyclePrefix = "io.serverlessworkflow"
	}
	if c.firstRetry == 0 {
		c.firstRetry = firstRetry
	}
	if c.RetentionEvents == 0 {
		c.RetentionEvents = 7 * 24 * time.Hour
	}
	var err error
	if c.zone, err = time.LoadLocation(c.TimeZone); err != nil || c.TimeZone == "Local" {
		return c, badSetting("--time-zone: %.80q is no time zone such as Europe/Berlin or UTC", c.TimeZone)
	}
	for _, text := range c.EventSinks {
		target, err := sink.Parse(text)
		if err != nil {
			return c, badSetting("--event-sink: %w", err)
		}
		c.sinks = append(c.sinks, target)
	}
	if err := sink.Check(c.sinks); err != nil {
		return c, badSetting("--event-sink: %w", err)
	}
	return c, c.check()
}

func (c Config) check() error {
	for _, kind := range c.AllowRun {
		if !slices.Contains(runKinds, kind) && kind != "js" {
			return badSetting("--allow-run: %q is not one of %s (js is always allowed)", kind, strings.Join(runKinds, ", "))
		}
	}
	if err := c.checkEngine(); err != nil {
		return err
	}
	if err := c.checkFiles(); err != nil {
		return err
	}
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return badSetting("--public-url: %q is not an http or https address without query", c.PublicURL)
		}
	}
	if c.ScheduleOnDefault != "data" && c.ScheduleOnDefault != "envelope" {
		return badSetting("--schedule-on-default: %.80q is not data or envelope", c.ScheduleOnDefault)
	}
	if err := c.checkLifecycle(); err != nil {
		return err
	}
	if !(c.RateLimit >= 0) { // neither is NaN
		return badSetting("--rate-limit: %v is not 0 or more", c.RateLimit)
	}
	for name, n := range map[string]int64{
		"max-running": int64(c.RunningExecutions), "max-calls": int64(c.Calls), "max-streams": int64(c.Streams), "max-processes": int64(c.Processes), "max-connections": int64(c.Connections),
		"max-scripts": int64(c.Scripts), "script-timeout": int64(c.ScriptTimeout),
		"max-running-per-workflow": int64(c.RunningPerWorkflow), "max-calls-per-workflow": int64(c.CallsPerWorkflow), "max-processes-per-workflow": int64(c.ProcessesPerWorkflow),
		"retention-events": int64(c.RetentionEvents), "retention-live": int64(c.RetentionLive), "retention-test": int64(c.RetentionTest),
	} {
		if n < 0 {
			return badSetting("--%s is below 0", name)
		}
	}
	return nil
}

// queueName is what the names of task queues may begin with: Temporal bounds them, and adds to
// them.
var queueName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

func (c Config) checkEngine() error {
	switch {
	case c.Engine != EngineEmbedded && c.Engine != EngineTemporal:
		return badSetting("--engine: %q is not embedded or temporal", c.Engine)
	case c.Engine == EngineTemporal && c.DatabaseURL == "":
		return badSetting("--engine temporal needs --database-url: several machines work on one PostgreSQL database")
	case c.Engine == EngineTemporal && !isAddress(c.Temporal.Address):
		return badSetting("--temporal-address: %q is not host:port, such as temporal.example.com:7233", c.Temporal.Address)
	case c.Engine == EngineTemporal && !queueName.MatchString(c.Temporal.Queue):
		return badSetting("--temporal-task-queue: %.80q is not a name of 1 to 100 letters, digits, '.', '_' and '-'", c.Temporal.Queue)
	case c.Engine == EngineTemporal && c.RunningPerWorkflow+c.CallsPerWorkflow+c.ProcessesPerWorkflow > 0:
		return badSetting("--max-running-per-workflow, --max-calls-per-workflow and --max-processes-per-workflow need --engine embedded: " +
			"no worker of Temporal sees what the others carry out; bound a batch by its concurrency instead")
	case c.Engine == EngineEmbedded && c.APIOnly:
		return badSetting("--workers 0 needs --engine temporal: the embedded engine works in this process")
	}
	return nil
}

// isAddress reports whether text says where Temporal is: host:port, a target of gRPC
// (dns:///host:port), or nothing for the default. Anything else would be waited for without end.
func isAddress(text string) bool {
	if text == "" || strings.Contains(text, ":///") {
		return true
	}
	host, port, err := net.SplitHostPort(text)
	n, wrong := strconv.Atoi(port)
	return err == nil && host != "" && wrong == nil && n > 0 && n < 1<<16
}
