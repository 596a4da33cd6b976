package remote

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"
)

// Event is one server-sent event.
type Event struct {
	Type string // "message" where the server gave none
	Data []byte
}

// Stream reads server-sent events as the WHATWG HTML standard says: an event that the end of
// the stream cuts off is dropped. It is not for concurrent use.
type Stream struct {
	// LastID is the last event id; "" if there was none. A new stream is resumed with it.
	LastID string
	// Retry is the pause that the server asked for before a new stream; 0: it did not.
	Retry time.Duration

	r      *bufio.Reader
	limit  int
	line   []byte
	begun  bool // a byte order mark cannot come any more
	skipLF bool // the last line ended with CR
}

// NewStream reads events of at most limit bytes each from r.
func NewStream(r io.Reader, limit int) *Stream {
	return &Stream{r: bufio.NewReader(r), limit: limit}
}

// maxRetry bounds the pause that a server can ask for.
const maxRetry = time.Minute

// Next returns the next event that has data. The error is io.EOF at the end of the stream,
// ErrTooLarge for an event over the limit, or that of the connection.
func (s *Stream) Next() (Event, error) {
	var data bytes.Buffer
	kind, id := "", s.LastID
	read := 0
	for {
		line, err := s.readLine(s.limit - read)
		if err != nil {
			return Event{}, err
		}
		read += len(line)
		if len(line) == 0 {
			s.LastID = id
			if data.Len() == 0 {
				kind, read = "", 0
				continue
			}
			if kind == "" {
				kind = "message"
			}
			return Event{Type: kind, Data: data.Bytes()[:data.Len()-1]}, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			data.Write(value)
			data.WriteByte('\n')
		case "event":
			kind = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				id = string(value)
			}
		case "retry":
			s.retry(string(value))
		}
	}
}

func (s *Stream) retry(text string) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms > maxRetry.Milliseconds() {
		ms = maxRetry.Milliseconds()
	}
	s.Retry = time.Duration(ms) * time.Millisecond
}

// readLine returns a line without its end, which is CR, LF or both. A line that has no end is
// an end of the stream.
func (s *Stream) readLine(limit int) ([]byte, error) {
	s.line = s.line[:0]
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return nil, err
		}
		if s.skipLF {
			s.skipLF = false
			if c == '\n' {
				continue
			}
		}
		if c == '\n' || c == '\r' {
			s.skipLF = c == '\r'
			if !s.begun {
				s.begun = true
				return bytes.TrimPrefix(s.line, []byte("\ufeff")), nil
			}
			return s.line, nil
		}
		if s.line = append(s.line, c); len(s.line) > limit {
			return nil, ErrTooLarge
		}
	}
}
