package postgrestest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

// Schemas are schemas of one server with all migrations. The zero value has none. Tests may use it side by side.
type Schemas struct {
	mu   sync.Mutex
	free []string // addresses of those that no test uses
}

// New is the address of a schema without any rows, for this test alone. Its connections are closed when the test ends,
// by a Cleanup that comes after this call.
func (s *Schemas) New(t testing.TB, pg *peer.Postgres) string {
	t.Helper()
	address := s.take()
	if address == "" {
		address = pg.NewSchema(t)
		db, err := postgres.Open(context.Background(), postgres.Options{URL: address, Mode: postgres.Shared, Writers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			return // it shows what went wrong
		}
		_, schema, _ := strings.Cut(address, "search_path=")
		pg.Exec(t, "postgres", fmt.Sprintf("SET search_path = %s; %s", schema, Wipe))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, address)
	})
	return address
}

func (s *Schemas) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return ""
	}
	last := len(s.free) - 1
	address := s.free[last]
	s.free = s.free[:last]
	return address
}

// Wipe makes the schema of a connection as it was after its migrations.
const Wipe = `DO $$ DECLARE r record; BEGIN
 FOR r IN SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema AND tablename <> 'goose_db_version' LOOP
  EXECUTE format('DELETE FROM %I', r.name);
 END LOOP;
 FOR r IN SELECT sequencename AS name FROM pg_sequences WHERE schemaname = current_schema LOOP
  EXECUTE format('ALTER SEQUENCE %I RESTART', r.name);
 END LOOP;
END $$`
