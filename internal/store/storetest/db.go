package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/chargehand/chargehand/internal/store"
)

var dbTests = map[string]func(*fixture){
	"view sees what was updated":            viewSeesUpdate,
	"failed update is undone alone":         failedUpdateUndone,
	"panic is undone alone":                 panicUndone,
	"updates of one commit do not mix":      groupIsolation,
	"later updates do not see undone ones":  undoneUnseen,
	"view is a snapshot":                    viewSnapshot,
	"view cannot write":                     viewCannotWrite,
	"context bounds the wait only":          contextBoundsWait,
	"view ends with its context":            viewContext,
	"closed":                                closed,
	"values":                                values,
	"bytes may be kept":                     bytesKept,
	"same query inside its own rows":        nestedQuery,
	"row error stops and is returned":       rowError,
	"wrong arguments are refused":           wrongArguments,
	"a statement that fails writes nothing": failedStatement,
	"compact":                               compact,
	"more writers than places in the queue": manyWriters,
}

// put writes a value into meta, the smallest table.
func put(c store.Conn, name, value string) error {
	_, err := c.Exec(`INSERT INTO meta (name, value) VALUES (?1, ?2)`, name, []byte(value))
	return err
}

func (f *fixture) metaCount() int64 { return f.number(`SELECT COUNT(*) FROM meta`) }

func viewSeesUpdate(f *fixture) {
	for i := range 200 {
		name := fmt.Sprint(i)
		f.update(func(tx *store.Tx) error { return tx.SetMeta(name, []byte(name)) })
		f.view(func(r *store.Reader) error {
			v, err := r.Meta(name)
			if string(v) != name {
				f.Errorf("read %q right after writing %q", v, name)
			}
			return err
		})
	}
}

func failedUpdateUndone(f *fixture) {
	mine := errors.New("mine")
	err := f.db.Update(context.Background(), func(c store.Conn) error {
		if err := put(c, "lost", "x"); err != nil {
			return err
		}
		return mine
	})
	if err != mine {
		f.Errorf("the error came back as %v, want the very same", err)
	}
	if n := f.metaCount(); n != 0 {
		f.Errorf("%d rows of a failed update are there", n)
	}
}

func panicUndone(f *fixture) {
	err := f.db.Update(context.Background(), func(c store.Conn) error {
		if err := put(c, "lost", "x"); err != nil {
			return err
		}
		panic("a bug")
	})
	if err == nil || !strings.Contains(err.Error(), "a bug") {
		f.Errorf("a panic came back as %v", err)
	}
	// In the middle of a query, with a statement open.
	err = f.db.Update(context.Background(), func(c store.Conn) error {
		if err := put(c, "lost too", "x"); err != nil {
			return err
		}
		return c.Query(`SELECT name FROM meta`, func(store.Row) error { panic("inside rows") })
	})
	if err == nil || !strings.Contains(err.Error(), "inside rows") {
		f.Errorf("a panic came back as %v", err)
	}
	if n := f.metaCount(); n != 0 {
		f.Errorf("%d rows of updates that panicked are there", n)
	}
	f.update(func(tx *store.Tx) error { return tx.SetMeta("after", []byte{}) })
}

// behindOne runs fns so that all of them wait while another Update is running: they will
// be committed together where the dialect does so.
func (f *fixture) behindOne(fns []func(store.Conn) error) []error {
	started, release := make(chan struct{}), make(chan struct{})
	errs := make([]error, len(fns))
	var wg, ready sync.WaitGroup
	wg.Go(func() {
		err := f.db.Update(context.Background(), func(store.Conn) error {
			close(started)
			<-release
			return nil
		})
		if err != nil {
			f.Errorf("first update: %v", err)
		}
	})
	<-started
	for i, fn := range fns {
		ready.Add(1)
		wg.Go(func() {
			ready.Done()
			errs[i] = f.db.Update(context.Background(), fn)
		})
	}
	ready.Wait()
	close(release)
	wg.Wait()
	return errs
}

