package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

func mustOpen(tb testing.TB, o sqlite.Options) *sqlite.DB {
	tb.Helper()
	db, err := sqlite.Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

func setMeta(db store.DB, name string) error {
	return store.New(db).Update(context.Background(), func(tx *store.Tx) error { return tx.SetMeta(name, []byte(name)) })
}

func metaNames(tb testing.TB, db store.DB) map[string]bool {
	tb.Helper()
	names := map[string]bool{}
	err := db.View(context.Background(), func(c store.Conn) error {
		return c.Query(`SELECT name FROM meta`, func(r store.Row) error {
			names[r.Text(0)] = true
			return nil
		})
	})
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

func TestSecondOwnerIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	first := mustOpen(t, sqlite.Options{Path: path, Owner: true})
	_, err := sqlite.Open(sqlite.Options{Path: path, Owner: true})
	if !errors.Is(err, store.ErrLocked) {
		t.Fatalf("second owner: %v, want ErrLocked", err)
	}
	for _, want := range []string{path, fmt.Sprint("process ", os.Getpid()), "stop it first"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("message %q does not say %q", err, want)
		}
	}
	if err := setMeta(first, "x"); err != nil {
		t.Errorf("the first owner after the attempt: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, sqlite.Options{Path: path, Owner: true})
	if !metaNames(t, again)["x"] {
		t.Error("what was written is gone")
	}
}

// TestConcurrentBesideOwner is `keys create` and `backup` beside a server that is busy: short writes
// of another process must not starve. Another process and another DB are the same to
// SQLite's locks and to the lock file.
func TestConcurrentBesideOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	owner := mustOpen(t, sqlite.Options{Path: path, Owner: true})
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for i := range 16 {
		busy.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := setMeta(owner, fmt.Sprint("owner ", i, " ", n)); err != nil {
					t.Errorf("owner: %v", err)
					return
				}
			}
		})
	}
	started := time.Now()
	const guests = 10
	for i := range guests {
		guest, err := sqlite.Open(sqlite.Options{Path: path})
		if err != nil {
			t.Fatalf("guest %d: %v", i, err)
		}
		name := fmt.Sprint("guest ", i)
		if err := setMeta(guest, name); err != nil {
			t.Fatalf("guest %d: %v", i, err)
		}
		if !metaNames(t, owner)[name] {
			t.Errorf("the owner does not see what guest %d wrote", i)
		}
		if err := guest.Close(); err != nil {
			t.Errorf("close guest %d: %v", i, err)
		}
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("%d short writes beside a busy owner took %v", guests, took)
	}
	close(stop)
	busy.Wait()
}

func TestGuestMakesDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "data.db")
	var wg sync.WaitGroup
	for i := range 4 { // all at once, before there is anything
		wg.Go(func() {
			guest, err := sqlite.Open(sqlite.Options{Path: path})
			if err != nil {
				t.Errorf("guest %d: %v", i, err)
				return
			}
			if err := errors.Join(setMeta(guest, fmt.Sprint(i)), guest.Close()); err != nil {
				t.Errorf("guest %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	owner := mustOpen(t, sqlite.Options{Path: path, Owner: true})
	if n := len(metaNames(t, owner)); n != 4 {
		t.Errorf("%d rows, want 4", n)
	}
	for _, name := range []string{"data.db", "data.db-wal", "data.db.lock"} {
		info, err := os.Stat(filepath.Join(filepath.Dir(path), name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v), want 0600", name, info.Mode(), err)
		}
	}
}

func TestSettings(t *testing.T) {
	db := mustOpen(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "odd ?#%'name.db"), Owner: true})
	want := map[string]string{"journal_mode": "wal", "synchronous": "2", "auto_vacuum": "2", "foreign_keys": "0"}
	err := db.Update(t.Context(), func(c store.Conn) error {
		for pragma, want := range want {
			err := c.Query("PRAGMA "+pragma, func(r store.Row) error {
				if got := r.Text(0); got != want {
					t.Errorf("%s of the writer is %s, want %s", pragma, got, want)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text that is no database, but long enough to be looked at as one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"folder is a file": filepath.Join(file, "data.db"), "no database": file, "path is a folder": dir} {
		for _, owner := range []bool{true, false} {
			db, err := sqlite.Open(sqlite.Options{Path: path, Owner: owner})
			if err == nil {
				db.Close()
			}
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s (owner %v): %v, want ErrUnavailable with the path", name, owner, err)
			}
		}
	}
	if b, _ := os.ReadFile(file); !strings.HasPrefix(string(b), "text") {
		t.Error("a file that is no database was changed")
	}
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, sqlite.Options{Path: filepath.Join(dir, "data.db"), Owner: true})
	st := store.New(db)
	stop := make(chan struct{})
	var busy sync.WaitGroup
	written := make(chan int64, 1<<20)
	for i := range 4 {
		busy.Go(func() {
			for n := int64(0); ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				e, o := trivial(n<<8|int64(i), 1_700_000_000_000)
				if err := st.Update(context.Background(), func(tx *store.Tx) error { return tx.InsertFinished(&e, &o) }); err != nil {
					t.Error(err)
					return
				}
				written <- e.No
			}
		})
	}
	for range 3 {
		var before []int64
		for range 50 {
			before = append(before, <-written)
		}
		target := filepath.Join(dir, fmt.Sprint("it's a copy ", len(before), time.Now().UnixNano()))
		guest := mustOpen(t, sqlite.Options{Path: filepath.Join(dir, "data.db")})
		if err := guest.Backup(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		guest.Close()
		restored := mustOpen(t, sqlite.Options{Path: target, Owner: true})
		storetest.CheckInvariants(t, restored)
		for _, no := range before {
			err := store.New(restored).View(t.Context(), func(r *store.Reader) error { _, err := r.ExecutionByNo(no); return err })
			if err != nil {
				t.Errorf("execution %d, written before the backup began: %v", no, err)
			}
		}
		if err := setMeta(restored, "alive"); err != nil {
			t.Errorf("write to a restored database: %v", err)
		}
		checkJournalMode(t, restored)
		restored.Close()
	}
	close(stop)
	busy.Wait()
}

// checkJournalMode: without a write-ahead log, readers would hold up the writer, and it them.
func checkJournalMode(t *testing.T, db store.DB) {
	t.Helper()
	err := db.View(t.Context(), func(c store.Conn) error {
		return c.Query("PRAGMA journal_mode", func(r store.Row) error {
			if got := r.Text(0); got != "wal" {
				t.Errorf("the journal mode is %s", got)
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBackupFails(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, sqlite.Options{Path: filepath.Join(dir, "data.db"), Owner: true})
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(t.Context(), taken); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("over a file: %v", err)
	}
	if b, _ := os.ReadFile(taken); string(b) != "mine" {
		t.Error("the file was changed")
	}
	if err := db.Backup(t.Context(), filepath.Join(dir, "missing", "copy")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("into a missing folder: %v, want ErrUnavailable", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Backup(ctx, filepath.Join(dir, "copy")); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "copy*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
