package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

var sampleEvents = []Event{
	{Kind: Started, TimeMs: 1769860800000, Output: map[string]any{"a": 1, "b": []any{1.0, nil, "x"}}},
	{Kind: Continued, TimeMs: 5, Command: 7},
	{Kind: Continued, TimeMs: -5},
	{Kind: ActivityEnded, TimeMs: 1, Command: 1 << 40, Output: new(big.Int).Lsh(big.NewInt(1), 4000)},
	{Kind: ActivityEnded, TimeMs: 1, Command: 2, Output: strings.Repeat("long text ", 20),
		Files: []File{{ID: "i", Name: "n", MediaType: "m/t", Size: 1 << 40, Digest: "sha256:1"}, {}}},
	{Kind: ActivityEnded, TimeMs: 1, Command: 3, Fault: &Fault{Type: ErrCommunication, Status: 404, Title: "Communication error", Detail: "gone"}},
	{Kind: ActivityEnded, TimeMs: 1, Command: 3, Fault: &Fault{Type: "https://example.org/own", Status: -1, Title: "Own",
		Detail: "d", Instance: "/do/0/x", Code: "c", System: true, Retryable: true}},
	{Kind: TimerFired, TimeMs: 1 << 60, Command: 9},
	{Kind: CancelRequested, TimeMs: 1, Detail: "reason\x00\n"},
	{Kind: Interrupted, TimeMs: 1, Command: 4},
}

func TestEventCodec(t *testing.T) {
	for _, ev := range sampleEvents {
		stored := AppendEvent([]byte("before"), ev)
		got, err := DecodeEvent(stored[len("before"):])
		if err != nil || !reflect.DeepEqual(got, ev) {
			t.Errorf("%+v becomes %+v, %v", ev, got, err)
		}
		for i := range stored[6:] {
			if _, err := DecodeEvent(stored[6 : 6+i]); !errors.Is(err, errCorrupt) {
				t.Fatalf("%d of %d bytes of %+v are an event: %v", i, len(stored)-6, ev, err)
			}
		}
		if _, err := DecodeEvent(append(stored[6:], 0)); !errors.Is(err, errCorrupt) {
			t.Errorf("a byte too many is accepted: %v", err)
		}
	}
	for _, bad := range [][]byte{nil, {0x21, 0, 0}, {0x10, 0, 0}, {0x1e, 0, 0}, {0x11, eventOutput, 0, 1, '{'}} {
		if _, err := DecodeEvent(bad); !errors.Is(err, errCorrupt) {
			t.Errorf("% x: %v", bad, err)
		}
	}
}

// The journal of a trivial execution is small: docs/explanation/architecture.md "Storage".
func TestEventSize(t *testing.T) {
	input := parseJSON(t, `{"name":"Ada Lovelace","mail":"ada@example.org","n":12345678}`)
	ev := Event{Kind: Started, TimeMs: scriptEpoch, Output: input}
	if size, text := len(AppendEvent(nil, ev)), len(value.Marshal(input)); size > text+10 {
		t.Errorf("the event takes %d bytes, its input %d", size, text)
	}
	if size := len(AppendEvent(nil, Event{Kind: TimerFired, TimeMs: scriptEpoch, Command: 3})); size > 10 {
		t.Errorf("a timer's event takes %d bytes", size)
	}
}

func FuzzDecodeEvent(f *testing.F) {
	for _, ev := range sampleEvents {
		f.Add(AppendEvent(nil, ev))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, err := DecodeEvent(data)
		if err != nil {
			return
		}
		again, err := DecodeEvent(AppendEvent(nil, ev))
		if err != nil || !reflect.DeepEqual(again, ev) {
			t.Errorf("%+v becomes %+v, %v", ev, again, err)
		}
	})
}

// One trivial entry costs next to nothing when the row has input and output already.
func TestTimelineSize(t *testing.T) {
	p := compilePlan(t, testHeader+"do: [{a: {set: {greeting: '${ .name }', fixed: 1}}}]")
	m := New(p, testIdentity(t))
	input := parseJSON(t, `{"name":"Ada Lovelace","mail":"ada@example.org","n":12345678}`)
	commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: input})
	stored := EncodeTimeline(nil, m.TakeTimeline(), Tally{}, input, commands[0].Output)
	if len(stored) > 20 {
		t.Errorf("the timeline takes %d bytes: % x", len(stored), stored)
	}
	// Known values that were read from the store are other objects with the same contents.
	m = New(p, testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: input})
	copied := parseJSON(t, string(value.Marshal(input)))
	if again := EncodeTimeline(nil, m.TakeTimeline(), Tally{}, copied, commands[0].Output); !bytes.Equal(again, stored) {
		t.Errorf("with copies of the known values it takes %d bytes", len(again))
	}
}

