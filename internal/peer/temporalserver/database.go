package main

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	temporalsql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/schema"
	postgresschema "go.temporal.io/server/schema/postgresql/v12"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

// postgresConns bounds each of up to nine pools of the process (each service has one to
// either database), so that a PostgreSQL of 100 connections has some for others.
const postgresConns = 8

// database is where executions are, and where they are searched.
type database struct {
	main, search *config.SQL
}

// openSQLite uses one file for both. What was committed when the process is killed is in the
// write-ahead log, which the operating system has; only a machine that loses its power could
// lose the last of it.
func openSQLite(file string) (database, error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		if err := makeSQLite(file); err != nil {
			return database{}, fmt.Errorf("make the schema in %s: %w", file, err)
		}
	} else if err != nil {
		return database{}, err
	}
	cfg := &config.SQL{
		PluginName:   sqlite.PluginName,
		DatabaseName: file,
		ConnectAttributes: map[string]string{
			"mode": "rw", "journal_mode": "wal", "synchronous": "normal", "busy_timeout": "10000",
		},
	}
	return database{main: cfg, search: cfg}, nil
}

// makeSQLite leaves a whole database or none, also when it is killed.
func makeSQLite(file string) error {
	unfinished := file + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := sqliteschema.SetupSchema(&config.SQL{
		PluginName:        sqlite.PluginName,
		DatabaseName:      unfinished,
		ConnectAttributes: map[string]string{"mode": "rwc", "journal_mode": "off", "synchronous": "off"},
	})
	if err != nil {
		return err
	}
	return os.Rename(unfinished, file)
}

// openPostgres uses two databases of one server: the versions of the two schemas would be in
// the same row otherwise.
func openPostgres(u *url.URL) (database, error) {
	name := strings.TrimPrefix(u.Path, "/")
	if name == "" || u.Host == "" || u.User.Username() == "" {
		return database{}, errors.New("--database postgres://user@host:port/name: user, host and name are needed")
	}
	server := func(name string) *config.SQL {
		password, _ := u.User.Password()
		cfg := &config.SQL{
			PluginName:        postgresql.PluginNamePGX,
			ConnectProtocol:   "tcp",
			ConnectAddr:       u.Host,
			User:              u.User.Username(),
			Password:          password,
			DatabaseName:      name,
			MaxConns:          postgresConns,
			MaxIdleConns:      postgresConns,
			ConnectAttributes: map[string]string{},
		}
		for key := range u.Query() {
			cfg.ConnectAttributes[key] = u.Query().Get(key)
		}
		return cfg
	}
	db := database{main: server(name), search: server(name + "_visibility")}
	if err := makePostgres(server("postgres"), db.main, "temporal", postgresschema.Version); err != nil {
		return database{}, err
	}
	return db, makePostgres(server("postgres"), db.search, "visibility", postgresschema.VisibilityVersion)
}

// makePostgres creates a database that is missing, with the schema of the given kind. The
// version is written last; a database without one but with tables is refused by PostgreSQL
// at the first table that exists.
func makePostgres(admin, cfg *config.SQL, kind, version string) error {
	wrap := func(err error) error { return fmt.Errorf("make database %s: %w", cfg.DatabaseName, err) }
	server, err := administer(admin)
	if err != nil {
		return wrap(err)
	}
	defer server.Close()
	if err := server.CreateDatabase(cfg.DatabaseName); err != nil {
		return wrap(err)
	}
	db, err := administer(cfg)
	if err != nil {
		return wrap(err)
	}
	defer db.Close()
	if err := db.CreateSchemaVersionTables(); err != nil {
		return wrap(err)
	}
	if _, err := db.ReadSchemaVersion(cfg.DatabaseName); err == nil {
		return nil // the server itself refuses a version that it does not know
	} else if !errors.Is(err, sql.ErrNoRows) {
		return wrap(err)
	}
	text, err := fs.ReadFile(schema.Assets(), path.Join("postgresql", "v12", kind, "schema.sql"))
	if err != nil {
		return wrap(err)
	}
	statements, err := persistence.LoadAndSplitQueryFromReaders([]io.Reader{bytes.NewReader(text)})
	if err != nil {
		return wrap(err)
	}
	for _, statement := range statements {
		if err := db.Exec(statement); err != nil {
			return wrap(err)
		}
	}
	if err := db.UpdateSchemaVersion(cfg.DatabaseName, version, version); err != nil {
		return wrap(err)
	}
	return nil
}

func administer(cfg *config.SQL) (sqlplugin.AdminDB, error) {
	return temporalsql.NewSQLAdminDB(
		sqlplugin.DbKindUnknown, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
}
