package nats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
)

// The limits of what a server may send beside the messages themselves.
const (
	maxLineBytes   = 8 << 10 // of an operation; a server takes lines of 4 KiB and passes them on a little longer
	maxInfoBytes   = 1 << 20 // of an INFO line, which lists a whole cluster
	maxHeaderBytes = 64 << 10
)

// errTooLarge is the error of a message over the limit of messages.
var errTooLarge = errors.New("a message is over the limit of messages")

// violation is the error of a server that does not keep to the protocol or its limits here.
type violation struct{ detail string }

// Error implements error.
func (v *violation) Error() string { return v.detail }

// guarded is a connection whose Read hands on only what the scanner has let pass. The library
// makes room for a message when it reads the size that the server announces, and it trusts
// that number; so it must not see one over the limit.
type guarded struct {
	net.Conn
	source  io.Reader // what was read already, and then Conn
	scanner scanner
	err     error // stays
}

func guard(conn net.Conn, read []byte, messageBytes int64) *guarded {
	return &guarded{
		Conn: conn, source: io.MultiReader(bytes.NewReader(read), conn), scanner: scanner{messageBytes: messageBytes},
	}
}

// Read implements net.Conn. One goroutine at a time may call it.
func (g *guarded) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.source.Read(p)
	good, bad := g.scanner.pass(p[:n])
	if bad != nil {
		g.err = bad
		if good > 0 {
			return good, nil // the error comes with the next call
		}
		return 0, bad
	}
	return n, err
}

// scanner follows the protocol of a server. It is strict, so that it can have no other view
// of where a message ends than the library: lines end with CR LF and have no other CR, and so
// does what follows a line that announces a payload.
type scanner struct {
	messageBytes int64

	line    []byte // the begun line; of INFO only its beginning
	length  int    // of that line
	cr      bool   // it ends with CR
	payload int64  // what is to come of the payload
	after   int    // how many bytes of CR LF are to come after a payload
}

// pass returns how much of a chunk is passed on: all of it, unless there is an error. What is
// passed on then holds no end of a line that is refused.
func (s *scanner) pass(chunk []byte) (int, error) {
	at := 0
	for at < len(chunk) {
		switch {
		case s.payload > 0:
			n := min(int64(len(chunk)-at), s.payload)
			s.payload -= n
			at += int(n)
		case s.after > 0:
			if chunk[at] != "\n\r"[s.after-1] {
				return at, &violation{"a message is not followed by the end of its line"}
			}
			s.after--
			at++
		default:
			n, err := s.lineOf(chunk[at:])
			if err != nil {
				return at, err
			}
			at += n
		}
	}
	return at, nil
}

// lineOf takes in what of chunk belongs to the begun line.
func (s *scanner) lineOf(chunk []byte) (int, error) {
	piece, _, ended := bytes.Cut(chunk, []byte("\n"))
	cr := bytes.IndexByte(piece, '\r')
	if s.cr && len(piece) > 0 || cr >= 0 && cr < len(piece)-1 {
		return 0, &violation{"a line has a CR before its end"}
	}
	s.cr = s.cr || cr >= 0
	s.length += len(piece)
	s.line = append(s.line, piece[:min(len(piece), maxLineBytes-len(s.line))]...)
	if most := s.mostLineBytes(); s.length > most {
		return 0, lineTooLong(most)
	}
	if !ended {
		return len(piece), nil
	}
	if !s.cr {
		return 0, &violation{"a line ends without a CR"}
	}
	if err := s.operation(); err != nil {
		return 0, err
	}
	s.line, s.length, s.cr = s.line[:0], 0, false
	return len(piece) + 1, nil
}

func lineTooLong(most int) error {
	return &violation{fmt.Sprintf("a line has more than %d bytes, the limit of lines", most)}
}

func (s *scanner) mostLineBytes() int {
	const info = "INFO"
	if len(s.line) > len(info) && strings.EqualFold(string(s.line[:len(info)]), info) && strings.IndexByte(" \t", s.line[len(info)]) >= 0 {
		return maxInfoBytes
	}
	return maxLineBytes
}

// operation reads a whole line.
func (s *scanner) operation() error {
	operation, rest, _ := cutBlank(bytes.TrimSuffix(s.line, []byte("\r")))
	arguments := strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '\t' })
	headers := int64(0)
	switch strings.ToUpper(operation) {
	case "INFO", "PING", "PONG", "+OK", "-ERR":
		return nil
	case "HMSG":
		if len(arguments) < 2 {
			return &violation{"a line that announces a message is malformed"}
		}
		at := len(arguments) - 2
		headers = number(arguments[at])
		arguments = append(arguments[:at], arguments[at+1])
		fallthrough
	case "MSG":
		if len(arguments) < 3 || len(arguments) > 4 {
			return &violation{"a line that announces a message is malformed"}
		}
		return s.announced(number(arguments[1]), headers, number(arguments[len(arguments)-1]))
	}
	return &violation{"a line is no operation of NATS"}
}

// announced checks the numbers of a message; size is that of headers and body together.
func (s *scanner) announced(subscription, headers, size int64) error {
	switch {
	case subscription < 0 || subscription == math.MaxInt64 || headers < 0 || size < 0 || headers > size:
		return &violation{"a line that announces a message has numbers that cannot be"}
	case headers > maxHeaderBytes:
		return &violation{fmt.Sprintf("a message has headers of more than %d bytes, the limit of headers", maxHeaderBytes)}
	case size-headers > s.messageBytes:
		return errTooLarge
	}
	s.payload, s.after = size, len("\r\n")
	return nil
}

// number reads digits. It is -1 for anything else, and the largest number for those that are
// too long.
func number(text string) int64 {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return -1
	}
	n := int64(0)
	for _, digit := range text {
		if n > math.MaxInt64/100 {
			return math.MaxInt64
		}
		n = n*10 + int64(digit-'0')
	}
	return n
}

// cutBlank cuts a line at its first blank.
func cutBlank(line []byte) (before, after string, found bool) {
	i := bytes.IndexAny(line, " \t")
	if i < 0 {
		return string(line), "", false
	}
	return string(line[:i]), string(line[i+1:]), true
}
