package temporal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

// rowsFixture is a database that several nodes work on, and a fake of Temporal.
type rowsFixture struct {
	t        testing.TB
	open     func() store.DB // a database for one more node
	db       store.DB        // of the test itself
	store    *store.Store
	stage    *stage
	slots    int
	lease    time.Duration
	every    time.Duration
	account  store.Account
	workflow store.Workflow
	revision store.Revision

	mu    sync.Mutex
	nodes []*node // that live
}

// onDialects runs a test on every kind of database. On PostgreSQL each node has connections of its own.
func onDialects(t *testing.T, run func(w *rowsFixture)) {
	t.Run("sqlite", func(t *testing.T) { run(newSQLiteFixture(t)) })
	t.Run("postgres", func(t *testing.T) {
		run(newPostgresFixture(t, newSchema(t)))
	})
}

func newSQLiteFixture(t testing.TB) *rowsFixture {
	t.Helper()
	db := template.New(t)
	t.Cleanup(func() { db.Close() })
	return newRowsFixture(t, func() store.DB { return db })
}

func newPostgresFixture(t testing.TB, url string) *rowsFixture {
	t.Helper()
	return newRowsFixture(t, func() store.DB {
		db, err := postgres.Open(context.Background(), postgres.Options{URL: url, Mode: postgres.Shared})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	})
}

func newRowsFixture(t testing.TB, open func() store.DB) *rowsFixture {
	w := &rowsFixture{t: t, open: open, slots: 8, lease: 10 * time.Second, every: 20 * time.Millisecond}
	w.db = open()
	w.store = store.New(w.db)
	w.stage = &stage{rowsFixture: w, plays: map[chargehand.ExecutionID]*play{}}
	t.Cleanup(w.stage.end)
	w.account = store.Account{ID: chargehand.AccountID(w.id()), Name: "test", CreatedMs: 1}
	source := []byte("do: []")
	digest := sha256.Sum256(source)
	w.update(func(tx *store.Tx) error {
		if err := tx.InsertAccount(&w.account); err != nil {
			return err
		}
		w.workflow = store.Workflow{ID: chargehand.WorkflowID(w.id()), Account: w.account.No, Namespace: "test", Name: "test", CreatedMs: 1}
		d := store.Definition{Account: w.account.No, Digest: digest[:], MediaType: "text/yaml", Source: source}
		if err := errors.Join(tx.InsertWorkflow(&w.workflow), tx.PutDefinition(&d)); err != nil {
			return err
		}
		w.revision = store.Revision{Workflow: w.workflow.No, Version: "1.0.0", Definition: d.No, CreatedMs: 1}
		return tx.InsertRevision(&w.revision)
	})
	return w
}

func (w *rowsFixture) update(fn func(*store.Tx) error) {
	w.t.Helper()
	if err := w.store.Update(context.Background(), fn); err != nil {
		w.t.Fatal(err)
	}
}

func (w *rowsFixture) view(fn func(*store.Reader) error) {
	w.t.Helper()
	if err := w.store.View(context.Background(), fn); err != nil {
		w.t.Fatal(err)
	}
}

// ids numbers the ids of all fixtures: on the server that they share, an execution of the same id is the same.
var ids atomic.Uint64

func (w *rowsFixture) id() [16]byte { return newID() }

// newID is an id of now.
func newID() (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], uint64(time.Now().UnixMilli())<<16|0x7000)
	binary.BigEndian.PutUint64(id[8:], 0x8000<<48|ids.Add(1))
	return id
}

func (w *rowsFixture) row() store.Execution {
	return store.Execution{
		ID: w.id(), Account: w.account.No, Environment: chargehand.Live, Workflow: w.workflow.No, Revision: w.revision.No, Machine: 1,
		Status: chargehand.Initial, Phase: chargehand.Pending, State: store.StateQueued, Input: store.Payload{Inline: []byte(`{"n":1}`), Size: 7},
	}
}

