package machine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

// randomDefinition draws a workflow of every kind of task, nested a few levels.
func randomDefinition(t *rapid.T) string {
	g := &definitionMaker{t: t}
	definition := map[string]any{
		"document": map[string]any{"dsl": "1.0.3", "namespace": "test", "name": "random", "version": "1.0.0"},
		"use": map[string]any{"functions": map[string]any{
			"leaf":  g.leaf(),
			"group": map[string]any{"do": g.list(1)},
		}},
	}
	if g.chance(2) {
		definition["use"].(map[string]any)["extensions"] = g.extensions()
	}
	g.functions = true
	definition["do"] = g.list(3)
	if g.chance(5) {
		definition["timeout"] = map[string]any{"after": "PT20S"}
	}
	return string(value.Marshal(definition))
}

type definitionMaker struct {
	t         *rapid.T
	names     int
	functions bool // may be called
}

func (g *definitionMaker) number(n int) int  { return rapid.IntRange(0, n-1).Draw(g.t, "n") }
func (g *definitionMaker) chance(n int) bool { return g.number(n) == 0 }

func (g *definitionMaker) list(depth int) []any {
	count := 1 + g.number(3)
	var names []string
	for range count {
		g.names++
		names = append(names, fmt.Sprintf("t%d", g.names))
	}
	var list []any
	for i, name := range names {
		task := g.task(depth)
		if g.chance(6) {
			task["if"] = []string{".go != true", "$context.k == null", "false"}[g.number(3)]
		}
		if g.chance(5) {
			task["then"] = []string{"exit", "end", "continue", names[g.number(count)]}[g.number(4)]
		}
		if g.chance(4) {
			task["export"] = map[string]any{"as": fmt.Sprintf("$context + {k%d: %d}", g.number(3), i)}
		}
		if g.chance(5) {
			task["output"] = map[string]any{"as": "{v: 1}"}
		}
		if g.chance(5) {
			task["timeout"] = map[string]any{"after": "PT3S"}
		}
		list = append(list, map[string]any{name: task})
	}
	return list
}

// extensions draws extensions of all kinds of tasks.
func (g *definitionMaker) extensions() []any {
	var list []any
	for i := range 1 + g.number(2) {
		kinds := []string{"all", "composite", "call", "for", "try", "set", "switch", "run", "wait", "emit"}
		extension := map[string]any{"extend": kinds[g.number(len(kinds))]}
		if g.chance(2) {
			extension["before"] = g.list(1)
		}
		if g.chance(2) {
			extension["after"] = g.list(1)
		}
		if g.chance(3) {
			extension["when"] = []string{"$context.k1 == null", ".go != true", "$task.name != \"t5\""}[g.number(3)]
		}
		list = append(list, map[string]any{fmt.Sprintf("e%d", i): extension})
	}
	return list
}

// branches is a list without jumps, which a fork does not have.
func (g *definitionMaker) branches(depth int) []any {
	list := g.list(depth)
	for _, item := range list {
		for _, task := range item.(map[string]any) {
			task := task.(map[string]any)
			switch task["then"] {
			case "exit", "end", "continue":
			default:
				delete(task, "then")
			}
		}
	}
	return list
}

func (g *definitionMaker) task(depth int) map[string]any {
	if depth == 0 {
		return g.leaf()
	}
	switch g.number(9) {
	case 0:
		return map[string]any{"do": g.list(depth - 1)}
	case 1:
		task := map[string]any{"for": map[string]any{"in": "[1, 2, 3]"}, "do": g.list(depth - 1)}
		if g.chance(3) {
			task["while"] = "$index < 2"
		}
		return task
	case 2, 3:
		return map[string]any{"fork": map[string]any{"branches": g.branches(depth - 1), "compete": g.chance(2)}}
	case 4, 5:
		return map[string]any{"try": g.list(depth - 1), "catch": g.catch(depth)}
	case 6:
		if g.functions {
			return map[string]any{"call": []string{"leaf", "group", "https://e.org/greet.yaml", "https://e.org/fail.yaml"}[g.number(4)]}
		}
	case 7:
		return map[string]any{"switch": []any{
			map[string]any{"some": map[string]any{"when": "$context.k0 != null", "then": "exit"}},
			map[string]any{"other": map[string]any{"then": "continue"}},
		}}
	}
	return g.leaf()
}

