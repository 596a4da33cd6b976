package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

// TestConcurrentUnknownOutcome loses the connection at the moment of COMMIT, before or after the server has got it, and
// keeps the server out of reach until the Update gives up asking. It may not say that nothing was written.
func TestConcurrentUnknownOutcome(t *testing.T) {
	t.Parallel()
	pg := server(t)
	for _, mode := range []postgres.Mode{postgres.Owner, postgres.Shared} {
		for _, arrives := range []bool{true, false} {
			t.Run(fmt.Sprintf("mode %d arrives %t", mode, arrives), func(t *testing.T) {
				t.Parallel()
				address := pg.NewSchema(t)
				p := newProxy(t, pg)
				db := open(t, postgres.Options{URL: p.at(t, address), Mode: mode, Writers: 1})
				postgres.SetResolveTime(db, 200*time.Millisecond)
				if err := setMeta(db, "before"); err != nil { // the session is open from here on
					t.Fatal(err)
				}
				var commit, cut atomic.Bool
				p.watch(func(data []byte) bool {
					if !bytes.Contains(data, []byte("COMMIT")) || commit.Swap(true) {
						return false
					}
					if !arrives {
						cut.Store(true)
						p.freeze(true)
					}
					return !arrives
				})
				p.cutAnswers(func() bool {
					if !arrives || !commit.Load() || cut.Swap(true) {
						return false
					}
					p.freeze(true)
					return true
				})
				const name = "of unknown outcome"
				err := db.Update(context.Background(), func(c store.Conn) error {
					_, err := c.Exec(`INSERT INTO meta (name, value) VALUES (?1, ?2)`, name, []byte("x"))
					return err
				})
				if !cut.Load() {
					t.Fatal("nothing was cut: the test shows nothing")
				}
				if !errors.Is(err, store.ErrInDoubt) || !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("update: %v, want ErrInDoubt and ErrUnavailable", err)
				}
				if err := setMeta(db, "away"); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrInDoubt) {
					t.Errorf("update without a server: %v, want ErrUnavailable alone", err)
				}
				p.watch(nil)
				p.cutAnswers(nil)
				p.freeze(false)
				if mode == postgres.Owner && arrives { // what it knows of the rows is stale
					until(t, "the owner gives up", func() error {
						if err := setMeta(db, "after"); !errors.Is(err, postgres.ErrLost) {
							return fmt.Errorf("a write behind a commit that was reported as in doubt: %v, want ErrLost", err)
						}
						return nil
					})
				} else {
					until(t, "write afterwards", func() error { return setMeta(db, "after") })
				}
				names := metaNames(t, open(t, postgres.Options{URL: address, Mode: postgres.Shared}))
				if names[name] != arrives || names["away"] {
					t.Errorf("the database has %v; COMMIT has arrived: %t", names, arrives)
				}
			})
		}
	}
}
