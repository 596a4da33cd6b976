package seed

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// made is an execution with all that is to be written of it.
type made struct {
	row      store.Execution
	queuedMs int64       // how long it waited for a slot, at least
	end      *engine.End // nil: it has not ended
	journal  []store.JournalRow
	timers   []store.Timer
	state    []byte // checkpoint of one that has not ended
	child    *made  // that it started
	command  uint64 // that started it
}

// outcome is how an execution goes.
type outcome int

const (
	succeeds  outcome = iota
	fails             // a call of it may fail
	cancelled         // while its first call runs
)

// newID makes a UUID of version 7. Those of one time ascend with low.
func newID(ms int64, low uint64) (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16|0x7000|low>>52&0xfff)
	binary.BigEndian.PutUint64(id[8:], 1<<63|low&(1<<52-1))
	return id
}

// fault is a way in which calls fail.
type fault struct {
	weight int
	of     func(r *rand.Rand) machine.Fault
}

// faults are in true proportions: most failures are alike, few are rare.
var faults = []fault{
	{50, func(r *rand.Rand) machine.Fault {
		return machine.Fault{
			Type: machine.ErrCommunication, Status: 503, Title: "Service unavailable", Code: "communication_error", Retryable: true,
			Detail: fmt.Sprintf("The server answered 503 after %d ms (request %08x).", 100+r.IntN(9000), r.Uint32()),
		}
	}},
	{25, func(r *rand.Rand) machine.Fault {
		return machine.Fault{
			Type: machine.ErrTimeout, Status: 408, Title: "Timeout", Code: "timeout", Retryable: true,
			Detail: fmt.Sprintf("The task has not ended within %d s.", []int{10, 30, 60}[r.IntN(3)]),
		}
	}},
	{15, func(r *rand.Rand) machine.Fault {
		return machine.Fault{
			Type: machine.ErrAuthorization, Status: 403, Title: "Forbidden", Code: "authorization_error",
			Detail: fmt.Sprintf("The server answered 403: account %q may not do this.", fmt.Sprint("a-", r.IntN(500))),
		}
	}},
	{10, func(r *rand.Rand) machine.Fault {
		return machine.Fault{
			Type: machine.ErrValidation, Status: 400, Title: "Bad request", Code: "validation_error",
			Detail: fmt.Sprintf("The field %s is missing.", []string{"street", "city", "zip", "country", "email", "phone", "name", "vat"}[r.IntN(8)]),
		}
	}},
}

func someFault(r *rand.Rand) *machine.Fault {
	n := r.IntN(100)
	for _, f := range faults {
		if n -= f.weight; n < 0 {
			one := f.of(r)
			return &one
		}
	}
	panic("the weights of faults do not add up to 100")
}

// some is a time of up to most milliseconds: most are short, some long.
func some(r *rand.Rand, most float64) int64 {
	return int64(math.Exp(r.Float64() * math.Log(most)))
}

