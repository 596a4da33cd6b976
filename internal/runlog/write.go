package runlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// segment is what is made of the chunks of one turn of a log.
type segment struct {
	encoder
	writer *Writer
	log    *pendingLog
	room   int64 // bytes that the log has left
	full   bool
	row    store.LogSegment
}

// write makes segments of what was taken of logs and stores them. Only one goroutine at a time does that for a log.
func (w *Writer) write(parts []part, stopping bool) {
	short := make([]*segment, 0, len(parts))
	for i := range parts {
		s := w.segment(parts[i].log, parts[i].chunks, stopping)
		switch {
		case s == nil:
		case len(s.data) > inlineBytes:
			w.stored(s, w.storeLong(s))
			w.reuse(s)
		default:
			short = append(short, s)
		}
	}
	w.storeShort(short)
}

// segment makes a segment of chunks; nil: it would have no line.
func (w *Writer) segment(l *pendingLog, chunks []chunk, stopping bool) *segment {
	if l.ended {
		return nil
	}
	size := 0
	for i := range chunks {
		size += int(chunks[i].size())
	}
	if l.stored < 0 && size > inlineBytes {
		w.readEnd(l)
	}
	s := &segment{writer: w, log: l, room: w.Limits.Bytes - max(0, l.stored)}
	s.data = w.buffer(size + lineRoom*(len(chunks)+1))
	s.sizes = make([]taskBytes, 0, min(len(chunks), 16))
	if l.lost > 0 {
		s.say(0, time.Now(), chargehand.LogWarning, dropped(l.lost, "could not be stored"))
		l.lost = 0
	}
	for i := range chunks {
		s.take(&chunks[i])
	}
	for t := range l.partial {
		s.overdue(t, stopping)
	}
	if s.lines == 0 {
		return nil
	}
	s.row = store.LogSegment{
		Execution: l.no, Lines: s.lines, Bytes: int64(len(s.data)), Ended: s.full, Tasks: s.tasks(),
		Data: store.Payload{Inline: s.data, Size: int64(len(s.data))},
	}
	return s
}

// buffer is an empty buffer with about that room. One for a long segment is used again (reuse).
func (w *Writer) buffer(size int) []byte {
	if size <= inlineBytes {
		return make([]byte, 0, size)
	}
	if kept, ok := w.buffers.Get().(*[]byte); ok {
		return *kept
	}
	return make([]byte, 0, max(size, segmentBytes)*5/4) // short lines take a few bytes more than they have
}

// reuse keeps the buffer of a long segment that nothing refers to any more.
func (w *Writer) reuse(s *segment) {
	if cap(s.data) <= keptBytes {
		kept := s.data[:0]
		w.buffers.Put(&kept)
	}
	s.data = nil
}

// readEnd reads how much a log has.
func (w *Writer) readEnd(l *pendingLog) {
	var end store.LogEnd
	err := w.patiently(func() error {
		return w.Store.View(w.ctx, func(r *store.Reader) (err error) {
			end, err = r.LogEnd(l.no)
			return err
		})
	})
	if err == nil { // else it shows when the segment is stored
		l.stored, l.ended = end.Bytes, end.Ended
	}
}

func dropped(size int64, why string) string {
	return fmt.Sprintf("[%d bytes are missing here: they %s]", size, why)
}

func (s *segment) take(c *chunk) {
	t := c.task
	switch c.kind {
	case chunkOutput:
		if u := s.unfinished(t, c.stream, c.at); u != nil {
			s.text(t, c.stream, u, c.at, u.stream.Next(c.output.String()))
		}
	case chunkLine:
		if s.secrets(t, c.at) {
			s.long(Line{AtMs: c.at.UnixMilli(), Seq: t.seq, Level: c.level, Stream: chargehand.LogLines, Text: t.hidden(c)})
		}
	case chunkPlain:
		s.say(t.seq, c.at, c.level, c.text)
	case chunkGap:
		for i, u := range t.streams {
			if u != nil {
				s.text(t, chargehand.LogStream(i+1), u, c.at, u.stream.Gap())
				s.breakLine(t, chargehand.LogStream(i+1), u)
			}
		}
		s.say(t.seq, c.at, chargehand.LogWarning, dropped(c.lost, "came faster than they could be written"))
	case chunkEnd:
		for i, u := range t.streams {
			if u != nil {
				s.text(t, chargehand.LogStream(i+1), u, c.at, u.stream.Rest())
				s.breakLine(t, chargehand.LogStream(i+1), u)
			}
		}
		delete(s.log.partial, t)
	}
}

// secrets reads the secrets of an execution, once for each task. It reports whether texts may be shown.
func (s *segment) secrets(t *Task, at time.Time) bool {
	if t.loaded || t.redactor == nil {
		return !t.blind
	}
	t.loaded = true
	err := s.writer.patiently(func() (err error) {
		t.hides, err = t.redactor(s.writer.ctx)
		return err
	})
	if err != nil {
		t.blind = true
		s.writer.Log.Warn("what a step writes is not shown, because the secrets of its execution cannot be read", "error", err)
		s.say(t.seq, at, chargehand.LogWarning, "[what this task writes is not shown: the secrets of the execution cannot be read]")
	}
	return !t.blind
}

// unfinished is the end of a stream of a task; nil: nothing of it is shown.
func (s *segment) unfinished(t *Task, stream chargehand.LogStream, at time.Time) *unfinished {
	u := &t.streams[stream-1]
	if *u == nil {
		if !s.secrets(t, at) {
			return nil
		}
		*u = &unfinished{stream: t.hides.NewStream()}
	}
	return *u
}

