package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

// outcomes are the names of Updates: refused are those of which nothing may be there, of those inDoubt it may.
type outcomes struct{ confirmed, refused, inDoubt []string }

// writeThrough writes from several goroutines, calls disturb when some of it was confirmed,
// and continues until something is confirmed after it.
func writeThrough(tb testing.TB, db store.DB, round int, disturb func()) (o outcomes) {
	tb.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	confirmed := 0
	enough, done := make(chan struct{}), make(chan struct{})
	for i := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				name := fmt.Sprintf("%d/%d/%d", round, i, n)
				err := writeMeta(db, name, int64(round<<40|i<<32|n))
				mu.Lock()
				switch {
				case err == nil:
					o.confirmed = append(o.confirmed, name)
					if confirmed++; confirmed == 200 {
						close(enough)
					}
				case errors.Is(err, store.ErrInDoubt):
					o.inDoubt = append(o.inDoubt, name)
				case errors.Is(err, store.ErrUnavailable):
					o.refused = append(o.refused, name)
				default:
					tb.Errorf("%s: %v, want ErrUnavailable", name, err)
				}
				mu.Unlock()
				if err != nil {
					time.Sleep(5 * time.Millisecond) // as a caller does that tries again
				}
			}
		})
	}
	<-enough
	disturb()
	until(tb, "write afterwards", func() error { return setMeta(db, "back") })
	close(done)
	wg.Wait()
	return o
}

// TestConcurrentCommitInDoubt loses the connection at the moment of COMMIT, before or after the
// server has got it. The Update tells the truth either way.
func TestConcurrentCommitInDoubt(t *testing.T) {
	t.Parallel()
	pg := server(t)
	for _, mode := range []postgres.Mode{postgres.Owner, postgres.Shared} {
		for _, arrives := range []bool{true, false} {
			t.Run(fmt.Sprintf("mode %d arrives %t", mode, arrives), func(t *testing.T) {
				t.Parallel()
				p := newProxy(t, pg)
				db := open(t, postgres.Options{URL: p.at(t, pg.NewSchema(t)), Mode: mode, Writers: 1})
				if err := setMeta(db, "before"); err != nil { // the session is open from here on
					t.Fatal(err)
				}
				var row, commit, unanswered atomic.Bool
				name := "marker of the update in doubt"
				p.watch(func(data []byte) bool {
					if bytes.Contains(data, []byte(name)) {
						row.Store(true)
						return false
					}
					// The batch with the row was answered before the first COMMIT is sent.
					return row.Load() && bytes.Contains(data, []byte("COMMIT")) && !commit.Swap(true) && !arrives
				})
				if arrives {
					p.cutAnswers(func() bool { return commit.Load() && !unanswered.Swap(true) })
				}
				err := db.Update(context.Background(), func(c store.Conn) error {
					_, err := c.Exec(`INSERT INTO meta (name, value) VALUES (?1, ?2)`, name, []byte("x"))
					return err
				})
				p.watch(nil)
				p.cutAnswers(nil)
				there := metaNames(t, db)[name]
				if !commit.Load() || arrives && !unanswered.Load() {
					t.Fatal("nothing was cut: the test shows nothing")
				}
				if arrives && (err != nil || !there) {
					t.Errorf("COMMIT arrived: %v, there: %t", err, there)
				}
				if !arrives && (!errors.Is(err, store.ErrUnavailable) || there) {
					t.Errorf("COMMIT got lost: %v, want ErrUnavailable; there: %t", err, there)
				}
				if err := setMeta(db, "after"); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			})
		}
	}
}

// TestClientGoneInTransaction leaves a transaction open and cuts the connection.
func TestClientGoneInTransaction(t *testing.T) {
	t.Parallel()
	pg := server(t)
	address := pg.NewSchema(t)
	p := newProxy(t, pg)
	db := open(t, postgres.Options{URL: p.at(t, address), Mode: postgres.Shared})
	other := open(t, postgres.Options{URL: address, Mode: postgres.Shared})
	first := true
	err := db.Update(t.Context(), func(c store.Conn) error {
		if !first {
			return errGivenUp
		}
		first = false
		if _, err := c.Exec(`INSERT INTO meta (name, value) VALUES ('lost', ?1)`, []byte("x")); err != nil {
			return err
		}
		p.cut()
		_, err := c.Exec(`INSERT INTO meta (name, value) VALUES ('lost too', ?1)`, []byte("x"))
		return err
	})
	if !errors.Is(err, errGivenUp) {
		t.Errorf("update whose connection was cut: %v, want a second run", err)
	}
	if names := metaNames(t, other); len(names) != 0 {
		t.Errorf("the database has %v", names)
	}
	if err := setMeta(other, "lost"); err != nil { // nothing of it is locked
		t.Error(err)
	}
}

var errGivenUp = errors.New("given up")
