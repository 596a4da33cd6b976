package app

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // time zones where the system has none, as in a small container

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/mail/smtp"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/signin/oidc"
	"github.com/chargehand/chargehand/internal/sink"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/telemetry"
	"github.com/chargehand/chargehand/web"
)

// Version is the version of the build, set by the linker.
var Version = "dev"

// HasUI reports whether the web UI is part of this program.
func HasUI() bool { return web.Embedded() != nil }

// UINotices are the licences of what is in the web UI; nil: this program was built without it.
func UINotices() []byte {
	if ui := web.Embedded(); ui != nil {
		return ui.Notices()
	}
	return nil
}

// Config is what an operator sets; docs/reference/cli.md lists the flags. The zero value, completed by
// withDefaults, serves the default data directory on the default address.
type Config struct {
	installation.Settings
	// ConfigFile is the file of settings that these came from; empty: none. It is kept from steps.
	ConfigFile string
	// FilesRedirect sends those who follow a link to a file to the S3 store itself.
	FilesRedirect bool
	// With installation.EngineTemporal, APIOnly leaves the work on executions to other processes, and
	// WorkerOnly leaves the API to them.
	APIOnly    bool
	WorkerOnly bool

	Listen    string // default 127.0.0.1:8080
	PublicURL string // default: scheme and host of the request
	// DebugListen is an address of this machine alone that answers with profiles of the process; empty: none does.
	DebugListen string
	// TrustedProxies are addresses and ranges whose forwarding headers count.
	TrustedProxies []string
	// WithoutPasswords leaves only passkeys and identity providers to sign in with.
	WithoutPasswords bool
	OIDC             OIDC
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
	// RetentionAudit is how long entries of the audit log are kept; default 400 days.
	RetentionAudit time.Duration
	RetentionLive  time.Duration
	RetentionTest  time.Duration
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
	// RunningPerKey, CallsPerKey and ProcessesPerKey bound what one key or person has of them in one environment, over
	// all workflows; the last one bounds its scripts too. 0: no bound of their own.
	RunningPerKey   int
	CallsPerKey     int
	ProcessesPerKey int
	// ScriptTimeout bounds the time of one script in JavaScript; default 30 s.
	ScriptTimeout time.Duration
	// ExecutionLogBytes bounds the log of an execution; default 16 MiB; below 0: executions have no log.
	ExecutionLogBytes int64
	// Quotas bound what is stored. Zero fields stand for the defaults, negative ones for no limit.
	Quotas service.Quotas
	// WrapDatabase, if set, stands between the store and the database: tests crash it.
	WrapDatabase func(store.DB) store.DB

	firstRetry time.Duration // of workflows that may be applied later; default firstRetry, shorter in tests

	zone     *time.Location
	sinks    []sink.Target
	signInBy []oidc.Setting        // identity providers
	mail     *smtp.Server          // nil: no mail is sent
	ring     *secret.Keyring       // read at the begin of each term
	exporter sdktrace.SpanExporter // takes the spans, in tests; nil: as the environment says
	// What the process has once, for one term after another; made by New.
	tracing  *telemetry.Tracing  // nil: nothing is traced
	measures *telemetry.Database // nil: nothing is measured
}

// runKinds are the values of AllowRun. JavaScript is always allowed, because it can reach nothing.
var runKinds = []string{"shell", "python", "container"}

func (c Config) withDefaults() (Config, error) {
	var err error
	if c.Settings, err = c.Settings.WithDefaults(); err != nil {
		return c, err
	}
	c.Quotas = c.Quotas.WithDefaults()
	c.Listen = cmp.Or(c.Listen, "127.0.0.1:8080")
	c.RetentionLive = cmp.Or(c.RetentionLive, 30*24*time.Hour)
	c.RetentionTest = cmp.Or(c.RetentionTest, 7*24*time.Hour)
	c.RetentionEvents = cmp.Or(c.RetentionEvents, 7*24*time.Hour)
	c.RetentionAudit = cmp.Or(c.RetentionAudit, 400*24*time.Hour)
	c.RunningExecutions = cmp.Or(c.RunningExecutions, 1000)
	c.Connections = cmp.Or(c.Connections, min(10_000, openFiles()/2))
	c.Calls = cmp.Or(c.Calls, 256)
	c.Streams = cmp.Or(c.Streams, 1024)
	c.Processes = cmp.Or(c.Processes, 8)
	c.Scripts = cmp.Or(c.Scripts, 8)
	c.ExecutionLogBytes = cmp.Or(c.ExecutionLogBytes, runlog.DefaultBytes)
	c.ScriptTimeout = cmp.Or(c.ScriptTimeout, script.DefaultTime)
	c.TimeZone = cmp.Or(c.TimeZone, "UTC")
	c.ScheduleOnDefault = cmp.Or(c.ScheduleOnDefault, "data")
	c.LifecycleEvents = cmp.Or(c.LifecycleEvents, LifecycleNone)
	c.LifecyclePrefix = cmp.Or(c.LifecyclePrefix, "io.serverlessworkflow")
	c.firstRetry = cmp.Or(c.firstRetry, firstRetry)
	if c.zone, err = time.LoadLocation(c.TimeZone); err != nil || c.TimeZone == "Local" {
		return c, installation.BadSetting("--time-zone: %.80q is no time zone such as Europe/Berlin or UTC", c.TimeZone)
	}
	for _, text := range c.EventSinks {
		target, err := sink.Parse(text)
		if err != nil {
			return c, installation.BadSetting("--event-sink: %w", err)
		}
		c.sinks = append(c.sinks, target)
	}
	if err := sink.Check(c.sinks); err != nil {
		return c, installation.BadSetting("--event-sink: %w", err)
	}
	if c.mail, err = c.MailServer(); err != nil {
		return c, err
	}
	if err := c.check(); err != nil {
		return c, err
	}
	c.signInBy, err = c.checkSignIn()
	return c, err
}

