package machine

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

var update = flag.Bool("update", false, "rewrite the golden files from what the machine does")

// A golden file is an archive of sections, each after a line "-- name --":
//
//	workflow   the definition
//	input      the input as JSON; without it {}
//	events     one event per line: what, +milliseconds since the event before, and
//	             start | continue | fire ID | interrupt ID | cancel [reason]
//	             position REFERENCE JSON (input and context)
//	             suspend [ID of an activity that has not begun]… | resume
//	             event ID NUMBER JSON | progress ID NUMBER JSON
//	             end ID [JSON] | fail ID JSON | file ID NAME
//	             child ID JSON | childfail ID JSON
//	             answer ID JSON (the output of a human task)
//	trace      what the machine answered, and the timeline at the end
//
// Lines of events that begin with # are comments. Every event is named by its line in the
// trace; commands follow it.
type golden struct {
	path     string
	comment  string
	sections []section
}

type section struct{ name, text string }

func readGolden(t *testing.T, path string) *golden {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{path: path}
	text := &g.comment
	for line := range strings.Lines(string(data)) {
		trimmed := strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(trimmed, "-- "); ok && strings.HasSuffix(name, " --") {
			g.sections = append(g.sections, section{name: strings.TrimSuffix(name, " --")})
			text = &g.sections[len(g.sections)-1].text
			continue
		}
		*text += line
	}
	return g
}

func (g *golden) get(name string) string {
	for _, s := range g.sections {
		if s.name == name {
			return s.text
		}
	}
	return ""
}

func (g *golden) put(name, text string) {
	for i := range g.sections {
		if g.sections[i].name == name {
			g.sections[i].text = text
			return
		}
	}
	g.sections = append(g.sections, section{name, text})
}

