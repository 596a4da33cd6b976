package runlog

import (
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
)

// Line is a line of a log.
type Line struct {
	Number int64 // from 1 without gaps
	AtMs   int64
	Seq    int64 // of the timeline entry of the task; 0: of none
	Level  chargehand.LogLevel
	Stream chargehand.LogStream
	Text   string
}

// MaxLineBytes is the length of the longest line. What has no line break for so long becomes several lines.
const MaxLineBytes = 16 << 10

// format is the first byte of a segment.
const format = 1

// errDamaged says that a segment cannot be read.
var errDamaged = errors.New("a segment of a log is damaged")

// encoder makes the data of a segment.
type encoder struct {
	data  []byte
	lines int64
	atMs  int64
	sizes []taskBytes
}

// taskBytes is how much text a task has in a segment.
type taskBytes struct{ seq, bytes int64 }

func (e *encoder) add(l *Line) {
	if len(e.data) == 0 {
		e.data = append(e.data, format)
	}
	e.data = binary.AppendVarint(e.data, l.AtMs-e.atMs)
	e.data = binary.AppendUvarint(e.data, uint64(l.Seq))
	e.data = append(e.data, byte(l.Level)<<4|byte(l.Stream))
	e.data = binary.AppendUvarint(e.data, uint64(len(l.Text)))
	e.data = append(e.data, l.Text...)
	e.atMs = l.AtMs
	e.lines++
	size := int64(len(l.Text)) + 1 // its line break
	for i := len(e.sizes) - 1; i >= max(0, len(e.sizes)-16); i-- {
		if e.sizes[i].seq == l.Seq {
			e.sizes[i].bytes += size
			return
		}
	}
	e.sizes = append(e.sizes, taskBytes{l.Seq, size})
}

// tasks are the sizes as a segment has them.
func (e *encoder) tasks() []byte {
	b := make([]byte, 0, 4*len(e.sizes))
	for _, t := range e.sizes {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(t.seq)), uint64(t.bytes))
	}
	return b
}

// addTasks adds the sizes of a segment to those by task.
func addTasks(sizes map[int64]int64, tasks []byte) error {
	for len(tasks) > 0 {
		seq, n := binary.Uvarint(tasks)
		if n <= 0 {
			return errDamaged
		}
		size, m := binary.Uvarint(tasks[n:])
		if m <= 0 {
			return errDamaged
		}
		sizes[int64(seq)] += int64(size)
		tasks = tasks[n+m:]
	}
	return nil
}

// decode calls f with each line of a segment whose first line has that number, until f returns false. The lines share
// one copy of the data.
func decode(data []byte, first int64, f func(l *Line) bool) error {
	if len(data) == 0 || data[0] != format {
		return errDamaged
	}
	data = data[1:]
	text := string(data)
	l := Line{Number: first}
	for ; len(data) > 0; l.Number++ {
		at, n := binary.Varint(data)
		if n <= 0 {
			return errDamaged
		}
		data = data[n:]
		seq, n := binary.Uvarint(data)
		if n <= 0 || len(data) <= n {
			return errDamaged
		}
		kind := data[n]
		data = data[n+1:]
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) {
			return errDamaged
		}
		l.AtMs += at
		l.Seq, l.Level, l.Stream = int64(seq), chargehand.LogLevel(kind>>4), chargehand.LogStream(kind&0xf)
		from := len(text) - len(data) + n
		l.Text = text[from : from+int(size)]
		data = data[n+int(size):]
		if !f(&l) {
			return nil
		}
	}
	return nil
}

// cutLine is where a line that is too long is cut: not within a character.
func cutLine(text string) int {
	at := MaxLineBytes
	for n := 0; n < utf8.UTFMax && !utf8.RuneStart(text[at]); n++ {
		at--
	}
	return at
}

// clean makes a text valid UTF-8. Most text is, which ValidString finds several bytes at a time.
func clean(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
