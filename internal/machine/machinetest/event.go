package machinetest

import (
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Envelopes makes the envelopes of events that a script describes as JSON objects: what is
// missing of specversion, id, source is filled in, so that no two events are the same.
func (w *Fixture) Envelopes(texts []string) []value.Value {
	w.mu.Lock()
	defer w.mu.Unlock()
	envelopes := make([]value.Value, 0, len(texts))
	for _, text := range texts {
		w.events++
		envelope := map[string]any{
			"specversion": "1.0", "id": fmt.Sprintf("event-%d", w.events), "source": "/suite",
		}
		given, _ := (Answer{Output: text}).Value().(map[string]any)
		for name, value := range given {
			envelope[name] = value
		}
		envelopes = append(envelopes, envelope)
	}
	return envelopes
}

// Values parses what the activity of an answer hands over before its end.
func (a Answer) Values() []value.Value {
	values := make([]value.Value, 0, len(a.Messages))
	for _, text := range a.Messages {
		values = append(values, Answer{Output: text}.Value())
	}
	return values
}

// stored is an event on the bus of Bare.
type stored struct {
	number   int64
	envelope value.Value
}

// stream is a running activity that hands over messages.
type stream struct {
	messages []value.Value
	answer   Answer
}

func (r *bareRun) store(texts []string) {
	for _, envelope := range r.fixture.Envelopes(texts) {
		r.bus = append(r.bus, stored{int64(len(r.bus) + 1), envelope})
	}
}

// happening is the next stored event or message of a stream that may be applied, or the end of
// a stream.
func (r *bareRun) happening() (machine.Event, bool) {
	if !r.waited && r.m.Phase() == chargehand.Waiting {
		r.waited = true
		r.store(r.fixture.Events)
	}
	for _, s := range r.m.Subscriptions() {
		if ev, ok := r.delivery(s); ok {
			return ev, true
		}
	}
	for _, s := range r.m.Streams() {
		running := r.streams[s.Command]
		switch {
		case running == nil || s.Paused:
		case int(s.Position) < len(running.messages):
			return machine.Event{Kind: machine.Progressed, Command: s.Command,
				Output: running.messages[s.Position], Number: s.Position + 1}, true
		case running.answer.Hang:
			r.hanging[s.Command] = true
		default:
			delete(r.streams, s.Command)
			return machine.Event{Kind: machine.ActivityEnded, Command: s.Command,
				Output: running.answer.Value(), Fault: running.answer.Fault}, true
		}
	}
	return machine.Event{}, false
}

// delivery is the next event for a subscription: what its filters let through and what the
// machine wants.
func (r *bareRun) delivery(s machine.Subscription) (machine.Event, bool) {
	if s.Paused {
		return machine.Event{}, false
	}
	for at := max(r.delivered[s.Command], s.Position, int64(r.begin)); at < int64(len(r.bus)); at++ {
		one := r.bus[at]
		wanted := r.m.Wants(s.Command, one.envelope)
		if wanted && !lets(s.Filters, one.envelope) {
			r.t.Errorf("the filters of %d keep out an event that it wants: %s", s.Command, value.Marshal(one.envelope))
		}
		if wanted || r.All {
			r.delivered[s.Command] = one.number
			return machine.Event{Kind: machine.EventReceived, Command: s.Command,
				Output: one.envelope, Number: one.number}, true
		}
	}
	return machine.Event{}, false
}

// lets reports whether the index lets an event through.
func lets(filters []machine.Filter, envelope value.Value) bool {
	kind, _ := envelope.(map[string]any)["type"].(string)
	for _, f := range filters {
		if f.Exact && kind != f.Type || !machine.CompileType(f.Type).Lets(kind) {
			continue
		}
		if f.Path == "" {
			return true
		}
		path, err := machine.CompilePath(f.Path)
		if err != nil {
			continue
		}
		steps := expr.MaxSteps
		if key, ok, _ := path.Key(envelope, &steps); ok && key == f.Key {
			return true
		}
	}
	return false
}