// accept makes n queued singles.
func (w *rowsFixture) accept(n int) []store.Execution {
	w.t.Helper()
	rows := make([]store.Execution, n)
	w.update(func(tx *store.Tx) error {
		for i := range rows {
			rows[i] = w.row()
			if err := tx.InsertExecution(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	w.notify()
	return rows
}

// batch makes a batch of n queued items.
func (w *rowsFixture) batch(n, concurrency int) (store.Batch, []store.Execution) {
	w.t.Helper()
	b := store.Batch{
		ID: w.id(), Account: w.account.No, Environment: chargehand.Live, Workflow: w.workflow.No, Revision: w.revision.No,
		Concurrency: concurrency, RequestedConcurrency: concurrency, Total: int64(n),
	}
	items := make([]store.Execution, n)
	w.update(func(tx *store.Tx) error {
		if err := tx.InsertBatch(&b); err != nil {
			return err
		}
		for i := range items {
			items[i] = w.row()
			items[i].Batch, items[i].Item = b.No, int64(i)
			if err := tx.InsertExecution(&items[i]); err != nil {
				return err
			}
		}
		return nil
	})
	w.notify()
	return b, items
}

// node is the part of a node that works on rows.
type node struct {
	db         store.DB
	store      *store.Store
	relay      *relay
	dispatcher *dispatcher
	canceller  *canceller
	watchers   *watchers
	services   *background.Group
	dead       atomic.Bool
}

var errDead = fmt.Errorf("%w: the node is dead", store.ErrUnavailable)

// mortal is a database that can be cut off from a node.
type mortal struct {
	store.DB
	node    *node
	updates atomic.Int64
	dieAt   int64 // the number of the Update that is the last one; 0: it lives on
}

func (m *mortal) Update(ctx context.Context, fn func(store.Conn) error) error {
	if m.node.dead.Load() {
		return errDead
	}
	err := m.DB.Update(ctx, fn)
	if m.updates.Add(1) == m.dieAt {
		m.node.dead.Store(true)
	}
	if m.node.dead.Load() {
		return errDead // committed, but no one is left to know
	}
	return err
}

func (m *mortal) View(ctx context.Context, fn func(store.Conn) error) error {
	if m.node.dead.Load() {
		return errDead
	}
	return m.DB.View(ctx, fn)
}

// start starts a node. It dies after so many Updates; 0: it does not.
func (w *rowsFixture) start(dieAt int64) *node {
	w.t.Helper()
	n := &node{services: background.NewGroup()}
	m := &mortal{DB: w.open(), node: n, dieAt: dieAt}
	n.db, n.store = m, store.New(m)
	quiet := slog.New(slog.DiscardHandler)
	n.watchers = newWatchers(n.store)
	n.canceller = &canceller{Store: n.store, Freed: w.freed, Changed: n.watchers.notify, Now: time.Now, Log: quiet}
	n.relay = newRelay(relayConfig{
		Store: n.store, Remote: &nodeRemote{w.stage, n}, Blobs: noBlobs{}, Queue: "test", Runtime: "1",
		Canceller: n.canceller, Lease: w.lease, Every: w.every, Log: quiet,
	})
	n.dispatcher = newDispatcher(dispatcherConfig{Store: n.store, Relay: n.relay, Services: n.services, AccountSlots: w.slots, Every: w.every, Log: quiet})
	n.services.Start("dispatcher", n.dispatcher.run)
	n.services.Start("watchers", n.watchers.run)
	w.mu.Lock()
	w.nodes = append(w.nodes, n)
	w.mu.Unlock()
	w.t.Cleanup(n.stop)
	return n
}

func (n *node) stop() {
	_ = n.services.Stop(context.Background()) // an error needs a deadline
	_ = n.relay.stop(context.Background(), context.Background())
}

// serve runs a service until the test ends.
func (w *rowsFixture) serve(name string, run func(ctx context.Context)) {
	services := background.NewGroup()
	services.Start(name, run)
	w.t.Cleanup(func() { _ = services.Stop(context.Background()) })
}

// freed notifies a node that lives, as the one would whose worker ended an execution.
func (w *rowsFixture) freed(account int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, n := range w.nodes {
		if !n.dead.Load() {
			n.dispatcher.notify(account)
			w.nodes[0], w.nodes[i] = w.nodes[i], w.nodes[0]
			w.nodes = append(w.nodes[1:], w.nodes[0]) // the next one next time
			return
		}
	}
}

func (w *rowsFixture) notify() { w.freed(w.account.No) }

type noBlobs struct{}

func (noBlobs) Put(context.Context, []byte) ([]byte, error) { return nil, store.ErrUnavailable }
func (noBlobs) Get(context.Context, []byte) ([]byte, error) { return nil, store.ErrNotFound }

// eventually waits until something is the case that has no other sign. It asks less and less often, which leaves the
// processors to what is waited for.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.After(4 * time.Minute)
	for pause := 2 * time.Millisecond; !is(); pause = min(pause+pause/4, 30*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-deadline:
			t.Fatalf("it does not happen that %s", what)
		}
	}
}

// number runs a query of one number.
func (w *rowsFixture) number(query string, args ...any) (n int64) {
	w.t.Helper()
	err := w.db.View(context.Background(), func(c store.Conn) error {
		return c.Query(query, func(r store.Row) error {
			n = r.Int(0)
			return nil
		}, args...)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// allEnd waits until every row is final and every message delivered.
func (w *rowsFixture) allEnd() {
	w.t.Helper()
	eventually(w.t, "all executions end", func() bool { return w.number(`SELECT COUNT(*) FROM execution WHERE state <> 0`) == 0 })
	eventually(w.t, "all messages are delivered", func() bool { return w.number(`SELECT COUNT(*) FROM outbox`) == 0 })
	if n := w.number(`SELECT COUNT(*) FROM batch WHERE status < 3`); n != 0 {
		w.t.Errorf("%d batches have not ended", n)
	}
}

const (
	overBatch = `SELECT COUNT(*) FROM batch b WHERE (SELECT COUNT(*) FROM execution e WHERE e.state = 3 AND e.state <> 0 AND e.account = b.account AND e.batch = b.no) > b.concurrency`
	active    = `SELECT COUNT(*) FROM execution WHERE state = 3 AND state <> 0`
)

// guarded looks at the bounds within every transaction that has passed.
type guarded struct {
	store.DB
	check func(store.Conn) error
}

func (g guarded) Update(ctx context.Context, fn func(store.Conn) error) error {
	return g.DB.Update(ctx, func(c store.Conn) error {
		if err := fn(c); err != nil {
			return err
		}
		return g.check(c)
	})
}

// guard makes the nodes that are started from now on, and what is played, keep an eye on the bounds, and a connection
// of its
// own. It returns the most slots that were held at once.
func (w *rowsFixture) guard() (stop func() (most int64)) {
	var high atomic.Int64
	check := func(c store.Conn) error {
		var held, over int64
		err := errors.Join(
			c.Query(active, func(r store.Row) error { held = r.Int(0); return nil }),
			c.Query(overBatch, func(r store.Row) error { over = r.Int(0); return nil }))
		if err != nil {
			return err
		}
		if held > int64(w.slots) || over > 0 {
			w.t.Errorf("%d slots are held of %d, and %d batches have more than they may", held, w.slots, over)
		}
		for before := high.Load(); held > before && !high.CompareAndSwap(before, held); before = high.Load() {
			continue
		}
		return nil
	}
	open := w.open
	w.open = func() store.DB { return guarded{open(), check} }
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	third := open()
	go func() {
		defer close(done)
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			if err := third.View(ctx, check); err != nil && ctx.Err() == nil {
				w.t.Error(err)
			}
			<-ticker.C
		}
	}()
	return func() int64 {
		cancel()
		<-done
		return high.Load()
	}
}

// onBenchDialects is onDialects for benchmarks.
func onBenchDialects(b *testing.B, run func(b *testing.B, w *rowsFixture)) {
	b.Run("sqlite", func(b *testing.B) { run(b, newSQLiteFixture(b)) })
	server := peer.StartPostgres(b)
	b.Run("postgres", func(b *testing.B) { run(b, newPostgresFixture(b, server.NewSchema(b))) })
}
