package engine

import (
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// End is how an execution ends: what its row and its outcome become. The output is inline until it is put into the
// blob store (Externalize).
type End struct {
	store.Outcome
	Status chargehand.Status
	Phase  chargehand.Phase

	output     value.Value         // of a completed execution, without secrets
	references []chargehand.FileID // in the output
	own        []machine.File      // that the Finish command names
	foreign    []int64             // result files that the execution did not make
}

// EndOf is the end that a Finish command asks for, without secrets.
func EndOf(c *machine.Command, s *Secrets) *End {
	e := &End{Status: chargehand.Errored, Phase: c.Phase}
	if c.Phase != chargehand.Completed {
		e.Fault = EncodeFault(s.RedactFault(c.Fault))
		return e
	}
	e.Status, e.output, e.own = chargehand.Finished, s.Redact(c.Output), c.Files
	data := value.Marshal(e.output)
	e.Outcome.Output = store.Payload{Inline: data, Size: int64(len(data))}
	e.references = machine.References(e.output)
	return e
}

// Known are the values that the last chunk of the timeline refers to instead of holding them again.
func (e *End) Known(input value.Value) []value.Value {
	if e == nil || e.Phase != chargehand.Completed {
		return []value.Value{input}
	}
	return []value.Value{input, e.output}
}

// FinishFaulted is the command that ends an execution whose machine cannot continue.
func FinishFaulted(f *machine.Fault) *machine.Command {
	return &machine.Command{Kind: machine.Finish, Phase: chargehand.Faulted, Fault: f}
}

// EndMs is the time of an execution's end: never before its other times.
func EndMs(row *store.Execution, nowMs int64) int64 {
	return max(nowMs, row.StartedMs, row.ID.Milli())
}

// AppendFileIDs appends the ids of files.
func AppendFileIDs(ids []chargehand.FileID, files []machine.File) []chargehand.FileID {
	for _, f := range files {
		var id chargehand.FileID
		if id.UnmarshalText([]byte(f.ID)) == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// PublishFiles makes files of an execution visible.
func PublishFiles(tx *store.Tx, executionNo int64, ids []chargehand.FileID) error {
	for _, id := range ids {
		// A missing file was swept during a long outage. The data still names it.
		if err := tx.PublishFile(id, executionNo); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}
