// Package sqlite implements store.DB over one SQLite file in write-ahead mode.
//
//   - One connection writes. It belongs to one goroutine, which commits together whatever
//     Updates arrived while its last commit was on the way to the disk. They run without
//     savepoints, until one that has written must be undone: then all run again, each in
//     a savepoint (writer.go).
//   - A few connections read; each View is a snapshot (pool.go).
//   - One goroutine keeps the write-ahead log short. It copies the log into the file beside
//     running readers and writers, and now and then holds new readers back for a moment, so
//     that the log can start from its beginning again (wal.go).
//   - One process owns the file: it holds a lock beside it for as long as it lives. Others
//     may still open the file with Owner false, for short writes and for backups.
//
// Views should be short: while one runs, the log cannot start again. Read long lists in
// pages, each in a View of its own.
//
// After a full disk or an I/O error, Update returns store.ErrUnavailable and nothing of it
// was written; the next one tries again on a fresh connection. A COMMIT that ends with another error than that of a
// full disk is store.ErrInDoubt: the log may hold all of it, and what reads the log after a crash would find it.
package sqlite
