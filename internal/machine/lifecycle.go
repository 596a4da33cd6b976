package machine

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

// Lifecycle says which events about itself an execution publishes (docs/language/events.md). It
// belongs to the Started event and stays what it was for all of the execution.
type Lifecycle struct {
	Tasks  bool   `json:"tasks,omitempty"` // of its tasks too
	Prefix string `json:"prefix"`          // of the types: {Prefix}.workflow.started.v1
	// Base is scheme, host and perhaps a path of the server, which begin links to output;
	// empty: the links are relative to the server.
	Base string `json:"base,omitempty"`
}

// value is the form of journals and checkpoints.
func (l *Lifecycle) value() value.Value {
	return map[string]any{"tasks": l.Tasks, "prefix": l.Prefix, "base": l.Base}
}

// lifecycleOf is the inverse of value. ok is false for anything else.
func lifecycleOf(v value.Value) (l *Lifecycle, ok bool) {
	o, _ := v.(map[string]any)
	l = &Lifecycle{}
	l.Tasks, ok = o["tasks"].(bool)
	prefix, isPrefix := o["prefix"].(string)
	base, isBase := o["base"].(string)
	l.Prefix, l.Base = prefix, base
	return l, ok && isPrefix && isBase
}

// tell publishes a lifecycle event. stamp names the property with the time.
func (m *Machine) tell(kind, stamp string, data map[string]any) {
	data[stamp] = formatTime(m.nowMs)
	doc := m.plan.Document()
	id := m.id.Execution.String()
	m.issue(Command{Kind: Publish, Args: map[string]any{
		"specversion": "1.0", "id": m.lifecycleID(), "type": m.lifecycle.Prefix + "." + kind + ".v1",
		"source":  "/" + doc.Namespace + "/" + doc.Name + "/" + doc.Version,
		"subject": m.qualifiedName(), "time": data[stamp], "datacontenttype": "application/json",
		"executionid": id, "data": data,
	}})
}

// lifecycleID is the id of the event that the next command publishes: a UUID of version 8.
func (m *Machine) lifecycleID() string {
	text := append(m.id.Execution[:len(m.id.Execution):len(m.id.Execution)], "lifecycle"...)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(m.lastCommand+1)))
	var id chargehand.ExecutionID
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// qualifiedName is the name of the instance: {definition name}-{id}.{namespace}.
func (m *Machine) qualifiedName() string {
	doc := m.plan.Document()
	return doc.Name + "-" + m.id.Execution.String() + "." + doc.Namespace
}

// outputURI is where the output of the execution is to be had, or with the number of a timeline
// entry that of a task.
func (m *Machine) outputURI(seq int) string {
	uri := m.lifecycle.Base + chargehand.APIPath + "/executions/" + m.id.Execution.String()
	if seq > 0 {
		uri += "/timeline?limit=1&cursor=" + strconv.Itoa(seq-1)
	}
	return uri
}

// tellWorkflow publishes an event about the execution itself.
func (m *Machine) tellWorkflow(kind, stamp string, data map[string]any) {
	if data == nil {
		data = map[string]any{}
	}
	data["name"] = m.qualifiedName()
	m.tell("workflow."+kind, stamp, data)
}

// tellStarted is the first event of an execution.
func (m *Machine) tellStarted() {
	doc := m.plan.Document()
	m.tellWorkflow("started", "startedAt", map[string]any{
		"definition": map[string]any{"name": doc.Name, "namespace": doc.Namespace, "version": doc.Version},
	})
}

// tellEnded is the last event of an execution.
func (m *Machine) tellEnded(c *Command) {
	switch c.Phase {
	case chargehand.Completed:
		m.tellWorkflow("completed", "completedAt", map[string]any{"outputUri": m.outputURI(0)}) // T64
	case chargehand.Cancelled:
		m.tellWorkflow("cancelled", "cancelledAt", nil)
	default:
		m.tellWorkflow("faulted", "faultedAt", map[string]any{"error": c.Fault.Value()})
	}
}

// CancelledInstead makes the event about the end of an execution one that says that it was cancelled, at that time: an
// execution that ended by itself may have been cancelled before its end was stored.
func CancelledInstead(ended value.Value, atMs int64) value.Value {
	event, _ := ended.(map[string]any)
	data, _ := event["data"].(map[string]any)
	kind, _ := event["type"].(string)
	kind = strings.TrimSuffix(kind, ".v1")
	event, at := maps.Clone(event), formatTime(atMs)
	event["type"] = kind[:strings.LastIndexByte(kind, '.')+1] + "cancelled.v1"
	event["time"], event["data"] = at, map[string]any{"name": data["name"], "cancelledAt": at}
	return event
}

// tellTask publishes an event about a task that has an entry in the timeline: the parts of a
// function have none.
func (m *Machine) tellTask(e *Entry, kind, stamp string, data map[string]any) {
	if m.lifecycle == nil || !m.lifecycle.Tasks || e == nil {
		return
	}
	if data == nil {
		data = map[string]any{}
	}
	data["workflow"], data["task"] = m.qualifiedName(), e.Reference
	m.tell("task."+kind, stamp, data)
}

// tellTaskEnded publishes the event with the phase and the fault of the entry.
func (m *Machine) tellTaskEnded(e *Entry) {
	if m.lifecycle == nil {
		return
	}
	switch e.Phase {
	case chargehand.Completed:
		m.tellTask(e, "completed", "completedAt", map[string]any{"outputUri": m.outputURI(e.Seq)})
	case chargehand.Cancelled:
		m.tellTask(e, "cancelled", "cancelledAt", nil)
	default:
		m.tellTask(e, "faulted", "faultedAt", map[string]any{"error": e.Fault.Value()})
	}
}

// tellCorrelation publishes an event when a listen begins to receive events, and another when it has what it
// waited for: then with the values of the keys that it knows.
func (m *Machine) tellCorrelation(n *node, done bool) {
	if m.lifecycle == nil || n.task.Listen == nil {
		return
	}
	if !done {
		m.tellWorkflow("correlation-started", "startedAt", nil)
		return
	}
	keys := map[string]any{}
	for i, known := range n.consumption.expected {
		if known.known {
			keys[n.task.Listen.Keys[i].Name] = known.value
		}
	}
	m.tellWorkflow("correlation-completed", "completedAt", map[string]any{"correlationKeys": keys})
}
