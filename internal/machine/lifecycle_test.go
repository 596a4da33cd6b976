package machine

import (
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/value"
)

// lifecycleEvents lists what the published lifecycle events say: type without prefix, and data without
// the name of the execution.
func lifecycleEvents(t *testing.T, commands []Command) (list []string) {
	t.Helper()
	ids := map[any]bool{}
	for i := range commands {
		c := &commands[i]
		event, _ := c.Args.(map[string]any)
		kind, ours := strings.CutPrefix(textOf(event["type"]), "org.example.")
		if c.Kind != Publish || !ours {
			continue
		}
		kind, versioned := strings.CutSuffix(kind, ".v1")
		id := event["id"]
		data := event["data"].(map[string]any)
		const name = "trace-01980000-0000-7000-8000-000000000001.test"
		if !versioned || ids[id] || event["specversion"] != "1.0" || event["source"] != "/test/trace/1.0.0" || event["subject"] != name {
			t.Errorf("envelope %s", value.Marshal(event))
		}
		ids[id] = true
		shown := map[string]any{}
		for key, value := range data {
			switch {
			case key == "name" || key == "workflow":
				if value != name {
					t.Errorf("%s is %v", key, value)
				}
			case strings.HasSuffix(key, "At"):
				if value != event["time"] {
					t.Errorf("%s is %v, the time %v", key, value, event["time"])
				}
				shown[key] = true
			default:
				shown[key] = value
			}
		}
		list = append(list, kind+" "+string(value.Marshal(shown)))
	}
	return list
}

const lifecycleDefinition = `document: {dsl: 1.0.3, namespace: test, name: trace, version: 1.0.0}
do:
  - quick: {set: {a: 1}}
  - skipped: {if: 'false', set: {a: 2}}
  - again:
      try:
        - bad: {raise: {error: {type: 'x:y', status: 409, title: T}}}
      catch: {retry: {delay: PT1S, limit: {attempt: {count: 1}}}, do: [{handled: {set: {b: 1}}}]}
  - event: {listen: {to: {one: {with: {type: order}, correlate: {order: {from: .data.order}}}}}}
`

// TestLifecycleEvents follows an execution to its end (docs/language/events.md).
func TestLifecycleEvents(t *testing.T) {
	p := compilePlan(t, lifecycleDefinition)
	follow := func(l *Lifecycle, restore bool) []Command {
		m := New(p, testIdentity(t))
		var all []Command
		apply := func(ev Event) []Command {
			if restore && !m.Done() && ev.Kind != Started {
				restored, err := Restore(p, testIdentity(t), m.Checkpoint())
				if err != nil {
					t.Fatal(err)
				}
				m = restored
			}
			stored, err := DecodeEvent(AppendEvent(nil, ev))
			if err != nil {
				t.Fatal(err)
			}
			commands := m.Apply(stored)
			all = append(all, commands...)
			return commands
		}
		last := func(kind CommandKind, commands []Command) Command {
			at := slices.IndexFunc(commands, func(c Command) bool { return c.Kind == kind })
			if at < 0 {
				t.Fatalf("no command of kind %d in %v", kind, commands)
			}
			return commands[at]
		}
		timer := last(StartTimer, apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}, Lifecycle: l}))
		listen := last(Subscribe, apply(Event{Kind: TimerFired, TimeMs: timer.DueMs, Command: timer.ID}))
		order := map[string]any{"type": "order", "data": map[string]any{"order": 7}}
		last(Finish, apply(Event{Kind: EventReceived, TimeMs: timer.DueMs + 5, Command: listen.ID, Number: 1, Output: order}))
		if all[len(all)-1].Kind != Finish {
			t.Error("Finish is not the last command")
		}
		return all
	}
	const uri = "https://flows.example/api/v1/executions/01980000-0000-7000-8000-000000000001"
	entry := func(cursor string) string { return `"outputUri":"` + uri + `/timeline?limit=1&cursor=` + cursor + `"` }
	const fault = `"error":{"instance":"/do/2/again/try/0/bad","status":409,"title":"T","type":"x:y"}`
	task := func(kind, stamp, pointer, more string) string {
		fields := []string{`"` + stamp + `":true`, `"task":"` + pointer + `"`}
		if more != "" {
			fields = append(fields, more)
		}
		slices.Sort(fields)
		return "task." + kind + " {" + strings.Join(fields, ",") + "}"
	}
	bad := []string{
		task("created", "createdAt", "/do/2/again/try/0/bad", ""), task("started", "startedAt", "/do/2/again/try/0/bad", ""),
		task("faulted", "faultedAt", "/do/2/again/try/0/bad", fault),
	}
	want := slices.Concat([]string{
		`workflow.started {"definition":{"name":"trace","namespace":"test","version":"1.0.0"},"startedAt":true}`,
		task("created", "createdAt", "/do/0/quick", ""), task("started", "startedAt", "/do/0/quick", ""),
		task("completed", "completedAt", "/do/0/quick", entry("0")),
		task("created", "createdAt", "/do/2/again", ""), task("started", "startedAt", "/do/2/again", ""),
	}, bad, []string{task("retried", "retriedAt", "/do/2/again", "")}, bad, []string{
		task("created", "createdAt", "/do/2/again/catch/do/0/handled", ""), task("started", "startedAt", "/do/2/again/catch/do/0/handled", ""),
		task("completed", "completedAt", "/do/2/again/catch/do/0/handled", entry("4")),
		task("completed", "completedAt", "/do/2/again", entry("1")),
		task("created", "createdAt", "/do/3/event", ""), task("started", "startedAt", "/do/3/event", ""),
		`workflow.correlation-started {"startedAt":true}`,
		`workflow.correlation-completed {"completedAt":true,"correlationKeys":{"order":7}}`,
		task("completed", "completedAt", "/do/3/event", entry("5")),
		`workflow.completed {"completedAt":true,"outputUri":"` + uri + `"}`,
	})
	tasks := &Lifecycle{Tasks: true, Prefix: "org.example", Base: "https://flows.example"}
	for _, restore := range []bool{false, true} {
		got := lifecycleEvents(t, follow(tasks, restore))
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("restored %t, event %d:\ngot  %q\nwant %q", restore, i, got[min(i, len(got)):], want[min(i, len(want)):])
			}
		}
	}
	want = slices.DeleteFunc(want, func(s string) bool { return strings.HasPrefix(s, "task.") })
	if got := lifecycleEvents(t, follow(&Lifecycle{Prefix: "org.example", Base: "https://flows.example"}, true)); !slices.Equal(got, want) {
		t.Errorf("without tasks: %q", got)
	}
	if got := lifecycleEvents(t, follow(nil, false)); len(got) > 0 {
		t.Errorf("told although it is off: %q", got)
	}
	if first, again := follow(tasks, false), follow(tasks, true); Digest(first) != Digest(again) {
		t.Error("a replay publishes other events")
	}
}

