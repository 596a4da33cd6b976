package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/telemetry"
	"github.com/chargehand/chargehand/web"
)

// standbyStopTime is what the requests of a standby may take when it takes over.
const standbyStopTime = time.Second

// startTime is how long what begins at the start reads parts of the program that are hardly read later: they are
// released once more then.
const startTime = 500 * time.Millisecond

// App is one process of an installation: it owns the address that it listens on, and the
// other parts for as long as the database is its own (a leadership term).
type App struct {
	cfg    Config
	log    *slog.Logger
	listen *net.TCPListener
	debug  net.Listener // of profiles; nil: they are off

	unclean bool // the database in the data directory was not closed in good order

	services *background.Group // of the process: its context is that of the standby, too

	mu      sync.Mutex
	db      *database // nil while it is opened again
	current *term     // nil while it is a standby
}

// New opens the database, recovers what it holds and listens, but serves nothing yet. With
// the embedded engine on PostgreSQL, where another process may own the database, it may also
// return as a standby. Errors name the setting or the file that is wrong; store.ErrLocked: another
// server runs on the same data directory.
func New(ctx context.Context, cfg Config) (*App, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	cfg.measures = telemetry.NewDatabase()
	cfg.tracing, err = telemetry.NewTracing(ctx, telemetry.TracingConfig{
		Getenv: os.Getenv, Exporter: cfg.exporter, Version: Version, Log: cfg.Log,
	})
	if err != nil {
		return nil, installation.BadSetting("%w", err)
	}
	a := &App{cfg: cfg, log: cfg.Log, services: background.NewGroup()}
	if err := a.open(ctx); err != nil {
		a.services.Cancel()
		if a.listen != nil {
			a.listen.Close()
		}
		if a.debug != nil {
			a.debug.Close()
		}
		if a.db != nil {
			a.db.close()
		}
		return nil, err
	}
	return a, nil
}

func (a *App) open(ctx context.Context) error {
	var err error
	a.unclean = a.cfg.unclosed()
	if _, err = a.cfg.Keyring(); err != nil {
		return err
	}
	if a.db, err = openDatabase(ctx, a.cfg); err != nil {
		return err
	}
	a.cfg.WarnOpen()
	address, err := net.Listen("tcp", a.cfg.Listen)
	if err != nil {
		return err
	}
	a.listen = address.(*net.TCPListener)
	if a.cfg.DebugListen != "" {
		if a.debug, err = net.Listen("tcp", a.cfg.DebugListen); err != nil {
			return installation.BadSetting("--debug-listen: %w", err)
		}
	}
	owned, err := a.db.tryOwn(ctx)
	if err != nil || !owned {
		return err
	}
	_, err = a.begin(ctx)
	return err
}

// Start serves requests and does the work in the background. The channel gets an error if
// serving ends by itself.
func (a *App) Start() <-chan error {
	failed := make(chan error, 1)
	a.log.Info("listening", "url", "http://"+a.listen.Addr().String())
	releasePages()
	a.services.Start("release of memory", func(ctx context.Context) {
		if pause.For(ctx, startTime) == nil {
			releasePages()
			releaseWhenIdle(ctx)
		}
	})
	if db, _ := a.parts(); db != nil && db.file != nil {
		a.services.Start("check of the database", func(ctx context.Context) { a.watchIntegrity(ctx, db.file) })
	}
	if a.debug != nil {
		a.log.Info("profiles are served", "url", "http://"+a.debug.Addr().String()+"/debug/pprof/")
		a.services.Start("profiles", func(ctx context.Context) { a.serveDebug(ctx, a.debug) })
	}
	a.services.Start("server", func(context.Context) {
		if err := a.run(); err != nil {
			failed <- err
		}
	})
	return failed
}

// run serves one term after another, and waits as a standby in between, until Stop.
func (a *App) run() error {
	for a.services.Context().Err() == nil {
		db, t := a.parts()
		if t == nil {
			var err error
			if t, err = a.takeOver(db); err != nil {
				return err
			}
			if t == nil {
				continue
			}
		}
		if err := a.serve(t); err != nil {
			return err
		}
	}
	return nil
}

// takeOver stands by until the database is ours. It returns nil when Stop was called, and when
// a store went away meanwhile: the next take-over begins anew.
func (a *App) takeOver(db *database) (*term, error) {
	err := a.standBy(db)
	if err == nil && a.services.Context().Err() == nil {
		var t *term
		if t, err = a.begin(a.services.Context()); err == nil {
			a.log.Info("took over the database")
			return t, nil
		}
	}
	if a.services.Context().Err() != nil {
		return nil, nil
	}
	if !passes(err) {
		return nil, fmt.Errorf("take over: %w", err)
	}
	a.log.Warn("could not take over; standing by again", "error", err)
	if db, _ := a.parts(); db != nil {
		a.set(nil, nil)
		a.closeDatabase(db)
	}
	_ = pause.For(a.services.Context(), reopenPause) // the error says that Stop was called
	return nil, nil
}

