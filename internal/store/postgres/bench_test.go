package postgres_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

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

// BenchmarkInsertFinished measures executions per second by dialect and number of
// concurrent Updates, on the same disk and with durable commits, and the round trips and
// bytes that one takes.
func BenchmarkInsertFinished(b *testing.B) {
	pg := peer.StartPostgres(b, peer.PostgresOptions{Settings: []string{"shared_buffers = 256MB", "max_wal_size = 2GB"}})
	for _, clients := range []int{1, 64} {
		for _, name := range []string{"sqlite", "owner", "shared"} {
			b.Run(fmt.Sprintf("%s/%d", name, clients), func(b *testing.B) {
				var db store.DB
				switch name {
				case "sqlite":
					lite, err := sqlite.Open(sqlite.Options{Path: filepath.Join(b.TempDir(), "bench.db"), Owner: true})
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(func() { lite.Close() })
					db = lite
				case "owner":
					db = open(b, postgres.Options{URL: pg.NewDatabase(b)})
				default:
					db = open(b, postgres.Options{URL: pg.NewDatabase(b), Mode: postgres.Shared})
				}
				benchInsert(b, db, clients)
			})
		}
	}
}

func benchInsert(b *testing.B, db store.DB, clients int) {
	st := store.New(db)
	insert := func(n int64) error {
		e, o := trivial(n, time.Now().UnixMilli())
		return st.Update(b.Context(), func(tx *store.Tx) error { return tx.InsertFinished(&e, &o) })
	}
	if err := insert(0); err != nil { // statements are parsed now
		b.Fatal(err)
	}
	meter, _ := db.(*postgres.DB)
	trips := int64(0)
	if meter != nil {
		trips = postgres.Trips(meter)
	}
	var count atomic.Int64
	b.SetParallelism((clients + 1) / 2)
	if clients == 1 {
		b.SetParallelism(1)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if clients == 1 {
		for range b.N {
			if err := insert(count.Add(1)); err != nil {
				b.Fatal(err)
			}
		}
	} else {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := insert(count.Add(1)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "executions/s")
	if meter == nil || b.N < 2000 {
		return
	}
	b.ReportMetric(float64(postgres.Trips(meter)-trips)/float64(b.N), "trips/execution")
	err := db.View(b.Context(), func(c store.Conn) error {
		return c.Query(`SELECT pg_total_relation_size('execution') + pg_total_relation_size('outcome')`, func(r store.Row) error {
			b.ReportMetric(float64(r.Int(0))/float64(b.N), "bytes/execution")
			return nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRead measures a View of one execution with its outcome.
func BenchmarkRead(b *testing.B) {
	pg := peer.StartPostgres(b)
	db := open(b, postgres.Options{URL: pg.NewDatabase(b)})
	st := store.New(db)
	e, o := trivial(1, 1)
	if err := st.Update(b.Context(), func(tx *store.Tx) error { return tx.InsertFinished(&e, &o) }); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		err := st.View(b.Context(), func(r *store.Reader) error {
			_, err := r.ExecutionByID(1, chargehand.Live, e.ID)
			if err == nil {
				_, err = r.Outcome(e.No)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkByWorkflow(b *testing.B) {
	storetest.BenchmarkByWorkflow(b, open(b, postgres.Options{URL: peer.StartPostgres(b).NewDatabase(b)}))
}
