package machinetest

import (
	"fmt"

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
