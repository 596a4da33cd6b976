package testrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

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
	if c.Stream {
		call.Progress = collect(&answer.Messages)
	}
	result := runner.Run(p.ctx, call)
	if err := p.ctx.Err(); err != nil {
		return answer, err
	}
	answer.Output, answer.Files, answer.Fault, answer.Document = result.Output, result.Files, result.Fault, result.Document
	return answer, nil
}

// collect keeps what a stream hands over.
func collect(messages *[]value.Value) func(context.Context, value.Value) error {
	return func(ctx context.Context, v value.Value) error {
		*messages = append(*messages, v)
		return ctx.Err()
	}
}
