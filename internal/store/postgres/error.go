package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chargehand/chargehand/internal/store"
)

// Errors of Open, TryOwn and AwaitOwner, beside those of dialect.
var (
	// ErrOwned: a process in Owner mode drives the executions.
	ErrOwned = errors.New("a server with the embedded engine works on the database: stop it first")
	// ErrLost: another process has owned the database in the meantime, or may have. What this
	// one remembers is stale: it must give the database up.
	ErrLost = errors.New("the ownership of the database is lost")
)

var errNotOwner = fmt.Errorf("%w: this process does not own the database", store.ErrUnavailable)

// mapError turns an error of the server or of the connection into one of the store's
// sentinels, where there is one, and keeps its text. Other errors pass through.
func mapError(err error) error {
	if err == nil || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrConflict) {
		return err
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		if lost(err) {
			return unavailable(err)
		}
		return err
	}
	switch {
	case lost(err):
		return unavailable(err)
	case pg.Code == "23505": // unique_violation
		return fmt.Errorf("%w: %v", store.ErrConflict, err)
	case pg.Code == "25006", pg.Code == "57014", pg.Code == "25P03", again(err): // read-only, cancelled, timeout
		return unavailable(err)
	}
	switch pg.Code[:min(2, len(pg.Code))] {
	// Connection, sign-in, database, resources, shutdown, system, corruption.
	case "08", "28", "3D", "53", "57", "58", "XX":
		return unavailable(err)
	}
	return err
}

// again reports whether an Update that failed with err may succeed when it runs once more:
// it lost against another one.
func again(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock timeout
		return true
	}
	return false
}

func unavailable(err error) error {
	if errors.Is(err, store.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %v", store.ErrUnavailable, err)
}

// connectError says what kept us from connecting. The driver's text names host, user and
// database, never the password; password is taken out all the same.
func connectError(err error, password string) error {
	text := err.Error()
	if password != "" {
		text = strings.ReplaceAll(text, password, "xxxxx")
	}
	return fmt.Errorf("%w: connect to PostgreSQL (--database-url): %s", store.ErrUnavailable, text)
}
