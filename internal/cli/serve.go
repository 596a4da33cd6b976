package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/installation"
)

// gcPercent lets the heap grow to three times what is alive before it is collected: about a
// sixth less work for each call of a step, for some 20 MB more under load.
const gcPercent = 200

// A stop may take 10 seconds (docs/reference/cli.md): the parts have stopTime to end in good order, and the
// process leaves after leaveTime, whatever still waits for a peer that does not answer.
const (
	stopTime  = 9 * time.Second
	leaveTime = 9500 * time.Millisecond
)

func newServe(c console) *cobra.Command {
	var cfg app.Config
	var workers int
	var passwords bool
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: "Run the server. Every flag can also be set in the environment (CHARGEHAND_DATA_DIR for\n" +
			"--data-dir) and in the file that --config names (data-dir: …).",
		Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd); err != nil {
				return err
			}
			if workers != 0 && workers != 1 {
				return usage("--workers: %d is not 0 or 1; run `chargehand worker` as often as you need", workers)
			}
			cfg.APIOnly, cfg.WithoutPasswords = workers == 0, !passwords
			return runServer(cmd.Context(), c, cfg, logs)
		},
	}
	f := cmd.Flags()
	configVar(f, &cfg.ConfigFile)
	installationFlags(f, &cfg.Settings)
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:8080", "address to listen on; port 0 picks one and the log says which")
	f.StringVar(&cfg.PublicURL, "public-url", "", "base of links (default: scheme and host of the request)")
	f.StringArrayVar(&cfg.TrustedProxies, "trusted-proxy", nil, "address or range, repeatable: proxy whose X-Forwarded-For and X-Forwarded-Proto count")
	f.BoolVar(&passwords, "auth-password", true, "let persons sign in with passwords; false needs --public-url, and leaves passkeys and --oidc")
	oidcFlags(f, &cfg.OIDC)
	mailFlags(f, &cfg.Settings)
	f.StringVar(&cfg.Workflows, "workflows", "", "folder whose definitions are applied at start and again on change")
	f.BoolVar(&cfg.FilesRedirect, "files-redirect", false, "with --files-url s3://…: send those who follow a link to a file to the S3 store itself")
	debugFlag(f, &cfg)
	workFlags(f, &cfg)
	shareFlags(f, &cfg)
	f.StringArrayVar(&cfg.EventSinks, "event-sink", nil, "[TYPE,…=]URL, repeatable: server that the events of executions are sent to; a TYPE may end in *")
	f.StringVar(&cfg.TimeZone, "time-zone", "UTC", "time zone of schedule.cron, such as Europe/Berlin")
	f.StringVar(&cfg.ScheduleOnDefault, "schedule-on-default", "data", "what schedule.on reads of events where a definition has no read: data or envelope")
	f.Float64Var(&cfg.RateLimit, "rate-limit", 1000, "requests per second and key, 0 = off")
	f.IntVar(&cfg.Connections, "max-connections", 0, "connections of clients that are open at once (default 10,000, or half of the files that the process may have open)")
	daysVar(f, &cfg.RetentionLive, "retention-live", "30d", "how long finished live executions are kept, such as 30d or 12h")
	daysVar(f, &cfg.RetentionTest, "retention-test", "7d", "how long finished test executions are kept")
	daysVar(f, &cfg.RetentionEvents, "retention-events", "7d", "how long events are kept, whether they were read or not")
	daysVar(f, &cfg.RetentionAudit, "retention-audit", "400d", "how long entries of the audit log are kept")
	quotaFlags(f, &cfg)
	f.StringVar(&cfg.Engine, "engine", "embedded", "what drives executions: embedded, or temporal for more than one machine")
	f.IntVar(&workers, "workers", 1, "with --engine temporal: 1 to work in this process too, 0 to leave that to chargehand worker")
	temporalFlags(f, &cfg.Settings)
	logs.register(f)
	return cmd
}

// newWorker runs what executions need beside the API.
func newWorker(c console) *cobra.Command {
	cfg := app.Config{Settings: installation.Settings{Engine: installation.EngineTemporal}, WorkerOnly: true}
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Work on executions without serving the API",
		Long: "Work on executions, together with any number of other workers, without serving the API. It takes the\n" +
			"flags of `chargehand serve --engine temporal` that concern the work. Its own address answers /healthz,\n" +
			"/readyz and /metrics.",
		Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd); err != nil {
				return err
			}
			return runServer(cmd.Context(), c, cfg, logs)
		},
	}
	f := cmd.Flags()
	configVar(f, &cfg.ConfigFile)
	installationFlags(f, &cfg.Settings)
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:8081", "address of /healthz, /readyz and /metrics; port 0 picks one and the log says which")
	f.StringVar(&cfg.PublicURL, "public-url", "", "base of links to files that steps are given")
	debugFlag(f, &cfg)
	workFlags(f, &cfg)
	temporalFlags(f, &cfg.Settings)
	logs.register(f)
	return cmd
}

func debugFlag(f *pflag.FlagSet, cfg *app.Config) {
	f.StringVar(&cfg.DebugListen, "debug-listen", "", "address of this machine alone, such as 127.0.0.1:6060, that answers with profiles of the process below /debug/pprof/ (default: none)")
}

// runServer is what serve and worker do.
func runServer(ctx context.Context, c console, cfg app.Config, logs logFlags) error {
	log, err := newLog(c, logs.level, logs.format)
	if err != nil {
		return err
	}
	cfg.Log = log
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	return serve(ctx, cfg)
}

func newLog(c console, level, format string) (*slog.Logger, error) {
	var options slog.HandlerOptions
	var parsed slog.Level
	if err := parsed.UnmarshalText([]byte(level)); err != nil {
		return nil, usage("--log-level: %q is not debug, info, warn or error", level)
	}
	options.Level = parsed
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(c.err, &options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(c.err, &options)), nil
	}
	return nil, usage("--log-format: %q is not text or json", format)
}

// serve runs until the context is cancelled by a signal, then stops within leaveTime.
func serve(ctx context.Context, cfg app.Config) error {
	a, err := app.New(ctx, cfg)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	failed := a.Start()
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	leaving := time.NewTimer(leaveTime)
	defer leaving.Stop()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		a.Stop(stopping)
	}()
	select {
	case <-stopped:
	case <-leaving.C:
		// As after a crash: the executions continue at the next start from what the database has.
		cfg.Log.Warn("leaving although something does not end: a peer does not answer")
	}
	return err
}