func groupIsolation(f *fixture) {
	mine := errors.New("mine")
	var fns []func(store.Conn) error
	for i := range 300 {
		fns = append(fns, func(c store.Conn) error {
			for part := range 3 {
				if err := put(c, fmt.Sprintf("%d/%d", i, part), "x"); err != nil {
					return err
				}
			}
			switch i % 4 {
			case 1:
				return mine
			case 2:
				panic(i)
			case 3:
				return put(c, fmt.Sprintf("%d/0", i), "again")
			}
			return nil
		})
	}
	for i, err := range f.behindOne(fns) {
		switch i % 4 {
		case 0:
			if err != nil {
				f.Errorf("update %d: %v", i, err)
			}
		case 1:
			if !errors.Is(err, mine) {
				f.Errorf("update %d: %v, want its own error", i, err)
			}
		case 2:
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("panicked: %d", i)) {
				f.Errorf("update %d: %v, want its own panic", i, err)
			}
		case 3:
			if !errors.Is(err, store.ErrConflict) {
				f.Errorf("update %d: %v, want ErrConflict", i, err)
			}
		}
		want := int64(0)
		if i%4 == 0 {
			want = 3
		}
		if n := f.number(`SELECT COUNT(*) FROM meta WHERE name LIKE ?1`, fmt.Sprintf("%d/%%", i)); n != want {
			f.Errorf("update %d left %d rows, want %d", i, n, want)
		}
	}
}

func undoneUnseen(f *fixture) {
	var fns []func(store.Conn) error
	for i := range 100 {
		fns = append(fns, func(c store.Conn) error {
			var n int64
			if err := c.Query(`SELECT COUNT(*) FROM meta`, func(r store.Row) error { n = r.Int(0); return nil }); err != nil {
				return err
			}
			if n != 0 {
				return fmt.Errorf("sees %d rows of another", n)
			}
			if err := put(c, fmt.Sprint(i), "x"); err != nil {
				return err
			}
			return errUndo
		})
	}
	for i, err := range f.behindOne(fns) {
		if !errors.Is(err, errUndo) {
			f.Errorf("update %d: %v", i, err)
		}
	}
}

var errUndo = errors.New("undo")

func viewSnapshot(f *fixture) {
	f.update(func(tx *store.Tx) error { return tx.SetMeta("v", []byte("1")) })
	f.view(func(r *store.Reader) error {
		before, err := r.Meta("v")
		if err != nil {
			return err
		}
		f.update(func(tx *store.Tx) error { return tx.SetMeta("v", []byte("2")) })
		after, err := r.Meta("v")
		if string(before) != "1" || string(after) != "1" {
			f.Errorf("one view read %s and then %s", before, after)
		}
		return err
	})
}

func viewCannotWrite(f *fixture) {
	if err := f.db.View(context.Background(), func(c store.Conn) error { return put(c, "x", "y") }); err == nil {
		f.Error("a view could write")
	}
	if n := f.metaCount(); n != 0 {
		f.Errorf("a view wrote %d rows", n)
	}
}