// Values that look equal but are not stay what they are.
func TestTimelineValues(t *testing.T) {
	p := compilePlan(t, testHeader+"do: [{a: {set: {x: 1}}}]")
	task := p.Tasks[0]
	values := []value.Value{nil, 1, 1.0, "1", true, map[string]any{}, []any{}, map[string]any{"a": 1}, map[string]any{"a": 1.0},
		map[string]any{"a": 1}, []any{map[string]any{"a": 1}}, "a text that is longer", "a text that is longer", 12345, 12345,
		new(big.Int).Lsh(big.NewInt(1), 100), strings.Repeat("x", 300), strings.Repeat("x", 300)}
	var entries []Entry
	for i, v := range values {
		entries = append(entries, Entry{
			Seq: i*3 + 1, Name: task.Name, Reference: task.Reference, Attempt: 1 + i%2, Parent: i % 4, Iterations: [][]int{nil, {0}, {0, i}}[i%3],
			Phase: chargehand.Completed, StartedMs: int64(1000 - i), EndedMs: int64(1000 + i*i), StartedNo: 5*i + 2, EndedNo: 5*i + 3 + i%2, Input: v, Output: values[len(values)-1-i],
			task: task,
		})
	}
	fault := &Fault{Type: ErrTimeout, Status: 408, Title: "Timeout", Detail: "too long", Instance: "/elsewhere", Retryable: true}
	same := *fault
	own := &Fault{Type: "x:y", Status: 500, Instance: task.Reference, Code: "c", System: true}
	for _, f := range []*Fault{fault, &same, own, fault} {
		entries = append(entries, Entry{Seq: 1000, Name: task.Name, Reference: task.Reference, Attempt: 1,
			Phase: chargehand.Faulted, StartedMs: 1, EndedMs: 1, Fault: f, task: task})
	}
	entries = append(entries, Entry{Seq: 1001, Name: task.Name, Reference: task.Reference, Attempt: 1, Phase: chargehand.Waiting,
		StartedMs: 7, Files: []File{{ID: "i", Name: "n"}}, task: task})
	plain := EncodeTimeline(nil, entries, Tally{})
	entries[1].Document, entries[3].Document, entries[len(entries)-1].Document = "sha256:aa", "sha256:bb", "sha256:aa"
	if n := len(EncodeTimeline(nil, entries, Tally{})) - len(plain); n != 1+2*(1+len("sha256:aa"))+len(entries) {
		t.Errorf("three documents, two of them the same, take %d bytes", n)
	}
	known := []value.Value{map[string]any{"a": 1.0}, nil, "1", []any{map[string]any{"a": 1}}}
	entries[2].Child, entries[4].Child = testIdentity(t).Execution, chargehand.ExecutionID{15: 1}
	entries[4].Wait, entries[5].Wait = &Wait{Kind: WaitRetry, UntilMs: -5}, &Wait{Kind: WaitEvent, Types: []string{"a", "b"}}
	var tally Tally
	tally.Count(RecordsOf(entries)) // must not change it
	if !tally.Empty() {
		t.Error("a tally counts for another one")
	}
	for i := range entries {
		tally.add(&entries[i])
	}
	stored := EncodeTimeline([]byte("before"), entries, tally, known...)[len("before"):]
	records, counted, err := DecodeTimeline(p, stored, len(known))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := counted.Tasks(), tally.Tasks(); !reflect.DeepEqual(got, want) || want[0].Faulted != 4 || want[0].FirstFaulted != 1000 || want[0].Attempts != 2 {
		t.Errorf("the tally is %+v, want %+v", got, want)
	}
	got := valued(t, records, known...)
	for i := range entries {
		if !reflect.DeepEqual(got[i], entries[i]) {
			t.Errorf("entry %d\ngot  %+v\nwant %+v", i, got[i], entries[i])
		}
	}
	if count := bytes.Count(stored, []byte("xxxxxxxx")); count != 300/8 {
		t.Errorf("the long text is stored %d/37 times", count)
	}
	for i := range stored {
		if _, _, err := DecodeTimeline(p, stored[:i], len(known)); !errors.Is(err, errCorrupt) {
			t.Fatalf("%d of %d bytes are a timeline: %v", i, len(stored), err)
		}
	}
}

func FuzzDecodeTimeline(f *testing.F) {
	p := compilePlan(f, testHeader+"do: [{a: {set: {x: 1}}}, {b: {do: [{c: {raise: {error: {type: 'x:y', status: 500}}}}]}}]")
	m := New(p, testIdentity(f))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{"long": "enough for a reference"}})
	var tally Tally
	entries := m.TakeTimeline()
	f.Add(EncodeTimeline(nil, entries, Tally{}))
	entries[0].Child, entries[0].Wait = testIdentity(f).Execution, &Wait{Kind: WaitTimer, UntilMs: 1}
	f.Add(EncodeTimeline(nil, entries, tally.Count(RecordsOf(entries))))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, tally, err := DecodeTimeline(p, data, 1)
		if err != nil {
			return
		}
		for i := range records { // what is no JSON was never stored
			if in, out := records[i].Values("known"); !json.Valid(in) || !json.Valid(out) {
				return
			}
		}
		entries := valued(t, records, "known")
		stored, counted, err := DecodeTimeline(p, EncodeTimeline(nil, entries, tally), 0)
		if err != nil || !reflect.DeepEqual(counted.Tasks(), tally.Tasks()) {
			t.Fatalf("%s %+v\nbecomes\n%+v, %v", entriesText(entries), tally.Tasks(), counted.Tasks(), err)
		}
		if again := valued(t, stored); entriesText(again) != entriesText(entries) {
			t.Errorf("%s\nbecomes\n%s", entriesText(entries), entriesText(again))
		}
	})
}

