package store

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
)

// Event is a stored event: what was emitted or received in an environment. It is never changed.
type Event struct {
	Account     int64
	Environment chargehand.Environment
	Number      int64    // its place in the stream, from 1 without gaps in the order of commit
	Dedupe      [16]byte // two events of a stream with the same one are the same event
	ReceivedMs  int64    // never before that of the number below
	Type        string
	Origin      chargehand.ExecutionID // the execution that has emitted it; zero: it came from outside
	Starter     int64                  // of the executions that it starts; 0: they have no limits
	Data        Payload                // the envelope, a CloudEvent in JSON
}

// Stream is how far the events of an environment have got. Zero: there was none yet.
type Stream struct {
	Account     int64
	Environment chargehand.Environment
	Last        int64 // number of the last event
	LastMs      int64 // its time
}

// eventsAtOnce is how many events one statement looks for.
const eventsAtOnce = 40

// InsertEvents adds events to the stream of their account and environment, which are those of
// the first one, and sets Number and ReceivedMs of each: at nowMs, or the time of the last one where
// that is later. One that is stored already keeps its number and is not added again. added is the
// number of those that were new. The stream is locked until the Update is committed.
// Blobs must have been reserved (ReserveBlob); otherwise ErrNotFound.
func (t *Tx) InsertEvents(events []Event, nowMs int64) (added int, err error) {
	if len(events) == 0 {
		return 0, nil
	}
	account, env := events[0].Account, int64(events[0].Environment)
	var s Stream
	err = t.one(`INSERT INTO stream (account, environment, last, last_ms) VALUES (?1, ?2, 0, 0)
 ON CONFLICT (account, environment) DO UPDATE SET last = stream.last RETURNING last, last_ms`, func(r Row) {
		s.Last, s.LastMs = r.Int(0), r.Int(1)
	}, account, env)
	if err != nil {
		return 0, fmt.Errorf("lock stream: %w", err)
	}
	known, err := t.knownEvents(account, env, events)
	if err != nil {
		return 0, err
	}
	s.LastMs = max(s.LastMs, nowMs)
	for i := range events {
		e := &events[i]
		if k, ok := known[e.Dedupe]; ok {
			e.Number, e.ReceivedMs = k.Number, k.ReceivedMs
			continue
		}
		s.Last++
		e.Number, e.ReceivedMs = s.Last, s.LastMs
		known[e.Dedupe] = *e
		added++
		err := t.c.Send("insert event", `INSERT INTO event (account, environment, number, received_ms, dedupe, type, origin,
 data, data_blob, data_size, starter) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`, account, env, e.Number, e.ReceivedMs, e.Dedupe[:],
			e.Type, idArg(e.Origin), t.seal(kindEvent, rowKey{account, env, e.Number}, e.Data.Inline), t.hide(e.Data.Blob), sizeArg(e.Data), e.Starter)
		if err != nil {
			return 0, err
		}
		if err := t.refBlob(e.Data.Blob); err != nil {
			return 0, err
		}
	}
	if added == 0 {
		return 0, nil
	}
	return added, t.c.Send("move stream", `UPDATE stream SET last = ?3, last_ms = ?4 WHERE account = ?1 AND environment = ?2`, account, env, s.Last, s.LastMs)
}

// knownEvents finds those of events that are stored, with number and time only.
func (t *Tx) knownEvents(account, env int64, events []Event) (map[[16]byte]Event, error) {
	known := make(map[[16]byte]Event, len(events))
	for from := 0; from < len(events); from += eventsAtOnce {
		page := events[from:min(from+eventsAtOnce, len(events))]
		size := 1
		if len(page) > 1 {
			size = eventsAtOnce
		}
		args := make([]any, size, size+2)
		for i := range args { // few texts are to be prepared: the last one is repeated
			args[i] = page[min(i, len(page)-1)].Dedupe[:]
		}
		query := fmt.Sprintf(`SELECT dedupe, number, received_ms FROM event WHERE account = ?%d AND environment = ?%d AND dedupe IN (%s)`,
			size+1, size+2, placeholders(size))
		err := t.c.Query(query, func(r Row) error {
			known[[16]byte(r.Bytes(0))] = Event{Number: r.Int(1), ReceivedMs: r.Int(2)}
			return nil
		}, append(args, account, env)...)
		if err != nil {
			return nil, fmt.Errorf("look for known events: %w", err)
		}
	}
	return known, nil
}

// Stream reads how far a stream has got.
func (r *Reader) Stream(account int64, env chargehand.Environment) (Stream, error) {
	s := Stream{Account: account, Environment: env}
	err := r.one(`SELECT last, last_ms FROM stream WHERE account = ?1 AND environment = ?2`, func(row Row) {
		s.Last, s.LastMs = row.Int(0), row.Int(1)
	}, account, int64(env))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Stream{}, fmt.Errorf("read stream: %w", err)
	}
	return s, nil
}

