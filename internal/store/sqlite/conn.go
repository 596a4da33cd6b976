package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	driver "zombiezen.com/go/sqlite"

	"github.com/chargehand/chargehand/internal/store"
)

// busyTimeout bounds the wait for another process's short write.
const busyTimeout = 10 * time.Second

// maxStatements bounds the statement cache of a connection. The texts of package store are
// far fewer; the bound is for a caller that builds texts.
const maxStatements = 500

// keepBindBytes is the size from which a bound value is not kept until the next use.
const keepBindBytes = 4 << 10

// conn implements store.Conn. It is used by one goroutine at a time.
type conn struct {
	c          *driver.Conn
	ctx        context.Context // of a View; nil: rows are never cut off
	statements map[string]*statement
	texts      map[string]string   // of InsertAll, by the text of one row
	bad        bool                // an error says that it should be opened anew
	failed     error               // the first ErrUnavailable of the Update that runs
	counts     []store.UsageChange // of the Updates of the group that runs
	counted    int                 // of them, by the Updates before the one that runs
	wrote      bool                // the Update that runs has changed something, or may have

	evicted chan struct{} // closed to interrupt the View that runs; nil: not of the pool
}

// statement is a prepared text. busy is set while its rows are being read: the same text
// used inside a row callback gets a second, transient statement.
type statement struct {
	s     *driver.Stmt
	busy  bool
	reads bool // it changes nothing
}

// newStatement returns the statement of a text.
func newStatement(s *driver.Stmt, query string) *statement {
	return &statement{s: s, reads: strings.HasPrefix(query, "SELECT ")}
}

// openConn opens a connection and sets it up. Errors are the driver's.
func openConn(path string, pragmas ...string) (*conn, error) {
	c, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(busyTimeout)
	db := &conn{c: c, statements: map[string]*statement{}}
	for _, pragma := range append([]string{"synchronous = FULL", "temp_store = MEMORY", "wal_autocheckpoint = 0"}, pragmas...) {
		if _, err := db.plain("PRAGMA " + pragma); err != nil {
			db.close()
			return nil, fmt.Errorf("pragma %s: %w", pragma, err)
		}
	}
	return db, nil
}

// openWriter opens a connection that writes. A backup has no write-ahead log: the first owner of what was restored from
// it gives it one again. Others leave the file as it is.
func openWriter(path string, owner bool) (*conn, error) {
	c, err := openConn(path, "cache_size = -16000")
	if err != nil || !owner {
		return c, err
	}
	var mode string
	err = c.Query("PRAGMA journal_mode = WAL", func(r store.Row) error {
		mode = r.Text(0)
		return nil
	})
	if err == nil && mode != "wal" {
		err = fmt.Errorf("%w: the database has the journal mode %q, and cannot have a write-ahead log", store.ErrUnavailable, mode)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *conn) close() error {
	c.statements = nil
	return c.c.Close() // finalizes the cached statements
}

// plain runs a text without parameters to its end and returns its last row as numbers.
// Errors are the driver's.
func (c *conn) plain(text string) (row []int64, err error) {
	s, _, err := c.c.PrepareTransient(text)
	if err != nil {
		return nil, err
	}
	defer s.Finalize()
	for {
		more, err := s.Step()
		if err != nil || !more {
			return row, err
		}
		row = row[:0]
		for col := range s.ColumnCount() {
			row = append(row, s.ColumnInt64(col))
		}
	}
}

// begin finds or prepares the statement of a text and binds its arguments.
func (c *conn) begin(query string, args []any) (*statement, error) {
	st := c.statements[query]
	if st == nil || st.busy {
		var err error
		if st, err = c.prepare(query, st == nil); err != nil {
			return nil, err
		}
	}
	st.busy = true
	if n := st.s.BindParamCount(); n != len(args) {
		c.end(st, query, nil)
		return nil, fmt.Errorf("%d arguments for %d parameters in %q", len(args), n, query)
	}
	for i, arg := range args {
		if err := bind(st.s, i+1, arg); err != nil {
			c.end(st, query, args)
			return nil, fmt.Errorf("%w in %q", err, query)
		}
	}
	return st, nil
}

func (c *conn) prepare(query string, cached bool) (*statement, error) {
	if !cached {
		s, _, err := c.c.PrepareTransient(query)
		return newStatement(s, query), err
	}
	if len(c.statements) >= maxStatements {
		for text, st := range c.statements {
			if !st.busy {
				delete(c.statements, text)
				st.s.Finalize()
			}
		}
	}
	s, err := c.c.Prepare(query)
	if err != nil {
		return nil, err
	}
	st := newStatement(s, query)
	c.statements[query] = st
	return st, nil
}

// end makes a statement ready for its next use.
func (c *conn) end(st *statement, query string, args []any) {
	st.busy = false
	if c.statements[query] != st {
		st.s.Finalize()
		return
	}
	st.s.Reset()
	for _, arg := range args {
		if b, ok := arg.([]byte); ok && len(b) > keepBindBytes {
			st.s.ClearBindings()
			return
		}
	}
}

func bind(s *driver.Stmt, param int, arg any) error {
	switch v := arg.(type) {
	case nil:
		s.BindNull(param)
	case int64:
		s.BindInt64(param, v)
	case int:
		s.BindInt64(param, int64(v))
	case string:
		s.BindText(param, v)
	case []byte:
		s.BindBytes(param, v)
	case bool:
		s.BindBool(param, v)
	case float64:
		s.BindFloat(param, v)
	default:
		return fmt.Errorf("argument %d has type %T", param, arg)
	}
	return nil
}

func (c *conn) fail(err error) error {
	c.bad = c.bad || broken(err)
	mapped := mapError(err)
	if c.failed == nil && errors.Is(mapped, store.ErrUnavailable) {
		c.failed = mapped
	}
	return mapped
}

// Exec implements store.Conn.
func (c *conn) Exec(query string, args ...any) (int64, error) {
	st, err := c.begin(query, args)
	if err != nil {
		return 0, c.fail(err)
	}
	defer c.end(st, query, args)
	for {
		more, err := st.s.Step()
		if err != nil {
			return 0, c.fail(err)
		}
		if !more {
			changed := int64(c.c.Changes())
			c.wrote = c.wrote || changed > 0
			return changed, nil
		}
	}
}

// Query implements store.Conn.
func (c *conn) Query(query string, row func(store.Row) error, args ...any) error {
	st, err := c.begin(query, args)
	if err != nil {
		return c.fail(err)
	}
	defer c.end(st, query, args)
	wrote := c.wrote
	c.wrote = wrote || !st.reads // whatever ends it before its last row
	for {
		more, err := st.s.Step()
		if err != nil {
			return c.fail(err)
		}
		if !more {
			c.wrote = wrote || !st.reads && c.c.Changes() > 0
			return nil
		}
		if c.ctx != nil && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err := row(resultRow{st.s}); err != nil {
			return err
		}
	}
}

// Insert implements store.Conn.
func (c *conn) Insert(query string, args ...any) (int64, error) {
	changed, err := c.Exec(query, args...)
	if err != nil || changed == 0 {
		return 0, err
	}
	return c.c.LastInsertRowID(), nil
}

// rowsAtOnce is how many rows one statement of InsertAll inserts. Sixteen take two thirds of the time of one by one,
// and more save little.
const rowsAtOnce = 16

// InsertAll implements store.Conn. The table gives a number to each row: one above the highest that there is. So
// the numbers of one statement follow each other, for nothing else writes meanwhile and no table has triggers.
func (c *conn) InsertAll(query string, args [][]any) ([]int64, error) {
	numbers := make([]int64, 0, len(args))
	together := c.together(query)
	var all []any
	for together != "" && len(args) >= rowsAtOnce {
		all = all[:0]
		for _, row := range args[:rowsAtOnce] {
			all = append(all, row...)
		}
		changed, err := c.Exec(together, all...)
		if err != nil {
			return nil, err
		}
		if changed != rowsAtOnce {
			return nil, fmt.Errorf("%d of %d rows were inserted by %q", changed, rowsAtOnce, query)
		}
		last := c.c.LastInsertRowID()
		for no := last - rowsAtOnce + 1; no <= last; no++ {
			numbers = append(numbers, no)
		}
		args = args[rowsAtOnce:]
	}
	for _, row := range args {
		no, err := c.Insert(query, row...)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, no)
	}
	return numbers, nil
}

