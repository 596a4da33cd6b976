package schedule

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
	"github.com/chargehand/chargehand/internal/value"
)

// fixture is a database with schedules, and schedulers over it whose clock the test moves.
type fixture struct {
	t     testing.TB
	db    store.DB
	rows  *store.Store
	plans plans
	clock *atomic.Int64 // milliseconds since 1970
	count int
	blobs *blobs
}

// blobs is a blob store in memory.
type blobs struct {
	rows *store.Store
	mu   sync.Mutex
	data map[[32]byte][]byte
}

func (b *blobs) Put(ctx context.Context, data []byte) ([]byte, error) {
	digest := sha256.Sum256(data)
	b.mu.Lock()
	b.data[digest] = slices.Clone(data)
	b.mu.Unlock()
	return digest[:], b.rows.Update(ctx, func(tx *store.Tx) error { return tx.ReserveBlob(digest[:], int64(len(data))) })
}

func (b *blobs) Get(_ context.Context, digest []byte) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if data := b.data[[32]byte(digest)]; data != nil {
		return data, nil
	}
	return nil, store.ErrNotFound
}

// plans are the plans of revisions, by number.
type plans map[int64]*plan.Plan

func (p plans) Plan(_ context.Context, revision int64) (*plan.Plan, error) {
	if p[revision] == nil {
		return nil, store.ErrNotFound
	}
	return p[revision], nil
}

var begin = at("2026-03-01T12:00:00Z")

var template = storetest.Template{Open: func(path string) (store.DB, error) {
	return sqlite.Open(sqlite.Options{Path: path, Owner: true})
}}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	db := template.New(t)
	if _, measured := t.(*testing.B); !measured {
		db2 := storetest.Twice(db)
		return fixtureOver(t, db2)
	}
	return fixtureOver(t, db)
}

// fixtureOver is a world over a database that it closes.
func fixtureOver(t testing.TB, db store.DB) *fixture {
	w := &fixture{t: t, db: db, rows: store.New(db), plans: plans{}, clock: new(atomic.Int64)}
	w.blobs = &blobs{rows: w.rows, data: map[[32]byte][]byte{}}
	w.clock.Store(begin)
	t.Cleanup(func() {
		if err := w.rows.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *fixture) now() time.Time { return time.UnixMilli(w.clock.Load()) }

func (w *fixture) pass(d time.Duration) { w.clock.Add(d.Milliseconds()) }

// publish makes a definition with that schedule the published version of a workflow.
func (w *fixture) publish(workflow int64, schedule string) {
	w.t.Helper()
	revision := int64(len(w.plans) + 1)
	w.plans[revision] = scheduled(w.t, schedule)
	w.update(func(tx *store.Tx) error { return tx.ActivateSchedule(1, workflow, revision, w.clock.Load()) })
}

func (w *fixture) update(fn func(*store.Tx) error) {
	w.t.Helper()
	if err := w.rows.Update(context.Background(), fn); err != nil {
		w.t.Fatal(err)
	}
}

// event stores an event.
func (w *fixture) event(kind string, data string) {
	w.t.Helper()
	w.store([][2]string{{kind, data}})
}

// store stores events of a type, with their data.
func (w *fixture) store(list [][2]string) {
	w.t.Helper()
	var events []store.Event
	for _, one := range list {
		w.count++
		envelope := fmt.Sprintf(`{"specversion":"1.0","id":"%d","source":"/test","type":"%s","data":%s}`, w.count, one[0], one[1])
		sum := sha256.Sum256([]byte(envelope))
		events = append(events, store.Event{Account: 1, Environment: chargehand.Live, Dedupe: [16]byte(sum[:]), Type: one[0],
			Data: store.Payload{Inline: []byte(envelope), Size: int64(len(envelope))}})
	}
	w.update(func(tx *store.Tx) error {
		_, err := tx.InsertEvents(events, w.clock.Load())
		return err
	})
}

// started are the inputs of the executions of a workflow, in the order in which they were started.
func (w *fixture) started(workflow int64) (inputs []string) {
	w.t.Helper()
	err := w.db.View(context.Background(), func(c store.Conn) error {
		inputs = nil
		return c.Query(`SELECT input FROM execution WHERE workflow = ?1 ORDER BY no`, func(r store.Row) error {
			inputs = append(inputs, string(r.Bytes(0)))
			return nil
		}, workflow)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return inputs
}

// runs is how many executions a workflow has.
func (w *fixture) runs(workflow int64, want int) {
	w.t.Helper()
	if got := w.started(workflow); len(got) != want {
		w.t.Fatalf("workflow %d has %d runs, want %d: %q", workflow, len(got), want, got)
	}
}

// end ends all executions at the time of the clock.
func (w *fixture) end() {
	w.t.Helper()
	var open []int64
	err := w.db.View(context.Background(), func(c store.Conn) error {
		open = nil
		return c.Query(`SELECT no FROM execution WHERE state <> 0`, func(r store.Row) error {
			open = append(open, r.Int(0))
			return nil
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.update(func(tx *store.Tx) error {
		for _, no := range open {
			nowMs := w.clock.Load()
			if _, err := tx.FinishExecution(no, chargehand.Errored, chargehand.Faulted, nowMs, nowMs, &store.Outcome{Fault: []byte(`{}`)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// scheduler is one over the world, with an engine that only writes rows.
func (w *fixture) scheduler(change ...func(*Config)) *Scheduler {
	return w.schedulerOver(w.rows, change...)
}

func (w *fixture) schedulerOver(rows *store.Store, change ...func(*Config)) *Scheduler {
	c := Config{Store: rows, Plans: w.plans, Blobs: w.blobs, Starter: &starter{rows: rows}, Now: w.now}
	for _, fn := range change {
		fn(&c)
	}
	s := New(c)
	s.events.readTime = time.Hour // a step does all there is to do
	return s
}

// step looks once, which must work.
func (w *fixture) step(s *Scheduler) time.Duration {
	w.t.Helper()
	wait, err := s.Step(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return wait
}

// starter writes rows of executions.
type starter struct {
	rows   *store.Store
	refuse atomic.Pointer[error]
	tries  atomic.Int64
}

func (s *starter) StartFiring(ctx context.Context, r Firing) error {
	s.tries.Add(1)
	if err := s.refuse.Load(); err != nil {
		return *err
	}
	data := value.Marshal(r.Input)
	row := store.Execution{Account: 1, Environment: chargehand.Live, Workflow: r.Schedule.Workflow, Revision: r.Schedule.Revision, Machine: 1,
		Status: chargehand.Initial, Phase: chargehand.Pending, State: store.StateQueued, Input: store.Payload{Inline: data, Size: int64(len(data))}}
	rand.Read(row.ID[:])
	return s.rows.Update(ctx, func(tx *store.Tx) error {
		if err := tx.InsertExecution(&row); err != nil {
			return err
		}
		return r.InTx(tx, row.No)
	})
}
