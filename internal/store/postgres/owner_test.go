package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

const soon = 30 * time.Second // for what happens at once, on a busy machine

// standby opens a database without taking it.
func standby(tb testing.TB, o postgres.Options) *postgres.DB {
	tb.Helper()
	db, err := postgres.Open(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

// standbys reads the processes that wait to own a database.
func standbys(db *postgres.DB) (list []store.Standby, err error) {
	err = store.New(db).View(context.Background(), func(r *store.Reader) error {
		list, err = r.Standbys()
		return err
	})
	return list, err
}

// until runs try until it succeeds.
func until(tb testing.TB, what string, try func() error) time.Duration {
	tb.Helper()
	started := time.Now()
	for {
		err := try()
		if err == nil {
			return time.Since(started)
		}
		if time.Since(started) > soon {
			tb.Fatalf("%s: %v", what, err)
		}
		time.Sleep(5 * time.Millisecond) // another process is at work: there is nothing to wait for
	}
}

func TestConcurrentOneOwner(t *testing.T) {
	t.Parallel()
	address := server(t).NewSchema(t)
	first := open(t, postgres.Options{URL: address})
	second := standby(t, postgres.Options{URL: address, Name: "shop-2 (process 7)"})
	if ok, err := second.TryOwn(t.Context()); ok || err != nil {
		t.Fatalf("beside an owner: %t, %v", ok, err)
	}
	if ok, err := first.TryOwn(t.Context()); !ok || err != nil {
		t.Errorf("the owner itself: %t, %v", ok, err)
	}
	if err := setMeta(first, "mine"); err != nil {
		t.Fatal(err)
	}
	if err := setMeta(second, "theirs"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write of a standby: %v, want ErrUnavailable", err)
	}
	if !metaNames(t, second)["mine"] {
		t.Error("a standby does not see what the owner writes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := second.AwaitOwner(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting ended with %v", err)
	}
	// Another schema of the same database is another installation.
	other := open(t, postgres.Options{URL: server(t).NewSchema(t)})

	got := make(chan error, 1)
	go func() { got <- second.AwaitOwner(context.Background()) }()
	until(t, "the owner sees the standby", func() error {
		list, err := standbys(first)
		if err == nil && (len(list) != 1 || list[0].Name != "shop-2 (process 7)" || time.Since(time.UnixMilli(list[0].SinceMs)).Abs() > time.Minute) {
			err = fmt.Errorf("%v", list)
		}
		return err
	})
	if list, err := standbys(other); err != nil || len(list) != 0 {
		t.Errorf("another installation has the standbys %v, %v", list, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-got:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(soon):
		t.Fatal("the lock of an owner that has closed was not given back")
	}
	if err := setMeta(second, "theirs"); err != nil {
		t.Error(err)
	}
	until(t, "an owner is no standby any more", func() error { // PostgreSQL ends a session behind the connection
		list, err := standbys(second)
		if err == nil && len(list) != 0 {
			err = fmt.Errorf("%v", list)
		}
		return err
	})
	if first.Epoch() != 1 || second.Epoch() != 2 {
		t.Errorf("epochs %d and %d", first.Epoch(), second.Epoch())
	}
	select {
	case <-second.Lost():
		t.Error("lost without a reason")
	default:
	}
}

// TestConcurrentDeposedOwner freezes the connection of an owner until another one has taken over.
// What the first one sent, or sends when it is thawed, must never be in the database.
func TestConcurrentDeposedOwner(t *testing.T) {
	t.Parallel()
	pg := server(t)
	address := pg.NewSchema(t)
	p := newProxy(t, pg)
	lease := 1500 * time.Millisecond
	first := open(t, postgres.Options{URL: p.at(t, address), Lease: lease})
	if err := setMeta(first, "before"); err != nil {
		t.Fatal(err)
	}
	second := standby(t, postgres.Options{URL: address, Lease: lease})
	p.freeze(true)
	frozen := make(chan error, 1)
	go func() { frozen <- setMeta(first, "frozen") }()
	started := time.Now()
	if err := second.AwaitOwner(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("taken over after %v with a lease of %v", time.Since(started).Round(time.Millisecond), lease)
	if err := setMeta(second, "second"); err != nil {
		t.Fatal(err)
	}
	p.freeze(false)
	if err := <-frozen; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write on its way when the owner was deposed: %v, want ErrUnavailable", err)
	}
	select {
	case <-first.Lost():
	case <-time.After(soon):
		t.Fatal("the first owner does not know that it was deposed")
	}
	for range 3 {
		if err := setMeta(first, "thawed"); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, postgres.ErrLost) {
			t.Errorf("a write of a deposed owner: %v, want ErrUnavailable and ErrLost", err)
		}
	}
	if _, err := first.TryOwn(t.Context()); !errors.Is(err, postgres.ErrLost) {
		t.Errorf("it takes the lock again: %v, want ErrLost", err)
	}
	second.Close()
	if err := first.AwaitOwner(t.Context()); !errors.Is(err, postgres.ErrLost) {
		t.Errorf("it waits for the lock: %v, want ErrLost", err)
	}
	names := metaNames(t, first)
	if names["frozen"] || names["thawed"] || !names["before"] || !names["second"] {
		t.Errorf("the database has %v", names)
	}
}

// TestOwnerSurvivesCut cuts the connection of an owner again and again. No other process wants
// the lock: the owner keeps it, and no caller notices.
func TestOwnerSurvivesCut(t *testing.T) {
	t.Parallel()
	pg := server(t)
	p := newProxy(t, pg)
	db := open(t, postgres.Options{URL: p.at(t, pg.NewSchema(t))})
	for i := range 10 {
		name := strings.Repeat("x", i+1)
		if err := setMeta(db, name); err != nil {
			t.Fatalf("update %d: %v", i, err)
		}
		if !metaNames(t, db)[name] {
			t.Errorf("update %d is not there", i)
		}
		p.cut()
	}
	if db.Epoch() != 1 {
		t.Errorf("epoch %d after cuts, want 1", db.Epoch())
	}
}

// TestServerRestarts kills the server under writers. What was confirmed is there
// afterwards, what was refused is not, and the writers continue with the same ownership. A server that is back late
// leaves Updates in doubt, which an owner would not survive: it waits for the server as long as that takes.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	pg := peer.StartPostgres(t)
	for _, mode := range []postgres.Mode{postgres.Owner, postgres.Shared} {
		db := open(t, postgres.Options{URL: pg.NewDatabase(t), Mode: mode})
		if mode == postgres.Owner {
			postgres.SetResolveTime(db, time.Minute)
		}
		for round, stop := range []func(){pg.Kill, pg.Halt, pg.Kill} {
			started := time.Now()
			o := writeThrough(t, db, round, func() {
				stop()
				pg.Start()
			})
			t.Logf("round %d: %d confirmed, %d refused, %d in doubt in %v", round, len(o.confirmed), len(o.refused), len(o.inDoubt), time.Since(started).Round(time.Millisecond))
			names := metaNames(t, db)
			for _, name := range o.confirmed {
				if !names[name] {
					t.Errorf("round %d: %s was confirmed and is gone", round, name)
				}
			}
			for _, name := range o.refused {
				if names[name] {
					t.Errorf("round %d: %s was refused and is there", round, name)
				}
			}
		}
		if mode == postgres.Owner && db.Epoch() != 1 {
			t.Errorf("epoch %d, want 1", db.Epoch())
		}
		storetest.CheckInvariants(t, db)
	}
}

// TestServerAway writes and reads without a server.
func TestServerAway(t *testing.T) {
	t.Parallel()
	pg := peer.StartPostgres(t, peer.PostgresOptions{Careless: true})
	for _, mode := range []postgres.Mode{postgres.Owner, postgres.Shared} {
		address := pg.NewDatabase(t)
		db := open(t, postgres.Options{URL: address, Mode: mode})
		if err := setMeta(db, "before"); err != nil {
			t.Fatal(err)
		}
		pg.Halt()
		if err := setMeta(db, "away"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("update: %v, want ErrUnavailable", err)
		}
		if err := db.Check(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("view: %v, want ErrUnavailable", err)
		}
		if _, err := postgres.Open(t.Context(), postgres.Options{URL: address, Mode: mode}); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "--database-url") {
			t.Errorf("open: %v, want ErrUnavailable and the flag", err)
		}
		pg.Start()
		until(t, "write when it is back", func() error { return setMeta(db, "back") })
		if names := metaNames(t, db); names["away"] || !names["before"] || !names["back"] {
			t.Errorf("the database has %v", names)
		}
	}
}

