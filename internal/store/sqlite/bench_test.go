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
		Input: store.Payload{Inline: make([]byte, 64)},
	}
	binary.BigEndian.PutUint64(e.ID[:], uint64(nowMs)<<16|uint64(0x7000))
	binary.BigEndian.PutUint64(e.ID[8:], uint64(n))
	return e, store.Outcome{Output: store.Payload{Inline: make([]byte, 24)}, Timeline: make([]byte, 60)}
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