func (g *definitionMaker) leaf() map[string]any {
	switch g.number(9) {
	case 7:
		return map[string]any{"run": map[string]any{"await": g.chance(2), "workflow": map[string]any{"namespace": "n", "name": "w"}}}
	case 8:
		return map[string]any{"run": map[string]any{"await": false, "shell": map[string]any{"command": "x"}}, "metadata": map[string]any{"m": 1}}
	case 0:
		return map[string]any{"set": map[string]any{"a": "${ .b }", "b": g.number(3)}}
	case 1, 2, 3:
		task := map[string]any{"call": "http", "with": map[string]any{"method": "get", "endpoint": "https://example.org/"}}
		if g.chance(4) {
			task["metadata"] = map[string]any{"onInterrupted": "fault"}
		}
		return task
	case 4:
		return map[string]any{"wait": fmt.Sprintf("PT%dS", g.number(3))}
	case 5:
		return map[string]any{"raise": map[string]any{"error": map[string]any{"type": "https://example.org/x", "status": 400 + g.number(2)}}}
	default:
		return map[string]any{"emit": map[string]any{"event": map[string]any{"with": map[string]any{"type": "x", "data": "${ .a }"}}}}
	}
}

func (g *definitionMaker) catch(depth int) map[string]any {
	catch := map[string]any{}
	if g.chance(3) {
		catch["errors"] = map[string]any{"with": map[string]any{"status": 400}}
	}
	if g.chance(2) {
		catch["do"] = g.list(depth - 1)
	}
	if g.chance(2) {
		retry := map[string]any{"limit": map[string]any{"attempt": map[string]any{"count": 1 + g.number(2)}}}
		if g.chance(2) {
			retry["delay"] = "PT1S"
			retry["jitter"] = map[string]any{"from": "PT0S", "to": "PT1S"}
		}
		if g.chance(3) {
			retry["limit"].(map[string]any)["duration"] = "PT8S"
			retry["limit"].(map[string]any)["attempt"].(map[string]any)["duration"] = "PT2S"
		}
		catch["retry"] = retry
	}
	if g.chance(4) {
		catch["then"] = "exit"
	}
	return catch
}

// fixture plays the outside world of a machine and checks that commands make sense.
type fixture struct {
	t       *rapid.T
	open    map[CommandID]Command // without an outcome
	resting map[CommandID]Command // activities that may be issued again at the resumption
	// suspended: nothing may be started.
	suspended bool
	lastID    CommandID
	yielded   bool
	finished  bool
}

func (w *fixture) take(commands []Command) {
	for i, c := range commands {
		switch c.Kind {
		case StopActivity, StopTimer, StopChild:
			was, ok := w.open[c.ID]
			started := map[CommandKind]CommandKind{StopActivity: RunActivity, StopTimer: StartTimer, StopChild: StartChild}
			if !ok || started[c.Kind] != was.Kind {
				w.t.Fatalf("%s withdraws nothing", commandText(c))
			}
			delete(w.open, c.ID)
			continue
		case RunActivity:
			if again, ok := w.resting[c.ID]; ok {
				delete(w.resting, c.ID)
				w.open[c.ID] = again
			}
			if again, ok := w.open[c.ID]; ok {
				if again.Key != c.Key {
					w.t.Fatalf("the key of %d changed", c.ID)
				}
				continue
			}
		}
		if w.suspended && c.Kind != Finish {
			w.t.Fatalf("%s while suspended", commandText(c))
		}
		if c.ID <= w.lastID {
			w.t.Fatalf("%s: ids must grow", commandText(c))
		}
		w.lastID = c.ID
		switch c.Kind {
		case RunActivity, StartTimer:
			w.open[c.ID] = c
		case StartChild:
			if c.Child.Await {
				w.open[c.ID] = c
			}
		case Yield:
			w.yielded = true
		case Finish:
			w.finished = true
			for id, was := range w.open { // they keep running without the execution (T67)
				if was.Detached && c.Phase == chargehand.Completed {
					delete(w.open, id)
				}
			}
			if i != len(commands)-1 {
				w.t.Fatal("there are commands after Finish")
			}
			if len(w.open) != 0 {
				w.t.Fatalf("%d commands are open at the end", len(w.open))
			}
		}
	}
}

