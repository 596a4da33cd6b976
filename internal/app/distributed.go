package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/engine/temporal"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/telemetry"
)

const (
	// setupTime bounds the check of Temporal's set-up when a process starts.
	setupTime = 5 * time.Second
	// workPause lies between two attempts to begin working, while Temporal cannot be reached.
	workPause = time.Second
	// workerStopTime is what a worker leaves of the stop to the others.
	workerStopTime = 8 * time.Second
)

// distributed is the Temporal engine of this process and, unless that is left to others, its
// worker.
type distributed struct {
	*temporal.Engine
	client  client.Client
	worker  *temporal.Worker // nil: only the API
	working atomic.Bool
	log     *slog.Logger

	trying *background.Group // to begin working
}

// openDistributed connects to Temporal and begins to work. Temporal may be away: executions
// are accepted, and continue when it is back. A set-up that is missing is an error.
func (t *term) openDistributed(ctx context.Context, plans *service.Plans, runners map[string]activity.Runner, registry *prometheus.Registry) error {
	cfg := t.cfg
	if cfg.FilesURL == "" {
		cfg.Log.Warn("files and large payloads are kept in the data directory: servers and workers elsewhere do not find them, and executions "+
			"wait without end; name one place for all with --files-url", "folder", filepath.Join(cfg.DataDir, installation.FilesName))
	}
	kept := payloads{t.blobs}
	dial := cfg.Temporal.Dial
	dial.Storage = temporal.NewPayloads(t.store, kept)
	dial.Sealer = t.sealer
	dial.Log = slog.New(quiet{cfg.Log.Handler()})
	dial.Metrics = telemetry.NewTemporalMetrics(registry)
	if tracer := cfg.tracing.Tracer(); tracer != nil {
		carrier, err := temporal.Tracing(tracer)
		if err != nil {
			return err
		}
		dial.Interceptors = []interceptor.ClientInterceptor{carrier}
	}
	c, err := temporal.Connect(dial)
	if err != nil {
		return installation.BadSetting("%w", err)
	}
	d := &distributed{client: c, log: cfg.Log, trying: background.NewGroup()}
	name, err := installation.Name(ctx, t.store)
	if err == nil {
		err = d.checkSetup(ctx, cfg, t.store)
	}
	if err != nil {
		c.Close()
		return err
	}
	queue := cfg.Temporal.Queue + "-" + name
	d.Engine = temporal.New(temporal.Config{
		Store: t.store, Plans: plans, Blobs: kept, Client: c, Namespace: cfg.Temporal.Namespace, Queue: queue,
		Verify:         func(ctx context.Context) error { return d.verify(ctx, cfg, t.store) },
		RuntimeVersion: Version, RuntimeMetadata: t.runtime, Lifecycle: cfg.lifecycle(), AccountSlots: cfg.RunningExecutions, QueuedPerWorkflow: int(cfg.queuedPerWorkflow()), Log: cfg.Log, Tracer: cfg.tracing.Tracer(), Sealer: t.sealer,
	})
	t.engine = d
	registerTemporal(registry, d.Engine)
	if cfg.APIOnly {
		return nil
	}
	if err := tellSettings(ctx, cfg, t.store); err != nil {
		return err
	}
	d.worker = temporal.NewWorker(temporal.WorkerConfig{
		Client: c, Namespace: cfg.Temporal.Namespace, Store: t.store, Blobs: kept, Queue: queue, Activities: runners, Logs: t.logs, Freed: d.Freed, Log: cfg.Log,
		Undelivered: d.Undelivered, Published: d.Published, Sealer: t.sealer,
		Tracer: cfg.tracing.Tracer(),
		Limits: temporal.WorkerLimits{
			AccountSlots: cfg.RunningExecutions, Calls: cfg.Calls, Streams: cfg.Streams, Processes: cfg.Processes, Scripts: cfg.Scripts, Stop: workerStopTime - time.Second,
		},
	})
	d.trying.Start("start of the worker", d.begin)
	return nil
}

// checkSetup refuses to start on a cluster without our namespace or search attributes, where
// no execution could begin, and on one that is not that of the executions.
func (d *distributed) checkSetup(ctx context.Context, cfg Config, db *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	err := d.verify(ctx, cfg, db)
	var setting *installation.SettingError
	switch {
	case errors.As(err, &setting), errors.Is(err, store.ErrUnavailable):
		return err
	case err != nil:
		d.log.Warn("Temporal cannot be reached; executions are accepted and continue when it can", "address", cfg.Temporal.Address, "error", err)
	}
	return nil
}

// verify checks the set-up of the cluster that answers.
func (d *distributed) verify(ctx context.Context, cfg Config, db *store.Store) error {
	id, err := temporal.Check(ctx, d.client, cfg.Temporal.Namespace)
	switch {
	case errors.Is(err, temporal.ErrSetup):
		return installation.BadSetting("--temporal-address %s: %w", cfg.Temporal.Address, err)
	case err != nil:
		return err
	}
	return installation.CheckNamespace(ctx, db, id, cfg.Temporal)
}

// begin starts the worker, however long Temporal is away.
func (d *distributed) begin(ctx context.Context) {
	for logged := false; ctx.Err() == nil; {
		err := d.worker.Start()
		if err == nil {
			d.working.Store(true)
			return
		}
		if !logged {
			logged = true
			d.log.Warn("the worker waits for Temporal", "error", err)
		}
		_ = pause.For(ctx, workPause) // the error ends the loop
	}
}

// Working reports whether this process takes work from Temporal.
func (d *distributed) Working() bool { return d.working.Load() }

// Stop lets what runs end, as long as ctx lives, and leaves the rest to other processes.
func (d *distributed) Stop(ctx context.Context) error {
	trying := d.trying.Stop(ctx)
	if d.worker != nil && d.working.Swap(false) {
		d.worker.Stop(ctx)
	}
	err := errors.Join(trying, d.Engine.Stop(ctx))
	d.client.Close()
	return err
}

// quiet lets only what an operator must know of what Temporal's SDK says.
type quiet struct{ slog.Handler }

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// tellSettings warns of a process that allows its steps other things than the one that
// started last: any of them may carry out any step.
func tellSettings(ctx context.Context, cfg Config, db *store.Store) error {
	sum := sha256.New()
	for _, list := range [][]string{cfg.AllowRun, cfg.AllowEgress, cfg.ConnectTo, cfg.TrustedCA} {
		fmt.Fprintf(sum, "%q\n", slices.Sorted(slices.Values(list)))
	}
	if cfg.ResourceRoot != "" { // without it, the digest is what it was before there was this setting
		fmt.Fprintf(sum, "resource-root %q\n", cfg.ResourceRoot)
	}
	if len(cfg.ContainerVolumes)+len(cfg.ContainerCapabilities) > 0 {
		fmt.Fprintf(sum, "container %q %q\n", slices.Sorted(slices.Values(cfg.ContainerVolumes)), slices.Sorted(slices.Values(cfg.ContainerCapabilities)))
	}
	digest, differs := sum.Sum(nil), false
	err := db.Update(ctx, func(tx *store.Tx) error {
		known, err := tx.Meta(installation.MetaSettings)
		differs = err == nil && !bytes.Equal(known, digest)
		if err == nil && !differs {
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return tx.SetMeta(installation.MetaSettings, digest)
	})
	if err == nil && differs {
		cfg.Log.Warn("--allow-run, --allow-egress, --connect-to, --trusted-ca, --resource-root, --container-volume or --container-capability differ from those of the worker that started last: any worker may carry out any step, so all need the same")
	}
	return err
}
