// Package postgres implements store.DB over PostgreSQL 14 or newer.
//
//   - In Owner mode one session writes. It holds an advisory lock, which makes its process
//     the only one that drives executions. Updates are committed together. One that fails is
//     undone alone, which may let the others of its group run again. A process that loses the session
//     cannot write: the lock goes with the session. The same process takes the lock back when the server
//     answers again, unless another process has had it in the meantime; then Lost is closed for good (owner.go).
//   - In Shared mode many processes write at once, each over a few sessions, in groups too.
//     An Update that loses against another one (deadlock, lock timeout) runs again in a
//     transaction of its own, up to five times: its fn may run more than once.
//     Processes that drive executions (Options.Drives) do so while there is no owner, and keep one from
//     starting (shared_lock.go); others, such as one that makes a key, may write beside an owner of the same schema.
//   - Views run on sessions of their own; each is one snapshot.
//   - A statement whose result the caller does not need travels with the next one (session.go): an
//     execution that starts and ends at once costs one round trip within a group.
//
// Differences to package sqlite that a caller can notice:
//
//   - A statement that fails is the end of its Update or View: later ones return the same
//     error, also when fn ignores it.
//   - All rows of a query are read before the first is handed out.
//   - Compact does nothing and Backup refuses: PostgreSQL has tools of its own.
//   - In Shared mode, numbers (no) ascend in the order of the inserts, not of the commits.
//   - If the connection is lost while COMMIT is on its way, Update asks the server what became
//     of the transaction. Only when that cannot be found out within ten seconds, it returns
//     store.ErrInDoubt, because the transaction may have been written; an owner that
//     learns later that it was written gives the database up.
//
// A server must be connected to PostgreSQL directly: Open refuses a pooler.
package postgres