// Streams reads all streams that have had an event. There are at most two per account.
func (r *Reader) Streams() ([]Stream, error) {
	return readAll(r, "read streams", `SELECT account, environment, last, last_ms FROM stream ORDER BY account, environment`, func(row Row, s *Stream) {
		*s = Stream{row.Int(0), chargehand.Environment(row.Int(1)), row.Int(2), row.Int(3)}
	})
}

const selectEvent = `SELECT number, received_ms, dedupe, type, origin, data, data_blob, data_size, starter FROM event
 WHERE account = ?1 AND environment = ?2 AND number > ?3 AND number <= ?4`

// Events calls row for up to limit events with numbers above after and up to last, in order,
// until row returns false. The event is valid only during the call; its bytes may be kept.
func (r *Reader) Events(account int64, env chargehand.Environment, after, last int64, limit int, row func(*Event) (bool, error)) error {
	return r.events(account, env, selectEvent+` ORDER BY number LIMIT ?5`, row, account, int64(env), after, last, int64(limit))
}

// EventsOfTypes is Events for those of certain types: for few of them in a long stream. It costs nothing for the
// others.
func (r *Reader) EventsOfTypes(account int64, env chargehand.Environment, types []string, after, last int64, limit int, row func(*Event) (bool, error)) error {
	if len(types) == 0 {
		return nil
	}
	query, args := "", []any{account, int64(env), after, last, int64(limit)}
	for i, name := range types {
		if i > 0 {
			query += "\nUNION ALL "
		}
		args = append(args, name)
		query += fmt.Sprintf("%s AND type = ?%d", selectEvent, len(args))
	}
	return r.events(account, env, query+"\nORDER BY number LIMIT ?5", row, args...)
}

func (r *Reader) events(account int64, env chargehand.Environment, query string, row func(*Event) (bool, error), args ...any) error {
	err := r.c.Query(query, func(rw Row) error {
		e := Event{Account: account, Environment: env, Number: rw.Int(0), ReceivedMs: rw.Int(1), Type: rw.Text(3), Data: r.payload(rw, 5, kindEvent, rowKey{account, int64(env), rw.Int(0)}), Starter: rw.Int(8)}
		copy(e.Dedupe[:], rw.Bytes(2))
		scanID(rw, 4, &e.Origin)
		more, err := row(&e)
		if err == nil && !more {
			err = errEnough
		}
		return err
	}, args...)
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read events: %w", err)
	}
	return nil
}

// EventTypes reads up to limit types that begin with prefix and that the stored events of a stream have, in order. It
// reads one index entry for each.
func (r *Reader) EventTypes(account int64, env chargehand.Environment, prefix string, limit int) ([]string, error) {
	args := []any{account, int64(env), prefix, int64(limit)}
	below := ""
	if end := textsAfter(prefix); end != "" {
		args, below = append(args, end), " AND type < ?5"
	}
	return readAll(r, "read types of events", `WITH RECURSIVE step (type) AS (
 SELECT (SELECT type FROM event WHERE account = ?1 AND environment = ?2 AND type >= ?3`+below+` ORDER BY type LIMIT 1)
 UNION ALL
 SELECT (SELECT e.type FROM event e WHERE e.account = ?1 AND e.environment = ?2 AND e.type > step.type`+below+` ORDER BY e.type LIMIT 1)
 FROM step WHERE step.type IS NOT NULL)
SELECT type FROM step WHERE type IS NOT NULL LIMIT ?4`, func(row Row, name *string) { *name = row.Text(0) }, args...)
}

// textsAfter is the first text behind all that begin with prefix; "" if there is none.
func textsAfter(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		if last == 0xD7FF {
			last = 0xDFFF // between them are no characters
		}
		if last < utf8.MaxRune {
			return prefix + string(last+1)
		}
	}
	return ""
}

// LastEventBefore is the number of the last stored event that was received before ms; 0 if there is none.
func (r *Reader) LastEventBefore(account int64, env chargehand.Environment, ms int64) (number int64, err error) {
	err = r.one(`SELECT number FROM event WHERE account = ?1 AND environment = ?2 AND received_ms < ?3
 ORDER BY received_ms DESC, number DESC LIMIT 1`, func(row Row) { number = row.Int(0) }, account, int64(env), ms)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("read the last event before a time: %w", err)
	}
	return number, nil
}

// DeleteEvents deletes up to limit events of a stream that were received before beforeMs, oldest
// first. Call again, in another Update, while n is limit. A reader that has not read them by then never will.
func (t *Tx) DeleteEvents(account int64, env chargehand.Environment, beforeMs int64, limit int) (n int, err error) {
	nos, err := t.numbers(`SELECT number FROM event WHERE account = ?1 AND environment = ?2 AND received_ms < ?3
 ORDER BY received_ms, number LIMIT ?4`, account, int64(env), beforeMs, int64(limit))
	if err != nil || len(nos) == 0 {
		return 0, err
	}
	var blobs [][]byte
	err = t.c.Query(`DELETE FROM event WHERE account = ?1 AND environment = ?2 AND number <= ?3 RETURNING data_blob`, func(r Row) error {
		if b := r.Bytes(0); b != nil {
			blobs = append(blobs, b)
		}
		n++
		return nil
	}, account, int64(env), nos[len(nos)-1])
	if err != nil {
		return 0, fmt.Errorf("delete events: %w", err)
	}
	return n, t.unrefBlobs(blobs)
}