func TestMergeTimeline(t *testing.T) {
	e := func(seq int, phase chargehand.Phase) Record { return Record{Entry: Entry{Seq: seq, Phase: phase}} }
	merged, truncated := MergeTimeline(
		[]Record{e(1, chargehand.Running), e(2, chargehand.Completed)},
		nil,
		[]Record{e(1, chargehand.Waiting), e(3, chargehand.Running)},
		[]Record{e(1, chargehand.Completed), e(3, chargehand.Faulted)},
	)
	var got []string
	for _, e := range merged {
		got = append(got, fmt.Sprint(e.Seq, e.Phase))
	}
	if want := "1 completed, 2 completed, 3 faulted"; strings.Join(got, ", ") != want || truncated {
		t.Errorf("got %v, truncated %v", got, truncated)
	}
	if _, truncated := MergeTimeline([]Record{e(2, chargehand.Completed)}); !truncated {
		t.Error("a missing entry goes unnoticed")
	}
	if merged, truncated := MergeTimeline(); len(merged) != 0 || truncated {
		t.Error("nothing merged is something")
	}
}

// Digests tell every part of a command apart.
func TestDigest(t *testing.T) {
	base := Command{Kind: Finish, ID: 1, Phase: chargehand.Completed, Output: map[string]any{"a": []any{1, "x", nil, true}, "b": 1.5}}
	changed := func(change func(c *Command)) []Command {
		c := base
		change(&c)
		return []Command{c}
	}
	seen := map[uint64]int{}
	for i, commands := range [][]Command{
		nil,
		{base},
		{base, base},
		changed(func(c *Command) { c.ID = 2 }),
		changed(func(c *Command) { c.Phase = chargehand.Faulted }),
		changed(func(c *Command) { c.Output = map[string]any{"a": []any{1, "x", nil, true}, "b": 1.25} }),
		changed(func(c *Command) { c.Output = map[string]any{"b": []any{1, "x", nil, true}, "a": 1.5} }),
		changed(func(c *Command) { c.Output = []any{1} }),
		changed(func(c *Command) { c.Output = []any{1.0} }),
		changed(func(c *Command) { c.Output = []any{new(big.Int).Lsh(big.NewInt(1), 70)} }),
		changed(func(c *Command) { c.Output = []any{new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 70))} }),
		changed(func(c *Command) { c.Output = []any{"1"} }),
		changed(func(c *Command) { c.Output = []any{"", "1"} }),
		changed(func(c *Command) { c.Output = []any{false} }),
		changed(func(c *Command) { c.Fault = &Fault{Type: ErrRuntime} }),
		changed(func(c *Command) { c.Fault = &Fault{Type: ErrRuntime, Status: 1} }),
		changed(func(c *Command) { c.Fault = &Fault{Type: ErrRuntime, Detail: "x"} }),
		changed(func(c *Command) { c.Fault = &Fault{Type: ErrRuntime, Instance: "x"} }),
		changed(func(c *Command) { c.Files = []File{{ID: "a"}} }),
		{{Kind: StartTimer, ID: 1, DueMs: 1}}, {{Kind: StartTimer, ID: 1, DueMs: 2}}, {{Kind: StopTimer, ID: 1}}, {{Kind: StopActivity, ID: 1}},
		{{Kind: RunActivity, ID: 1}}, {{Kind: RunActivity, ID: 1, Activity: "http"}}, {{Kind: RunActivity, ID: 1, Args: 1}},
		{{Kind: RunActivity, ID: 1, Reference: "/x"}}, {{Kind: RunActivity, ID: 1, Iteration: 1}},
		{{Kind: RunActivity, ID: 1, Attempt: 1}}, {{Kind: RunActivity, ID: 1, Key: "k"}}, {{Kind: Publish, ID: 1, Args: 1}},
	} {
		d := Digest(commands)
		if other, ok := seen[d]; ok {
			t.Errorf("lists %d and %d have the same digest", other, i)
		}
		seen[d] = i
	}
	// The number is stored beside journal rows: it must never change within a revision.
	if got := Digest([]Command{base}); got != 0x9dd07143d3c9e0eb {
		t.Errorf("the digest of the sample is %#x", got)
	}
}