// TestServerFrozen stops all processes of the server, so that nothing answers and no
// connection breaks. The owner notices it within the bound of a statement.
func TestServerFrozen(t *testing.T) {
	t.Parallel()
	pg := peer.StartPostgres(t, peer.PostgresOptions{Careless: true})
	db := open(t, postgres.Options{URL: pg.NewDatabase(t), Lease: 2 * time.Second, Statement: 500 * time.Millisecond})
	if err := setMeta(db, "before"); err != nil {
		t.Fatal(err)
	}
	pg.Pause(true)
	started := time.Now()
	if err := setMeta(db, "frozen"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("update: %v, want ErrUnavailable", err)
	}
	t.Logf("noticed after %v", time.Since(started).Round(time.Millisecond))
	pg.Pause(false)
	until(t, "write when it is back", func() error { return setMeta(db, "back") })
	if metaNames(t, db)["frozen"] {
		t.Error("what was refused is there")
	}
}

// TestOwnerKilled kills a process that owns a database in the middle of its Updates.
// Another one takes over, and finds whole Updates only.
func TestOwnerKilled(t *testing.T) {
	if address := os.Getenv("CHARGEHAND_TEST_OWNER"); address != "" {
		beOwner(t, address)
		return
	}
	t.Parallel()
	address := server(t).NewSchema(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestOwnerKilled$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), "CHARGEHAND_TEST_OWNER="+address)
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	second := standby(t, postgres.Options{URL: address})
	until(t, "wait for the first owner", func() error {
		var n int64
		err := second.View(t.Context(), func(c store.Conn) error {
			return c.Query(`SELECT COUNT(*) FROM meta`, func(r store.Row) error { n = r.Int(0); return nil })
		})
		if err == nil && n < 50 {
			err = errors.New("it has hardly written: " + out.String())
		}
		return err
	})
	if ok, err := second.TryOwn(t.Context()); ok || err != nil {
		t.Fatalf("beside a living owner: %t, %v", ok, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	if err := second.AwaitOwner(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("taken over after %v", took)
	} else {
		t.Logf("taken over after %v", took.Round(time.Millisecond))
	}
	_ = cmd.Wait()
	names := metaNames(t, second)
	for name := range names {
		half, part, _ := strings.Cut(name, "/")
		if other := map[string]string{"a": "/b", "b": "/a"}[part]; !names[half+other] {
			t.Errorf("half an update is there: %s", name)
		}
	}
	if err := setMeta(second, "0/a"); err != nil {
		t.Error(err)
	}
}

// beOwner writes until it is killed.
func beOwner(t *testing.T, address string) {
	db := open(t, postgres.Options{URL: address})
	for i := 0; ; i++ {
		name := strings.Repeat("x", 1+i%3) + strings.Repeat("y", i/3)
		err := store.New(db).Update(t.Context(), func(tx *store.Tx) error {
			return errors.Join(tx.SetMeta(name+"/a", empty), tx.SetMeta(name+"/b", empty))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

var empty = []byte{}