// run makes an execution. The machine gets the ends of its calls, some with a fault, until it ends or waits for a time
// after untilMs.
func (h *history) run(m *made, v *version, input map[string]any, goes outcome, untilMs int64) {
	r, row := h.random, &m.row
	data := value.Marshal(input)
	row.Input, row.Machine, row.Revision = store.Payload{Inline: data, Size: int64(len(data))}, machine.Revision, v.revision
	id := machine.Identity{Execution: row.ID, RuntimeVersion: "seed"}
	mc := machine.New(v.plan, id)
	nowMs := row.ID.Milli() + m.queuedMs + some(r, 2000)
	row.StartedMs = nowMs
	queue := []machine.Event{engine.StartedEvent(id, nowMs, input, nil)}
	var finish *machine.Command
	for seq := int64(1); len(queue) > 0 && finish == nil; seq++ {
		ev := queue[0]
		queue = queue[1:]
		nowMs = max(nowMs, ev.TimeMs)
		commands := mc.Apply(ev)
		for i := range commands {
			switch c := &commands[i]; c.Kind {
			case machine.RunActivity:
				nowMs += some(r, 20_000)
				answer := machine.Event{Kind: machine.ActivityEnded, TimeMs: nowMs, Command: c.ID, Output: input}
				switch {
				case goes == cancelled:
					answer = machine.Event{Kind: machine.CancelRequested, TimeMs: nowMs, Detail: "It is not needed any more."}
				case goes == fails && r.IntN(2) == 0:
					answer.Output, answer.Fault = nil, someFault(r)
				}
				queue = append(queue, answer)
			case machine.StartTimer:
				if m.timers = append(m.timers, store.Timer{Command: uint64(c.ID), DueMs: c.DueMs}); c.DueMs <= untilMs {
					queue = append(queue, machine.Event{Kind: machine.TimerFired, TimeMs: c.DueMs, Command: c.ID})
				}
			case machine.Yield:
				queue = append(queue, machine.Event{Kind: machine.Continued, TimeMs: nowMs, Command: c.ID})
			case machine.StartChild:
				queue = append(queue, h.runChild(m, c, nowMs, goes))
			case machine.Finish:
				finish = c
			}
		}
		if finish == nil {
			stored := ev
			if stored.Kind == machine.Started {
				stored.Output = nil // the row has it
			}
			event := machine.AppendEvent(nil, stored)
			m.journal = append(m.journal, store.JournalRow{
				Seq: seq, Event: store.Payload{Inline: event, Size: int64(len(event))}, Digest: machine.Digest(commands),
			})
		}
	}
	if finish == nil {
		row.Status, row.Phase, row.State = chargehand.Processing, mc.Phase(), store.StateParked
		row.Waits, m.state = engine.WaitsOf(mc, nowMs, store.Waits{}, nil), mc.Checkpoint()
		return
	}
	m.end = engine.EndOf(finish, nil)
	m.end.Timeline = machine.EncodeTimeline(nil, mc.TakeTimeline(), mc.Tally(), m.end.Known(input)...)
	row.Status, row.Phase, row.State, row.FinishedMs = m.end.Status, m.end.Phase, store.StateEnded, nowMs
}

// runChild makes the execution that a command starts, and returns its end.
func (h *history) runChild(m *made, c *machine.Command, nowMs int64, goes outcome) machine.Event {
	w := h.child
	one := &made{command: uint64(c.ID)}
	one.row = store.Execution{ID: c.Child.ID, Account: m.row.Account, Environment: m.row.Environment, Workflow: w.No}
	input, _ := c.Child.Input.(map[string]any)
	h.run(one, &w.versions[0], input, goes, 0)
	m.child = one
	ended := machine.Event{Kind: machine.ChildEnded, TimeMs: max(nowMs, one.row.FinishedMs), Command: c.ID}
	if one.end.Fault != nil {
		ended.Fault = faultOf(one.end.Fault)
	} else {
		ended.Output = input
	}
	return ended
}

// faultOf is a stored fault as the machine of a parent gets it.
func faultOf(stored []byte) *machine.Fault {
	f, err := engine.DecodeFault(stored)
	if err != nil { // EncodeFault has written it
		panic(err)
	}
	return &machine.Fault{Type: f.Type, Status: f.Status, Title: f.Title, Detail: f.Detail, Code: f.Code, Retryable: f.Retryable}
}

// delay makes an execution that starts at a time to come.
func (m *made) delay(v *version, input map[string]any, startMs int64) {
	data := value.Marshal(input)
	m.row.Input, m.row.Machine, m.row.Revision = store.Payload{Inline: data, Size: int64(len(data))}, machine.Revision, v.revision
	m.row.Status, m.row.Phase, m.row.State, m.row.StartMs = chargehand.Initial, chargehand.Pending, store.StateDelayed, startMs
}