func (g *golden) write(t *testing.T) {
	t.Helper()
	var b strings.Builder
	b.WriteString(g.comment)
	for _, s := range g.sections {
		fmt.Fprintf(&b, "-- %s --\n%s", s.name, s.text)
	}
	if err := os.WriteFile(g.path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// compilePlan compiles a definition that must be free of errors.
func compilePlan(t testing.TB, definition string) *plan.Plan {
	t.Helper()
	doc, problems := dsl.Parse([]byte(definition))
	if problems.HasErrors() {
		t.Fatalf("definition: %v", problems.Err())
	}
	p, problems := plan.Compile(doc, plan.Options{Run: []string{"shell", "script", "container"}, Resources: testResources})
	if p == nil {
		t.Fatalf("definition: %v", problems.Err())
	}
	return p
}

// testResources are the external resources of golden files.
var testResources = map[string][]byte{
	"https://e.org/greet.yaml": []byte(`
do:
  - one: {set: '${ {who: .name, context: $context, ref: $task.reference, task: $task.name} }', export: {as: '{inner: 1}'}}
  - two: {emit: {event: {with: {type: greeted, data: '${ $context }'}}}, if: .who != "no one"}
  - three: {emit: {event: {with: {type: greeted}}}, output: {as: '{id, before: $input.id}'}}
  - four: {call: 'https://e.org/get.yaml', with: {path: '${ .id }'}}
`),
	"https://e.org/get.yaml": []byte("call: http\nwith: {method: get, endpoint: 'https://a.example/{path}'}\nexport: {as: '{lost: true}'}\n"),
	"https://e.org/end.yaml": []byte(`
do:
  - own: {set: '${ . }', export: {as: '{inner: 1}'}}
  - split: {fork: {branches: [{last: {do: [{in: {set: '${ {seen: $context} }', export: {as: '{innermost: 1}'}, then: end}}]}}, {lost: {wait: PT1S}}]}}
`),
	"https://e.org/fail.yaml": []byte("fork: {branches: [{a: {wait: PT1S}}, {b: {try: [{c: {raise: {error: {type: 'x:y', status: 409}}}}], catch: {errors: {with: {status: 500}}}}}]}\n"),
}

// testIdentity is the same execution every time.
func testIdentity(t testing.TB) Identity {
	t.Helper()
	id, err := chargehand.ParseID[executionKind]("01980000-0000-7000-8000-000000000001")
	if err != nil {
		t.Fatal(err)
	}
	return Identity{Execution: chargehand.ExecutionID(id), RuntimeVersion: "1.2.3", RuntimeMetadata: map[string]any{"zone": "test"},
		Secrets: map[string]value.Value{"key": "k-123", "login": map[string]any{"username": "ada", "password": "pw"}, "spare": "unused"}}
}

type executionKind struct{}

func parseJSON(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(text), value.Limits{Depth: value.MaxDepth})
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// scriptEpoch is the time of the first event of every script: 2026-01-31T12:00:00Z.
const scriptEpoch = 1769860800000

// scriptEvents reads the events of a golden file.
func scriptEvents(t *testing.T, g *golden) (lines []string, events []Event) {
	t.Helper()
	now := int64(scriptEpoch)
	for line := range strings.Lines(g.get("events")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		lines = append(lines, line)
		ev, after := scriptEvent(t, g, line)
		now += after
		ev.TimeMs = now
		events = append(events, ev)
	}
	return lines, events
}

func scriptEvent(t *testing.T, g *golden, line string) (Event, int64) {
	t.Helper()
	what, rest, _ := strings.Cut(line, " ")
	after := int64(0)
	if strings.HasPrefix(rest, "+") {
		var number string
		number, rest, _ = strings.Cut(rest[1:], " ")
		ms, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		after = ms
	}
	command := func() CommandID {
		var number string
		number, rest, _ = strings.Cut(rest, " ")
		id, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return CommandID(id)
	}
	ev := Event{}
	switch what {
	case "start":
		ev.Kind, ev.Output = Started, map[string]any{}
		if input := g.get("input"); input != "" {
			ev.Output = parseJSON(t, input)
		}
	case "position":
		reference, data, _ := strings.Cut(rest, " ")
		ev.Kind, ev.Detail, ev.Output = Positioned, reference, parseJSON(t, data)
	case "continue":
		ev.Kind = Continued
	case "end":
		ev.Kind, ev.Command = ActivityEnded, command()
		if rest != "" {
			ev.Output = parseJSON(t, rest)
		}
	case "file":
		ev.Kind, ev.Command = ActivityEnded, command()
		ev.Files = []File{{ID: "id-of-" + rest, Name: rest, MediaType: "text/plain", Size: 3, Digest: "sha256:00"}}
		ev.Output = rest
	case "fail":
		ev.Kind, ev.Command = ActivityEnded, command()
		f := parseJSON(t, rest).(map[string]any)
		ev.Fault = &Fault{Type: ErrorBase + f["type"].(string), Status: f["status"].(int)}
		ev.Fault.Detail, _ = f["detail"].(string)
		ev.Fault.NoResponse, _ = f["noResponse"].(bool)
	case "fire":
		ev.Kind, ev.Command = TimerFired, command()
	case "child":
		ev.Kind, ev.Command = ChildEnded, command()
		ev.Output = parseJSON(t, rest)
	case "answer":
		ev.Kind, ev.Command = TaskAnswered, command()
		ev.Output = parseJSON(t, rest)
	case "childfail":
		ev.Kind, ev.Command = ChildEnded, command()
		f := parseJSON(t, rest).(map[string]any)
		ev.Fault = &Fault{Type: ErrorBase + f["type"].(string), Status: f["status"].(int)}
		ev.Fault.Detail, _ = f["detail"].(string)
		ev.Fault.Instance, _ = f["instance"].(string)
		ev.Fault.Code, _ = f["code"].(string)
	case "event", "progress":
		ev.Kind, ev.Command = EventReceived, command()
		if what == "progress" {
			ev.Kind = Progressed
		}
		ev.Number = int64(command())
		ev.Output = parseJSON(t, rest)
	case "interrupt":
		ev.Kind, ev.Command = Interrupted, command()
	case "suspend":
		ev.Kind = SuspendRequested
		var ids []CommandID
		for rest != "" {
			ids = append(ids, command())
		}
		if ids != nil {
			ev.Output = NotBegun(ids)
		}
	case "resume":
		ev.Kind = ResumeRequested
	case "cancel":
		ev.Kind, ev.Detail = CancelRequested, rest
	default:
		t.Fatalf("unknown event %q", line)
	}
	return ev, after
}

// commandText is one command as a line of a trace.
func commandText(c Command) string {
	switch c.Kind {
	case RunActivity:
		line := fmt.Sprintf("%d run %s %s", c.ID, c.Activity, c.Reference)
		if c.Iteration != 0 {
			line += fmt.Sprintf(" iteration %d", c.Iteration)
		}
		if c.Attempt != 1 {
			line += fmt.Sprintf(" attempt %d", c.Attempt)
		}
		if c.Detached {
			line += " detached"
		}
		if c.Stream {
			line += " stream"
		}
		if c.Metadata["showKey"] == true {
			line += " key " + c.Key[:6]
		}
		return line + " " + string(value.Marshal(c.Args))
	case StopActivity:
		return fmt.Sprintf("stop activity %d", c.ID)
	case StartTimer:
		return fmt.Sprintf("%d timer +%d", c.ID, c.DueMs-scriptEpoch)
	case StopTimer:
		return fmt.Sprintf("stop timer %d", c.ID)
	case Publish:
		return fmt.Sprintf("%d publish %s %s", c.ID, c.Reference, value.Marshal(c.Args))
	case StartChild:
		text := fmt.Sprintf("%d child %s %s/%s %s", c.ID, c.Child.ID, c.Child.Namespace, c.Child.Name, c.Child.Version)
		if !c.Child.Await {
			text += " detached"
		}
		return text + " " + string(value.Marshal(c.Child.Input))
	case OpenTask:
		text := fmt.Sprintf("%d open task %s %s", c.ID, c.Task, c.Reference)
		if len(c.Iterations) > 0 {
			text += fmt.Sprintf(" iterations %v", c.Iterations)
		}
		return text + " " + string(value.Marshal(c.Args))
	case WithdrawTask:
		return fmt.Sprintf("withdraw task %d: %s", c.ID, c.Why)
	case StopChild:
		return fmt.Sprintf("stop child %d", c.ID)
	case Subscribe:
		text := fmt.Sprintf("%d subscribe since +%d", c.ID, c.SinceMs-scriptEpoch)
		for _, f := range c.Filters {
			text += fmt.Sprintf(" [%s]", f.Type)
			if f.Path != "" {
				text += fmt.Sprintf(" %s = %x", f.Path, f.Key[:4])
			}
		}
		return text
	case Unsubscribe:
		return fmt.Sprintf("unsubscribe %d", c.ID)
	case Yield:
		return fmt.Sprintf("%d yield", c.ID)
	case Finish:
		text := fmt.Sprintf("%d finish %s", c.ID, c.Phase)
		if c.Phase == chargehand.Completed {
			text += " " + string(value.Marshal(c.Output))
		}
		if c.Fault != nil {
			text += " " + faultText(c.Fault)
		}
		for _, f := range c.Files {
			text += " file " + f.Name
		}
		return text
	}
	return "unknown command"
}

func faultText(f *Fault) string {
	text := string(value.Marshal(f.Value()))
	if f.Code != "" {
		text += " code " + f.Code
	}
	return text
}

// entryText is one timeline entry as a line of a trace.
func entryText(e Entry) string {
	text := fmt.Sprintf("%d %s %s", e.Seq, e.Reference, e.Phase)
	if e.Parent != 0 {
		text += fmt.Sprintf(" parent %d", e.Parent)
	}
	if len(e.Iterations) > 0 {
		text += fmt.Sprintf(" iterations %d", e.Iterations)
	}
	if e.Attempt != 1 {
		text += fmt.Sprintf(" attempt %d", e.Attempt)
	}
	text += fmt.Sprintf(" +%d", e.StartedMs-scriptEpoch)
	if e.EndedMs != 0 {
		text += fmt.Sprintf("..%d", e.EndedMs-scriptEpoch)
	}
	text += " in " + string(value.Marshal(e.Input))
	if e.Output != nil {
		text += " out " + string(value.Marshal(e.Output))
	}
	if e.Fault != nil {
		text += " fault " + faultText(e.Fault)
	}
	for _, f := range e.Files {
		text += " file " + f.Name
	}
	if e.Child != (chargehand.ExecutionID{}) {
		text += " child " + e.Child.String()
	}
	if w := e.Wait; w != nil {
		text += " waits for " + w.Kind.String()
		if w.UntilMs != 0 {
			text += fmt.Sprintf(" until +%d", w.UntilMs-scriptEpoch)
		}
		if len(w.Types) > 0 {
			text += " " + strings.Join(w.Types, ", ")
		}
	}
	return text
}

// play applies events and writes the trace. before is called before each event and may
// exchange the machine.
func play(m *Machine, lines []string, events []Event, before func(i int, m *Machine) *Machine) string {
	var b strings.Builder
	for i, ev := range events {
		m = before(i, m)
		fmt.Fprintf(&b, "> %s\n", lines[i])
		for _, c := range m.Apply(ev) {
			fmt.Fprintf(&b, "%s\n", commandText(c))
		}
		fmt.Fprintf(&b, "  %s%s\n", m.Phase(), loadText(m.Load(), m.NeedsPerson()))
	}
	b.WriteString("timeline\n")
	for _, e := range m.Timeline() {
		fmt.Fprintf(&b, "%s\n", entryText(e))
	}
	return b.String()
}

func loadText(l Load, person bool) string {
	var text string
	for _, part := range []struct {
		n    int
		name string
	}{{l.Activities, "activities"}, {l.Retries, "retries"}, {l.Waits, "waits"}, {l.Children, "children"}, {l.Tasks, "tasks"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.name)
		}
	}
	if l.Yielded {
		text += ", yielded"
	}
	if person {
		text += ", needs a person"
	}
	if l.HoldsSlot() {
		text += ", slot"
	}
	return text
}

func goldenFiles(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	return paths
}

func eachGolden(t *testing.T, check func(t *testing.T, g *golden, p *plan.Plan, lines []string, events []Event)) {
	for _, path := range goldenFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			g := readGolden(t, path)
			p := compilePlan(t, g.get("workflow"))
			lines, events := scriptEvents(t, g)
			check(t, g, p, lines, events)
		})
	}
}

