package api

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

// body says what a route reads.
type body struct {
	media []string // media types; nil: any
	any   bool     // others are read too; media are those that the document shows
	// limit is the largest number of bytes, from the limits in force.
	limit func(service.Limits) int64
	// stream leaves reading to the handler.
	stream bool
	// json parses the body; an empty one leaves call.value nil.
	json     bool
	required bool
	view     any   // a value of the documented type; nil: any content
	views    []any // instead of view, by media
	about    string
}

// jsonBody is the body of most routes.
func jsonBody(view any, required bool) *body {
	return &body{
		media: []string{"application/json"}, json: true, required: required, view: view,
		limit: func(l service.Limits) int64 { return l.BodyBytes },
	}
}

// readBody checks media type and size, reads the body and parses it.
func (c *call) readBody(b *body) error {
	limit := b.limit(c.server.limits)
	if c.r.ContentLength == 0 {
		c.whole = true
		return c.parseBody(b)
	}
	pause, trusted := c.server.idle, int64(longBytes)
	stranger := c.route.enters && !c.isTaskLink() // who signs in has shown nothing yet
	if stranger {
		pause, trusted = min(pause, c.server.http.ReadHeaderTimeout), maxForm
	}
	if c.r.ContentLength < 0 || c.r.ContentLength > longBytes || b.stream || stranger {
		c.long = &longReader{
			body: c.arriving, control: http.NewResponseController(c.w),
			idle: pause, slowest: c.server.slowest, answer: c.server.http.WriteTimeout,
		}
		c.r.Body = c.long
	}
	var first []byte
	var err error
	if c.r.ContentLength < 0 && !b.stream {
		c.begun = true
		if first, err = c.firstBytes(); err != nil || len(first) == 0 {
			return err
		}
	}
	if err := c.checkMediaType(b); err != nil {
		return err
	}
	if c.r.ContentLength > limit {
		if c.isTaskLink() { // who has the link gets to read the refusal
			if _, err := c.linkedTask(); err != nil {
				return err
			}
		}
		return tooLarge(limit)
	}
	c.begun = true
	if b.stream {
		return nil
	}
	c.raw, err = readAll(c.r.Body, first, c.r.ContentLength, trusted, limit)
	if err != nil {
		return readProblem(err)
	}
	c.whole = true
	return c.parseBody(b)
}

// firstBytes reads ahead in a body without a length, because only that tells whether there
// is a body at all.
func (c *call) firstBytes() ([]byte, error) {
	first := make([]byte, 512)
	n, err := io.ReadAtLeast(c.r.Body, first, 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, readProblem(err)
	}
	return first[:n], nil
}

func (c *call) parseBody(b *body) (err error) {
	if !b.json || len(c.raw) == 0 {
		return nil
	}
	c.value, err = value.Parse(c.raw, value.Limits{Depth: c.server.limits.JSONDepth, Bytes: len(c.raw)})
	if err != nil {
		return badJSON(err)
	}
	if c.value == nil {
		return badBody(chargehand.CodeInvalidBody, "", "The body must be a JSON object, not null.")
	}
	return nil
}

// checkMediaType refuses what the route cannot read.
func (c *call) checkMediaType(b *body) error {
	for _, encoding := range c.r.Header["Content-Encoding"] {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return chargehand.NewError(chargehand.CodeUnsupportedMediaType,
				"Content-Encoding "+quote(encoding)+" is not supported. Send the body as it is.")
		}
	}
	values := c.r.Header["Content-Type"]
	if b.media == nil || b.any {
		return nil
	}
	if len(values) == 1 && values[0] == b.media[0] {
		return nil // the usual case
	}
	wanted := "Send Content-Type: " + strings.Join(b.media, " or ") + "."
	if len(values) == 0 {
		return chargehand.NewError(chargehand.CodeUnsupportedMediaType, "The header Content-Type is missing. "+wanted)
	}
	media, params, err := mime.ParseMediaType(values[0])
	charset := params["charset"]
	if err != nil || !slices.Contains(b.media, media) || slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
		return chargehand.NewError(chargehand.CodeUnsupportedMediaType, "Content-Type "+quote(values[0])+" is not supported. "+wanted)
	}
	if charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return chargehand.NewError(chargehand.CodeUnsupportedMediaType, "The charset "+quote(charset)+" is not supported. Send UTF-8.")
	}
	return nil
}

// mediaType is the media type of the request without parameters, in lower case.
func (c *call) mediaType() string {
	media, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// readProblem is the error for a body that did not arrive as announced.
func readProblem(err error) error {
	var shown *chargehand.Error
	if errors.As(err, &shown) {
		return err
	}
	detail := "The body does not have the length or the chunks that were announced."
	if errors.Is(err, os.ErrDeadlineExceeded) {
		detail = "The body did not arrive in time."
	}
	return chargehand.NewError(chargehand.CodeInvalidBody, detail)
}

// readAll reads a body of known or unknown (-1) length, at most limit bytes. It makes room for an announced length up
// to trusted bytes, and beyond that as bytes arrive.
func readAll(r io.Reader, first []byte, length, trusted, limit int64) ([]byte, error) {
	if length >= 0 && length <= trusted {
		buf := make([]byte, length)
		_, err := io.ReadFull(r, buf)
		return buf, err
	}
	buf := bytes.NewBuffer(make([]byte, 0, 64<<10))
	buf.Write(first)
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1-int64(len(first))))
	switch {
	case err != nil:
		return nil, err
	case n+int64(len(first)) > limit:
		return nil, tooLarge(limit)
	case length > 0 && n < length:
		return nil, io.ErrUnexpectedEOF
	}
	return buf.Bytes(), nil
}

// A body up to longBytes must arrive within readTimeout. A larger one, or one without a length, has no fixed end
// while its bytes keep coming: it may take idleTimeout, and a second more for every slowestBytesPerSecond bytes that
// have arrived. So a body of one byte now and then holds its connection for idleTimeout and not longer. Those who sign
// in, and have shown no key, have readHeaderTimeout in its place, for short bodies too.
const (
	longBytes             = 1 << 20
	idleTimeout           = 30 * time.Second
	slowestBytesPerSecond = 8 << 10
)

// longReader moves the read deadline of the connection while bytes arrive fast enough, and the deadline of the answer
// with it, which net/http counts from the head of the request.
type longReader struct {
	body    io.ReadCloser
	control *http.ResponseController
	idle    time.Duration
	slowest int64         // bytes per second
	answer  time.Duration // what an answer may take
	read    int64         // bytes so far
	waited  time.Duration // spent in Read; the time that the server itself needs in between does not count
	moved   time.Time
	ended   bool // with io.EOF
}

func (l *longReader) Read(b []byte) (int, error) {
	if l.ended { // net/http waits for what comes behind the body, and has no limit for that
		return 0, io.EOF
	}
	now := time.Now()
	if left := l.idle + time.Duration(l.read*int64(time.Second)/l.slowest) - l.waited; left < l.idle || now.Sub(l.moved) > l.idle/10 {
		until := now.Add(min(left, l.idle))
		// A ResponseWriter without deadlines has none to move.
		_ = l.control.SetReadDeadline(until)
		_ = l.control.SetWriteDeadline(until.Add(l.answer))
		l.moved = now
	}
	n, err := l.body.Read(b)
	l.read += int64(n)
	l.waited += time.Since(now)
	l.ended = errors.Is(err, io.EOF)
	return n, err
}

func (l *longReader) Close() error { return l.body.Close() }
