package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// maxStatements bounds the prepared statements of a session. The texts of package store
// are far fewer; the bound is for a caller that builds texts.
const maxStatements = 500

// session is one connection to the server, in the extended protocol. Statements are
// collected and go out together, followed by one Sync: what is sent in one flight costs
// one round trip. It is used by one goroutine at a time.
type session struct {
	net   net.Conn
	front *pgproto3.Frontend
	pid   uint32
	wait  time.Duration // for the answers of one flight
	trips *atomic.Int64 // flights of all sessions of the database

	statements map[string]*statement
	names      int
	pending    []*entry
	numbers    []int64 // of executions, taken ahead
	unread     bool    // a flight was sent whose answers have not been read
	dead       error   // the connection is of no use any more
}

// statement is a text that the server has parsed, or is about to.
type statement struct {
	name     string
	declared []uint32 // types of the parameters as we gave them; 0: the server's choice
	params   []uint32 // as the server told them
	columns  []uint32 // types of the result columns
	parsed   bool
}

// entry is one statement on its way.
type entry struct {
	text    string // as PostgreSQL writes it
	key     string // of the statement; the text, unless the types of its arguments differ
	types   []uint32
	values  [][]byte
	what    string // for the error of a statement that was put off
	owner   int    // which Update of the group it belongs to; nobody: the group's own
	control bool   // BEGIN, SAVEPOINT and the like
	parsing bool   // its text goes to the server in this flight
	result  *result
}

const nobody = -1

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
	h, err := c.Hijack()
	if err != nil {
		return nil, err
	}
	return &session{net: h.Conn, front: h.Frontend, pid: h.PID, wait: wait, trips: trips, statements: map[string]*statement{}}, nil
}

// close says good-bye, which may get lost, and closes the connection.
func (s *session) close() {
	if s.dead == nil {
		_ = s.net.SetDeadline(time.Now().Add(time.Second))
		s.front.Send(&pgproto3.Terminate{})
		_ = s.front.Flush()
		s.dead = lostError{errors.New("session closed")}
	}
	s.net.Close()
}

// reset gives up the transaction that is open.
func (s *session) reset() error {
	s.pending = nil
	s.control("ROLLBACK", nobody)
	_, err := s.flush()
	return err
}

func (s *session) lose(err error) error {
	if s.dead == nil {
		s.dead = lostError{err}
		s.net.Close()
	}
	return s.dead
}

// control puts a statement without parameters on its way.
func (s *session) control(text string, owner int) {
	s.pending = append(s.pending, &entry{text: text, key: text, owner: owner, control: true})
}

// flush sends what is pending and reads the answers. With an error of the server's, at is
// the place of the entry that failed: those before it succeeded, those after it were not
// run.
func (s *session) flush() (at int, err error) {
	if err := s.send(); err != nil {
		return 0, err
	}
	sent := s.pending
	s.pending = nil
	return s.receive(sent)
}

// part sends what is pending and leaves its answers unread until the next flight, so that
// nobody waits for them. Errors show then.
func (s *session) part() error {
	if err := s.send(); err != nil {
		return err
	}
	s.pending, s.unread = nil, true
	return nil
}

func (s *session) send() error {
	if s.dead != nil {
		return s.dead
	}
	if err := s.net.SetDeadline(time.Now().Add(s.wait)); err != nil {
		return s.lose(err)
	}
	if s.unread { // answers to control statements of the flight before
		s.unread = false
		if err := s.skip(); err != nil {
			return err
		}
	}
	for _, e := range s.pending {
		s.write(e)
	}
	s.front.SendSync(&pgproto3.Sync{})
	if err := s.front.Flush(); err != nil {
		return s.lose(err)
	}
	s.trips.Add(1)
	return nil
}

// inBinary is the format of all parameters and columns.
var inBinary = []int16{1}

