package postgres_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

// kept hands out empty databases of one mode. Hundreds of tests want one, and its schema and connections take longer
// to make than most of the tests: a database that a test has left in good order is wiped and used again.
type kept struct {
	t    *testing.T // opens the databases, and so closes them when all is over
	pg   *peer.Postgres
	mode postgres.Mode
	free chan *keptDB
}

func newKept(t *testing.T, mode postgres.Mode) *kept {
	t.Helper()
	return &kept{t: t, pg: server(t), mode: mode, free: make(chan *keptDB, 1000)}
}

// keptDB knows whether a test has closed it.
type keptDB struct {
	*postgres.DB // nil: only the schema is kept
	address      string
	closed       atomic.Bool
}

func (d *keptDB) Close() error {
	d.closed.Store(true)
	return d.DB.Close()
}

func (k *kept) open(t *testing.T) store.DB {
	t.Helper()
	var db *keptDB
	select {
	case db = <-k.free:
	default:
		db = &keptDB{address: migrated(t, k.pg)}
	}
	if db.DB == nil {
		db.DB = open(k.t, postgres.Options{URL: db.address, Mode: k.mode, Writers: 2})
	}
	t.Cleanup(func() {
		if t.Failed() || db.closed.Load() {
			return
		}
		err := db.Update(context.Background(), func(c store.Conn) error {
			_, err := c.Exec(wipe)
			return err
		})
		if err == nil && k.mode == postgres.Owner { // which has taken numbers of the sequences in advance
			err = db.DB.Close()
			db.DB = nil
		}
		if err != nil {
			t.Errorf("wipe the database: %v", err)
			return
		}
		k.free <- db
	})
	return db
}

// wipe makes a schema as it was after its migrations.
const wipe = `DO $$ DECLARE r record; BEGIN
 FOR r IN SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema AND tablename <> 'goose_db_version' LOOP
  EXECUTE format('DELETE FROM %I', r.name);
 END LOOP;
 FOR r IN SELECT sequencename AS name FROM pg_sequences WHERE schemaname = current_schema LOOP
  EXECUTE format('ALTER SEQUENCE %I RESTART', r.name);
 END LOOP;
END $$`

// migrated is the address of a new schema with all migrations.
func migrated(t *testing.T, pg *peer.Postgres) string {
	t.Helper()
	address := pg.NewSchema(t)
	_, schema, _ := strings.Cut(address, "search_path=")
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("migrations %v: %v", files, err)
	}
	text := "SET search_path = " + schema + ";\nCREATE TABLE goose_db_version (version_id bigint, is_applied boolean);\n"
	for _, file := range files {
		version, err := strconv.Atoi(filepath.Base(file)[:5])
		if err != nil {
			t.Fatal(err)
		}
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(part) + fmt.Sprintf("\nINSERT INTO goose_db_version VALUES (%d, true);\n", version)
	}
	pg.Exec(t, "postgres", text)
	return address
}
