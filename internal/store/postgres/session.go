package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// maxStatements bounds the prepared statements of a session. The texts of package store
// are far fewer; the bound is for a caller that builds texts.
const maxStatements = 500

// session is one connection to the server. Statements are collected and sent together, as a batch of pgx: a batch costs
// one round trip, and the server passes over what follows a statement that fails. One goroutine at a time uses it.
type session struct {
	conn  *pgconn.PgConn
	pid   uint32
	wait  time.Duration // for the answers of one batch
	trips *atomic.Int64 // round trips of all sessions of the database

	statements map[string]*statement // by text, or variant
	merged     map[*statement]string // the text of one for many; empty: it stands for itself
	names      int
	pending    []*entry
	merging    bool    // entries of the same text may be sent as one
	numbers    []int64 // of executions, taken ahead
	dead       error   // the connection cannot be used any more
}

// statement is a text that the server has parsed for this session.
type statement struct {
	pgconn.StatementDescription
	columns []uint32 // types of the result columns
}

// entry is one statement of a batch.
type entry struct {
	text      string     // as PostgreSQL writes it
	statement *statement // nil: the text is sent and parsed every time
	values    [][]byte
	what      string // for the error of a statement that was put off
	owner     int    // which Update of the group it belongs to; ofGroup: the group's own
	control   bool   // BEGIN, SAVEPOINT and the like
	each      bool   // of Each: it may be sent with others of the same text as one
	result    *result
	parts     []*entry // those that it stands for; nil: itself
}

// ofGroup is the owner of the statements of a group as a whole, such as BEGIN.
const ofGroup = -1

// result is what a statement answered.
type result struct {
	types   []uint32
	rows    [][][]byte
	changed int64
	tag     string
	wrote   bool // it has changed a row
}

// lostError is the loss of a connection, as opposed to an error that the server reports
// and survives.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

func lost(err error) bool {
	var l lostError
	return errors.As(err, &l)
}

// dial opens a session. Errors are the driver's.
func dial(ctx context.Context, config *pgconn.Config, wait time.Duration, trips *atomic.Int64) (*session, error) {
	c, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &session{conn: c, pid: c.PID(), wait: wait, trips: trips, statements: map[string]*statement{}, merged: map[*statement]string{}}, nil
}

// close tells the server that the session ends, if it can, and closes the connection.
func (s *session) close() {
	if s.dead == nil {
		_ = s.conn.Conn().SetDeadline(time.Now().Add(time.Second))
		_ = s.conn.Close(context.Background())
		s.dead = lostError{errors.New("session closed")}
	}
}

// reset undoes the transaction that is open.
func (s *session) reset() error {
	s.pending = nil
	s.control("ROLLBACK", ofGroup)
	_, err := s.flush()
	return err
}

// lose closes the connection at once, so that nothing more of this session reaches the server.
func (s *session) lose(err error) error {
	if s.dead == nil {
		s.dead = lostError{err}
		s.conn.Conn().Close()
	}
	return s.dead
}

// control adds a statement without parameters to the next batch. It is not prepared: the server would refuse to parse
// it ahead of the ROLLBACK that it follows.
func (s *session) control(text string, owner int) {
	s.pending = append(s.pending, &entry{text: text, owner: owner, control: true})
}

// start sets the deadline of the next answers.
func (s *session) start() error {
	if s.dead != nil {
		return s.dead
	}
	if err := s.conn.Conn().SetDeadline(time.Now().Add(s.wait)); err != nil {
		return s.lose(err)
	}
	s.trips.Add(1)
	return nil
}

// prepare lets the server parse a text, with the types of its parameters; 0: the server's choice. An error that the
// server reports ends the transaction that is open.
func (s *session) prepare(key, text string, types []uint32) (*statement, error) {
	if len(s.statements) >= maxStatements {
		s.control("DEALLOCATE ALL", ofGroup)
		if _, err := s.flush(); err != nil {
			return nil, err
		}
		clear(s.statements)
		clear(s.merged)
	}
	if err := s.start(); err != nil {
		return nil, err
	}
	s.names++
	described, err := s.conn.Prepare(context.Background(), fmt.Sprint("s", s.names), text, types)
	if err != nil {
		return nil, s.reported(err)
	}
	st := &statement{StatementDescription: *described}
	for _, f := range st.Fields {
		st.columns = append(st.columns, f.DataTypeOID)
	}
	s.statements[key] = st
	return st, nil
}

