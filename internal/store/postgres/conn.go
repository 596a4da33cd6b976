package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/store"
)

// maxPutOff bounds the statements and bytes that wait for the next flight, so that their
// answers always fit into the buffers of the connection.
const (
	maxPutOff      = 256
	maxPutOffBytes = 1 << 20
)

// conn implements store.Conn for one Update or View. It is used by one goroutine.
type conn struct {
	texts  *texts
	ctx    context.Context // of a View; nil: rows are never cut off
	owner  int             // of its entries
	size   int             // bytes put off
	ahead  bool            // numbers of executions are taken ahead
	counts []store.UsageChange

	session *session
	flush   func() (*entry, error) // of the session, or of a group around it; the entry that failed
	failed  error                  // the first error: the transaction is of no use after it
	cause   error                  // the same, as it came
}

func (c *conn) fail(err error) error {
	if c.failed == nil {
		c.failed, c.cause = mapError(err), err
	}
	return c.failed
}

// entry makes an entry of a statement.
func (c *conn) entry(query, suffix string, args []any) (*entry, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	r := c.texts.of(query)
	if r.parameters != len(args) {
		return nil, c.fail(fmt.Errorf("%d arguments for %d parameters in %q", len(args), r.parameters, query))
	}
	types, values, err := encode(args)
	if err != nil {
		return nil, c.fail(fmt.Errorf("%w in %q", err, query))
	}
	st, err := c.prepared(r.text+suffix, types)
	if err != nil {
		return nil, c.fail(err)
	}
	return &entry{text: r.text + suffix, statement: st, values: values, owner: c.owner}, nil
}

// prepared finds the statement of a text with arguments of these types. What waits is sent before the server parses a
// new text: an error in it is then one of this Update, behind its savepoint.
func (c *conn) prepared(text string, types []uint32) (*statement, error) {
	key := text
	if st := c.session.statements[key]; st != nil && !st.takes(types) {
		key = variant(text, types)
	}
	if st := c.session.statements[key]; st != nil {
		return st, nil
	}
	if len(c.session.pending) > 0 {
		c.size = 0
		if err := c.fly(); err != nil {
			return nil, err
		}
	}
	return c.session.prepare(key, text, types)
}

func variant(text string, types []uint32) string {
	var b strings.Builder
	b.WriteString(text)
	for _, t := range types {
		b.WriteByte(0)
		b.WriteString(strconv.Itoa(int(t)))
	}
	return b.String()
}

// run sends a statement with everything that waits before it.
func (c *conn) run(query, suffix string, args []any) (*result, error) {
	e, err := c.entry(query, suffix, args)
	if err != nil {
		return nil, err
	}
	if c.ctx != nil && c.ctx.Err() != nil {
		return nil, c.ctx.Err()
	}
	c.session.pending = append(c.session.pending, e)
	c.size = 0
	if err := c.fly(); err != nil {
		return nil, err
	}
	return e.result, nil
}

// fly sends what waits, and names the statement that failed if it was put off.
func (c *conn) fly() error {
	e, err := c.flush()
	if err == nil {
		return nil
	}
	if e != nil && e.what != "" {
		err = fmt.Errorf("%s: %w", e.what, err)
	}
	return c.fail(err)
}

// Exec implements store.Conn.
func (c *conn) Exec(query string, args ...any) (int64, error) {
	r, err := c.run(query, "", args)
	if err != nil {
		return 0, err
	}
	return r.changed, nil
}

// Query implements store.Conn. All rows are read before the first call of row, which may
// therefore use the connection.
func (c *conn) Query(query string, row func(store.Row) error, args ...any) error {
	r, err := c.run(query, "", args)
	if err != nil {
		return err
	}
	if err := readable(r.types); err != nil {
		return c.fail(fmt.Errorf("%w in %q", err, query))
	}
	for _, values := range r.rows {
		if c.ctx != nil && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err := row(&resultRow{types: r.types, values: values}); err != nil {
			return err
		}
	}
	return nil
}

// Insert implements store.Conn. An execution's number is taken from a block where one
// session writes, so that its INSERT can be put off like any other statement.
func (c *conn) Insert(query string, args ...any) (no int64, err error) {
	if numbered := c.texts.numbered(query); c.ahead && numbered != "" {
		if no, err = c.number(); err != nil {
			return 0, err
		}
		return no, c.Send("insert execution", numbered, append(args, no)...)
	}
	r, err := c.run(query, " RETURNING no", args)
	if err != nil || len(r.rows) == 0 {
		return 0, err
	}
	return (&resultRow{types: r.types, values: r.rows[0]}).Int(0), nil
}

// InsertAll implements store.Conn. What is put off travels together.
func (c *conn) InsertAll(query string, args [][]any) ([]int64, error) {
	numbers := make([]int64, 0, len(args))
	for _, row := range args {
		no, err := c.Insert(query, row...)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, no)
	}
	return numbers, nil
}

// blockNumbers is how many numbers of executions a session takes at once. Those that are
// left when it ends are never used.
const blockNumbers = 128

const takeNumbers = `SELECT nextval(s.name) FROM (SELECT pg_get_serial_sequence('execution', 'no')::regclass AS name) s, generate_series(1, ?1)`

// number is the next number of an execution.
func (c *conn) number() (int64, error) {
	s := c.session
	if len(s.numbers) == 0 {
		r, err := c.run(takeNumbers, "", []any{int64(blockNumbers)})
		if err != nil {
			return 0, err
		}
		for _, values := range r.rows {
			s.numbers = append(s.numbers, (&resultRow{types: r.types, values: values}).Int(0))
		}
		slices.Sort(s.numbers)
	}
	no := s.numbers[0]
	s.numbers = s.numbers[1:]
	return no, nil
}

// Send implements store.Conn.
func (c *conn) Send(what, query string, args ...any) error {
	e, err := c.entry(query, "", args)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	e.what = what
	for _, v := range e.values {
		c.size += len(v)
	}
	c.session.pending = append(c.session.pending, e)
	if len(c.session.pending) >= maxPutOff || c.size >= maxPutOffBytes {
		c.size = 0
		return c.fly()
	}
	return nil
}

// Each implements store.Conn.
func (c *conn) Each(query string, args [][]any) (changed int64, err error) {
	for from := 0; from < len(args); {
		var entries []*entry
		size := 0
		for ; from < len(args) && len(entries) < maxPutOff && size < maxPutOffBytes; from++ {
			e, err := c.entry(query, "", args[from])
			if err != nil {
				return 0, err
			}
			e.each = true
			entries = append(entries, e)
			for _, v := range e.values {
				size += len(v)
			}
		}
		c.session.pending = append(c.session.pending, entries...)
		c.size = 0
		if err := c.fly(); err != nil {
			return 0, err
		}
		for _, e := range entries {
			changed += e.result.changed
		}
	}
	return changed, nil
}

// Count implements store.Conn.
func (c *conn) Count(change store.UsageChange) { c.counts = store.AppendUsage(c.counts, 0, change) }

// Writers implements store.Conn. Every transaction that writes begins with its mark: it holds a lock of table
// writer.
func (c *conn) Writers() (names []string, err error) {
	err = c.Query(`SELECT virtualtransaction FROM pg_locks WHERE relation = 'writer'::regclass AND mode = 'RowExclusiveLock'
 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, func(row store.Row) error {
		names = append(names, row.Text(0))
		return nil
	})
	return names, err
}

// ForUpdate implements store.Conn.
func (c *conn) ForUpdate() string { return " FOR UPDATE" }

// SkipLocked implements store.Conn.
func (c *conn) SkipLocked() string { return " FOR UPDATE SKIP LOCKED" }
