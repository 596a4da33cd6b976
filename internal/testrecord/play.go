package testrecord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/rehearse"
	"github.com/chargehand/chargehand/internal/value"
)

// step is a decision of an execution: the start of a task, a call, or a way that it takes.
type step struct {
	kind      stepKind
	reference string
	atMs      int64  // since the start
	what      string // of a call: kind of activity; of a way: its name
	args      value.Value
}

type stepKind uint8

const (
	starts stepKind = iota
	calls
	takes
)

// replay is one run of a definition with the answers of a recording.
type replay struct {
	*revision
	recording *client.Recording
	startMs   int64
	answers   map[string][]*received // what came to tasks of the recorded definition, by their pointers
	queued    bool                   // what happens at a time is in the queue
	secrets   map[string]value.Value // values that stand for those of the execution

	steps     []step
	published []value.Value
	phase     string
	output    value.Value
	fault     *machine.Fault
	timeline  []machine.Record
	endMs     int64
	err       error // why it did not end
}

// received is what came of one command.
type received struct {
	messages []value.Value
	end      *client.RecordedOutcome // nil: nothing came
}

// play runs a definition. source is the recorded one, for the shapes of its secrets.
func play(ctx context.Context, g *client.Recording, of *revision, source []byte) (*replay, error) {
	r := &replay{revision: of, recording: g, answers: map[string][]*received{}, secrets: map[string]value.Value{}}
	if g.StartedAt != nil {
		r.startMs = g.StartedAt.UnixMilli()
	}
	w := &writer{recording: g, options: Options{Source: source}}
	for _, name := range g.Secrets {
		r.secrets[name] = w.shape(name)
	}
	for _, name := range of.plan.Secrets() { // a new one
		if _, known := r.secrets[name]; !known {
			r.secrets[name] = "secret-" + name
		}
	}
	if err := r.receive(); err != nil {
		return nil, err
	}
	input, err := readValue(g.Input)
	if err != nil {
		return nil, err
	}
	id := machine.Identity{Secrets: r.secrets}
	if err := id.Execution.UnmarshalText([]byte(g.ExecutionID)); err != nil {
		return nil, fmt.Errorf("the recording names no execution: %w", err)
	}
	result, err := rehearse.Run(ctx, rehearse.Config{
		Plan: of.plan, Identity: id, Input: input, StartMs: r.startMs,
		Outside: rehearse.Outside{Activity: r.activity, Child: r.child, Person: r.person, Idle: r.idle},
		Observe: r.observe,
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.phase, r.output, r.fault, r.published = result.Phase.String(), result.Output, result.Fault, result.Published
	r.timeline, r.endMs, r.err = result.Timeline, result.EndMs-r.startMs, err
	return r, nil
}

func readValue(text json.RawMessage) (value.Value, error) {
	if len(text) == 0 {
		return nil, nil
	}
	v, err := value.Parse(text, value.Limits{Depth: value.MaxDepth})
	if err != nil {
		return nil, fmt.Errorf("the recording has a value that cannot be read: %w", err)
	}
	return v, nil
}

// receive sorts what came by the tasks that asked for it, in the order in which they asked.
func (r *replay) receive() error {
	outcomes := slices.Clone(r.recording.Outcomes)
	slices.SortStableFunc(outcomes, func(a, b client.RecordedOutcome) int { return cmp.Compare(a.AskedMS, b.AskedMS) })
	streams := map[string]*received{} // that have not ended
	for i := range outcomes {
		o := &outcomes[i]
		if o.Kind == "event" {
			continue
		}
		stream := fmt.Sprint(o.Seq, " ", o.Reference)
		one := streams[stream]
		if one == nil {
			one = &received{}
			r.answers[o.Reference] = append(r.answers[o.Reference], one)
		}
		if o.Kind != "message" {
			one.end = o
			delete(streams, stream)
			continue
		}
		v, err := readValue(o.Output)
		if err != nil {
			return err
		}
		one.messages = append(one.messages, v)
		streams[stream] = one
	}
	return nil
}

// observe notes starts of tasks, and the ways that they take.
func (r *replay) observe(e *rehearse.Execution, reference string, b machine.Branch) {
	one := step{kind: takes, reference: reference, atMs: e.NowMs() - r.startMs}
	if b.Kind == machine.BranchTask {
		one.kind = starts
	} else if one.what = r.ways[reference][b]; one.what == "" {
		return
	}
	r.steps = append(r.steps, one)
}

// called notes a call.
func (r *replay) called(e *rehearse.Execution, reference, what string, args value.Value) {
	r.steps = append(r.steps, step{kind: calls, reference: reference, atMs: e.NowMs() - r.startMs, what: what, args: args})
}

func (r *replay) activity(e *rehearse.Execution, c machine.Command) (rehearse.Answer, error) {
	r.called(e, c.Reference, c.Activity, c.Args)
	if c.Detached { // nothing sees its end
		return rehearse.Answer{}, nil
	}
	return r.answer(e, c.Reference)
}

func (r *replay) person(e *rehearse.Execution, c machine.Command) (rehearse.Answer, error) {
	r.called(e, c.Reference, "human", c.Args)
	return r.answer(e, c.Reference)
}

func (r *replay) child(e *rehearse.Execution, c machine.Command) (*plan.Plan, rehearse.Answer, error) {
	reference := ""
	for _, entry := range e.Machine().Timeline() {
		if entry.Child == c.Child.ID {
			reference = entry.Reference
		}
	}
	r.called(e, reference, "workflow "+c.Child.Namespace+"/"+c.Child.Name, c.Child.Input)
	answer, err := r.answer(e, reference)
	return nil, answer, err
}

// answer is what came to the task when it asked as often as now. It comes at the time at which it came, if that is not
// over yet: so what waits for each other in life does here.
func (r *replay) answer(e *rehearse.Execution, reference string) (rehearse.Answer, error) {
	old := r.toOld[reference]
	list := r.answers[old]
	if old == "" || len(list) == 0 {
		return rehearse.Answer{}, fmt.Errorf("%w: %s", errUnanswered, reference)
	}
	one := list[0]
	r.answers[old] = list[1:]
	a := rehearse.Answer{Messages: one.messages, Hangs: one.end == nil || one.end.Kind == "none"}
	if a.Hangs {
		return a, nil
	}
	o := one.end
	a.AfterMs = max(0, r.startMs+o.AtMS-e.NowMs())
	if o.Error != nil {
		a.Fault = &machine.Fault{Type: o.Error.Type, Status: o.Error.Status, Title: o.Error.Title, Detail: o.Error.Detail}
		return a, nil
	}
	for _, f := range o.Files {
		a.Files = append(a.Files, machine.File{ID: f.ID, Name: f.Filename, MediaType: f.ContentType, Size: f.Size, Digest: f.Digest})
	}
	var err error
	a.Output, err = readValue(o.Output)
	return a, err
}

// idle puts what came to the execution itself into the queue: the events that it took in, and its cancellation.
func (r *replay) idle(run *rehearse.Rehearsal) bool {
	if r.queued {
		return false
	}
	r.queued = true
	seen := map[string]bool{}
	due := false
	at := func(ms int64, do func(*rehearse.Rehearsal)) {
		run.At(r.startMs+ms, do)
		due = due || r.startMs+ms <= run.NowMs()
	}
	outcomes := slices.Clone(r.recording.Outcomes)
	slices.SortStableFunc(outcomes, func(a, b client.RecordedOutcome) int { return cmp.Compare(a.AtMS, b.AtMS) })
	for i := range outcomes {
		o := &outcomes[i]
		envelope, err := readValue(o.Output)
		if o.Kind != "event" || err != nil || seen[eventKey(envelope)] {
			continue
		}
		seen[eventKey(envelope)] = true
		at(o.AtMS, func(run *rehearse.Rehearsal) {
			for _, own := range run.Published() { // it has published the event itself
				if eventKey(own) == eventKey(envelope) {
					return
				}
			}
			run.Publish(envelope)
		})
	}
	if r.recording.Phase == "cancelled" {
		reason := ""
		if r.recording.Error != nil {
			reason = r.recording.Error.Detail
		}
		at(r.recording.ElapsedMS, func(run *rehearse.Rehearsal) { run.Cancel(reason) })
	}
	return due
}

func eventKey(envelope value.Value) string {
	e, _ := envelope.(map[string]any)
	return fmt.Sprintf("%q %q", e["source"], e["id"])
}

// redacted takes out what stands for secrets, as they are taken out of recordings.
func (r *replay) redacted(v value.Value) value.Value {
	switch v := v.(type) {
	case string:
		for _, secret := range r.secrets {
			for _, text := range texts(secret) {
				v = strings.ReplaceAll(v, text, redacted)
			}
		}
		return v
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = r.redacted(one)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, one := range v {
			object[name] = r.redacted(one)
		}
		return object
	}
	return v
}

// texts are those in a value that stands for a secret.
func texts(secret value.Value) []string {
	switch s := secret.(type) {
	case string:
		return []string{s}
	case map[string]any:
		var list []string
		for _, name := range value.SortedKeys(s) {
			list = append(list, texts(s[name])...)
		}
		return list
	}
	return nil
}

// stuck says what a replay waits for that did not end.
func (r *replay) stuck() string {
	var stuck *rehearse.Stuck
	switch {
	case r.err == nil:
		return ""
	case errors.As(r.err, &stuck):
		return "it waits for what did not come in the recorded execution"
	case errors.Is(r.err, errUnanswered):
		return "it asks for what the recorded execution did not ask for"
	case errors.Is(r.err, rehearse.ErrEndless):
		return "it does not end"
	}
	return r.err.Error()
}