// entry makes an entry of its own for a text that is always called with arguments of the same types. There is no
// transaction that an error could end.
func (s *session) entry(text string, args []any) (*entry, error) {
	types, values, err := encode(args)
	if err != nil {
		return nil, err
	}
	st := s.statements[text]
	if st == nil {
		if st, err = s.prepare(text, text, types); err != nil {
			return nil, err
		}
	}
	return &entry{text: text, statement: st, values: values, owner: ofGroup}, nil
}

// adopt puts entries of a session that was lost into the first batch of this one.
func (s *session) adopt(entries []*entry) (err error) {
	for _, e := range entries {
		if e.statement == nil {
			continue
		}
		if e.statement, err = s.prepare(e.text, e.text, e.statement.ParamOIDs); err != nil {
			return err
		}
	}
	s.pending = entries
	return nil
}

// takes reports whether a statement works with arguments of these types.
func (st *statement) takes(types []uint32) bool {
	for i, t := range types {
		if t != 0 && st.ParamOIDs[i] != t {
			return false
		}
	}
	return true
}

// inBinary is the format of all parameters and columns.
var inBinary = []int16{1}

// flush sends what is pending and reads the answers. With an error of the server's, at is
// the index of the entry that failed: those before it succeeded, those after it were not
// run. Where entries were merged, it may be another one, in another order.
func (s *session) flush() (at int, err error) {
	pending := s.pending
	s.pending = nil
	sent, err := s.merge(pending)
	if err != nil {
		return 0, err
	}
	switch at, err = s.send(sent); {
	case err == nil:
		return 0, nil
	case at < len(sent):
		return slices.Index(pending, sent[at].first()), err
	}
	return len(pending), err
}

// send sends entries and reads the answers, as flush.
func (s *session) send(sent []*entry) (at int, err error) {
	if err := s.start(); err != nil {
		return 0, err
	}
	var batch pgconn.Batch
	for _, e := range sent {
		if e.statement == nil {
			batch.ExecParams(e.text, e.values, nil, inBinary, inBinary)
		} else {
			batch.ExecStatement(&e.statement.StatementDescription, e.values, inBinary, inBinary)
		}
	}
	answers := s.conn.ExecBatch(context.Background(), &batch)
	for at < len(sent) && answers.NextResult() {
		if sent[at].result, err = read(answers.ResultReader()); err != nil {
			break
		}
		if st := sent[at].statement; st != nil {
			sent[at].result.types = st.columns
		}
		sent[at].share()
		at++
	}
	if ended := answers.Close(); err == nil {
		err = ended
	}
	if err != nil {
		return at, s.reported(err)
	}
	if at < len(sent) {
		return 0, s.lose(errors.New("the server answered less than it was asked"))
	}
	return 0, nil
}

// read reads what a statement answers.
func read(rows *pgconn.ResultReader) (*result, error) {
	r := &result{}
	for rows.NextRow() {
		r.rows = append(r.rows, copyRow(rows.Values()))
	}
	tag, err := rows.Close()
	r.changed, r.tag = tag.RowsAffected(), tag.String()
	r.wrote = r.changed > 0 && !tag.Select()
	return r, err
}

// reported tells an error that the server reports from the loss of the connection. After a fatal error, the server
// closes the connection.
func (s *session) reported(err error) error {
	var pg *pgconn.PgError
	if s.conn.IsClosed() || !errors.As(err, &pg) || pg.SeverityUnlocalized == "FATAL" || pg.SeverityUnlocalized == "PANIC" {
		return s.lose(err)
	}
	return err
}

// copyRow keeps a row beyond the next message, in one piece of memory.
func copyRow(values [][]byte) [][]byte {
	size := 0
	for _, v := range values {
		size += len(v)
	}
	kept, memory := make([][]byte, len(values)), make([]byte, 0, size)
	for i, v := range values {
		if v == nil {
			continue
		}
		start := len(memory)
		memory = append(memory, v...)
		kept[i] = memory[start:len(memory):len(memory)]
	}
	return kept
}
