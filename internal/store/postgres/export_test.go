package postgres

// Rewrite is what a text of package store becomes.
func Rewrite(query string) string { return rewrite(ordered(query)).text }

// Trips is the number of round trips so far.
func Trips(db *DB) int64 { return db.trips.Load() }