// together is an INSERT of one row as one of rowsAtOnce; empty: the values of the row are not plain parameters.
func (c *conn) together(query string) string {
	if text, ok := c.texts[query]; ok {
		return text
	}
	var text string
	head, values, _ := strings.Cut(query, "VALUES (")
	if parameters := plainParameters(strings.TrimSuffix(values, ")")); parameters > 0 {
		b := []byte(head + "VALUES ")
		for i := range rowsAtOnce * parameters {
			switch {
			case i == 0:
				b = append(b, '(')
			case i%parameters == 0:
				b = append(b, "), ("...)
			default:
				b = append(b, ", "...)
			}
			b = strconv.AppendInt(append(b, '?'), int64(i+1), 10)
		}
		text = string(append(b, ')'))
	}
	if c.texts == nil {
		c.texts = map[string]string{}
	}
	c.texts[query] = text
	return text
}

// plainParameters is how many parameters a list has that holds nothing else, in order: ?1, ?2 …; 0: it does.
func plainParameters(list string) int {
	parameters := strings.Split(list, ",")
	for i, parameter := range parameters {
		if strings.TrimSpace(parameter) != "?"+strconv.Itoa(i+1) {
			return 0
		}
	}
	return len(parameters)
}

// Send implements store.Conn. There is no way to put anything off: the database is here.
func (c *conn) Send(what, query string, args ...any) error {
	if _, err := c.Exec(query, args...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Each implements store.Conn.
func (c *conn) Each(query string, args [][]any) (changed int64, err error) {
	for _, row := range args {
		n, err := c.Exec(query, row...)
		if err != nil {
			return 0, err
		}
		changed += n
	}
	return changed, nil
}

// Count implements store.Conn.
func (c *conn) Count(change store.UsageChange) {
	c.counts = store.AppendUsage(c.counts, c.counted, change)
}

// Writers implements store.Conn.
func (c *conn) Writers() ([]string, error) { return nil, nil }

// Standbys implements store.Conn: one machine has no second one that would wait.
func (c *conn) Standbys() ([]store.Standby, error) { return nil, nil }

// ForUpdate implements store.Conn: one connection writes at a time.
func (c *conn) ForUpdate() string { return "" }

// SkipLocked implements store.Conn.
func (c *conn) SkipLocked() string { return "" }

// resultRow implements store.Row.
type resultRow struct{ s *driver.Stmt }

func (r resultRow) Int(col int) int64   { return r.s.ColumnInt64(col) }
func (r resultRow) Text(col int) string { return r.s.ColumnText(col) }
func (r resultRow) Null(col int) bool   { return r.s.ColumnIsNull(col) }

func (r resultRow) Bytes(col int) []byte {
	if r.s.ColumnIsNull(col) {
		return nil
	}
	b := make([]byte, r.s.ColumnLen(col))
	r.s.ColumnBytes(col, b)
	return b
}
