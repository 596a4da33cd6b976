package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
)

func openTest(t *testing.T) *DB {
	t.Helper()
	db, err := Open(Options{Path: filepath.Join(t.TempDir(), "data.db"), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func insertMeta(c store.Conn, name string, bytes int) error {
	_, err := c.Exec(`INSERT INTO meta (name, value) VALUES (?1, ?2)`, name, make([]byte, bytes))
	return err
}

func count(t *testing.T, db *DB) (n int64) {
	t.Helper()
	err := db.View(t.Context(), func(c store.Conn) error {
		return c.Query(`SELECT COUNT(*) FROM meta`, func(r store.Row) error {
			n = r.Int(0)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// queued starts Updates while the writer is held up, and lets it go when all are queued.
func queued(t *testing.T, db *DB, fns []func(store.Conn) error) []error {
	t.Helper()
	started, release := make(chan struct{}), make(chan struct{})
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	wg.Go(func() {
		err := db.Update(context.Background(), func(store.Conn) error {
			close(started)
			<-release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-started
	requests := make([]*request, len(fns))
	for i, fn := range fns { // in order, which goroutines would not keep
		requests[i] = &request{Update: fn}
		if err := db.writer.Put(context.Background(), requests[i], nil); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	for i, r := range requests {
		errs[i] = r.Wait()
	}
	wg.Wait()
	return errs
}

func TestConcurrentGroupCommit(t *testing.T) {
	db := openTest(t)
	var fns []func(store.Conn) error
	for i := range maxGroup + 100 {
		fns = append(fns, func(c store.Conn) error { return insertMeta(c, fmt.Sprint(i), 1) })
	}
	before := db.writer.commits.Load()
	for i, err := range queued(t, db, fns) {
		if err != nil {
			t.Errorf("update %d: %v", i, err)
		}
	}
	// One for the Update that held the writer up, a full group, and the rest.
	if commits := db.writer.commits.Load() - before; commits != 3 {
		t.Errorf("%d commits for %d updates, want 3", commits, len(fns)+1)
	}
	if n := count(t, db); n != int64(len(fns)) {
		t.Errorf("%d rows", n)
	}
}

// TestConcurrentQueueIsBounded fills the queue: the next Update waits for a place, and gives up with
// its context.
func TestConcurrentQueueIsBounded(t *testing.T) {
	db := openTest(t)
	started, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		db.Update(context.Background(), func(store.Conn) error {
			close(started)
			<-release
			return nil
		})
	})
	<-started
	for range dialect.MaxQueue {
		r := &request{Update: func(store.Conn) error { return nil }}
		if err := db.writer.Put(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := db.Update(ctx, func(store.Conn) error {
		t.Error("ran although its context had ended while it waited for a place")
		return nil
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("update with a full queue: %v, want its context's error", err)
	}
	close(release)
	wg.Wait()
	if err := db.Update(t.Context(), func(c store.Conn) error { return insertMeta(c, "x", 1) }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// limitPages lets the database grow by that many pages only, like a disk that gets full.
// It holds for the present connection: a failure makes the writer open another.
func limitPages(t *testing.T, db *DB, more int64) {
	t.Helper()
	err := db.writer.Do(t.Context(), &request{Maintain: func(c *conn) error {
		row, err := c.plain("PRAGMA page_count")
		if err == nil {
			_, err = c.plain(fmt.Sprintf("PRAGMA max_page_count = %d", row[0]+more))
		}
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFullDatabase runs into the limit in the middle of a group. All of it is undone, and
// says so, except for an Update that had failed by itself.
func TestFullDatabase(t *testing.T) {
	db := openTest(t)
	own := errors.New("own")
	small := func(name string) func(store.Conn) error {
		return func(c store.Conn) error { return insertMeta(c, name, 10) }
	}
	limitPages(t, db, 5)
	errs := queued(t, db, []func(store.Conn) error{
		small("a"),
		func(c store.Conn) error { return errors.Join(insertMeta(c, "b", 10), own) },
		func(c store.Conn) error { return insertMeta(c, "large", 100_000) },
		small("c"),
	})
	for i, want := range []error{store.ErrUnavailable, own, store.ErrUnavailable, store.ErrUnavailable} {
		if !errors.Is(errs[i], want) {
			t.Errorf("update %d: %v, want %v", i, errs[i], want)
		}
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d rows of a group that failed", n)
	}
	if errs := queued(t, db, []func(store.Conn) error{small("a"), small("c")}); errs[0] != nil || errs[1] != nil {
		t.Errorf("when there is room again: %v", errs)
	}

	limitPages(t, db, 5) // one that ignores the error fails all the same
	errs = queued(t, db, []func(store.Conn) error{small("d"), func(c store.Conn) error {
		insertMeta(c, "hidden", 100_000)
		return nil
	}})
	if !errors.Is(errs[1], store.ErrUnavailable) {
		t.Errorf("an update that ignored a full disk: %v, want ErrUnavailable", errs[1])
	}
	want := int64(2)
	if errs[0] == nil {
		want = 3
	}
	if n := count(t, db); n != want {
		t.Errorf("%d rows, want %d", n, want)
	}
}

// TestConcurrentConnectionIsReplaced closes the writer's connection under it, as an I/O error does.
func TestConcurrentConnectionIsReplaced(t *testing.T) {
	db := openTest(t)
	away := errors.New("disk is away")
	open := db.writer.open
	err := db.writer.Do(t.Context(), &request{Maintain: func(*conn) error {
		db.writer.drop()
		db.writer.open = func() (*conn, error) { return nil, away }
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := db.Update(t.Context(), func(store.Conn) error {
			t.Error("ran without a connection")
			return nil
		})
		if err == nil || err.Error() != away.Error() {
			t.Errorf("update without a connection: %v", err)
		}
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d rows", n)
	}
	db.writer.open = open // the writer's goroutine is waiting for work
	if err := db.Update(t.Context(), func(c store.Conn) error { return insertMeta(c, "x", 1) }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func walBytes(t *testing.T, db *DB) int64 {
	t.Helper()
	info, err := os.Stat(db.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestLogStaysShort writes many times the length at which the log starts again, while
// readers overlap so that there is never a moment without one.
func TestLogStaysShort(t *testing.T) {
	limits := logLimits{commits: 16, pages: 256}
	db, err := Open(Options{Path: filepath.Join(t.TempDir(), "data.db"), Owner: true, limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					count(t, db)
				}
			}
		})
	}
	const pageBytes, valueBytes, times = 4096, 20_000, 8
	var longest int64
	for range times * limits.pages * pageBytes / valueBytes {
		err := db.Update(t.Context(), func(c store.Conn) error {
			_, err := c.Exec(`INSERT INTO meta (name, value) VALUES ('x', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, make([]byte, valueBytes))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, walBytes(t, db))
	}
	close(stop)
	readers.Wait()
	if longest > 4*limits.pages*pageBytes {
		t.Errorf("the log grew to %d KiB although it starts again at %d", longest>>10, limits.pages*pageBytes>>10)
	}
	if longest < pageBytes {
		t.Error("there was no log: the test shows nothing")
	}
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := walBytes(t, db); n != 0 {
		t.Errorf("the log has %d bytes after Compact", n)
	}
}

// TestConcurrentLogBesideLongView checks that a View that does not end holds up no other caller.
func TestConcurrentLogBesideLongView(t *testing.T) {
	db := openTest(t)
	err := db.View(t.Context(), func(c store.Conn) error {
		if err := c.Query(`SELECT 1 FROM meta`, func(store.Row) error { return nil }); err != nil {
			return err
		}
		for i := range 20 {
			if err := db.Update(t.Context(), func(c store.Conn) error { return insertMeta(c, fmt.Sprint(i), 10_000) }); err != nil {
				return err
			}
		}
		if err := db.Compact(t.Context()); err != nil {
			return err
		}
		if n := count(t, db); n != 20 {
			t.Errorf("another view sees %d rows", n)
		}
		return c.Query(`SELECT COUNT(*) FROM meta`, func(r store.Row) error {
			if r.Int(0) != 0 {
				t.Errorf("the long view sees %d rows that came later", r.Int(0))
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLogIsBoundedByBytes writes few large commits while a View runs that does not end by itself: the log is no longer
// than its bound and one commit, the View is interrupted with an error that says so, and nothing that was written is
// lost. An attempt to let the log start again may take too long on a busy machine: it is in the server's log then, and
// the log may have grown by as much as between two copies.
func TestLogIsBoundedByBytes(t *testing.T) {
	limits := logLimits{commits: 1 << 30, grown: 128, pages: 256, most: 768}
	var log bytes.Buffer
	db, err := Open(Options{
		Path: filepath.Join(t.TempDir(), "data.db"), Owner: true, limits: limits, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	reading, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- db.View(t.Context(), func(c store.Conn) error {
			for first := true; ; first = false {
				if err := c.Query(`SELECT COUNT(*) FROM meta`, func(store.Row) error { return nil }); err != nil {
					return err
				}
				if first {
					close(reading)
				}
			}
		})
	}()
	<-reading
	const frameBytes, valueBytes, times = 4096 + 24, 400_000, 100
	var longest int64
	for i := range times {
		if err := db.Update(t.Context(), func(c store.Conn) error { return insertMeta(c, fmt.Sprint(i), valueBytes) }); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
		longest = max(longest, walBytes(t, db))
	}
	if longest < limits.pages*frameBytes {
		t.Errorf("the log grew to %d KiB only: the test shows nothing", longest>>10)
	}
	if err := <-ended; !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("the long view: %v", err)
	}
	if n := count(t, db); n != times {
		t.Errorf("%d of %d rows are there", n, times)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	failed := int64(strings.Count(log.String(), "longer than it should be"))
	if most := limits.most*frameBytes + 2*valueBytes + failed*(limits.grown*frameBytes+valueBytes); longest > most {
		t.Errorf("the log grew to %d KiB; its bound and one commit are %d, after %d failed attempts", longest>>10, most>>10, failed)
	}
}

// TestFullLogStartsAgain: where nothing is in the way, a log that has reached its bound starts again, and no warning
// says that it has not.
func TestFullLogStartsAgain(t *testing.T) {
	limits := logLimits{commits: 1 << 30, grown: 1 << 30, pages: 256, most: 512}
	var log bytes.Buffer
	db, err := Open(Options{
		Path: filepath.Join(t.TempDir(), "data.db"), Owner: true, limits: limits, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	const frameBytes, valueBytes, times = 4096 + 24, 400_000, 60
	var longest int64
	for i := range times {
		if err := db.Update(t.Context(), func(c store.Conn) error { return insertMeta(c, fmt.Sprint(i), valueBytes) }); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
		longest = max(longest, walBytes(t, db))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if longest < limits.most*frameBytes || longest > limits.most*frameBytes+2*valueBytes {
		t.Errorf("the log grew to %d KiB; its bound is %d", longest>>10, limits.most*frameBytes>>10)
	}
	if log.Len() > 0 {
		t.Errorf("logged:\n%s", &log)
	}
}

// TestLogBesideAnotherProcess: a reader that cannot be interrupted, such as a backup, does not stop the writer; the log
// grows then, and is short again when it has gone.
func TestLogBesideAnotherProcess(t *testing.T) {
	limits := logLimits{commits: 1 << 30, grown: 512, pages: 256, most: 768}
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "data.db")
	db, err := Open(Options{Path: path, Owner: true, limits: limits, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	guest, err := Open(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	write := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if err := db.Update(t.Context(), func(c store.Conn) error { return insertMeta(c, fmt.Sprint(i), 400_000) }); err != nil {
				t.Fatalf("write %d: %v", i, err)
			}
		}
	}
	err = guest.View(t.Context(), func(c store.Conn) error {
		if err := c.Query(`SELECT COUNT(*) FROM meta`, func(store.Row) error { return nil }); err != nil {
			return err
		}
		write(0, 20)
		return nil
	})
	if err != nil {
		t.Errorf("the guest is interrupted: %v", err)
	}
	write(20, 40)
	if pages := db.writer.pages.Load(); pages > limits.most+200 {
		t.Errorf("the log has %d pages after the guest has gone", pages)
	}
	if err := errors.Join(guest.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "another process") {
		t.Errorf("the log does not say why: %s", log.String())
	}
}

// TestConcurrentIdleCutsLog waits for the cut that comes by itself when nothing is written.
func TestConcurrentIdleCutsLog(t *testing.T) {
	cut := make(chan struct{}, 1)
	db, err := Open(Options{Path: filepath.Join(t.TempDir(), "data.db"), Owner: true, onCut: func() {
		select {
		case cut <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(t.Context(), func(c store.Conn) error { return insertMeta(c, "x", 50_000) }); err != nil {
		t.Fatal(err)
	}
	select {
	case <-cut:
	case <-time.After(time.Minute):
		t.Fatal("the log was not cut")
	}
	if n := walBytes(t, db); n != 0 {
		t.Errorf("the log has %d bytes when nothing is written", n)
	}
}

// TestCompactGivesSpaceBack compares the size of the file before and after.
func TestCompactGivesSpaceBack(t *testing.T) {
	db := openTest(t)
	size := func() int64 {
		if err := db.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(db.path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	empty := size()
	for i := range 100 {
		if err := db.Update(t.Context(), func(c store.Conn) error { return insertMeta(c, fmt.Sprint(i), 50_000) }); err != nil {
			t.Fatal(err)
		}
	}
	full := size()
	if full < empty+5_000_000 {
		t.Fatalf("the file grew from %d to %d bytes only", empty, full)
	}
	if err := db.Update(t.Context(), func(c store.Conn) error { _, err := c.Exec(`DELETE FROM meta`); return err }); err != nil {
		t.Fatal(err)
	}
	if got := size(); got > empty+3*4096 {
		t.Errorf("the file has %d bytes after everything was deleted, %d when it was empty", got, empty)
	}
}
