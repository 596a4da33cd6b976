package temporal

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// streams is the state of a run's activities that send messages (DESIGN.md "Streams").
type streams struct {
	channel workflow.ReceiveChannel
	last    int64 // number of the last stream of this run
	// acksPaused: the run acknowledges no more messages, so that no more signals come.
	acksPaused bool
	waiting    []waitingMessages // from the run before
}

// inflow is the part of a pending command that is a stream.
type inflow struct {
	number  int64             // call.Stream
	arrived int64             // number of the last message
	taken   int64             // number of the last message that the machine has had
	waiting []json.RawMessage // messages between taken and arrived, and those that the run before has left
	shown   int64             // taken, as acknowledged to the activity
}

// newInflow numbers a stream that is about to start; nil if the command is none.
func (r *run) newInflow(c *machine.Command) *inflow {
	if !c.Stream {
		return nil
	}
	s := &r.streams
	s.last++
	in := &inflow{number: s.last}
	if at := slices.IndexFunc(s.waiting, func(w waitingMessages) bool { return w.Command == uint64(c.ID) }); at >= 0 {
		in.waiting = s.waiting[at].Messages
		in.taken = -int64(len(in.waiting))
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	return in
}

// receiveStreams takes in the messages of streams, as far as the machine has room for them.
func (r *run) receiveStreams() {
	for {
		var p progress
		if !r.streams.channel.ReceiveAsync(&p) {
			break
		}
		for _, f := range r.calls {
			// A message comes again if the answer to its signal was lost.
			if f.inflow != nil && f.inflow.number == p.Stream && p.Number == f.inflow.arrived+1 {
				f.inflow.arrived++
				f.inflow.waiting = append(f.inflow.waiting, p.Output)
			}
		}
	}
	for _, f := range slices.Clone(r.calls) {
		if f.inflow != nil && slices.Contains(r.calls, f) {
			r.flow(f)
			if !r.streams.acksPaused {
				f.inflow.shown = max(f.inflow.taken, 0)
			}
		}
	}
}

// flow gives the waiting messages of a stream to the machine.
func (r *run) flow(f *pendingCommand) {
	in := f.inflow
	for len(in.waiting) > 0 && slices.Contains(r.calls, f) {
		s, open := r.machine.Stream(f.id)
		if !open {
			in.waiting = nil // it was withdrawn
			break
		}
		if s.Paused || r.overBudget() {
			return
		}
		message := in.waiting[0]
		in.waiting = in.waiting[1:]
		in.taken++
		spent := r.machine.Spent()
		if v, err := value.Parse(message, value.Limits{Depth: value.MaxDepth}); err == nil && r.machine.Wants(f.id, v) {
			r.apply(machine.Event{Kind: machine.Progressed, Command: f.id, Output: v, Number: s.Position + 1})
		}
		r.charge(r.machine.Spent() - spent + readSteps(message))
	}
}

// flows reports whether a pending command has waiting messages, which the machine gets before the outcome.
func (f *pendingCommand) flows() bool { return f.inflow != nil && len(f.inflow.waiting) > 0 }

// canFlow reports whether the machine has room for a waiting message.
func (r *run) canFlow() bool {
	for _, f := range r.calls {
		if !f.flows() {
			continue
		}
		if s, open := r.machine.Stream(f.id); open && !s.Paused {
			return !r.overBudget()
		}
	}
	return false
}

// taken answers the query how many messages of a stream were taken in; -1: the stream was withdrawn.
func (r *run) taken(stream int64) (int64, error) {
	for _, f := range r.calls {
		if f.inflow != nil && f.inflow.number == stream {
			return f.inflow.shown, nil
		}
	}
	if stream > r.streams.last {
		return 0, fmt.Errorf("no stream %d was started", stream)
	}
	return -1, nil
}

// leftMessages returns the messages of streams that this run leaves to the next one.
func (r *run) leftMessages() (left []waitingMessages) {
	left = slices.Clone(r.streams.waiting)
	for _, f := range r.calls {
		if f.flows() {
			left = append(left, waitingMessages{Command: uint64(f.id), Messages: f.inflow.waiting})
		}
	}
	return left
}
