package temporal

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/chargehand/chargehand/internal/store"
)

// stuckDB is a database that gives no answer before free is closed, also when a caller's context has ended.
type stuckDB struct {
	store.DB
	waiting atomic.Int64
	free    chan struct{}
}

func (d *stuckDB) wait() {
	d.waiting.Add(1)
	<-d.free
}

func (d *stuckDB) View(ctx context.Context, fn func(store.Conn) error) error {
	d.wait()
	return d.DB.View(ctx, fn)
}

func (d *stuckDB) Update(ctx context.Context, fn func(store.Conn) error) error {
	d.wait()
	return d.DB.Update(ctx, fn)
}

// TestStopWhileTheDatabaseHangs: Stop keeps its deadline, and says what has not returned.
func TestStopWhileTheDatabaseHangs(t *testing.T) {
	w := newSQLiteFixture(t)
	db := &stuckDB{DB: w.db, free: make(chan struct{})}
	away, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	e := New(Config{Store: store.New(db), Blobs: noBlobs{}, Client: away, Namespace: "test", Queue: "test", Log: slog.New(slog.DiscardHandler)})
	_, unwatch := e.Watch(w.id())
	defer unwatch()
	late := []string{"delayed executions", "dispatcher", "event matcher", "message relay", "reconciler", "watchers"}
	eventually(t, "all services wait for the database", func() bool { return db.waiting.Load() == int64(len(late)) })

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- e.Stop(ctx) }()
	select {
	case err = <-stopped:
	case <-time.After(stopReserve + 10*time.Second):
		t.Fatal("Stop waits for a database that does not answer")
	}
	for _, name := range late {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Stop does not say that the %s is late: %v", name, err)
		}
	}
	close(db.free)
	if err := e.Stop(context.Background()); err != nil {
		t.Errorf("all have returned; the error is %v", err)
	}
}
