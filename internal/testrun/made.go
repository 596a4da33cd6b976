package testrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process/workspace"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/rehearse"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/value"
)

// headBytes is how much of a file its media type is guessed by.
const headBytes = 512

// made are the files of an answer.
func (p *play) made(refs []*testfile.FileRef) (files []machine.File, err error) {
	for _, ref := range refs {
		content := []byte(ref.Text)
		if ref.From != "" {
			path := p.suite.beside(ref.From)
			if content, err = p.suite.runner.ReadFile(path); err != nil {
				return nil, &Error{Code: CodeMockFile, At: ref.At, Detail: fmt.Sprintf("The file %s cannot be read: %s.", path, reason(err))}
			}
		}
		p.files++
		id := idOf[executionKind](p.startMs, p.file.Name, "file", number(int64(p.files)))
		sum := sha256.Sum256(content)
		media := ref.MediaType
		if media == "" {
			media = workspace.MediaType(ref.Name, content[:min(len(content), headBytes)])
		}
		files = append(files, machine.File{
			ID: id.String(), Name: ref.Name, MediaType: media, Size: int64(len(content)), Digest: "sha256:" + hex.EncodeToString(sum[:]),
		})
	}
	return files, nil
}

// real runs an activity as in life, in real time. The virtual clock stands still meanwhile.
func (p *play) real(e *rehearse.Execution, c machine.Command, entry *testfile.Entry, answer rehearse.Answer) (rehearse.Answer, error) {
	call := activity.Call{
		Execution: e.Identity.Execution, Kind: c.Activity, Args: c.Args, Input: c.Input, Reference: c.Reference, Metadata: c.Metadata,
		Key: c.Key, Attempt: c.Attempt,
	}
	if p.suite.runner.Real == nil {
		return answer, &Error{Code: CodeNotReal, At: entry.At, Detail: "This kind of run is not for real tasks."}
	}
	runner, err := p.suite.runner.Real(call)
	if err != nil {
		return answer, &Error{Code: CodeNotReal, At: entry.At, Detail: fmt.Sprintf("The task %q (%s) cannot be run for real: %v.",
			p.addressOf(p.prefixes[e.Identity.Execution]+c.Reference), whatCall(c), err)}
	}
	ctx, stream := p.ctx, &stream{limit: p.suite.runner.StreamTime}
	if c.Stream {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, stream.limit)
		defer cancel()
		call.Progress = stream.take
	}
	result := runner.Run(ctx, call)
	if err := p.ctx.Err(); err != nil {
		return answer, err
	}
	if why := stream.endless(ctx); why != "" {
		return answer, &Error{Code: CodeEndless, At: entry.At, Detail: fmt.Sprintf(
			"The stream of %q (%s) does not end: %s. A test takes in a real stream as a whole, when it has ended; play this one by `messages`.",
			p.addressOf(p.prefixes[e.Identity.Execution]+c.Reference), whatCall(c), why)}
	}
	answer.Messages = stream.messages
	answer.Output, answer.Files, answer.Fault, answer.Document = result.Output, result.Files, result.Fault, result.Document
	return answer, nil
}

// The bounds of a real stream.
const (
	DefaultStreamTime = 30 * time.Second
	maxMessages       = 10_000
	maxMessageBytes   = 64 << 20 // of all messages as JSON
)

// stream keeps what a real stream hands over, up to its bounds.
type stream struct {
	limit    time.Duration
	messages []value.Value
	bytes    int
	full     string // which bound is reached
}

var errStreamFull = errors.New("the stream hands over more than a test takes in")

// take is activity.Call.Progress.
func (s *stream) take(ctx context.Context, v value.Value) error {
	s.bytes += len(value.Marshal(v))
	switch {
	case len(s.messages) == maxMessages:
		s.full = fmt.Sprintf("more than %d messages have come", maxMessages)
	case s.bytes > maxMessageBytes:
		s.full = fmt.Sprintf("more than %d MiB have come", maxMessageBytes>>20)
	}
	if s.full != "" {
		return errStreamFull
	}
	s.messages = append(s.messages, v)
	return ctx.Err()
}

// endless says why the stream was given up; empty: it has ended.
func (s *stream) endless(ctx context.Context) string {
	if s.full == "" && ctx.Err() != nil {
		return fmt.Sprintf("it is still open after %s of real time, in which %s came", Span(s.limit.Milliseconds()), counted(len(s.messages), "message"))
	}
	return s.full
}