// begin puts the parts together that live as long as the database is our own.
func (a *App) begin(ctx context.Context) (*term, error) {
	db, _ := a.parts()
	cfg := a.cfg
	var err error
	// While it stood by, the master key may have been exchanged.
	if cfg.ring, err = secret.Load(cfg.MasterKeyFile); err != nil {
		return nil, err
	}
	t, err := newTerm(ctx, cfg, db.store)
	if err != nil {
		return nil, err
	}
	a.set(db, t)
	return t, nil
}

func (a *App) parts() (*database, *term) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.db, a.current
}

func (a *App) set(db *database, t *term) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.db, a.current = db, t
}

// serve runs a term until it ends by itself, Stop takes over, or the database is lost: then
// it is closed.
func (a *App) serve(t *term) error {
	listen, err := a.share()
	if err != nil {
		return err
	}
	db, _ := a.parts()
	failed := t.start(listen)
	select {
	case err := <-failed:
		return err
	case <-a.services.Context().Done():
		return nil
	case <-db.lost():
	}
	a.log.Error("the database belongs to another server now, or cannot be reached: this one stands by")
	hurry, cancel := context.WithCancel(context.Background())
	cancel() // nothing that is under way can be written any more
	t.close(hurry)
	a.set(nil, nil)
	a.closeDatabase(db)
	return nil
}

// standBy answers that this process is a standby until it owns the database.
func (a *App) standBy(db *database) error {
	listen, err := a.share()
	if err != nil {
		return err
	}
	server := api.New(api.Config{Log: a.log, PublicURL: a.cfg.PublicURL, Version: Version, MaxConnections: a.cfg.Connections, UI: web.Embedded()})
	a.log.Info("standing by: another server works on the database")
	a.services.Start("requests to a standby", func(context.Context) {
		if err := server.Serve(listen); err != nil {
			a.log.Error("serve as a standby", "error", err)
		}
	})
	if db == nil {
		if db, err = awaitDatabase(a.services.Context(), a.cfg); err == nil {
			a.set(db, nil)
		}
	}
	if err == nil {
		err = a.awaitOwn(db)
	}
	shutting, cancel := context.WithTimeout(context.WithoutCancel(a.services.Context()), standbyStopTime)
	defer cancel()
	if err := server.Shutdown(shutting); err != nil {
		a.log.Warn("requests were cut off", "error", err)
	}
	return err
}

// awaitOwn waits until this process may drive executions, and says meanwhile when its master key file has to follow an
// exchange.
func (a *App) awaitOwn(db *database) error {
	waiting, stop := context.WithCancel(a.services.Context())
	keys := keyring.Watch{Store: db.store, File: a.cfg.MasterKeyFile, Log: a.log, Reads: true}
	done := make(chan struct{})
	go func() {
		defer close(done)
		keys.Run(waiting)
	}()
	err := db.awaitOwn(a.services.Context())
	stop()
	<-done
	return err
}

// share is a listener on the address of the process that can be closed by itself, so that no
// connection is refused between a standby and a term.
func (a *App) share() (net.Listener, error) {
	file, err := a.listen.File()
	if err != nil {
		return nil, fmt.Errorf("share the address: %w", err)
	}
	defer file.Close()
	listen, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("share the address: %w", err)
	}
	return listen, nil
}

// Address is where the server listens.
func (a *App) Address() net.Addr { return a.listen.Addr() }

// stopReserve is the time that a stop has left when its context has ended, for what it interrupts to return.
const stopReserve = time.Second

// Stop stops accepting, lets what runs finish or parks it, and closes the database. It returns two seconds after ctx
// has ended, or when the engine has stopped, whichever is later, also if the database hangs. Then the log names what
// has not returned.
func (a *App) Stop(ctx context.Context) {
	a.log.Info("stopping")
	a.services.Cancel()
	if _, t := a.parts(); t != nil {
		t.close(ctx)
	}
	a.listen.Close()
	final, cancel := background.Grace(ctx, stopReserve)
	defer cancel()
	late := a.services.Stop(final)
	if db, t := a.parts(); db != nil {
		last := background.NewGroup()
		last.Start("database", func(context.Context) {
			if t != nil {
				t.close(ctx) // it began while the process was stopping
			}
			a.closeDatabase(db)
		})
		late = errors.Join(late, last.Stop(final))
	}
	if late != nil {
		a.log.Warn("the server stops although something has not returned", "error", late)
	}
	if err := a.cfg.tracing.Stop(ctx); err != nil {
		a.log.Warn("traces were lost", "error", err)
	}
	a.log.Info("stopped")
}

func (a *App) closeDatabase(db *database) {
	if err := db.close(); err != nil && !errors.Is(err, store.ErrUnavailable) {
		a.log.Warn("close the database", "error", err)
	}
}
