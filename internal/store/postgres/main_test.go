package postgres_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

// shared is the server of all tests that do not harm it.
var shared struct {
	once   sync.Once
	server *peer.Postgres
}

func TestMain(m *testing.M) {
	code := m.Run()
	shared.server.Stop()
	os.Exit(code)
}

func server(tb testing.TB) *peer.Postgres {
	tb.Helper()
	shared.once.Do(func() { shared.server = peer.StartPostgres(tb, peer.PostgresOptions{Careless: true, Keep: true}) })
	if shared.server == nil {
		tb.Skip("there is no PostgreSQL on this machine; the first test says why")
	}
	return shared.server
}

// open opens a database, as its owner where there is one.
func open(tb testing.TB, o postgres.Options) *postgres.DB {
	tb.Helper()
	db, err := postgres.Open(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	if o.Mode == postgres.Owner {
		if err := db.AwaitOwner(context.Background()); err != nil {
			tb.Fatal(err)
		}
	}
	return db
}

func setMeta(db store.DB, name string) error {
	return store.New(db).Update(context.Background(), func(tx *store.Tx) error { return tx.SetMeta(name, []byte(name)) })
}

// writeMeta is setMeta with a change of usage.
func writeMeta(db store.DB, name string, member int64) error {
	return store.New(db).Update(context.Background(), func(tx *store.Tx) error {
		if err := tx.InsertMember(&store.Member{Account: 1, Person: store.Person{No: member}, Status: store.Active}); err != nil {
			return err
		}
		return tx.SetMeta(name, []byte(name))
	})
}

func metaNames(tb testing.TB, db store.DB) map[string]bool {
	tb.Helper()
	names := map[string]bool{}
	err := db.View(context.Background(), func(c store.Conn) error {
		return c.Query(`SELECT name FROM meta`, func(r store.Row) error {
			names[r.Text(0)] = true
			return nil
		})
	})
	if err != nil {
		tb.Fatal(err)
	}
	return names
}
