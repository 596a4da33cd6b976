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
)

func walBytes(t *testing.T, db *DB) int64 {
	t.Helper()
	info, err := os.Stat(db.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// replaceMeta writes a value over the one before. Each is another one: SQLite does not write pages that stay the same.
func replaceMeta(c store.Conn, i, size int) error {
	_, err := c.Exec(`INSERT INTO meta (name, value) VALUES ('x', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
		bytes.Repeat([]byte{byte(i)}, size))
	return err
}

// TestLogStaysShort writes many times the length at which the log starts again, while
// readers overlap so that there is never a moment without one.
func TestLogStaysShort(t *testing.T) {
	limits := logLimits{commits: 16, grown: 128, pages: 256, most: 768}
	var log bytes.Buffer
	db, err := Open(Options{
		Path: filepath.Join(t.TempDir(), "data.db"), Owner: true, limits: limits, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
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
	const pageBytes, valueBytes, times = 4096, 20_000, 4
	var longest int64
	// On a busy machine there are moments without a reader, in which SQLite starts the log again by itself: then more is
	// written, until the log has once been as long as is needed.
	least := times * limits.pages * pageBytes / valueBytes
	for i := int64(0); i < least || longest < limits.pages*pageBytes && i < 20*least; i++ {
		err := db.Update(t.Context(), func(c store.Conn) error {
			return replaceMeta(c, int(i), valueBytes)
		})
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, walBytes(t, db))
	}
	close(stop)
	readers.Wait()
	if longest < limits.pages*pageBytes {
		t.Errorf("the log had %d KiB at most: the test shows nothing", longest>>10)
	}
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := walBytes(t, db); n != 0 {
		t.Errorf("the log has %d bytes after Compact", n)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	failed := int64(strings.Count(log.String(), "longer than it should be")) // on a busy machine
	if most := 4*limits.pages*pageBytes + failed*limits.grown*pageBytes; longest > most {
		t.Errorf("the log grew to %d KiB although it starts again at %d; %d attempts have failed", longest>>10, limits.pages*pageBytes>>10, failed)
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

// TestLogKeepsItsPromise: with the limits of every server, large commits one after the other make the log no longer
// than 64 MiB and one commit, though Views read all the time.
func TestLogKeepsItsPromise(t *testing.T) {
	var log bytes.Buffer
	db, err := Open(Options{Path: filepath.Join(t.TempDir(), "data.db"), Owner: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var reader sync.WaitGroup
	defer reader.Wait()
	defer stop()
	reader.Go(func() {
		for ctx.Err() == nil {
			err := db.View(context.Background(), func(c store.Conn) error {
				return c.Query(`SELECT COUNT(*) FROM meta`, func(store.Row) error { return nil })
			})
			if err != nil && !errors.Is(err, store.ErrUnavailable) { // it may have taken too long
				t.Error(err)
				return
			}
		}
	})
	const promised, frameBytes, commitBytes, times = 64 << 20, 4096 + 24, 8 << 20, 12
	var longest int64
	for i := range times {
		err := db.Update(t.Context(), func(c store.Conn) error {
			return replaceMeta(c, i, commitBytes)
		})
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, walBytes(t, db))
	}
	stop()
	reader.Wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// An attempt to let the log start again may take too long on a busy machine.
	failed := int64(strings.Count(log.String(), "longer than it should be"))
	t.Logf("%d MiB were written, the log had %d at most, %d attempts have failed", times*commitBytes>>20, longest>>20, failed)
	const oneCommit = commitBytes + commitBytes/32 // with the heads of pages, and the pages that lead to them
	if most := promised + oneCommit + failed*(usualLimits.grown*frameBytes+oneCommit); longest > most {
		t.Errorf("the log grew to %d MiB, want %d at most", longest>>20, most>>20)
	}
	if longest < usualLimits.pages*frameBytes {
		t.Error("the log was never long: the test shows nothing")
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
