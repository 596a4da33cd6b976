package postgres_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/postgres/postgrestest"
)

// kept hands out empty databases of one mode. Hundreds of tests want one, and its schema and connections take longer
// to make than most of the tests: a database that a test has left in good order is wiped and used again. Of an owner,
// which takes numbers of the sequences in advance, only the schema is.
type kept struct {
	t       *testing.T // opens the databases, and so closes them when all is over
	pg      *peer.Postgres
	mode    postgres.Mode
	free    chan *keptDB
	schemas postgrestest.Schemas
}

func newKept(t *testing.T, mode postgres.Mode) *kept {
	t.Helper()
	return &kept{t: t, pg: server(t), mode: mode, free: make(chan *keptDB, 1000)}
}

// keptDB knows whether a test has closed it.
type keptDB struct {
	*postgres.DB
	closed atomic.Bool
}

func (d *keptDB) Close() error {
	d.closed.Store(true)
	return d.DB.Close()
}

func (k *kept) open(t *testing.T) store.DB {
	t.Helper()
	if k.mode == postgres.Owner {
		return open(t, postgres.Options{URL: k.schemas.New(t, k.pg), Mode: k.mode, Writers: 2})
	}
	var db *keptDB
	select {
	case db = <-k.free:
	default:
		db = &keptDB{DB: open(k.t, postgres.Options{URL: k.schemas.New(k.t, k.pg), Mode: k.mode, Writers: 2})}
	}
	t.Cleanup(func() {
		if t.Failed() || db.closed.Load() {
			return
		}
		err := db.Update(context.Background(), func(c store.Conn) error {
			_, err := c.Exec(postgrestest.Wipe)
			return err
		})
		if err != nil {
			t.Errorf("wipe the database: %v", err)
			return
		}
		k.free <- db
	})
	return db
}