// text adds a text without secrets to a stream, and takes its whole lines.
func (s *segment) text(t *Task, stream chargehand.LogStream, u *unfinished, at time.Time, text string) {
	for text != "" {
		if u.line == "" {
			u.at = at
		}
		line, rest, whole := strings.Cut(text, "\n")
		if !whole {
			u.line += line
			if len(u.line) > MaxLineBytes {
				s.breakLine(t, stream, u)
			}
			break
		}
		s.long(Line{AtMs: u.at.UnixMilli(), Seq: t.seq, Level: chargehand.LogInfo, Stream: stream, Text: strings.TrimSuffix(u.line+line, "\r")})
		u.line, text = "", rest
	}
	if u.line != "" {
		if s.log.partial == nil {
			s.log.partial = map[*Task]bool{}
		}
		s.log.partial[t] = true
	}
}

// breakLine takes a line that has no end.
func (s *segment) breakLine(t *Task, stream chargehand.LogStream, u *unfinished) {
	if u.line != "" {
		s.long(Line{AtMs: u.at.UnixMilli(), Seq: t.seq, Level: chargehand.LogInfo, Stream: stream, Text: u.line})
		u.line = ""
	}
}

// overdue takes lines of a task that wait for their end for too long.
func (s *segment) overdue(t *Task, stopping bool) {
	unfinished := false
	for i, u := range t.streams {
		if u == nil || u.line == "" {
			continue
		}
		if stopping || time.Since(u.at) >= maxAge {
			s.breakLine(t, chargehand.LogStream(i+1), u)
		} else {
			unfinished = true
		}
	}
	if !unfinished {
		delete(s.log.partial, t)
	}
}

// long adds a line, in pieces if it is too long.
func (s *segment) long(l Line) {
	l.Text = clean(l.Text)
	for text := l.Text; len(text) > MaxLineBytes; text = l.Text {
		at := cutLine(text)
		l.Text = text[:at]
		s.line(&l)
		l.Text = text[at:]
	}
	s.line(&l)
}

// say adds a message of the server.
func (s *segment) say(seq int64, at time.Time, level chargehand.LogLevel, text string) {
	s.line(&Line{AtMs: at.UnixMilli(), Seq: seq, Level: level, Stream: chargehand.LogLines, Text: text})
}

// lineCost is what a line takes beside its text, at most; lineRoom what most lines take.
const (
	lineCost = 24
	lineRoom = 8
)

func (s *segment) line(l *Line) {
	if s.full {
		return
	}
	if int64(len(s.data)+len(l.Text)+lineCost) > s.room {
		s.full = true
		l = &Line{AtMs: l.AtMs, Seq: l.Seq, Level: chargehand.LogWarning, Stream: chargehand.LogLines,
			Text: fmt.Sprintf("[the log of this execution has reached its limit of %s: what follows is not kept]", size(s.writer.Limits.Bytes))}
	}
	s.add(l)
}

func size(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// storeLong stores a segment whose data are too long for its row.
func (w *Writer) storeLong(s *segment) error {
	digest := []byte(nil)
	return w.patiently(func() (err error) {
		if digest == nil {
			if digest, err = w.Blobs.Put(w.ctx, s.data); err != nil {
				return err
			}
			s.row.Data = store.Payload{Blob: digest, Size: s.row.Bytes}
		}
		return w.Store.Update(w.ctx, func(tx *store.Tx) error { return tx.AppendLog(&s.row) })
	})
}

// storeShort stores segments together. One whose log has ended is none of the others' concern.
func (w *Writer) storeShort(list []*segment) {
	if len(list) == 0 {
		return
	}
	rows := make([]*store.LogSegment, len(list))
	for i, s := range list {
		rows[i] = &s.row
	}
	err := w.patiently(func() error {
		return w.Store.Update(w.ctx, func(tx *store.Tx) error {
			return tx.AppendLogs(rows)
		})
	})
	if err != nil && len(list) > 1 && !passes(err) {
		for i := range list {
			w.storeShort(list[i : i+1])
		}
		return
	}
	for _, s := range list {
		w.stored(s, cmp.Or(err, s.row.Refused))
	}
}

// endsLog reports whether an error means that nothing more is written into a log: it is full, or the execution was
// deleted.
func endsLog(err error) bool {
	return errors.Is(err, store.ErrLogEnded) || errors.Is(err, store.ErrNotFound)
}

// stored notes what has become of a segment.
func (w *Writer) stored(s *segment, err error) {
	l := s.log
	switch {
	case err == nil:
		l.stored, l.ended = s.row.Total, s.row.Ended
	case endsLog(err):
		l.ended = true
	default:
		l.lost += s.row.Bytes
		w.mu.Lock()
		w.dropped += s.row.Bytes
		w.mu.Unlock()
		w.Log.Warn("a part of the log of an execution was lost", "bytes", s.row.Bytes, "error", err)
	}
}

// patiently repeats what fails for want of a store, or because another process was faster.
func (w *Writer) patiently(try func() error) (err error) {
	ctx, cancel := context.WithTimeout(w.ctx, outageTime)
	defer cancel()
	_ = pause.Retry(ctx, 20*time.Millisecond, 2*time.Second, func() bool {
		err = try()
		return err == nil || !passes(err)
	})
	return err
}

// passes reports whether what has failed may succeed when it is repeated.
func passes(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrConflict)
}

// RedactorOf returns the Redactor of an execution whose secrets were pinned; it reads them when it is called.
func RedactorOf(s *store.Store, sealer *secret.Sealer, execution int64, id chargehand.ExecutionID) Redactor {
	return func(ctx context.Context) (redactor *secret.Redactor, err error) {
		err = s.View(ctx, func(r *store.Reader) error {
			redactor, err = engine.PinnedRedactor(r, execution, id, sealer)
			return err
		})
		return redactor, err
	}
}
