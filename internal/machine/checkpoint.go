package machine

import (
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

// checkpointVersion is the version of the checkpoint format.
const checkpointVersion = 1

// Checkpoint writes the state down, as JSON that DESIGN.md describes. A machine that is
// restored from it behaves exactly like this one. Machines that have not started or have
// ended have checkpoints too.
func (m *Machine) Checkpoint() []byte {
	w := checkpointWriter{nodes: map[*node]int{}, scopes: map[*scope]int{}}
	w.buf = make([]byte, 0, 512)
	w.open('{')
	w.integer("version", checkpointVersion)
	w.integer("revision", m.id.Revision)
	w.text("phase", m.phase.String())
	w.integer("now_ms", int(m.nowMs))
	w.integer("started_ms", int(m.startedMs))
	w.text("runtime", m.id.RuntimeVersion)
	w.value("metadata", m.id.RuntimeMetadata)
	if m.lifecycle != nil {
		w.value("lifecycle", m.lifecycle.value())
	}
	w.value("input", m.input)
	if p := m.position; p != nil {
		w.text("position", p.Task)
		w.taskData(&p.TaskData)
	}
	w.integer("command", int(m.lastCommand))
	w.integer("seq", m.lastSeq)
	w.integer("happened", m.happened)
	w.integer("yield", int(m.yield))
	w.flag("suspended", m.suspended)
	w.integer("slice_steps", m.sliceSteps)
	w.integer("pure_steps", m.pureSteps)
	w.integer("grown", m.grown)
	w.integer("measured", m.measured)
	if m.root != nil {
		w.tree(m.root)
		w.list("ready", len(m.ready), func(i int) { w.plainInteger(w.nodes[m.ready[i]]) })
		w.pendings(&m.pending)
		w.held(m.held)
		w.scopeList()
		w.consumed(m)
	}
	w.trace(m)
	w.key("values")
	w.open('[')
	w.buf = append(w.buf, w.values...)
	w.close(']')
	w.close('}')
	return w.buf
}

// checkpointWriter writes JSON. Values go to a table of their own and are referred to by
// their index, so that none is written twice.
type checkpointWriter struct {
	buf    []byte
	comma  bool
	values []byte
	table  valueTable
	nodes  map[*node]int
	order  []*node
	scopes map[*scope]int
	scoped []*scope
}

func (w *checkpointWriter) open(c byte) {
	w.separate()
	w.buf, w.comma = append(w.buf, c), false
}

func (w *checkpointWriter) close(c byte) { w.buf, w.comma = append(w.buf, c), true }

func (w *checkpointWriter) separate() {
	if w.comma {
		w.buf = append(w.buf, ',')
	}
	w.comma = true
}

func (w *checkpointWriter) key(name string) {
	w.separate()
	w.buf = append(append(append(w.buf, '"'), name...), '"', ':')
	w.comma = false
}

func (w *checkpointWriter) plainInteger(v int) {
	w.separate()
	w.buf = strconv.AppendInt(w.buf, int64(v), 10)
}

// integer writes a property, unless it is 0.
func (w *checkpointWriter) integer(name string, v int) {
	if v != 0 {
		w.key(name)
		w.plainInteger(v)
	}
}

func (w *checkpointWriter) text(name, v string) {
	if v != "" {
		w.key(name)
		w.separate()
		w.buf = value.Append(w.buf, v)
	}
}

func (w *checkpointWriter) flag(name string, v bool) {
	if v {
		w.key(name)
		w.separate()
		w.buf = append(w.buf, "true"...)
	}
}

func (w *checkpointWriter) list(name string, n int, item func(i int)) {
	if n == 0 {
		return
	}
	w.key(name)
	w.open('[')
	for i := range n {
		item(i)
	}
	w.close(']')
}

// value writes a reference to a value, unless it is null.
func (w *checkpointWriter) value(name string, v value.Value) {
	if v == nil {
		return
	}
	w.key(name)
	w.plainInteger(w.intern(v))
}

func (w *checkpointWriter) intern(v value.Value) int {
	at, known := w.table.add(v)
	if known {
		return at
	}
	if at > 0 {
		w.values = append(w.values, ',')
	}
	w.values = value.Append(w.values, v)
	return at
}

// tree writes the nodes, owners before what they own.
func (w *checkpointWriter) tree(root *node) {
	w.number(root)
	w.list("nodes", len(w.order), func(i int) { w.node(w.order[i]) })
}

func (w *checkpointWriter) number(n *node) {
	w.nodes[n] = len(w.order)
	w.order = append(w.order, n)
	if n.child != nil {
		w.number(n.child)
	}
	for _, b := range n.branches {
		if b != nil {
			w.number(b)
		}
	}
}

func (w *checkpointWriter) node(n *node) {
	w.open('{')
	if n.parent != nil {
		w.key("owner")
		w.plainInteger(w.nodes[n.parent])
	}
	if n.task != nil {
		w.key("task")
		w.plainInteger(n.task.Number)
	}
	if n.parent == nil || n.scope != n.parent.scope {
		w.key("scope")
		w.plainInteger(w.scope(n.scope))
	}
	w.integer("started_ms", int(n.startedMs))
	w.value("raw", n.raw)
	w.value("input", n.input)
	w.flag("list", n.list != nil)
	w.integer("at", n.at)
	w.value("data", n.data)
	w.value("authorization", n.authorization)
	if n.items != nil {
		w.value("items", n.items)
	}
	w.integer("index", n.index)
	w.integer("branches", len(n.branches))
	w.integer("open", n.open)
	if n.entry != nil {
		w.integer("entry", n.entry.Seq)
	}
	if t := n.try; t != nil {
		w.key("try")
		w.open('{')
		w.integer("attempt", t.attempt)
		w.integer("limit_ms", int(t.limitMs))
		w.flag("handling", t.handling)
		w.fault("fault", t.fault)
		w.callKeys(&t.calls)
		w.close('}')
	}
	w.around(n.around)
	w.consumption(n.consumption)
	w.files("files", n.files)
	w.close('}')
}

func (w *checkpointWriter) scope(s *scope) int {
	at, ok := w.scopes[s]
	if !ok {
		at = len(w.scoped)
		w.scopes[s] = at
		w.scoped = append(w.scoped, s)
	}
	return at
}

func (w *checkpointWriter) scopeList() {
	w.list("scopes", len(w.scoped), func(i int) {
		w.open('{')
		w.value("context", w.scoped[i].context)
		w.flag("changed", w.scoped[i].changed)
		w.close('}')
	})
}

func (w *checkpointWriter) pendings(ps *pendings) {
	live := make([]*pending, 0, len(ps.list)-ps.gone)
	for _, p := range ps.list {
		if p.node != nil {
			live = append(live, p)
		}
	}
	w.list("pending", len(live), func(i int) {
		p := live[i]
		w.open('{')
		w.integer("id", int(p.id))
		w.text("use", useNames[p.use])
		w.key("node")
		w.plainInteger(w.nodes[p.node])
		w.integer("due_ms", int(p.dueMs))
		w.integer("asked_ms", int(p.askedMs))
		w.value("args", p.args)
		w.integer("interruptions", p.interruptions)
		w.text("idempotency_key", p.key)
		w.integer("position", int(p.position))
		if p.child != nil {
			w.text("child", p.child.ID.String())
		}
		if p.use == useHuman {
			w.text("human", p.task.String())
			w.integer("bytes", p.bytes)
		}
		w.flag("resting", p.resting)
		w.detached(p.detached)
		w.close('}')
	})
}

// trace writes the timeline entries that are open or not taken.
func (w *checkpointWriter) trace(m *Machine) {
	entries := m.entries()
	w.list("entries", len(entries), func(i int) {
		e := &entries[i]
		w.open('{')
		w.integer("seq", e.Seq)
		w.key("task")
		w.plainInteger(e.task.Number)
		w.text("phase", e.Phase.String())
		w.integer("parent", e.Parent)
		w.list("iterations", len(e.Iterations), func(i int) { w.plainInteger(e.Iterations[i]) })
		w.integer("attempt", e.Attempt)
		w.integer("started_ms", int(e.StartedMs))
		w.integer("ended_ms", int(e.EndedMs))
		w.integer("started_no", e.StartedNo)
		w.integer("ended_no", e.EndedNo)
		w.value("input", e.Input)
		w.value("output", e.Output)
		w.fault("fault", e.Fault)
		w.files("files", e.Files)
		if e.Data != nil {
			w.flag("begun", true)
			w.taskData(e.Data)
		}
		w.text("document", e.Document)
		if e.Child != (chargehand.ExecutionID{}) {
			w.text("child", e.Child.String())
		}
		w.outcomes(e)
		w.flag("taken", !e.fresh)
		w.close('}')
	})
	w.integer("trace_bytes", m.trace.bytes)
	w.tally(&m.trace.tally)
}

func (w *checkpointWriter) taskData(d *TaskData) {
	w.value("raw", d.Input)
	w.value("context", d.Context)
}

func (w *checkpointWriter) fault(name string, f *Fault) {
	if f == nil {
		return
	}
	w.key(name)
	w.open('{')
	w.text("type", f.Type)
	w.integer("status", f.Status)
	w.text("title", f.Title)
	w.text("detail", f.Detail)
	w.text("instance", f.Instance)
	w.text("code", f.Code)
	w.flag("system", f.System)
	w.flag("retryable", f.Retryable)
	w.flag("no_response", f.NoResponse)
	w.close('}')
}

func (w *checkpointWriter) files(name string, files []File) {
	w.list(name, len(files), func(i int) {
		f := &files[i]
		w.open('{')
		w.text("id", f.ID)
		w.text("name", f.Name)
		w.text("media_type", f.MediaType)
		w.integer("size", int(f.Size))
		w.text("digest", f.Digest)
		w.close('}')
	})
}

// useNames are the names of uses in checkpoints.
var useNames = [...]string{
	useActivity: "activity", useTimeout: "timeout", useWait: "wait", useRetry: "retry",
	useAttemptTimeout: "attempt_timeout", useRetryTimeout: "retry_timeout",
	useWorkflowTimeout: "workflow_timeout", useListen: "listen", useChild: "child",
	useDetached: "detached", useConsume: "consume", useHuman: "human",
}

// phaseNamed is the inverse of Phase.String.
func phaseNamed(name string) (chargehand.Phase, bool) {
	for p := chargehand.Pending; p <= chargehand.Completed; p++ {
		if p.String() == name {
			return p, true
		}
	}
	return 0, false
}
