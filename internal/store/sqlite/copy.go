package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/store"
)

// Tables lists the tables of the schema, by name, with what a copy into another dialect needs
// to know (store.Table). The table of the migrations is not among them.
func Tables(c store.Conn) ([]store.Table, error) {
	var tables []store.Table
	err := c.Query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND name <> 'goose_db_version' ORDER BY name`,
		func(r store.Row) error {
			tables = append(tables, store.Table{Name: r.Text(0)})
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	for i := range tables {
		if err := describe(c, &tables[i]); err != nil {
			return nil, fmt.Errorf("describe table %s: %w", tables[i].Name, err)
		}
	}
	return tables, nil
}

func describe(c store.Conn, t *store.Table) error {
	positions := map[string]int64{} // in the key, from 1
	err := c.Query(`SELECT name, type, "notnull", pk FROM pragma_table_info(?1)`, func(r store.Row) error {
		column := store.Column{Name: r.Text(0), Null: r.Int(2) == 0 && r.Int(3) == 0, Width: 8}
		switch kind := r.Text(1); kind {
		case "INTEGER":
			column.Kind = store.KindInt
		case "TEXT":
			column.Kind = store.KindText
		case "BLOB":
			column.Kind = store.KindBytes
		default:
			return fmt.Errorf("column %s has the type %q, which is not copied", column.Name, kind)
		}
		if r.Int(3) > 0 {
			positions[column.Name] = r.Int(3)
		}
		t.Columns = append(t.Columns, column)
		return nil
	}, t.Name)
	if err != nil {
		return err
	}
	slices.SortFunc(t.Columns, func(a, b store.Column) int { return strings.Compare(a.Name, b.Name) })
	t.Key = make([]int, len(positions))
	for i, column := range t.Columns {
		if position := positions[column.Name]; position > 0 {
			t.Key[position-1] = i
		}
	}
	return nil
}

// Highest is the highest number that a table has given to a row, as far as it remembers: where
// numbers are never used twice, also to rows that are gone. t says in Number which column that is.
func Highest(c store.Conn, t store.Table) (no int64, err error) {
	err = c.Query(fmt.Sprintf(`SELECT MAX(COALESCE((SELECT MAX(%s) FROM %s), 0), COALESCE((SELECT seq FROM sqlite_sequence WHERE name = ?1), 0))`, t.Number, t.Name),
		func(r store.Row) error {
			no = r.Int(0)
			return nil
		}, t.Name)
	if err != nil {
		return 0, fmt.Errorf("read the highest number of table %s: %w", t.Name, err)
	}
	return no, nil
}
