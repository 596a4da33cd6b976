package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// TestConcurrentSavepointsOnlyWhenNeeded counts how often the Updates of a group run. One that fails before it has
// written costs the others nothing; one that has written is undone with all of its group, which runs again with
// savepoints, as do the next groups, until none has needed them for a while.
func TestConcurrentSavepointsOnlyWhenNeeded(t *testing.T) {
	db := openTest(t)
	own := errors.New("own")
	runs := make([]int, 3)
	group := func(name string, fail func(store.Conn) error) (fns []func(store.Conn) error) {
		clear(runs)
		for i := range runs {
			fns = append(fns, func(c store.Conn) error {
				runs[i]++
				if i == 1 {
					return fail(c)
				}
				return insertMeta(c, fmt.Sprint(name, i), 1)
			})
		}
		return fns
	}
	check := func(name string, errs []error, wantRuns string) {
		t.Helper()
		if errs[0] != nil || !errors.Is(errs[1], own) || errs[2] != nil {
			t.Errorf("%s: %v", name, errs)
		}
		if got := fmt.Sprint(runs); got != wantRuns {
			t.Errorf("%s: the updates ran %s times, want %s", name, got, wantRuns)
		}
	}
	refuse := func(store.Conn) error { return own }
	missed := func(c store.Conn) error {
		err := c.Query(`UPDATE meta SET value = 'y' WHERE name = 'none' RETURNING name`, func(store.Row) error { return nil })
		if err == nil {
			_, err = c.Exec(`DELETE FROM meta WHERE name = 'none'`)
		}
		return errors.Join(err, own)
	}
	taken := func(c store.Conn) error { return errors.Join(insertMeta(c, "none0", 1), own) } // the name is there
	written := func(c store.Conn) error { return errors.Join(insertMeta(c, "undone", 1), own) }
	returned := func(c store.Conn) error {
		err := c.Query(`UPDATE meta SET value = 'y' WHERE name = 'none0' RETURNING name`, func(store.Row) error { return own })
		return errors.Join(err, own)
	}
	check("before any write", queued(t, db, group("none", refuse)), "[1 1 1]")
	check("nothing was changed", queued(t, db, group("missed", missed)), "[1 1 1]")
	check("a statement was refused", queued(t, db, group("taken", taken)), "[1 1 1]")
	check("after a write", queued(t, db, group("written", written)), "[2 2 1]")
	for i := range carefulGroups / 2 { // queued makes two groups
		check("a group behind it", queued(t, db, group(fmt.Sprint("behind", i), written)), "[1 1 1]")
	}
	check("later", queued(t, db, group("later", returned)), "[2 2 1]")
	if n, want := count(t, db), int64(2*(5+carefulGroups/2)); n != want {
		t.Errorf("%d rows, want %d", n, want)
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
