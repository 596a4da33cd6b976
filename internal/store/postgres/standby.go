package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
)

// A process that waits to become the owner writes nothing: only the owner may. So it is known by a session that holds a
// lock of its own for as long as it waits, and that is named after the process.
const (
	standbyLock = 0x77616974 // "wait": the first half of an advisory lock, as ownerLock
	// standbyName begins the application name of that session.
	standbyName = "chargehand standby "
	// standbyBeat is the pause between two signs of life, and between two attempts to get the session back. The server
	// ends the session after three times as long without one.
	standbyBeat = 5 * time.Second
	// standbyWait is the time that an answer takes there at most. A process that takes over waits for the session to end.
	standbyWait = time.Second
)

// announce holds the session of a process that waits, until ctx is done. It is for people: a failure of it does not
// keep the process from waiting, and is logged once, until the session is there again.
func (db *DB) announce(ctx context.Context) {
	config := db.config.Copy()
	config.RuntimeParams["application_name"] = standbyName + store.StandbyName(db.options.Name)
	config.RuntimeParams["idle_session_timeout"] = ms(3 * db.standbyBeat)
	warned := false
	for ctx.Err() == nil {
		err := db.beStandby(ctx, config, func() { warned = false })
		if err != nil && ctx.Err() == nil && !warned {
			warned = true
			db.options.Logger.Warn("this standby is not listed: it has no session for that; it takes over all the same", "error", err)
		}
		_ = pause.For(ctx, db.standbyBeat) // the condition of the loop says that ctx is done
	}
}

// beStandby holds one session, and returns why it was lost; nil when ctx is done.
func (db *DB) beStandby(ctx context.Context, config *pgconn.Config, listed func()) error {
	s, err := db.connectAs(ctx, config)
	if err != nil {
		return err
	}
	defer s.close()
	s.wait = standbyWait
	if _, err := s.ask(fmt.Sprintf("SELECT pg_try_advisory_lock_shared(%d, %s)", standbyLock, lockSchema)); err != nil {
		return err
	}
	listed()
	for pause.For(ctx, db.standbyBeat) == nil {
		if _, err := s.ask("SELECT 1"); err != nil {
			return err
		}
	}
	return nil
}

// Standbys implements store.Conn.
func (c *conn) Standbys() (list []store.Standby, err error) {
	err = c.Query(fmt.Sprintf(`SELECT substr(a.application_name, %d), (extract(epoch FROM a.backend_start) * 1000)::bigint
 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.locktype = 'advisory' AND l.classid = %d AND l.objid = (%s::bigint & 4294967295)::oid AND l.granted
 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY a.backend_start, a.pid`,
		len(standbyName)+1, standbyLock, lockSchema), func(row store.Row) error {
		list = append(list, store.Standby{Name: row.Text(0), SinceMs: row.Int(1)})
		return nil
	})
	return list, err
}