func TestGoldenTraces(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden, p *plan.Plan, lines []string, events []Event) {
		got := play(New(p, testIdentity(t)), lines, events, func(_ int, m *Machine) *Machine { return m })
		if *update {
			g.put("trace", got)
			g.write(t)
			return
		}
		if want := g.get("trace"); got != want {
			t.Errorf("trace differs; run with -update and read the difference\ngot:\n%s\nwant:\n%s", got, want)
		}
	})
}

// A machine that is restored from a checkpoint before any event continues exactly like the
// one that wrote it.
func TestGoldenTracesAcrossCheckpoints(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden, p *plan.Plan, lines []string, events []Event) {
		want := g.get("trace")
		restore := func(m *Machine) *Machine {
			state := m.Checkpoint()
			restored, err := Restore(p, testIdentity(t), state)
			if err != nil {
				t.Fatalf("%v\n%s", err, state)
			}
			if again := restored.Checkpoint(); !bytes.Equal(again, state) {
				t.Fatalf("checkpoint of the restored machine differs\ngot  %s\nwant %s", again, state)
			}
			return restored
		}
		for at := range events {
			got := play(New(p, testIdentity(t)), lines, events, func(i int, m *Machine) *Machine {
				if i == at {
					return restore(m)
				}
				return m
			})
			if got != want {
				t.Fatalf("trace differs with a checkpoint before event %d\ngot:\n%s\nwant:\n%s", at, got, want)
			}
		}
		got := play(New(p, testIdentity(t)), lines, events, func(_ int, m *Machine) *Machine { return restore(m) })
		if got != want {
			t.Fatalf("trace differs with a checkpoint before every event\ngot:\n%s\nwant:\n%s", got, want)
		}
	})
}

