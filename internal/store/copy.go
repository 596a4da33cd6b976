package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
)

// A database can be copied into one of another dialect, row by row, by what both say about
// their tables: nothing here knows a table by name, except where marks are kept. Each
// dialect lists its tables (sqlite.Tables, postgres.Tables).

// MovePrefix begins the names of the values in table meta that belong to the copying itself.
// They are neither copied nor compared.
const MovePrefix = "move:"

// Kind is the kind of values in a column.
type Kind uint8

// The kinds.
const (
	KindInt Kind = iota + 1
	KindText
	KindBytes
)

// Column is a column of a table. Width is the number of bytes of a number: 2, 4 or 8.
type Column struct {
	Name  string
	Kind  Kind
	Null  bool
	Width int
}

// Table is what a dialect says about a table. Columns are sorted by name.
type Table struct {
	Name    string
	Columns []Column
	Key     []int  // the columns of the primary key, in its order
	Number  string // the column that the database numbers, or empty; SQLite does not say
}

// Value is the value of a column. Text is in Bytes.
type Value struct {
	Null  bool
	Int   int64
	Bytes []byte
}

// SameTables compares the tables of two databases of different dialects. The error names
// everything that only one of them has, or has otherwise; their numbers may differ in width.
func SameTables(a, b []Table) error {
	known := map[string]Table{}
	for _, t := range b {
		known[t.Name] = t
	}
	var differences []error
	for _, t := range a {
		other, both := known[t.Name]
		delete(known, t.Name)
		if !both {
			differences = append(differences, fmt.Errorf("only one of the databases has table %s", t.Name))
			continue
		}
		differences = append(differences, t.compare(other))
	}
	for name := range known {
		differences = append(differences, fmt.Errorf("only one of the databases has table %s", name))
	}
	return errors.Join(differences...)
}

func (t Table) compare(o Table) error {
	shape := func(t Table) (parts []string) {
		for _, c := range t.Columns {
			parts = append(parts, fmt.Sprintf("%s (kind %d, null %t)", c.Name, c.Kind, c.Null))
		}
		for _, i := range t.Key {
			parts = append(parts, "key "+t.Columns[i].Name)
		}
		return parts
	}
	if a, b := shape(t), shape(o); !slices.Equal(a, b) {
		return fmt.Errorf("table %s differs: %s; %s", t.Name, strings.Join(a, ", "), strings.Join(b, ", "))
	}
	if len(t.Key) == 0 {
		return fmt.Errorf("table %s has no primary key", t.Name)
	}
	return nil
}

// names lists columns for a statement. The names come from our own migrations.
func (t Table) names(columns []int) string {
	var list []string
	for _, i := range columns {
		list = append(list, t.Columns[i].Name)
	}
	return strings.Join(list, ", ")
}

// Names lists all columns for a statement.
func (t Table) Names() string {
	all := make([]int, len(t.Columns))
	for i := range all {
		all[i] = i
	}
	return t.names(all)
}

// From is FROM and WHERE of a statement that reads what is copied of the table. It has a
// WHERE, so that more conditions can follow after AND.
func (t Table) From() string {
	if t.Name == "meta" {
		return "FROM meta WHERE substr(name, 1, 5) <> '" + MovePrefix + "'"
	}
	return "FROM " + t.Name + " WHERE 1 = 1"
}

// Order is the ORDER BY of the key.
func (t Table) Order() string { return "ORDER BY " + t.names(t.Key) }

