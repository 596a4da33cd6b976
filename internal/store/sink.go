package store

import (
	"fmt"

	"github.com/chargehand/chargehand"
)

// Sink is how far the events of a stream were delivered to a sink.
type Sink struct {
	Name        string
	Account     int64
	Environment chargehand.Environment
	Number      int64 // of the last event that was delivered or needed not to be
	Failures    int64 // attempts since the last success
	FailingMs   int64 // since when the sink counts as failing; 0: it does not
	DueMs       int64 // not to be tried before
}

// SinkStream is a stream as a sink sees it.
type SinkStream struct {
	Sink
	Last int64 // number of the last event
}

// RegisterSink makes a sink known, if it is not: it gets the events that are stored from now on. It notes
// that the sink is in use.
func (t *Tx) RegisterSink(name string, nowMs int64) error {
	n, err := t.c.Exec(`INSERT INTO sink (name, account, environment, number, failures, failing_ms, due_ms, used_ms) VALUES (?1, 0, 0, 0, 0, 0, 0, ?2)
 ON CONFLICT (name, account, environment) DO NOTHING`, name, nowMs)
	switch {
	case err == nil && n > 0:
		_, err = t.c.Exec(`INSERT INTO sink (name, account, environment, number, failures, failing_ms, due_ms)
 SELECT ?1, account, environment, last, 0, 0, 0 FROM stream ORDER BY account, environment`, name)
	case err == nil:
		_, err = t.c.Exec(`UPDATE sink SET used_ms = ?2 WHERE name = ?1 AND account = 0 AND environment = 0 AND used_ms < ?2`, name, nowMs)
	}
	if err != nil {
		return fmt.Errorf("register sink: %w", err)
	}
	return nil
}

// DeleteSinks forgets the sinks that no process has registered since beforeMs, with their leases, and tells how many
// they were. Those of which that was never noted count as registered now.
func (t *Tx) DeleteSinks(beforeMs, nowMs int64) (n int, err error) {
	_, err = t.c.Exec(`UPDATE sink SET used_ms = ?1 WHERE account = 0 AND environment = 0 AND used_ms = 0`, nowMs)
	var names []string
	if err == nil {
		err = t.c.Query(`DELETE FROM sink WHERE account = 0 AND environment = 0 AND used_ms < ?1 RETURNING name`, func(row Row) error {
			names = append(names, row.Text(0))
			return nil
		}, beforeMs)
	}
	for _, name := range names {
		if err == nil {
			err = t.c.Send("delete sink", `DELETE FROM sink WHERE name = ?1`, name)
		}
		if err == nil {
			err = t.c.Send("delete lease of sink", `DELETE FROM meta WHERE name = ?1`, leaseName(SinkLease(name)))
		}
	}
	if err != nil {
		return 0, fmt.Errorf("delete sinks: %w", err)
	}
	return len(names), nil
}

// SinkLease is the name of the lease (TakeLease) of who delivers to a sink.
func SinkLease(name string) string { return "sink " + name }

// SinkStreams reads all streams, with how far they were delivered to a sink that is registered.
func (r *Reader) SinkStreams(name string) ([]SinkStream, error) {
	return readAll(r, "read sink", `SELECT s.account, s.environment, s.last, COALESCE(k.number, 0), COALESCE(k.failures, 0), COALESCE(k.failing_ms, 0), COALESCE(k.due_ms, 0)
 FROM stream s LEFT JOIN sink k ON k.name = ?1 AND k.account = s.account AND k.environment = s.environment
 ORDER BY s.account, s.environment`, func(row Row, s *SinkStream) {
		*s = SinkStream{Sink{
			Name: name, Account: row.Int(0), Environment: chargehand.Environment(row.Int(1)),
			Number: row.Int(3), Failures: row.Int(4), FailingMs: row.Int(5), DueMs: row.Int(6),
		}, row.Int(2)}
	}, name)
}

// MoveSink writes how far a sink got. It never goes back: ErrConflict if another process got
// further.
func (t *Tx) MoveSink(s *Sink) error {
	return t.change("move sink", `INSERT INTO sink (name, account, environment, number, failures, failing_ms, due_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
 ON CONFLICT (name, account, environment) DO UPDATE SET number = excluded.number, failures = excluded.failures,
 failing_ms = excluded.failing_ms, due_ms = excluded.due_ms WHERE sink.number <= excluded.number`,
		s.Name, s.Account, int64(s.Environment), s.Number, s.Failures, s.FailingMs, s.DueMs)
}