// A replay of the journal gives the same digests, which a changed event does not.
func TestGoldenReplay(t *testing.T) {
	eachGolden(t, func(t *testing.T, _ *golden, p *plan.Plan, _ []string, events []Event) {
		var journal [][]byte
		var digests []uint64
		m := New(p, testIdentity(t))
		for _, ev := range events {
			journal = append(journal, AppendEvent(nil, ev))
			digests = append(digests, Digest(m.Apply(ev)))
		}
		again := New(p, testIdentity(t))
		for i, row := range journal {
			ev, err := DecodeEvent(row)
			if err != nil {
				t.Fatal(err)
			}
			if got := Digest(again.Apply(ev)); got != digests[i] {
				t.Fatalf("digest of event %d is %x on replay, was %x", i, got, digests[i])
			}
		}
	})
}

// Timelines survive their stored form, taken whole or in pieces.
func TestGoldenTimelineCodec(t *testing.T) {
	eachGolden(t, func(t *testing.T, _ *golden, p *plan.Plan, _ []string, events []Event) {
		m := New(p, testIdentity(t))
		var chunks [][]Record
		var tally Tally
		var last []Record
		for _, ev := range events {
			m.Apply(ev)
			entries := m.TakeTimeline()
			chunk, before, err := DecodeTimeline(p, EncodeTimeline(nil, entries, m.Tally(), events[0].Output), 1)
			if err != nil {
				t.Fatal(err)
			}
			if chunks = append(chunks, chunk); len(chunk) > 0 {
				tally, last = before, chunk
			}
			if !m.Done() {
				restored, err := Restore(p, testIdentity(t), m.Checkpoint())
				if err != nil {
					t.Fatal(err)
				}
				if got, want := restored.Tally(), m.Tally(); !reflect.DeepEqual(got.Tasks(), want.Tasks()) {
					t.Fatalf("the restored tally is %+v, want %+v", got.Tasks(), want.Tasks())
				}
			}
		}
		merged, truncated := MergeTimeline(chunks...)
		if truncated {
			t.Error("the timeline is truncated")
		}
		whole := New(p, testIdentity(t))
		for _, ev := range events {
			whole.Apply(ev)
		}
		want := whole.TakeTimeline()
		// What was taken before, or is still open, and what came with the end is everything.
		var none Tally
		all := RecordsOf(want)
		if m.Done() {
			if got, want := tally.Count(last), none.Count(all); !reflect.DeepEqual(got.Tasks(), want.Tasks()) {
				t.Errorf("tally from chunks %+v, want %+v", got.Tasks(), want.Tasks())
			}
		}
		if got, want := entriesText(valued(t, merged, events[0].Output)), entriesText(want); got != want {
			t.Errorf("timeline from chunks\ngot:\n%s\nwant:\n%s", got, want)
		}
		stored, _, err := DecodeTimeline(p, EncodeTimeline(nil, want, none), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := entriesText(valued(t, stored)), entriesText(want); got != want {
			t.Errorf("timeline from one chunk\ngot:\n%s\nwant:\n%s", got, want)
		}
	})
}

// valued makes entries of records: input and output are read.
func valued(t testing.TB, records []Record, known ...value.Value) []Entry {
	t.Helper()
	entries := make([]Entry, len(records))
	for i := range records {
		input, output := records[i].Values(known...)
		entries[i] = records[i].Entry
		var err, bad error
		entries[i].Input, err = value.Parse(input, storedLimits)
		entries[i].Output, bad = value.Parse(output, storedLimits)
		data, worse := records[i].TaskData(known...)
		if err != nil || bad != nil || worse != nil {
			t.Fatalf("values of entry %d: %v, %v, %v", i, err, bad, worse)
		}
		entries[i].Data = data
	}
	return entries
}

func entriesText(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s", entryText(e))
		if d := e.Data; d != nil {
			fmt.Fprintf(&b, " began with %s and %s, lost %v", value.Marshal(d.Input), value.Marshal(d.Context), d.Lost)
		}
		b.WriteString("\n")
	}
	return b.String()
}
