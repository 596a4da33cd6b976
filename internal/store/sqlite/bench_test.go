package sqlite_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

func open(tb testing.TB, path string) *store.Store {
	tb.Helper()
	db, err := sqlite.Open(sqlite.Options{Path: path, Owner: true})
	if err != nil {
		tb.Fatal(err)
	}
	st := store.New(db)
	tb.Cleanup(func() {
		if err := st.Close(); err != nil {
			tb.Error(err)
		}
	})
	return st
}

// trivial is the finished execution of a workflow with one set task: 64 bytes of input.
func trivial(n int64, nowMs int64) (store.Execution, store.Outcome) {
	e := store.Execution{
		Account: 1, Environment: chargehand.Live, Workflow: 3, Revision: 7, Machine: 1,
		Status: chargehand.Finished, Phase: chargehand.Completed, StartedMs: nowMs, FinishedMs: nowMs,
		Input: store.Payload{Inline: make([]byte, 64), Size: 64},
	}
	binary.BigEndian.PutUint64(e.ID[:], uint64(nowMs)<<16|uint64(0x7000))
	binary.BigEndian.PutUint64(e.ID[8:], uint64(n))
	return e, store.Outcome{Output: store.Payload{Inline: make([]byte, 24), Size: 24}, Timeline: make([]byte, 60)}
}

// BenchmarkInsertFinished measures executions per second by the number of concurrent
// Updates, and the bytes that one takes on the disk.
func BenchmarkInsertFinished(b *testing.B) {
	for _, clients := range []int{1, 8, 32, 64, 128, 512} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "bench.db")
			st := open(b, path)
			var count atomic.Int64
			b.SetParallelism((clients + 1) / 2)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					e, o := trivial(count.Add(1), time.Now().UnixMilli())
					if err := st.Update(b.Context(), func(tx *store.Tx) error { return tx.InsertFinished(&e, &o) }); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "executions/s")
			if b.N < 10_000 {
				return
			}
			if err := st.Compact(b.Context()); err != nil {
				b.Fatal(err)
			}
			var bytes int64
			for _, suffix := range []string{"", "-wal"} {
				if info, err := os.Stat(path + suffix); err == nil {
					bytes += info.Size()
				}
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "bytes/execution")
		})
	}
}

func BenchmarkOpenEmpty(b *testing.B) {
	for range b.N {
		db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(b.TempDir(), "new.db"), Owner: true})
		if err != nil {
			b.Fatal(err)
		}
		db.Close()
	}
}

// fill inserts n finished executions over 20 workflows, one in 50 of them failed.
func fill(b *testing.B, st *store.Store, n int) {
	b.Helper()
	for done := 0; done < n; {
		err := st.Update(b.Context(), func(tx *store.Tx) error {
			for range 1000 {
				e, o := trivial(int64(done), 1_700_000_000_000+int64(done))
				e.Workflow = int64(1 + done%20)
				if done%50 == 0 {
					e.Status = chargehand.Errored
				}
				if err := tx.InsertFinished(&e, &o); err != nil {
					return err
				}
				done++
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := st.Compact(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStored measures the same requests with 1,000 and with 1,000,000 stored
// executions: lists, reads and starts must cost the same.
func BenchmarkStored(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "bench.db")
			st := open(b, path)
			fill(b, st, n)
			if info, err := os.Stat(path); err == nil {
				b.Logf("%d bytes per execution", info.Size()/int64(n))
			}
			view := func(b *testing.B, fn func(r *store.Reader, i int) error) {
				for i := range b.N {
					if err := st.View(b.Context(), func(r *store.Reader) error { return fn(r, i) }); err != nil {
						b.Fatal(err)
					}
				}
			}
			list := func(f store.ExecutionFilter) func(*testing.B) {
				f.Account, f.Environment, f.Limit = 1, chargehand.Live, 101
				return func(b *testing.B) {
					view(b, func(r *store.Reader, i int) error {
						f := f
						if i%2 == 1 { // from the middle
							e, _ := trivial(int64(n/2), 1_700_000_000_000+int64(n/2))
							f.After = store.CursorAt(&e)
						}
						got, err := r.ListExecutions(f)
						if len(got) == 0 {
							b.Fatal("nothing is listed")
						}
						return err
					})
				}
			}
			b.Run("list", list(store.ExecutionFilter{}))
			b.Run("list by workflow", list(store.ExecutionFilter{Workflow: 7}))
			b.Run("list by status", list(store.ExecutionFilter{Statuses: []chargehand.Status{chargehand.Errored}}))
			b.Run("list created before", list(store.ExecutionFilter{Workflow: 7, CreatedBeforeMs: 1_700_000_000_000 + int64(n)*2/3}))
			b.Run("read", func(b *testing.B) {
				view(b, func(r *store.Reader, i int) error {
					k := i * 7919 % n
					e, _ := trivial(int64(k), 1_700_000_000_000+int64(k))
					e, err := r.ExecutionByID(1, chargehand.Live, e.ID)
					if err == nil {
						_, err = r.Outcome(e.No)
					}
					return err
				})
			})
			b.Run("start", func(b *testing.B) {
				for i := range b.N {
					e, o := trivial(int64(b.N)<<40|int64(i), 1_800_000_000_000)
					if err := st.Update(b.Context(), func(tx *store.Tx) error { return tx.InsertFinished(&e, &o) }); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkBatch measures a batch of 10,000 items: accepted in one Update, then ended 50
// per Update.
func BenchmarkBatch(b *testing.B) {
	const items = 10_000
	for i := range b.N {
		st := open(b, filepath.Join(b.TempDir(), "bench.db"))
		started := time.Now()
		list := make([]store.Execution, items)
		batch := store.Batch{ID: chargehand.BatchID{byte(i)}, Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1, Concurrency: 50, RequestedConcurrency: 50, Total: items}
		err := st.Update(b.Context(), func(tx *store.Tx) error {
			if err := tx.InsertBatch(&batch); err != nil {
				return err
			}
			for j := range list {
				list[j], _ = trivial(int64(j), 1_700_000_000_000)
				list[j].Status, list[j].Phase, list[j].State, list[j].FinishedMs = chargehand.Initial, chargehand.Pending, store.StateQueued, 0
				list[j].Batch, list[j].Item = batch.No, int64(j)
				if err := tx.InsertExecution(&list[j]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(started).Seconds()*1000, "accept-ms")
		started = time.Now()
		for from := 0; from < items; from += 50 {
			err := st.Update(b.Context(), func(tx *store.Tx) error {
				next, err := tx.QueuedItems(batch.No, 50)
				if err != nil {
					return err
				}
				for k := range next {
					_, o := trivial(0, 0)
					if _, err := tx.FinishExecution(next[k].No, chargehand.Finished, chargehand.Completed, 1, 2, &o); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(time.Since(started).Seconds()*1000, "finish-ms")
		st.Close()
	}
}

func BenchmarkByWorkflow(b *testing.B) {
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(b.TempDir(), "db"), Owner: true})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	storetest.BenchmarkByWorkflow(b, db)
}