// Column is the place of a column, or -1.
func (t Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// Count counts the rows that are copied.
func (t Table) Count(c Conn) (int64, error) {
	return (&Reader{c: c}).count("count rows of "+t.Name, "SELECT COUNT(*) "+t.From())
}

// KeyOf is the key of a row, to continue after it.
func (t Table) KeyOf(row []Value) []Value {
	key := make([]Value, 0, len(t.Key))
	for _, i := range t.Key {
		v := row[i]
		v.Bytes = slices.Clone(v.Bytes)
		key = append(key, v)
	}
	return key
}

// errEnough ends a query from within.
var errEnough = errors.New("enough")

// Read calls row for the rows behind the key after (nil: from the first), in the order of the
// key, until row returns false. The values are valid only during the call.
func (t Table) Read(c Conn, after []Value, row func([]Value) (bool, error)) error {
	query := "SELECT " + t.Names() + " " + t.From()
	var args []any
	if after != nil {
		var parameters []string
		for i, v := range after {
			parameters = append(parameters, fmt.Sprintf("?%d", i+1))
			args = append(args, t.Columns[t.Key[i]].arg(v))
		}
		query += fmt.Sprintf(" AND (%s) > (%s)", t.names(t.Key), strings.Join(parameters, ", "))
	}
	values := make([]Value, len(t.Columns))
	err := c.Query(query+" "+t.Order(), func(r Row) error {
		for i, column := range t.Columns {
			column.scan(r, i, &values[i])
		}
		more, err := row(values)
		if err == nil && !more {
			err = errEnough
		}
		return err
	}, args...)
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read table %s: %w", t.Name, err)
	}
	return nil
}

func (c Column) arg(v Value) any {
	switch c.Kind {
	case KindInt:
		return v.Int
	case KindText:
		return string(v.Bytes)
	}
	return v.Bytes
}

func (c Column) scan(r Row, col int, v *Value) {
	*v = Value{Null: r.Null(col)}
	switch {
	case v.Null:
	case c.Kind == KindInt:
		v.Int = r.Int(col)
	case c.Kind == KindText:
		v.Bytes = []byte(r.Text(col))
	default:
		v.Bytes = r.Bytes(col)
	}
}

// Sum counts rows and makes one checksum of them, in the order in which they are added.
// Equal rows make an equal sum whatever database they come from.
type Sum struct {
	Rows   int64
	Bytes  int64 // of the canonical encoding
	digest hash.Hash
	row    []byte
}

// NewSum is the sum of no rows.
func NewSum() *Sum { return &Sum{digest: sha256.New()} }

// Add adds a row. Each value is one byte that says its kind (0: NULL), followed by eight
// bytes of a number, or by a length in eight bytes and the bytes themselves.
func (s *Sum) Add(t Table, row []Value) {
	s.row = s.row[:0]
	for i, v := range row {
		switch kind := t.Columns[i].Kind; {
		case v.Null:
			s.row = append(s.row, 0)
		case kind == KindInt:
			s.row = binary.BigEndian.AppendUint64(append(s.row, byte(kind)), uint64(v.Int))
		default:
			s.row = binary.BigEndian.AppendUint64(append(s.row, byte(kind)), uint64(len(v.Bytes)))
			s.row = append(s.row, v.Bytes...)
		}
	}
	s.digest.Write(s.row)
	s.Rows++
	s.Bytes += int64(len(s.row))
}

// Digest is the checksum of all rows so far.
func (s *Sum) Digest() [sha256.Size]byte { return [sha256.Size]byte(s.digest.Sum(nil)) }

// Holds reports whether a table has any rows, also such that are not copied.
func (t Table) Holds(c Conn) (bool, error) {
	return (&Reader{c: c}).exists("look into table "+t.Name, "SELECT 1 AS one FROM "+t.Name+" LIMIT 1")
}

// Conn is what the queries run on.
func (r *Reader) Conn() Conn { return r.c }

// NewTx is the queries over a Conn of DB.Update, for who copies beside them.
func NewTx(c Conn) *Tx { return &Tx{Reader: Reader{c: c}} }

// DeleteMeta deletes a value of the installation; one that is not there is no error.
func (t *Tx) DeleteMeta(name string) error {
	if _, err := t.c.Exec(`DELETE FROM meta WHERE name = ?1`, name); err != nil {
		return fmt.Errorf("delete meta %s: %w", name, err)
	}
	return nil
}