// next draws an event that may happen now.
func (w *fixture) next(now int64) Event {
	ids := make([]CommandID, 0, len(w.open))
	for id := range w.open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	now += int64(rapid.IntRange(0, 2000).Draw(w.t, "ms"))
	if w.yielded && (len(ids) == 0 || rapid.Bool().Draw(w.t, "continue")) {
		w.yielded = false
		return Event{Kind: Continued, TimeMs: now}
	}
	if rapid.IntRange(0, 60).Draw(w.t, "cancel") == 0 {
		return Event{Kind: CancelRequested, TimeMs: now}
	}
	if rapid.IntRange(0, 10).Draw(w.t, "suspend") == 0 {
		return w.suspend(ids, now)
	}
	if w.suspended && (len(ids) == 0 || rapid.IntRange(0, 5).Draw(w.t, "resume") == 0) {
		w.suspended = false
		return Event{Kind: ResumeRequested, TimeMs: now}
	}
	c := w.open[rapid.SampledFrom(ids).Draw(w.t, "command")]
	if c.Kind == StartTimer {
		delete(w.open, c.ID)
		return Event{Kind: TimerFired, Command: c.ID, TimeMs: max(now, c.DueMs)}
	}
	if c.Kind == StartChild {
		delete(w.open, c.ID)
		ended := Event{Kind: ChildEnded, Command: c.ID, TimeMs: now, Output: int(c.ID)}
		if rapid.IntRange(0, 2).Draw(w.t, "child") == 0 {
			ended.Output, ended.Fault = nil, &Fault{Type: ErrRuntime, Status: 500, Instance: "/do/0/x"}
		}
		return ended
	}
	switch rapid.IntRange(0, 5).Draw(w.t, "outcome") {
	case 0:
		if w.suspended {
			delete(w.open, c.ID)
			w.resting[c.ID] = c
		}
		return Event{Kind: Interrupted, Command: c.ID, TimeMs: now}
	case 1, 2:
		delete(w.open, c.ID)
		return Event{Kind: ActivityEnded, Command: c.ID, TimeMs: now,
			Fault: &Fault{Type: ErrCommunication, Status: 500, Detail: "down"}}
	default:
		delete(w.open, c.ID)
		return Event{Kind: ActivityEnded, Command: c.ID, TimeMs: now,
			Output: map[string]any{"id": int(c.ID)}, Files: []File{{ID: fmt.Sprint(c.ID), Name: "f"}}}
	}
}

// suspend draws a suspension, which may be the second one, and the activities that have not begun.
func (w *fixture) suspend(ids []CommandID, now int64) Event {
	w.suspended, w.yielded = true, false
	var notBegun []CommandID
	for _, id := range ids {
		if c := w.open[id]; c.Kind == RunActivity && rapid.Bool().Draw(w.t, "begun") {
			delete(w.open, id)
			w.resting[id] = c
			notBegun = append(notBegun, id)
		}
	}
	return Event{Kind: SuspendRequested, TimeMs: now, Output: NotBegun(notBegun)}
}

// interruptedGone corrects the bookkeeping after an Interrupted event that faulted the
// activity: the machine does not withdraw what does not run.
func (w *fixture) interruptedGone(m *Machine, id CommandID) {
	if m.pending.find(id, isActivity) == nil {
		delete(w.open, id)
	}
}

