package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

// TestConcurrentNodes lets two nodes write to the same rows. Sums must come out, and numbers that
// are given one after the other must have no gap.
func TestConcurrentNodes(t *testing.T) {
	t.Parallel()
	address := server(t).NewSchema(t)
	var nodes []*store.Store
	for range 2 {
		nodes = append(nodes, store.New(open(t, postgres.Options{URL: address, Mode: postgres.Shared})))
	}
	const items, each = 40, 30
	batch := store.Batch{ID: chargehand.BatchID{1}, Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1, Concurrency: 5, RequestedConcurrency: 5, Total: items}
	list := make([]store.Execution, items)
	err := nodes[0].Update(t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertBatch(&batch); err != nil {
			return err
		}
		for i := range list {
			list[i], _ = trivial(int64(i), 1_700_000_000_000)
			list[i].Status, list[i].Phase, list[i].State, list[i].FinishedMs = chargehand.Initial, chargehand.Pending, store.StateQueued, 0
			list[i].Batch, list[i].Item = batch.No, int64(i)
			if err := tx.InsertExecution(&list[i]); err != nil {
				return err
			}
		}
		w := store.Workflow{Account: 1, Name: "w", CreatedMs: 1}
		return tx.InsertWorkflow(&w)
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var final, conflicts atomic.Int64
	for n, st := range nodes {
		for i := range items { // both nodes end every item; one of them wins
			wg.Go(func() {
				var last bool
				err := st.Update(context.Background(), func(tx *store.Tx) (err error) {
					_, o := trivial(0, 0)
					last, err = tx.FinishExecution(list[i].No, chargehand.Finished, chargehand.Completed, 1, 2, &o)
					return err
				})
				switch {
				case errors.Is(err, store.ErrConflict):
					conflicts.Add(1)
				case err != nil:
					t.Error(err)
				case last:
					final.Add(1)
				}
			})
		}
		for i := range each {
			wg.Go(func() {
				d := store.Definition{Account: 1, Digest: make([]byte, 32), MediaType: "x", Source: []byte("s")}
				d.Digest[0] = byte(i)
				v := store.Revision{Workflow: 1, Version: "1.0.0", CreatedMs: 1}
				err := st.Update(context.Background(), func(tx *store.Tx) error {
					if err := tx.PutDefinition(&d); err != nil {
						return err
					}
					v.Definition = d.No
					return tx.InsertRevision(&v)
				})
				if err != nil {
					t.Errorf("node %d: %v", n, err)
				}
			})
		}
	}
	wg.Wait()
	if final.Load() != 1 || conflicts.Load() != items {
		t.Errorf("%d ends made the batch final and %d were conflicts, want 1 and %d", final.Load(), conflicts.Load(), items)
	}
	err = nodes[1].View(t.Context(), func(r *store.Reader) error {
		b, err := r.BatchByNo(batch.No)
		if b.Finished != items || b.Status != chargehand.BatchCompleted {
			t.Errorf("the batch is %+v", b)
		}
		v, failed := r.RevisionByVersion(1, "1.0.0", true)
		if v.Number != 2*each {
			t.Errorf("the last revision has number %d, want %d", v.Number, 2*each)
		}
		return errors.Join(err, failed)
	})
	if err != nil {
		t.Error(err)
	}
	db := open(t, postgres.Options{URL: address, Mode: postgres.Shared})
	storetest.CheckInvariants(t, db)
}

// TestConcurrentDeadlock makes two Updates lock two rows crosswise, again and again. Each must
// succeed in the end, and count once.
func TestConcurrentDeadlock(t *testing.T) {
	t.Parallel()
	address := server(t).NewSchema(t)
	a := open(t, postgres.Options{URL: address, Mode: postgres.Shared})
	b := open(t, postgres.Options{URL: address, Mode: postgres.Shared})
	for _, name := range []string{"x", "y"} {
		if err := store.New(a).Update(t.Context(), func(tx *store.Tx) error { return tx.SetMeta(name, empty) }); err != nil {
			t.Fatal(err)
		}
	}
	var runs atomic.Int64
	const rounds = 4
	for round := range rounds {
		var wg sync.WaitGroup
		var met sync.WaitGroup
		met.Add(2)
		for i, db := range []*postgres.DB{a, b} {
			order := []string{"x", "y"}
			if i == 1 {
				order = []string{"y", "x"}
			}
			wg.Go(func() {
				first := true
				err := db.Update(context.Background(), func(c store.Conn) error {
					runs.Add(1)
					for k, name := range order {
						if _, err := c.Exec(`UPDATE meta SET value = value || ?2 WHERE name = ?1`, name, []byte{byte(round)}); err != nil {
							return err
						}
						if k == 0 && first { // both have one row now
							first = false
							met.Done()
							met.Wait()
						}
					}
					return nil
				})
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wg.Wait()
	}
	if runs.Load() <= 2*rounds {
		t.Error("nothing ran twice: the test shows nothing")
	}
	err := store.New(b).View(t.Context(), func(r *store.Reader) error {
		for _, name := range []string{"x", "y"} {
			v, err := r.Meta(name)
			if err != nil {
				return err
			}
			if want := []byte{0, 0, 1, 1, 2, 2, 3, 3}; !bytes.Equal(v, want) {
				t.Errorf("%s is %v, want %v", name, v, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPutOff checks errors of statements that were put off: they belong to their own Update,
// also when it shares the transaction with others.
func TestPutOff(t *testing.T) {
	t.Parallel()
	db := open(t, postgres.Options{URL: server(t).NewSchema(t)})
	st := store.New(db)
	if err := st.Update(t.Context(), func(tx *store.Tx) error {
		return tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: 1, Command: 1})
	}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			command := uint64(100 + i)
			if i%3 == 0 {
				command = 1 // taken
			}
			err := st.Update(context.Background(), func(tx *store.Tx) error {
				if err := tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: 1, Command: uint64(1000 + i)}); err != nil {
					return err
				}
				if err := tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: 1, Command: command}); err != nil {
					return err
				}
				return tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: 1, Command: uint64(2000 + i)})
			})
			if i%3 == 0 != errors.Is(err, store.ErrConflict) || i%3 != 0 && err != nil {
				t.Errorf("update %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	err := st.View(t.Context(), func(r *store.Reader) error {
		timers, err := r.Timers(1)
		if want := 1 + 3*133; len(timers) != want {
			t.Errorf("%d timers, want %d", len(timers), want)
		}
		for _, tm := range timers {
			if tm.Command >= 1000 && tm.Command%1000%3 == 0 {
				t.Errorf("command %d of an update that failed is there", tm.Command)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestTrips: an Update of one statement costs two round trips, that of the statement and that of COMMIT, with which the
// sums of usage travel.
func TestTrips(t *testing.T) {
	t.Parallel()
	pg := server(t)
	for _, mode := range []postgres.Mode{postgres.Owner, postgres.Shared} {
		for _, counts := range []bool{false, true} {
			t.Run(fmt.Sprintf("mode %d counts %t", mode, counts), func(t *testing.T) {
				t.Parallel()
				db := open(t, postgres.Options{URL: pg.NewSchema(t), Mode: mode, Writers: 1})
				least := int64(math.MaxInt64) // what runs in the background costs trips too
				for i := range 10 {
					before := postgres.Trips(db)
					err := db.Update(t.Context(), func(c store.Conn) error {
						if counts {
							c.Count(store.UsageChange{UsageOwner: store.UsageOwner{Account: 1}, Usage: store.Usage{Users: 1}})
						}
						_, err := c.Exec(`INSERT INTO meta (name, value) VALUES (?1, ?2)`, fmt.Sprint(i), []byte("x"))
						return err
					})
					if err != nil {
						t.Fatal(err)
					}
					least = min(least, postgres.Trips(db)-before)
				}
				if least != 2 {
					t.Errorf("an Update costs %d round trips, want 2", least)
				}
			})
		}
	}
}
