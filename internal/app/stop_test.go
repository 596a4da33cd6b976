package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/logtest"
	"github.com/chargehand/chargehand/internal/store"
)

// stuckDB is a database that gives no answer while it is stuck, also when a caller's context has ended.
type stuckDB struct {
	store.DB
	stuck   atomic.Bool
	waiting atomic.Int64
	free    chan struct{}
}

func (d *stuckDB) View(ctx context.Context, fn func(store.Conn) error) error {
	if d.stuck.Load() {
		d.waiting.Add(1)
		<-d.free
	}
	return d.DB.View(ctx, fn)
}

func (d *stuckDB) Close() error {
	if d.stuck.Load() {
		<-d.free
	}
	return d.DB.Close()
}

// TestLongStopWhileTheDatabaseHangs: Stop keeps its deadline, and the log names what has not returned.
func TestLongStopWhileTheDatabaseHangs(t *testing.T) {
	db, log := &stuckDB{free: make(chan struct{})}, &logtest.Buffer{}
	i := install(t, filepath.Join(t.TempDir(), "data"), func(c *Config) {
		c.Log = slog.New(slog.NewJSONHandler(log, nil))
		c.WrapDatabase = func(inner store.DB) store.DB { db.DB = inner; return db }
	})
	db.stuck.Store(true)
	_, current := i.parts()
	current.services.Start("reader", func(context.Context) {
		_ = current.store.View(context.Background(), func(*store.Reader) error { return nil })
	})
	apptest.Await(t, func() bool { return db.waiting.Load() > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	stopped := make(chan struct{})
	go func() { defer close(stopped); i.Stop(ctx) }()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Fatal("Stop waits for a database that does not answer")
	}
	for _, late := range []string{"reader", "database did not return in time"} {
		if !strings.Contains(log.String(), late) {
			t.Errorf("the log does not name the %s:\n%s", late, log.String())
		}
	}
	close(db.free)
}
