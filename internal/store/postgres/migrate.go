package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/chargehand/chargehand/internal/store/dialect"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// schema is the migrations that this binary knows.
type schema struct{ dialect.Schema }

func knownSchema() (schema, error) {
	known, err := dialect.NewSchema(migrationFiles, "migrations")
	return schema{known}, err
}

// pending reports whether the database needs migrations. Errors: dialect.ErrNewer.
func (k schema) pending(s *session) (bool, error) {
	r, err := s.ask("SELECT CASE WHEN to_regclass('goose_db_version') IS NULL THEN 0 ELSE 1 END")
	if err == nil && r.Int(0) == 1 {
		r, err = s.ask("SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied")
	}
	if err != nil {
		return false, mapError(err)
	}
	return k.Pending(r.Int(0), "dump")
}

// migrate brings the schema up to date, each migration in a transaction of its own. A
// process that comes second waits for the first, and finds nothing left to do. The session is only read with.
func (k schema) migrate(ctx context.Context, db *DB, current *session) error {
	if pending, err := k.pending(current); err != nil || !pending {
		return err
	}
	s, err := db.connect(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if err := k.lock(ctx, s); err != nil {
		return err
	}
	if pending, err := k.pending(s); err != nil || !pending {
		return err
	}
	db.options.Logger.Info("bringing the schema of the database up to date", "to", k.Target)
	return k.apply(ctx, db)
}

// lock waits for the lock of migrations, which goes with the session.
func (k schema) lock(ctx context.Context, s *session) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		r, err := s.ask(fmt.Sprintf("SELECT pg_try_advisory_lock(%d, %s)", migrationLock, lockSchema))
		if err != nil {
			return mapError(err)
		}
		if r.Int(0) == 1 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for another process that migrates the database: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

func (k schema) apply(ctx context.Context, db *DB) error {
	config, err := pgx.ParseConfig(db.options.URL)
	if err != nil {
		return errors.New("--database-url is not understood") // Open has parsed it before
	}
	config.DialFunc, config.ConnectTimeout = db.config.DialFunc, db.config.ConnectTimeout
	config.RuntimeParams["application_name"] = "chargehand migration"
	config.RuntimeParams["lock_timeout"] = "30s"
	return k.Apply(ctx, goose.DialectPostgres, stdlib.OpenDB(*config), mapError)
}