func contextBoundsWait(f *fixture) {
	ctx, cancel := context.WithCancel(context.Background())
	err := f.db.Update(ctx, func(c store.Conn) error {
		cancel()
		return put(c, "kept", "x")
	})
	if err != nil {
		f.Errorf("cancelled while it ran: %v, want nil, because it was written", err)
	}
	err = f.db.Update(ctx, func(c store.Conn) error {
		f.Error("ran with a context that had ended")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		f.Errorf("cancelled before: %v", err)
	}
	if n := f.metaCount(); n != 1 {
		f.Errorf("%d rows, want 1", n)
	}
}

func viewContext(f *fixture) {
	for i := range 10 {
		f.update(func(tx *store.Tx) error { return tx.SetMeta(fmt.Sprint(i), []byte("x")) })
	}
	ctx, cancel := context.WithCancel(context.Background())
	rows := 0
	err := f.db.View(ctx, func(c store.Conn) error {
		return c.Query(`SELECT name FROM meta`, func(store.Row) error {
			rows++
			cancel()
			return nil
		})
	})
	if !errors.Is(err, context.Canceled) || rows != 1 {
		f.Errorf("a view read %d rows after its context ended: %v", rows, err)
	}
	if err := f.db.View(ctx, func(store.Conn) error { return nil }); !errors.Is(err, context.Canceled) {
		f.Errorf("a view started after its context ended: %v", err)
	}
}

func closed(f *fixture) {
	var wg sync.WaitGroup
	var done, refused atomic.Int64
	running := make(chan struct{}, 100)
	for i := range 100 {
		wg.Go(func() {
			running <- struct{}{}
			err := f.db.Update(context.Background(), func(c store.Conn) error { return put(c, fmt.Sprint(i), "x") })
			switch {
			case err == nil:
				done.Add(1)
			case errors.Is(err, store.ErrUnavailable):
				refused.Add(1)
			default:
				f.Errorf("update during close: %v", err)
			}
		})
	}
	for range 50 {
		<-running
	}
	for range 2 {
		if err := f.db.Close(); err != nil {
			f.Errorf("close: %v", err)
		}
	}
	wg.Wait()
	if done.Load()+refused.Load() != 100 {
		f.Errorf("%d done and %d refused of 100", done.Load(), refused.Load())
	}
	if err := f.db.Update(context.Background(), func(store.Conn) error { return nil }); !errors.Is(err, store.ErrUnavailable) {
		f.Errorf("update after close: %v", err)
	}
	if err := f.db.View(context.Background(), func(store.Conn) error { return nil }); !errors.Is(err, store.ErrUnavailable) {
		f.Errorf("view after close: %v", err)
	}
	if err := f.db.Compact(context.Background()); !errors.Is(err, store.ErrUnavailable) {
		f.Errorf("compact after close: %v", err)
	}
	if err := f.db.Backup(context.Background(), filepath.Join(f.TempDir(), "copy")); !errors.Is(err, store.ErrUnavailable) {
		f.Errorf("backup after close: %v", err)
	}
}

func values(f *fixture) {
	err := f.db.View(context.Background(), func(c store.Conn) error {
		row := func(r store.Row) error {
			if !r.Null(0) || r.Bytes(0) != nil || r.Text(0) != "" || r.Int(0) != 0 {
				f.Errorf("nil came back as %v %q %d", r.Bytes(0), r.Text(0), r.Int(0))
			}
			if got := r.Bytes(1); r.Null(1) || got == nil || len(got) != 0 {
				f.Errorf("no bytes came back as %v", got)
			}
			if got := r.Bytes(2); !bytes.Equal(got, []byte{0, 255, 0}) {
				f.Errorf("bytes came back as %v", got)
			}
			if got := r.Text(3); got != "a\x00é😀" {
				f.Errorf("text came back as %q", got)
			}
			if got := [...]int64{r.Int(4), r.Int(5), r.Int(6)}; got != [...]int64{-1 << 63, 7, 1} {
				f.Errorf("numbers came back as %v", got)
			}
			return nil
		}
		return c.Query(`SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7`, row, nil, []byte{}, []byte{0, 255, 0}, "a\x00é😀", int64(-1<<63), 7, true)
	})
	if err != nil {
		f.Error(err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	f.update(func(tx *store.Tx) error { return tx.SetMeta("big", big) })
	f.view(func(r *store.Reader) error {
		got, err := r.Meta("big")
		if !bytes.Equal(got, big) {
			f.Errorf("1 MiB came back as %d other bytes", len(got))
		}
		return err
	})
}

func bytesKept(f *fixture) {
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.SetMeta("a", []byte("first")), tx.SetMeta("b", []byte("other")))
	})
	var all [][]byte
	err := f.db.View(context.Background(), func(c store.Conn) error {
		return c.Query(`SELECT value FROM meta ORDER BY name`, func(r store.Row) error {
			all = append(all, r.Bytes(0))
			return nil
		})
	})
	if err != nil || string(bytes.Join(all, []byte(" "))) != "first other" {
		f.Errorf("kept bytes are %q (%v)", all, err)
	}
}

func nestedQuery(f *fixture) {
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.SetMeta("a", []byte("1")), tx.SetMeta("b", []byte("2")))
	})
	const query = `SELECT name FROM meta WHERE name >= ?1 ORDER BY name`
	var got []string
	for range 2 { // the second time with cached statements
		err := f.db.View(context.Background(), func(c store.Conn) error {
			return c.Query(query, func(outer store.Row) error {
				name := outer.Text(0)
				return c.Query(query, func(inner store.Row) error {
					got = append(got, name+inner.Text(0))
					return nil
				}, name)
			}, "")
		})
		if err != nil {
			f.Error(err)
		}
	}
	if want := "aa ab bb aa ab bb"; strings.Join(got, " ") != want {
		f.Errorf("nested rows are %v, want %s", got, want)
	}
}

