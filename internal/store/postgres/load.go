package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chargehand/chargehand/internal/store"
)

// Loader fills an empty database from another one, page by page, over a session of its own.
// It is used by one goroutine at a time. An error other than ErrFilled is the end of it: what
// was not committed is gone. Errors: store.ErrUnavailable.
type Loader struct {
	db   *DB
	conn *pgconn.PgConn
}

// ErrFilled: the database to fill has rows already.
var ErrFilled = errors.New("the database is not empty")

// setMeta is the text of store.Tx.SetMeta.
const setMeta = `INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

// Load brings the schema up to date and opens a session that fills tables. A database in
// Owner mode need not be owned for it: the caller makes sure that no other process fills it.
func (db *DB) Load(ctx context.Context) (*Loader, error) {
	s, err := db.connect(ctx)
	if err != nil {
		return nil, err
	}
	err = db.schema.migrate(ctx, db, s)
	s.close()
	if err != nil {
		return nil, err
	}
	config := db.config.Copy()
	for name, value := range map[string]string{
		"statement_timeout": "0", "lock_timeout": "5s", "idle_in_transaction_session_timeout": "60s", "application_name": "chargehand move",
	} {
		config.RuntimeParams[name] = value
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, connectError(err, db.config.Password)
	}
	return &Loader{db: db, conn: conn}, nil
}

// Close gives up the session, and with it what was not committed.
func (l *Loader) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.conn.Close(ctx)
}

// fail maps an error. One that the server does not report is the loss of the connection.
func (l *Loader) fail(ctx context.Context, err error) error {
	var reported *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &reported), errors.Is(err, store.ErrUnavailable):
		return mapError(err)
	}
	return unavailable(err)
}

func (l *Loader) exec(ctx context.Context, text string) error {
	_, err := l.conn.Exec(ctx, text).ReadAll()
	return err
}

func (l *Loader) setMeta(ctx context.Context, name string, value []byte) error {
	_, err := l.conn.ExecParams(ctx, setMeta, [][]byte{[]byte(name), value}, []uint32{typeText, typeBytes}, []int16{1, 1}, nil).Close()
	return err
}

// transact runs fn in a transaction.
func (l *Loader) transact(ctx context.Context, fn func() error) error {
	err := l.exec(ctx, "BEGIN")
	if err == nil {
		err = fn()
	}
	if err != nil {
		_ = l.exec(ctx, "ROLLBACK") // if it does not get there, the end of the session undoes
		return err
	}
	return l.exec(ctx, "COMMIT")
}

// Begin writes a value into table meta, if all tables are empty. Errors: ErrFilled, which says
// what has rows.
func (l *Loader) Begin(ctx context.Context, tables []store.Table, name string, value []byte) error {
	err := l.transact(ctx, func() error {
		// A server that starts now looks into meta first, and waits.
		if err := l.exec(ctx, "LOCK TABLE meta IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		var parts []string
		for _, t := range tables {
			parts = append(parts, fmt.Sprintf("SELECT '%s' WHERE EXISTS (SELECT 1 FROM %s)", t.Name, t.Name))
		}
		results, err := l.conn.Exec(ctx, strings.Join(parts, " UNION ALL ")).ReadAll()
		if err != nil {
			return err
		}
		var filled []string
		for _, row := range results[0].Rows {
			filled = append(filled, string(row[0]))
		}
		if len(filled) > 0 {
			return fmt.Errorf("%w: there are rows in %s", ErrFilled, strings.Join(filled, ", "))
		}
		return l.setMeta(ctx, name, value)
	})
	if errors.Is(err, ErrFilled) {
		return err
	}
	return l.fail(ctx, err)
}

// Append writes a page and a value of table meta, both or neither. The page may be nil.
func (l *Loader) Append(ctx context.Context, p *Page, name string, value []byte) error {
	err := l.transact(ctx, func() error {
		if p != nil && p.Rows > 0 {
			data := binary.BigEndian.AppendUint16(p.data, copyEnd)
			_, err := l.conn.CopyFrom(ctx, bytes.NewReader(data), fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT binary)", p.Table.Name, p.Table.Names()))
			if err != nil {
				return fmt.Errorf("fill table %s: %w", p.Table.Name, err)
			}
		}
		return l.setMeta(ctx, name, value)
	})
	return l.fail(ctx, err)
}

// Read calls row for all rows of a table, in the order of its key. They are not gathered.
func (l *Loader) Read(ctx context.Context, t store.Table, row func([]store.Value) error) error {
	u := &unpacker{table: t, row: row}
	_, err := l.conn.CopyTo(ctx, u, fmt.Sprintf("COPY (SELECT %s %s %s) TO STDOUT (FORMAT binary)", t.Names(), t.From(), t.Order()))
	if err == nil && !u.ended {
		err = errors.New("the server has sent only a part")
	}
	if err != nil {
		return l.fail(ctx, fmt.Errorf("read table %s: %w", t.Name, err))
	}
	return nil
}

// SetNumber makes the next number of a table come after no.
func (l *Loader) SetNumber(ctx context.Context, t store.Table, no int64) error {
	if no == 0 {
		return nil
	}
	if err := l.exec(ctx, fmt.Sprintf("SELECT setval(pg_get_serial_sequence('%s', '%s'), %d)", t.Name, t.Number, no)); err != nil {
		return l.fail(ctx, fmt.Errorf("set the next number of table %s: %w", t.Name, err))
	}
	return nil
}

// Analyze lets the server look at a table, so that it knows how many rows there are.
func (l *Loader) Analyze(ctx context.Context, t store.Table) error {
	if err := l.exec(ctx, "ANALYZE "+t.Name); err != nil {
		return l.fail(ctx, fmt.Errorf("analyze table %s: %w", t.Name, err))
	}
	return nil
}

// Finish deletes the values of meta that belong to the copying. From then on, servers may work
// on the database.
func (l *Loader) Finish(ctx context.Context) error {
	return l.fail(ctx, l.exec(ctx, "DELETE FROM meta WHERE substr(name, 1, 5) = '"+store.MovePrefix+"'"))
}
