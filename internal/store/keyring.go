package store

import (
	"fmt"
	"strings"
)

// WrappedKey is a random key of the installation, wrapped by a master key. The store cannot read it.
type WrappedKey struct {
	Number    int64  // of the key: it has a row for each master key that it is wrapped by
	Master    string // id of the master key
	Purpose   string
	Wrapped   []byte
	CreatedMs int64
	ActiveMs  int64 // from when on it is used
}

// WrappedKeys reads all of them, by number and master key.
func (r *Reader) WrappedKeys() ([]WrappedKey, error) {
	return readAll(r, "read wrapped keys", `SELECT number, master, purpose, wrapped, created_ms, active_ms FROM wrapped_key ORDER BY number, master`, func(row Row, k *WrappedKey) {
		*k = WrappedKey{
			Number: row.Int(0), Master: row.Text(1), Purpose: row.Text(2), Wrapped: row.Bytes(3), CreatedMs: row.Int(4), ActiveMs: row.Int(5),
		}
	})
}

// InsertWrappedKey writes one. ErrConflict: the key is wrapped by that master key already.
func (t *Tx) InsertWrappedKey(k *WrappedKey) error {
	return t.change("insert wrapped key", `INSERT INTO wrapped_key (number, master, purpose, wrapped, created_ms, active_ms)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6)`, k.Number, k.Master, k.Purpose, k.Wrapped, k.CreatedMs, k.ActiveMs)
}

// DeleteWrappedKeys deletes what is wrapped by a master key.
func (t *Tx) DeleteWrappedKeys(master string) error {
	return t.c.Send("delete wrapped keys", `DELETE FROM wrapped_key WHERE master = ?1`, master)
}

// Node is a process that works on the installation, and what its master key file holds.
type Node struct {
	ID      [16]byte
	Name    string   // for people: host and process
	File    string   // its master key file
	Masters []string // ids of the master keys in it
	SeenMs  int64    // when it last said so
}

// Standby is a process that waits to work on the installation, when another one is gone.
type Standby struct {
	Name    string // for people: host and process, as StandbyName shortens them
	SinceMs int64  // when it began to wait; 0: the database does not tell that to its user
}

// standbyBytes is how much of a name is kept: the name of a session of PostgreSQL has 63 bytes, of which 19 say what it
// is.
const standbyBytes = 44

// StandbyName is the name by which a process is known while it waits. Of a long one the end is kept, in which processes
// of one kind differ.
func StandbyName(name string) string {
	const left = "..."
	if len(name) <= standbyBytes {
		return name
	}
	return left + name[len(name)-standbyBytes+len(left):]
}

// Standbys reads all of them, the one that has waited longest first.
func (r *Reader) Standbys() ([]Standby, error) {
	list, err := r.c.Standbys()
	if err != nil {
		return nil, fmt.Errorf("read standbys: %w", err)
	}
	return list, nil
}

// Nodes reads all of them, the one that was seen last first.
func (r *Reader) Nodes() ([]Node, error) {
	return readAll(r, "read nodes", `SELECT id, name, file, masters, seen_ms FROM node ORDER BY seen_ms DESC, id`, func(row Row, n *Node) {
		*n = Node{Name: row.Text(1), File: row.Text(2), Masters: strings.Fields(row.Text(3)), SeenMs: row.Int(4)}
		copy(n.ID[:], row.Bytes(0))
	})
}

// PutNode inserts or replaces the row of a process.
func (t *Tx) PutNode(n *Node) error {
	return t.c.Send("put node", `INSERT INTO node (id, name, file, masters, seen_ms) VALUES (?1, ?2, ?3, ?4, ?5)
 ON CONFLICT (id) DO UPDATE SET name = excluded.name, file = excluded.file, masters = excluded.masters, seen_ms = excluded.seen_ms`,
		n.ID[:], n.Name, n.File, strings.Join(n.Masters, " "), n.SeenMs)
}

// DeleteNode deletes the row of a process, if there is one.
func (t *Tx) DeleteNode(id [16]byte) error {
	return t.c.Send("delete node", `DELETE FROM node WHERE id = ?1`, id[:])
}

// DeleteNodes deletes the rows of processes that were last seen before a time.
func (t *Tx) DeleteNodes(beforeMs int64) error {
	return t.c.Send("delete nodes", `DELETE FROM node WHERE seen_ms < ?1`, beforeMs)
}