// write puts the messages of an entry into the buffer of the connection.
func (s *session) write(e *entry) {
	st := s.statements[e.key]
	if st == nil {
		if len(s.statements) >= maxStatements {
			s.forget()
		}
		s.names++
		st = &statement{name: fmt.Sprint("s", s.names), declared: e.types}
		s.statements[e.key] = st
	}
	e.result = &result{}
	if e.parsing = !st.parsed; e.parsing {
		s.front.SendParse(&pgproto3.Parse{Name: st.name, Query: e.text, ParameterOIDs: st.declared})
		s.front.SendDescribe(&pgproto3.Describe{ObjectType: 'S', Name: st.name})
		st.parsed = true // unless the answer says otherwise
	}
	s.front.SendBind(&pgproto3.Bind{PreparedStatement: st.name, Parameters: e.values, ParameterFormatCodes: inBinary, ResultFormatCodes: inBinary})
	s.front.SendExecute(&pgproto3.Execute{})
}

// forget gives up statements that are not on their way.
func (s *session) forget() {
	busy := map[string]bool{}
	for _, e := range s.pending {
		busy[e.key] = true
	}
	for key, st := range s.statements {
		if !busy[key] {
			s.front.SendClose(&pgproto3.Close{ObjectType: 'S', Name: st.name})
			delete(s.statements, key)
		}
	}
}

// skip reads answers up to the end of a flight.
func (s *session) skip() error {
	for {
		msg, err := s.front.Receive()
		if err != nil {
			return s.lose(err)
		}
		switch m := msg.(type) {
		case *pgproto3.ReadyForQuery:
			return nil
		case *pgproto3.ErrorResponse:
			if err := s.reported(m); lost(err) {
				return err
			}
		}
	}
}

// reported turns an error of the server into ours. After a fatal one, the server closes
// the connection.
func (s *session) reported(m *pgproto3.ErrorResponse) error {
	err := pgconn.ErrorResponseToPgError(m)
	if severity := err.SeverityUnlocalized; severity == "FATAL" || severity == "PANIC" {
		return s.lose(err)
	}
	return err
}

// receive reads the answers of a flight.
func (s *session) receive(sent []*entry) (at int, err error) {
	var failed error
	n := 0 // the entry that is being answered
	for {
		msg, err := s.front.Receive()
		if err != nil {
			return 0, s.lose(err)
		}
		switch m := msg.(type) {
		case *pgproto3.ReadyForQuery:
			if failed == nil && n != len(sent) {
				return 0, s.lose(errors.New("the server answered less than it was asked"))
			}
			return at, failed
		case *pgproto3.ErrorResponse:
			if failed = s.reported(m); lost(failed) {
				return 0, failed
			}
			at = n
			s.unparsed(sent[min(n, len(sent)):])
		case *pgproto3.CommandComplete, *pgproto3.EmptyQueryResponse, *pgproto3.ParseComplete, *pgproto3.ParameterDescription,
			*pgproto3.RowDescription, *pgproto3.BindComplete, *pgproto3.DataRow:
			if n >= len(sent) {
				return 0, s.lose(errors.New("the server answered more than it was asked"))
			}
			if s.answer(sent[n], msg) {
				n++
			}
		}
	}
}

// unparsed forgets the statements that an error kept from being parsed: an error ends the
// flight for all that follows it.
func (s *session) unparsed(entries []*entry) {
	for _, e := range entries {
		if st := s.statements[e.key]; e.parsing && st != nil && st.params == nil {
			delete(s.statements, e.key)
		}
	}
}

// answer takes one message for an entry and reports whether it was the last one.
func (s *session) answer(e *entry, msg pgproto3.BackendMessage) bool {
	st := s.statements[e.key]
	switch m := msg.(type) {
	case *pgproto3.ParameterDescription:
		st.params = append(make([]uint32, 0, len(m.ParameterOIDs)), m.ParameterOIDs...)
	case *pgproto3.RowDescription:
		for _, f := range m.Fields {
			st.columns = append(st.columns, f.DataTypeOID)
		}
	case *pgproto3.BindComplete:
		e.result.types = st.columns
	case *pgproto3.DataRow:
		e.result.rows = append(e.result.rows, copyRow(m.Values))
	case *pgproto3.CommandComplete:
		tag := pgconn.NewCommandTag(string(m.CommandTag))
		e.result.changed, e.result.tag = tag.RowsAffected(), tag.String()
		e.result.wrote = e.result.changed > 0 && !tag.Select()
		return true
	case *pgproto3.EmptyQueryResponse:
		return true
	}
	return false
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