// Whatever happens in whatever order, a machine ends, its commands add up, a restored one
// behaves the same, and so does a replay of its journal.
func TestRandomInterleavings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		definition := randomDefinition(rt)
		p := compilePlan(t, definition)
		p.Limits.PureSteps = 3000 // jumps back may repeat without end
		id := testIdentity(t)
		original, twin := New(p, id), New(p, id)
		w := &fixture{t: rt, open: map[CommandID]Command{}, resting: map[CommandID]Command{}}
		ev := Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{"go": true}}
		var journal [][]byte
		var digests []uint64
		for steps := 0; !w.finished; steps++ {
			if rapid.Bool().Draw(rt, "restore") {
				restored, err := Restore(p, id, twin.Checkpoint())
				if err != nil {
					rt.Fatalf("%v\n%s\n%s", err, definition, twin.Checkpoint())
				}
				twin = restored
			}
			journal = append(journal, AppendEvent(nil, ev))
			commands := original.Apply(ev)
			digests = append(digests, Digest(commands))
			if got := twin.Apply(ev); Digest(got) != digests[len(digests)-1] {
				rt.Fatalf("the restored machine decided\n%s, not\n%s in\n%s", commandsText(got), commandsText(commands), definition)
			}
			if ev.Kind == Interrupted {
				w.interruptedGone(original, ev.Command)
			}
			w.take(commands)
			checkMachine(rt, original, w)
			switch {
			case w.finished:
			case steps >= 300: // no event is drawn any more: it would count as having happened
				ev = Event{Kind: CancelRequested, TimeMs: ev.TimeMs}
			default:
				ev = w.next(ev.TimeMs)
			}
		}
		if got, want := twin.Checkpoint(), original.Checkpoint(); !bytes.Equal(got, want) {
			rt.Fatalf("final states differ\n%s\n%s", got, want)
		}
		replay := New(p, id)
		for i, row := range journal {
			ev, err := DecodeEvent(row)
			if err != nil {
				rt.Fatal(err)
			}
			if Digest(replay.Apply(ev)) != digests[i] {
				rt.Fatalf("replay of event %d differs in\n%s", i, definition)
			}
		}
	})
}

func commandsText(commands []Command) string {
	var b strings.Builder
	for _, c := range commands {
		b.WriteString(commandText(c) + "\n")
	}
	return b.String()
}

// checkMachine compares what the machine says of itself with what the world saw.
func checkMachine(t *rapid.T, m *Machine, w *fixture) {
	if m.Done() != w.finished {
		t.Fatal("Done and Finish disagree")
	}
	inFlight := m.InFlight()
	if len(inFlight) != len(w.open) {
		t.Fatalf("%d commands in flight, the world has %d", len(inFlight), len(w.open))
	}
	activities := 0
	for _, c := range inFlight {
		want, ok := w.open[c.ID]
		if !ok || commandText(c) != commandText(want) || c.Key != want.Key || c.DueMs != want.DueMs {
			t.Fatalf("%s in flight, issued was %s", commandText(c), commandText(want))
		}
		if c.Kind == RunActivity && !c.Detached {
			activities++
		}
	}
	load := m.Load()
	if load.Activities != activities || load.Yielded != w.yielded && !w.finished {
		t.Fatalf("load is %+v with %d activities", load, activities)
	}
	if m.Suspended() != (w.suspended && !w.finished) {
		t.Fatal("the machine and the world disagree about the suspension")
	}
	if !m.Done() && len(inFlight)-m.pending.detached == 0 && !load.Yielded && !m.Suspended() {
		t.Fatal("nothing is in flight and the execution has not ended")
	}
	for i, n := range m.ready {
		if n.gone || n.list == nil || slices.Contains(m.ready[:i], n) || n.child != nil {
			t.Fatalf("node %d of the ready ones must not be there", i)
		}
	}
	for _, e := range m.Timeline() {
		if e.Ended() == (e.EndedMs == 0) {
			t.Fatalf("entry %s is inconsistent", entryText(e))
		}
		if w.finished && !e.Ended() {
			t.Fatalf("entry %s is open at the end", entryText(e))
		}
		if e.Phase == chargehand.Faulted && e.Fault == nil {
			t.Fatalf("entry %s has no fault", entryText(e))
		}
	}
}
