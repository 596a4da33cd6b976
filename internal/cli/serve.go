package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/internal/app"
)

// gcPercent lets the heap grow to three times what is alive before it is collected: about a
// sixth less work for each call of a step, for some 20 MB more under load.
const gcPercent = 200

// stopTime is how long a stop may take (cli.md).
const stopTime = 10 * time.Second

func newServe(c console) *cobra.Command {
	var cfg app.Config
	var configFile, logLevel, logFormat string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: "Run the server. Every flag can also be set in the environment (CHARGEHAND_DATA_DIR for\n" +
			"--data-dir) and in the file that --config names (data-dir: …).",
		Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settle(cmd, configFile); err != nil {
				return err
			}
			log, err := newLog(c, logLevel, logFormat)
			if err != nil {
				return err
			}
			cfg.Log = log
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(gcPercent)
			}
			return serve(cmd.Context(), cfg)
		},
	}
	f := cmd.Flags()
	f.StringVar(&configFile, "config", "", "YAML file with settings named like these flags")
	f.StringVar(&cfg.DataDir, "data-dir", "chargehand-data", "folder of the database, the files and the master key")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:8080", "address to listen on; port 0 picks one and the log says which")
	f.StringVar(&cfg.PublicURL, "public-url", "", "base of links (default: scheme and host of the request)")
	f.StringVar(&cfg.Workflows, "workflows", "", "folder whose definitions are applied at start and again on change")
	f.StringSliceVar(&cfg.AllowRun, "allow-run", nil, "processes that workflows may start: shell,python,container (js is always allowed)")
	f.StringSliceVar(&cfg.AllowEgress, "allow-egress", nil, "private addresses, ranges or host names that workflows may reach")
	f.StringArrayVar(&cfg.ConnectTo, "connect-to", nil, "HOST:PORT:HOST2:PORT2 as curl, repeatable, for outgoing calls")
	f.StringArrayVar(&cfg.TrustedCA, "trusted-ca", nil, "PEM file with more certificate authorities for outgoing calls")
	f.Float64Var(&cfg.RateLimit, "rate-limit", 1000, "requests per second and key, 0 = off")
	f.StringVar(&cfg.MasterKeyFile, "master-key-file", "", "master key (default: master.key in the data directory, made at first start)")
	daysVar(f, &cfg.RetentionLive, "retention-live", "30d", "how long finished live executions are kept, such as 30d or 12h")
	daysVar(f, &cfg.RetentionTest, "retention-test", "7d", "how long finished test executions are kept")
	f.IntVar(&cfg.RunningExecutions, "max-running", 1000, "executions that run at once")
	f.IntVar(&cfg.Calls, "max-calls", 256, "outgoing calls at once")
	f.IntVar(&cfg.Processes, "max-processes", 8, "processes of steps at once")
	f.StringVar(&logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&logFormat, "log-format", "text", "text or json")
	return cmd
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

// serve runs until the context is cancelled by a signal, then stops within stopTime.
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
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	a.Stop(stopping)
	return err
}