func (c Config) check() error {
	for _, kind := range c.AllowRun {
		if !slices.Contains(runKinds, kind) && kind != "js" {
			return installation.BadSetting("--allow-run: %q is not one of %s (js is always allowed)", kind, strings.Join(runKinds, ", "))
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
			return installation.BadSetting("--public-url: %q is not an http or https address without query", c.PublicURL)
		}
	}
	if c.mail != nil && c.PublicURL == "" {
		return installation.BadSetting("--smtp-url needs --public-url: mails hold addresses of this server")
	}
	if c.DebugListen != "" {
		if err := checkDebugAddress(c.DebugListen); err != nil {
			return err
		}
	}
	if _, err := c.proxies(); err != nil {
		return err
	}
	if c.ScheduleOnDefault != "data" && c.ScheduleOnDefault != "envelope" {
		return installation.BadSetting("--schedule-on-default: %.80q is not data or envelope", c.ScheduleOnDefault)
	}
	if err := c.checkLifecycle(); err != nil {
		return err
	}
	if !(c.RateLimit >= 0) { // neither is NaN
		return installation.BadSetting("--rate-limit: %v is not 0 or more", c.RateLimit)
	}
	for name, n := range map[string]int64{
		"max-running": int64(c.RunningExecutions), "max-calls": int64(c.Calls), "max-streams": int64(c.Streams), "max-processes": int64(c.Processes), "max-connections": int64(c.Connections),
		"max-scripts": int64(c.Scripts), "script-timeout": int64(c.ScriptTimeout),
		"max-running-per-workflow": int64(c.RunningPerWorkflow), "max-calls-per-workflow": int64(c.CallsPerWorkflow), "max-processes-per-workflow": int64(c.ProcessesPerWorkflow),
		"max-running-per-key": int64(c.RunningPerKey), "max-calls-per-key": int64(c.CallsPerKey), "max-processes-per-key": int64(c.ProcessesPerKey),
		"retention-audit": int64(c.RetentionAudit), "retention-events": int64(c.RetentionEvents), "retention-live": int64(c.RetentionLive), "retention-test": int64(c.RetentionTest),
	} {
		if n < 0 {
			return installation.BadSetting("--%s is below 0", name)
		}
	}
	return nil
}

// checkFiles checks the settings of files without asking any store.
func (c Config) checkFiles() error {
	l, err := c.Location()
	if err == nil && c.FilesRedirect && l.Bucket == "" {
		err = installation.BadSetting("--files-redirect needs --files-url s3://…: a folder has no addresses of its own")
	}
	if err == nil && c.FilesRedirect && c.Encrypt != installation.EncryptSecrets {
		err = installation.BadSetting("--files-redirect does not go with --encrypt %s: clients that follow the link would get what is encrypted", c.Encrypt)
	}
	return err
}

// checkEngine checks the settings that one of the engines does not have.
func (c Config) checkEngine() error {
	switch {
	case c.Engine == installation.EngineTemporal && c.RunningPerWorkflow+c.CallsPerWorkflow+c.ProcessesPerWorkflow > 0:
		return installation.BadSetting("--max-running-per-workflow, --max-calls-per-workflow and --max-processes-per-workflow need --engine embedded: " +
			"no worker of Temporal sees what the others carry out; bound a batch by its concurrency instead")
	case c.Engine == installation.EngineTemporal && c.RunningPerKey+c.CallsPerKey+c.ProcessesPerKey > 0:
		return installation.BadSetting("--max-running-per-key, --max-calls-per-key and --max-processes-per-key need --engine embedded: " +
			"no worker of Temporal sees what the others carry out; bound a batch by its concurrency instead")
	case c.Engine == installation.EngineEmbedded && c.APIOnly:
		return installation.BadSetting("--workers 0 needs --engine temporal: the embedded engine works in this process")
	}
	return nil
}

// What executions tell about themselves.
const (
	LifecycleNone     = "none"
	LifecycleWorkflow = "workflow"
	LifecycleTask     = "task"
)

// lifecyclePrefix is what types of events may begin with.
var lifecyclePrefix = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

func (c Config) checkLifecycle() error {
	switch c.LifecycleEvents {
	case LifecycleNone, LifecycleWorkflow, LifecycleTask:
	default:
		return installation.BadSetting("--lifecycle-events: %.80q is not none, workflow or task", c.LifecycleEvents)
	}
	if !lifecyclePrefix.MatchString(c.LifecyclePrefix) {
		return installation.BadSetting("--lifecycle-prefix: %.80q is not like org.example: 1 to 200 letters, digits, '.', '_' and '-'", c.LifecyclePrefix)
	}
	return nil
}

// lifecycle is what the engine is given; nil: nothing is to be published.
func (c Config) lifecycle() *machine.Lifecycle {
	if c.LifecycleEvents == LifecycleNone {
		return nil
	}
	return &machine.Lifecycle{
		Tasks: c.LifecycleEvents == LifecycleTask, Prefix: c.LifecyclePrefix, Base: strings.TrimSuffix(c.PublicURL, "/"),
	}
}

// publishedPrefix is what the types of lifecycle events begin with; empty: executions publish none.
func (c Config) publishedPrefix() string {
	if c.LifecycleEvents == LifecycleNone {
		return ""
	}
	return c.LifecyclePrefix
}
