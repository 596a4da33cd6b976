package service

import (
	"context"
	"fmt"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// maxRecordingBytes bounds a recording as JSON.
	maxRecordingBytes = 16 << 20
	// partBytes is what the names of the fields, the numbers and the times of a task, an outcome, an error or a file take
	// at most.
	partBytes = 256
)

// Recording is what an execution that has ended received from outside, and what it came to. With the definition of its
// revision it can be run again.
type Recording struct {
	Execution *Execution // references to files in its input and output are relative
	Secrets   []string   // that the definition declares; their values are redacted everywhere
	Tasks     []RecordedTask
	Outcomes  []RecordedOutcome // by the start of their tasks, those of one task in the order in which they came
}

// RecordedTask is one run of a task, in the order in which they started.
type RecordedTask struct {
	Seq        int64
	Name       string
	Kind       string // keyword of the task
	Reference  string // JSON pointer of the task
	Iterations []int
	Attempt    int
	Phase      chargehand.Phase
	Started    time.Duration // since the start of the execution
	Ended      time.Duration
}

// RecordedOutcome is what came to a task from outside, before the task made its output of it.
type RecordedOutcome struct {
	Seq       int64 // of the RecordedTask
	Reference string
	// Kind is activity, execution (of another workflow), answer, event, message, or none: the task stopped to wait.
	Kind   string
	Asked  time.Duration // since the start of the execution
	At     time.Duration
	Output []byte // JSON; nil with an error and without an end
	Error  *ExecutionError
	Files  []machine.File
}

var outcomeKinds = map[machine.EventKind]string{
	0: "none", machine.ActivityEnded: "activity", machine.ChildEnded: "execution", machine.TaskAnswered: "answer",
	machine.EventReceived: "event", machine.Progressed: "message",
}

// Recording reads what an execution received. It is made of the timeline, so it is kept as long as the execution.
// Codes: execution_not_found, state_conflict (it has not ended), recording_incomplete.
func (s *Service) Recording(
	ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID,
) (*Recording, error) {
	var row store.Execution
	e, err := s.readExecution(ctx, View{}, func(r *store.Reader) (found store.Execution, err error) {
		row, err = s.findExecution(r, p, workflow, id)
		return row, err
	})
	if err != nil {
		return nil, err
	}
	switch {
	case !e.Status.Final():
		return nil, chargehand.NewError(chargehand.CodeStateConflict, "The execution has not ended. It is recorded once it has.")
	case e.StartedAt.IsZero():
		return nil, incomplete("The execution has ended before it started.")
	}
	timeline, err := s.engine.Timeline(ctx, row.No)
	if err != nil {
		return nil, storageError(notFoundIs(err, executionNotFound))
	}
	compiled, err := s.plans.Plan(ctx, row.Revision)
	if err != nil {
		return nil, storageError(err)
	}
	if len(e.Input) == 0 { // none was given
		e.Input = []byte("{}")
	}
	recording := &Recording{Execution: e, Secrets: compiled.Secrets()}
	return recording, recording.read(ctx, &row, timeline)
}

func incomplete(detail string) error {
	return chargehand.NewError(chargehand.CodeRecordingIncomplete, detail)
}

func (g *Recording) read(ctx context.Context, row *store.Execution, timeline *engine.Timeline) error {
	if timeline.Truncated {
		return incomplete(fmt.Sprintf("The execution ran more than %d tasks, and what came to the first of them is not kept.", engine.TimelineEntries))
	}
	since := func(ms int64) time.Duration { return time.Duration(ms-row.StartedMs) * time.Millisecond }
	size := recordingSize(partBytes + len(g.Execution.Input) + len(g.Execution.Output))
	size.texts(g.Secrets...)
	size.fault(g.Execution.Error)
	for i := range timeline.Records {
		r := &timeline.Records[i]
		if i == 0 && r.HasTaskData() && !row.RetryOf.IsZero() {
			return incomplete("The execution is a retry that did not begin with the first task of its definition.")
		}
		size.task(r)
		if err := size.check(); err != nil {
			return err
		}
		g.Tasks = append(g.Tasks, RecordedTask{
			Seq: int64(r.Seq), Name: r.Name, Kind: r.Kind().String(), Reference: r.Reference, Iterations: r.Iterations, Attempt: r.Attempt,
			Phase: r.Phase, Started: since(r.StartedMs), Ended: since(r.EndedMs),
		})
		outcomes, outputs, err := timeline.Came(ctx, r)
		if err != nil {
			return storageError(err)
		}
		for i := range outcomes {
			o := &outcomes[i]
			if o.Lost {
				return incomplete(fmt.Sprintf("The task at %s received more than is kept.", r.Reference))
			}
			recorded := RecordedOutcome{
				Seq: int64(r.Seq), Reference: o.Reference, Kind: outcomeKinds[o.Kind], Asked: since(o.AskedMs), At: since(o.AtMs), Files: o.Files,
			}
			switch {
			case o.Fault != nil:
				recorded.Error = shownFault(engine.DescribeFault(o.Fault))
			case o.Kind != 0:
				recorded.Output = outputs[i]
			}
			size.outcome(&recorded)
			if err := size.check(); err != nil {
				return err
			}
			g.Outcomes = append(g.Outcomes, recorded)
		}
	}
	return nil
}

// recordingSize counts the bytes of a recording as JSON: never fewer than it has.
type recordingSize int

func (n recordingSize) check() error {
	if n <= maxRecordingBytes {
		return nil
	}
	return incomplete(fmt.Sprintf("The recording has more than %d MiB.", maxRecordingBytes>>20))
}

func (n *recordingSize) texts(list ...string) {
	const (
		around = 3 // quotes and a comma
		escape = 5 // more bytes than a character that is escaped, as \u0000
	)
	for _, text := range list {
		*n += recordingSize(around + len(text))
		for _, c := range []byte(text) {
			if c < ' ' || c == '"' || c == '\\' || c > '~' {
				*n += escape
			}
		}
	}
}

func (n *recordingSize) task(r *machine.Record) {
	const iteration = 21 // digits of the longest number, and a comma
	*n += recordingSize(partBytes + iteration*len(r.Iterations))
	n.texts(r.Name, r.Reference)
}

func (n *recordingSize) fault(e *ExecutionError) {
	if e != nil {
		*n += partBytes
		n.texts(e.Type, e.Title, e.Detail, e.Instance, e.Code)
	}
}

func (n *recordingSize) outcome(o *RecordedOutcome) {
	*n += recordingSize(partBytes + len(o.Output))
	n.texts(o.Reference)
	n.fault(o.Error)
	for i := range o.Files {
		f := &o.Files[i]
		*n += partBytes
		n.texts(f.ID, f.Name, f.MediaType, f.Digest)
	}
}
