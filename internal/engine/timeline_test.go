package engine

import (
	"log/slog"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// A chunk that cannot be opened any more is left out, and the timeline says that it is not whole. The other chunks,
// and the last one with the output, are there.
func TestStoredTimeline(t *testing.T) {
	v, p := newVault(t), planWith(t, "token")
	id := chargehand.ExecutionID{1}
	mine, others := SealingOf(id, p, v.sealer), SealingOf(chargehand.ExecutionID{2}, p, v.sealer)
	input, output := value.Value(map[string]any{"in": 1}), value.Value("the output")
	m := machine.New(p, machine.Identity{Execution: id, Revision: machine.Revision, Secrets: map[string]value.Value{"token": "t"}})
	m.Apply(machine.Event{Kind: machine.Started, TimeMs: 1, Output: input})
	entry := m.TakeTimeline()[0]
	entries := func(seq int, output value.Value) []machine.Entry {
		e := entry
		e.Seq, e.Output = seq, output
		return []machine.Entry{e}
	}
	chunk := func(seq int) []byte { return mine.EncodeTimeline(entries(seq, nil), machine.Tally{}, input) }
	stored := StoredTimeline{
		Row: store.Execution{
			ID: id, State: store.StateEnded, Status: chargehand.Finished, Input: store.Payload{Inline: value.Marshal(input)},
		},
		Chunks: [][]byte{mine.Seal(SealedTimeline, chunk(1)), others.Seal(SealedTimeline, chunk(2)), mine.Seal(SealedTimeline, chunk(3))},
		Last:   mine.EncodeTimeline(entries(4, output), machine.Tally{}, input, output),
		output: store.Payload{Inline: value.Marshal(output)},
	}
	log := slog.New(slog.DiscardHandler)
	got, err := stored.Timeline(nil, log, p, mine, nil)
	if err != nil || !got.Truncated || len(got.Records) != 3 || got.Records[1].Seq != 3 {
		t.Fatalf("the timeline is %+v, %v", got, err)
	}
	for i, want := range []struct{ input, output value.Value }{{input, nil}, {input, nil}, {input, output}} {
		in, out, err := got.Values(t.Context(), &got.Records[i])
		if err != nil || string(in) != string(value.Marshal(want.input)) || string(out) != string(value.Marshal(want.output)) {
			t.Errorf("the values of entry %d are %s and %s, %v", i, in, out, err)
		}
	}
	got, err = stored.Timeline(nil, log, p, SealingOf(id, p, nil), nil)
	if err != nil || !got.Truncated || len(got.Records) != 1 {
		t.Errorf("without a master key it is %+v, %v", got, err)
	}
}
