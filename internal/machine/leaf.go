package machine

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/cloudevent"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// doSwitch takes the first case that matches. Without a match and a default case the task's
// own `then` counts (T25). The output is the transformed input.
func (m *Machine) doSwitch(n *node) *node {
	then, chosen := n.task.Then, NoCase
	for i := range n.task.Cases {
		c := &n.task.Cases[i]
		if c.When != nil {
			v, f := m.eval(n, c.When, inBody, n.input)
			if f != nil {
				return m.fail(n, f)
			}
			if !value.Truthy(v) {
				continue
			}
		}
		if c.Then.Kind != dsl.FlowNone {
			then = c.Then
		}
		chosen = i
		break
	}
	m.decided(n.task, BranchCase, chosen)
	return m.complete(n, n.input, then)
}

// doRaise faults with the error that the author described. Its `instance` is ours (T34).
func (m *Machine) doRaise(n *node) *node {
	v, f := m.eval(n, n.task.Raise, inBody, n.input)
	if f == nil {
		f = faultFrom(v, n.reference())
	}
	return m.fail(n, f)
}

// faultFrom makes a fault of an evaluated error definition.
func faultFrom(v value.Value, instance string) *Fault {
	object, _ := v.(map[string]any)
	f := &Fault{Instance: instance}
	var ok bool
	if f.Type, ok = object["type"].(string); !ok || f.Type == "" {
		return expressionFault("raise.error.type", "the type of an error must be a text", instance)
	}
	f.Status, _ = object["status"].(int) // a constant, checked by package dsl
	f.Title, f.Detail = textOf(object["title"]), textOf(object["detail"])
	return f
}

// textOf is a value as text for people: null is empty, all else but text is JSON.
func textOf(v value.Value) string {
	switch text := v.(type) {
	case nil:
		return ""
	case string:
		return text
	default:
		return string(value.Marshal(text))
	}
}

// doWait starts the timer of a wait (T52). A wait of no time needs none.
func (m *Machine) doWait(n *node) *node {
	due, f := m.dueTime(n, n.task.Wait, inBody, n.input, "")
	if f != nil {
		return m.fail(n, f)
	}
	if due <= m.nowMs {
		return m.complete(n, n.input, n.task.Then)
	}
	n.delay = m.startTimer(n, useWait, due)
	m.markEntry(n.entryOf(), chargehand.Waiting)
	return nil
}

// doEmit publishes an event, by the rules of CloudEvents and within its bounds; the event is the
// task's output (T3).
func (m *Machine) doEmit(n *node) *node {
	v, f := m.eval(n, n.task.Emit, inBody, n.input)
	if f != nil {
		return m.fail(n, f)
	}
	given, ok := v.(map[string]any)
	if !ok {
		return m.fail(n, expressionFault(n.task.Emit.Path, "an event must be an object", n.reference()))
	}
	event := make(map[string]any, len(given)+4)
	//workflowcheck:ignore copies into a map
	for name, value := range given {
		if value != nil {
			event[name] = value
		}
	}
	fill := func(name string, value func() string) {
		if _, ok := event[name]; !ok {
			event[name] = value()
		}
	}
	fill("specversion", func() string { return "1.0" })
	fill("id", func() string { return m.derivedID(n) })
	fill("source", func() string { return n.task.DefaultSource })
	fill("time", func() string { return formatTime(m.nowMs) })
	if f := m.checkEvent(n, event); f != nil {
		return m.fail(n, f)
	}
	m.issue(Command{
		Kind: Publish, Args: event,
		Reference: n.reference(), Iteration: n.iteration(), Attempt: n.attempt,
	})
	return m.complete(n, event, n.task.Then)
}

// checkEvent holds an event to the rules of CloudEvents and their bounds.
func (m *Machine) checkEvent(n *node, event map[string]any) *Fault {
	path := n.task.Emit.Path
	_, wrong := cloudevent.Check(event)
	if len(wrong) == 0 {
		if _, p := cloudevent.Size(event); p != nil {
			wrong = append(wrong, *p)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	if wrong[0].Name != "" {
		path += "." + wrong[0].Name
	}
	return expressionFault(path, wrong[0].Detail, n.reference())
}

// callFunction runs the body of a function like an inlined task (T37).
func (m *Machine) callFunction(n *node) *node {
	call := n.task.Call
	n.list, n.data, n.inner = call.Body, n.input, nil
	if call.With != nil {
		v, f := m.eval(n, call.With, inBody, n.input)
		if f != nil {
			return m.fail(n, f)
		}
		n.data = v
	}
	return n
}

// derive is 32 bytes that only this run of the node's task gets: from the execution, the
// task's pointer, iteration and attempt, and its place in the timeline, because a jump back
// may run the same task again.
func (m *Machine) derive(n *node, purpose string, number int) [32]byte {
	text := make([]byte, 0, 128)
	text = append(text, m.id.Execution[:]...)
	text = append(text, purpose...)
	text = append(text, 0)
	text = append(text, n.reference()...)
	text = append(text, 0)
	seq := 0
	if e := n.entryOf(); e != nil {
		seq = e.Seq
	}
	for _, v := range [...]int{n.iteration(), n.attempt, seq, number} {
		text = binary.BigEndian.AppendUint64(text, uint64(v))
	}
	return sha256.Sum256(text)
}

// derivedID is a UUID of version 8, the one for ids with a meaning of their own.
func (m *Machine) derivedID(n *node) string {
	number := 0
	if n.isRemote() { // all tasks of the function share pointer and place in the timeline
		number = int(m.lastCommand) + 1
	}
	sum := m.derive(n, "event", number)
	var id chargehand.ExecutionID
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

func formatTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