// TestLifecycleOfEnds: what else may end an execution and its tasks.
func TestLifecycleOfEnds(t *testing.T) {
	started := Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}, Lifecycle: &Lifecycle{Tasks: true, Prefix: "org.example"}}
	waits := "document: {dsl: 1.0.3, namespace: test, name: trace, version: 1.0.0}\ndo: [{w: {wait: PT1S}}]"
	m := New(compilePlan(t, waits), testIdentity(t))
	m.Apply(started)
	got := lifecycleEvents(t, m.Apply(Event{Kind: CancelRequested, TimeMs: scriptEpoch + 1, Detail: "enough"}))
	if want := []string{`task.cancelled {"cancelledAt":true,"task":"/do/0/w"}`, `workflow.cancelled {"cancelledAt":true}`}; !slices.Equal(got, want) {
		t.Errorf("cancelled: %q", got)
	}
	raises := strings.Replace(waits, "wait: PT1S", "raise: {error: {type: 'x:y', status: 409}}", 1)
	got = lifecycleEvents(t, New(compilePlan(t, raises), testIdentity(t)).Apply(started))
	const fault = `"error":{"instance":"/do/0/w","status":409,"type":"x:y"},"faultedAt":true`
	if want := []string{`task.faulted {` + fault + `,"task":"/do/0/w"}`, `workflow.faulted {` + fault + `}`}; len(got) != 5 || !slices.Equal(got[3:], want) {
		t.Errorf("faulted: %q", got)
	}
	completes := strings.Replace(waits, "wait: PT1S", "set: {a: 1}", 1)
	got = lifecycleEvents(t, New(compilePlan(t, completes), testIdentity(t)).Apply(started))
	if last := got[len(got)-1]; !strings.Contains(last, `"outputUri":"/api/v1/executions/`) {
		t.Errorf("without a base links are relative: %s", last)
	}
}

// TestCancelledInstead: what a cancellation makes of the event about another end keeps who tells it.
func TestCancelledInstead(t *testing.T) {
	ended := map[string]any{
		"id": "1", "type": "org.example.v1.workflow.faulted.v1", "time": "2026-01-01T00:00:00.000Z",
		"data": map[string]any{"name": "n", "faultedAt": "2026-01-01T00:00:00.000Z", "error": "e"},
	}
	const at = "2026-01-02T00:00:00.000Z"
	want := map[string]any{
		"id": "1", "type": "org.example.v1.workflow.cancelled.v1", "time": at,
		"data": map[string]any{"name": "n", "cancelledAt": at},
	}
	if got := CancelledInstead(ended, 1767312000000); !value.Equal(got, want) || ended["time"] == at {
		t.Errorf("%s of %s", value.Marshal(got), value.Marshal(ended))
	}
}
