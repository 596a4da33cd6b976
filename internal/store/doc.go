// Package store is the contract of storage: rows, queries and sentinel errors. It holds no
// business rules. The SQL text stands here once, one file per resource; a dialect package
// (sqlite, postgres) supplies connections, migrations and error mapping through DB
// and Conn. Package storetest holds every dialect to this page.
//
// Invariants:
//   - Update returns nil only when everything that fn wrote survives a power cut.
//   - Concurrent Updates are committed together (group commit). One that fails, or panics,
//     is undone alone.
//   - If the commit itself fails, every Update in it returns ErrUnavailable and nothing
//     of any of them was written. (Package postgres says when that cannot be known.)
//   - The fn of an Update may run more than once; only its last run counts.
//   - A View that starts after an Update returned sees it. Views should be short: read long
//     lists in pages, each in a View of its own.
//   - An execution has the state StateEnded exactly when its status is final, and an
//     Outcome exactly then. Final is final: every change is a compare-and-set on "not final".
//   - The counts of a batch are the numbers of its items that have ended.
//   - Rollups count the acceptance of every execution once, and its end, also when it was deleted since.
//   - The references of a blob are the rows that name its digest.
//   - Secrets are pinned only for executions that have not ended. Values come in sealed.
//   - The events of an environment are numbered without gaps in the order of commit.
//   - Subscriptions exist only for executions that have not ended. One that is not woken has
//     seen every event that it may want up to ListenCursor.
//   - Human tasks are open or claimed only for executions that have not ended. Only these are in lists of candidates.
//   - A workflow has at most one schedule, that of its published revision. Every change of it
//     counts its Step, so that of two who have read it only one changes it.
//   - A tree of executions counts those of it that have not ended, in the row of its root.
//   - Times are integers in milliseconds since 1970; ids are 16 bytes; payloads are bytes.
//   - Every row belongs to an account, and to an environment where it is the product of
//     running something. Methods that take an id from outside take both; those that take an
//     internal number (no), and the Find methods, trust their caller.
//
// Errors of all methods: ErrNotFound where a row is asked for that is not there; ErrConflict
// for a unique constraint or a compare-and-set that lost; ErrUnavailable. They are wrapped:
// use errors.Is. A method of Tx that returns an error has written nothing only if its
// comment says so; the fn of an Update returns any other error, so that it is undone.
//
// Each resource has a file, with its row and the methods of Reader that read it and of Tx that change it. A Tx has all
// methods of Reader.
//
// A database is copied into one of another dialect by what both say about their tables
// (copy.go): Table Column Value SameTables Sum NewTx, and each dialect's Tables.
package store
