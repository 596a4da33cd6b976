package postgres

import "time"

// Rewrite is what a text of package store becomes.
func Rewrite(query string) string { return rewrite(ordered(query)).text }

// ManyText is what a rewritten text becomes where it is sent for many rows; empty: it is not.
func ManyText(text string) string { return manyText(text) }

// Trips is the number of round trips so far.
func Trips(db *DB) int64 { return db.trips.Load() }

// SetResolveTime changes how long an Update whose COMMIT was not answered waits to know.
func SetResolveTime(db *DB, d time.Duration) { db.resolveTime = d }

// SetStandbyBeat changes the pause between two signs of life of a process that waits.
func SetStandbyBeat(db *DB, d time.Duration) { db.standbyBeat = d }

// Epoch counts the processes that have owned the database, up to this one; 0 before
// TryOwn has succeeded.
func (db *DB) Epoch() int64 {
	if !db.owner.owned.Load() {
		return 0
	}
	return db.owner.epoch
}
