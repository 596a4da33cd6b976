package runlog

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/secret"
)

// Redactor returns what takes the secrets of an execution out; nil: it has none. It is called when the first text of a
// task is written, by the Writer.
type Redactor func(ctx context.Context) (*secret.Redactor, error)

// Task is the way of one run of an activity to the log of its execution (activity.Log). A nil Task drops everything.
type Task struct {
	writer    *Writer
	execution int64 // its number
	seq       int64
	redactor  Redactor

	// Guarded by the mutex of the writer.
	lost  int64 // bytes that found no room while the log had none
	ended bool  // the log has reached its limit
	wrote bool  // something on stdout or stderr
	said  bool  // something that may have secrets

	// The following belong to the goroutine that writes the log.
	loaded  bool
	blind   bool // the secrets cannot be read: no text is shown
	hides   *secret.Redactor
	streams [2]*unfinished
}

var _ activity.Log = (*Task)(nil)

// unfinished is the end of a stream: what may be a part of a secret, and the line that is still being written.
type unfinished struct {
	stream *secret.Stream
	line   string
	at     time.Time // of the first byte of the line
}

// chunk is something that a task has handed over.
type chunk struct {
	task   *Task
	at     time.Time
	kind   chunkKind
	stream chargehand.LogStream // chunkOutput
	level  chargehand.LogLevel  // chunkLine and chunkPlain
	output *strings.Builder     // chunkOutput: what was written to the stream
	text   string               // chunkLine and chunkPlain
	cut    bool                 // text had more
	lost   int64                // chunkGap
}

func (c *chunk) size() int64 {
	if c.output != nil {
		return int64(c.output.Len())
	}
	return int64(len(c.text))
}

// hidden is the text of a message without secrets, and without the begin of one where it was cut.
func (t *Task) hidden(c *chunk) string {
	if !c.cut {
		return t.hides.Text(c.text)
	}
	stream := t.hides.NewStream()
	return stream.Next(c.text) + stream.Rest()
}

type chunkKind uint8

const (
	chunkOutput chunkKind = iota
	chunkLine             // a message of its own
	chunkPlain            // a message of the server, without secrets
	chunkGap              // something is missing
	chunkEnd              // the task has ended
)

// Task returns the way of a run of an activity to the log of an execution, which is named by its number; seq is that of
// the timeline entry. redactor nil: the execution has no secrets.
func (w *Writer) Task(execution int64, seq int, redactor Redactor) *Task {
	if w == nil {
		return nil
	}
	return &Task{writer: w, execution: execution, seq: int64(seq), redactor: once(redactor)}
}

// once keeps what a Redactor has read. It may be called by several goroutines.
func once(read Redactor) Redactor {
	if read == nil {
		return nil
	}
	var mu sync.Mutex
	var done bool
	var kept *secret.Redactor
	return func(ctx context.Context) (*secret.Redactor, error) {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return kept, nil
		}
		redactor, err := read(ctx)
		if err == nil {
			kept, done = redactor, true
		}
		return redactor, err
	}
}

// LoadSecrets reads the secrets if the task has handed over a text. Where secrets are deleted with the end of the
// execution, it is called before the engine learns the outcome of the run, which may end it: the Writer comes
// later. If they cannot be read, the Writer tries again.
func (t *Task) LoadSecrets(ctx context.Context) {
	if t == nil || t.redactor == nil {
		return
	}
	t.writer.mu.Lock()
	said := t.said
	t.writer.mu.Unlock()
	if said {
		_, _ = t.redactor(ctx)
	}
}

// Output implements activity.Log.
func (t *Task) Output(stream chargehand.LogStream, piece []byte) {
	if t == nil {
		return
	}
	for len(piece) > 0 {
		n := min(len(piece), chunkBytes)
		t.writer.push(chunk{task: t, kind: chunkOutput, stream: stream}, piece[:n])
		piece = piece[n:]
	}
}

// Line implements activity.Log.
func (t *Task) Line(level chargehand.LogLevel, text string) {
	if t != nil {
		c := chunk{task: t, kind: chunkLine, level: level, cut: len(text) > segmentBytes}
		c.text = strings.Clone(text[:min(len(text), segmentBytes)]) // it may be a part of something larger
		t.writer.push(c, nil)
	}
}

// End says how the run ended, and that nothing comes any more. Of a call it says so in the log; of a process only if it
// went wrong. It says nothing of what was sent or answered.
func (t *Task) End(c *activity.Call, took time.Duration, f *machine.Fault, withdrawn bool) {
	if t == nil {
		return
	}
	level, text := ending(c, took, f, withdrawn)
	at := time.Now()
	t.writer.mu.Lock()
	defer t.writer.mu.Unlock()
	if text != "" {
		t.writer.put(chunk{task: t, at: at, kind: chunkPlain, level: level, text: text}, nil)
	}
	t.writer.put(chunk{task: t, at: at, kind: chunkEnd}, nil)
}

// isProcess reports whether an activity shows what it does by what it writes.
func isProcess(kind string) bool { return kind == "shell" || kind == "script" || kind == "container" }

// ending is the line of a run that has ended; empty: none. Each call of an execution has one: it is made without fmt.
func ending(c *activity.Call, took time.Duration, f *machine.Fault, withdrawn bool) (chargehand.LogLevel, string) {
	if f == nil && !withdrawn && isProcess(c.Kind) {
		return 0, ""
	}
	text := append(append(make([]byte, 0, 128), c.Kind...), ", attempt "...)
	text = append(strconv.AppendInt(text, int64(max(1, c.Attempt)), 10), ": "...)
	level := chargehand.LogInfo
	switch {
	case withdrawn:
		level, text = chargehand.LogWarning, append(text, "stopped after "...)
	case f != nil:
		kind, ours := strings.CutPrefix(f.Type, machine.ErrorBase)
		if !ours {
			kind = "error" // the type may be made of data
		}
		text = strconv.AppendInt(append(text, "failed with status "...), int64(f.Status), 10)
		level, text = chargehand.LogError, append(append(append(text, " ("...), kind...), ") after "...)
	default:
		text = append(text, "completed in "...)
	}
	if took = took.Round(time.Millisecond); took > 0 && took < time.Second {
		text = append(strconv.AppendInt(text, took.Milliseconds(), 10), "ms"...) // as String writes it
	} else {
		text = append(text, took.String()...)
	}
	return level, string(text)
}
