package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

func TestURL(t *testing.T) {
	const secret = "s3cr3t"
	for _, address := range []string{
		"", "data.db", "mysql://u:" + secret + "@h/d", "postgres://u:" + secret + "/x@h:5432/d", "postgres://u:" + secret + "@h:port/d",
		"postgres://u:" + secret + "@h/d?sslmode=" + secret, "postgres://u:" + secret + "@h/d?connect_timeout=x", "postgres://u:%zz" + secret + "@h/d",
		"postgres://u:p@w#" + secret + "@127.0.0.1:1/d", "postgres://u:12/" + secret + "@127.0.0.1:1/d", "postgres://u:12?" + secret + "@127.0.0.1:1/d",
		"postgres://u:" + secret + "@127.0.0.1:1/d", "postgres://u:" + secret + "@127.0.0.1:1/d?sslrootcert=/nowhere/" + "x",
	} {
		_, err := postgres.Open(t.Context(), postgres.Options{URL: address})
		if err == nil || !strings.Contains(err.Error(), "--database-url") {
			t.Errorf("%q: %v, want an error that names the flag", address, err)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the error tells the password: %v", address, err)
		}
	}
}

// TestConcurrentManyAtOnce opens an empty database from many processes, as a roll-out does.
func TestConcurrentManyAtOnce(t *testing.T) {
	t.Parallel()
	address := server(t).NewSchema(t)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			db, err := postgres.Open(context.Background(), postgres.Options{URL: address, Mode: postgres.Shared, Writers: 1})
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			if err := setMeta(db, strings.Repeat("x", i+1)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(metaNames(t, open(t, postgres.Options{URL: address, Mode: postgres.Shared}))); n != 6 {
		t.Errorf("%d rows", n)
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	address := server(t).NewSchema(t)
	db := open(t, postgres.Options{URL: address, Mode: postgres.Shared})
	err := db.Update(t.Context(), func(c store.Conn) error {
		_, err := c.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []postgres.Mode{postgres.Owner, postgres.Shared} {
		_, err := postgres.Open(t.Context(), postgres.Options{URL: address, Mode: mode})
		if !errors.Is(err, dialect.ErrNewer) || !strings.Contains(err.Error(), "schema 9999") {
			t.Errorf("mode %d: %v, want ErrNewer with the number", mode, err)
		}
	}
}

// TestSettings looks at what a session must not leave to the server's configuration.
func TestSettings(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	pg := server(t)
	address := pg.NewDatabase(t)
	name := address[strings.LastIndex(address, "/")+1 : strings.Index(address, "?")]
	pg.Exec(t, "postgres", "ALTER DATABASE "+name+" SET synchronous_commit = off")
	db := open(t, postgres.Options{URL: address, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	got := map[string]string{}
	err := db.Update(t.Context(), func(c store.Conn) error {
		return c.Query(`SELECT name, setting FROM pg_settings`, func(r store.Row) error {
			got[r.Text(0)] = r.Text(1)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{
		"synchronous_commit": "on", "statement_timeout": "10000", "idle_in_transaction_session_timeout": "8000",
		"idle_session_timeout": "8000", "tcp_user_timeout": "5000", "tcp_keepalives_idle": "2", "application_name": "chargehand",
	} {
		if got[setting] != want {
			t.Errorf("%s is %q, want %q", setting, got[setting], want)
		}
	}
	if !strings.Contains(log.String(), "fsync") {
		t.Errorf("nothing is said about a server without fsync: %s", log.String())
	}
	if err := db.Backup(t.Context(), t.TempDir()+"/copy"); err == nil || !strings.Contains(err.Error(), "pg_dump") {
		t.Errorf("backup: %v, want a word about pg_dump", err)
	}
}

func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	pg := server(t)
	address := pg.NewDatabase(t)
	db := open(t, postgres.Options{URL: address, Mode: postgres.Shared})
	if err := setMeta(db, "before"); err != nil {
		t.Fatal(err)
	}
	err := db.Update(t.Context(), func(c store.Conn) error {
		if _, err := c.Exec(`SET LOCAL transaction_read_only = on`); err != nil {
			return err
		}
		_, err := c.Exec(`DELETE FROM meta`)
		return err
	})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write where none is allowed: %v, want ErrUnavailable", err)
	}
	if err := setMeta(db, "after"); err != nil {
		t.Error(err)
	}
}
