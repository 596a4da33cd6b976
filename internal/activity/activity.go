package activity

import (
	"context"
	"errors"
	"io"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Call is one run of an activity. All values are evaluated: nothing in it is an expression.
type Call struct {
	Account     chargehand.AccountID
	Environment chargehand.Environment
	Execution   chargehand.ExecutionID
	Kind        string // "http", "openapi", "asyncapi", "mcp", "a2a", "shell", "script" …
	Args        value.Value
	Input       value.Value
	Reference   string
	Metadata    map[string]any
	Key         string // the same on every run of this activity
	Attempt     int    // of the innermost `try` around the task, from 1
	// Redact takes the secrets of the execution out of a text that is not for it alone, such as a
	// line of the server's log; nil: there are none.
	Redact func(text string) string
	// Log takes what the activity has to say while it runs; nil: nothing does.
	Log Log
	// Progress hands over one outcome of a stream before the run ends; nil except for streams.
	// It may block, so that a stream does not run ahead of the machine that takes its outcomes. An
	// error means that the run is over: the activity then ends, and its result is ignored. One call
	// at a time.
	Progress func(ctx context.Context, v value.Value) error
}

// Log takes what an activity writes while it runs into the log of its execution. It takes the secrets of the execution
// out by itself. Its methods never wait, and are safe for concurrent use; what it has no room for is lost, and counted
// in the log.
type Log interface {
	// Output takes a piece of what a process writes. It does not keep the piece.
	Output(stream chargehand.LogStream, piece []byte)
	// Line takes a message.
	Line(level chargehand.LogLevel, text string)
}

// Writer is a Writer of what a process writes to a stream. It is nil if nothing takes it.
func (c *Call) Writer(stream chargehand.LogStream) io.Writer {
	if c.Log == nil {
		return nil
	}
	return outputWriter{c.Log, stream}
}

type outputWriter struct {
	log    Log
	stream chargehand.LogStream
}

// Write implements io.Writer.
func (w outputWriter) Write(piece []byte) (int, error) {
	w.log.Output(w.stream, piece)
	return len(piece), nil
}

// Result is an outcome: Output and Files, or Fault (whose Instance the machine sets).
type Result struct {
	Output value.Value
	Files  []machine.File
	Fault  *machine.Fault
	// Document is the digest, sha256:<hex>, of the API document that the call was made by,
	// whatever came of it; it goes into the record of the task (T69). Empty: none.
	Document string
}

// Runner carries out activities of one kind. Run is called from many goroutines. It
// returns soon after ctx is cancelled and leaves nothing running behind; the result of a
// cancelled call is ignored.
type Runner interface {
	Run(ctx context.Context, c Call) Result
}

// ErrFileNotFound is returned by Files.Open for anything but a file of the same account
// and environment.
var ErrFileNotFound = errors.New("file not found")

// Files gives activities access to stored files. Implementations are safe for concurrent use.
type Files interface {
	// Open resolves a reference (uri /api/v1/files/{id}, relative or absolute) for an execution. What it must not
	// read (engine.MayRead) is as if it was not there: ErrFileNotFound.
	Open(ctx context.Context, account chargehand.AccountID, env chargehand.Environment, execution chargehand.ExecutionID, uri string) (machine.File, io.ReadCloser, error)
	// Put stores content (at most limit bytes) and returns its description with a fresh id.
	// The file becomes visible when the outcome that names it is journaled; otherwise the
	// sweep removes it. While a store is away, it waits some time; a content that is read again
	// for that must be an io.Seeker.
	Put(ctx context.Context, account chargehand.AccountID, env chargehand.Environment, name, mediaType string, content io.Reader) (machine.File, error)
}
