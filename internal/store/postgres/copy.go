package postgres

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/chargehand/chargehand/internal/store"
)

// ownTables are those that no other dialect has. What is in them belongs to the processes of
// this database and is not copied.
const ownTables = `'writer', 'ownership', 'goose_db_version'`

// listColumns has a row for each column of each table of the schema, with its position in the
// primary key, from 1. The keys in indkey begin with 0.
const listColumns = `SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL), CASE WHEN a.attnotnull THEN 0 ELSE 1 END,
 CASE WHEN a.attidentity = '' THEN 0 ELSE 1 END, COALESCE(array_position(i.indkey::int2[], a.attnum) + 1, 0)
 FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
 WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
 AND a.attnum > 0 AND NOT a.attisdropped AND c.relname NOT IN (` + ownTables + `)
 ORDER BY c.relname::text COLLATE "C", a.attname::text COLLATE "C"`

// Tables lists the tables of the schema, by name, with what a copy from another dialect needs
// to know (store.Table). It lists none before the schema was made.
func Tables(c store.Conn) ([]store.Table, error) {
	var tables []store.Table
	keys := map[string]map[int]int{} // column by position in the key
	err := c.Query(listColumns, func(r store.Row) error {
		name := r.Text(0)
		if len(tables) == 0 || tables[len(tables)-1].Name != name {
			tables, keys[name] = append(tables, store.Table{Name: name}), map[int]int{}
		}
		t := &tables[len(tables)-1]
		column := store.Column{Name: r.Text(1), Null: r.Int(3) != 0}
		switch kind := r.Text(2); kind {
		case "smallint":
			column.Kind, column.Width = store.KindInt, 2
		case "integer":
			column.Kind, column.Width = store.KindInt, 4
		case "bigint":
			column.Kind, column.Width = store.KindInt, 8
		case "text":
			column.Kind = store.KindText
		case "bytea":
			column.Kind = store.KindBytes
		default:
			return fmt.Errorf("column %s of table %s has the type %s, which is not copied", column.Name, name, kind)
		}
		if r.Int(4) != 0 {
			t.Number = column.Name
		}
		if position := int(r.Int(5)); position > 0 {
			keys[name][position] = len(t.Columns)
		}
		t.Columns = append(t.Columns, column)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	for i := range tables {
		for position := range len(keys[tables[i].Name]) {
			tables[i].Key = append(tables[i].Key, keys[tables[i].Name][position+1])
		}
	}
	return tables, nil
}

// copySignature begins the binary format of COPY; flags and the length of an extension, both
// 0, follow it. copyEnd is its end, in the position of the number of columns of a row.
const (
	copySignature = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	copyEnd       = 0xffff
)

// Page is rows of a table on their way into the database, in the binary format of COPY.
type Page struct {
	Table store.Table // as Tables describes it
	Rows  int
	data  []byte
}

// NewPage makes an empty page.
func NewPage(t store.Table) *Page { return &Page{Table: t, data: []byte(copySignature)} }

// Bytes is the size of the page.
func (p *Page) Bytes() int { return len(p.data) }

// Reset makes the page empty.
func (p *Page) Reset() { p.Rows, p.data = 0, append(p.data[:0], copySignature...) }

// Add adds a row. The error is for a number that does not fit into its column.
func (p *Page) Add(row []store.Value) error {
	p.data = binary.BigEndian.AppendUint16(p.data, uint16(len(row)))
	for i, v := range row {
		column := p.Table.Columns[i]
		switch {
		case v.Null:
			p.data = binary.BigEndian.AppendUint32(p.data, math.MaxUint32)
		case column.Kind == store.KindInt:
			p.data = binary.BigEndian.AppendUint32(p.data, uint32(column.Width))
			switch {
			case column.Width == 2 && v.Int == int64(int16(v.Int)):
				p.data = binary.BigEndian.AppendUint16(p.data, uint16(v.Int))
			case column.Width == 4 && v.Int == int64(int32(v.Int)):
				p.data = binary.BigEndian.AppendUint32(p.data, uint32(v.Int))
			case column.Width == 8:
				p.data = binary.BigEndian.AppendUint64(p.data, uint64(v.Int))
			default:
				return fmt.Errorf("%d does not fit into column %s of table %s", v.Int, column.Name, p.Table.Name)
			}
		default:
			data := v.Bytes
			if column.Kind == store.KindText {
				data = escape(string(data))
			}
			p.data = append(binary.BigEndian.AppendUint32(p.data, uint32(len(data))), data...)
		}
	}
	p.Rows++
	return nil
}

// unpacker reads rows out of the binary format of COPY, which is written to it in pieces.
type unpacker struct {
	table  store.Table
	row    func([]store.Value) error
	left   []byte
	begun  bool
	ended  bool
	values []store.Value
}

// Write implements io.Writer.
func (u *unpacker) Write(data []byte) (int, error) {
	u.left = append(u.left, data...)
	rest := u.left
	if !u.begun && len(rest) >= len(copySignature) {
		rest, u.begun = rest[len(copySignature):], true
	}
	for u.begun && !u.ended {
		size, err := u.unpack(rest)
		if err != nil {
			return 0, err
		}
		if size == 0 {
			break
		}
		rest = rest[size:]
	}
	u.left = append(u.left[:0], rest...)
	return len(data), nil
}

// unpack hands out the row at the beginning of data and returns its size; 0: it is not
// complete yet.
func (u *unpacker) unpack(data []byte) (size int, err error) {
	if len(data) < 2 {
		return 0, nil
	}
	columns := binary.BigEndian.Uint16(data)
	if columns == copyEnd {
		u.ended = true
		return 2, nil
	}
	if int(columns) != len(u.table.Columns) {
		return 0, fmt.Errorf("the server sends %d columns instead of %d", columns, len(u.table.Columns))
	}
	u.values = u.values[:0]
	size = 2
	for i := range u.table.Columns {
		if len(data) < size+4 {
			return 0, nil
		}
		length := int(int32(binary.BigEndian.Uint32(data[size:])))
		size += 4
		if length < 0 {
			u.values = append(u.values, store.Value{Null: true})
			continue
		}
		if len(data) < size+length {
			return 0, nil
		}
		u.values = append(u.values, unpackValue(u.table.Columns[i], data[size:size+length]))
		size += length
	}
	return size, u.row(u.values)
}

func unpackValue(c store.Column, data []byte) (v store.Value) {
	switch {
	case c.Kind == store.KindText:
		v.Bytes = []byte(unescape(data))
	case c.Kind == store.KindBytes:
		v.Bytes = data
	case len(data) == 2:
		v.Int = int64(int16(binary.BigEndian.Uint16(data)))
	case len(data) == 4:
		v.Int = int64(int32(binary.BigEndian.Uint32(data)))
	case len(data) == 8:
		v.Int = int64(binary.BigEndian.Uint64(data))
	}
	return v
}