// StreamCursor is the position of a reader of a stream: event Number is done, and the part of the next one that Part
// means to the reader.
type StreamCursor struct {
	Number int64
	Part   int64
}

// ListenCursor is the name of the cursor of the event matcher, which finds subscriptions for events. Its Part is made
// by Partly.
const ListenCursor = "listen"

// MaxPartly bounds the events of Partly.
const MaxPartly = 1 << partlyBits

const partlyBits = 13

// Partly is the Part of a ListenCursor whose next events, so many of them, have been handed out to the subscriptions
// up to one, which is not 0, and not to those behind it.
func Partly(subscription int64, events int) int64 {
	return subscription<<partlyBits | int64(events-1)
}

// Partly returns what Part was made of; zeros if no event is handed out in part.
func (c StreamCursor) Partly() (subscription int64, events int) {
	if c.Part == 0 {
		return 0, 0
	}
	return c.Part >> partlyBits, int(c.Part&(MaxPartly-1)) + 1
}

const selectCursor = `SELECT number, part FROM stream_cursor WHERE account = ?1 AND environment = ?2 AND name = ?3`

// Cursor reads a cursor; zero if there is none of that name. Several may follow a stream, each
// under a name of its own.
func (r *Reader) Cursor(account int64, env chargehand.Environment, name string) (StreamCursor, error) {
	c, _, err := r.cursor(selectCursor, account, env, name)
	return c, err
}

func (r *Reader) cursor(query string, account int64, env chargehand.Environment, name string) (c StreamCursor, found bool, err error) {
	err = r.one(query, func(row Row) { c = StreamCursor{row.Int(0), row.Int(1)} }, account, int64(env), name)
	if errors.Is(err, ErrNotFound) {
		return StreamCursor{}, false, nil
	}
	if err != nil {
		return StreamCursor{}, false, fmt.Errorf("read cursor: %w", err)
	}
	return c, true, nil
}

// LockCursor reads a cursor, which it inserts if it is missing, and locks it until the Update is committed: one caller
// at a time moves it.
func (t *Tx) LockCursor(account int64, env chargehand.Environment, name string) (StreamCursor, error) {
	c, found, err := t.cursor(selectCursor+t.c.ForUpdate(), account, env, name)
	if err != nil || found {
		return c, err
	}
	err = t.one(`INSERT INTO stream_cursor (account, environment, name, number, part) VALUES (?1, ?2, ?3, 0, 0)
 ON CONFLICT (account, environment, name) DO UPDATE SET number = stream_cursor.number RETURNING number, part`,
		func(r Row) { c = StreamCursor{r.Int(0), r.Int(1)} }, account, int64(env), name)
	if err != nil {
		return StreamCursor{}, fmt.Errorf("make cursor: %w", err)
	}
	return c, nil
}

// TakeCursor is LockCursor that does not wait: ok is false if another Update holds the lock.
func (t *Tx) TakeCursor(account int64, env chargehand.Environment, name string) (c StreamCursor, ok bool, err error) {
	c, ok, err = t.cursor(selectCursor+t.c.SkipLocked(), account, env, name)
	if err != nil || ok {
		return c, ok, err
	}
	if _, known, err := t.cursor(selectCursor, account, env, name); known || err != nil {
		return StreamCursor{}, false, err
	}
	c, err = t.LockCursor(account, env, name)
	return c, err == nil, err
}

// MoveCursor writes a cursor that is locked.
func (t *Tx) MoveCursor(account int64, env chargehand.Environment, name string, c StreamCursor) error {
	return t.change("move cursor", `UPDATE stream_cursor SET number = ?4, part = ?5 WHERE account = ?1 AND environment = ?2 AND name = ?3`,
		account, int64(env), name, c.Number, c.Part)
}

// StreamsBehind reads the streams that have events which a cursor has not passed.
func (r *Reader) StreamsBehind(name string) ([]Stream, error) {
	return readAll(r, "read streams that are behind", `SELECT s.account, s.environment, s.last, s.last_ms FROM stream s
 LEFT JOIN stream_cursor c ON c.account = s.account AND c.environment = s.environment AND c.name = ?1
 WHERE COALESCE(c.number, 0) < s.last ORDER BY s.account, s.environment`, func(row Row, s *Stream) {
		*s = Stream{row.Int(0), chargehand.Environment(row.Int(1)), row.Int(2), row.Int(3)}
	}, name)
}