func rowError(f *fixture) {
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.SetMeta("a", []byte("1")), tx.SetMeta("b", []byte("2")))
	})
	err := f.db.View(context.Background(), func(c store.Conn) error {
		for range 3 {
			rows := 0
			err := c.Query(`SELECT name FROM meta`, func(store.Row) error {
				rows++
				return errUndo
			})
			if err != errUndo || rows != 1 {
				return fmt.Errorf("%d rows and error %v", rows, err)
			}
		}
		return nil
	})
	if err != nil {
		f.Error(err)
	}
}

func wrongArguments(f *fixture) {
	cases := map[string]func(store.Conn) error{
		"too few":  func(c store.Conn) error { _, err := c.Exec(`DELETE FROM meta WHERE name = ?1`); return err },
		"too many": func(c store.Conn) error { _, err := c.Exec(`DELETE FROM meta`, 1); return err },
		"type":     func(c store.Conn) error { _, err := c.Exec(`DELETE FROM meta WHERE name = ?1`, struct{}{}); return err },
		"syntax":   func(c store.Conn) error { _, err := c.Exec(`DELETE meta`); return err },
		"no table": func(c store.Conn) error { return c.Query(`SELECT 1 FROM nowhere`, nil) },
		"column type": func(c store.Conn) error {
			_, err := c.Exec(`INSERT INTO meta (name, value) VALUES ('n', ?1)`, 7)
			return err
		},
		"missing cell": func(c store.Conn) error { _, err := c.Exec(`INSERT INTO meta (name) VALUES ('n')`); return err },
	}
	for name, fn := range cases {
		err := f.db.Update(context.Background(), fn)
		if err == nil || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
			f.Errorf("%s: %v, want an error that is no sentinel", name, err)
		}
	}
	f.update(func(tx *store.Tx) error { return tx.SetMeta("fine", []byte{}) })
}

func failedStatement(f *fixture) {
	f.update(func(tx *store.Tx) error { return tx.SetMeta("b", []byte("taken")) })
	err := f.db.Update(context.Background(), func(c store.Conn) error {
		_, err := c.Exec(`INSERT INTO meta (name, value) VALUES ('a', ?1), ('b', ?1)`, []byte("x"))
		return err
	})
	if !errors.Is(err, store.ErrConflict) {
		f.Errorf("a name that is taken: %v, want ErrConflict", err)
	}
	if n := f.metaCount(); n != 1 {
		f.Errorf("%d rows, want 1: half a statement was written", n)
	}
}

func compact(f *fixture) {
	value := bytes.Repeat([]byte("x"), 10_000)
	f.update(func(tx *store.Tx) error {
		for i := range 500 {
			if err := tx.SetMeta(fmt.Sprint(i), value); err != nil {
				return err
			}
		}
		return nil
	})
	if err := f.db.Update(context.Background(), func(c store.Conn) error {
		_, err := c.Exec(`DELETE FROM meta WHERE name <> '7'`)
		return err
	}); err != nil {
		f.Fatal(err)
	}
	for range 2 {
		if err := f.Compact(context.Background()); err != nil {
			f.Fatal(err)
		}
	}
	f.view(func(r *store.Reader) error {
		v, err := r.Meta("7")
		if !bytes.Equal(v, value) {
			f.Error("the row that stayed has changed")
		}
		return err
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.Compact(ctx); !errors.Is(err, context.Canceled) {
		f.Errorf("compact with a context that has ended: %v", err)
	}
}

func manyWriters(f *fixture) {
	var wg sync.WaitGroup
	for i := range 3000 {
		wg.Go(func() {
			err := f.db.Update(context.Background(), func(c store.Conn) error { return put(c, fmt.Sprint(i), "x") })
			if err != nil {
				f.Errorf("update %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := f.metaCount(); n != 3000 {
		f.Errorf("%d rows of 3000 updates", n)
	}
}
