package api

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// streamBytes is how much of an answer is collected before it is sent. Short answers are
// sent in one piece, and an error in the first piece can still be answered as a problem.
const streamBytes = 64 << 10

// stream sends an answer, most often JSON, whose length is not known beforehand. The text is appended to dst; flow
// sends what has gathered. A stream serves one request and is not safe for concurrent use.
type stream struct {
	call   *call
	status int
	media  []string // default JSON
	dst    []byte
	buffer *[]byte
}

var streamBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, streamBytes+4<<10)
	return &b
}}

func (c *call) stream(status int) *stream {
	buffer := streamBuffers.Get().(*[]byte)
	return &stream{call: c, status: status, media: jsonValue, dst: (*buffer)[:0], buffer: buffer}
}

// text appends JSON text as it is.
func (s *stream) text(text string) { s.dst = append(s.dst, text...) }

// field appends the name of a field, with its comma and colon, and a value.
func (s *stream) field(name string, value any) error {
	text, err := encode(value)
	s.text(name)
	s.dst = append(s.dst, text...)
	return err
}

// beginStream begins an answer that takes longer. net/http reads what is left of a body before an answer, and ends the
// context of the request, and the stream with it, if that does not come in time. Where the connection ends with the
// answer, it reads behind it.
func (c *call) beginStream(status int) {
	if c.announced() {
		c.w.Header()["Connection"] = closeValue
	}
	c.head(status)
}

// flow sends the text so far if it is long enough.
func (s *stream) flow() error {
	if len(s.dst) < streamBytes {
		return nil
	}
	c := s.call
	if c.status == 0 {
		c.w.Header()["Content-Type"] = s.media
		c.beginStream(s.status)
	}
	return s.write()
}

// write sends a piece of an answer that has begun. The text for it may have taken long to gather.
func (s *stream) write() error {
	c := s.call
	// A writer that knows no deadlines has none to move.
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(c.server.idle))
	n, err := c.w.Write(s.dst)
	c.sent += int64(n)
	s.dst = s.dst[:0]
	if err != nil {
		return fmt.Errorf("%w: %w", errClientGone, err)
	}
	return nil
}

// close sends the rest and gives the buffer back.
func (s *stream) close() error {
	c := s.call
	if c.status == 0 {
		c.send(s.status, s.media, s.dst)
	} else if err := s.write(); err != nil {
		return err
	}
	if cap(s.dst) <= 4*streamBytes {
		*s.buffer = s.dst
		streamBuffers.Put(s.buffer)
	}
	return nil
}
